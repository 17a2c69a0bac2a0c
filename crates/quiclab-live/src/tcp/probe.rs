//! Kernel tracing at each acknowledgement: the event `tcp:tcp_probe` of tracefs.
//!
//! The sender has its own tracing instance, which is removed with it; its socket's cookie distinguishes its events from
//! all others of the machine. The trace's clock is CLOCK_MONOTONIC, in microseconds.

use super::report::Samples;
use crate::namespace::unshare;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::net::sockopt::socket_cookie;
use rustix::thread::UnshareFlags;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Path of tracefs, mounted for this process if necessary.
const TRACING: &str = "/sys/kernel/tracing";
/// Buffer for events between two reads, per CPU: about 20 000.
const BUFFER_KIB: &str = "4096";
/// `TCP_INFINITE_SSTHRESH`: no threshold yet.
const NO_THRESHOLD: u64 = 0x7fff_ffff;

/// The trace of one connection.
pub struct Probe {
    instance: PathBuf,
    pipe: OwnedFd,
    /// Beginning of a line whose end has not been read yet.
    rest: Vec<u8>,
    /// Largest payload of a segment in bytes: the trace counts windows in segments.
    mss_bytes: u64,
}

/// One event.
#[derive(Debug, PartialEq)]
struct Event {
    time_ns: u64,
    cwnd: u64,
    ssthresh: Option<u64>,
    srtt_us: u64,
    outstanding_bytes: u64,
    peer_window_bytes: u64,
}

impl Probe {
    /// Traces the connection of `socket` from now on.
    ///
    /// # Errors
    /// A message if the kernel has no such event, or the process may not trace.
    pub fn start(socket: &impl AsFd, mss_bytes: u64) -> Result<Self, String> {
        Self::attempt(socket, mss_bytes).map_err(|error| {
            format!("tcp:tcp_probe cannot be traced ({error}): it needs root, and a kernel that has it")
        })
    }

    fn attempt(socket: &impl AsFd, mss_bytes: u64) -> io::Result<Self> {
        if !Path::new(TRACING).join("instances").exists() {
            mount_here()?;
        }
        remove_left_over();
        let instance = Path::new(TRACING).join(format!("instances/quiclab-{:x}", socket_cookie(socket)?));
        fs::create_dir(&instance)?;
        let made = (|| {
            let set = |name: &str, value: &str| fs::write(instance.join(name), value);
            set("trace_clock", "mono")?;
            set("buffer_size_kb", BUFFER_KIB)?;
            set("events/tcp/tcp_probe/filter", &format!("sock_cookie == {}", socket_cookie(socket)?))?;
            set("events/tcp/tcp_probe/enable", "1")?;
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            Ok(rustix::fs::open(instance.join("trace_pipe"), flags, Mode::empty())?)
        })();
        match made {
            Ok(pipe) => Ok(Self { instance, pipe, rest: Vec::new(), mss_bytes }),
            Err(error) => {
                let _ = fs::remove_dir(&instance);
                Err(error)
            }
        }
    }

    /// Adds all events since the last read.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn read(&mut self, rows: &mut Samples) -> io::Result<()> {
        let mut buffer = [0; 65_536];
        loop {
            match rustix::io::read(&self.pipe, &mut buffer) {
                Ok(0) | Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Ok(length) => self.rest.extend_from_slice(&buffer[..length]),
                Err(error) => return Err(error.into()),
            }
            while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                if let Some(event) = Event::parse(&String::from_utf8_lossy(&line)) {
                    event.add(rows, self.mss_bytes);
                }
            }
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = fs::write(self.instance.join("events/enable"), "0");
        // an instance can be removed when none of its files is open
        if let Ok(nothing) = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            self.pipe = nothing;
        }
        let _ = fs::remove_dir(&self.instance);
    }
}

/// Removes instances of killed processes: one that is still read remains, because the kernel returns busy.
fn remove_left_over() {
    for instance in fs::read_dir(Path::new(TRACING).join("instances")).into_iter().flatten().flatten() {
        if instance.file_name().to_string_lossy().starts_with("quiclab-") {
            let _ = fs::remove_dir(instance.path());
        }
    }
}

/// Mounts tracefs for this process alone.
fn mount_here() -> io::Result<()> {
    const NO_OPTIONS: Option<&CStr> = None;
    unshare(UnshareFlags::NEWNS)?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    Ok(mount("tracefs", TRACING, "tracefs", MountFlags::NOSUID | MountFlags::NODEV, NO_OPTIONS)?)
}

impl Event {
    /// Reads a line of `trace_pipe`; `None` for one of another event.
    fn parse(line: &str) -> Option<Self> {
        let (before, event) = line.split_once(": tcp_probe: ")?;
        let time_ns = nanoseconds(before.rsplit(' ').next()?)?;
        let field = |name: &str| {
            let text =
                event.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
            match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            }
        };
        // sequence numbers wrap
        let outstanding =
            u32::try_from(field("snd_nxt")?).ok()?.wrapping_sub(u32::try_from(field("snd_una")?).ok()?);
        Some(Self {
            time_ns,
            cwnd: field("snd_cwnd")?,
            ssthresh: field("ssthresh").filter(|&threshold| threshold < NO_THRESHOLD),
            srtt_us: field("srtt")?,
            outstanding_bytes: u64::from(outstanding),
            peer_window_bytes: field("snd_wnd")?,
        })
    }

    fn add(&self, rows: &mut Samples, mss_bytes: u64) {
        let row = [
            ("cwnd_bytes", Some((self.cwnd * mss_bytes) as f64)),
            ("ssthresh_bytes", self.ssthresh.map(|threshold| (threshold * mss_bytes) as f64)),
            ("srtt_ms", Some(self.srtt_us as f64 / 1e3).filter(|&srtt| srtt > 0.0)),
            ("outstanding_bytes", Some(self.outstanding_bytes as f64)),
            ("peer_window_bytes", Some(self.peer_window_bytes as f64)),
        ];
        rows.add(self.time_ns, row);
    }
}

/// Reads seconds with six decimals exactly.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.')?;
    let micros: u64 = (part.len() == 6).then(|| part.parse().ok())??;
    Some(whole.parse::<u64>().ok()? * 1_000_000_000 + micros * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "          <idle>-0       [001] ..s2. 14463.060029: tcp_probe: family=AF_INET src=10.1.0.0:5001 \
        dest=10.2.0.0:52946 mark=0x0 data_len=0 snd_nxt=0x00000010 snd_una=0xfffffff0 snd_cwnd=10 ssthresh=2147483647 \
        snd_wnd=64256 srtt=20154 rcv_wnd=65160 sock_cookie=1 skbaddr=00000000 skaddr=00000000\n";

    #[test]
    fn a_line_of_the_trace_is_an_event() {
        let expected = Event {
            time_ns: 14_463_060_029_000,
            cwnd: 10,
            ssthresh: None,
            srtt_us: 20_154,
            outstanding_bytes: 32, // across the wrap of sequence numbers
            peer_window_bytes: 64_256,
        };
        assert_eq!(Event::parse(LINE), Some(expected));
    }

    #[test]
    fn what_is_no_event_is_left_out() {
        assert_eq!(Event::parse("CPU:1 [LOST 12 EVENTS]\n"), None);
        assert_eq!(Event::parse(&LINE.replace("snd_cwnd=10", "snd_cwnd=")), None);
        assert_eq!(Event::parse(&LINE.replace("14463.060029", "14463")), None);
    }
}
