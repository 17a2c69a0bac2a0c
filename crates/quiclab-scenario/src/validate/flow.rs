//! Flows: ends, workloads and routes.

use super::super::arrivals::Arrivals;
use super::super::flow::Flow;
use super::super::plugin::{Applied, apply};
use super::super::{CLIENT_PORT, Scenario, StackCheck};
use super::network::check_time;
use super::paths::{self, further};
use super::{Check, about, endpoint, ensure, plugin, quoted, undefined};
use quiclab_core::problem::values;
use quiclab_core::{
    ByteCount, Direction, Duration, FieldPath, MarkFeedback, Problem, ProblemKind, Role, StackAbilities,
};
use quiclab_transport::EndOf;
use quiclab_transport::live;
use quiclab_transport::options::{
    EndpointConfig, LiveDelivery, MediaControl, PageObjects, PageResource, Workload,
};
use std::collections::BTreeMap;

pub(super) fn check(path: &FieldPath, flow: &Flow, scenario: &Scenario) -> Check {
    for (name, end) in flow.ends() {
        let end_path = path.child(name);
        ensure(end.stack.is_some() || flow.stack.is_some(), || {
            let expected = "a stack (see `quiclab stack list`) here, or on the flow for both ends";
            Problem::new(ProblemKind::MissingField, end_path.child("stack"), expected)
        })?;
        endpoint::check(&end_path, end, scenario)?;
    }
    plugin::check_list(path, flow, scenario)?;
    let mut multipath = Vec::new();
    for (name, role) in ENDS {
        let applied = apply(scenario, path, flow, role)?;
        endpoint::check(&path.child(name), &applied.config, scenario)
            .map_err(|error| applied.attribute_error(path, error))?;
        multipath.push(applied.config.multipath);
        if let Some(kind) = applied.config.quic.as_ref().and_then(|quic| quic.path_scheduler.as_ref()) {
            let path = path.child(name).child("quic").child("path_scheduler");
            kind.check(Some(flow.paths.len() + 1)).map_err(|problem| problem.below(&path))?;
        }
    }
    paths::check(path, flow, [multipath[0], multipath[1]])?;
    match &flow.arrivals {
        Some(arrivals) => check_arrivals(path, flow, arrivals)?,
        None => check_workload(&path.child("workload"), &flow.workload)?,
    }
    for (name, route) in [("down", &flow.down), ("up", &flow.up)] {
        check_route(&path.child(name), route, scenario)?;
    }
    for (index, further) in flow.paths.iter().enumerate() {
        let path = path.child("paths").child(index);
        for (name, route) in [("down", &further.down), ("up", &further.up)] {
            check_route(&path.child(name), route, scenario)?;
        }
    }
    Ok(())
}

/// Checks that the address of a machine has enough ports for all clients on it.
pub(super) fn check_client_ports(scenario: &Scenario) -> Check {
    let available = u32::from(u16::MAX - CLIENT_PORT) + 1;
    let mut used: BTreeMap<&str, u32> = BTreeMap::new();
    for (name, flow) in &scenario.flows {
        let Some(machine) = &flow.receiver_machine else { continue };
        let ports = used.entry(machine).or_default();
        *ports += flow.client_ports();
        ensure(*ports <= available, || {
            let path = FieldPath::new(["flows", name, "receiver_machine"]);
            Problem::conflict(path, quoted(machine), "another machine").because(format!(
                "a machine has {available} ports, one for each path of each connection of the clients on it"
            ))
        })?;
    }
    Ok(())
}

/// Names and roles of the ends, in the order of [`Flow::ends`].
const ENDS: [(&str, Role); 2] = [("sender", Role::Server), ("receiver", Role::Client)];

fn check_workload(path: &FieldPath, workload: &Workload) -> Check {
    match workload {
        Workload::Download { size, duration, .. } => check_download(path, *size, *duration),
        Workload::Datagrams { on, off, .. } => check_on_off(path, *on, *off),
        Workload::Page { objects, resources, browser_time, .. } => {
            check_time(&path.child("browser_time"), browser_time)?;
            check_resources(&path.child("resources"), resources, objects)
        }
        Workload::Media { start_rate, min_rate, max_rate, .. } => {
            check_media(path, workload)?;
            ensure((*min_rate..=*max_rate).contains(start_rate), || {
                let expected =
                    format!("a rate from `min_rate` to `max_rate`, \"{min_rate}\" to \"{max_rate}\"");
                Problem::conflict(path.child("start_rate"), quoted(*start_rate), expected)
            })
        }
        Workload::Live { .. } => check_live(path, workload),
        _ => Ok(()),
    }
}

