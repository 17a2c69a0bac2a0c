//! Links and hosts.

use super::super::error::{FieldPath, ScenarioError, alternatives};
use super::super::graph::Graph;
use super::super::{Scenario, Tunnel};
use super::endpoint::integer;
use super::{Check, ensure, field, integer_fits, positive_rate, positive_size, positive_time, quoted};
use quiclab_core::Duration;
use quiclab_core::Role;
use quiclab_core::StackProtocol;
use quiclab_core::bearer::BearerConfig;
use quiclab_core::host::HostConfig;
use quiclab_core::link::ShapedRate;
use quiclab_core::link::{Delay, Distribution, Hold, LinkConfig, Loss, Rate, TraceEnd, TraceFormat};
use quiclab_core::queue::{Capacity, Codel, FqCodel, QueueConfig, Refusal};
use quiclab_core::{ByteCount, Probability};
use quiclab_core::{Direction, FlowId};
use quiclab_transport::options::{EndpointConfig, Workload};
use std::collections::BTreeSet;

pub(super) fn check_link(path: &FieldPath, link: &LinkConfig) -> Check {
    match &link.rate {
        None => {}
        Some(Rate::Constant(rate)) => positive_rate(&path.child("rate"), *rate)?,
        Some(Rate::Shaped(rate)) => check_shaped(&path.child("rate"), rate)?,
    }
    check_queue(&path.child("queue"), &link.queue)?;
    if link.rate.is_none() {
        let needless = |name: &str| {
            ScenarioError::about(
                path.child(name),
                "has no effect without a rate",
                "a `rate` beside it, or to leave it out",
            )
        };
        ensure(link.queue == QueueConfig::default(), || needless("queue"))?;
        ensure(link.overhead_per_packet == ByteCount::ZERO, || needless("overhead_per_packet"))?;
    }
    if let Some(loss) = &link.loss {
        check_loss(&path.child("loss"), loss)?;
    }
    if let Some(feedback) = &link.feedback {
        let path = path.child("feedback");
        positive_time(&path.child("interval"), feedback.interval)?;
        positive_time(&path.child("desired_buffer"), feedback.desired_buffer)?;
        ensure(link.rate.is_some(), || {
            ScenarioError::about(path, "needs a rate: without it nothing waits", "a `rate` beside it")
        })?;
    }
    check_holds(&path.child("holds"), &link.holds)?;
    check_delay(&path.child("delay"), &link.delay)
}

fn check_shaped(path: &FieldPath, rate: &ShapedRate) -> Check {
    match rate {
        ShapedRate::TokenBucket { rate, burst } => {
            positive_rate(&path.child("rate"), *rate)?;
            positive_size(&path.child("burst"), *burst)
        }
        ShapedRate::Trace { file, format, at_end } => {
            ensure(!file.as_os_str().is_empty(), || {
                ScenarioError::refused(
                    path.child("file"),
                    "\"\"",
                    "the path of a file, relative to the scenario",
                )
            })?;
            // a delivery trace has no rate that could hold
            ensure(!(*format == TraceFormat::Mahimahi && *at_end == TraceEnd::Hold), || {
                ScenarioError::refused(path.child("at_end"), "\"hold\"", alternatives(["loop", "stop"]))
                    .because("a mahimahi trace has no rate that could hold")
            })
        }
    }
}

pub(super) fn check_queue(path: &FieldPath, queue: &QueueConfig) -> Check {
    let given = |name: &str| path.child(name);
    let Capacity { packets, bytes, time, memory, .. } = queue.options().capacity();
    packets.map_or(Ok(()), |packets| integer_fits(&given("packets"), packets, 1))?;
    bytes.map_or(Ok(()), |bytes| positive_size(&given("bytes"), bytes))?;
    time.map_or(Ok(()), |time| positive_time(&given("time"), time))?;
    memory.map_or(Ok(()), |memory| positive_size(&given("memory"), memory))?;
    if let QueueConfig::Codel(Codel { interval, .. }) | QueueConfig::FqCodel(FqCodel { interval, .. }) = queue
    {
        positive_time(&given("interval"), *interval)?;
    }
    if let QueueConfig::FqCodel(FqCodel { drop_batch, flows, quantum, .. }) = queue {
        ensure(*drop_batch > 0, || {
            ScenarioError::refused(given("drop_batch"), drop_batch, format!("1 to {} packets", u32::MAX))
        })?;
        // as Linux (`fq_codel_change`)
        ensure((1..=MOST_FLOW_QUEUES).contains(flows), || {
            ScenarioError::refused(given("flows"), flows, format!("1 to {MOST_FLOW_QUEUES} queues"))
        })?;
        // Linux raises it to this silently; below, a turn serves nothing for long
        ensure(*quantum >= LEAST_QUANTUM && *quantum <= MOST_QUANTUM, || {
            let allowed = format!("{} B to {} B", LEAST_QUANTUM.bytes(), MOST_QUANTUM.bytes());
            ScenarioError::refused(given("quantum"), quoted(*quantum), allowed)
        })?;
    }
    match queue.options().conflict() {
        None => Ok(()),
        Some(Refusal { field: "", value, expected }) => {
            Err(ScenarioError::refused(path.clone(), value, expected).because("no limit given"))
        }
        Some(Refusal { field, value, expected }) => {
            Err(ScenarioError::refused(given(field), value, expected))
        }
    }
}

