//! The analysis of a capture as JSON: an entry of `captures` of a document (schema `quiclab.pacing/1`), which repeats the
//! [`Settings`](super::Settings), too; docs/pacing.md says what each number means.
//!
//! Times are milliseconds, rates Mbit/s, shares 0 to 1. What cannot be said is `null`.

use serde::Serialize;
use std::collections::BTreeMap;

/// What a file holds.
#[derive(Clone, Debug, Serialize)]
pub struct Capture {
    /// As the user named it.
    pub file: String,
    /// What it is.
    pub format: String,
    /// Frames or events read.
    pub frames: u64,
    /// What could not be read, and how often.
    pub problems: BTreeMap<String, u64>,
    /// Sentences to know.
    pub notes: Vec<String>,
    /// Flows with the most bytes first.
    pub flows: Vec<Flow>,
    /// Flows that are not shown, and their packets.
    pub further_flows: u64,
    /// Packets of those.
    pub further_packets: u64,
}

/// A flow, seen from the end that sent more.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    /// `tcp`, `quic` or `udp`.
    pub protocol: &'static str,
    /// What the file calls it.
    pub name: String,
    /// Address and port of the end that sent more bytes.
    pub sender: String,
    /// Address and port of the other.
    pub receiver: String,
    /// First packet of the flow, on the clock of the file.
    pub start_s: f64,
    /// From the first packet that counts to the last.
    pub duration_s: f64,
    /// Whether ACKs are known for what they are; otherwise every packet of the receiver counts as one.
    pub acks_known: bool,
    /// Sentences to know that no number says.
    pub notes: Vec<String>,
    /// How the sender spaces its packets.
    pub data: Spacing,
    /// How the receiver acknowledges.
    pub acks: Acks,
}

/// Packets of one direction.
#[derive(Clone, Debug, Serialize)]
pub struct Spacing {
    /// How many.
    pub packets: u64,
    /// Bytes of their frames.
    pub frame_bytes: u64,
    /// Bytes of TCP or UDP payload.
    pub payload_bytes: u64,
    /// Median frame.
    pub frame_median_bytes: u32,
    /// Longest frame.
    pub frame_largest_bytes: u32,
    /// Bits of frames over the time from the first packet to the last.
    pub rate_mbps: Option<f64>,
    /// That over the rate of the link.
    pub utilisation: Option<f64>,
    /// Frames longer than the limit: made by an offload, each several packets on the wire.
    pub oversized: u64,
    /// Packets that the clock of the capture puts before the one in front of them.
    pub backwards: u64,
    /// Between consecutive packets.
    pub intervals: Intervals,
    /// Packets that follow each other closely.
    pub bursts: Bursts,
    /// Where intervals gather.
    pub clusters: Clusters,
    /// Step of the rate over time: that of the settings, or longer where there would be more than 5000.
    pub rate_step_s: f64,
    /// Rate in steps, from the first packet on.
    pub rate_over_time_mbps: Vec<f64>,
}

/// A distribution of times.
#[derive(Clone, Debug, Serialize)]
pub struct Intervals {
    /// How many.
    pub count: u64,
    /// Mean.
    pub mean_ms: Option<f64>,
    /// Standard deviation.
    pub std_ms: Option<f64>,
    /// Coefficient of variation.
    pub variation: Option<f64>,
    /// Least.
    pub least_ms: Option<f64>,
    /// Largest.
    pub largest_ms: Option<f64>,
    /// By part of the intervals that is no longer, such as `0.5`.
    pub quantiles_ms: BTreeMap<String, f64>,
    /// Bins of 1 % of their value: mean of the intervals in each, ascending.
    pub at_ms: Vec<f64>,
    /// How many are in each.
    pub counts: Vec<u64>,
}

/// Packets that follow each other no later than the gap of the settings.
#[derive(Clone, Debug, Serialize)]
pub struct Bursts {
    /// How many bursts, single packets among them.
    pub count: u64,
    /// Part of the packets that are in bursts of two or more.
    pub share_of_packets: Option<f64>,
    /// Mean packets in a burst.
    pub mean_packets: Option<f64>,
    /// 99 % of the bursts have no more packets.
    pub p99_packets: Option<u64>,
    /// Maximum number of packets.
    pub largest_packets: u64,
    /// How many bursts have how many packets.
    pub sizes: BTreeMap<u64, u64>,
    /// Between packets of one burst.
    pub within: Intervals,
    /// Between the first packets of bursts.
    pub between: Intervals,
}

/// Where intervals gather.
#[derive(Clone, Debug, Serialize)]
pub struct Clusters {
    /// Around the intervals of evenly spaced packets at the rate of the bottleneck, one for each gain.
    pub expected: Vec<Expected>,
    /// Found in the distribution itself, ascending.
    pub found: Vec<Found>,
}

/// Intervals around one that was expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// Pacing gain.
    pub gain: f64,
    /// Median frame over rate and gain.
    pub interval_ms: f64,
    /// Part of the intervals in the window around it.
    pub share: f64,
    /// Mean of those; `null` if there are none.
    pub centre_ms: Option<f64>,
}

/// A peak of the distribution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// Where the density is largest.
    pub centre_ms: f64,
    /// Where it begins.
    pub from_ms: f64,
    /// Where it ends.
    pub to_ms: f64,
    /// Part of the intervals in it.
    pub share: f64,
}

/// How the receiver acknowledges.
#[derive(Clone, Debug, Serialize)]
pub struct Acks {
    /// Packets that acknowledge and carry no data.
    pub count: u64,
    /// Between them.
    pub intervals: Intervals,
    /// Where their intervals gather.
    pub found: Vec<Found>,
    /// Mean data packets that an ACK newly covers, of those that cover any.
    pub packets_mean: Option<f64>,
    /// The mode of these numbers.
    pub packets_mode: Option<u64>,
    /// How many ACKs newly cover how many packets.
    pub packets: BTreeMap<u64, u64>,
    /// ACKs that acknowledge nothing new, over all (TCP: duplicate ACKs).
    pub duplicate_share: Option<f64>,
    /// Whether ACKs set the pace of the sender.
    pub clocking: Clocking,
}

/// How far arrivals of ACKs explain when packets leave.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Clocking {
    /// Part of the bursts that begin within the time of the settings after an ACK.
    pub share: Option<f64>,
    /// Part of the time that lies that close after an ACK: the share of a sender that does not look at ACKs.
    pub by_chance: Option<f64>,
    /// (share - by_chance) / (1 - by_chance): 1 if every burst answers an ACK, 0 if none does.
    pub explained: Option<f64>,
}
