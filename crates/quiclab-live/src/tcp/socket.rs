//! Options of sockets and settings of their namespace, and waiting for them.

use super::info::MaxPacingRate;
use crate::command::succeed;
use crate::timing::monotonic_ns;
use clap::Args;
use nix::sys::socket::{setsockopt, sockopt::TcpMaxSeg};
use quiclab_core::problem::system_reason;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

/// Device of a host of the kernel lane.
const DEVICE: &str = "quiclab0";

/// Options of both ends.
#[derive(Args, Clone, Debug)]
pub struct SocketArguments {
    /// Congestion control, as Linux calls it: never the machine's default.
    #[arg(long)]
    pub congestion_control: String,
    /// Largest rate in bit/s, paced (SO_MAX_PACING_RATE).
    #[arg(long)]
    pub max_pacing_rate: Option<u64>,
    /// Largest segment size announced, in bytes (TCP_MAXSEG).
    #[arg(long)]
    pub mss: Option<u32>,
    /// Setting of the namespace first, such as `net.ipv4.tcp_sack=0`.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub settings: Vec<String>,
    /// Queueing discipline of the host's device, such as `fq`.
    #[arg(long)]
    pub qdisc: Option<String>,
    /// Maximum number of segments that TCP hands to the host's device as one packet, which is segmented
    /// there (default: as many as pacing sends in a millisecond, tcp_tso_autosize); 1 is none.
    #[arg(long)]
    pub gso_segments: Option<u32>,
}

impl SocketArguments {
    /// Settings of the namespace of the calling process.
    ///
    /// # Errors
    /// A message about the first one that is refused.
    pub fn prepare(&self) -> Result<(), String> {
        for setting in &self.settings {
            let (name, value) = setting.split_once('=').ok_or_else(|| {
                format!("--set: expected NAME=VALUE, such as net.ipv4.tcp_sack=0, got {setting:?}")
            })?;
            let path = Path::new("/proc/sys").join(name.replace('.', "/"));
            std::fs::write(path, value)
                .map_err(|error| format!("sysctl {name} = {value}: {}", system_reason(&error)))?;
        }
        if let Some(segments) = self.gso_segments {
            // ethtool has no effect on this: since 4.17 TCP creates such packets for any device
            let segments = segments.to_string();
            succeed("ip", &["link", "set", "dev", DEVICE, "gso_max_segs", &segments])
                .map_err(|error| format!("--gso-segments {segments}: {error}"))?;
        }
        let Some(qdisc) = &self.qdisc else { return Ok(()) };
        let arguments = ["qdisc", "replace", "dev", DEVICE, "root", qdisc];
        let done = Command::new("tc")
            .args(arguments)
            .output()
            .map_err(|error| format!("`tc` cannot be started: {error}; install iproute2"))?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        Err(format!(
            "the kernel has no queueing discipline `{qdisc}` (`tc {}`: {})",
            arguments.join(" "),
            said.trim()
        ))
    }

    /// Sets the options of a socket; connections inherit those of a listening one.
    ///
    /// # Errors
    /// A message about the first one that is refused.
    pub fn apply(&self, socket: &impl AsFd) -> Result<(), String> {
        let name = &self.congestion_control;
        rustix::net::sockopt::set_tcp_congestion(socket, name).map_err(|error| {
            let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
            let known = known.map(|known| known.trim().replace(' ', ", ")).unwrap_or_default();
            format!("congestion control `{name}`: {error}; this kernel has {known}")
        })?;
        if let Some(mss) = self.mss {
            setsockopt(socket, TcpMaxSeg, &mss).map_err(|error| format!("--mss {mss}: {error}"))?;
        }
        if let Some(rate) = self.max_pacing_rate {
            setsockopt(socket, MaxPacingRate, &(rate / 8))
                .map_err(|error| format!("--max-pacing-rate {rate}: {error}"))?;
        }
        Ok(())
    }
}

/// Result of a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// Whether the socket is readable, or has an error.
    pub readable: bool,
    /// Whether the socket is writable, or has an error.
    pub writable: bool,
    /// Whether the program was asked to stop.
    pub stop: bool,
}

/// Waits until the socket is ready for the requested operation, the program is asked to stop, or
/// CLOCK_MONOTONIC shows `until_ns`.
///
/// # Errors
/// If the kernel refuses it.
pub fn wait(
    socket: &impl AsFd,
    wanted: PollFlags,
    stop: &UnixStream,
    until_ns: Option<u64>,
) -> io::Result<Ready> {
    let mut events = [PollFd::new(socket, wanted), PollFd::new(stop, PollFlags::IN)];
    let timeout = until_ns.map(|until| {
        let left = until.saturating_sub(monotonic_ns());
        Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 }
    });
    match poll(&mut events, timeout.as_ref()) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Ready::default()),
        Err(error) => return Err(error.into()),
    }
    let found = events[0].revents();
    let broken = found.intersects(PollFlags::ERR | PollFlags::HUP);
    Ok(Ready {
        readable: broken || found.contains(PollFlags::IN),
        writable: broken || found.contains(PollFlags::OUT),
        stop: !events[1].revents().is_empty(),
    })
}
