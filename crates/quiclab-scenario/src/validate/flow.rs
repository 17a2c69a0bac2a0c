//! Flows: ends, workloads and routes.

use super::super::Scenario;
use super::super::error::{FieldPath, ScenarioError, alternatives};
use super::super::flow::Flow;
use super::super::plugin::{Applied, apply};
use super::network::check_time;
use super::{
    Check, endpoint, ensure, path_scheduler, plugin, positive_rate, positive_size, positive_time, quoted,
};
use quiclab_core::Direction;
use quiclab_core::Duration;
use quiclab_core::Role;
use quiclab_core::StackProblem;
use quiclab_core::{ByteCount, DataRate};
use quiclab_core::{StackAbilities, StackProtocol};
use quiclab_transport::options::{EndpointConfig, MOST_ORIGINS, PageObjects, PageResource, Workload};
use std::collections::BTreeMap;

pub(super) fn check(path: &FieldPath, flow: &Flow, scenario: &Scenario) -> Check {
    for (name, end) in flow.ends() {
        let end_path = path.child(name);
        ensure(end.stack.is_some() || flow.stack.is_some(), || {
            let allowed = "a stack (see `quiclab stack list`) here, or on the flow for both ends";
            ScenarioError::about(end_path.child("stack"), "missing", allowed)
        })?;
        endpoint::check(&end_path, end, scenario)?;
    }
    plugin::check_list(path, flow, scenario)?;
    for (name, role) in ENDS {
        let applied = apply(scenario, path, flow, role)?;
        endpoint::check(&path.child(name), &applied.config, scenario)
            .map_err(|error| applied.blame(path, error))?;
        if let Some(kind) = applied.config.quic.as_ref().and_then(|quic| quic.path_scheduler.as_ref()) {
            let path = path.child(name).child("quic").child("path_scheduler");
            path_scheduler::check_paths(&path, kind, flow.paths.len() + 1)?;
        }
    }
    check_workload(&path.child("workload"), &flow.workload)?;
    ensure(flow.start < scenario.duration, || {
        let allowed = format!("a time before the end of the run at {}", scenario.duration);
        ScenarioError::refused(path.child("start"), quoted(flow.start), allowed)
    })?;
    for (name, route) in [("down", &flow.down), ("up", &flow.up)] {
        check_route(&path.child(name), route, scenario)?;
    }
    ensure(flow.paths.len() < MOST_PATHS, || {
        let allowed = format!("up to {} further paths", MOST_PATHS - 1);
        ScenarioError::refused(path.child("paths"), further(flow), allowed)
    })?;
    for (index, further) in flow.paths.iter().enumerate() {
        let path = path.child("paths").child(index);
        for (name, route) in [("down", &further.down), ("up", &further.up)] {
            check_route(&path.child(name), route, scenario)?;
        }
    }
    check_disjoint(
        scenario,
        || flow.routes(),
        |index, direction| path.child("paths").child(index - 1).child(direction),
    )
}

