//! The second pass: the data of a connection that are shown.

use super::Selection;
use super::credit::Credit;
use super::decode::Sink;
use super::event::{Event, LATEST_RTT, METRICS, Packet, SRTT, acked_ranges, frame_bytes};
use super::frames::{ACK, CRYPTO, DATAGRAM, Kinds, STREAM};
use super::header::prefix;
use super::ranges::Ranges;
use super::sample::{DownsampledPoints, Extremes, Row, Span};
use super::streams::{Detail, Key};
use super::survey::Survey;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// Maximum number of losses that are shown; more are thinned.
pub(super) const LOSSES_MAX: usize = 100_000;
/// Maximum number of changes of state that are shown; later ones are counted only.
pub(super) const PHASES_MAX: usize = 20_000;
/// Maximum number of names of events that are counted separately.
const NAMES_MAX: usize = 100;
/// Maximum number of transport parameters of an endpoint.
const PARAMETERS_MAX: usize = 64;
/// Maximum number of gaps between acknowledged packets that are stored.
const ACK_GAPS_MAX: usize = 4096;
/// Maximum number of packet number spaces, including paths, whose acknowledgements are distinguished.
const PATHS_MAX: usize = 256;
/// Maximum number of ends of lower ranges of an ACK frame that are shown.
const ACK_ENDS_MAX: usize = 8;
/// Largest UDP payload; the histogram counts a packet with a larger logged length as this long.
const PACKET_BYTES_MAX: u64 = 65_535;

#[derive(Clone, Copy)]
pub(super) struct PacketPoint {
    pub(super) time_ms: f64,
    pub(super) number: u64,
    pub(super) bytes: Option<u32>,
    pub(super) space: u8,
    pub(super) path: u32,
    pub(super) set: u16,
    /// Largest end of data in a STREAM frame.
    pub(super) stream_end: Option<u64>,
}

/// Packets of one direction.
pub(super) struct Packets {
    pub(super) points: DownsampledPoints<PacketPoint>,
    /// Packets that are always shown.
    pub(super) pinned: Vec<PacketPoint>,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) without_number: u64,
    /// Packets with STREAM, DATAGRAM or CRYPTO frames, and with ACK frames.
    pub(super) with_data: u64,
    pub(super) with_acks: u64,
}

impl Packets {
    fn new(span: Span, expected: u64, max_points: usize) -> Self {
        Self {
            points: DownsampledPoints::new(span, expected, max_points),
            pinned: Vec::new(),
            count: 0,
            bytes: 0,
            without_number: 0,
            with_data: 0,
            with_acks: 0,
        }
    }
}

pub(super) struct LossPoint {
    pub(super) time_ms: f64,
    pub(super) number: Option<u64>,
    pub(super) space: u8,
    pub(super) path: u32,
}

pub(super) struct AckPoint {
    pub(super) time_ms: f64,
    pub(super) largest: u64,
    pub(super) space: u8,
    pub(super) path: u32,
    /// Number of packets that no earlier ACK frame acknowledged.
    pub(super) newly: u64,
    /// Ends of the ranges below the largest, descending.
    pub(super) ends: Vec<u64>,
}

/// Data of a connection that are shown.
pub(super) struct Summary<'s> {
    pub(super) survey: &'s Survey,
    pub(super) selection: Selection,
    /// Metrics at the start of the selected time, which apply until the next event: its first row.
    held: [f64; METRICS.len()],
    pub(super) sent: Packets,
    pub(super) received: Packets,
    pub(super) lost: DownsampledPoints<LossPoint>,
    pub(super) lost_packets: u64,
    pub(super) acks: DownsampledPoints<AckPoint>,
    /// By space and path.
    acked: HashMap<(u8, u32), Ranges>,
    pub(super) recovery: Extremes<{ METRICS.len() }>,
    /// Sum and number of RTT samples, and of smoothed RTTs.
    pub(super) latest_rtt: (f64, u64),
    pub(super) smoothed_rtt: (f64, u64),
    pub(super) phases: Vec<(f64, String)>,
    pub(super) phase_changes: u64,
    pub(super) streams: HashMap<Key, Detail>,
    pub(super) kinds: Kinds,
    /// Packets sent and received by size.
    pub(super) sizes: BTreeMap<u32, [u64; 2]>,
    pub(super) parameters: Map<String, Value>,
    pub(super) credit: Credit,
    pub(super) datagrams: [u64; 2],
    pub(super) dropped: u64,
    pub(super) skipped: BTreeMap<String, u64>,
}

