//! Mapping of a link of the scenario to the kernel's queueing disciplines, as the words of `tc`.
//!
//! After tc-netem(8), tc-tbf(8) and tc-fifo(8). Each hop is a device of a namespace of its own, so that a packet
//! in the delay stage takes no place in the queue (see [`DelayStage`]).
//!
//! | scenario | here | differs |
//! | --- | --- | --- |
//! | rate, queue in packets | `netem rate R limit Q` | end of serialisation fixed at enqueue, rounded down to 1 ns |
//! | queue in bytes, token bucket | `tbf rate R burst B limit Q` | a full bucket passes a packet immediately: no serialisation of the first one |
//! | other queues | `tbf` with the discipline of the kernel as its child | depends on the discipline (`QueueOptions::tc`), with the MTU of the device that it reads |
//! | CAKE | `cake bandwidth R overhead H`, then `netem rate R H`, which keeps each packet for its own serialisation, which CAKE does not | without netem: packets are not kept |
//! | loss | `netem loss`, before the limit is checked | |
//! | delay | `netem delay M D distribution ...` on the next hop | packets overtake each other |
//! | policer | a filter with `police` in front of the first stage | its loss cannot be distinguished from that of the queue |
//! | overhead | the marker is that much longer | a packet of less than 24 bytes becomes that long |

use crate::job::DelayStage;
use quiclab_core::link::{Delay, Distribution, LinkConfig, Loss, Policer, Rate, ShapedRate};
use quiclab_core::problem::quoted;
use quiclab_core::queue::{DeviceMtu, TcQueue};
use quiclab_core::{ByteCount, DataRate, Duration, FieldPath, Probability, Problem};
use thiserror::Error;

/// Limit of a stage without a limit of its own, in packets.
const UNLIMITED_PACKETS: u64 = 1_000_000;
/// Header that the kernel counts on devices of Ethernet.
pub const ETHERNET_BYTES: i64 = 14;
/// Depth of the bucket that represents a serialiser: the largest packet with all headers.
const ONE_PACKET_BYTES: u64 = 1600;
/// Time for which a bucket must last until the kernel's timer fires.
const LATE_TIMER: Duration = Duration::from_micros(100);

/// Property of a link that the kernel's queueing disciplines do not support.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    /// The scenario requests a property that no discipline has.
    #[error("{0}; `--emulation netem` has nothing else, `--emulation engine` does")]
    Field(Box<Problem>),
    /// The kernel does not have the discipline.
    #[error(
        "links.{link}.{field} needs the queueing discipline `netem`, which this kernel does not have (sch_netem); \
         `--emulation engine` does without"
    )]
    NoNetem {
        /// Name of the link.
        link: String,
        /// Field that needs it.
        field: &'static str,
    },
}

/// A queueing discipline: the words of `tc qdisc add dev DEVICE` after the device.
pub type Qdisc = Vec<String>;

/// The stages of a link, in the order in which packets pass them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Queueing disciplines of the device of each hop; all but the last hop are Ethernet.
    pub hops: Vec<Vec<Qdisc>>,
    /// Bytes by which the marker is longer than the packet that it represents.
    pub added_bytes: i64,
    /// Whether a token bucket has the rate: when it is full, it passes a packet immediately.
    pub bucket: bool,
    /// The MTU of the devices, with the header.
    pub mtu: DeviceMtu,
    /// The policer of the first hop: the words of `tc filter add dev DEVICE` after the device.
    pub policer: Option<Vec<String>>,
    /// Whether a discipline reads addresses of hosts and headers of TCP.
    pub reads_headers: bool,
}

/// A link, and the abilities of the kernel.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Name of the link.
    pub name: &'a str,
    /// The link.
    pub link: &'a LinkConfig,
    /// Stage that delays packets.
    pub stage: DelayStage,
    /// Whether the kernel has netem.
    pub netem: bool,
}

