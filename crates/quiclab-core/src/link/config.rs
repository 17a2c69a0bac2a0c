//! Options of links.

use super::aggregation::AggregationConfig;
use super::retransmission::RetransmissionConfig;
use crate::ip::Ecn;
use crate::limits;
use crate::queue::QueueConfig;
use crate::shorthand::{or_short, string_or_table};
use crate::time::Duration;
use crate::units::{ByteCount, DataRate, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

mod conditions;

pub use conditions::{ConditionRow, ConditionsConfig, WhileDown};

/// A one-way link: loss, then queue, then serialisation at the rate, then aggregation, retransmission and delay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Link")]
pub struct LinkConfig {
    /// Rate of serialisation (default: serialisation takes no time).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Bytes that serialisation adds to each packet (Ethernet header: 14 B). Needs a `rate`.
    #[serde(default)]
    pub overhead_per_packet: ByteCount,
    /// Framing of the link layer, such as that of ATM on ADSL (default: none). It determines how many bytes a packet has on
    /// the wire, for serialisation, token bucket, policer and queue. Needs a `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framing: Option<Framing>,
    /// Largest IP packet that the link carries (default: any).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least("68 B"))]
    pub mtu: Option<ByteCount>,
    /// Treatment of a larger packet. Not `fragment` without `mtu`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub above_mtu: AboveMtu,
    /// Changes of the ECN field on the way to the link, such as those of a router that clears it: the first that applies
    /// to a packet is made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ecn_rewrites: Vec<EcnRewrite>,
    /// Policer at the begin of the link, before loss and queue (default: none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<Policer>,
    /// Queue of packets that wait for serialisation. Needs a `rate`.
    #[serde(default)]
    pub queue: QueueConfig,
    /// Loss before the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// Propagation delay after serialisation.
    #[serde(default)]
    pub delay: Delay,
    /// Rate, delay, loss and outages over time, from a file or from rows (default: they do not change).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<ConditionsConfig>,
    /// Transmission of several packets at once (default: each leaves when it has been serialised).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<AggregationConfig>,
    /// Failed transmissions and their repetition by the link (default: none fails).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmission: Option<RetransmissionConfig>,
    /// Packets that are held back at the end of the link, so that others overtake them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<Hold>,
    /// Reports to the bearer that sends over the link (default: none).
    /// Needs a `rate`, and a link of exactly one bearer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<FeedbackConfig>,
}

/// Framing of the link layer, as CAKE and tc-stab calculate it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Framing {
    /// Cells or blocks in which packets are sent.
    pub kind: FramingKind,
    /// Bytes that the link layer adds to each packet before the framing, in addition to `overhead_per_packet`; negative, if it
    /// takes some away.
    #[schemars(transform = limits::between(-64, 256).unit("bytes"))]
    pub overhead_bytes: i16,
    /// Minimum size of a packet with its overhead, before the framing (mpu of tc-stab).
    #[schemars(transform = limits::at_most("256 B"))]
    pub mpu: ByteCount,
}

/// Cells or blocks of a link layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FramingKind {
    /// None: a packet is sent as it is.
    #[default]
    None,
    /// Whole cells of ATM: 53 bytes for every 48, or a part of them (ADSL).
    Atm,
    /// 64b/65b encoding: one byte for every 64, or a part of them (VDSL2).
    Ptm,
}

/// Treatment of an IP packet that is larger than the MTU of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AboveMtu {
    /// It is dropped without a message to the sender: a black hole, as where ICMP is filtered.
    #[default]
    Drop,
    /// It is cut into IPv4 fragments, whatever its DF bit says; the end of the link has it whole.
    Fragment,
}

/// A policer with one rate, as `act_police` of Linux: packets that do not conform are dropped at once; none waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Rate of tokens, at which the conforming packets pass in the long run.
    #[schemars(transform = limits::above("0 bit/s"))]
    pub rate: DataRate,
    /// Depth of the bucket, which is full at the begin: so many bytes pass at once after a pause. At least the largest
    /// packet, with the overhead of the link.
    #[schemars(transform = limits::at_least("1 B"))]
    pub burst: ByteCount,
}

