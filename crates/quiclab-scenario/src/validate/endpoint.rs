//! Options of an endpoint, as far as their limits hold for every stack.
//!
//! Whether a stack has an option at all, and what it takes beyond these limits, its own validation says.

use super::super::Scenario;
use super::super::error::{FieldPath, ScenarioError, alternatives};
use super::{Check, ensure, positive_rate, positive_size, positive_time, quic, quoted};
use quiclab_core::ByteCount;
use quiclab_transport::options::{CongestionControl, Pacing, SlowStartExit, TcpOptions, Tls};
use quiclab_transport::options::{EndpointConfig, Http2Options};
use std::ops::RangeInclusive;

pub(super) fn check(path: &FieldPath, end: &EndpointConfig, scenario: &Scenario) -> Check {
    if let Some(host) = &end.host {
        ensure(scenario.hosts.contains_key(host), || {
            let known = alternatives(scenario.hosts.keys());
            ScenarioError::refused(path.child("host"), quoted(host), known).because("no such host")
        })?;
    }
    if let Some(size) = end.datagram_size {
        let allowed = SMALLEST_DATAGRAM..=LARGEST_DATAGRAM;
        ensure(allowed.contains(&size), || {
            let allowed = format!("{} B to {} B", SMALLEST_DATAGRAM.bytes(), LARGEST_DATAGRAM.bytes());
            ScenarioError::refused(path.child("datagram_size"), quoted(size), allowed)
        })?;
    }
    for (name, window) in [
        ("initial_window", end.initial_window),
        ("stream_receive_window", end.stream_receive_window),
        ("connection_receive_window", end.connection_receive_window),
        ("send_window", end.send_window),
    ] {
        if let Some(window) = window {
            positive_size(&path.child(name), window)?;
        }
    }
    if let Some(threshold) = end.packet_threshold {
        // RFC 9002 section 6.1.1: implementations SHOULD NOT use less than 3
        ensure(threshold >= 3, || {
            let allowed = format!("3 to {} packets", u32::MAX);
            ScenarioError::refused(path.child("packet_threshold"), threshold, allowed)
        })?;
    }
    if let Some(threshold) = end.time_threshold {
        // below 1 a packet would be lost before its acknowledgement can arrive
        ensure((1.0..=LARGEST_TIME_THRESHOLD).contains(&threshold), || {
            let allowed = format!("1 to {LARGEST_TIME_THRESHOLD} round-trip times");
            ScenarioError::refused(path.child("time_threshold"), format!("{threshold:?}"), allowed)
        })?;
    }
    if let Some(rtt) = end.initial_rtt {
        positive_time(&path.child("initial_rtt"), rtt)?;
    }
    check_control(path, end)?;
    if let Some(pacing) = &end.pacing {
        check_pacing(&path.child("pacing"), pacing, end.congestion_control)?;
    }
    if let Some(tcp) = &end.tcp {
        check_tcp(&path.child("tcp"), tcp)?;
    }
    if let Some(options) = &end.quic {
        quic::check(&path.child("quic"), options)?;
    }
    if let Some(options) = &end.http2 {
        check_http2(&path.child("http2"), options)?;
    }
    match &end.tls {
        Some(tls) => check_tls(&path.child("tls"), tls),
        None => Ok(()),
    }
}

/// RFC 9000 section 14: no path with a smaller maximum datagram size carries QUIC.
const SMALLEST_DATAGRAM: ByteCount = ByteCount::from_bytes(1200);
/// The longest IPv4 packet less its header and that of UDP.
pub(super) const LARGEST_DATAGRAM: ByteCount = ByteCount::from_bytes(65_535 - 20 - 8);
/// Far beyond what switches time-based loss detection off in practice.
const LARGEST_TIME_THRESHOLD: f64 = 1000.0;

/// Controls that change by AIMD: they can stand for several connections, and have a slow start to leave.
fn is_window_based(control: CongestionControl) -> bool {
    matches!(control, CongestionControl::Newreno | CongestionControl::Cubic)
}

fn check_control(path: &FieldPath, end: &EndpointConfig) -> Check {
    let other = end.congestion_control.filter(|control| !is_window_based(*control));
    if let Some(connections) = end.emulated_connections {
        let path = path.child("emulated_connections");
        integer(&path, connections, 1..=u32::MAX)?;
        if let Some(other) = other.filter(|_| connections != 1) {
            return Err(ScenarioError::refused(path, connections, "1, or `newreno` or `cubic`")
                .because(format!("`{}` stands for one connection", other.name())));
        }
    }
    if let (Some(exit), Some(other)) = (end.slow_start_exit, other) {
        ensure(exit == SlowStartExit::None, || {
            let path = path.child("slow_start_exit");
            ScenarioError::refused(path, quoted(exit.name()), "`none`, or `newreno` or `cubic`")
                .because(format!("`{}` has no slow start", other.name()))
        })?;
    }
    Ok(())
}