/// Paths share nothing: an element sends all packets of a flow and direction the same way.
pub(super) fn check_disjoint<'a, R>(
    scenario: &Scenario,
    routes: impl Fn() -> R,
    path: impl Fn(usize, &'static str) -> FieldPath,
) -> Check
where
    R: Iterator<Item = (&'a [String], &'a [String])>,
{
    for (direction, down) in [("down", true), ("up", false)] {
        let mut used: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, (downwards, upwards)) in routes().enumerate() {
            let route = if down { downwards } else { upwards };
            for name in route {
                let links = scenario.bearers.get(name).map_or(&[][..], |bearer| &bearer.links);
                for element in links.iter().chain([name]) {
                    if let Some(before) = used.insert(element, index).filter(|before| *before != index) {
                        let problem = format!("path {before} passes `{element}`, too");
                        let allowed = "elements of this path alone";
                        return Err(ScenarioError::refused(path(index, direction), quoted(name), allowed)
                            .because(problem));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Paths of a flow or a tunnel. Beyond what anybody has measured; what is kept for each is kept without allocation.
pub(super) const MOST_PATHS: usize = 8;

/// How many paths a flow has besides the first, in words.
fn further(flow: &Flow) -> String {
    format!("[{} paths]", flow.paths.len())
}

/// Names and roles of the ends, in the order of [`Flow::ends`].
const ENDS: [(&str, Role); 2] = [("sender", Role::Server), ("receiver", Role::Client)];

fn check_workload(path: &FieldPath, workload: &Workload) -> Check {
    match workload {
        Workload::Download { size, duration, request } => check_download(path, *size, *duration, *request),
        Workload::RequestResponse { count, request, response, pause: _ } => {
            at_least_one(&path.child("count"), *count)?;
            positive_size(&path.child("request"), *request)?;
            positive_size(&path.child("response"), *response)
        }
        Workload::Datagrams { rate, size, duration, on, off } => {
            check_datagrams(path, *rate, *size, *duration, *on, *off)
        }
        Workload::Page { html, objects, resources, request, response, browser_time, .. } => {
            check_time(&path.child("browser_time"), browser_time, "it is one time")?;
            for (name, size) in [("html", *html), ("request", *request), ("response", *response)] {
                positive_size(&path.child(name), size)?;
            }
            for (index, group) in objects.iter().enumerate() {
                let path = path.child("objects").child(index);
                at_least_one(&path.child("count"), group.count)?;
                positive_size(&path.child("size"), group.size)?;
            }
            check_resources(&path.child("resources"), resources, objects)
        }
        Workload::Ping { size, count, interval, protocol: _ } => {
            at_least_one(&path.child("count"), *count)?;
            datagram_payload(&path.child("size"), *size)?;
            positive_time(&path.child("interval"), *interval)
        }
        Workload::Media {
            start_rate,
            min_rate,
            max_rate,
            frame_rate,
            packet_size,
            target_delay,
            ramp_up_speed,
            ecn: _,
            duration,
        } => {
            positive_rate(&path.child("min_rate"), *min_rate)?;
            ensure((*min_rate..=*max_rate).contains(start_rate), || {
                let allowed = format!("`min_rate` to `max_rate`, `{min_rate}` to `{max_rate}`");
                ScenarioError::refused(path.child("start_rate"), quoted(*start_rate), allowed)
            })?;
            endpoint::integer(&path.child("frame_rate"), *frame_rate, 1..=MOST_FRAMES)?;
            endpoint::size(&path.child("packet_size"), *packet_size, SMALLEST_RTP, LARGEST_RTP)?;
            for (name, time) in [("target_delay", *target_delay), ("duration", *duration)] {
                positive_time(&path.child(name), time)?;
            }
            positive_rate(&path.child("ramp_up_speed"), *ramp_up_speed)
        }
    }
}

/// A resource comes after those before it alone, so nothing waits for itself.
fn check_resources(path: &FieldPath, resources: &[PageResource], objects: &[PageObjects]) -> Check {
    ensure(resources.is_empty() || objects.is_empty(), || {
        let value = format!("[{} resources]", resources.len());
        ScenarioError::refused(path.clone(), value, "either `objects` or `resources`")
            .because("`objects` are given, too")
    })?;
    for (index, resource) in resources.iter().enumerate() {
        let path = path.child(index);
        positive_size(&path.child("size"), resource.size)?;
        for (name, section) in [("request", resource.request), ("response", resource.response)] {
            section.map_or(Ok(()), |section| positive_size(&path.child(name), section))?;
        }
        ensure(!resource.after.is_empty(), || {
            ScenarioError::refused(
                path.child("after"),
                "[]",
                "one or more numbers of resources; 0 is the HTML",
            )
        })?;
        for &after in &resource.after {
            // the first of the list is resource 1
            ensure(after as usize <= index, || {
                let allowed =
                    format!("0 (the HTML) to {index}: a resource before this one, number {}", index + 1);
                ScenarioError::refused(path.child("after"), after, allowed)
            })?;
        }
        ensure(resource.origin < MOST_ORIGINS, || {
            let allowed = format!("0 (the server of the HTML) to {}", MOST_ORIGINS - 1);
            ScenarioError::refused(path.child("origin"), resource.origin, allowed)
        })?;
    }
    Ok(())
}

fn check_download(
    path: &FieldPath,
    size: Option<ByteCount>,
    duration: Option<Duration>,
    request: ByteCount,
) -> Check {
    match (size, duration) {
        (None, None) => Err(ScenarioError::about(path.child("size"), "missing", ONE_OF_BOTH)),
        (Some(size), None) => positive_size(&path.child("size"), size),
        (None, Some(duration)) => positive_time(&path.child("duration"), duration),
        (Some(_), Some(duration)) => {
            let path = path.child("duration");
            Err(ScenarioError::refused(path, quoted(duration), ONE_OF_BOTH).because("`size` is given, too"))
        }
    }?;
    positive_size(&path.child("request"), request)
}

fn check_datagrams(
    path: &FieldPath,
    rate: DataRate,
    size: ByteCount,
    duration: Duration,
    on: Option<Duration>,
    off: Option<Duration>,
) -> Check {
    positive_rate(&path.child("rate"), rate)?;
    datagram_payload(&path.child("size"), size)?;
    positive_time(&path.child("duration"), duration)?;
    for (name, value, other, other_value) in [("on", on, "off", off), ("off", off, "on", on)] {
        let Some(value) = value else { continue };
        positive_time(&path.child(name), value)?;
        ensure(other_value.is_some(), || {
            let problem = format!("`{other}` is missing");
            ScenarioError::refused(path.child(name), quoted(value), "`on` and `off`, or neither")
                .because(problem)
        })?;
    }
    Ok(())
}

fn at_least_one(path: &FieldPath, count: u32) -> Check {
    ensure(count > 0, || ScenarioError::refused(path.clone(), count, format!("1 to {}", u32::MAX)))
}

fn datagram_payload(path: &FieldPath, size: ByteCount) -> Check {
    let allowed = ByteCount::from_bytes(1)..=endpoint::LARGEST_DATAGRAM;
    ensure(allowed.contains(&size), || {
        ScenarioError::refused(
            path.clone(),
            quoted(size),
            format!("1 B to {} B", endpoint::LARGEST_DATAGRAM.bytes()),
        )
    })
}

/// Frames in a second: far beyond what anybody shows.
const MOST_FRAMES: u32 = 1000;
/// An RTP packet with more media than header.
const SMALLEST_RTP: u64 = 100;
/// The longest IPv4 packet of an Ethernet less the headers of IP and UDP: RTP is not fragmented.
const LARGEST_RTP: u64 = 1472;
const ONE_OF_BOTH: &str = "either `size` or `duration`";

/// A route is not empty, its names exist, and packets pass nothing twice: they would run in a
/// circle, since an element sends all packets of a flow and direction the same way.
pub(super) fn check_route(path: &FieldPath, route: &[String], scenario: &Scenario) -> Check {
    if !scenario.wires.is_empty() {
        return ensure(route.is_empty(), || {
            ScenarioError::refused(path.clone(), format!("{route:?}"), "either routes or `[[wires]]`")
                .because("`[[wires]]` are given, too")
        });
    }
    ensure(!route.is_empty(), || {
        let allowed = format!("one or more of {}", scenario.passable());
        let flow = &path.steps()[1];
        let direction = &path.steps()[2];
        ScenarioError::refused(path.clone(), "[]", allowed)
            .because(format!("flow `{flow}` has no route {direction}"))
    })?;
    let mut passed: BTreeMap<&str, &str> = BTreeMap::new();
    for (index, name) in route.iter().enumerate() {
        let path = path.child(index);
        let known = scenario.links.contains_key(name)
            || scenario.bearers.contains_key(name)
            || scenario.taps.contains_key(name)
            || scenario.tunnel_passage(name, Direction::Down).is_some();
        ensure(known, || {
            ScenarioError::refused(path.clone(), quoted(name), scenario.passable())
                .because("no such link, bearer, tap or tunnel")
        })?;
        let links = scenario.bearers.get(name).map_or(&[][..], |bearer| &bearer.links);
        for element in links.iter().chain([name]) {
            if let Some(before) = passed.insert(element, name) {
                let allowed = "each link, bearer, tap and tunnel once in a route";
                return Err(ScenarioError::refused(path, quoted(name), allowed)
                    .because(format!("`{element}` is passed twice (`{before}`, `{name}`), a loop")));
            }
        }
    }
    Ok(())
}

/// Asks the caller about both ends, with the stack they inherit: they must speak the same protocol and
/// run the workload. Returns the protocol.
pub(super) fn check_stacks(
    path: &FieldPath,
    flow: &Flow,
    scenario: &Scenario,
    stacks: &dyn Fn(&EndpointConfig) -> Result<StackAbilities, StackProblem>,
) -> Result<StackProtocol, ScenarioError> {
    let judge = |name: &str, role: Role, applied: &Applied<'_>| {
        let end = &applied.config;
        let inherits = end.stack.is_none();
        let abilities = stacks(&flow.inherited(end)).map_err(|StackProblem { field, value, allowed }| {
            // a stack that both ends inherit is written on the flow
            let path_of_end = if inherits && field == "stack" { path.clone() } else { path.child(name) };
            let path_of_field = field.split('.').fold(path_of_end, |path, step| path.child(step));
            applied.blame(path, ScenarioError::refused(path_of_field, value, allowed))
        })?;
        let stack = flow.inherited(end).stack.unwrap_or_default();
        let computations = scenario.computations(flow, role);
        plugin::check_computations(path, flow, name, &computations, &stack, &abilities)?;
        Ok(abilities)
    };
    let [sender, receiver] =
        [apply(scenario, path, flow, Role::Server)?, apply(scenario, path, flow, Role::Client)?];
    let abilities = [judge("sender", Role::Server, &sender)?, judge("receiver", Role::Client, &receiver)?];
    let [sender, receiver] = [("sender", &sender.config), ("receiver", &receiver.config)];
    for ((name, end), abilities) in [sender, receiver].into_iter().zip(&abilities) {
        ensure(flow.paths.is_empty() || abilities.multipath, || {
            let stack = flow.inherited(end).stack.unwrap_or_default();
            let allowed = "no further paths, or stack `lab-quic` with `quic.version` = `v1` at both ends";
            ScenarioError::refused(path.child("paths"), further(flow), allowed)
                .because(format!("the {name} (`{stack}`, as it is configured) has one path"))
        })?;
    }
    let [serves, asks] = abilities.each_ref().map(|abilities| abilities.protocol);
    ensure(serves == asks, || {
        // the end that has a stack of its own differs from the flow
        let (odd, other, common) =
            if receiver.1.stack.is_some() { (receiver, sender, serves) } else { (sender, receiver, asks) };
        let stack = |end: &EndpointConfig| flow.inherited(end).stack.unwrap_or_default();
        let problem = format!("the {} speaks {common} (`{}`)", other.0, stack(other.1));
        ScenarioError::refused(
            path.child(odd.0).child("stack"),
            quoted(stack(odd.1)),
            format!("a stack that speaks {common}, too"),
        )
        .because(problem)
    })?;
    let names = [sender, receiver].map(|(_, end)| flow.inherited(end).stack.unwrap_or_default());
    let proprietary = names.iter().zip(&abilities).find(|(_, abilities)| abilities.proprietary);
    if let Some((proprietary, _)) = proprietary.filter(|_| names[0] != names[1]) {
        // the end that has a stack of its own differs from the flow
        let (odd, stack) =
            if receiver.1.stack.is_some() { (receiver, &names[1]) } else { (sender, &names[0]) };
        let allowed = format!("`{proprietary}` at both ends or at none");
        return Err(ScenarioError::refused(path.child(odd.0).child("stack"), quoted(stack), allowed)
            .because(format!("no other stack understands packets of `{proprietary}`")));
    }
    ensure(sender.1.tls == receiver.1.tls, || {
        let value = if receiver.1.tls.is_some() { "another one than the sender's" } else { "none" };
        ScenarioError::refused(
            path.child(receiver.0).child("tls"),
            value,
            "the TLS of the sender, or none at both ends",
        )
        .because("the two ends do not understand each other")
    })?;
    let kind = flow.workload.kind();
    for ((_, end), abilities) in flow.ends().into_iter().zip(abilities) {
        ensure(abilities.workloads.contains(&kind), || {
            let stack = flow.inherited(end).stack.unwrap_or_default();
            ScenarioError::refused(
                path.child("workload").child("kind"),
                quoted(kind),
                alternatives(&*abilities.workloads),
            )
            .because(format!("stack `{stack}` does not run it"))
        })?;
    }
    Ok(serves)
}