/// Checks options of the versions of SCReAM.
fn check_media(path: &FieldPath, workload: &Workload) -> Check {
    let &Workload::Media { control, ecn, l4s, ramp_up_speed, .. } = workload else { return Ok(()) };
    let conflict = |field, value: &str, expected: &str, why: &str| {
        Problem::conflict(path.child(field), value.to_owned(), expected.to_owned()).because(why.to_owned())
    };
    let is_v2 = control == MediaControl::ScreamV2;
    ensure(is_v2 || !l4s, || conflict("l4s", "true", "false", "`scream` has no L4S; `scream-v2` has"))?;
    ensure(!l4s || !ecn, || conflict("ecn", "true", "false", "packets with `l4s` have ECT(1)"))?;
    match ramp_up_speed.filter(|_| is_v2) {
        Some(speed) => Err(Problem::conflict(path.child("ramp_up_speed"), quoted(speed), "none")
            .because("the growth of `scream-v2` follows its window")),
        None => Ok(()),
    }
}

/// Checks arriving connections: downloads of a size, which the arrivals or the workload state.
fn check_arrivals(path: &FieldPath, flow: &Flow, arrivals: &Arrivals) -> Check {
    let workload = path.child("workload");
    let Workload::Download { size, duration, .. } = &flow.workload else {
        let kind = quoted(flow.workload.kind());
        return Err(Problem::conflict(workload.child("kind"), kind, quoted("download"))
            .because("connections of `arrivals` are downloads"));
    };
    if let Some(duration) = duration {
        return Err(Problem::conflict(workload.child("duration"), quoted(duration), "`size`")
            .because("connections of `arrivals` end by their size"));
    }
    match (size, arrivals.have_sizes()) {
        (None, true) | (Some(_), false) => {}
        (None, false) => {
            let expected = "a size, as `arrivals` has no `sizes`";
            return Err(Problem::new(ProblemKind::MissingField, workload.child("size"), expected));
        }
        (Some(size), true) => {
            return Err(Problem::conflict(workload.child("size"), quoted(size), "no size")
                .because("`arrivals` states the sizes"));
        }
    }
    ensure(flow.paths.is_empty(), || {
        Problem::conflict(path.child("paths"), further(flow), "no further paths")
            .because("connections of `arrivals` have one path")
    })?;
    ensure(flow.path_changes.is_empty(), || {
        let changes = format!("[{} changes]", flow.path_changes.len());
        Problem::conflict(path.child("path_changes"), changes, "no changes")
            .because("connections of `arrivals` have one path")
    })?;
    ensure(!flow.abandon_when_down, || {
        Problem::conflict(path.child("abandon_when_down"), "true", "false")
            .because("connections of `arrivals` have one path")
    })?;
    ensure(flow.plugins.is_empty(), || {
        Problem::conflict(path.child("plugins"), format!("{:?}", flow.plugins), "no plugins")
            .because("connections of `arrivals` have none")
    })?;
    if let Some(machine) = &flow.receiver_machine {
        return Err(Problem::conflict(path.child("receiver_machine"), quoted(machine), "no value")
            .because("connections of `arrivals` have ports of one client"));
    }
    arrivals.check().map_err(|problem| problem.below(&path.child("arrivals")))
}

