//! Acknowledgements of one direction: number of packets they cover, intervals between them, and whether they clock
//! the other direction.

use super::clusters;
use super::distribution::Distribution;
use super::document;
use super::settings::Settings;
use super::spacing::{counts, intervals};
use crate::inspect::Ranges;
use crate::packets::{AckRange, Content, PacketNumber};
use std::collections::VecDeque;

/// Maximum number of stored unacknowledged segments: more than any window has.
const SEGMENTS_MAX: usize = 1 << 18;
/// Maximum number of segments that overtake one; an older one counts as a retransmission.
const OVERTAKEN_MAX: usize = 1024;
/// Maximum number of paths of a connection whose packets are distinguished.
const PATHS_MAX: usize = 256;
/// Maximum number of stored gaps between acknowledged packet numbers.
const RANGES_MAX: usize = 4096;

/// Data sent by one endpoint, and the part that its peer has acknowledged.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Ends of unacknowledged TCP segments, in order.
    ends: VecDeque<u32>,
    /// The highest end of all.
    highest: Option<u32>,
    /// The highest acknowledgement number, and the window in the same segment.
    acknowledged: Option<(u32, u16)>,
    /// QUIC: packets by path ID, in the order in which paths were used.
    paths: Vec<(u32, Numbered)>,
}

/// Packets of a packet number space: the first and the highest number that was seen, and those that are acknowledged.
#[derive(Debug)]
struct Numbered {
    first: u64,
    highest: u64,
    acknowledged: Ranges,
}

/// New information in an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Covers {
    /// Number of newly acknowledged packets, at least one.
    Packets(u64),
    /// A part of a packet, or a window.
    NoPacket,
    /// Nothing: the receiver got data out of order or a duplicate.
    Nothing,
}

impl Sent {
    /// Records a TCP segment that was sent.
    pub(super) fn segment(&mut self, sequence: u32, length: u32) {
        if length == 0 {
            return;
        }
        let end = sequence.wrapping_add(length);
        if self.highest.is_none_or(|highest| after(end, highest)) {
            self.highest = Some(end);
        }
        if self.acknowledged.is_some_and(|(number, _)| !after(end, number)) {
            return;
        }
        // usually the last; an overtaken one belongs further down, and one that is present is a retransmission
        let mut place = self.ends.len();
        let least = place.saturating_sub(OVERTAKEN_MAX);
        while place > least && after(self.ends[place - 1], end) {
            place -= 1;
        }
        if place == least && least > 0 || place > 0 && self.ends[place - 1] == end {
            return;
        }
        self.ends.insert(place, end);
        if self.ends.len() > SEGMENTS_MAX {
            self.ends.pop_front();
        }
    }

    /// Records QUIC packets that were sent.
    pub(super) fn packets(&mut self, packets: &[PacketNumber]) {
        for &PacketNumber { path, number } in packets {
            if let Some((_, numbered)) = self.paths.iter_mut().find(|(known, _)| *known == path) {
                numbered.first = numbered.first.min(number);
                numbered.highest = numbered.highest.max(number);
            } else if self.paths.len() < PATHS_MAX {
                let acknowledged = Ranges::default();
                self.paths.push((path, Numbered { first: number, highest: number, acknowledged }));
            }
        }
    }

    /// Processes a TCP acknowledgement.
    pub(super) fn acknowledge(&mut self, number: u32, window: u16, sacks: bool) -> Covers {
        if self.highest.is_some_and(|highest| after(number, highest)) {
            // of data that were not captured, or of none: the next one decides
            return Covers::NoPacket;
        }
        let before = self.acknowledged.replace((number, window));
        let Some((last, last_window)) = before else {
            let covered = self.take(number);
            return if covered > 0 { Covers::Packets(covered) } else { Covers::NoPacket };
        };
        if after(last, number) {
            // an older acknowledgement that was overtaken
            self.acknowledged = before;
            return Covers::Nothing;
        }
        if number == last {
            return if sacks || window == last_window { Covers::Nothing } else { Covers::NoPacket };
        }
        match self.take(number) {
            0 => Covers::NoPacket,
            covered => Covers::Packets(covered),
        }
    }

    fn take(&mut self, number: u32) -> u64 {
        let mut covered = 0;
        while self.ends.front().is_some_and(|&end| !after(end, number)) {
            self.ends.pop_front();
            covered += 1;
        }
        covered
    }

    /// Processes ACK frames.
    pub(super) fn acknowledge_numbers(&mut self, ranges: &[AckRange]) -> Covers {
        let (mut known, mut new) = (false, 0_u64);
        for AckRange { path, numbers } in ranges {
            let Some((_, numbered)) = self.paths.iter_mut().find(|(known, _)| known == path) else {
                continue;
            };
            known = true;
            let (from, to) = (*numbers.start().max(&numbered.first), *numbers.end().min(&numbered.highest));
            new = new.saturating_add(numbered.acknowledged.insert(from, to.saturating_add(1), RANGES_MAX));
        }
        // packets sent on these paths were not captured
        if !known {
            return Covers::NoPacket;
        }
        if new > 0 { Covers::Packets(new) } else { Covers::Nothing }
    }
}

