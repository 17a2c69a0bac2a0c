//! Options of an endpoint that depend on each other for any stack.
//!
//! Whether a stack has an option at all, and its further limits on the value, are checked by the stack's own
//! validation.

use super::super::Scenario;
use super::{Check, about, ensure, quoted, undefined};
use quiclab_core::{FieldPath, Problem};
use quiclab_transport::options::{Acknowledgement, EndpointConfig, QuicOptions, TcpOptions, check_control};

pub(super) fn check(path: &FieldPath, end: &EndpointConfig, scenario: &Scenario) -> Check {
    if let Some(host) = end.host.as_ref().filter(|host| !scenario.hosts.contains_key(*host)) {
        return Err(undefined(path.child("host"), "host", host, scenario.hosts.keys()));
    }
    if let Some(control) = end.congestion_control {
        check_control(control, end).map_err(|problem| problem.below(path))?;
    }
    if let Some(tcp) = &end.tcp {
        check_tcp(&path.child("tcp"), tcp)?;
    }
    if let Some(options) = &end.quic {
        check_quic(&path.child("quic"), options)?;
    }
    // RFC 8446 section 2.3: the keys of early data come from an earlier session
    let early = end.tls.as_ref().is_some_and(|tls| tls.early_data.is_some() && !tls.resumption);
    ensure(!early, || {
        about(
            path.child("tls").child("early_data"),
            "the session is not resumed",
            "`resumption = true` with it",
        )
    })
}

fn check_tcp(path: &FieldPath, tcp: &TcpOptions) -> Check {
    ordered(
        path,
        "receive_buffer",
        tcp.receive_buffer,
        "max_receive_buffer",
        tcp.max_receive_buffer,
        quoted,
    )?;
    ordered(path, "min_delayed_ack", tcp.min_delayed_ack, "max_delayed_ack", tcp.max_delayed_ack, quoted)?;
    ordered(path, "reordering", tcp.reordering, "max_reordering", tcp.max_reordering, |count| {
        count.to_string()
    })
}

fn check_quic(path: &FieldPath, quic: &QuicOptions) -> Check {
    // RFC 9000 section 13.2.1: "An endpoint MUST acknowledge [...] within its advertised max_ack_delay"
    let delay = quic.acknowledgement.as_ref().map(Acknowledgement::delay);
    if let (Some(delay), Some(max)) = (delay, quic.max_ack_delay) {
        ensure(delay <= max, || {
            let expected = format!("a duration of at most \"{max}\"");
            Problem::conflict(path.child("acknowledgement").child("delay"), quoted(delay), expected)
                .because("the delay is longer than `max_ack_delay`")
        })?;
    }
    quic.path_scheduler.as_ref().map_or(Ok(()), |kind| {
        kind.check(None).map_err(|problem| problem.below(&path.child("path_scheduler")))
    })
}

/// Checks that the value of `lower` is at most that of `upper`.
fn ordered<T: PartialOrd + Copy>(
    path: &FieldPath,
    lower: &str,
    lower_value: Option<T>,
    upper: &str,
    upper_value: Option<T>,
    shown: impl Fn(T) -> String,
) -> Check {
    match (lower_value, upper_value) {
        (Some(value), Some(max)) if value > max => {
            let expected = format!("at most `{upper}`, {}", shown(max));
            Err(Problem::conflict(path.child(lower), shown(value), expected))
        }
        _ => Ok(()),
    }
}
