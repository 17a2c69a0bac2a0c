//! What waits for serialisation.
//!
//! A discipline decides when a packet arrives and again when the link asks for the next one, and
//! may discard on both occasions. Drop-tail decides at arrival only: a packet that would exceed a
//! limit is discarded, and what waits is served first in, first out.
//!
//! Limits include the packet in service with its whole size: a limit of N packets means one in
//! service and N - 1 waiting. This is how `netem rate R limit N` counts, which holds a packet
//! until its serialisation ends. A limit in time divides that backlog and the new packet by the rate
//! at this moment; during a pause of a trace (rate 0) no packet fits such a limit.

use super::store::Slot;
use crate::scenario;
use crate::time::{Duration, Time};
use crate::units::{ByteCount, DataRate};
use std::collections::VecDeque;

/// A packet with what a discipline needs to know about it.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) packet: Slot,
    /// Bytes to serialise, the link's overhead included.
    pub(super) wire_size: ByteCount,
    /// When it reached the link.
    pub(super) arrived: Time,
}

/// Packets and their bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Backlog {
    pub(super) packets: u64,
    pub(super) bytes: ByteCount,
}

impl Backlog {
    /// The backlog with one more packet of `wire_size`.
    pub(super) fn with(self, wire_size: ByteCount) -> Self {
        Self { packets: self.packets + 1, bytes: self.bytes + wire_size }
    }
}

/// The queueing discipline of a link.
#[derive(Debug)]
pub(super) enum Queue {
    DropTail(DropTail),
}

impl Queue {
    pub(super) fn new(config: &scenario::Queue) -> Self {
        match config {
            scenario::Queue::DropTail { packets, bytes, time } => Self::DropTail(DropTail {
                packets: packets.unwrap_or(u64::MAX),
                bytes: bytes.unwrap_or(ByteCount::MAX),
                time: *time,
                waiting: VecDeque::new(),
                waiting_bytes: ByteCount::ZERO,
            }),
        }
    }

    /// `item` arrives while `in_service` waits for the end of its serialisation. Packets that do
    /// not fit go to `discard`. `rate` tells the present rate of the link.
    pub(super) fn enqueue(
        &mut self,
        item: Queued,
        in_service: Option<ByteCount>,
        rate: impl FnOnce() -> DataRate,
        mut discard: impl FnMut(Slot),
    ) {
        match self {
            Self::DropTail(queue) => {
                if queue.admits(item.wire_size, in_service, rate) {
                    queue.push(item);
                } else {
                    discard(item.packet);
                }
            }
        }
    }

    /// The packet to serialise next. Packets that are not worth it any more go to `discard`.
    pub(super) fn dequeue(&mut self, _now: Time, _discard: impl FnMut(Slot)) -> Option<Queued> {
        match self {
            Self::DropTail(queue) => queue.pop(),
        }
    }

    /// What waits, without the packet in service.
    pub(super) fn waiting(&self) -> Backlog {
        match self {
            Self::DropTail(queue) => queue.waiting(),
        }
    }
}

/// First in, first out, with limits.
#[derive(Debug)]
pub(super) struct DropTail {
    packets: u64,
    bytes: ByteCount,
    /// Longest time that the backlog may need; `None`: no limit.
    time: Option<Duration>,
    waiting: VecDeque<Queued>,
    waiting_bytes: ByteCount,
}

impl DropTail {
    /// Whether a packet of `wire_size` fits beside what waits and what is in service.
    fn admits(
        &self,
        wire_size: ByteCount,
        in_service: Option<ByteCount>,
        rate: impl FnOnce() -> DataRate,
    ) -> bool {
        let backlog = in_service.iter().fold(self.waiting(), |backlog, size| backlog.with(*size));
        let after = backlog.with(wire_size);
        after.packets <= self.packets
            && after.bytes <= self.bytes
            && self.time.is_none_or(|limit| rate().time_for(after.bytes) <= limit)
    }

    fn push(&mut self, item: Queued) {
        self.waiting_bytes += item.wire_size;
        self.waiting.push_back(item);
    }

