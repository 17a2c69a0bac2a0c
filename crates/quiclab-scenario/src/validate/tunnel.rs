//! Tunnels: their paths, and the limits of their transport.

use super::super::{Scenario, StackCheck, Tunnel};
use super::flow::check_route;
use super::{Check, about, endpoint, ensure, field, network, quoted};
use quiclab_core::scheduler::PathSchedulerKind;
use quiclab_core::tunnel::{Pipeline, TunnelEcn, check_sender};
use quiclab_core::{ByteCount, Direction, FieldPath, Problem, StackProtocol};
use quiclab_transport::EndOf;
use quiclab_transport::options::{CongestionControl, EndpointConfig};

pub(super) fn check(path: &FieldPath, tunnel: &Tunnel, scenario: &Scenario) -> Check {
    network::check_queue(&path.child("queue"), &tunnel.queue)?;
    for (name, _, end) in tunnel.ends() {
        let path = path.child(name);
        ensure(end.stack.as_ref() == Some(&tunnel.stack), || {
            let expected = format!("{:?}, the stack of the tunnel, or no value", tunnel.stack);
            Problem::conflict(path.child("stack"), quoted(end.stack.clone().unwrap_or_default()), expected)
        })?;
        endpoint::check(&path, &end, scenario)?;
    }
    ensure(tunnel.pipeline == Pipeline::Direct || tunnel.stack == "lab-quic", || {
        Problem::conflict(path.child("pipeline").child("kind"), "\"pquic\"", "\"direct\"")
            .because("\"pquic\" needs the stack `lab-quic`")
    })?;
    check_ecn(&path.child("ecn"), tunnel)?;
    ensure(scenario.wires.is_empty(), || about(path.clone(), "tunnels need routes", "no `[[wires]]`"))?;
    for (index, routes) in tunnel.paths.iter().enumerate() {
        for (name, route) in [("down", &routes.down), ("up", &routes.up)] {
            let path = path.child("paths").child(index).child(name);
            check_route(&path, route, scenario)?;
            if let Some(inner) =
                route.iter().position(|name| scenario.tunnel_passage(name, Direction::Down).is_some())
            {
                return Err(Problem::conflict(
                    path.child(inner),
                    quoted(&route[inner]),
                    "a link, bearer or tap",
                )
                .because("a tunnel cannot run through another tunnel"));
            }
        }
    }
    check_windows(&path.child("windows"), tunnel)?;
    check_datagram_sizes(&path.child("datagram_sizes"), tunnel)?;
    check_repair(path, tunnel)?;
    let (paths, numbered) = (Some(tunnel.paths.len()), tunnel.resequencing.is_some());
    check_sender(&tunnel.queue, &tunnel.scheduler, paths, numbered).map_err(|problem| problem.below(path))
}

/// Checks repair: a retransmitted packet is identified by its number, and leaves before those in the queue.
fn check_repair(path: &FieldPath, tunnel: &Tunnel) -> Check {
    let refused = |reason: &str| Problem::conflict(path.child("repair"), "true", "false").because(reason);
    ensure(!tunnel.repair || tunnel.resequencing.is_some(), || refused("it needs `resequencing`"))?;
    ensure(!tunnel.repair || tunnel.pipeline == Pipeline::Direct, || {
        refused("it needs the pipeline \"direct\"")
    })?;
    ensure(!tunnel.repair || tunnel.scheduler != PathSchedulerKind::Redundant, || {
        refused("with the scheduler \"redundant\" each packet has copies already")
    })
}

/// Checks ECN: marks are passed on if the carrier has ECN, and reports which packet contained each datagram.
fn check_ecn(path: &FieldPath, tunnel: &Tunnel) -> Check {
    if tunnel.ecn == TunnelEcn::Separate {
        return Ok(());
    }
    let refused =
        |reason: &str| Problem::conflict(path.clone(), "\"propagated\"", "\"separate\"").because(reason);
    ensure(tunnel.stack == "lab-quic", || refused("\"propagated\" needs the stack `lab-quic`"))?;
    ensure(tunnel.pipeline == Pipeline::Direct, || refused("\"propagated\" needs the pipeline \"direct\""))?;
    let has_ecn = |end: &EndpointConfig| {
        let counts = end.congestion_control.is_some_and(|control| control.family().counts_marks());
        counts || end.quic.as_ref().is_some_and(|quic| quic.ecn == Some(true))
    };
    ensure(tunnel.ends().iter().all(|(_, _, end)| has_ecn(end)), || {
        refused("the carrier is not ECN-capable without `quic.ecn = true` at `server` and `client`")
    })
}

