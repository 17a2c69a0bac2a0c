//! Loss detection of a packet number space: outstanding packets, and packets lost by the packet threshold and
//! the time threshold (RFC 9002 section 6.1).
//!
//! | Aspect | Here | RFC 9002 | Chromium |
//! | --- | --- | --- | --- |
//! | packet threshold | fixed, or adaptive | 3; "can [...] increase" it | starts at 3; a spurious loss raises it to the largest acknowledged before - its number + 1, without bound |
//! | time threshold | fixed, or adaptive | 9/8; "can [...] increase" it | 1 + 1/8 or 1 + 1/4; the part doubles, up to 1, until the packet would not have been lost |
//! | multiple of | value of the caller: max(smoothed, latest) | the same | max(previous smoothed, latest) |
//! | lost packets | kept until the caller removes them | not specified | the same |
//!
//! Packets are kept in a queue indexed by packet number. The cost of an acknowledgement is proportional to
//! its ranges within the queue, that of a detection to the packets newly lost and those acknowledged out of
//! order.

use super::delivery_rate::SentState;
use super::rtt::GRANULARITY;
use quiclab_core::{Duration, Time};
use std::collections::VecDeque;
use std::ops::RangeInclusive;

/// Packet that was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentPacket {
    /// Send time.
    pub time: Time,
    /// Bytes that count as in flight; 0 for a packet that does not (only ACK and CONNECTION_CLOSE frames).
    pub bytes: u64,
    /// Whether it is ack-eliciting.
    pub ack_eliciting: bool,
    /// Whether it was sent as ECN-capable.
    pub ecn_capable: bool,
    /// Number of in-flight packets sent before it on its path, in all packet number spaces.
    pub position: u64,
    /// State of the delivery rate estimator.
    pub state: SentState,
}

/// Thresholds of loss detection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// kPacketThreshold: a packet is lost when one later by this number is acknowledged; at least 1.
    pub packets: u64,
    /// Whether the packet threshold grows with reordering that was mistaken for loss.
    pub adaptive_packets: bool,
    /// kTimeThreshold: a packet is lost when it was sent this number of RTTs ago; above 1.
    pub time: f64,
    /// Whether the time threshold grows, up to 2, when it was too small.
    pub adaptive_time: bool,
}

impl Default for Thresholds {
    /// RFC 9002 sections 6.1.1 and 6.1.2: 3 packets, 9/8 of the RTT, fixed.
    fn default() -> Self {
        Self { packets: 3, adaptive_packets: false, time: 1.125, adaptive_time: false }
    }
}

/// Packet that an acknowledgement newly acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// Packet number.
    pub number: u64,
    /// Packet.
    pub packet: SentPacket,
    /// Whether it had been declared lost: its bytes were no longer in flight.
    pub spurious: bool,
}

/// Packet that is declared lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Packet number.
    pub number: u64,
    /// Packet.
    pub packet: SentPacket,
    /// Whether no packet between it and the previous lost one was acknowledged: for
    /// [`PersistentCongestion`](super::persistent::PersistentCongestion).
    pub follows: bool,
}

/// Summary of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSummary {
    /// Number of packets newly acknowledged.
    pub packets: u32,
    /// Send time of its largest packet, if that is newly acknowledged and one of `packets` is ack-eliciting:
    /// gives an RTT sample (RFC 9002 section 5.1).
    pub rtt_sample_of: Option<Time>,
    /// Number of packets that had been declared lost.
    pub spurious: u32,
}

/// Acknowledgement of a packet that was never sent: a PROTOCOL_VIOLATION (RFC 9000 section 13.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("packet {number} is acknowledged but was never sent; the next to be sent is {next}")]
pub struct UnsentPacketAcked {
    /// Packet number acknowledged.
    pub number: u64,
    /// Number of the next packet.
    pub next: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Outstanding,
    Lost,
    Acked,
    /// Never sent, or lost and removed.
    Absent,
}

