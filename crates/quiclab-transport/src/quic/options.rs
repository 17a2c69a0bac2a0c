//! Options of an endpoint on lab-quic: a profile with the overrides of a scenario, validated.
//!
//! Related options follow each other if only one is set:
//!
//! | option | consequence |
//! |---|---|
//! | `congestion_control` without a slow start of AIMD | no exit of slow start, one emulated connection |
//! | a BBR, over a profile without pacing | a leaky bucket: BBR controls a rate |
//! | `datagram_size` | the initial window, if the stack counts it in datagrams |
//! | `initial_window` above the maximum | the maximum |
//! | a receive window above the maximum | the maximum |
//! | `quic.acknowledgement` with a longer delay | `quic.max_ack_delay` |

use super::config::{BUCKET, Config, InitialWindow};
use super::profile::{self, DEFAULT_PROFILE, profiles};
use crate::error::{Error, conflict};
use crate::options::{Control, EndpointConfig, QuicOptions, QuicVersion, Tls, TlsVersion, check_ecn_beta};
use crate::profile::UNLIMITED;
use quiclab_core::problem::{ensure, name_of, quoted};
use quiclab_core::scheduler::PathSchedulerKind;
use quiclab_core::{ByteCount, Problem, ProblemKind};

const MAX_WINDOW: ByteCount = ByteCount::from_bytes(1 << 30);

/// Complete configuration of `options`.
pub(super) fn resolve(options: &EndpointConfig) -> Result<Config, Error> {
    let profile = options.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
    let mut config =
        profile::find(profile).ok_or_else(|| Problem::unknown("profile", profile, profiles()))?;
    take_transport(options, &mut config);
    let empty = QuicOptions::default();
    let quic = options.quic.as_ref().unwrap_or(&empty);
    check_quic(quic, &mut config)?;
    check_acknowledgement(quic, &mut config)?;
    check_receive_windows(options, quic, &mut config)?;
    check_control(options, &mut config)?;
    check_windows(options, quic, &mut config)?;
    if let Some(tls) = &options.tls {
        check_tls(tls)?;
        config.tls = tls.clone();
    }
    Ok(config)
}

/// Applies `options` other than `quic` and congestion control to `config`.
fn take_transport(options: &EndpointConfig, config: &mut Config) {
    macro_rules! take {
        ($($field:ident),+) => { $( if let Some(value) = options.$field { config.$field = value; } )+ };
    }
    take!(datagram_size, packet_threshold, time_threshold, initial_rtt, send_window);
    config.ack_frequency = options.ack_frequency.or(config.ack_frequency);
    config.multipath = options.multipath.or(config.multipath);
}

fn check_quic(options: &QuicOptions, config: &mut Config) -> Result<(), Error> {
    config.quic.take(options);
    let scheduler = &config.quic.path_scheduler;
    ensure(*scheduler != PathSchedulerKind::Redundant, || {
        let expected = "a scheduler that chooses one path";
        conflict("quic.path_scheduler", quoted(name_of(scheduler)), expected)
            .because("a connection sends each packet once")
    })?;
    let gquic = config.quic.version == QuicVersion::Gquic37;
    ensure(!gquic || config.multipath.is_none(), || {
        Problem::unsupported("multipath", "Google QUIC 37 (`quic.version`)", "")
    })?;
    ensure(!gquic || config.quic.packet_number != Some(ByteCount::from_bytes(3)), || {
        conflict("quic.packet_number", "\"3 B\"", "\"1 B\", \"2 B\" or \"4 B\"").because(GQUIC)
    })?;
    ensure(!gquic || config.ack_frequency.is_none(), || {
        Problem::unsupported("ack_frequency", "Google QUIC 37 (`quic.version`)", "")
    })?;
    if let Some(length) = options.connection_id {
        (config.quic.connection_id, config.fixed.client_connection_id) = (length, length);
    }
    let Some(multipath) = &config.multipath else { return Ok(()) };
    multipath.check()?;
    // "endpoints MUST use Source and Destination Connection IDs with non-zero lengths" (draft-ietf-quic-multipath-21
    // section 2.1)
    let shortest = config.quic.connection_id.min(config.fixed.client_connection_id);
    ensure(shortest > ByteCount::ZERO, || {
        conflict("quic.connection_id", quoted(shortest), "at least \"1 B\"")
            .because("with `multipath` the connection ID tells the path")
    })
}

