//! Options of split bearers.

use crate::shorthand::{no_field, string_or_table};
use crate::time::Duration;
use crate::units::{ByteCount, DataRate, Probability};
use crate::{defaults, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A split bearer: numbers packets, distributes them over several links, and delivers them in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Bearer")]
pub struct BearerConfig {
    /// Names of the links, in the order of `shares`. Each at most once.
    #[schemars(transform = limits::entries(1, super::MAX_LINKS))]
    pub links: Vec<String>,
    /// Packets in a batch; each batch is divided among the links by `shares`.
    #[serde(default = "default_batch")]
    #[schemars(transform = limits::between(1, 65535).unit("packets"))]
    pub batch_packets: u32,
    /// Weight of each link (default: all equal).
    /// One for each link, not all 0; none with `duplicate` or a splitter other than `batches`.
    #[serde(default)]
    pub shares: Vec<u32>,
    /// Split or duplicate.
    #[serde(default)]
    pub mode: BearerMode,
    /// Algorithm that chooses the link of a packet. All but `batches` need `split`; all but `batches` and `function` need
    /// `feedback` of each link.
    #[serde(default)]
    pub splitter: Splitter,
    /// Share of the packets that take all links, as with `duplicate`; the others are split.
    /// 0 with `duplicate` and with `flow_control`.
    #[serde(default)]
    pub duplication: Probability,
    /// Reordering at the receiving end.
    #[serde(default)]
    pub reordering: Reordering,
}

fn default_batch() -> u32 {
    100
}

impl BearerConfig {
    /// Sets equal shares where a bearer splits by shares and has none.
    pub fn fill_shares(&mut self) {
        let by_shares = self.mode == BearerMode::Split && self.splitter == Splitter::Batches;
        if self.shares.is_empty() && by_shares {
            self.shares = vec![1; self.links.len()];
        }
    }

    /// A bearer over `links` with the defaults of a scenario.
    pub(crate) fn over(links: Vec<String>) -> Self {
        Self {
            links,
            batch_packets: default_batch(),
            shares: Vec::new(),
            mode: BearerMode::default(),
            splitter: Splitter::default(),
            duplication: Probability::ZERO,
            reordering: Reordering::default(),
        }
    }
}

/// Mode of a bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BearerMode {
    /// Each packet takes one link.
    #[default]
    Split,
    /// Each packet takes all links, with the same number.
    Duplicate,
}

/// Algorithm with which a bearer chooses the link of a packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Splitter {
    /// Batches of `batch_packets`, divided by `shares`.
    #[default]
    #[serde(deserialize_with = "no_field")]
    Batches,
    /// Batches of `batch_packets`, divided by the measured rates of the links.
    Proportional {
        /// Rate that each link is assumed to have before it is measured.
        #[serde(default = "default_rate")]
        #[schemars(transform = limits::above("0 bit/s"))]
        start_rate: DataRate,
        /// Time over which rates are averaged.
        #[serde(default = "default_smoothing")]
        #[schemars(transform = limits::above("0 s").to("60 min"))]
        smoothing: Duration,
        /// Minimum share of a link, so that a slow link is measured again. At most 1 divided by the number of links.
        #[serde(default = "default_floor")]
        #[schemars(transform = limits::above(0.0))]
        floor: Probability,
    },
    /// Each packet takes the link on which it is expected to arrive first.
    LeastExpectedArrival {
        /// Rate that each link is assumed to have before it is measured.
        #[serde(default = "default_rate")]
        #[schemars(transform = limits::above("0 bit/s"))]
        start_rate: DataRate,
        /// Time over which rates and delays are averaged.
        #[serde(default = "default_smoothing")]
        #[schemars(transform = limits::above("0 s").to("60 min"))]
        smoothing: Duration,
        /// A link that has had no packet for this long gets the next one.
        #[serde(default = "default_probe")]
        #[schemars(transform = limits::above("0 s"))]
        probe_interval: Duration,
    },
    /// A queue at the sending end; a link receives no more than it desires (3GPP TS 38.425 section 5.4.2).
    FlowControl {
        /// Maximum number of packets in the queue of the sending end.
        #[serde(default = "default_queue")]
        #[schemars(transform = limits::at_least(1).unit("packets"))]
        queue_packets: u32,
        /// Desired buffer size that each link is assumed to have before its first report.
        #[serde(default = "default_buffer")]
        #[schemars(transform = limits::at_least("1 B"))]
        start_buffer: ByteCount,
        /// A link that has not reported for this long what it received gets one packet more than it desires, which makes it
        /// report. Should be longer than the `interval` of its `feedback`.
        #[serde(default = "default_poll")]
        #[schemars(transform = limits::at_least("1 ms"))]
        poll_interval: Duration,
    },
    /// A function written in Python chooses the link of each packet.
    Function {
        /// `module:function`, with a module in the folder of the scenario or installed. It is called with a dictionary for each
        /// packet, and returns the index of a link.
        function: String,
        /// Rate that each link is assumed to have before it is measured.
        #[serde(default = "default_rate")]
        #[schemars(transform = limits::above("0 bit/s"))]
        start_rate: DataRate,
        /// Time over which rates and delays are averaged, of links with `feedback`.
        #[serde(default = "default_smoothing")]
        #[schemars(transform = limits::above("0 s").to("60 min"))]
        smoothing: Duration,
    },
}

