//! A session: the paths and connections that belong together, and the control messages between its ends.

use super::config::PathConfig;
use super::connection::ConnectionKey;
use super::control::Group;
use super::fragments::Reassembly;
use super::keys::PublicKey;
use super::wire::{self, CONTROL_BACKLOG, Token};
use bytes::Bytes;
use quiclab_core::tunnel::TunnelPayload;
use quiclab_core::{Duration, Time};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// First delay before a client reconnects; it doubles with each attempt.
pub(crate) const FIRST_BACKOFF: Duration = Duration::from_millis(250);
/// Bounds of the maximum delay, which is a share of the time that a path has been without a connection: the detection of a path
/// that works again takes a small share of its outage.
pub(crate) const MAX_BACKOFF: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
const OUTAGE_PARTS: u64 = 32;
/// Maximum number of datagrams that wait to be fetched; those beyond are dropped, as by a full socket.
const MAX_DELIVERED: usize = 8192;

/// A path of a session.
#[derive(Clone, Debug)]
pub(crate) struct SessionPath {
    pub(crate) config: PathConfig,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// Index of the endpoint of a client's connections on this path.
    pub(crate) endpoint: Option<usize>,
    /// The connection that serves it, or tries to.
    pub(crate) connection: Option<ConnectionKey>,
    /// Whether it carries data, as reported to the application.
    pub(crate) up: bool,
    pub(crate) removed: bool,
    /// Time at which a client tries again, and its delay after that.
    pub(crate) retry_at: Time,
    pub(crate) backoff: Duration,
    /// Whether a connection that served it was bound.
    pub(crate) was_bound: bool,
    /// Time since which it has had no such connection; `None` if it has one.
    pub(crate) lost: Option<Time>,
}

impl SessionPath {
    pub(crate) fn new(now: Time, config: PathConfig, local: SocketAddr, remote: SocketAddr) -> Self {
        Self {
            config,
            local,
            remote,
            endpoint: None,
            connection: None,
            up: false,
            removed: false,
            retry_at: now,
            backoff: FIRST_BACKOFF,
            was_bound: false,
            lost: None,
        }
    }

    /// Whether a datagram from `remote` to `local` belongs to this path.
    pub(crate) fn is_between(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        let here = self.local.ip() == local.ip() || self.local.ip().is_unspecified();
        here && self.remote == remote && self.local.port() == local.port()
    }

    /// Schedules the next attempt after a delay, and increases the delay.
    pub(crate) fn back_off(&mut self, now: Time) {
        self.connection = None;
        self.retry_at = now + self.backoff;
        let [least, most] = MAX_BACKOFF;
        let outage = now.since(*self.lost.get_or_insert(now));
        // a client that never connected may be refused permanently
        let longest = if self.was_bound { (outage / OUTAGE_PARTS).clamp(least, most) } else { most };
        self.backoff = (self.backoff * 2).min(longest);
    }
}

/// Control messages: numbered, sent on one connection, and retransmitted on another one if that fails.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Messages not yet received by the peer, in order; the first has number `first`.
    waiting: VecDeque<Bytes>,
    waiting_bytes: usize,
    first: u64,
    /// Number of the next message to write on `connection`.
    pub(crate) written: u64,
    pub(crate) connection: Option<ConnectionKey>,
    /// Number of the next message expected.
    expected: u64,
}

impl Control {
    /// Queues `message`; the error is the number of waiting bytes, if they would be too many.
    pub(crate) fn push(&mut self, message: Bytes) -> Result<(), usize> {
        let waiting = self.waiting_bytes + message.len();
        // empty messages also take space
        if waiting > CONTROL_BACKLOG || self.waiting.len() >= CONTROL_BACKLOG / 64 {
            return Err(self.waiting_bytes);
        }
        self.waiting_bytes = waiting;
        self.waiting.push_back(message);
        Ok(())
    }

    /// Moves to `connection`: all messages that are not known to have arrived are written again.
    pub(crate) fn move_to(&mut self, connection: Option<ConnectionKey>) {
        if self.connection != connection {
            self.connection = connection;
            self.written = self.first;
        }
    }

    /// The next message to write, with its number.
    pub(crate) fn next(&mut self) -> Option<(u64, Bytes)> {
        let number = self.written;
        let index = usize::try_from(number - self.first).ok()?;
        let message = self.waiting.get(index)?.clone();
        self.written += 1;
        Some((number, message))
    }

    /// Records that the peer has all messages below `next`. False if that is impossible.
    pub(crate) fn received(&mut self, next: u64) -> bool {
        if next > self.first + self.waiting.len() as u64 {
            return false;
        }
        while self.first < next {
            let message = self.waiting.pop_front().expect("next is not beyond the messages");
            self.waiting_bytes -= message.len();
            self.first += 1;
        }
        self.written = self.written.max(self.first);
        true
    }

    /// Records a received message; returns whether it is new, or `None` if one before it is missing.
    pub(crate) fn arrive(&mut self, number: u64) -> Option<bool> {
        if number > self.expected {
            return None;
        }
        let new = number == self.expected;
        self.expected += u64::from(new);
        Some(new)
    }

