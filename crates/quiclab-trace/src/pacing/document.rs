//! The analysis of a capture as JSON: an entry of `captures` of a document (schema `quiclab.pacing/1`), which also
//! repeats the [`Settings`](super::Settings); docs/pacing.md defines each number.
//!
//! Times are milliseconds, rates Mbit/s, shares 0 to 1. Unknown values are `null`.

use serde::Serialize;
use std::collections::BTreeMap;

/// Analysis of a file.
#[derive(Clone, Debug, Serialize)]
pub struct Capture {
    /// Name of the file as given by the user.
    pub file: String,
    /// Format of the file.
    pub format: String,
    /// Frames or events read.
    pub frames: u64,
    /// Number of unreadable items by kind.
    pub problems: BTreeMap<String, u64>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Flows with the most bytes first.
    pub flows: Vec<Flow>,
    /// Number of flows that are not shown.
    pub further_flows: u64,
    /// Number of their packets.
    pub further_packets: u64,
}

/// A flow, seen from the end that sent more.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    /// `tcp`, `quic` or `udp`.
    pub protocol: &'static str,
    /// Name of the flow in the file.
    pub name: String,
    /// Address and port of the end that sent more bytes.
    pub sender: String,
    /// Address and port of the peer.
    pub receiver: String,
    /// Time of the first packet of the flow, on the clock of the file.
    pub start_s: f64,
    /// Time from the first packet that counts to the last.
    pub duration_s: f64,
    /// Whether ACKs can be identified; otherwise every packet of the receiver counts as one.
    pub acks_known: bool,
    /// Notes for the user on facts that no number shows.
    pub notes: Vec<String>,
    /// Spacing of the sender's packets.
    pub data: Spacing,
    /// Acknowledgements of the receiver.
    pub acks: Acks,
}

/// Packets of one direction.
#[derive(Clone, Debug, Serialize)]
pub struct Spacing {
    /// Number of packets.
    pub packets: u64,
    /// Total bytes of their frames.
    pub frame_bytes: u64,
    /// Bytes of TCP or UDP payload.
    pub payload_bytes: u64,
    /// Median frame size.
    pub frame_median_bytes: u32,
    /// Largest frame size.
    pub frame_largest_bytes: u32,
    /// Bits of frames over the time from the first packet to the last.
    pub rate_mbps: Option<f64>,
    /// `rate_mbps` divided by the rate of the link.
    pub utilisation: Option<f64>,
    /// Frames longer than the limit: produced by an offload, each several packets on the wire.
    pub oversized: u64,
    /// Packets with an earlier time than the packet before them.
    pub backwards: u64,
    /// Intervals between consecutive packets.
    pub intervals: Intervals,
    /// Packets that follow each other closely.
    pub bursts: Bursts,
    /// Clusters of intervals.
    pub clusters: Clusters,
    /// Step of the rate over time: that of the settings, or longer where there would be more than 5000.
    pub rate_step_s: f64,
    /// Rate in steps, from the first packet on.
    pub rate_over_time_mbps: Vec<f64>,
}

/// A distribution of times.
#[derive(Clone, Debug, Serialize)]
pub struct Intervals {
    /// Number of intervals.
    pub count: u64,
    /// Mean.
    pub mean_ms: Option<f64>,
    /// Standard deviation.
    pub std_ms: Option<f64>,
    /// Coefficient of variation.
    pub variation: Option<f64>,
    /// Minimum.
    pub least_ms: Option<f64>,
    /// Maximum.
    pub largest_ms: Option<f64>,
    /// Quantiles by share of the intervals that are no longer, such as `0.5`.
    pub quantiles_ms: BTreeMap<String, f64>,
    /// Bins of 1 % of their value: mean of the intervals in each, ascending.
    pub at_ms: Vec<f64>,
    /// Number of intervals in each.
    pub counts: Vec<u64>,
}

/// Packets that follow each other within the gap of the settings.
#[derive(Clone, Debug, Serialize)]
pub struct Bursts {
    /// Number of bursts, including single packets.
    pub count: u64,
    /// Share of the packets that are in bursts of two or more.
    pub share_of_packets: Option<f64>,
    /// Mean number of packets in a burst.
    pub mean_packets: Option<f64>,
    /// 99 % quantile of the number of packets in a burst.
    pub p99_packets: Option<u64>,
    /// Maximum number of packets.
    pub largest_packets: u64,
    /// Number of bursts by number of packets.
    pub sizes: BTreeMap<u64, u64>,
    /// Intervals between packets of one burst.
    pub within: Intervals,
    /// Intervals between the first packets of bursts.
    pub between: Intervals,
}

/// Clusters of intervals.
#[derive(Clone, Debug, Serialize)]
pub struct Clusters {
    /// Clusters around the intervals of evenly spaced packets at the bottleneck's rate, one for each gain.
    pub expected: Vec<Expected>,
    /// Peaks found in the distribution, ascending.
    pub found: Vec<Found>,
}

/// Intervals around an expected one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// Pacing gain.
    pub gain: f64,
    /// Median frame over rate and gain.
    pub interval_ms: f64,
    /// Share of the intervals in the window around it.
    pub share: f64,
    /// Mean of these intervals; `null` if there are none.
    pub centre_ms: Option<f64>,
}

/// A peak of the distribution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// Position of the maximum density.
    pub centre_ms: f64,
    /// Lower end.
    pub from_ms: f64,
    /// Upper end.
    pub to_ms: f64,
    /// Share of the intervals in it.
    pub share: f64,
}

/// Acknowledgements of the receiver.
#[derive(Clone, Debug, Serialize)]
pub struct Acks {
    /// Packets that acknowledge and carry no data.
    pub count: u64,
    /// Intervals between them.
    pub intervals: Intervals,
    /// Peaks of the distribution of their intervals.
    pub found: Vec<Found>,
    /// Mean number of data packets that an ACK newly covers, over ACKs that cover any.
    pub packets_mean: Option<f64>,
    /// The mode of these numbers.
    pub packets_mode: Option<u64>,
    /// Number of ACKs by number of newly covered packets.
    pub packets: BTreeMap<u64, u64>,
    /// ACKs that acknowledge nothing new, divided by all ACKs (TCP: duplicate ACKs).
    pub duplicate_share: Option<f64>,
    /// Whether ACKs set the pace of the sender.
    pub clocking: Clocking,
}

/// Degree to which arrivals of ACKs explain departures of packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Clocking {
    /// Share of the bursts that begin within the time of the settings after an ACK.
    pub share: Option<f64>,
    /// Share of the time that is that close after an ACK: the value of a sender that ignores ACKs.
    pub by_chance: Option<f64>,
    /// (share - by_chance) / (1 - by_chance): 1 if every burst answers an ACK, 0 if none does.
    pub explained: Option<f64>,
}
