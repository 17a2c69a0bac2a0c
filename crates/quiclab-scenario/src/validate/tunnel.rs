//! Tunnels: their paths, and what their transport takes.

use super::super::error::{FieldPath, ScenarioError, alternatives};
use super::super::{Scenario, Tunnel};
use super::flow::{MOST_PATHS, check_disjoint, check_route};
use super::{Check, endpoint, ensure, field, network, positive_size, positive_time, quoted};
use quiclab_core::Direction;
use quiclab_core::StackProblem;
use quiclab_core::scheduler::PathSchedulerKind;
use quiclab_core::tunnel::Pipeline;
use quiclab_core::{StackAbilities, StackProtocol};
use quiclab_transport::options::CongestionControl;
use quiclab_transport::options::EndpointConfig;

/// Smallest IPv4 packet that every host must take (RFC 791), and the largest packet that there is.
const MTU: std::ops::RangeInclusive<u64> = 576..=65_000;

pub(super) fn check(path: &FieldPath, tunnel: &Tunnel, scenario: &Scenario) -> Check {
    let known = ["lab-quic", "noq"];
    ensure(known.contains(&tunnel.stack.as_str()), || {
        ScenarioError::refused(path.child("stack"), quoted(&tunnel.stack), alternatives(known))
            .because("no such carrier")
    })?;
    ensure(MTU.contains(&tunnel.mtu.bytes()), || {
        let allowed = format!("{} B to {} B", MTU.start(), MTU.end());
        ScenarioError::refused(path.child("mtu"), quoted(tunnel.mtu), allowed)
    })?;
    network::check_queue(&path.child("queue"), &tunnel.queue)?;
    if let Some(bound) = tunnel.resequencing {
        positive_time(&path.child("resequencing"), bound)?;
    }
    for (name, _, end) in tunnel.ends() {
        let path = path.child(name);
        ensure(end.stack.as_ref() == Some(&tunnel.stack), || {
            let allowed = format!("\"{}\", the stack of the tunnel, or none", tunnel.stack);
            ScenarioError::refused(
                path.child("stack"),
                quoted(end.stack.clone().unwrap_or_default()),
                allowed,
            )
        })?;
        endpoint::check(&path, &end, scenario)?;
    }
    ensure((1..=MOST_PATHS).contains(&tunnel.paths.len()), || {
        let given = format!("[{} paths]", tunnel.paths.len());
        ScenarioError::refused(path.child("paths"), given, format!("1 to {MOST_PATHS} paths"))
    })?;
    ensure(tunnel.pipeline == Pipeline::Direct || tunnel.stack == "lab-quic", || {
        ScenarioError::refused(path.child("pipeline").child("kind"), "\"pquic\"", "`direct`")
            .because("it needs the stack `lab-quic`")
    })?;
    ensure(scenario.wires.is_empty(), || {
        ScenarioError::about(path.clone(), "tunnels have routes, not wires stated by hand", "no `wires`")
    })?;
    for (index, routes) in tunnel.paths.iter().enumerate() {
        for (name, route) in [("down", &routes.down), ("up", &routes.up)] {
            let path = path.child("paths").child(index).child(name);
            check_route(&path, route, scenario)?;
            if let Some(inner) =
                route.iter().position(|name| scenario.tunnel_passage(name, Direction::Down).is_some())
            {
                return Err(ScenarioError::refused(
                    path.child(inner),
                    quoted(&route[inner]),
                    "links, bearers and taps",
                )
                .because("a tunnel inside a tunnel"));
            }
        }
    }
    check_windows(&path.child("windows"), tunnel)?;
    for (name, _, end) in tunnel.ends() {
        check_noq(&path.child(name), tunnel, &end)?;
    }
    if let Some(field) = tunnel.queue.options().needs_rate() {
        let path = path.child("queue").child(field);
        return Err(ScenarioError::about(path, "a tunnel knows no rate", "`packets` or `bytes`"));
    }
    ensure(tunnel.scheduler != PathSchedulerKind::Redundant || tunnel.resequencing.is_some(), || {
        ScenarioError::refused(
            path.child("scheduler"),
            "\"redundant\"",
            "it with `resequencing`, or another one",
        )
        .because("copies are told apart by number")
    })?;
    let routes = || tunnel.paths.iter().map(|path| (&path.down[..], &path.up[..]));
    check_disjoint(scenario, routes, |index, direction| path.child("paths").child(index).child(direction))
}

