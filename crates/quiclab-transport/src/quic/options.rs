//! The options of an endpoint on lab-quic: a profile with the overrides of a scenario, checked.
//!
//! Options that belong together follow each other where only one is given:
//!
//! | given | follows |
//! |---|---|
//! | `congestion_control` without a slow start of AIMD | no exit of slow start, one emulated connection |
//! | a BBR, over a profile without pacing | a leaky bucket: BBR controls a rate |
//! | `datagram_size` | the initial window, where the stack counts it in datagrams |
//! | `initial_window` above the largest | the largest |
//! | a receive window above the largest | the largest |
//! | `quic.acknowledgement` with a longer delay | `quic.max_ack_delay` |

use super::config::{Config, UNLIMITED};
use super::profile::{self, DEFAULT_PROFILE, profiles};
use super::stack::LAB_QUIC;
use crate::error::{Error, ensure, refused, within};
use crate::names::name;
use crate::options::{
    Acknowledgement, CongestionControl, EndpointConfig, Pacing, QuicOptions, QuicVersion, SlowStartExit, Tls,
    TlsVersion,
};
use quiclab_core::scheduler::PathSchedulerKind;
use quiclab_core::{ByteCount, DataRate, Duration};
use std::ops::RangeInclusive;

const ONE_BYTE: ByteCount = ByteCount::from_bytes(1);
/// RFC 9000 section 14, and the longest IPv4 packet.
const DATAGRAMS: RangeInclusive<ByteCount> = ByteCount::from_bytes(1200)..=ByteCount::from_bytes(65_507);
const WINDOWS: RangeInclusive<ByteCount> = ONE_BYTE..=UNLIMITED;
const LARGEST_WINDOW: ByteCount = ByteCount::from_bytes(1 << 30);
/// As quinn takes it: any real path lies in between.
const INITIAL_RTTS: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_secs(30);
/// RFC 9000 section 18.2: less than 2^14 ms.
const ACK_DELAYS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_millis((1 << 14) - 1);
const IDLE_TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(24 * 3600);
const LARGEST_CHAIN: ByteCount = ByteCount::from_bytes(1 << 16);
/// What BBR gets that a profile without a pacer does not have; its rate replaces the factor.
const BBR_PACING: Pacing = Pacing::LeakyBucket {
    factor: 1.25,
    slow_start_factor: None,
    burst_packets: 10,
    burst_share: None,
    burst_time: None,
    idle_burst_packets: None,
    whole_bursts: false,
};

