//! Repair of what a path loses: numbers that a path has lost are reported by the receiving end and sent again by the sending
//! end, on any path, while the other end still waits for them.
//!
//! A flow inside a tunnel takes every loss of every path for congestion of the whole tunnel. Resequencing hides that paths
//! differ in delay, repair that one of them loses.
//!
//! | end | knows | does |
//! | --- | --- | --- |
//! | sending | which number went last on which path, in which order | keeps what it has sent for as long as the other end may wait for it |
//! | receiving | that a path skips a value of its own counter of four bits, and which numbers are missing | reports, on that path, the last number that came there and all that are missing |
//! | sending | that a missing number had been sent on that path before the last one that came there | sends it again, before anything that waits |
//!
//! Paths keep the order of datagrams; one that does not costs a packet sent twice, of which the second copy is dropped. A loss
//! after which nothing follows on its path is left to the ends of the flow.

use super::TunnelPayload;
use super::number::{Tag, nearest};
use super::report::Report;
use crate::time::{Duration, Time};
use crate::units::ByteCount;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Packets kept at the sending end: less than half of the number space.
const MAX_KEPT: usize = 1 << 16;
/// Times that a packet is sent again: reports are claims of the other end.
pub(super) const MAX_AGAIN: u8 = 4;
/// Bytes of packets kept: 200 ms at 1 Gbit/s, and some more.
const MAX_KEPT_BYTES: u64 = 32 << 20;

/// What the sending end keeps of a packet that has left.
#[derive(Debug)]
struct Sent {
    payload: TunnelPayload,
    size: ByteCount,
    /// Whether it is ECN-capable.
    capable: bool,
    /// When it left for the first time.
    first: Time,
    /// Path on which it left last.
    path: usize,
    /// Its place among all that left on that path.
    place: u64,
    /// Whether it waits to be sent again.
    due: bool,
    /// How often it has been sent again.
    again: u8,
}

/// The sending end.
#[derive(Debug)]
pub(super) struct SentPackets {
    /// As long as the other end waits.
    bound: Duration,
    /// The packets from number `first` on.
    packets: VecDeque<Sent>,
    first: u64,
    bytes: u64,
    /// Datagrams with packets by path.
    places: SmallVec<[u64; 8]>,
    /// Numbers to be sent again.
    due: VecDeque<u64>,
    repaired: u64,
    reports: u64,
}

/// A packet to be sent again.
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

    /// A packet leaves on `path`. Returns its place.
    pub(super) fn left(&mut self, path: usize) -> u64 {
        let place = self.place(path);
        self.places[path] += 1;
        place
    }

    /// Packet `number`, the next one, leaves on `path`.
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

    /// Drops what the other end does not wait for any more, and what exceeds the limits.
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

    /// Handles a report that has arrived on `path`: what that path has lost is due again.
    pub(super) fn on_report(&mut self, now: Time, path: usize, report: &Report) {
        self.reports += 1;
        self.forget(now);
        let next = self.first + self.packets.len() as u64;
        let Some(last) = nearest(report.last, next).and_then(|number| self.kept(number)) else {
            return;
        };
        if last.path != path {
            return; // it has been sent again on another path meanwhile
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

    /// Whether something is to be sent again.
    pub(super) fn is_due(&mut self, now: Time) -> bool {
        self.forget(now);
        while self.due.front().is_some_and(|number| self.kept(*number).is_none()) {
            self.due.pop_front();
        }
        !self.due.is_empty()
    }

    /// The next packet to be sent again.
    pub(super) fn next_due(&self) -> Option<Repair> {
        let number = *self.due.front()?;
        let Sent { payload, size, capable, .. } = self.kept(number)?;
        Some(Repair { payload: payload.clone(), size: *size, capable: *capable })
    }

    /// What [`SentPackets::next_due`] gave has left on `path`.
    pub(super) fn repaired(&mut self, path: usize) {
        let place = self.left(path);
        if let Some(sent) = self.take_due() {
            (sent.path, sent.place) = (path, place);
            sent.again += 1;
            self.repaired += 1;
        }
    }

    /// No path can take what [`SentPackets::next_due`] gave.
    pub(super) fn give_up(&mut self) {
        self.take_due();
    }

    fn take_due(&mut self) -> Option<&mut Sent> {
        let index = self.due.pop_front()?.checked_sub(self.first)?;
        let sent = self.packets.get_mut(usize::try_from(index).ok()?)?;
        sent.due = false;
        Some(sent)
    }

    /// Packets sent again, and reports that have arrived.
    pub(super) const fn counts(&self) -> (u64, u64) {
        (self.repaired, self.reports)
    }
}

/// What the receiving end knows of a path.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    /// Counter and number of the last datagram.
    last: Option<(u8, u32)>,
    /// Whether a datagram was lost that no report has mentioned yet.
    lost: bool,
}

/// The receiving end.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    paths: SmallVec<[Arrivals; 8]>,
    reports: u64,
}

impl Gaps {
    /// A datagram with packet `number` has arrived on `path`.
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

    /// Paths with a loss that has not been reported, with the last number that came there.
    pub(super) fn unreported(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let lost = self.paths.iter().enumerate().filter(|(_, arrivals)| arrivals.lost);
        lost.filter_map(|(path, arrivals)| arrivals.last.map(|(_, number)| (path, number)))
    }

    /// The loss of `path` is reported, or nothing is missing.
    pub(super) fn settled(&mut self, path: usize, reported: bool) {
        self.paths[path].lost = false;
        self.reports += u64::from(reported);
    }

    /// Reports that were sent.
    pub(super) const fn reports(&self) -> u64 {
        self.reports
    }
}

/// Paths that are watched.
const MAX_PATHS: usize = 16;

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
