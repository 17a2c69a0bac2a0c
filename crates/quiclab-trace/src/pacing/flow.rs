//! Analysis of the flows of one capture, in both directions.

use super::acks::{Acking, Covers, Sent, acknowledges};
use super::document;
use super::settings::{SECOND_NS, Settings};
use super::spacing::Spacing;
use crate::packets::{Content, Flow, ObservedPacket, Protocol, Reading, Sink};
use std::cmp::Reverse;

/// Analyses the flows of one capture as they are read.
#[derive(Debug)]
pub struct Analysis {
    settings: Settings,
    counted: std::ops::Range<u64>,
    flows: Vec<Option<BidirectionalFlow>>,
}

/// A flow in both directions.
#[derive(Debug)]
struct BidirectionalFlow {
    flow: Flow,
    first: Option<i64>,
    /// Direction of the first endpoint, then that of the second.
    halves: [FlowDirection; 2],
}

/// Packets that one endpoint sends.
#[derive(Debug)]
struct FlowDirection {
    spacing: Spacing,
    acking: Acking,
    sent: Sent,
}

impl FlowDirection {
    fn new(settings: &Settings) -> Self {
        Self { spacing: Spacing::new(settings), acking: Acking::new(settings), sent: Sent::default() }
    }
}

impl Analysis {
    /// Creates an empty analysis.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self { settings: settings.clone(), counted: settings.counted_ns(), flows: Vec::new() }
    }

    /// Returns the results of the `most` flows with the most bytes.
    #[must_use]
    pub fn finish(self, file: String, reading: Reading, most: usize) -> document::Capture {
        let mut flows: Vec<BidirectionalFlow> = self.flows.into_iter().flatten().collect();
        flows.sort_by_key(|both| {
            Reverse(both.halves.iter().map(|half| half.spacing.payload_bytes()).sum::<u64>())
        });
        let rest = flows.split_off(most.min(flows.len()));
        let packets =
            |both: &BidirectionalFlow| both.halves.iter().map(|half| half.spacing.packets()).sum::<u64>();
        document::Capture {
            file,
            format: reading.format,
            frames: reading.frames,
            problems: reading.problems.iter().map(|(kind, count)| (kind.to_owned(), count)).collect(),
            notes: reading.notes,
            flows: flows.into_iter().map(|both| both.finish(&self.settings)).collect(),
            further_flows: rest.len() as u64,
            further_packets: rest.iter().map(packets).sum(),
        }
    }
}

impl Sink for Analysis {
    fn flow(&mut self, index: usize, flow: &Flow) {
        if self.flows.len() <= index {
            self.flows.resize_with(index + 1, || None);
        }
        let halves = [FlowDirection::new(&self.settings), FlowDirection::new(&self.settings)];
        self.flows[index] = Some(BidirectionalFlow { flow: flow.clone(), first: None, halves });
    }

    fn better_known(&mut self, index: usize, flow: &Flow) {
        if let Some(Some(both)) = self.flows.get_mut(index) {
            both.flow = flow.clone();
        }
    }

    fn packet(&mut self, index: usize, packet: &ObservedPacket<'_>) {
        if let Some(Some(both)) = self.flows.get_mut(index) {
            both.packet(packet, &self.counted);
        }
    }
}