fn check_acknowledgement(options: &QuicOptions, config: &mut Config) -> Result<(), Error> {
    // RFC 9000 section 13.2.1: acknowledged "within its advertised max_ack_delay"
    let (least, delay) = (config.quic.acknowledgement.delay(), &mut config.quic.max_ack_delay);
    if options.max_ack_delay.is_none() {
        *delay = (*delay).max(least);
    }
    ensure(*delay >= least, || {
        let expected = format!("at least the delay of `quic.acknowledgement`, \"{least}\"");
        conflict("quic.max_ack_delay", quoted(delay), expected)
    })
}

/// Checks the initial and maximum receive windows.
fn check_receive_windows(
    options: &EndpointConfig,
    quic: &QuicOptions,
    config: &mut Config,
) -> Result<(), Error> {
    for (field, window, largest_field, largest, start, most) in [
        (
            "stream_receive_window",
            options.stream_receive_window,
            "quic.max_stream_receive_window",
            quic.max_stream_receive_window,
            &mut config.stream_receive_window,
            &mut config.quic.max_stream_receive_window,
        ),
        (
            "connection_receive_window",
            options.connection_receive_window,
            "quic.max_connection_receive_window",
            quic.max_connection_receive_window,
            &mut config.connection_receive_window,
            &mut config.quic.max_connection_receive_window,
        ),
    ] {
        *start = window.unwrap_or(*start);
        *most = largest.unwrap_or((*most).max(*start));
        ensure(*start <= *most, || {
            let expected = format!("at least `{field}`, \"{}\"", *start);
            conflict(largest_field, quoted(most), expected)
        })?;
    }
    Ok(())
}

fn check_control(options: &EndpointConfig, config: &mut Config) -> Result<(), Error> {
    let control = Control {
        congestion_control: &mut config.congestion_control,
        emulated_connections: &mut config.emulated_connections,
        slow_start_exit: &mut config.slow_start_exit,
        saved_path: &mut config.saved_path,
        max_jump: &mut config.max_jump,
        ecn_beta: &mut config.ecn_beta,
        constants: (&mut config.newreno, &mut config.cubic, &mut config.bbr),
        pacing: &mut config.pacing,
    };
    control.take(options, BUCKET)?;
    if config.congestion_control.family().needs_marks() {
        ensure(options.quic.as_ref().is_none_or(|quic| quic.ecn != Some(false)), || {
            let named = format!("congestion control `{}` needs marks", config.congestion_control.name());
            conflict("quic.ecn", "false", "true").because(named)
        })?;
        config.quic.ecn = true;
    }
    check_ecn_beta(options, config.quic.ecn, "quic.ecn", "false")
}

/// Checks the initial and maximum congestion window with the datagrams in effect.
fn check_windows(options: &EndpointConfig, quic: &QuicOptions, config: &mut Config) -> Result<(), Error> {
    let datagram = config.datagram_size;
    for (field, window, max) in [
        ("initial_window", options.initial_window, MAX_WINDOW),
        ("quic.max_window", quic.max_window, UNLIMITED),
    ] {
        if let Some(window) = window.filter(|window| !(datagram..=max).contains(window)) {
            let expected = format!("a size from \"{datagram}\", one datagram, to \"{max}\"");
            return Err(conflict(field, quoted(window), expected));
        }
    }
    if let Some(window) = options.initial_window {
        config.initial_window = InitialWindow::Bytes(window.bytes());
    }
    let initial = config.initial_window();
    config.quic.max_window = quic.max_window.or_else(|| config.quic.max_window.map(|most| most.max(initial)));
    match config.quic.max_window {
        Some(most) if most < initial => {
            let expected = format!("at least `initial_window`, \"{initial}\"");
            Err(conflict("quic.max_window", quoted(most), expected))
        }
        _ => Ok(()),
    }
}

fn check_tls(tls: &Tls) -> Result<(), Error> {
    // RFC 9001 section 4.2: "Clients MUST NOT offer TLS versions older than 1.3"
    ensure(tls.version == TlsVersion::Tls13, || {
        conflict("tls.version", quoted(name_of(&tls.version)), "\"1.3\"").because("QUIC needs TLS 1.3")
    })?;
    ensure(tls.early_data.is_none() || tls.resumption, || {
        Problem::new(ProblemKind::Conflict, "tls.early_data", "`tls.resumption = true`")
            .because("the session is not resumed")
    })
}

/// Reason why a value that is valid for QUIC version 1 is rejected.
const GQUIC: &str = "`quic.version` is \"gquic-37\"";

#[cfg(test)]
mod tests;
