//! Repair of losses of a path: the receiving end reports the numbers that a path has lost, and the sending end
//! retransmits them on any path while its peer still waits for them.
//!
//! A flow inside a tunnel interprets every loss of every path as congestion of the whole tunnel. Resequencing hides the
//! different delays of paths, repair the losses of one of them.
//!
//! | end | state | action |
//! | --- | --- | --- |
//! | sending | the last path of each number, and the order on that path | keeps sent packets for as long as the peer may wait for them |
//! | receiving | that a path skips a value of its own counter of four bits, and which numbers are missing | reports, on that path, the last number that arrived there and all that are missing |
//! | sending | that a missing number was sent on that path before the last one that arrived there | retransmits it, before all waiting packets |
//!
//! Paths keep the order of datagrams; with one that does not, a packet may be sent twice, of which the second copy is
//! dropped. A loss that is the last on its path is left to the ends of the flow.

use super::TunnelPayload;
use super::number::{Tag, nearest};
use super::report::Report;
use crate::time::{Duration, Time};
use crate::units::ByteCount;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Maximum number of packets kept at the sending end: less than half of the number space.
const MAX_KEPT: usize = 1 << 16;
/// Maximum number of retransmissions of a packet: reports are claims of the peer.
pub(super) const MAX_AGAIN: u8 = 4;
/// Maximum number of bytes of packets kept: 200 ms at 1 Gbit/s, and some more.
const MAX_KEPT_BYTES: u64 = 32 << 20;

/// State of a packet that has left, at the sending end.
#[derive(Debug)]
struct Sent {
    payload: TunnelPayload,
    size: ByteCount,
    /// Whether the packet is ECN-capable.
    capable: bool,
    /// Time at which it first left.
    first: Time,
    /// Path on which it was last sent.
    path: usize,
    /// Position of the packet among all sent on that path.
    place: u64,
    /// Whether it waits for its retransmission.
    due: bool,
    /// Number of retransmissions.
    again: u8,
}

/// State of the sending end.
#[derive(Debug)]
pub(super) struct SentPackets {
    /// Time for which the peer waits.
    bound: Duration,
    /// The packets from number `first` on.
    packets: VecDeque<Sent>,
    first: u64,
    bytes: u64,
    /// Number of datagrams with packets sent on each path.
    places: SmallVec<[u64; 8]>,
    /// Numbers to be retransmitted.
    due: VecDeque<u64>,
    repaired: u64,
    reports: u64,
}

/// A packet to be retransmitted.
pub(super) struct Repair {
    pub(super) payload: TunnelPayload,
    pub(super) size: ByteCount,
    pub(super) capable: bool,
}

impl SentPackets {
    pub(super) fn new(bound: Duration) -> Self {
        Self {
            bound,
            packets: VecDeque::new(),
            first: 0,
            bytes: 0,
            places: SmallVec::new(),
            due: VecDeque::new(),
            repaired: 0,
            reports: 0,
        }
    }

    /// The counter of the next datagram on `path`.
    pub(super) fn place(&mut self, path: usize) -> u64 {
        if self.places.len() <= path {
            self.places.resize(path + 1, 0);
        }
        self.places[path]
    }

    /// Counts a packet that leaves on `path`. Returns its position.
    pub(super) fn left(&mut self, path: usize) -> u64 {
        let place = self.place(path);
        self.places[path] += 1;
        place
    }

    /// Records that packet `number`, the next one, leaves on `path`.
    pub(super) fn sent(
        &mut self,
        now: Time,
        number: u64,
        path: usize,
        payload: TunnelPayload,
        size: ByteCount,
        capable: bool,
    ) {
        self.forget(now);
        if self.packets.is_empty() {
            self.first = number;
        }
        debug_assert_eq!(self.first + self.packets.len() as u64, number, "numbers leave one after the other");
        let place = self.left(path);
        self.bytes += size.bytes();
        self.packets.push_back(Sent {
            payload,
            size,
            capable,
            first: now,
            path,
            place,
            due: false,
            again: 0,
        });
    }

    /// Drops packets that the peer no longer waits for, and those that exceed the limits.
    fn forget(&mut self, now: Time) {
        while let Some(oldest) = self.packets.front() {
            let over = self.packets.len() >= MAX_KEPT || self.bytes > MAX_KEPT_BYTES;
            if !over && now.since(oldest.first) < self.bound {
                break;
            }
            self.bytes -= oldest.size.bytes();
            self.packets.pop_front();
            self.first += 1;
        }
    }