defaults! {
    default_rate: DataRate = DataRate::from_mbps(10);
    default_smoothing: Duration = Duration::from_millis(100);
    default_floor: Probability = Probability::new(0.05).expect("is between 0 and 1");
    default_probe: Duration = Duration::from_secs(1);
    default_queue: u32 = 1000;
    default_buffer: ByteCount = ByteCount::from_bytes(16 << 10);
    default_poll: Duration = Duration::from_millis(100);
}

impl Splitter {
    /// Whether the choice depends on reports of the links.
    #[must_use]
    pub const fn needs_feedback(&self) -> bool {
        !matches!(self, Self::Batches | Self::Function { .. })
    }
}

/// Lengths of a PDCP sequence number: those of TS 38.323 section 6.2.3, and that of the published testbed.
const SEQUENCE_BITS: [u64; 3] = [12, 16, 18];

/// PDCP reordering (3GPP TS 38.323 section 5.2.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reordering {
    /// Whether packets are delivered in order; if not, the number is stripped and they pass immediately.
    pub enabled: bool,
    /// t-Reordering.
    pub timer: ReorderingTimer,
    /// Length of the sequence number: 12 or 18 (standard) or 16 (published testbed).
    #[schemars(transform = limits::one_of(SEQUENCE_BITS))]
    pub sequence_bits: u8,
}

impl Default for Reordering {
    fn default() -> Self {
        let timer = ReorderingTimer::Fixed(Duration::from_millis(200));
        Self { enabled: true, timer, sequence_bits: 16 }
    }
}

/// Time to wait for the packets of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ReorderingTimer {
    /// A constant time; written as a string such as `"200 ms"`. With 0 a gap is given up immediately.
    Fixed(Duration),
    /// A t-Reordering that changes.
    Rule(TimerRule),
}

/// A t-Reordering that changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TimerRule {
    /// It follows the skew of the links: the time for which gaps stay open that are finally filled.
    #[schemars(title = "AdaptiveTimer")]
    Adaptive {
        /// Minimum value. At most `most`.
        #[serde(default = "default_least")]
        least: Duration,
        /// Maximum value; also the value of the first `window`, and of the first window after silence.
        #[serde(default = "default_most")]
        #[schemars(transform = limits::above("0 s").to("60 min"))]
        most: Duration,
        /// Time over which the longest gap is determined.
        #[serde(default = "default_window")]
        #[schemars(transform = limits::above("0 s").to("60 min"))]
        window: Duration,
        /// The value as a multiple of the longest gap.
        #[serde(default = "default_factor")]
        #[schemars(transform = limits::between(1.0, 100.0))]
        factor: f64,
    },
}

defaults! {
    default_least: Duration = Duration::from_millis(5);
    default_most: Duration = Duration::from_millis(200);
    default_window: Duration = Duration::from_secs(2);
    default_factor: f64 = 1.5;
}

string_or_table!(ReorderingTimer, "a time such as `200 ms`, or a table with `kind`", Duration => ReorderingTimer::Fixed, TimerRule => ReorderingTimer::Rule);