/// The complete configuration of `options`.
pub(super) fn resolve(options: &EndpointConfig) -> Result<Config, Error> {
    refuse_others(options)?;
    let profile = options.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
    let mut config = profile::find(profile).ok_or_else(|| {
        let known: Vec<_> = profiles().map(|name| format!("`{name}`")).collect();
        let allowed = known.join(", ");
        Error::UnknownProfile { stack: LAB_QUIC, profile: profile.to_owned(), allowed }
    })?;
    check_transport(options, &mut config)?;
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

/// Options that QUIC, or this stack, does not have.
fn refuse_others(options: &EndpointConfig) -> Result<(), Error> {
    let given = |given: bool| given.then(|| "given".to_owned());
    let others = [
        ("tcp", given(options.tcp.is_some()), "nothing: QUIC has `quic`"),
        ("http2", given(options.http2.is_some()), "nothing: a page over QUIC uses HTTP/3"),
        (
            "controller",
            options.controller.map(|value| name(&value).to_owned()),
            "nothing: lab-quic is no real stack",
        ),
    ];
    for (field, value, allowed) in others {
        if let Some(value) = value {
            return Err(refused(field, value, allowed));
        }
    }
    Ok(())
}

/// Puts what `options` set beside `quic` and congestion control into `config`.
fn check_transport(options: &EndpointConfig, config: &mut Config) -> Result<(), Error> {
    within("datagram_size", options.datagram_size, DATAGRAMS)?;
    within("packet_threshold", options.packet_threshold, 3..=u32::MAX)?;
    within("time_threshold", options.time_threshold, 1.0..=1000.0)?;
    within("initial_rtt", options.initial_rtt, INITIAL_RTTS)?;
    within("send_window", options.send_window, WINDOWS)?;
    let asked = options.ack_frequency;
    let delays = Duration::from_millis(1)..=*ACK_DELAYS.end();
    within("ack_frequency.max_ack_delay", asked.and_then(|asked| asked.max_ack_delay), delays)?;
    macro_rules! take {
        ($($field:ident),+) => { $( if let Some(value) = options.$field { config.$field = value; } )+ };
    }
    take!(datagram_size, packet_threshold, time_threshold, initial_rtt, send_window);
    config.ack_frequency = asked.or(config.ack_frequency);
    Ok(())
}

fn check_quic(options: &QuicOptions, config: &mut Config) -> Result<(), Error> {
    within("quic.connection_id", options.connection_id, ByteCount::ZERO..=ByteCount::from_bytes(20))?;
    within("quic.packet_number", options.packet_number, ONE_BYTE..=ByteCount::from_bytes(4))?;
    within("quic.ack_ranges", options.ack_ranges, 1..=u32::MAX)?;
    within("quic.probe_packets", options.probe_packets, 1..=2)?;
    within("quic.max_streams", options.max_streams, 1..=1 << 60)?;
    within("quic.idle_timeout", options.idle_timeout, IDLE_TIMEOUTS)?;
    macro_rules! take {
        ($($field:ident),+) => { $( if let Some(value) = options.$field { config.$field = value; } )+ };
    }
    take!(version, ack_ranges, adaptive_packet_threshold, adaptive_time_threshold, rtt_variation);
    take!(persistent_congestion, probe_packets, window_validation, pacing_before_rtt, max_streams);
    take!(stream_scheduler, amplification_factor, datagram_congestion_control, idle_timeout);
    if let Some(scheduler) = &options.path_scheduler {
        ensure(*scheduler != PathSchedulerKind::Redundant, || {
            let allowed = "a scheduler that takes one path: a connection sends each packet once";
            refused("quic.path_scheduler", scheduler.name(), allowed)
        })?;
        config.path_scheduler = scheduler.clone();
    }
    config.packet_number = options.packet_number.or(config.packet_number);
    let gquic = config.version == QuicVersion::Gquic37;
    ensure(!gquic || config.packet_number != Some(ByteCount::from_bytes(3)), || {
        refused("quic.packet_number", "3 B", "1 B, 2 B or 4 B with `quic.version = \"gquic-37\"`")
    })?;
    ensure(!gquic || config.ack_frequency.is_none(), || {
        refused(
            "ack_frequency",
            "given",
            "nothing with `quic.version = \"gquic-37\"`, which has no such frame",
        )
    })?;
    if let Some(length) = options.connection_id {
        (config.connection_id, config.fixed.client_connection_id) = (length, length);
    }
    Ok(())
}

fn check_acknowledgement(options: &QuicOptions, config: &mut Config) -> Result<(), Error> {
    within("quic.max_ack_delay", options.max_ack_delay, ACK_DELAYS)?;
    if let Some(policy) = options.acknowledgement {
        within("quic.acknowledgement.delay", Some(policy.delay()), ACK_DELAYS)?;
        let (packets, fraction) = match policy {
            Acknowledgement::Every { packets, .. } => (Some(packets), None),
            Acknowledgement::RttFraction { packets, fraction, .. } => (Some(packets), Some(fraction)),
            Acknowledgement::Timer { .. } | Acknowledgement::AsAsked { .. } => (None, None),
        };
        within("quic.acknowledgement.packets", packets, 1..=u32::MAX)?;
        within("quic.acknowledgement.fraction", fraction, 0.001..=1.0)?;
        config.acknowledgement = policy;
        config.max_ack_delay = config.max_ack_delay.max(policy.delay());
    }
    if let Some(delay) = options.max_ack_delay {
        // RFC 9000 section 13.2.1: acknowledged "within its advertised max_ack_delay"
        let least = config.acknowledgement.delay();
        ensure(delay >= least, || {
            let allowed = format!("at least the delay of `quic.acknowledgement`, {least}");
            refused("quic.max_ack_delay", delay, allowed)
        })?;
        config.max_ack_delay = delay;
    }
    Ok(())
}

/// Receive windows at the start and at most.
fn check_receive_windows(
    options: &EndpointConfig,
    quic: &QuicOptions,
    config: &mut Config,
) -> Result<(), Error> {
    if let Some(growth) = quic.flow_control {
        config.flow_control = growth;
    }
    for (field, window, largest_field, largest, start, most) in [
        (
            "stream_receive_window",
            options.stream_receive_window,
            "quic.max_stream_receive_window",
            quic.max_stream_receive_window,
            &mut config.stream_receive_window,
            &mut config.max_stream_receive_window,
        ),
        (
            "connection_receive_window",
            options.connection_receive_window,
            "quic.max_connection_receive_window",
            quic.max_connection_receive_window,
            &mut config.connection_receive_window,
            &mut config.max_connection_receive_window,
        ),
    ] {
        within(field, window, WINDOWS)?;
        within(largest_field, largest, WINDOWS)?;
        *start = window.unwrap_or(*start);
        *most = largest.unwrap_or((*most).max(*start));
        ensure(*start <= *most, || refused(largest_field, *most, format!("at least `{field}`, {}", *start)))?;
    }
    Ok(())
}

/// Congestion control and pacing, and which of them go together.
fn check_control(options: &EndpointConfig, config: &mut Config) -> Result<(), Error> {
    use CongestionControl::{Cubic, Newreno};
    if let Some(control) = options.congestion_control {
        config.congestion_control = control;
        if !matches!(control, Cubic | Newreno) {
            (config.slow_start_exit, config.emulated_connections) = (SlowStartExit::None, 1);
        }
        if control.is_bbr() && config.pacing == Pacing::None {
            config.pacing = BBR_PACING;
        }
    }
    let control = config.congestion_control;
    let windowed = matches!(control, Cubic | Newreno);
    if let Some(connections) = options.emulated_connections {
        within("emulated_connections", Some(connections), 1..=u32::MAX)?;
        ensure(windowed || connections == 1, || {
            let allowed =
                format!("1 with `{}`: only `cubic` and `newreno` stand for several", control.name());
            refused("emulated_connections", connections, allowed)
        })?;
        config.emulated_connections = connections;
    }
    if let Some(exit) = options.slow_start_exit {
        ensure(windowed || exit == SlowStartExit::None, || {
            let allowed = format!("`none` with `{}`, which has no slow start of that kind", control.name());
            refused("slow_start_exit", exit.name(), allowed)
        })?;
        config.slow_start_exit = exit;
    }
    if let Some(pacing) = options.pacing {
        check_pacing(&pacing)?;
        ensure(!control.is_bbr() || pacing != Pacing::None, || {
            let allowed = format!(
                "`leaky_bucket`, `even`, `quantum`, `linux`, `fq`: `{}` controls its rate by pacing",
                control.name()
            );
            refused("pacing.kind", "none", allowed)
        })?;
        config.pacing = pacing;
    }
    Ok(())
}

fn check_pacing(pacing: &Pacing) -> Result<(), Error> {
    let (factor, burst) = match *pacing {
        Pacing::None => (None, None),
        Pacing::LeakyBucket {
            factor,
            slow_start_factor,
            burst_packets,
            burst_share,
            burst_time,
            idle_burst_packets,
            whole_bursts: _,
        } => {
            within("pacing.slow_start_factor", slow_start_factor, 0.01..=10.0)?;
            within("pacing.burst_share", burst_share, 0.001..=1.0)?;
            within("pacing.burst_time", burst_time, Duration::from_nanos(1)..=Duration::from_secs(1))?;
            within("pacing.idle_burst_packets", idle_burst_packets, 1..=u32::MAX)?;
            (Some(factor), Some(burst_packets))
        }
        Pacing::Even { factor } => (Some(factor), None),
        Pacing::Quantum { factor, burst_packets, quantum } => {
            let quanta = Duration::from_nanos(1)..=Duration::from_secs(1);
            within("pacing.quantum", Some(quantum), quanta)?;
            (Some(factor), Some(burst_packets))
        }
        Pacing::TimeBucket { factor, burst_packets, burst_share } => {
            within("pacing.burst_share", Some(burst_share), 0.001..=1.0)?;
            (Some(factor), Some(burst_packets))
        }
        Pacing::Linux { max_rate } | Pacing::Fq { max_rate } => {
            ensure(max_rate != Some(DataRate::from_bits_per_second(0)), || {
                refused("pacing.max_rate", "0 bit/s", "a rate above 0")
            })?;
            (None, None)
        }
    };
    within("pacing.factor", factor, 0.01..=10.0)?;
    within("pacing.burst_packets", burst, 1..=u32::MAX)
}

/// The congestion window at the start and at most, with the datagrams in effect.
fn check_windows(options: &EndpointConfig, quic: &QuicOptions, config: &mut Config) -> Result<(), Error> {
    let datagram = config.datagram_size;
    within("initial_window", options.initial_window, datagram..=LARGEST_WINDOW)?;
    within("quic.max_window", quic.max_window, datagram..=UNLIMITED)?;
    config.initial_window =
        options.initial_window.unwrap_or_else(|| config.fixed.initial_window.bytes(datagram).max(datagram));
    let initial = config.initial_window;
    config.max_window = quic.max_window.or_else(|| config.max_window.map(|most| most.max(initial)));
    match config.max_window {
        Some(most) if most < initial => {
            Err(refused("quic.max_window", most, format!("at least `initial_window`, {initial}")))
        }
        _ => Ok(()),
    }
}

fn check_tls(tls: &Tls) -> Result<(), Error> {
    // RFC 9001 section 4.2: "Clients MUST NOT offer TLS versions older than 1.3"
    ensure(tls.version == TlsVersion::Tls13, || {
        refused("tls.version", name(&tls.version), "`1.3`, which QUIC is made for")
    })?;
    within("tls.certificate", Some(tls.certificate), ByteCount::ZERO..=LARGEST_CHAIN)?;
    match tls.early_data {
        Some(early) if !tls.resumption => Err(refused(
            "tls.early_data",
            name(&early),
            "to leave it out, or `tls.resumption = true`: its keys come from an earlier session",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
