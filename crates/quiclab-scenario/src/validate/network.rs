//! Links and hosts: fields that depend on each other or on the flows that pass.

use super::super::graph::Graph;
use super::super::{Scenario, Tunnel};
use super::{Check, about, ensure, field, quoted};
use quiclab_core::bearer::BearerConfig;
use quiclab_core::host::HostConfig;
use quiclab_core::link::ConditionRow;
use quiclab_core::link::{
    AboveMtu, Delay, Distribution, Hold, LinkConfig, Loss, Rate, RateAt, ShapedRate, TraceEnd, TraceFormat,
    WireFormat,
};
use quiclab_core::queue::{AckFilter, QueueConfig};
use quiclab_core::{
    ByteCount, Conditions, Direction, Duration, FieldPath, FlowId, Probability, Problem, Role, StackProtocol,
};
use quiclab_transport::options::{EndpointConfig, Workload};
use std::collections::BTreeSet;

pub(crate) fn check_link(path: &FieldPath, link: &LinkConfig) -> Check {
    // a delivery trace has no rate that could hold
    if let Some(Rate::Shaped(ShapedRate::Trace {
        format: TraceFormat::Mahimahi,
        at_end: TraceEnd::Hold,
        ..
    })) = &link.rate
    {
        return Err(Problem::conflict(
            path.child("rate").child("at_end"),
            "\"hold\"",
            "\"loop\" or \"stop\"",
        )
        .because("a mahimahi trace has no last rate"));
    }
    if let Some(Rate::Shaped(ShapedRate::Trace { format, rate_at: RateAt::Enqueue, .. })) = &link.rate {
        let refused = |reason: &str| {
            let field = path.child("rate").child("rate_at");
            Problem::conflict(field, "\"enqueue\"", "\"dequeue\"").because(reason.to_owned())
        };
        ensure(*format == TraceFormat::Csv, || refused("a mahimahi trace has no rates"))?;
        let in_order =
            matches!(&link.queue, QueueConfig::DropTail(queue) if queue.ack_filter == AckFilter::Off);
        ensure(in_order, || {
            refused(
                "only packets of a drop-tail queue without `ack_filter` leave in the order in which they arrived",
            )
        })?;
    }
    check_queue(&path.child("queue"), &link.queue)?;
    if link.rate.is_none() {
        let without_rate =
            |name: &str| about(path.child(name), "no effect without a rate", "`rate` on this link");
        ensure(link.queue == QueueConfig::default(), || without_rate("queue"))?;
        ensure(link.overhead_per_packet == ByteCount::ZERO, || without_rate("overhead_per_packet"))?;
        ensure(link.framing.is_none(), || without_rate("framing"))?;
        ensure(link.feedback.is_none(), || without_rate("feedback"))?;
    }
    ensure(link.above_mtu == AboveMtu::Drop || link.mtu.is_some(), || {
        Problem::conflict(path.child("above_mtu"), "\"fragment\"", "\"drop\"").because("`mtu` is not set")
    })?;
    if let Some(Loss::GilbertElliott { good_to_bad, bad_to_good, .. }) = &link.loss {
        let zero = *good_to_bad == Probability::ZERO && *bad_to_good == Probability::ZERO;
        ensure(!zero, || {
            Problem::conflict(path.child("loss").child("good_to_bad"), good_to_bad, "a probability above 0")
                .because("`bad_to_good` is 0, too, so the state never changes")
        })?;
    }
    check_holds(&path.child("holds"), &link.holds)?;
    check_delay(&path.child("delay"), &link.delay, Some(link))?;
    // those in a file are checked by their reader
    Conditions::new(link, None).map(drop).map_err(|problem| problem.below(path))
}

pub(super) fn check_queue(path: &FieldPath, queue: &QueueConfig) -> Check {
    queue.options().conflict().map_or(Ok(()), |problem| Err(problem.below(path)))
}

fn check_holds(path: &FieldPath, holds: &[Hold]) -> Check {
    for (index, hold) in holds.iter().enumerate() {
        ensure(holds[..index].iter().all(|before| before.packet != hold.packet), || {
            Problem::conflict(path.child(index).child("packet"), hold.packet, "each packet at most once")
        })?;
    }
    Ok(())
}

