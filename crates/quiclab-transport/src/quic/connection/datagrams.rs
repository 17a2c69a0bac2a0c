//! Unreliable datagrams (RFC 9221) that wait for a packet, and those that have arrived.

use crate::workload::Datagram;
use std::collections::VecDeque;

/// Properties that the datagrams of a packet share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::quic) struct Kind {
    /// Otherwise the packet needs no window, and does not count as in flight.
    pub(in crate::quic) controlled: bool,
    /// The packet may be ECN-capable.
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
    /// The only path that they take: that of the tunnel's choice; `None`: any.
    path: Option<usize>,
    /// Properties of those that wait.
    kind: Kind,
    /// More wait outside, for room on some path.
    is_backlogged: bool,
    arrived: VecDeque<Datagram>,
    dropped: u64,
}

impl Datagrams {
    /// A datagram of the application waits.
    pub(super) fn push(&mut self, datagram: Datagram) {
        self.waiting.push_back(datagram);
    }

    /// A datagram of a tunnel waits for `path`. What has not left by now was for a path that has failed meanwhile.
    pub(super) fn push_on(&mut self, path: usize, kind: Kind, datagram: Datagram) {
        if self.path != Some(path) {
            self.dropped += self.waiting.len() as u64;
            self.waiting.clear();
        }
        (self.path, self.kind) = (Some(path), kind);
        self.waiting.push_back(datagram);
    }

    /// More wait outside, or not.
    pub(super) fn set_backlogged(&mut self, backlogged: bool) {
        self.is_backlogged = backlogged;
    }

    /// Whether any waits, here or outside.
    pub(super) fn wants_to_send(&self) -> bool {
        !self.waiting.is_empty() || self.is_backlogged
    }

    /// The next one.
    pub(super) fn front(&self) -> Option<&Datagram> {
        self.waiting.front()
    }

    /// The next one leaves.
    pub(super) fn pop(&mut self) {
        self.waiting.pop_front();
    }

    /// The next one is given up.
    pub(super) fn drop_front(&mut self) {
        self.pop();
        self.dropped += 1;
    }

    /// Whether they may take `path`.
    pub(super) fn may_take(&self, path: usize) -> bool {
        self.path.is_none_or(|chosen| chosen == path)
    }

    /// Those that wait for `path` because a tunnel has chosen it.
    pub(super) fn waiting_for(&self, path: usize) -> impl Iterator<Item = &Datagram> {
        (self.path == Some(path)).then_some(&self.waiting).into_iter().flatten()
    }

    /// Properties of those that wait.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Payload of those that wait in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.waiting.iter().map(|datagram| u64::from(datagram.length)).fold(0, u64::saturating_add)
    }

    /// Datagrams that were given up.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// A datagram arrives.
    pub(super) fn on_arrived(&mut self, datagram: Datagram) {
        self.arrived.push_back(datagram);
    }

    /// The next one for the application.
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