impl BidirectionalFlow {
    fn packet(&mut self, packet: &ObservedPacket<'_>, counted: &std::ops::Range<u64>) {
        let first = *self.first.get_or_insert(packet.at);
        let [one, two] = &mut self.halves;
        let (own, other) = if packet.backward { (two, one) } else { (one, two) };
        // acknowledged data are tracked from the beginning, also outside the time that counts
        let covers = match packet.content {
            Content::Segment { sequence, acknowledgement, length, window, sack_blocks, .. } => {
                own.sent.segment(sequence, length);
                acknowledgement.map(|number| other.sent.acknowledge(number, window, sack_blocks > 0))
            }
            Content::Quic { numbers, acknowledged, .. } => {
                own.sent.packets(numbers);
                acknowledged.map(|ranges| other.sent.acknowledge_numbers(ranges))
            }
            Content::Acknowledges(0) => Some(Covers::Nothing),
            Content::Acknowledges(packets) => Some(Covers::Packets(packets)),
            Content::Opaque => None,
        };
        let since = u64::try_from(packet.at.saturating_sub(first)).unwrap_or(0);
        if !counted.contains(&since) {
            return;
        }
        let carries = match packet.content {
            Content::Segment { .. } => packet.payload_bytes > 0,
            Content::Quic { ack_eliciting, .. } => ack_eliciting,
            Content::Acknowledges(_) => false,
            Content::Opaque => true,
        };
        if carries && own.spacing.add(packet) {
            other.acking.burst(packet.at);
        }
        // an unreadable packet among readable ones is not an identified acknowledgement
        let unread = packet.content == Content::Opaque && own.acking.known();
        if !unread && acknowledges(&packet.content, packet.payload_bytes) {
            own.acking.add(packet.at, covers);
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn finish(self, settings: &Settings) -> document::Flow {
        let [one, two] = self.halves;
        let swap = two.spacing.payload_bytes() > one.spacing.payload_bytes();
        let (data, acks) = if swap { (two, one) } else { (one, two) };
        let end = |index: usize| self.flow.ends.map_or(String::new(), |ends| ends[index].to_string());
        let mut notes = Vec::new();
        let spacing = data.spacing;
        let duration_s = spacing.duration_ns() as f64 / SECOND_NS;
        let acks_known = acks.acking.known();
        let data = spacing.finish(settings);
        if acks.spacing.packets() == 0 && acks.acking.is_empty() && data.packets > 0 {
            notes.push("nothing of the receiver was captured".to_owned());
        }
        document::Flow {
            protocol: match self.flow.protocol {
                Protocol::Tcp => "tcp",
                Protocol::Quic => "quic",
                Protocol::Udp => "udp",
            },
            name: self.flow.name,
            sender: end(usize::from(swap)),
            receiver: end(usize::from(!swap)),
            start_s: self.first.unwrap_or(0) as f64 / SECOND_NS,
            duration_s,
            acks_known,
            notes,
            data,
            acks: acks.acking.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: Flow = Flow { protocol: Protocol::Tcp, ends: None, name: String::new() };

    fn analysed(settings: &Settings, packets: &[ObservedPacket<'_>]) -> document::Flow {
        let mut analysis = Analysis::new(settings);
        analysis.flow(0, &FLOW);
        packets.iter().for_each(|packet| analysis.packet(0, packet));
        analysis.finish("f".to_owned(), Reading::default(), 8).flows.remove(0)
    }

    fn seen(at_us: i64, backward: bool, bytes: u32, content: Content<'_>) -> ObservedPacket<'_> {
        let payload_bytes = bytes.saturating_sub(66);
        let packet_bytes = bytes.saturating_sub(14);
        ObservedPacket {
            at: at_us * 1000,
            backward,
            frame_bytes: bytes,
            packet_bytes,
            payload_bytes,
            content,
        }
    }

    /// A client's SYN, then every 2.4 ms a pair of segments 2 us apart, each answered by an ACK that triggers the
    /// next.
    fn pairs(count: u32) -> Vec<ObservedPacket<'static>> {
        let segment = |sequence, length, acknowledgement, control| Content::Segment {
            sequence,
            acknowledgement,
            length,
            control,
            window: 100,
            sack_blocks: 0,
        };
        let mut packets = vec![
            seen(0, false, 66, segment(500, 1, None, true)),
            seen(10, true, 66, segment(0, 1, Some(501), true)),
            seen(2400, false, 66, segment(501, 0, Some(1), false)),
        ];
        for pair in 0..count {
            let at = 2410 + 2400 * i64::from(pair);
            let begin = 1 + 2896 * pair;
            packets.push(seen(at, true, 1514, segment(begin, 1448, Some(501), false)));
            packets.push(seen(at + 2, true, 1514, segment(begin + 1448, 1448, Some(501), false)));
            packets.push(seen(at + 2390, false, 66, segment(501, 0, Some(begin + 2896), false)));
        }
        packets
    }

    #[test]
    fn pairs_that_acks_clock() {
        let settings = Settings { bottleneck_mbps: Some(10.0), link_mbps: Some(20.0), ..Settings::default() };
        let flow = analysed(&settings, &pairs(1000));
        let (data, acks) = (&flow.data, &flow.acks);
        assert!(flow.acks_known && flow.notes.is_empty(), "{:?}", flow.notes);
        assert_eq!((data.packets, data.frame_median_bytes, data.frame_largest_bytes), (2000, 1514, 1514));
        // 2 us and 2.398 ms in turn; SYN and ACKs do not count
        assert_eq!(
            (data.intervals.count, data.intervals.least_ms, data.intervals.largest_ms),
            (1999, Some(0.002), Some(2.398))
        );
        assert_eq!(data.intervals.quantiles_ms["0.5"], 0.002);
        assert_eq!(data.intervals.quantiles_ms["0.9"], 2.398);
        assert_eq!((data.bursts.count, data.bursts.sizes.len(), data.bursts.sizes[&2]), (1000, 1, 1000));
        assert_eq!(data.bursts.between.quantiles_ms["0.5"], 2.4);
        assert_eq!(data.bursts.within.count, 1000);
        let centres: Vec<f64> = data.clusters.found.iter().map(|found| found.centre_ms).collect();
        assert_eq!((centres[0], centres.len()), (0.002, 2));
        assert!((centres[1] - 2.398).abs() < 1e-5);
        // 1999 frames of 1514 B after the first, in 999 * 2.4 + 0.002 ms
        let rate_mbps = 1999.0 * 1514.0 * 8.0 / (999.0 * 2400.0 + 2.0);
        assert!((data.rate_mbps.unwrap() - rate_mbps).abs() < 1e-9);
        assert!((data.utilisation.unwrap() - rate_mbps / 20.0).abs() < 1e-9);
        assert!((data.clusters.expected[0].interval_ms - 1.2112).abs() < 1e-12);
        assert_eq!(data.clusters.expected[0].share, 0.0);
        // the ACK of the handshake covers the SYN
        assert_eq!((acks.count, acks.packets[&1], acks.packets[&2]), (1001, 1, 1000));
        assert_eq!((acks.packets_mode, acks.duplicate_share), (Some(2), Some(0.0)));
        assert_eq!(acks.intervals.quantiles_ms["0.5"], 2.4);
        assert_eq!(acks.clocking.share, Some(1.0));
        assert!((acks.clocking.by_chance.unwrap() - 0.1 / 2.4).abs() < 1e-9);
        assert!((acks.clocking.explained.unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_cut_off_still_counts_as_sent() {
        let settings = Settings { skip_s: 0.0036, until_s: Some(0.0096), ..Settings::default() };
        // the first pair is excluded; the second is at 4.81 ms, the first's ACK at 4.8 ms; the third at 7.21 ms
        let flow = analysed(&settings, &pairs(10));
        assert_eq!((flow.data.packets, flow.acks.count), (4, 2));
        assert_eq!(flow.acks.packets.iter().collect::<Vec<_>>(), [(&2, &2)]);
        assert!((flow.duration_s - 0.002_402).abs() < 1e-12);
    }

    #[test]
    fn odd_captures_have_notes() {
        let at = [0, 10, 5, 20].map(|at_us| seen(at_us, false, 3000, Content::Opaque));
        let flow = analysed(&Settings::default(), &at);
        assert_eq!((flow.data.oversized, flow.data.backwards, flow.data.intervals.count), (4, 1, 2));
        assert_eq!(flow.notes, ["nothing of the receiver was captured"]);
        assert!(!flow.acks_known && flow.acks.packets_mode.is_none());
        // times at the limits of the clock
        let ends =
            [i64::MIN, i64::MAX, 0].map(|at| ObservedPacket { at, ..seen(0, false, 100, Content::Opaque) });
        let flow = analysed(&Settings::default(), &ends);
        assert_eq!((flow.data.intervals.count, flow.data.backwards), (1, 1));
        assert!(flow.data.rate_over_time_mbps.len() <= 5000);
    }

    #[test]
    fn the_largest_flows_are_shown() {
        let mut analysis = Analysis::new(&Settings::default());
        for index in 0..5_u32 {
            analysis.flow(index as usize, &FLOW);
            analysis.packet(index as usize, &seen(0, false, 100 + index, Content::Opaque));
        }
        let capture = analysis.finish("f".to_owned(), Reading::default(), 2);
        let sizes: Vec<u64> = capture.flows.iter().map(|flow| flow.data.frame_bytes).collect();
        assert_eq!((sizes, capture.further_flows, capture.further_packets), (vec![104, 103], 3, 3));
    }
}