/// Reports of a link to the sending end of its bearer, after DL DATA DELIVERY STATUS of 3GPP TS 38.425.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Feedback")]
pub struct FeedbackConfig {
    /// Time between two reports, while there is something to report.
    #[schemars(transform = limits::above("0 s"))]
    pub interval: Duration,
    /// Delay of a report on its path to the bearer.
    pub delay: Duration,
    /// Desired buffer size, as the time in which the link sends it at its present rate.
    #[schemars(transform = limits::above("0 s"))]
    pub desired_buffer: Duration,
}

impl Default for FeedbackConfig {
    fn default() -> Self {
        let [interval, delay, desired_buffer] = [5, 1, 15].map(Duration::from_millis);
        Self { interval, delay, desired_buffer }
    }
}

/// Rate at which a link serialises.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Rate {
    /// A constant rate; written as a string such as `"20 Mbit/s"`.
    #[schemars(transform = limits::above("0 bit/s"))]
    Constant(DataRate),
    /// A rate that is not constant.
    Shaped(ShapedRate),
}

/// A rate that is not constant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ShapedRate {
    /// Token bucket as `tc-tbf`: packets leave while tokens last, which refill at `rate`.
    TokenBucket {
        /// Refill rate.
        #[schemars(transform = limits::above("0 bit/s"))]
        rate: DataRate,
        /// Depth of the bucket; at least the largest packet. With the overheads of that packet.
        #[schemars(transform = limits::at_least("1 B"))]
        burst: ByteCount,
    },
    /// Rate over time, or delivery times, read from a file.
    Trace {
        /// Path, relative to the scenario file.
        #[schemars(transform = limits::not_empty())]
        file: PathBuf,
        /// Format of the file.
        #[serde(default)]
        format: TraceFormat,
        /// Behaviour after the last entry. Not `hold` with `mahimahi`.
        #[serde(default)]
        at_end: TraceEnd,
        /// Time whose rate a packet has (default: `dequeue`). Not `enqueue` with `mahimahi`, with a queue other than
        /// `drop_tail`, or with rates of 0.
        #[serde(default, skip_serializing_if = "is_default")]
        rate_at: RateAt,
    },
}

/// Format of a trace file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceFormat {
    /// Lines `time,rate` with a header naming the units: `time_s` or `time_ms`, `rate_bps`,
    /// `rate_kbps` or `rate_mbps`. A rate holds until the next time.
    #[default]
    Csv,
    /// One number per line: the millisecond of an opportunity to deliver 1504 bytes.
    Mahimahi,
}

/// Behaviour after the last entry of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceEnd {
    /// The trace starts again; the period is the time of the last entry.
    #[default]
    Loop,
    /// The last rate holds (CSV only).
    Hold,
    /// The link delivers nothing after it.
    Stop,
}

/// Time whose rate a packet has, where the rate of a link changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateAt {
    /// The time of its serialisation: a change of the rate is effective at once, also for packets that wait.
    #[default]
    Dequeue,
    /// The time of its arrival, as in netem: packets that wait keep their departure times when the rate changes or
    /// the trace ends.
    Enqueue,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Loss of a link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(deny_unknown_fields, transform = or_short::<Probability>)]
pub enum Loss {
    /// Each packet with the same probability; written short as `"0.1 %"`.
    Independent {
        /// Loss probability of each packet.
        probability: Probability,
    },
    /// Two states, one good and one bad (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Probability of going from good to bad before each packet. Not 0 together with `bad_to_good`.
        good_to_bad: Probability,
        /// Probability of going from bad to good before each packet.
        bad_to_good: Probability,
        /// Loss probability in the good state.
        #[schemars(default)]
        loss_in_good: Probability,
        /// Loss probability in the bad state.
        loss_in_bad: Probability,
    },
    /// Exactly the listed packets, counted from 0 in the order of arrival at the link.
    Listed {
        /// Indices of the packets.
        packets: Vec<u64>,
    },
}