fn check_share(path: &FieldPath, share: f64) -> Check {
    ensure(share > 0.0 && share <= 1.0, || {
        let path = path.child("burst_share");
        ScenarioError::refused(path, format!("{share:?}"), "above 0, at most 1: a part of the window")
    })
}

fn check_pacing(path: &FieldPath, pacing: &Pacing, control: Option<CongestionControl>) -> Check {
    let (factor, burst, quantum, rate) = match *pacing {
        Pacing::None => (None, None, None, None),
        Pacing::LeakyBucket {
            factor,
            slow_start_factor,
            burst_packets,
            burst_share,
            burst_time,
            idle_burst_packets,
            whole_bursts: _,
        } => {
            if let Some(factor) = slow_start_factor {
                pacing_factor(&path.child("slow_start_factor"), factor)?;
            }
            if let Some(burst) = idle_burst_packets {
                integer(&path.child("idle_burst_packets"), burst, 1..=u32::MAX)?;
            }
            check_share(path, burst_share.unwrap_or(1.0))?;
            if let Some(time) = burst_time {
                positive_time(&path.child("burst_time"), time)?;
            }
            (Some(factor), Some(burst_packets), None, None)
        }
        Pacing::Even { factor } => (Some(factor), None, None, None),
        Pacing::Quantum { factor, burst_packets, quantum } => {
            (Some(factor), Some(burst_packets), Some(quantum), None)
        }
        Pacing::TimeBucket { factor, burst_packets, burst_share } => {
            check_share(path, burst_share)?;
            (Some(factor), Some(burst_packets), None, None)
        }
        Pacing::Linux { max_rate } | Pacing::Fq { max_rate } => (None, None, None, max_rate),
    };
    if let Some(factor) = factor {
        pacing_factor(&path.child("factor"), factor)?;
    }
    if let Some(burst) = burst {
        integer(&path.child("burst_packets"), burst, 1..=u32::MAX)?;
    }
    if let Some(quantum) = quantum {
        positive_time(&path.child("quantum"), quantum)?;
    }
    if let Some(rate) = rate {
        positive_rate(&path.child("max_rate"), rate)?;
    }
    // draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2.1: the pacing rate is BBR's primary control
    let needs_pacing = control.filter(|control| control.is_bbr());
    match (pacing, needs_pacing) {
        (Pacing::None, Some(control)) => Err(ScenarioError::refused(
            path.child("kind"),
            quoted("none"),
            "another kind, or to leave it out",
        )
        .because(format!("`{}` controls its rate by pacing", control.name()))),
        _ => Ok(()),
    }
}

fn pacing_factor(path: &FieldPath, factor: f64) -> Check {
    ensure((SMALLEST_PACING_FACTOR..=LARGEST_PACING_FACTOR).contains(&factor), || {
        let allowed = format!("{SMALLEST_PACING_FACTOR} to {LARGEST_PACING_FACTOR}");
        ScenarioError::refused(path.clone(), format!("{factor:?}"), allowed)
    })
}

/// Far beyond 2, the largest that is in use (Linux and Chromium in slow start).
const LARGEST_PACING_FACTOR: f64 = 10.0;
/// A hundred round trips for a window.
const SMALLEST_PACING_FACTOR: f64 = 0.01;