/// Whether sequence number `a` is after `b` (RFC 9293 section 3.4).
fn after(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) < 1 << 31
}

/// Statistics of the acknowledgements of one endpoint.
#[derive(Debug)]
pub(super) struct Acking {
    count: u64,
    known: bool,
    last: Option<i64>,
    first: i64,
    intervals: Distribution,
    packets: Distribution,
    duplicates: u64,
    /// Maximum time after an ACK that counts as close to it [ns].
    close: u64,
    covered_time: u64,
    answered: u64,
    bursts: u64,
}

impl Acking {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            count: 0,
            known: false,
            last: None,
            first: 0,
            intervals: Distribution::default(),
            packets: Distribution::default(),
            duplicates: 0,
            close: settings.clocked_ns(),
            covered_time: 0,
            answered: 0,
            bursts: 0,
        }
    }

    /// Adds a packet of this endpoint that acknowledges and carries no data.
    pub(super) fn add(&mut self, at: i64, covers: Option<Covers>) {
        self.count += 1;
        self.known |= covers.is_some();
        match covers {
            Some(Covers::Packets(packets)) => self.packets.add(packets),
            Some(Covers::Nothing) => self.duplicates += 1,
            Some(Covers::NoPacket) | None => {}
        }
        let interval = self.last.and_then(|last| u64::try_from(at.saturating_sub(last)).ok());
        if let Some(interval) = interval {
            self.intervals.add(interval);
            self.covered_time = self.covered_time.saturating_add(interval.min(self.close));
        } else if self.last.is_none() {
            self.first = at;
        }
        self.last = Some(at);
    }

    /// Records the beginning of a burst of the peer.
    pub(super) fn burst(&mut self, at: i64) {
        // before the first acknowledgement there is none to answer
        let Some(last) = self.last else { return };
        self.bursts += 1;
        let since = at.saturating_sub(last);
        self.answered += u64::from(u64::try_from(since).is_ok_and(|since| since <= self.close));
    }

    /// Whether there were no acknowledgements.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether acknowledgements can be identified.
    pub(super) fn known(&self) -> bool {
        self.known
    }

    /// Returns the results.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn finish(self) -> document::Acks {
        let time = self.last.map_or(0, |last| last.saturating_sub(self.first).unsigned_abs());
        let share = (self.bursts > 0).then(|| self.answered as f64 / self.bursts as f64);
        let by_chance = (time > 0).then(|| (self.covered_time as f64 / time as f64).min(1.0));
        let explained = share.zip(by_chance).filter(|(_, chance)| *chance < 1.0);
        document::Acks {
            count: self.count,
            intervals: intervals(&self.intervals),
            found: clusters::found(&self.intervals),
            packets_mean: self.packets.mean(),
            packets_mode: self.packets.mode().map(|mode| mode.round() as u64),
            packets: counts(&self.packets),
            duplicate_share: (self.known && self.count > 0)
                .then(|| self.duplicates as f64 / self.count as f64),
            clocking: document::Clocking {
                share,
                by_chance,
                explained: explained.map(|(share, chance)| ((share - chance) / (1.0 - chance)).max(0.0)),
            },
        }
    }
}