/// Propagation delay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, transform = or_short::<Duration>)]
pub struct Delay {
    /// Mean; written short as `"10 ms"` if it is constant.
    pub mean: Duration,
    /// Standard deviation (uniform: half of the width; wifi: average jitter, as its source calls it). Above 0 with a
    /// `distribution`, 0 without.
    #[serde(default)]
    pub deviation: Duration,
    /// Distribution, truncated at 0.
    #[serde(default)]
    pub distribution: Distribution,
    /// Whether packets may overtake each other within the link. Needs a `distribution`, `conditions` or
    /// `retransmission`.
    #[serde(default)]
    pub reorder: bool,
    /// Time for which a drawn delay holds (default: each packet draws its own). Needs a `distribution`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least("10 us"))]
    pub every: Option<Duration>,
    /// Time of the first change (default: drawn between 0 and `every`). Needs `every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Duration>,
    /// Number of equal steps, spread over `every`, in which a delay changes; the first change is immediate. 1 without
    /// `every`.
    #[serde(default = "one_step", skip_serializing_if = "is_one")]
    #[schemars(transform = limits::between(1, 1000))]
    pub steps: u32,
    /// Maximum number of packets in the delay at one time, as the `limit` of netem; those above it are dropped (default: none
    /// is).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least(1).unit("packets"))]
    pub limit_packets: Option<u64>,
}

/// A change of the ECN field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnRewrite {
    /// Field of the packets that are changed (default: any).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Ecn>,
    /// Field that they get.
    pub to: Ecn,
}

/// A packet that a link holds back after its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Index of the packet, counted from 0 in the order of arrival at the link, lost packets included.
    /// Each packet at most once.
    pub packet: u64,
    /// Time for which it is held.
    #[schemars(transform = limits::above("0 s"))]
    pub by: Duration,
    /// Number of packets that overtake it; it is released directly after the last of them, if that is earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least(1))]
    pub behind: Option<u64>,
}

const fn one_step() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_one(steps: &u32) -> bool {
    *steps == 1
}

impl Default for Delay {
    fn default() -> Self {
        Self {
            mean: Duration::ZERO,
            deviation: Duration::ZERO,
            distribution: Distribution::Constant,
            reorder: false,
            every: None,
            first: None,
            steps: one_step(),
            limit_packets: None,
        }
    }
}

/// Distribution of a delay; drawn for each packet independently, or for a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Always the mean.
    #[default]
    Constant,
    /// Normal.
    Normal,
    /// Uniform between mean - deviation and mean + deviation.
    Uniform,
    /// Pareto of shape 3, shifted and scaled to mean and deviation.
    Pareto,
    /// Jitter of Wi-Fi with collisions, which is added to the mean (draft-huitema-ccwg-c4-test-04, "Handling of High
    /// Jitter Environments").
    Wifi,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DelayTable {
    mean: Duration,
    #[serde(default)]
    deviation: Duration,
    #[serde(default)]
    distribution: Distribution,
    #[serde(default)]
    reorder: bool,
    #[serde(default)]
    every: Option<Duration>,
    #[serde(default)]
    first: Option<Duration>,
    #[serde(default = "one_step")]
    steps: u32,
    #[serde(default)]
    limit_packets: Option<u64>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum LossTable {
    Independent {
        probability: Probability,
    },
    GilbertElliott {
        good_to_bad: Probability,
        bad_to_good: Probability,
        #[serde(default)]
        loss_in_good: Probability,
        loss_in_bad: Probability,
    },
    Listed {
        packets: Vec<u64>,
    },
}

impl From<DelayTable> for Delay {
    fn from(table: DelayTable) -> Self {
        let DelayTable { mean, deviation, distribution, reorder, every, first, steps, limit_packets } = table;
        Self { mean, deviation, distribution, reorder, every, first, steps, limit_packets }
    }
}

impl From<LossTable> for Loss {
    fn from(table: LossTable) -> Self {
        match table {
            LossTable::Independent { probability } => Self::Independent { probability },
            LossTable::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad } => {
                Self::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad }
            }
            LossTable::Listed { packets } => Self::Listed { packets },
        }
    }
}

string_or_table!(Rate, "a rate such as `20 Mbit/s`, or a table with `kind`", DataRate => Rate::Constant, ShapedRate => Rate::Shaped);
string_or_table!(Delay, "a delay such as `10 ms`, or a table with `mean`", Duration => |mean| Delay { mean, ..Delay::default() }, DelayTable => Delay::from);
string_or_table!(Loss, "a probability such as `0.1 %`, or a table with `kind`", Probability => |probability| Loss::Independent { probability }, LossTable => Loss::from);