const MOST_FLOW_QUEUES: u32 = 65_536;
const LEAST_QUANTUM: ByteCount = ByteCount::from_bytes(256);
const MOST_QUANTUM: ByteCount = ByteCount::from_bytes(1 << 20);

fn check_loss(path: &FieldPath, loss: &Loss) -> Check {
    match loss {
        Loss::Independent { .. } => Ok(()),
        Loss::GilbertElliott { good_to_bad, bad_to_good, .. } => {
            ensure(*good_to_bad != Probability::ZERO || *bad_to_good != Probability::ZERO, || {
                ScenarioError::refused(path.child("good_to_bad"), good_to_bad, "more than 0 in one of them")
                    .because("`good_to_bad` and `bad_to_good` are both 0, so the state never changes")
            })
        }
        Loss::Listed { packets } => packets
            .iter()
            .enumerate()
            .try_for_each(|(index, packet)| integer_fits(&path.child("packets").child(index), *packet, 0)),
    }
}

fn check_holds(path: &FieldPath, holds: &[Hold]) -> Check {
    for (index, hold) in holds.iter().enumerate() {
        let path = path.child(index);
        integer_fits(&path.child("packet"), hold.packet, 0)?;
        positive_time(&path.child("by"), hold.by)?;
        hold.behind.map_or(Ok(()), |behind| integer_fits(&path.child("behind"), behind, 1))?;
        ensure(holds[..index].iter().all(|before| before.packet != hold.packet), || {
            ScenarioError::refused(path.child("packet"), hold.packet, "each packet once")
                .because("it is held twice")
        })?;
    }
    Ok(())
}

fn check_delay(path: &FieldPath, delay: &Delay) -> Check {
    let constant = delay.distribution == Distribution::Constant;
    let random = alternatives(["normal", "uniform", "pareto"]);
    ensure(!(constant && delay.deviation > Duration::ZERO), || {
        ScenarioError::refused(path.child("deviation"), quoted(delay.deviation), "0 with a constant delay")
            .because(format!("it needs a `distribution` ({random})"))
    })?;
    ensure(constant || delay.deviation > Duration::ZERO, || {
        ScenarioError::refused(path.child("deviation"), quoted(delay.deviation), "a time above 0")
            .because("a delay with a `distribution` needs a deviation")
    })?;
    ensure(!(constant && delay.reorder), || {
        ScenarioError::refused(path.child("reorder"), true, "false with a constant delay")
            .because(format!("it needs a `distribution` ({random})"))
    })?;
    if let Some(every) = delay.every {
        ensure(every >= LEAST_HOLD, || {
            ScenarioError::refused(path.child("every"), quoted(every), format!("{LEAST_HOLD} or more"))
        })?;
        ensure(!constant, || {
            ScenarioError::refused(path.child("every"), quoted(every), "nothing with a constant delay")
                .because(format!("it needs a `distribution` ({random})"))
        })?;
    }
    integer(&path.child("steps"), delay.steps, 1..=MOST_STEPS)?;
    ensure(delay.steps == 1 || delay.every.is_some(), || {
        ScenarioError::refused(path.child("steps"), delay.steps, "1 without `every`")
    })
}

/// A delay that changes more often would cost more than the packets it delays.
const LEAST_HOLD: Duration = Duration::from_micros(10);
/// Steps in which a delay changes.
const MOST_STEPS: u32 = 1000;

/// A time that is drawn anew each time it is needed: a delay of which nothing else is meant.
pub(super) fn check_time(path: &FieldPath, time: &Delay, no_order: &str) -> Check {
    ensure(!time.reorder, || ScenarioError::refused(path.child("reorder"), true, "false").because(no_order))?;
    ensure(time.every.is_none(), || {
        ScenarioError::refused(path.child("every"), quoted(time.every.unwrap_or_default()), "nothing")
            .because("each is drawn when it is needed")
    })?;
    check_delay(path, time)
}

pub(super) fn check_host(path: &FieldPath, host: &HostConfig) -> Check {
    for (name, size) in [("receive_buffer", host.receive_buffer), ("truesize", host.truesize)] {
        if let Some(size) = size {
            positive_size(&path.child(name), size)?;
        }
    }
    for (name, batch) in [("receive_batch", host.receive_batch), ("send_batch", host.send_batch)] {
        ensure(batch > 0, || {
            ScenarioError::refused(path.child(name), batch, format!("1 to {} datagrams", u32::MAX))
        })?;
    }
    check_time(&path.child("timer_slack"), &host.timer_slack, "timers have no order to keep")?;
    check_time(&path.child("wake_up"), &host.wake_up, "a process wakes once for what waits")
}