/// Packets of one packet number space, each with data of the caller (`T`) that are returned when it is
/// acknowledged or lost.
#[derive(Clone, Debug)]
pub struct LossDetection<T = ()> {
    /// Packets from number `base` on.
    packets: VecDeque<(SentPacket, Status, T)>,
    base: u64,
    /// Number below which no packet is outstanding.
    open: u64,
    largest_acked: Option<u64>,
    /// Number of the last packet declared lost.
    last_lost: Option<u64>,
    /// Whether a packet after `last_lost` was acknowledged and is no longer in the queue.
    acked_since_lost: bool,
    loss_time: Option<Time>,
    /// Bytes of all outstanding packets.
    in_flight: u64,
    /// Number of outstanding ack-eliciting packets.
    ack_eliciting: u64,
    last_ack_eliciting: Option<Time>,
    packet_threshold: u64,
    /// Threshold of a plugin in effect instead of it.
    asked_threshold: Option<u64>,
    adaptive_packets: bool,
    /// Time threshold less 1, in millionths.
    time_part: u64,
    adaptive_time: bool,
}

const MILLION: u64 = 1_000_000;

impl<T: Default> LossDetection<T> {
    /// Makes an empty space.
    #[must_use]
    pub fn new(thresholds: Thresholds) -> Self {
        Self {
            packets: VecDeque::new(),
            base: 0,
            open: 0,
            largest_acked: None,
            last_lost: None,
            acked_since_lost: false,
            loss_time: None,
            in_flight: 0,
            ack_eliciting: 0,
            last_ack_eliciting: None,
            packet_threshold: thresholds.packets.max(1),
            asked_threshold: None,
            adaptive_packets: thresholds.adaptive_packets,
            time_part: libm::round((thresholds.time - 1.0) * 1e6) as u64, // below 1: 0
            adaptive_time: thresholds.adaptive_time,
        }
    }

    /// Adds packet `number`, sent with `content`, in the order of numbers. Numbers may be skipped.
    ///
    /// # Panics
    /// If `number` or a larger one has been sent: packet numbers grow (RFC 9000 section 12.3).
    pub fn on_sent(&mut self, number: u64, packet: SentPacket, content: T) {
        let next = self.next();
        assert!(number >= next, "packet numbers grow: {number} after {next} - 1");
        if self.packets.is_empty() {
            (self.base, self.open) = (number, number);
        } else {
            for _ in next..number {
                self.packets.push_back((SentPacket::default(), Status::Absent, T::default()));
            }
        }
        self.packets.push_back((packet, Status::Outstanding, content));
        self.in_flight += packet.bytes;
        if packet.ack_eliciting {
            self.ack_eliciting += 1;
            self.last_ack_eliciting = Some(packet.time);
        }
    }

    /// Handles an acknowledgement of `ranges`. `each` is called with each newly acknowledged packet, in the
    /// order of the ranges and ascending within each; `rtt` is
    /// [`conservative`](super::rtt::RttEstimator::conservative) before the acknowledgement's sample. Call
    /// [`detect_lost`](Self::detect_lost) afterwards.
    ///
    /// # Errors
    /// If it acknowledges a packet that was never sent; then it has no effect.
    pub fn on_ack(
        &mut self,
        now: Time,
        ranges: impl Iterator<Item = RangeInclusive<u64>> + Clone,
        rtt: Duration,
        mut each: impl FnMut(&Acked, &T),
    ) -> Result<AckSummary, UnsentPacketAcked> {
        let next = self.next();
        let Some(largest) = ranges.clone().map(|range| *range.end()).max() else {
            return Ok(AckSummary::default());
        };
        if largest >= next {
            return Err(UnsentPacketAcked { number: largest, next });
        }
        let mut summary = AckSummary::default();
        let (mut sent, mut ack_eliciting) = (None, false);
        for range in ranges {
            for number in (*range.start()).max(self.base)..=*range.end() {
                let index = (number - self.base) as usize;
                let (packet, status, _) = &mut self.packets[index];
                let spurious = *status == Status::Lost;
                if !spurious && *status != Status::Outstanding {
                    continue;
                }
                *status = Status::Acked;
                let acked = Acked { number, packet: *packet, spurious };
                if spurious {
                    summary.spurious += 1;
                    self.adapt(number, now.since(acked.packet.time), rtt);
                } else {
                    self.remove_from_flight(&acked.packet);
                }
                summary.packets += 1;
                ack_eliciting |= acked.packet.ack_eliciting;
                if number == largest {
                    sent = Some(acked.packet.time);
                }
                each(&acked, &self.packets[index].2);
            }
        }
        summary.rtt_sample_of = sent.filter(|_| ack_eliciting);
        self.largest_acked = self.largest_acked.max(Some(largest));
        self.trim();
        Ok(summary)
    }

