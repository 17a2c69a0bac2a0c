//! Queues of unreliable datagrams (RFC 9221) to be sent, and received.

use crate::workload::Datagram;
use std::collections::VecDeque;

/// Properties common to the datagrams of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::quic) struct Kind {
    /// Whether congestion control applies: otherwise the packet needs no window, and does not count as in
    /// flight.
    pub(in crate::quic) controlled: bool,
    /// Whether the packet may be ECN-capable.
    pub(in crate::quic) capable: bool,
}

impl Default for Kind {
    fn default() -> Self {
        Self { controlled: true, capable: true }
    }
}

/// Datagrams of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Datagrams {
    waiting: VecDeque<Datagram>,
    /// Only path for them, chosen by the tunnel; `None`: any.
    path: Option<usize>,
    /// Properties of waiting datagrams.
    kind: Kind,
    /// Whether more wait in the tunnel for room on any path.
    is_backlogged: bool,
    arrived: VecDeque<Datagram>,
    dropped: u64,
}

impl Datagrams {
    /// Queues a datagram of the application.
    pub(super) fn push(&mut self, datagram: Datagram) {
        self.waiting.push_back(datagram);
    }

    /// Queues a datagram of a tunnel for `path`. Datagrams not sent by now were for a path that has failed.
    pub(super) fn push_on(&mut self, path: usize, kind: Kind, datagram: Datagram) {
        if self.path != Some(path) {
            self.dropped += self.waiting.len() as u64;
            self.waiting.clear();
        }
        (self.path, self.kind) = (Some(path), kind);
        self.waiting.push_back(datagram);
    }

    /// Sets whether more wait in the tunnel.
    pub(super) fn set_backlogged(&mut self, backlogged: bool) {
        self.is_backlogged = backlogged;
    }

    /// Whether any waits, here or in the tunnel.
    pub(super) fn wants_to_send(&self) -> bool {
        !self.waiting.is_empty() || self.is_backlogged
    }

    /// Next datagram to send.
    pub(super) fn front(&self) -> Option<&Datagram> {
        self.waiting.front()
    }

    /// Removes the next datagram, which is sent.
    pub(super) fn pop(&mut self) {
        self.waiting.pop_front();
    }

    /// Drops the next datagram.
    pub(super) fn drop_front(&mut self) {
        self.pop();
        self.dropped += 1;
    }

    /// Whether they may be sent on `path`.
    pub(super) fn may_take(&self, path: usize) -> bool {
        self.path.is_none_or(|chosen| chosen == path)
    }

    /// Datagrams that wait for `path` because a tunnel has chosen it.
    pub(super) fn waiting_for(&self, path: usize) -> impl Iterator<Item = &Datagram> {
        (self.path == Some(path)).then_some(&self.waiting).into_iter().flatten()
    }

    /// Properties of waiting datagrams.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Payload of waiting datagrams in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.waiting.iter().map(|datagram| u64::from(datagram.length)).fold(0, u64::saturating_add)
    }

    /// Number of datagrams that were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Queues a received datagram.
    pub(super) fn on_arrived(&mut self, datagram: Datagram) {
        self.arrived.push_back(datagram);
    }

    /// Takes the next received datagram for the application.
    pub(super) fn next_arrived(&mut self) -> Option<Datagram> {
        self.arrived.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::Time;

    fn datagram(number: u64) -> Datagram {
        Datagram { length: 100, number, sent: Time::ZERO, echo: false }
    }

    #[test]
    fn those_of_an_application_take_any_path() {
        let mut datagrams = Datagrams::default();
        assert!(!datagrams.wants_to_send());
        datagrams.push(datagram(0));
        datagrams.push(datagram(1));
        assert!(datagrams.wants_to_send() && datagrams.may_take(0) && datagrams.may_take(1));
        assert_eq!((datagrams.bytes(), datagrams.waiting_for(0).count()), (200, 0));
        datagrams.drop_front();
        assert_eq!((datagrams.front().map(|next| next.number), datagrams.dropped()), (Some(1), 1));
        datagrams.pop();
        datagrams.set_backlogged(true);
        assert!(datagrams.front().is_none() && datagrams.wants_to_send());
    }

    #[test]
    fn another_path_drops_what_waits_for_the_one_before() {
        let mut datagrams = Datagrams::default();
        datagrams.push_on(0, Kind::default(), datagram(0));
        datagrams.push_on(0, Kind::default(), datagram(1));
        assert_eq!((datagrams.waiting_for(0).count(), datagrams.may_take(1)), (2, false));
        let kind = Kind { controlled: false, capable: true };
        datagrams.push_on(1, kind, datagram(2));
        assert_eq!((datagrams.waiting_for(1).count(), datagrams.dropped(), datagrams.kind()), (1, 2, kind));
    }

    #[test]
    fn they_arrive_in_order() {
        let mut datagrams = Datagrams::default();
        datagrams.on_arrived(datagram(4));
        datagrams.on_arrived(datagram(3));
        let numbers: Vec<_> = std::iter::from_fn(|| datagrams.next_arrived()).map(|it| it.number).collect();
        assert_eq!(numbers, [4, 3]);
    }
}