/// Checks a delay; `link` is the link that has it, if any.
fn check_delay(path: &FieldPath, delay: &Delay, link: Option<&LinkConfig>) -> Check {
    const CONSTANT: &str = "`distribution` is \"constant\"";
    let constant = delay.distribution == Distribution::Constant;
    let deviates = delay.deviation > Duration::ZERO;
    ensure(!(constant && deviates), || {
        Problem::conflict(path.child("deviation"), quoted(delay.deviation), "\"0 s\"").because(CONSTANT)
    })?;
    // conditions may set delay and deviation; those of a file are not known yet
    let conditions = link.and_then(|link| link.conditions.as_ref());
    let set = |sets: fn(&ConditionRow) -> bool| {
        conditions.is_some_and(|conditions| conditions.file.is_some() || conditions.rows.iter().any(sets))
    };
    let sets_deviation = set(|row| row.deviation.is_some());
    let changes = sets_deviation || set(|row| row.delay.is_some());
    let repeats = link.is_some_and(|link| link.retransmission.is_some());
    ensure(constant || deviates || sets_deviation, || {
        Problem::conflict(path.child("deviation"), quoted(delay.deviation), "a duration above \"0 s\"")
            .because("a `distribution` needs a deviation")
    })?;
    ensure(!(constant && delay.reorder) || changes || repeats, || {
        Problem::conflict(path.child("reorder"), true, "false").because(CONSTANT)
    })?;
    if let Some(every) = delay.every.filter(|_| constant) {
        return Err(Problem::conflict(path.child("every"), quoted(every), "no value").because(CONSTANT));
    }
    if let Some(first) = delay.first.filter(|_| delay.every.is_none()) {
        return Err(
            Problem::conflict(path.child("first"), quoted(first), "no value").because("`every` is not set")
        );
    }
    ensure(delay.steps == 1 || delay.every.is_some(), || {
        Problem::conflict(path.child("steps"), delay.steps, "1").because("`every` is not set")
    })
}

/// Checks a time that is drawn anew for each use: options of `Delay` about packets have no meaning.
pub(super) fn check_time(path: &FieldPath, time: &Delay) -> Check {
    const DRAWN: &str = "the time is drawn independently whenever it is needed";
    ensure(!time.reorder, || Problem::conflict(path.child("reorder"), true, "false").because(DRAWN))?;
    if let Some(every) = time.every {
        return Err(Problem::conflict(path.child("every"), quoted(every), "no value").because(DRAWN));
    }
    if let Some(limit) = time.limit_packets {
        return Err(Problem::conflict(path.child("limit_packets"), limit, "no value")
            .because("no packet waits in it"));
    }
    check_delay(path, time, None)
}

pub(super) fn check_host(path: &FieldPath, host: &HostConfig) -> Check {
    check_time(&path.child("timer_slack"), &host.timer_slack)?;
    check_time(&path.child("wake_up"), &host.wake_up)
}

/// Rejects tunnels through which no flow passes.
pub(super) fn check_tunnels_used(scenario: &Scenario) -> Check {
    for name in scenario.tunnels.keys() {
        ensure(scenario.flows.values().any(|flow| Tunnel::is_passed(name, flow)), || {
            about(field(["tunnels", name]), "not used by any flow: no route leads through it", "")
        })?;
    }
    Ok(())
}

/// Reason for a part of the network that is not used.
const UNUSED: &str = "not used by any flow: no route, bearer or wire leads through it";

impl Scenario {
    /// Parts of the network that no packet can pass, in sentences: usually a route omits them on purpose, or
    /// a name is mistyped.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        self.unused_parts().map(|(group, name)| format!("{group}.{name} is {UNUSED}")).collect()
    }

    /// Rejects parts that no packet can pass and that satisfy `is_new`, as `--set` with a mistyped name
    /// creates.
    pub(crate) fn check_new_parts(&self, is_new: impl Fn(&FieldPath) -> bool) -> Check {
        let mut paths = self.unused_parts().map(|(group, name)| field([group, name]));
        paths.find(is_new).map_or(Ok(()), |path| Err(about(path, UNUSED, "")))
    }

    fn unused_parts(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let repeated = self.repeated();
        let single = repeated.as_deref().unwrap_or(self);
        let graph = Graph::new(single);
        let ways = (0..single.flow_names().count() as u32)
            .flat_map(|flow| [Direction::Down, Direction::Up].map(|direction| (FlowId(flow), direction)));
        let passed: BTreeSet<String> =
            ways.filter_map(|(flow, direction)| graph.passed(flow, direction).ok()).flatten().collect();
        let links = self.links.keys().map(|name| ("links", name, name.clone()));
        let bearers = self.bearers.keys().map(|name| ("bearers", name, Self::bearer_ingress(name)));
        let taps = self.taps.keys().map(|name| ("taps", name, name.clone()));
        let parts = links.chain(bearers).chain(taps);
        parts.filter(move |(.., element)| !passed.contains(element)).map(|(group, name, _)| (group, name))
    }
}