    /// Declares packets lost; `each` is called in the order of packet numbers. Sets the
    /// [`loss_time`](Self::loss_time); `rtt` is max(smoothed, latest).
    pub fn detect_lost(&mut self, now: Time, rtt: Duration, mut each: impl FnMut(&Lost, &T)) {
        self.loss_time = None;
        let Some(largest) = self.largest_acked else { return };
        let delay = self.loss_delay(rtt);
        let packet_threshold = self.asked_threshold.unwrap_or(self.packet_threshold);
        let mut number = self.open;
        // only packets before the largest acknowledged can be lost
        while number < largest.min(self.next()) {
            let index = (number - self.base) as usize;
            let (packet, status, _) = &self.packets[index];
            let (packet, status) = (*packet, *status);
            if status == Status::Outstanding {
                let deadline = packet.time + delay;
                if largest - number < packet_threshold && deadline > now {
                    // those after it have larger numbers and were sent later: none is lost
                    self.loss_time = Some(deadline);
                    break;
                }
                let follows = !self.acked_between(number);
                self.packets[index].1 = Status::Lost;
                self.remove_from_flight(&packet);
                (self.last_lost, self.acked_since_lost) = (Some(number), false);
                each(&Lost { number, packet, follows }, &self.packets[index].2);
            }
            number += 1;
        }
        self.open = number;
    }

    /// Declares the first `most` outstanding packets lost that `which` selects, regardless of the thresholds;
    /// `each` is called as by [`detect_lost`](Self::detect_lost).
    pub fn lose(
        &mut self,
        most: usize,
        which: impl Fn(&SentPacket, &T) -> bool,
        mut each: impl FnMut(&Lost, &T),
    ) {
        let mut left = most;
        for number in self.open..self.next() {
            if left == 0 {
                break;
            }
            let index = (number - self.base) as usize;
            let (packet, status, content) = &self.packets[index];
            if *status != Status::Outstanding || !which(packet, content) {
                continue;
            }
            left -= 1;
            let packet = *packet;
            let follows = !self.acked_between(number);
            self.packets[index].1 = Status::Lost;
            self.remove_from_flight(&packet);
            (self.last_lost, self.acked_since_lost) = (self.last_lost.max(Some(number)), false);
            each(&Lost { number, packet, follows }, &self.packets[index].2);
        }
    }

    /// Removes the packets declared lost that were sent before `before`: their acknowledgements are no longer
    /// recognised as spurious losses.
    pub fn forget_lost(&mut self, before: Time) {
        for (packet, status, _) in &mut self.packets {
            if packet.time >= before && *status != Status::Absent {
                break;
            }
            if *status == Status::Lost {
                *status = Status::Absent;
            }
        }
        self.trim();
    }

    /// Removes all packets, as the keys are discarded (RFC 9002 section 6.4). Returns the bytes that were in
    /// flight.
    pub fn discard(&mut self) -> u64 {
        self.base = self.next();
        self.open = self.base;
        self.packets.clear();
        (self.loss_time, self.ack_eliciting) = (None, 0);
        std::mem::take(&mut self.in_flight)
    }