impl<'s> Summary<'s> {
    pub(super) fn new(survey: &'s Survey, selection: Selection) -> Self {
        let max_points = selection.max_points;
        let span = selection.clip(survey.span.unwrap_or(Span { from_ms: 0.0, to_ms: 0.0 }));
        let (largest, _) = survey.streams.largest();
        let of_stream = max_points / largest.len().max(1);
        let streams = largest
            .iter()
            .map(|(key, total)| (*key, Detail::new(span, total, of_stream, key.sent)))
            .collect();
        Self {
            survey,
            selection,
            held: [f64::NAN; METRICS.len()],
            sent: Packets::new(span, survey.sent, max_points),
            received: Packets::new(span, survey.received, max_points),
            lost: DownsampledPoints::new(span, survey.losses, LOSSES_MAX),
            lost_packets: 0,
            acks: DownsampledPoints::new(span, survey.acks, max_points),
            acked: HashMap::new(),
            recovery: Extremes::new(span, survey.metrics, max_points),
            latest_rtt: (0.0, 0),
            smoothed_rtt: (0.0, 0),
            phases: Vec::new(),
            phase_changes: 0,
            streams,
            kinds: Kinds::new(),
            sizes: BTreeMap::new(),
            parameters: Map::new(),
            credit: Credit::default(),
            datagrams: [0; 2],
            dropped: 0,
            skipped: BTreeMap::new(),
        }
    }

    fn event(&mut self, time_ms: f64, event: Event<'_>) {
        let selected = self.selection.contains(time_ms);
        match event {
            Event::Packet(packet) => self.packet(time_ms, &packet),
            Event::Lost { number, space, path, count } => {
                self.lost_packets = self.lost_packets.saturating_add(count);
                if selected {
                    self.lost.push(time_ms, LossPoint { time_ms, number, space, path });
                }
            }
            Event::Metrics(values, state) => {
                for (sum, index) in [(&mut self.latest_rtt, LATEST_RTT), (&mut self.smoothed_rtt, SRTT)] {
                    if values[index].is_finite() {
                        *sum = (sum.0 + values[index], sum.1 + 1);
                    }
                }
                self.metrics(time_ms, values, selected);
                self.phase(time_ms, state);
            }
            Event::State(state) => self.phase(time_ms, state),
            Event::Parameters(json) => self.parameters(json),
            Event::Datagrams { sent, count } => {
                let datagrams = &mut self.datagrams[usize::from(!sent)];
                *datagrams = datagrams.saturating_add(count);
            }
            Event::Dropped => self.dropped += 1,
            Event::Other(name) => {
                let name = if name.is_empty() { "without name" } else { prefix(name) };
                if let Some(count) = self.skipped.get_mut(name) {
                    *count += 1;
                } else {
                    let name = if self.skipped.len() < NAMES_MAX { name } else { "others" };
                    *self.skipped.entry(name.to_owned()).or_default() += 1;
                }
            }
        }
    }

    fn metrics(&mut self, time_ms: f64, values: [f64; METRICS.len()], selected: bool) {
        if selected {
            self.hold();
            self.recovery.push(Row { time_ms, values });
        } else if self.selection.window_ms.is_some_and(|(from, _)| time_ms < from) {
            for (held, value) in self.held.iter_mut().zip(values) {
                if value.is_finite() {
                    *held = value;
                }
            }
        }
    }

    /// Inserts the values that apply at the start of the selected time as its first row, if there is none.
    pub(super) fn hold(&mut self) {
        if let Some((from_ms, _)) = self.selection.window_ms
            && self.recovery.total() == 0
            && self.held.iter().any(|value| value.is_finite())
        {
            self.recovery.push(Row { time_ms: from_ms, values: self.held });
        }
    }

