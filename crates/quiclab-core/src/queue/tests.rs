//! Disciplines as their users see them: helpers for all tests, and invariants of all disciplines.

pub(super) mod paced;
mod properties;

use super::*;
use std::net::SocketAddr;

/// An item of a flow, with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) flow: u16,
    pub(super) number: u64,
    pub(super) bytes: u64,
    pub(super) ecn_capable: bool,
    pub(super) marked: bool,
}

pub(super) fn piece(flow: u16, number: u64, bytes: u64) -> Piece {
    Piece { flow, number, bytes, ecn_capable: false, marked: false }
}

impl Item for Piece {
    fn bytes(&self) -> ByteCount {
        ByteCount::from_bytes(self.bytes)
    }
    fn key(&self) -> FlowKey {
        let from = SocketAddr::from(([10, 0, 0, 1], self.flow));
        crate::ip::FiveTuple::new(crate::ip::Protocol::Udp, from, SocketAddr::from(([10, 0, 0, 2], 443)))
            .into()
    }
    fn ecn(&self) -> Ecn {
        match (self.ecn_capable, self.marked) {
            (false, _) => Ecn::NotEct,
            (true, false) => Ecn::Ect0,
            (true, true) => Ecn::Ce,
        }
    }
    fn mark(&mut self) -> bool {
        self.marked |= self.ecn_capable;
        self.ecn_capable
    }
}

pub(super) fn queue(kind: &str, options: &str) -> Discipline<Piece> {
    let config: QueueConfig = toml::from_str(&format!("kind = \"{kind}\"\n{options}")).expect("a queue");
    Discipline::new(&config, RandomStream::new(1, "queue"))
}

pub(super) fn at(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

/// Adds pieces at one time; returns the numbers of those that are dropped.
pub(super) fn add(
    queue: &mut Discipline<Piece>,
    now: Time,
    pieces: impl IntoIterator<Item = Piece>,
) -> Vec<u64> {
    let mut dropped = Vec::new();
    for piece in pieces {
        queue.enqueue(now, piece, &mut |piece: Piece, reason| {
            assert_eq!(reason, DropReason::QueueFull);
            dropped.push(piece.number);
        });
    }
    dropped
}

/// Removes all pieces at one time, none of which is dropped.
pub(super) fn drain(queue: &mut Discipline<Piece>, now: Time) -> Vec<Piece> {
    std::iter::from_fn(|| queue.dequeue(now, &mut |_, _| panic!("nothing has waited for long"))).collect()
}

pub(super) fn numbers(pieces: &[Piece]) -> Vec<u64> {
    pieces.iter().map(|piece| piece.number).collect()
}
