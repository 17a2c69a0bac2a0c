//! The loop: waits for the device, the sockets, the clock, changes of interfaces, signals and requests.
//!
//! Each turn moves packets once ([`Daemon::move_packets`]) and then answers requests.

use super::{Daemon, DaemonError};
use crate::requests::Requests;
use crate::session::Session;
use crate::system::Watch;
use quiclab_core::{Duration, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// Inputs of the loop other than packets.
pub(super) struct Inputs {
    /// Requests of `status` and `down`.
    pub(super) control: Requests,
    /// Requests of Prometheus.
    pub(super) metrics: Option<Requests>,
    /// Readable after a signal that ends the program.
    pub(super) signals: UnixStream,
    /// Readable after the signal that requests a reload.
    pub(super) hangup: UnixStream,
    /// Readable after changes of interfaces.
    pub(super) watch: Watch,
}

impl Inputs {
    fn requests(&self) -> impl Iterator<Item = &Requests> {
        [&self.control].into_iter().chain(&self.metrics)
    }

    fn requests_mut(&mut self) -> impl Iterator<Item = &mut Requests> {
        [&mut self.control].into_iter().chain(&mut self.metrics)
    }

    /// Time at which the next request times out.
    fn next_wake(&self) -> Option<Time> {
        self.requests().filter_map(Requests::next_wake).min()
    }
}

/// Inputs that are readable.
struct Readable {
    tun: bool,
    signal: bool,
    hangup: bool,
    interfaces: bool,
    /// Slots of readable sockets.
    sockets: Vec<usize>,
    requests: bool,
}

impl Daemon {
    /// Carries packets until the tunnel ends.
    pub(super) fn carry(&mut self, inputs: &mut Inputs) -> Result<(), DaemonError> {
        loop {
            if let Some(end) = self.end.take() {
                return end;
            }
            let readable = self.wait(inputs).map_err(DaemonError::Poll)?;
            let now = self.clock.now();
            if readable.signal {
                let mut buffer = [0; 16];
                let _ = inputs.signals.read(&mut buffer);
                return Ok(());
            }
            if readable.hangup {
                let mut buffer = [0; 16];
                let _ = inputs.hangup.read(&mut buffer);
                let _ = self.reload(now);
            }
            let changed = readable.interfaces && inputs.watch.changed();
            if changed || self.retry_interfaces.is_some_and(|time| time <= now) {
                self.follow_interfaces(now);
            }
            self.forget_parked(now);
            self.report_silence(now);
            self.move_packets(now, &readable.sockets, readable.tun);
            if readable.requests || inputs.next_wake().is_some_and(|time| time <= now) {
                for requests in inputs.requests_mut() {
                    requests.serve(now, |request| self.answer(now, request));
                }
            }
        }
    }

    /// Waits for an input or the earliest deadline.
    fn wait(&self, inputs: &Inputs) -> io::Result<Readable> {
        let wakes = [
            self.endpoint.next_wake(),
            self.sessions.values().filter_map(Session::next_wake).min(),
            self.parked.values().map(|(until, _)| *until).min(),
            self.retry_interfaces,
            self.silence.as_ref().map(|silence| silence.report),
            inputs.next_wake(),
        ];
        let now = self.clock.now();
        let timeout = wakes.into_iter().flatten().min().map(|wake| timespec(wake.since(now)));
        let mut fds = vec![
            PollFd::new(&self.tun, PollFlags::IN),
            PollFd::new(&inputs.signals, PollFlags::IN),
            PollFd::new(&inputs.watch, PollFlags::IN),
            PollFd::new(&inputs.hangup, PollFlags::IN),
        ];
        let first_socket = fds.len();
        let sockets = self.sockets.iter();
        fds.extend(sockets.map(|(_, socket)| PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)));
        let first_request = fds.len();
        fds.extend(inputs.requests().flat_map(Requests::sources).map(|(fd, writes)| {
            PollFd::from_borrowed_fd(fd, if writes { PollFlags::OUT } else { PollFlags::IN })
        }));
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let sockets = self.sockets.iter().map(|(slot, _)| slot).zip(&fds[first_socket..first_request]);
        Ok(Readable {
            tun: ready(&fds[0]),
            signal: ready(&fds[1]),
            interfaces: ready(&fds[2]),
            hangup: ready(&fds[3]),
            sockets: sockets.filter(|(_, fd)| ready(fd)).map(|(slot, _)| slot).collect(),
            requests: fds[first_request..].iter().any(ready),
        })
    }
}

fn timespec(duration: Duration) -> Timespec {
    let nanos = duration.as_nanos();
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
}