/// Checks live media: a source adapts within two bounds, and waiting datagrams cannot be withdrawn.
fn check_live(path: &FieldPath, workload: &Workload) -> Check {
    let &Workload::Live { rate, min_rate, max_rate, drop_late, delivery, .. } = workload else {
        return Ok(());
    };
    let (bound, other) = if min_rate.is_some() { ("min_rate", "max_rate") } else { ("max_rate", "min_rate") };
    ensure(min_rate.is_some() == max_rate.is_some(), || {
        Problem::new(ProblemKind::MissingField, path.child(other), "a rate")
            .because(format!("`{bound}` is set: the source follows the transport between both"))
    })?;
    if let Some((min, max)) = min_rate.zip(max_rate) {
        ensure((min..=max).contains(&rate), || {
            let expected = format!("a rate from `min_rate` to `max_rate`, \"{min}\" to \"{max}\"");
            Problem::conflict(path.child("rate"), quoted(rate), expected)
        })?;
    }
    ensure(!drop_late || delivery == LiveDelivery::Streams, || {
        Problem::conflict(path.child("drop_late"), "true", "false")
            .because("datagrams that wait for the congestion window cannot be taken back")
    })?;
    let parameters = live::Parameters::new(workload).filter(live::Parameters::in_datagrams);
    let datagrams = parameters.map_or(0, |parameters| parameters.most_datagrams());
    ensure(datagrams <= u64::from(u16::MAX), || {
        let expected = format!("key frames of at most {} datagrams", u16::MAX);
        Problem::conflict(path.child("rate"), quoted(rate), expected)
            .because(format!("they have up to {datagrams}: the header of a datagram numbers no more"))
    })
}

/// Checks that a resource depends on earlier ones only, so that none waits for itself.
fn check_resources(path: &FieldPath, resources: &[PageResource], objects: &[PageObjects]) -> Check {
    ensure(resources.is_empty() || objects.is_empty(), || {
        about(path.clone(), "`objects` and `resources` are both set", "only one of them")
    })?;
    for (index, resource) in resources.iter().enumerate() {
        // the first of the list is resource 1
        if let Some(after) = resource.after.iter().find(|after| **after as usize > index) {
            let expected = format!("0 (the HTML) to {index}");
            return Err(Problem::conflict(path.child(index).child("after"), after, expected)
                .because(format!("this is resource {}, and it can depend on earlier ones only", index + 1)));
        }
    }
    Ok(())
}

fn check_download(path: &FieldPath, size: Option<ByteCount>, duration: Option<Duration>) -> Check {
    match (size, duration) {
        (None, None) => {
            let expected = "either `size` or `duration`";
            Err(Problem::new(ProblemKind::MissingField, path.child("size"), expected))
        }
        (Some(_), Some(_)) => {
            let reason = "`size` and `duration` are both set";
            Err(about(path.child("duration"), reason, "only one of them"))
        }
        _ => Ok(()),
    }
}

fn check_on_off(path: &FieldPath, on: Option<Duration>, off: Option<Duration>) -> Check {
    for (name, value, other, other_value) in [("on", on, "off", off), ("off", off, "on", on)] {
        if let (Some(value), None) = (value, other_value) {
            return Err(Problem::conflict(path.child(name), quoted(value), "`on` and `off`, or neither")
                .because(format!("`{other}` is not set")));
        }
    }
    Ok(())
}

/// Checks a route: it is not empty, its names exist, and packets pass no element twice: they would loop,
/// since an element sends all packets of a flow and direction the same way.
pub(super) fn check_route(path: &FieldPath, route: &[String], scenario: &Scenario) -> Check {
    if !scenario.wires.is_empty() {
        return ensure(route.is_empty(), || {
            about(path.clone(), "a route and `[[wires]]` are both set", "only one of them")
        });
    }
    ensure(!route.is_empty(), || {
        let names: Vec<_> = scenario.passable().iter().map(|name| name.to_string()).collect();
        let expected = format!("one or more of {}", names.join(", "));
        Problem::new(ProblemKind::MissingField, path.clone(), expected)
    })?;
    let mut passed: BTreeMap<&str, &str> = BTreeMap::new();
    for (index, name) in route.iter().enumerate() {
        let path = path.child(index);
        let known = scenario.links.contains_key(name)
            || scenario.bearers.contains_key(name)
            || scenario.taps.contains_key(name)
            || scenario.tunnel_passage(name, Direction::Down).is_some();
        ensure(known, || undefined(path.clone(), "link, bearer, tap or tunnel", name, scenario.passable()))?;
        let links = scenario.bearers.get(name).map_or(&[][..], |bearer| &bearer.links);
        let tunnel = scenario.tunnel_passage(name, Direction::Down).map(|(tunnel, _)| tunnel);
        for element in links.iter().map(String::as_str).chain([tunnel.unwrap_or(name)]) {
            if let Some(before) = passed.insert(element, name) {
                let expected = "each link, bearer, tap and tunnel at most once in a route";
                return Err(Problem::conflict(path, quoted(name), expected)
                    .because(format!("`{before}` and `{name}` both pass `{element}`: a loop")));
            }
        }
    }
    Ok(())
}