/// Refuses parts of the network that no packet can pass: most often the name is mistyped.
pub(super) fn check_used(scenario: &Scenario) -> Check {
    let graph = Graph::new(scenario);
    let ways = (0..scenario.flow_names().count() as u32)
        .flat_map(|flow| [Direction::Down, Direction::Up].map(|direction| (FlowId(flow), direction)));
    let passed: BTreeSet<String> =
        ways.filter_map(|(flow, direction)| graph.passed(flow, direction).ok()).flatten().collect();
    let groups = [
        ("links", scenario.links.keys().map(|name| (name, name.clone())).collect::<Vec<_>>()),
        ("bearers", scenario.bearers.keys().map(|name| (name, Scenario::bearer_sender(name))).collect()),
        ("taps", scenario.taps.keys().map(|name| (name, name.clone())).collect()),
    ];
    for name in scenario.tunnels.keys() {
        ensure(scenario.flows.values().any(|flow| Tunnel::is_passed(name, flow)), || {
            ScenarioError::about(
                field(["tunnels", name]),
                "no flow passes it",
                "a name in the route of a flow",
            )
        })?;
    }
    for (group, members) in groups {
        if let Some((name, _)) = members.into_iter().find(|(_, element)| !passed.contains(element)) {
            let allowed = "a name in the route of a flow, in a bearer or in a wire";
            return Err(ScenarioError::about(field([group, name]), "no flow passes it", allowed));
        }
    }
    Ok(())
}

/// A packet larger than the bucket would wait for ever.
pub(super) fn check_bursts(scenario: &Scenario, protocols: &[StackProtocol]) -> Check {
    let buckets: Vec<_> = scenario
        .links
        .iter()
        .filter_map(|(name, link)| match &link.rate {
            Some(Rate::Shaped(ShapedRate::TokenBucket { burst, .. })) => Some((name, link, *burst)),
            _ => None,
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
            for (name, link, burst) in buckets.iter().filter(|(name, ..)| passed.contains(*name)) {
                let largest = packet + pdcp_headers(scenario, &passed, name) + link.overhead_per_packet;
                ensure(*burst >= largest, || {
                    let path = field(["links", name, "rate", "burst"]);
                    ScenarioError::refused(path, quoted(burst), format!("at least {} B", largest.bytes()))
                        .because(format!("flow `{flow_name}` sends packets of {} B", largest.bytes()))
                })?;
            }
        }
    }
    Ok(())
}

/// Length of the longest IP packet that an end sends, as far as the scenario says.
fn largest_packet(
    ends: &[EndpointConfig; 2],
    workload: &Workload,
    end: &EndpointConfig,
    protocol: StackProtocol,
) -> ByteCount {
    match (protocol, workload) {
        (StackProtocol::Tcp, _) => {
            // each end sends no more than the other one announces
            let announced = ends.each_ref().map(|end| end.tcp.as_ref().and_then(|tcp| tcp.mss));
            announced.map(|mss| mss.unwrap_or(USUAL_MSS)).into_iter().min().unwrap_or(USUAL_MSS) + IP_AND_TCP
        }
        (StackProtocol::Udp, Workload::Datagrams { size, .. } | Workload::Ping { size, .. }) => {
            *size + IP_AND_UDP
        }
        _ => end.datagram_size.unwrap_or(SMALLEST_DATAGRAM) + IP_AND_UDP,
    }
}

/// Headers that bearers on the way add to packets over `link`: a data PDU takes 2 bytes with a
/// 12-bit number and 3 with one of 18 bits (3GPP TS 38.323 section 6.2.2); the published testbed's
/// trailer of 16 bits takes 2.
fn pdcp_headers(scenario: &Scenario, passed: &BTreeSet<String>, link: &str) -> ByteCount {
    let bearers = scenario.bearers.iter().filter(|(name, bearer)| {
        passed.contains(&Scenario::bearer_sender(name)) && bearer.links.iter().any(|over| over == link)
    });
    let header =
        |bearer: &BearerConfig| ByteCount::from_bytes(u64::from(bearer.reordering.sequence_bits).div_ceil(8));
    bearers.fold(ByteCount::ZERO, |sum, (_, bearer)| sum + header(bearer))
}

/// UDP payload every QUIC endpoint must be able to send (RFC 9000 section 14); assumed where a flow
/// leaves its `datagram_size` to the stack.
const SMALLEST_DATAGRAM: ByteCount = ByteCount::from_bytes(1200);
/// IPv4 header without options and UDP header.
const IP_AND_UDP: ByteCount = ByteCount::from_bytes(20 + 8);
/// MSS on an Ethernet of 1500 bytes; assumed where a flow leaves its `mss` to the stack.
const USUAL_MSS: ByteCount = ByteCount::from_bytes(1500 - 40);
/// IPv4 header and TCP header without options.
const IP_AND_TCP: ByteCount = ByteCount::from_bytes(20 + 20);