    pub(crate) fn expected(&self) -> u64 {
        self.expected
    }
}

/// Paths and connections between two ends.
pub(crate) struct Session {
    pub(crate) peer: Option<PublicKey>,
    /// Token of the session; `None` until the server has issued one.
    pub(crate) token: Option<Token>,
    pub(crate) open: bool,
    /// Whether it is one of CONNECT-IP, with capsules in place of control messages.
    pub(crate) connect_ip: bool,
    /// Whether all its paths are in one connection (clients): as configured, unless the server does not offer that.
    pub(crate) multipath: bool,
    pub(crate) slots: Vec<SessionPath>,
    pub(crate) group: Group,
    pub(crate) control: Control,
    pub(crate) backlogged: bool,
    /// The connection of a client that has requested a new session.
    pub(crate) asking: Option<ConnectionKey>,
    /// A second connection of a multipath client whose first one does not answer, although its server is there.
    pub(crate) challenger: Option<ConnectionKey>,
    /// The path that a multipath client tries next.
    pub(crate) turn: usize,
    /// Time of the next retry of a client.
    pub(crate) timer: Option<Time>,
    /// Number of datagrams dropped because they were not fetched.
    pub(crate) overrun: u64,
    /// Fragments of datagrams that have not arrived completely.
    pub(crate) reassembly: Reassembly,
    /// Number of datagrams sent in fragments so far, which is the number of the next one.
    pub(crate) fragmented: u64,
    /// Sums over former connections.
    pub(crate) past: super::connection::ConnectionCounters,
    delivered: VecDeque<(usize, TunnelPayload)>,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self {
            peer: None,
            token: None,
            open: false,
            connect_ip: false,
            multipath: false,
            slots: Vec::new(),
            group: Group::default(),
            control: Control::default(),
            backlogged: false,
            asking: None,
            challenger: None,
            turn: 0,
            timer: None,
            overrun: 0,
            reassembly: Reassembly::default(),
            fragmented: 0,
            past: super::connection::ConnectionCounters::default(),
            delivered: VecDeque::new(),
        }
    }

    /// Processes a received datagram.
    pub(crate) fn receive(&mut self, slot: usize, data: &Bytes) {
        let cargo = wire::datagram(data).or_else(|| {
            let whole = self.reassembly.receive(&wire::fragment(data)?)?;
            wire::datagram(&whole)
        });
        if let Some(cargo) = cargo {
            self.deliver(slot, cargo);
        }
    }

    /// Delivers a received packet.
    pub(crate) fn deliver(&mut self, slot: usize, cargo: TunnelPayload) {
        if self.delivered.len() < MAX_DELIVERED {
            self.delivered.push_back((slot, cargo));
        } else {
            self.overrun += 1;
        }
    }

    pub(crate) fn delivered(&mut self) -> Option<(usize, TunnelPayload)> {
        self.delivered.pop_front()
    }

    #[cfg(all(test, feature = "connect-ip"))]
    pub(super) fn delivered_packets(&self) -> usize {
        self.delivered.len()
    }

    /// Connections of the session.
    pub(crate) fn connections(&self) -> Vec<ConnectionKey> {
        let mut connections: Vec<_> = self.slots.iter().filter_map(|slot| slot.connection).collect();
        connections.sort_unstable();
        connections.dedup();
        connections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn messages_are_written_again_on_another_connection() {
        let connection = |handle| Some(ConnectionKey { endpoint: 0, handle });
        let mut control = Control::default();
        for text in ["a", "b", "c"] {
            control.push(message(text)).unwrap();
        }
        control.move_to(connection(1));
        assert_eq!(control.next(), Some((0, message("a"))));
        assert_eq!(control.next(), Some((1, message("b"))));
        assert!(control.received(1));
        control.move_to(connection(2));
        assert_eq!(control.next(), Some((1, message("b"))), "it is not known to have arrived");
        assert!(control.received(2), "and has, on the first");
        assert_eq!(control.next(), Some((2, message("c"))));
        assert_eq!(control.next(), None);
        assert!(!control.received(4), "there is no message 3");
        assert!(control.received(3));
        assert_eq!(control.waiting_bytes, 0);
    }

    #[test]
    fn copies_are_dropped_and_gaps_refused() {
        let mut control = Control::default();
        let arrivals = [0, 1, 1, 0, 2, 4].map(|number| control.arrive(number));
        assert_eq!(arrivals, [Some(true), Some(true), Some(false), Some(false), Some(true), None]);
        assert_eq!(control.expected(), 3);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut control = Control::default();
        let large = Bytes::from(vec![0; 65_536]);
        for _ in 0..16 {
            control.push(large.clone()).unwrap(); // 16 · 64 KiB = 1 MiB
        }
        assert_eq!(control.push(message("x")), Err(CONTROL_BACKLOG));
        let mut empty = Control::default();
        let pushed = (0..100_000).take_while(|_| empty.push(Bytes::new()).is_ok()).count();
        assert_eq!(pushed, CONTROL_BACKLOG / 64);
    }
}
