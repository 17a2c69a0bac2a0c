//! Content of an event, independent of the draft of its file.
//!
//! | events | become |
//! | --- | --- |
//! | `packet_sent`, `packet_received` | [`Event::Packet`] |
//! | `packet_lost`; mvfst's `packets_lost` with the largest number and a count | [`Event::Lost`] |
//! | `metrics_updated`, `metric_update`, `recovery_metrics_updated`, `congestion_metric_update` | [`Event::Metrics`] |
//! | `congestion_state_updated` | [`Event::State`] |
//! | `parameters_set`, `parameters_restored` | [`Event::Parameters`] |
//! | `datagrams_sent`, `udp_datagrams_received` and similar | [`Event::Datagrams`] |
//! | `packet_dropped`, `packet_drop` | [`Event::Dropped`] |
//! | all others | [`Event::Other`] by name |
//!
//! The part before the colon is ignored: it changed from `transport` and `recovery` to `quic`.

use super::frames::{is_ack, is_path_ack};
use super::record::{self, Data, Frame};

/// Metrics of recovery, in this order: in bytes for the first three, then milliseconds, then Mbit/s.
pub(super) const METRICS: [&str; 7] = [
    "cwnd_bytes",
    "in_flight_bytes",
    "ssthresh_bytes",
    "srtt_ms",
    "latest_rtt_ms",
    "min_rtt_ms",
    "pacing_rate_mbps",
];
/// Position in [`METRICS`].
pub(super) const SRTT: usize = 3;
pub(super) const LATEST_RTT: usize = 4;

/// An ssthresh from this value on means that there is none (2^53; stacks write their largest integer).
const NO_SSTHRESH: f64 = 9_007_199_254_740_992.0;