/// Plans the stages of a link.
///
/// # Errors
/// If a field of the link cannot be mapped; the message names it.
pub fn plan(request: Request<'_>) -> Result<Plan, PlanError> {
    let Request { link, stage, .. } = request;
    let (packets, bytes, managed, mtu) = match request.check()? {
        TcQueue::Limits { packets, bytes } => (packets, bytes, None, DeviceMtu::Any),
        TcQueue::Child { words, mtu } => (None, None, Some(words), mtu),
        TcQueue::Shaper { words, mtu } => return Ok(shaped(request, words, mtu)),
    };
    let delay = delay_words(&link.delay);
    let loss = link.loss.as_ref().map(loss_words).unwrap_or_default();
    let overhead = i64::try_from(link.overhead_per_packet.bytes()).unwrap_or(i64::MAX);
    let delayed = !delay.is_empty();
    let delay_limit = link.delay.limit_packets.unwrap_or(UNLIMITED_PACKETS);
    // the stage of the rate is on Ethernet where a hop for the delay follows it
    let ethernet = delayed && stage == DelayStage::NextHop;
    let policer = link.policer.map(policer_words);
    let bucket = match (&link.rate, bytes) {
        (Some(Rate::Shaped(ShapedRate::TokenBucket { rate, burst })), _) => Some((*rate, *burst)),
        (Some(Rate::Constant(rate)), limit) if limit.is_some() || managed.is_some() || !request.netem => {
            let packet = ByteCount::from_bytes(ONE_PACKET_BYTES + link.overhead_per_packet.bytes());
            Some((*rate, packet.max(rate.bytes_in(LATE_TIMER))))
        }
        _ => None,
    };
    let mut hops = Vec::new();
    let mut added_bytes = overhead;
    if let Some((rate, burst)) = bucket {
        if !loss.is_empty() {
            hops.push(vec![root(netem(UNLIMITED_PACKETS, [loss]))]);
        }
        // the bucket has no negative overhead: the marker is shorter by the header instead
        added_bytes -= if ethernet { ETHERNET_BYTES } else { 0 };
        hops.push(bucket_words(rate, burst, packets, bytes, managed));
    } else if let Some(Rate::Constant(rate)) = &link.rate {
        // a policer also counts the header: with one, the marker is shorter instead
        let shorter = if ethernet { ETHERNET_BYTES } else { 0 };
        added_bytes -= if policer.is_some() { shorter } else { 0 };
        let mut words = words(["rate", &bits(*rate)]);
        words.push(if policer.is_some() { 0 } else { -shorter }.to_string());
        let limit = packets.unwrap_or(UNLIMITED_PACKETS);
        match stage {
            DelayStage::Same => hops.push(vec![root(netem(limit, [delay.clone(), loss, words]))]),
            DelayStage::Child if delayed => {
                let child = child(netem(UNLIMITED_PACKETS, [delay.clone()]));
                hops.push(vec![root(netem(limit, [loss, words])), child]);
            }
            DelayStage::Child | DelayStage::NextHop => hops.push(vec![root(netem(limit, [loss, words]))]),
        }
        if stage != DelayStage::NextHop {
            return Ok(Plan {
                hops,
                added_bytes,
                bucket: bucket.is_some(),
                mtu,
                policer,
                reads_headers: false,
            });
        }
    } else if !loss.is_empty() || delayed {
        // without a rate no packet queues: one stage does both
        return Ok(Plan {
            hops: vec![vec![root(netem(delay_limit, [delay, loss]))]],
            added_bytes,
            bucket: false,
            mtu,
            policer,
            reads_headers: false,
        });
    }
    if delayed {
        hops.push(vec![root(netem(delay_limit, [delay]))]);
    }
    if hops.is_empty() {
        hops.push(vec![root(words(["pfifo", "limit", &UNLIMITED_PACKETS.to_string()]))]);
    }
    Ok(Plan { hops, added_bytes, bucket: bucket.is_some(), mtu, policer, reads_headers: false })
}

/// Plans the stages of a link whose queue has the rate.
///
/// Markers are as long as their packets, whose headers the discipline reads: it adds the overhead itself, and counts from the header
/// of IP on. It passes a packet when the previous one has been serialised. The packet then finds the following serialiser of the
/// same rate idle, and leaves as from a link.
fn shaped(request: Request<'_>, words: Vec<String>, mtu: DeviceMtu) -> Plan {
    let link = request.link;
    let Some(Rate::Constant(rate)) = &link.rate else { unreachable!("others are refused") };
    let overhead = link.overhead_per_packet.bytes();
    let mut hops = Vec::new();
    if let Some(loss) = &link.loss {
        hops.push(vec![root(netem(UNLIMITED_PACKETS, [loss_words(loss)]))]);
    }
    let shaper = ["bandwidth", &bits(*rate), "overhead", &overhead.to_string()].map(str::to_owned);
    hops.push(vec![root([words, shaper.to_vec()].concat())]);
    let delay = delay_words(&link.delay);
    // packets overtake each other in a stage with a jitter, and not in one with a rate
    let apart = link.delay.deviation > Duration::ZERO;
    if request.netem {
        let header = if apart { ETHERNET_BYTES } else { 0 };
        let added = i64::try_from(overhead).unwrap_or(i64::MAX) - header;
        let serialiser = ["rate", &bits(*rate), &added.to_string()].map(str::to_owned).to_vec();
        let with = if apart { Vec::new() } else { delay.clone() };
        hops.push(vec![root(netem(UNLIMITED_PACKETS, [with, serialiser]))]);
    }
    if apart {
        let limit = link.delay.limit_packets.unwrap_or(UNLIMITED_PACKETS);
        hops.push(vec![root(netem(limit, [delay]))]);
    }
    Plan { hops, added_bytes: 0, bucket: !request.netem, mtu, policer: None, reads_headers: true }
}