/// Whether a packet acknowledges and carries no data, as far as is known.
pub(super) fn acknowledges(content: &Content<'_>, payload_bytes: u32) -> bool {
    match *content {
        Content::Segment { acknowledgement, control, .. } => {
            acknowledgement.is_some() && payload_bytes == 0 && !control
        }
        Content::Quic { acknowledged, .. } => acknowledged.is_some(),
        Content::Acknowledges(_) | Content::Opaque => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::RangeInclusive;

    #[test]
    fn an_acknowledgement_covers_segments() {
        let mut sent = Sent::default();
        let near_the_end = u32::MAX - 1499;
        for segment in 0..6 {
            sent.segment(near_the_end.wrapping_add(1000 * segment), 1000);
        }
        let at = |bytes: u32| near_the_end.wrapping_add(bytes);
        // numbers wrap after 1500 bytes
        assert_eq!(sent.acknowledge(at(2000), 100, false), Covers::Packets(2));
        assert_eq!(sent.acknowledge(at(2000), 100, false), Covers::Nothing);
        assert_eq!(sent.acknowledge(at(2000), 100, true), Covers::Nothing);
        assert_eq!(sent.acknowledge(at(2000), 90, false), Covers::NoPacket);
        sent.segment(at(2000), 1000); // a retransmission
        assert_eq!(sent.acknowledge(at(2500), 90, false), Covers::NoPacket);
        assert_eq!(sent.acknowledge(at(6000), 90, false), Covers::Packets(4));
        assert_eq!(sent.acknowledge(at(3000), 90, false), Covers::Nothing);
        sent.segment(at(5000), 1000); // a late retransmission
        sent.segment(at(6000), 1);
        assert_eq!(sent.acknowledge(at(6001), 90, false), Covers::Packets(1));
    }

    fn numbers(path: u32, numbers: &[u64]) -> Vec<PacketNumber> {
        numbers.iter().map(|&number| PacketNumber { path, number }).collect()
    }

    fn ranges<const N: usize>(path: u32, ranges: [RangeInclusive<u64>; N]) -> [AckRange; N] {
        ranges.map(|numbers| AckRange { path, numbers })
    }

    #[test]
    fn an_acknowledgement_covers_numbers() {
        let mut sent = Sent::default();
        assert_eq!(sent.acknowledge_numbers(&ranges(0, [0..=1])), Covers::NoPacket);
        // the capture begins with packet 100; 107 is the last
        sent.packets(&numbers(0, &[100, 107, 103]));
        assert_eq!(sent.acknowledge_numbers(&ranges(0, [0..=101, 105..=106])), Covers::Packets(4));
        assert_eq!(sent.acknowledge_numbers(&ranges(0, [0..=101, 105..=106])), Covers::Nothing);
        assert_eq!(sent.acknowledge_numbers(&ranges(0, [0..=1 << 62])), Covers::Packets(4));
    }

    #[test]
    fn each_path_has_numbers_of_its_own() {
        let mut sent = Sent::default();
        sent.packets(&numbers(0, &[0, 1, 2]));
        sent.packets(&numbers(3, &[0, 1]));
        assert_eq!(sent.acknowledge_numbers(&ranges(0, [0..=1])), Covers::Packets(2));
        assert_eq!(sent.acknowledge_numbers(&ranges(3, [0..=1])), Covers::Packets(2));
        assert_eq!(sent.acknowledge_numbers(&ranges(3, [0..=1])), Covers::Nothing);
        assert_eq!(sent.acknowledge_numbers(&ranges(2, [0..=1])), Covers::NoPacket, "nothing was sent on it");
        let both = [ranges(0, [0..=2]), ranges(3, [0..=1])].concat();
        assert_eq!(sent.acknowledge_numbers(&both), Covers::Packets(1));
    }

    #[test]
    fn what_was_overtaken_is_no_retransmission_and_a_false_number_no_end() {
        let mut sent = Sent::default();
        for sequence in [0, 2000, 1000, 3000, 3000] {
            sent.segment(sequence, 1000);
        }
        assert_eq!(sent.acknowledge(1 << 30, 100, false), Covers::NoPacket);
        assert_eq!(sent.acknowledge(2000, 100, false), Covers::Packets(2));
        assert_eq!(sent.acknowledge(4000, 100, false), Covers::Packets(2));
    }

    #[test]
    fn old_numbers_are_nothing_new() {
        let mut sent = Sent::default();
        sent.packets(&numbers(0, &[0, 7]));
        assert_eq!(sent.acknowledge_numbers(&ranges(0, [0..=1, 5..=6])), Covers::Packets(4));
        assert_eq!(sent.acknowledge_numbers(&ranges(0, [0..=1, 5..=6])), Covers::Nothing);
        assert_eq!(sent.acknowledge_numbers(&ranges(0, [0..=7])), Covers::Packets(4));
    }

    #[test]
    fn memory_is_bounded() {
        let mut sent = Sent::default();
        for segment in 0..300_000_u32 {
            sent.segment(segment * 1000, 1000);
        }
        assert_eq!(sent.ends.len(), SEGMENTS_MAX);
    }

    #[test]
    fn clocking_is_more_than_chance() {
        // an ACK each millisecond; 0.1 ms after one counts: a tenth of the time
        let mut acking = Acking::new(&Settings::default());
        for ms in 0..=100 {
            acking.add(ms * 1_000_000, Some(Covers::Packets(2)));
            // each second burst answers, the others come 0.5 ms later
            acking.burst(ms * 1_000_000 + if ms % 2 == 0 { 20_000 } else { 500_000 });
        }
        let acks = acking.finish();
        let share = 51.0 / 101.0;
        assert_eq!((acks.count, acks.packets_mode, acks.duplicate_share), (101, Some(2), Some(0.0)));
        assert_eq!((acks.clocking.share, acks.clocking.by_chance), (Some(share), Some(0.1)));
        assert!((acks.clocking.explained.unwrap() - (share - 0.1) / 0.9).abs() < 1e-12);
        assert_eq!(acks.intervals.quantiles_ms["0.5"], 1.0);
    }
}
