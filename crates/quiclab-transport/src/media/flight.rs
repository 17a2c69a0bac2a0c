//! State of packets sent: acknowledged, lost, in flight (RFC 8298 sections 4.1.2, 4.1.2.3), with RTT and
//! queueing delay.
//!
//! Bytes in flight are those above the highest number acknowledged, regardless of losses below it; bytes
//! newly acknowledged are all those up to it, as in the RFC.

use quiclab_core::{ByteCount, Duration, MediaFeedback, Time};
use std::collections::VecDeque;

/// Weight of a new RTT sample (RFC 6298).
const RTT_WEIGHT: u64 = 8;
/// Number of seconds over which the maximum in flight is taken.
const MAX_SECONDS: u64 = 5;
/// Maximum duration of a reordering; a longer one is a loss.
const MAX_REORDERING: Duration = Duration::from_millis(100);

/// State of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketState {
    Sent,
    Acked,
    /// A later packet has arrived, as reported at this time.
    Missing(Time),
    /// Declared lost, after a report at this time.
    Lost(Time),
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    size: ByteCount,
    at: Time,
    fate: PacketState,
}

/// New information of a report.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckUpdate {
    pub(super) acked: ByteCount,
    pub(super) lost: u64,
    /// Packets that arrived, and those of them with marks, with their bytes.
    pub(super) arrived_packets: u64,
    pub(super) marked_packets: u64,
    pub(super) marked: ByteCount,
    /// Queueing delay of the newest packet.
    pub(super) delay: Duration,
}

/// Packets sent; see the module documentation.
#[derive(Debug, Default)]
pub(super) struct Flight {
    /// Number of the first packet kept.
    first: u64,
    packets: VecDeque<Sent>,
    /// Highest number acknowledged plus one.
    next_ack: u64,
    pub(super) in_flight: ByteCount,
    /// Maximum in flight in each of the last seconds.
    most: [ByteCount; MAX_SECONDS as usize],
    second: u64,
    /// Smoothed RTT; `None` before the first report.
    pub(super) rtt: Option<Duration>,
    /// Minimum one-way delay.
    base: Option<Duration>,
    reordering: Duration,
    /// Highest number whose mark was counted plus one: a mark counts once.
    marks: u64,
}

impl Flight {
    /// Adds the next packet sent; numbers are consecutive.
    pub(super) fn on_sent(&mut self, now: Time, number: u64, size: ByteCount) {
        if self.packets.is_empty() {
            self.first = number;
            self.next_ack = self.next_ack.max(number);
        }
        debug_assert_eq!(self.first + self.packets.len() as u64, number, "numbers follow one another");
        self.packets.push_back(Sent { size, at: now, fate: PacketState::Sent });
        self.in_flight += size;
        self.note(now);
    }

    fn note(&mut self, now: Time) {
        let second = now.as_nanos() / 1_000_000_000;
        if second > self.second {
            for passed in (self.second + 1..=second).take(MAX_SECONDS as usize) {
                self.most[(passed % MAX_SECONDS) as usize] = ByteCount::ZERO;
            }
            self.second = second;
        }
        let most = &mut self.most[(second % MAX_SECONDS) as usize];
        *most = (*most).max(self.in_flight);
    }

    /// Maximum in flight in the last seconds.
    pub(super) fn most(&mut self, now: Time) -> ByteCount {
        self.note(now);
        self.most.iter().copied().max().unwrap_or_default()
    }

    /// Handles a report; `None` if it covers no packet that was sent.
    pub(super) fn on_report(&mut self, now: Time, report: &MediaFeedback) -> Option<AckUpdate> {
        let newest = report.begin + (report.reports.len() as u64).checked_sub(1)?;
        let arrival = report.reports.last().copied().flatten()?;
        if newest >= self.first + self.packets.len() as u64 {
            return None;
        }
        let mut news = AckUpdate::default();
        for number in self.next_ack..=newest {
            if let Some(packet) = self.get(number) {
                news.acked += packet.size;
            }
        }
        self.in_flight = self.in_flight.saturating_sub(news.acked);
        self.next_ack = self.next_ack.max(newest + 1);
        if let Some(packet) = self.get(newest).copied() {
            self.measure(now, report.sent, packet.at, arrival.at);
            let base = self.base.unwrap_or_default();
            news.delay = arrival.at.since(packet.at).saturating_sub(base);
        }
        for (number, arrival) in (report.begin..).zip(&report.reports) {
            let Some(arrival) = arrival else { continue };
            if number >= self.marks {
                news.arrived_packets += 1;
                news.marked_packets += u64::from(arrival.ce);
                news.marked +=
                    self.get(number).filter(|_| arrival.ce).map_or(ByteCount::ZERO, |packet| packet.size);
            }
            self.on_arrived(now, number);
        }
        self.marks = self.marks.max(newest + 1);
        news.lost = self.find_lost(now);
        Some(news)
    }

    fn measure(&mut self, now: Time, reported: Time, sent: Time, arrived: Time) {
        let delay = arrived.since(sent);
        self.base = Some(self.base.map_or(delay, |base| base.min(delay)));
        let sample = now.since(sent).saturating_sub(reported.since(arrived));
        self.rtt = Some(self.rtt.map_or(sample, |rtt| {
            let nanos = (rtt.as_nanos() * (RTT_WEIGHT - 1) + sample.as_nanos()) / RTT_WEIGHT;
            Duration::from_nanos(nanos)
        }));
    }

    fn on_arrived(&mut self, now: Time, number: u64) {
        let Some(place) = number.checked_sub(self.first) else { return };
        let Some(packet) = self.packets.get_mut(place as usize) else { return };
        if let PacketState::Missing(since) | PacketState::Lost(since) = packet.fate {
            self.reordering = self.reordering.max(now.since(since)).min(MAX_REORDERING);
        }
        packet.fate = PacketState::Acked;
    }

    /// Declares packets below the highest acknowledged lost that are missing for longer than the reordering
    /// window; returns their number.
    fn find_lost(&mut self, now: Time) -> u64 {
        let below = self.next_ack.saturating_sub(self.first) as usize;
        let mut lost = 0;
        for packet in self.packets.iter_mut().take(below) {
            if packet.fate == PacketState::Sent {
                packet.fate = PacketState::Missing(now);
            }
            if let PacketState::Missing(since) = packet.fate
                && now.since(since) >= self.reordering
            {
                packet.fate = PacketState::Lost(since);
                lost += 1;
            }
        }
        // a lost packet is kept as long as it may turn out to be reordered
        while let Some(packet) = self.packets.front().filter(|_| self.first < self.next_ack) {
            match packet.fate {
                PacketState::Acked => {}
                PacketState::Lost(since) if now.since(since) >= MAX_REORDERING => {}
                _ => break,
            }
            self.packets.pop_front();
            self.first += 1;
        }
        lost
    }

    /// Declares all packets in flight lost; returns their number.
    pub(super) fn give_up(&mut self) -> u64 {
        let lost = self
            .packets
            .iter()
            .filter(|packet| matches!(packet.fate, PacketState::Sent | PacketState::Missing(_)));
        let lost = lost.count() as u64;
        self.first += self.packets.len() as u64;
        self.next_ack = self.next_ack.max(self.first);
        self.packets.clear();
        self.in_flight = ByteCount::ZERO;
        lost
    }

    fn get(&self, number: u64) -> Option<&Sent> {
        self.packets.get(number.checked_sub(self.first)? as usize)
    }

    /// Number of packets kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.packets.len()
    }
}