    fn packet(&mut self, time_ms: f64, packet: &Packet<'_>) {
        let selected = self.selection.contains(time_ms);
        self.credit.packet(time_ms, packet);
        let (mut bits, mut stream_end) = (0_u64, None);
        for frame in packet.frames {
            let bytes = frame_bytes(frame);
            let kind = self.kinds.count(frame.frame_type.as_str(), bytes);
            bits |= 1 << kind;
            if kind == STREAM {
                let offset = frame.offset.0.unwrap_or_default();
                stream_end = stream_end.max(Some(offset.saturating_add(bytes)));
                let key = Key { sent: packet.sent, id: frame.stream_id.0.unwrap_or_default() };
                if let Some(detail) = self.streams.get_mut(&key) {
                    detail.frame(
                        packet.number.map(|number| (packet.path, number)),
                        offset,
                        bytes,
                        time_ms,
                        selected,
                    );
                }
            } else if kind == ACK && !packet.sent {
                self.ack(time_ms, (packet.space, packet.acked_path(frame)), acked_ranges(frame));
            }
        }
        let bytes = packet.bytes.map(|bytes| bytes.min(PACKET_BYTES_MAX) as u32);
        if let Some(bytes) = bytes {
            self.sizes.entry(bytes).or_default()[usize::from(!packet.sent)] += 1;
        }
        let set = self.kinds.set(bits);
        let packets = if packet.sent { &mut self.sent } else { &mut self.received };
        packets.count += 1;
        packets.bytes = packets.bytes.saturating_add(packet.bytes.unwrap_or(0));
        packets.with_data += u64::from(bits & (1 << STREAM | 1 << CRYPTO | 1 << DATAGRAM) != 0);
        packets.with_acks += u64::from(bits & 1 << ACK != 0);
        let Some(number) = packet.number else {
            packets.without_number += 1;
            return;
        };
        if !selected {
            return;
        }
        let point =
            PacketPoint { time_ms, number, bytes, space: packet.space, path: packet.path, set, stream_end };
        if packet.sent && self.survey.lost.contains(&(packet.space, packet.path, number)) {
            packets.pinned.push(point);
        } else {
            packets.points.push(time_ms, point);
        }
    }

    fn ack(&mut self, time_ms: f64, (space, path): (u8, u32), ranges: impl Iterator<Item = (u64, u64)>) {
        let (mut newly, mut ends) = (0_u64, Vec::new());
        if self.acked.len() == PATHS_MAX && !self.acked.contains_key(&(space, path)) {
            return;
        }
        let acked = self.acked.entry((space, path)).or_default();
        for (smallest, largest) in ranges {
            newly = newly.saturating_add(acked.insert(smallest, largest.saturating_add(1), ACK_GAPS_MAX));
            ends.push(largest);
        }
        ends.sort_unstable_by(|a, b| b.cmp(a));
        ends.truncate(1 + ACK_ENDS_MAX);
        if !ends.is_empty() {
            let largest = ends.remove(0);
            if self.selection.contains(time_ms) {
                self.acks.push(time_ms, AckPoint { time_ms, largest, space, path, newly, ends });
            }
        }
    }

    fn phase(&mut self, time_ms: f64, state: &str) {
        let state = prefix(state);
        if state.is_empty() || self.phases.last().is_some_and(|(_, last)| last == state) {
            return;
        }
        self.phase_changes += 1;
        if self.phases.len() < PHASES_MAX {
            self.phases.push((time_ms, state.to_owned()));
        }
    }

    /// Reads numbers, booleans and short texts from a `parameters_set` event, by owner.
    fn parameters(&mut self, json: &[u8]) {
        let Ok(event) = serde_json::from_slice::<Value>(json) else { return };
        let data = match event {
            Value::Object(mut fields) => fields.remove("data"),
            Value::Array(places) => places.into_iter().rev().find(Value::is_object),
            _ => None,
        };
        let Some(Value::Object(data)) = data else { return };
        let owner = match data.get("owner").or(data.get("initiator")).and_then(Value::as_str) {
            Some("local") => "local",
            Some("remote") => "remote",
            _ => "unknown",
        };
        if owner == "remote"
            && let Some(limit) = data.get("initial_max_data").and_then(Value::as_u64)
        {
            self.credit.initial(limit);
        }
        let kept = self.parameters.entry(owner).or_insert_with(|| Map::new().into());
        let Value::Object(kept) = kept else { return };
        for (name, value) in data {
            let plain = match &value {
                Value::Number(_) | Value::Bool(_) => true,
                Value::String(text) => text.len() <= 64,
                _ => false,
            };
            let own = ["owner", "initiator", "trigger"].contains(&name.as_str());
            if plain && !own && name.len() <= 64 && kept.len() < PARAMETERS_MAX {
                kept.insert(name, value);
            }
        }
    }
}

/// Summaries of the connections that are shown, by connection number.
pub(super) struct Summaries<'s>(pub(super) Vec<Option<Summary<'s>>>);

impl Sink for Summaries<'_> {
    fn event(&mut self, connection: usize, time_ms: f64, event: Event<'_>) {
        if let Some(Some(summary)) = self.0.get_mut(connection) {
            summary.event(time_ms, event);
        }
    }
}