impl Request<'_> {
    /// Whether a stage has the delay and not the rate: its limit applies to packets in the delay.
    fn delays_apart(&self) -> bool {
        let shaper = matches!(self.link.queue.options().tc(), Ok(TcQueue::Shaper { .. }));
        let apart = !shaper || self.link.delay.deviation > Duration::ZERO;
        self.link.rate.is_none() || self.stage == DelayStage::NextHop && apart
    }

    /// Rejects fields that cannot be mapped; returns the queue.
    fn check(&self) -> Result<TcQueue, PlanError> {
        let link = FieldPath::new(["links", self.name]);
        let refused = |problem: Problem| PlanError::Field(Box::new(problem.below(&link)));
        let refuse = |field: &str, value: String, expected: &str| {
            Err(refused(Problem::conflict(field, value, expected)))
        };
        let missing = |field| Err(PlanError::NoNetem { link: self.name.to_owned(), field });
        if let Some(Rate::Shaped(ShapedRate::Trace { file, .. })) = &self.link.rate {
            return refuse("rate.file", quoted(file.display()), "a constant rate or a token bucket");
        }
        let bucket = matches!(self.link.rate, Some(Rate::Shaped(_)));
        let queue =
            self.link.queue.options().tc().map_err(|problem| refused(problem.below(&"queue".into())))?;
        match &queue {
            TcQueue::Limits { bytes: Some(bytes), .. } if self.link.rate.is_none() => {
                return refuse("queue.bytes", quoted(bytes), "a limit in packets or a rate of the link");
            }
            TcQueue::Child { .. } | TcQueue::Shaper { .. } if self.link.rate.is_none() => {
                return refuse("queue.kind", "none".to_owned(), "a rate of the link for this queue");
            }
            TcQueue::Shaper { .. } if bucket => {
                return refuse("rate", "token_bucket".to_owned(), "a constant rate for this queue");
            }
            TcQueue::Shaper { .. } if self.link.policer.is_some() => {
                return refuse("policer", "a table".to_owned(), "no policer for this queue");
            }
            _ => {}
        }
        if let Some(Loss::Listed { packets }) = &self.link.loss {
            return refuse(
                "loss.packets",
                format!("{packets:?}"),
                "independent loss or Gilbert-Elliott loss",
            );
        }
        if !self.link.holds.is_empty() {
            return refuse("holds", "a list".to_owned(), "no held packets");
        }
        if !self.link.ecn_rewrites.is_empty() {
            return refuse("ecn_rewrites", "a list".to_owned(), "no changes of the ECN field");
        }
        if let (Some(_), Some(_)) = (&self.link.policer, &self.link.loss) {
            return refuse("loss", "a value".to_owned(), "no loss on a link with a policer");
        }
        if self.link.feedback.is_some() {
            return refuse("feedback", "a table".to_owned(), "no feedback");
        }
        if self.link.conditions.is_some() {
            return refuse("conditions", "a table".to_owned(), "conditions that do not change");
        }
        if self.link.aggregation.is_some() {
            return refuse("aggregation", "a table".to_owned(), "no aggregation");
        }
        if self.link.retransmission.is_some() {
            return refuse("retransmission", "a table".to_owned(), "no retransmission");
        }
        if self.link.framing.is_some() {
            return refuse("framing", "a table".to_owned(), "`overhead_per_packet` only");
        }
        if let Some(mtu) = self.link.mtu {
            return refuse("mtu", quoted(mtu), "no MTU");
        }
        if let Some(limit) = self.link.delay.limit_packets.filter(|_| !self.delays_apart()) {
            return refuse(
                "delay.limit_packets",
                limit.to_string(),
                "no limit: the rate is in the same stage",
            );
        }
        if self.link.delay.distribution == Distribution::Wifi {
            return refuse("delay.distribution", quoted("wifi"), "a distribution of netem");
        }
        let Delay { mean, deviation, reorder, every, .. } = self.link.delay;
        if let Some(every) = every {
            return refuse("delay.every", quoted(every), "a delay drawn for each packet");
        }
        if deviation > Duration::ZERO && !reorder {
            return refuse(
                "delay.reorder",
                "false".to_owned(),
                "true: packets of different delay overtake each other",
            );
        }
        if bucket && mean > Duration::ZERO && self.stage != DelayStage::NextHop {
            return refuse("rate", "token_bucket".to_owned(), "no delay on the hop of a token bucket");
        }
        match (self.netem, mean > Duration::ZERO || deviation > Duration::ZERO, &self.link.loss) {
            (false, true, _) => missing("delay"),
            (false, _, Some(_)) => missing("loss"),
            _ => Ok(queue),
        }
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn root(discipline: Vec<String>) -> Qdisc {
    [words(["root", "handle", "1:"]), discipline].concat()
}

fn child(discipline: Vec<String>) -> Qdisc {
    [words(["parent", "1:1", "handle", "10:"]), discipline].concat()
}

fn netem<const N: usize>(limit: u64, parts: [Vec<String>; N]) -> Vec<String> {
    [words(["netem", "limit", &limit.to_string()]), parts.concat()].concat()
}

fn bucket_words(
    rate: DataRate,
    burst: ByteCount,
    packets: Option<u64>,
    bytes: Option<ByteCount>,
    managed: Option<Vec<String>>,
) -> Vec<Qdisc> {
    // with a child of its own the limit of the bucket itself has no effect
    let limit = bytes.map_or(u64::from(u32::MAX), ByteCount::bytes);
    let bucket = words([
        "tbf",
        "rate",
        &bits(rate),
        "burst",
        &format!("{}b", burst.bytes()),
        "limit",
        &format!("{limit}b"),
    ]);
    let packets = packets.or(bytes.is_none().then_some(UNLIMITED_PACKETS));
    let fifo = packets.map(|packets| words(["pfifo", "limit", &packets.to_string()]));
    std::iter::once(root(bucket)).chain(managed.or(fifo).map(child)).collect()
}

fn policer_words(policer: Policer) -> Vec<String> {
    let burst = format!("{}b", policer.burst.bytes());
    let action = ["rate", &bits(policer.rate), "burst", &burst, "mtu", "64kb", "conform-exceed", "drop"];
    [words(["egress", "matchall", "action", "police"]), words(action)].concat()
}

fn delay_words(delay: &Delay) -> Vec<String> {
    let Delay { mean, deviation, distribution, .. } = *delay;
    if mean == Duration::ZERO && deviation == Duration::ZERO {
        return Vec::new();
    }
    let mut words = words(["delay", &micros(mean)]);
    if deviation > Duration::ZERO {
        words.push(micros(deviation));
        let name = match distribution {
            Distribution::Normal => Some("normal"),
            Distribution::Pareto => Some("pareto"),
            // distributions of netem without a table
            Distribution::Uniform | Distribution::Constant | Distribution::Wifi => None,
        };
        words.extend(name.map(|name| ["distribution".to_owned(), name.to_owned()]).into_iter().flatten());
    }
    words
}

fn loss_words(loss: &Loss) -> Vec<String> {
    match loss {
        Loss::Independent { probability } => words(["loss", "random", &percent(*probability)]),
        Loss::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad } => {
            // tc-netem: p, r, 1-h (loss in bad), 1-k (loss in good)
            let [p, r, bad, good] =
                [good_to_bad, bad_to_good, loss_in_bad, loss_in_good].map(|p| percent(*p));
            words(["loss", "gemodel", &p, &r, &bad, &good])
        }
        Loss::Listed { .. } => unreachable!("is refused"),
    }
}

fn bits(rate: DataRate) -> String {
    format!("{}bit", rate.bits_per_second())
}

fn micros(time: Duration) -> String {
    format!("{}.{:03}us", time.as_nanos() / 1000, time.as_nanos() % 1000)
}

fn percent(probability: Probability) -> String {
    format!("{:.7}%", probability.value() * 100.0)
}