fn check_windows(path: &FieldPath, tunnel: &Tunnel) -> Check {
    let conflict = |expected: String| {
        Problem::conflict(path.clone(), format!("{} windows", tunnel.windows.len()), expected)
    };
    if tunnel.windows.is_empty() {
        return Ok(());
    }
    ensure(tunnel.windows.len() == tunnel.paths.len(), || {
        conflict(format!("one window for each of the {} paths", tunnel.paths.len()))
    })?;
    if let Some(index) = tunnel.windows.iter().position(|window| *window == ByteCount::ZERO) {
        return Err(Problem::value(path.child(index), "\"0 B\"", "a size of at least \"1 B\""));
    }
    let fixed = |end: &EndpointConfig| end.congestion_control == Some(CongestionControl::Fixed);
    ensure(tunnel.ends().iter().all(|(_, _, end)| fixed(end)), || {
        conflict("no windows, or `congestion_control = \"fixed\"` at `server` and `client`".to_owned())
    })
}

fn check_datagram_sizes(path: &FieldPath, tunnel: &Tunnel) -> Check {
    let sizes = &tunnel.datagram_sizes;
    if sizes.is_empty() {
        return Ok(());
    }
    ensure(tunnel.stack == "lab-quic", || {
        let given = format!("{} sizes", sizes.len());
        Problem::conflict(path.clone(), given, "none").because("they need the stack `lab-quic`")
    })?;
    ensure(sizes.len() == tunnel.paths.len(), || {
        let expected = format!("one size for each of the {} paths", tunnel.paths.len());
        Problem::conflict(path.clone(), format!("{} sizes", sizes.len()), expected)
    })?;
    let largest = tunnel.ends().iter().map(|(_, _, end)| end.datagram_size.expect("it is filled in")).min();
    let largest = largest.expect("a tunnel has two ends");
    for (index, size) in sizes.iter().enumerate() {
        ensure((SMALLEST..=largest).contains(size), || {
            let expected = format!("a size from \"{SMALLEST}\" to \"{largest}\", the `datagram_size`");
            Problem::conflict(path.child(index), quoted(size), expected)
        })?;
    }
    Ok(())
}

/// Checks the transport of both ends by the caller's function.
pub(super) fn check_stacks(name: &str, tunnel: &Tunnel, stacks: StackCheck<'_>) -> Check {
    let end_of = EndOf::Tunnel { fixed_windows: !tunnel.windows.is_empty() };
    for (end_name, _, end) in tunnel.ends() {
        let abilities = stacks(&end, end_of).map_err(|problem| {
            // both ends have the stack of the tunnel
            let path = field(["tunnels", name]);
            problem.clone().below(&if problem.path == FieldPath::from("stack") {
                path
            } else {
                path.child(end_name)
            })
        })?;
        debug_assert_eq!(abilities.protocol, StackProtocol::Quic, "carriers speak QUIC");
        let datagram = end.datagram_size.expect("a tunnel fills it in");
        // the size rule of PQUIC: the maximum over all paths
        let datagram = tunnel.datagram_sizes.iter().max().map_or(datagram, |size| *size.min(&datagram));
        let largest = datagram.bytes().saturating_sub(HEADERS);
        ensure(tunnel.mtu.bytes() <= largest, || {
            let expected = format!("a size of at most \"{largest} B\"");
            Problem::conflict(field(["tunnels", name, "mtu"]), quoted(tunnel.mtu), expected)
                .because(format!("`{end_name}` sends datagrams of {} B", datagram.bytes()))
        })?;
    }
    Ok(())
}

/// Minimum UDP payload of every path (RFC 9000 section 14).
const SMALLEST: ByteCount = ByteCount::from_bytes(1200);
/// Bytes around an IP packet in a datagram: short header with an ID of 8 B and 4 B of packet number, tag,
/// frame type and length (RFC 9000 section 17.3, RFC 9221 section 4), kind and number of the tunnel. With
/// longer IDs packets of this size are rejected in the run.
const HEADERS: u64 = 1 + 8 + 4 + 16 + 1 + 2 + 1 + 3;