    fn pop(&mut self) -> Option<Queued> {
        let item = self.waiting.pop_front()?;
        self.waiting_bytes -= item.wire_size;
        Some(item)
    }

    fn waiting(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u64, bytes: self.waiting_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::Store;
    use super::*;
    use crate::packet::Packet;

    const RATE: DataRate = DataRate::from_mbps(8); // one byte per microsecond

    /// How many of the arriving packets of `sizes` are taken while one of `in_service` is served.
    fn taken(config: &scenario::Queue, in_service: Option<u64>, sizes: &[u64]) -> (u64, usize) {
        let (mut store, mut queue) = (Store::default(), Queue::new(config));
        let mut dropped = 0;
        for size in sizes {
            let wire_size = ByteCount::from_bytes(*size);
            let item = Queued { packet: store.put(Packet::default()), wire_size, arrived: Time::ZERO };
            queue.enqueue(item, in_service.map(ByteCount::from_bytes), || RATE, |_| dropped += 1);
        }
        (queue.waiting().packets, dropped)
    }

    fn limits(packets: Option<u64>, bytes: Option<u64>, micros: Option<u64>) -> scenario::Queue {
        let (bytes, time) = (bytes.map(ByteCount::from_bytes), micros.map(Duration::from_micros));
        scenario::Queue::DropTail { packets, bytes, time }
    }

    #[test]
    fn a_limit_in_packets_includes_the_one_in_service() {
        assert_eq!(taken(&limits(Some(3), None, None), Some(1), &[1; 5]), (2, 3));
        assert_eq!(taken(&limits(Some(3), None, None), None, &[1; 5]), (3, 2));
    }

    #[test]
    fn a_limit_in_bytes_is_exact_and_smaller_packets_still_fit() {
        assert_eq!(taken(&limits(None, Some(1000), None), Some(400), &[600]), (1, 0));
        assert_eq!(taken(&limits(None, Some(1000), None), Some(400), &[601, 600, 1]), (1, 2));
    }

    #[test]
    fn a_limit_in_time_counts_the_new_packet() {
        assert_eq!(taken(&limits(None, None, Some(1000)), Some(400), &[600]), (1, 0));
        assert_eq!(taken(&limits(None, None, Some(1000)), Some(400), &[601]), (0, 1));
        // 999.999 microseconds are not enough
        let just_below = scenario::Queue::DropTail {
            packets: None,
            bytes: None,
            time: Some(Duration::from_nanos(999_999)),
        };
        assert_eq!(taken(&just_below, Some(400), &[600, 599]), (1, 1));
    }

    #[test]
    fn every_limit_given_holds_and_without_limits_everything_fits() {
        assert_eq!(taken(&limits(Some(10), Some(300), None), None, &[100; 5]), (3, 2));
        assert_eq!(taken(&limits(Some(2), Some(300), Some(10_000)), None, &[100; 5]), (2, 3));
        assert_eq!(taken(&limits(None, None, None), None, &[100; 5000]), (5000, 0));
    }

    #[test]
    fn first_in_first_out_and_bytes_follow() {
        let (mut store, mut queue) = (Store::default(), Queue::new(&limits(None, None, None)));
        for id in 0..3 {
            let packet = store.put(Packet { id, ..Packet::default() });
            let wire_size = ByteCount::from_bytes(100 + id);
            let item = Queued { packet, wire_size, arrived: Time::ZERO };
            queue.enqueue(item, None, || RATE, |_| unreachable!("no limit"));
        }
        assert_eq!(queue.waiting(), Backlog { packets: 3, bytes: ByteCount::from_bytes(303) });
        assert_eq!(store.take(queue.dequeue(Time::ZERO, drop).unwrap().packet).id, 0);
        assert_eq!(queue.waiting(), Backlog { packets: 2, bytes: ByteCount::from_bytes(203) });
        assert_eq!(store.take(queue.dequeue(Time::ZERO, drop).unwrap().packet).id, 1);
        assert_eq!(store.take(queue.dequeue(Time::ZERO, drop).unwrap().packet).id, 2);
        assert!(queue.dequeue(Time::ZERO, drop).is_none());
        assert_eq!(queue.waiting(), Backlog::default());
    }
}