pub(crate) enum Event<'a> {
    Packet(Packet<'a>),
    Lost {
        number: Option<u64>,
        space: u8,
        path: u32,
        /// More than one only where packets are reported together.
        count: u64,
    },
    /// Values, NaN where the event has none; and the name of the state, or an empty string.
    Metrics([f64; METRICS.len()], &'a str),
    State(&'a str),
    /// The text of the event, parsed again for its names.
    Parameters(&'a [u8]),
    Datagrams {
        sent: bool,
        count: u64,
    },
    Dropped,
    Other(&'a str),
}

pub(crate) struct Packet<'a> {
    pub(crate) sent: bool,
    /// `None` for Retry, Version Negotiation and packets that are logged without one.
    pub(crate) number: Option<u64>,
    /// 0 Initial, 1 Handshake, 2 0-RTT, 3 1-RTT.
    pub(crate) space: u8,
    /// Path ID of application data in Multipath QUIC, whose paths have their own packet numbers; otherwise 0.
    pub(crate) path: u32,
    /// Destination connection ID as it is written, or empty.
    pub(super) destination: &'a str,
    pub(crate) bytes: Option<u64>,
    /// Whether packets of its type have no frames: Retry, Version Negotiation, stateless resets.
    pub(crate) without_frames: bool,
    pub(super) frames: &'a [Frame<'a>],
}

impl Packet<'_> {
    /// Whether it is of the application data space: 0-RTT, 1-RTT, or without a type.
    pub(crate) fn application_data(&self) -> bool {
        self.space >= ZERO_RTT
    }

    /// Whether its frames are logged; no packet is without frames (RFC 9000 section 12.4).
    pub(crate) fn frames_told(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Whether it has frames other than ACK, PADDING and CONNECTION_CLOSE (RFC 9002 section 2).
    pub(crate) fn ack_eliciting(&self) -> bool {
        let others = ["padding", "connection_close", "application_close"];
        self.frames.iter().any(|frame| {
            let kind = frame.frame_type.as_str();
            !is_ack(kind) && !others.iter().any(|name| name.eq_ignore_ascii_case(kind))
        })
    }

    /// Path and ranges of each of its ACK frames, the ranges as `(smallest, largest)`, in the order in which they are written.
    pub(crate) fn acks(&self) -> impl Iterator<Item = (u32, impl Iterator<Item = (u64, u64)>)> {
        let acks = self.frames.iter().filter(|frame| is_ack(frame.frame_type.as_str()));
        acks.map(|frame| (self.acked_path(frame), acked_ranges(frame)))
    }

    /// Path whose packets an ACK frame acknowledges: the one in its Path ID. An ACK frame without one means path 0
    /// (draft-ietf-quic-multipath-21 section 2.4); an ACK frame of a path that is logged without Path ID means the
    /// path of its packet.
    pub(super) fn acked_path(&self, frame: &Frame<'_>) -> u32 {
        match frame.path_id.0 {
            _ if !self.application_data() => 0,
            Some(path) => path_number(path),
            None if is_path_ack(frame.frame_type.as_str()) => self.path,
            None => 0,
        }
    }
}

/// Packet number space of 0-RTT packets.
const ZERO_RTT: u8 = 2;
/// Packet number space of 1-RTT packets, and of those whose type is unknown.
const ONE_RTT: u8 = 3;

/// Path ID, clamped to the maximum.
fn path_number(path: u64) -> u32 {
    u32::try_from(path).unwrap_or(u32::MAX)
}

fn space(name: &str) -> u8 {
    let mut lower = [0; 16];
    let length = name.len().min(lower.len());
    lower[..length].copy_from_slice(&name.as_bytes()[..length]);
    lower.make_ascii_lowercase();
    match &lower[..length] {
        b"initial" => 0,
        b"handshake" => 1,
        b"0rtt" | b"0-rtt" | b"zerortt" | b"zero_rtt" | b"0rtt protected" => ZERO_RTT,
        _ => ONE_RTT,
    }
}

impl<'a> Event<'a> {
    /// Content of `event`; `unit_ms` is the length of its unit of time, `json` its text. `multipath`: whether frames of its
    /// connection have had paths.
    pub(super) fn of(event: &'a record::Event<'_>, unit_ms: f64, json: &'a [u8], multipath: bool) -> Self {
        let data = &event.data;
        let full = if event.name.0.is_some() { event.name.as_str() } else { event.event.as_str() };
        let name = full.rsplit(':').next().unwrap_or_default();
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        if is(&["packet_sent"]) {
            Self::Packet(packet(true, event, multipath))
        } else if is(&["packet_received"]) {
            Self::Packet(packet(false, event, multipath))
        } else if is(&[
            "metrics_updated",
            "metric_update",
            "recovery_metrics_updated",
            "congestion_metric_update",
        ]) {
            Self::Metrics(metrics(data, unit_ms), data.state.as_str())
        } else if is(&["packet_lost", "packets_lost"]) {
            let number = data.header.packet_number.0.or(data.packet_number.0).or(data.largest_lost.0);
            let count = data.lost_packets.0.filter(|_| data.largest_lost.0.is_some()).unwrap_or(1);
            let space = space_of(data);
            Self::Lost { number, space, path: path_of(event, space, multipath), count }
        } else if is(&["congestion_state_updated"]) {
            Self::State(if data.new.0.is_some() { data.new.as_str() } else { data.state.as_str() })
        } else if is(&["parameters_set", "parameters_restored"]) {
            Self::Parameters(json)
        } else if is(&["datagrams_sent", "datagram_sent", "udp_datagrams_sent"]) {
            Self::Datagrams { sent: true, count: data.count.0.unwrap_or(1) }
        } else if is(&["datagrams_received", "datagram_received", "udp_datagrams_received"]) {
            Self::Datagrams { sent: false, count: data.count.0.unwrap_or(1) }
        } else if is(&["packet_dropped", "packet_drop"]) {
            Self::Dropped
        } else {
            Self::Other(full)
        }
    }
}

fn type_of<'a>(data: &'a Data<'_>) -> &'a str {
    let names = [&data.header.packet_type, &data.packet_type, &data.packet_number_space, &data.type_name];
    names.into_iter().find_map(|name| name.0.as_deref()).unwrap_or_default()
}

fn space_of(data: &Data<'_>) -> u8 {
    space(type_of(data))
}

fn is_without_frames(kind: &str) -> bool {
    let names = ["retry", "version_negotiation", "stateless_reset"];
    names.iter().any(|name| name.eq_ignore_ascii_case(kind))
}

/// The path of a packet of a space.
fn path_of(event: &record::Event<'_>, space: u8, multipath: bool) -> u32 {
    if space < ZERO_RTT {
        return 0;
    }
    let named = event.data.header.path_id.0.or(event.data.path_id.0).or(event.path_id.0);
    // noq: `p1`
    let tuple = || event.tuple.as_str().trim_start_matches('p').parse().ok().filter(|_| multipath);
    named.or_else(tuple).map_or(0, path_number)
}

fn packet<'a>(sent: bool, event: &'a record::Event<'_>, multipath: bool) -> Packet<'a> {
    let data = &event.data;
    let space = space_of(data);
    let sizes = [
        data.raw.length,
        data.header.packet_size,
        data.packet_size,
        data.header.length,
        data.raw.payload_length,
    ];
    Packet {
        sent,
        number: data.header.packet_number.0.or(data.packet_number.0),
        space,
        path: path_of(event, space, multipath),
        destination: data.header.dcid.as_str(),
        bytes: sizes.into_iter().find_map(|size| size.0.filter(|&bytes| bytes > 0)),
        without_frames: data.frames.0.is_empty() && is_without_frames(type_of(data)),
        frames: &data.frames.0,
    }
}

fn metrics(data: &Data<'_>, unit_ms: f64) -> [f64; METRICS.len()] {
    let time = |value: Option<f64>| value.map(|value| value * unit_ms);
    [
        data.cwnd.0,
        data.in_flight.0,
        data.ssthresh.0.filter(|&bytes| bytes < NO_SSTHRESH),
        time(data.smoothed_rtt.0),
        time(data.latest_rtt.0),
        time(data.min_rtt.0),
        data.pacing_rate.0.map(|bits| bits / 1e6),
    ]
    .map(|value| value.unwrap_or(f64::NAN))
}

/// Number of data bytes of a frame; of PADDING, its length.
pub(super) fn frame_bytes(frame: &Frame<'_>) -> u64 {
    let lengths = [frame.raw.payload_length, frame.payload_length, frame.length, frame.raw.length];
    lengths.into_iter().find_map(|length| length.0).unwrap_or(0)
}

/// Ranges of an ACK frame as `(smallest, largest)`, in whichever order they are written.
pub(super) fn acked_ranges<'a>(frame: &'a Frame<'_>) -> impl Iterator<Item = (u64, u64)> + 'a {
    frame.acked_ranges.0.iter().filter_map(|range| {
        let first = range.0.first()?.0?;
        let last = range.0.last()?.0?;
        Some((first.min(last), first.max(last)))
    })
}