/// Checks the stacks of both ends by the caller's function, with the stack that they inherit: they must use
/// the same protocol and support the workload. Returns the abilities of the sender's stack.
pub(super) fn check_stacks(
    path: &FieldPath,
    flow: &Flow,
    scenario: &Scenario,
    stacks: StackCheck<'_>,
) -> Result<StackAbilities, Problem> {
    let judge = |name: &str, role: Role, applied: &Applied<'_>| {
        let end = &applied.config;
        let inherits = end.stack.is_none();
        let abilities = stacks(&flow.inherited(end), EndOf::Flow).map_err(|problem| {
            // a stack that both ends inherit is set on the flow
            let on_flow = inherits && problem.path == FieldPath::from("stack");
            let end_path = if on_flow { path.clone() } else { path.child(name) };
            applied.attribute_error(path, problem.below(&end_path))
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
            let expected = "no further paths, or the stack `lab-quic` with `quic.version = \"v1\"`, or `noq` with `multipath`, at \
                            both ends";
            Problem::conflict(path.child("paths"), further(flow), expected)
                .because(format!("the {name} (`{stack}`, as configured) has one path"))
        })?;
    }
    let [serves, asks] = abilities.each_ref().map(|abilities| abilities.protocol);
    ensure(serves == asks, || {
        // the end that names a stack differs from the flow
        let (odd, other, common) =
            if receiver.1.stack.is_some() { (receiver, sender, serves) } else { (sender, receiver, asks) };
        let stack = |end: &EndpointConfig| flow.inherited(end).stack.unwrap_or_default();
        let problem = format!("the {} speaks {common} (`{}`)", other.0, stack(other.1));
        Problem::conflict(
            path.child(odd.0).child("stack"),
            quoted(stack(odd.1)),
            format!("a stack that speaks {common}"),
        )
        .because(problem)
    })?;
    let names = [sender, receiver].map(|(_, end)| flow.inherited(end).stack.unwrap_or_default());
    let proprietary = names.iter().zip(&abilities).find(|(_, abilities)| abilities.proprietary);
    if let Some((proprietary, _)) = proprietary.filter(|_| names[0] != names[1]) {
        // the end that names a stack differs from the flow
        let (odd, stack) =
            if receiver.1.stack.is_some() { (receiver, &names[1]) } else { (sender, &names[0]) };
        let expected = format!("`{proprietary}` at both ends or at neither");
        return Err(Problem::conflict(path.child(odd.0).child("stack"), quoted(stack), expected)
            .because(format!("no other stack understands packets of `{proprietary}`")));
    }
    ensure(sender.1.tls == receiver.1.tls, || {
        let value = if receiver.1.tls.is_some() { "different options" } else { "none" };
        Problem::conflict(
            path.child(receiver.0).child("tls"),
            value,
            "the same TLS options as the sender's, or none at both ends",
        )
    })?;
    let returned = abilities[1].mark_feedback;
    // an end that requests the feedback of RFC 8257 with an ECN-capable SYN is refused ECN by one with AccECN
    let refused = returned == MarkFeedback::EachAck && abilities[0].mark_feedback == MarkFeedback::Count;
    let needed = if refused { MarkFeedback::Count } else { abilities[0].needs_mark_feedback };
    ensure(needed == MarkFeedback::None || returned == needed, || {
        let option = |feedback| match feedback {
            MarkFeedback::None => "off",
            MarkFeedback::Echo => "classic",
            MarkFeedback::EachAck => "dctcp",
            MarkFeedback::Count => "accurate",
        };
        let path = path.child(receiver.0).child("tcp").child("ecn");
        Problem::conflict(path, quoted(option(returned)), quoted(option(needed))).because(format!(
            "the sender counts marks by `tcp.ecn = \"{}\"`; the receiver must have the same",
            option(needed)
        ))
    })?;
    let kind = flow.workload.kind();
    for ((_, end), abilities) in flow.ends().into_iter().zip(&abilities) {
        ensure(abilities.workloads.contains(&kind), || {
            let stack = flow.inherited(end).stack.unwrap_or_default();
            Problem::conflict(
                path.child("workload").child("kind"),
                quoted(kind),
                values(&*abilities.workloads),
            )
            .because(format!("stack `{stack}` does not support this workload"))
        })?;
    }
    let [sender, _] = abilities;
    Ok(sender)
}