    /// Time at which the first packet is lost by the time threshold; `None`: none waits for it.
    #[must_use]
    pub fn loss_time(&self) -> Option<Time> {
        self.loss_time
    }

    /// max(time threshold x `rtt`, granularity), rounded up (RFC 9002 section 6.1.2).
    #[must_use]
    pub fn loss_delay(&self, rtt: Duration) -> Duration {
        let part = u128::from(rtt.as_nanos()) * u128::from(self.time_part);
        let part = u64::try_from(part.div_ceil(u128::from(MILLION))).unwrap_or(u64::MAX);
        (rtt + Duration::from_nanos(part)).max(GRANULARITY)
    }

    /// Packet threshold as configured or adapted.
    #[must_use]
    pub fn packet_threshold(&self) -> u64 {
        self.packet_threshold
    }

    /// Sets another packet threshold until the next call; at least 1. The adaptive one is still updated.
    pub fn ask_packet_threshold(&mut self, packets: u64) {
        self.asked_threshold = Some(packets.max(1));
    }

    /// Bytes in flight.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Send time of the last ack-eliciting packet in flight; `None`: there is none.
    #[must_use]
    pub fn last_ack_eliciting(&self) -> Option<Time> {
        self.last_ack_eliciting.filter(|_| self.ack_eliciting > 0)
    }

    /// Send time of the last ack-eliciting packet, in flight or not; `None`: none was sent.
    #[must_use]
    pub fn last_ack_eliciting_ever(&self) -> Option<Time> {
        self.last_ack_eliciting
    }

    /// Largest packet number acknowledged.
    #[must_use]
    pub fn largest_acked(&self) -> Option<u64> {
        self.largest_acked
    }

    /// Outstanding packets with their contents, in the order of packet numbers.
    pub fn outstanding(&self) -> impl Iterator<Item = (&SentPacket, &T)> {
        let packets = self.packets.iter();
        packets
            .filter(|(_, status, _)| *status == Status::Outstanding)
            .map(|(packet, _, content)| (packet, content))
    }

    /// Minimum number of the next packet.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.base + self.packets.len() as u64
    }

    fn remove_from_flight(&mut self, packet: &SentPacket) {
        self.in_flight -= packet.bytes;
        self.ack_eliciting -= u64::from(packet.ack_eliciting);
    }

    /// Adapts the thresholds to packet `number`, which was not lost: its acknowledgement arrived `needed`
    /// after it was sent.
    fn adapt(&mut self, number: u64, needed: Duration, rtt: Duration) {
        // without a later packet acknowledged, it was not declared lost by a threshold
        if let Some(largest) = self.largest_acked.filter(|largest| self.adaptive_packets && *largest > number)
        {
            self.packet_threshold = self.packet_threshold.max(largest - number + 1);
        }
        while self.adaptive_time && self.time_part < MILLION && self.loss_delay(rtt) < needed {
            self.time_part = (self.time_part * 2).clamp(1, MILLION);
        }
    }

    /// Whether a packet between the last lost one and `number` was acknowledged.
    fn acked_between(&self, number: u64) -> bool {
        // one after it was lost out of order: by `lose`
        let Some(last) = self.last_lost.filter(|last| *last < number) else { return false };
        let start = (last + 1).max(self.base) - self.base;
        let range = start as usize..(number - self.base) as usize;
        self.acked_since_lost || self.packets.range(range).any(|(_, status, _)| *status == Status::Acked)
    }

    /// Removes packets from the front that can neither be acknowledged nor lost any more.
    fn trim(&mut self) {
        while let Some((_, status @ (Status::Acked | Status::Absent), _)) = self.packets.front() {
            let acked = *status == Status::Acked;
            self.acked_since_lost |= acked && self.last_lost.is_some_and(|last| self.base > last);
            self.packets.pop_front();
            self.base += 1;
        }
        self.open = self.open.max(self.base);
    }
}

#[cfg(test)]
#[path = "threshold_tests.rs"]
mod tests;