fn check_tcp(path: &FieldPath, tcp: &TcpOptions) -> Check {
    if let Some(mss) = tcp.mss {
        ensure((SMALLEST_MSS..=LARGEST_MSS).contains(&mss), || {
            let allowed = format!("{} B to {} B", SMALLEST_MSS.bytes(), LARGEST_MSS.bytes());
            ScenarioError::refused(path.child("mss"), quoted(mss), allowed)
        })?;
    }
    for (name, size) in [
        ("receive_buffer", tcp.receive_buffer),
        ("max_receive_buffer", tcp.max_receive_buffer),
        ("max_send_buffer", tcp.max_send_buffer),
    ] {
        if let Some(size) = size {
            positive_size(&path.child(name), size)?;
        }
    }
    for (name, time) in [
        ("min_rto", tcp.min_rto),
        ("initial_rto", tcp.initial_rto),
        ("min_delayed_ack", tcp.min_delayed_ack),
        ("max_delayed_ack", tcp.max_delayed_ack),
    ] {
        if let Some(time) = time {
            positive_time(&path.child(name), time)?;
        }
    }
    for (name, count) in [("reordering", tcp.reordering), ("max_reordering", tcp.max_reordering)] {
        if let Some(count) = count {
            // RFC 6675 section 2: DupThresh is 3; Linux takes nothing below it either
            integer(&path.child(name), count, 3..=u32::MAX)?;
        }
    }
    if let Some(segments) = tcp.gso_segments {
        integer(&path.child("gso_segments"), segments, 1..=MOST_GSO_SEGMENTS)?;
    }
    ordered(path, "receive_buffer", tcp.receive_buffer, "max_receive_buffer", tcp.max_receive_buffer)?;
    ordered(path, "min_delayed_ack", tcp.min_delayed_ack, "max_delayed_ack", tcp.max_delayed_ack)?;
    match (tcp.reordering, tcp.max_reordering) {
        (Some(least), Some(most)) if least > most => {
            let path = path.child("reordering");
            Err(ScenarioError::refused(path, least, format!("at most `max_reordering`, {most}")))
        }
        _ => Ok(()),
    }
}

/// Linux refuses smaller ones (`TCP_MIN_MSS`, include/net/tcp.h).
const SMALLEST_MSS: ByteCount = ByteCount::from_bytes(88);
/// Jumbo frames of 9200 bytes less headers; links have no MTU, so nothing else bounds it.
const LARGEST_MSS: ByteCount = ByteCount::from_bytes(9148);
/// `GSO_MAX_SEGS` of Linux (include/linux/netdevice.h).
const MOST_GSO_SEGMENTS: u32 = 65_535;

fn check_tls(path: &FieldPath, tls: &Tls) -> Check {
    size(&path.child("certificate"), tls.certificate, 0, LONGEST_CERTIFICATES.bytes())?;
    // RFC 8446 section 2.3: the keys of early data come from an earlier session
    ensure(tls.early_data.is_none() || tls.resumption, || {
        ScenarioError::about(path.child("early_data"), "`resumption` is false", "`resumption = true` with it")
    })
}

/// Far beyond the chains in use; RFC 8446 section 4.4.2 allows 2^24 - 1 bytes.
const LONGEST_CERTIFICATES: ByteCount = ByteCount::from_bytes(1 << 16);

fn check_http2(path: &FieldPath, http2: &Http2Options) -> Check {
    for (name, window) in
        [("stream_window", http2.stream_window), ("connection_window", http2.connection_window)]
    {
        if let Some(window) = window {
            size(&path.child(name), window, 1, LARGEST_HTTP2_WINDOW)?;
        }
    }
    if let Some(streams) = http2.max_streams {
        integer(&path.child("max_streams"), streams, 1..=u32::MAX)?;
    }
    if let Some(frame) = http2.frame_size {
        // RFC 9113 section 4.2: a receiver takes 2^14 bytes, and at most 2^24 - 1
        size(&path.child("frame_size"), frame, 1, (1 << 24) - 1)?;
    }
    Ok(())
}

/// RFC 9113 section 6.9.1: "A sender MUST NOT allow a flow-control window to exceed 2^31-1 octets".
const LARGEST_HTTP2_WINDOW: u64 = (1 << 31) - 1;

pub(super) fn ordered<T: PartialOrd + ToString + Copy>(
    path: &FieldPath,
    least_name: &str,
    least: Option<T>,
    most_name: &str,
    most: Option<T>,
) -> Check {
    match (least, most) {
        (Some(least), Some(most)) if least > most => {
            let allowed = format!("at most `{most_name}`, {}", most.to_string());
            Err(ScenarioError::refused(path.child(least_name), quoted(least.to_string()), allowed))
        }
        _ => Ok(()),
    }
}

/// A size in bytes from `least` to `most`.
pub(super) fn size(path: &FieldPath, value: ByteCount, least: u64, most: u64) -> Check {
    ensure((least..=most).contains(&value.bytes()), || {
        ScenarioError::refused(path.clone(), quoted(value), format!("{least} B to {most} B"))
    })
}

pub(super) fn integer(path: &FieldPath, value: u32, allowed: RangeInclusive<u32>) -> Check {
    ensure(allowed.contains(&value), || {
        ScenarioError::refused(path.clone(), value, format!("{} to {}", allowed.start(), allowed.end()))
    })
}