/// Checks bursts: a packet larger than a bucket would wait indefinitely, or never conform.
pub(super) fn check_bursts(scenario: &Scenario, protocols: &[StackProtocol]) -> Check {
    let buckets: Vec<_> = scenario
        .links
        .iter()
        .flat_map(|(name, link)| {
            let shaper = match &link.rate {
                Some(Rate::Shaped(ShapedRate::TokenBucket { burst, .. })) => Some(("rate", *burst)),
                _ => None,
            };
            let policer = link.policer.map(|policer| ("policer", policer.burst));
            shaper.into_iter().chain(policer).map(move |(option, burst)| (name, link, option, burst))
        })
        .collect();
    if buckets.is_empty() {
        return Ok(());
    }
    let graph = Graph::new(scenario);
    for ((id, (flow_name, flow)), protocol) in (0..).map(FlowId).zip(&scenario.flows).zip(protocols) {
        let ends = [scenario.endpoint(flow, Role::Server), scenario.endpoint(flow, Role::Client)];
        for (direction, end) in [(Direction::Down, &ends[0]), (Direction::Up, &ends[1])] {
            let Ok(passed) = graph.passed(id, direction) else { continue };
            let packet = largest_packet(&ends, &flow.workload, end, *protocol);
            for (name, link, option, burst) in buckets.iter().filter(|(name, ..)| passed.contains(*name)) {
                let headers = pdcp_headers(scenario, &passed, name);
                let largest = WireFormat::of(link).length_of(packet, headers);
                ensure(*burst >= largest, || {
                    let path = field(["links", name.as_str(), option, "burst"]);
                    Problem::conflict(
                        path,
                        quoted(burst),
                        format!("a size of at least \"{} B\"", largest.bytes()),
                    )
                    .because(format!("flow `{flow_name}` sends packets of this size"))
                })?;
            }
        }
    }
    Ok(())
}

/// Length of the largest IP packet that an end sends, as far as the scenario determines it.
fn largest_packet(
    ends: &[EndpointConfig; 2],
    workload: &Workload,
    end: &EndpointConfig,
    protocol: StackProtocol,
) -> ByteCount {
    match (protocol, workload) {
        (StackProtocol::Tcp, _) => {
            // each end sends no more than its peer announces
            let announced = ends.each_ref().map(|end| end.tcp.as_ref().and_then(|tcp| tcp.mss));
            announced.map(|mss| mss.unwrap_or(USUAL_MSS)).into_iter().min().unwrap_or(USUAL_MSS) + IP_AND_TCP
        }
        (StackProtocol::Udp, Workload::Datagrams { size, .. } | Workload::Ping { size, .. }) => {
            *size + IP_AND_UDP
        }
        _ => end.datagram_size.unwrap_or(MIN_DATAGRAM) + IP_AND_UDP,
    }
}

/// Headers that bearers on the route add to packets over `link`: a data PDU takes 2 bytes with a 12-bit
/// number and 3 with one of 18 bits (3GPP TS 38.323 section 6.2.2); the published testbed's trailer of 16
/// bits takes 2.
fn pdcp_headers(scenario: &Scenario, passed: &BTreeSet<String>, link: &str) -> ByteCount {
    let bearers = scenario.bearers.iter().filter(|(name, bearer)| {
        passed.contains(&Scenario::bearer_ingress(name)) && bearer.links.iter().any(|over| over == link)
    });
    let header =
        |bearer: &BearerConfig| ByteCount::from_bytes(u64::from(bearer.reordering.sequence_bits).div_ceil(8));
    bearers.fold(ByteCount::ZERO, |sum, (_, bearer)| sum + header(bearer))
}

/// UDP payload that every QUIC endpoint must be able to send (RFC 9000 section 14); assumed if a flow leaves
/// its `datagram_size` to the stack.
const MIN_DATAGRAM: ByteCount = ByteCount::from_bytes(1200);
/// IPv4 header without options and UDP header.
const IP_AND_UDP: ByteCount = ByteCount::from_bytes(20 + 8);
/// MSS on an Ethernet of 1500 bytes; assumed if a flow leaves its `mss` to the stack.
const USUAL_MSS: ByteCount = ByteCount::from_bytes(1500 - 40);
/// IPv4 header and TCP header without options.
const IP_AND_TCP: ByteCount = ByteCount::from_bytes(20 + 20);