    fn kept(&self, number: u64) -> Option<&Sent> {
        self.packets.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Handles a report that has arrived on `path`: losses of that path become due again.
    pub(super) fn on_report(&mut self, now: Time, path: usize, report: &Report) {
        self.reports += 1;
        self.forget(now);
        let next = self.first + self.packets.len() as u64;
        let Some(last) = nearest(report.last, next).and_then(|number| self.kept(number)) else {
            return;
        };
        if last.path != path {
            return; // it has meanwhile been retransmitted on another path
        }
        let place = last.place;
        let Some(start) = nearest(report.start, next) else { return };
        for number in report.missing.iter().map(|offset| start + offset) {
            let Some(index) = number.checked_sub(self.first).and_then(|index| usize::try_from(index).ok())
            else {
                continue;
            };
            let Some(sent) = self.packets.get_mut(index) else { break };
            if sent.path == path && sent.place < place && !sent.due && sent.again < MAX_AGAIN {
                sent.due = true;
                self.due.push_back(number);
            }
        }
    }

    /// Whether a packet is to be retransmitted.
    pub(super) fn is_due(&mut self, now: Time) -> bool {
        self.forget(now);
        while self.due.front().is_some_and(|number| self.kept(*number).is_none()) {
            self.due.pop_front();
        }
        !self.due.is_empty()
    }

    /// The next packet to be retransmitted.
    pub(super) fn next_due(&self) -> Option<Repair> {
        let number = *self.due.front()?;
        let Sent { payload, size, capable, .. } = self.kept(number)?;
        Some(Repair { payload: payload.clone(), size: *size, capable: *capable })
    }

    /// Records that the packet of [`SentPackets::next_due`] has left on `path`.
    pub(super) fn repaired(&mut self, path: usize) {
        let place = self.left(path);
        if let Some(sent) = self.take_due() {
            (sent.path, sent.place) = (path, place);
            sent.again += 1;
            self.repaired += 1;
        }
    }

    /// Gives up the packet of [`SentPackets::next_due`], which no path can send.
    pub(super) fn give_up(&mut self) {
        self.take_due();
    }

    fn take_due(&mut self) -> Option<&mut Sent> {
        let index = self.due.pop_front()?.checked_sub(self.first)?;
        let sent = self.packets.get_mut(usize::try_from(index).ok()?)?;
        sent.due = false;
        Some(sent)
    }

    /// Number of packets retransmitted, and of reports that have arrived.
    pub(super) const fn counts(&self) -> (u64, u64) {
        (self.repaired, self.reports)
    }
}

/// State of a path at the receiving end.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    /// Counter and number of the last datagram.
    last: Option<(u8, u32)>,
    /// Whether a datagram was lost that no report covers yet.
    lost: bool,
}

/// State of the receiving end.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    paths: SmallVec<[Arrivals; 8]>,
    reports: u64,
}

impl Gaps {
    /// Handles the arrival of a datagram with packet `number` on `path`.
    pub(super) fn arrived(&mut self, path: usize, tag: Tag, number: u32) {
        if path >= MAX_PATHS {
            return;
        }
        if self.paths.len() <= path {
            self.paths.resize(path + 1, Arrivals::default());
        }
        let arrivals = &mut self.paths[path];
        if let Some((before, _)) = arrivals.last {
            arrivals.lost |= !tag.follows(before);
        }
        arrivals.last = Some((tag.place, number));
    }

    /// Paths with an unreported loss, with the last number that arrived there.
    pub(super) fn unreported(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let lost = self.paths.iter().enumerate().filter(|(_, arrivals)| arrivals.lost);
        lost.filter_map(|(path, arrivals)| arrivals.last.map(|(_, number)| (path, number)))
    }

    /// Records that the loss of `path` is reported, or that nothing is missing.
    pub(super) fn settled(&mut self, path: usize, reported: bool) {
        self.paths[path].lost = false;
        self.reports += u64::from(reported);
    }

    /// Number of reports that were sent.
    pub(super) const fn reports(&self) -> u64 {
        self.reports
    }
}

/// Maximum number of paths that are watched.
const MAX_PATHS: usize = 16;

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