/// What the carriers of noq take of the options of an end.
fn check_noq(path: &FieldPath, tunnel: &Tunnel, end: &EndpointConfig) -> Check {
    use CongestionControl::{BbrLinux, Cubic, Fixed, Lia, Newreno};
    if tunnel.stack != "noq" {
        return Ok(());
    }
    let taken = EndpointConfig {
        stack: end.stack.clone(),
        host: end.host.clone(),
        congestion_control: end.congestion_control,
        datagram_size: end.datagram_size,
        ..EndpointConfig::default()
    };
    ensure(*end == taken, || {
        let allowed = "`host`, `congestion_control` and `datagram_size` with the stack `noq`";
        ScenarioError::about(path.clone(), "an option that this carrier does not have", allowed)
    })?;
    let Some(control) = end.congestion_control else { return Ok(()) };
    let known = [Newreno, Cubic, BbrLinux, Lia, Fixed];
    ensure(known.contains(&control), || {
        let allowed = alternatives(known.map(CongestionControl::name));
        ScenarioError::refused(path.child("congestion_control"), quoted(control.name()), allowed)
    })?;
    ensure(control != Fixed || !tunnel.windows.is_empty(), || {
        let value = quoted(control.name());
        ScenarioError::refused(path.child("congestion_control"), value, "it with `windows` of the tunnel")
    })
}

fn check_windows(path: &FieldPath, tunnel: &Tunnel) -> Check {
    let refused = |allowed: String| {
        ScenarioError::refused(path.clone(), format!("[{} windows]", tunnel.windows.len()), allowed)
    };
    if tunnel.windows.is_empty() {
        return Ok(());
    }
    ensure(tunnel.windows.len() == tunnel.paths.len(), || {
        refused(format!("one window for each path, {} in all", tunnel.paths.len()))
    })?;
    for (index, window) in tunnel.windows.iter().enumerate() {
        positive_size(&path.child(index), *window)?;
    }
    let fixed = |end: &EndpointConfig| end.congestion_control == Some(CongestionControl::Fixed);
    ensure(tunnel.ends().iter().all(|(_, _, end)| fixed(end)), || {
        refused("none, or `congestion_control = \"fixed\"` at `server` and `client`".to_owned())
    })
}

/// Asks the caller about the transport of both ends.
pub(super) fn check_stacks(
    name: &str,
    tunnel: &Tunnel,
    stacks: &dyn Fn(&EndpointConfig) -> Result<StackAbilities, StackProblem>,
) -> Check {
    for (end_name, _, end) in tunnel.ends() {
        let path = field(["tunnels", name, end_name]);
        let abilities = stacks(&end).map_err(|StackProblem { field, value, allowed }| {
            let path_of_field = field.split('.').fold(path.clone(), |path, step| path.child(step));
            ScenarioError::refused(path_of_field, value, allowed)
        })?;
        debug_assert_eq!(abilities.protocol, StackProtocol::Quic, "carriers speak QUIC");
        let datagram = end.datagram_size.expect("a tunnel fills it in");
        let largest = datagram.bytes().saturating_sub(HEADERS);
        ensure(tunnel.mtu.bytes() <= largest, || {
            let allowed = format!("at most {largest} B with datagrams of {} B", datagram.bytes());
            ScenarioError::refused(field(["tunnels", name, "mtu"]), quoted(tunnel.mtu), allowed)
                .because(format!("`{end_name}` could not send it"))
        })?;
    }
    Ok(())
}

/// Bytes around an IP packet in a datagram: short header with an ID of 8 B and 4 B of packet number, tag, frame type and
/// length (RFC 9000 section 17.3, RFC 9221 section 4), kind and number of the tunnel. With longer IDs packets of this
/// size are refused in the run.
const HEADERS: u64 = 1 + 8 + 4 + 16 + 1 + 2 + 1 + 3;
