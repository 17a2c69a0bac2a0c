//! The options of an endpoint, checked and in the units of the stacks.
//!
//! Both stacks take the same options with the same limits; an option left out keeps the default of
//! the stack (`stack/family.rs`).

use quiclab_core::{ByteCount, Duration, FiveTuple, StackError};
use quiclab_transport::options::{
    AckFrequency, CongestionControl, Controller, EndpointConfig, SlowStartExit, Workload,
};
use std::ops::RangeInclusive;

/// Checked options; `None` keeps the default of the stack.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) congestion_control: Option<CongestionControl>,
    /// Congestion control of quiclab's; `None`: the stack's own.
    pub(crate) lab_control: Option<LabControl>,
    /// UDP payload of a full datagram in bytes.
    pub(crate) datagram_size: u16,
    pub(crate) initial_window: Option<u64>,
    pub(crate) stream_receive_window: Option<u64>,
    pub(crate) connection_receive_window: Option<u64>,
    pub(crate) send_window: Option<u64>,
    pub(crate) packet_threshold: Option<u32>,
    pub(crate) time_threshold: Option<f32>,
    pub(crate) initial_rtt: Option<std::time::Duration>,
    pub(crate) ack_frequency: Option<AckFrequency>,
}

/// Congestion control that is not the stack's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LabControl {
    pub(crate) control: CongestionControl,
    pub(crate) emulated_connections: u32,
    pub(crate) slow_start_exit: SlowStartExit,
}

impl LabControl {
    /// What the options ask for; `None` where the stack has it itself and nothing else is asked for.
    fn new(stack: &'static str, config: &EndpointConfig) -> Result<Option<Self>, StackError> {
        let wanted = Self {
            control: config.congestion_control.unwrap_or(CongestionControl::Cubic), // as both stacks
            emulated_connections: config.emulated_connections.unwrap_or(1),
            slow_start_exit: config.slow_start_exit.unwrap_or(SlowStartExit::None),
        };
        let lacking = if !matches!(wanted.control, CongestionControl::Newreno | CongestionControl::Cubic) {
            Some(format!("`{}`", wanted.control.name()))
        } else if wanted.emulated_connections != 1 {
            Some("`emulated_connections`".to_owned())
        } else if wanted.slow_start_exit != SlowStartExit::None {
            Some(format!("`{}`", wanted.slow_start_exit.name()))
        } else {
            None
        };
        match (config.controller, lacking) {
            (Some(Controller::Stack), Some(lacking)) => {
                let allowed = format!("`quiclab`: stack `{stack}` has no {lacking} of its own");
                Err(out_of_range("controller", "stack", allowed))
            }
            (Some(Controller::Quiclab), _) | (None, Some(_)) => Ok(Some(wanted)),
            (Some(Controller::Stack) | None, None) => Ok(None),
        }
    }
}

/// UDP payload without an option: the smallest that QUIC allows (RFC 9000 section 14).
pub(crate) const DEFAULT_DATAGRAM_SIZE: u16 = 1200;
/// Default packet threshold of both stacks (RFC 9002 section 6.1.1).
pub(crate) const DEFAULT_PACKET_THRESHOLD: u32 = 3;
/// Initial window without an option, in bytes: 10 datagrams of 1200 (both stacks).
pub(crate) const DEFAULT_INITIAL_WINDOW: u64 = 12_000;
/// Send window without an option, in bytes (both stacks).
pub(crate) const DEFAULT_SEND_WINDOW: u64 = 10_000_000;

/// UDP payload: RFC 9000 section 14 below; above, where an IPv4 packet of 65 535 bytes ends, its
/// header and that of UDP included. IPv6 would end later; a scenario has one limit for both.
const DATAGRAM_SIZES: RangeInclusive<u64> = 1200..=65_535 - 20 - 8;
/// Largest variable-length integer (RFC 9000 section 16).
const VARINT_MAX: u64 = (1 << 62) - 1;
/// Above this window the pacers of both stacks switch themselves off.
const LARGEST_INITIAL_WINDOW: u64 = u32::MAX as u64;
/// RFC 9002 section 6.1.1: "implementations SHOULD NOT use a packet threshold less than 3".
const SMALLEST_PACKET_THRESHOLD: u32 = 3;
/// Larger factors of an RTT overflow what the stacks compute.
const LARGEST_TIME_THRESHOLD: f64 = 1000.0;
/// Up to the idle timeout of both stacks: a longer one ends the handshake before the first PTO.
const INITIAL_RTTS: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_secs(30);
/// Down to the timer granularity of both stacks, which they announce as min_ack_delay; up to the
/// limit of max_ack_delay (RFC 9000 section 18.2).
const MAX_ACK_DELAYS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_millis(16_383);

impl Options {
    pub(crate) fn new(stack: &'static str, config: &EndpointConfig) -> Result<Self, StackError> {
        if let Some(profile) = &config.profile {
            return Err(StackError::NoProfiles { stack, profile: profile.clone() });
        }
        let foreign = [
            ("pacing", config.pacing.is_some()),
            ("tcp", config.tcp.is_some()),
            ("quic", config.quic.is_some()),
            ("http2", config.http2.is_some()),
            ("tls", config.tls.is_some()),
            ("quic", config.quic.is_some()),
            ("http2", config.http2.is_some()),
        ];
        if let Some((field, _)) = foreign.into_iter().find(|(_, given)| *given) {
            return Err(StackError::NoOption { field, stack });
        }
        let window = |field, value: Option<ByteCount>| bytes(field, value, 1..=VARINT_MAX);
        let datagram_size = bytes("datagram_size", config.datagram_size, DATAGRAM_SIZES)?
            .map_or(DEFAULT_DATAGRAM_SIZE, |size| {
                u16::try_from(size).expect("DATAGRAM_SIZES fits into 16 bits")
            });
        check_initial_window(config.initial_window, datagram_size)?;
        if let Some(value) = config.packet_threshold.filter(|&value| value < SMALLEST_PACKET_THRESHOLD) {
            let allowed =
                format!("{SMALLEST_PACKET_THRESHOLD} to {} packets (RFC 9002 section 6.1.1)", u32::MAX);
            return Err(out_of_range("packet_threshold", value, allowed));
        }
        if let Some(value) =
            config.time_threshold.filter(|value| !(1.0..=LARGEST_TIME_THRESHOLD).contains(value))
        {
            return Err(out_of_range("time_threshold", value, format!("1 to {LARGEST_TIME_THRESHOLD}")));
        }
        duration("initial_rtt", config.initial_rtt, INITIAL_RTTS)?;
        if let Some(frequency) = &config.ack_frequency {
            duration("ack_frequency.max_ack_delay", frequency.max_ack_delay, MAX_ACK_DELAYS)?;
        }
        Ok(Self {
            congestion_control: config.congestion_control,
            lab_control: LabControl::new(stack, config)?,
            datagram_size,
            initial_window: config.initial_window.map(ByteCount::bytes),
            stream_receive_window: window("stream_receive_window", config.stream_receive_window)?,
            connection_receive_window: window("connection_receive_window", config.connection_receive_window)?,
            send_window: window("send_window", config.send_window)?,
            packet_threshold: config.packet_threshold,
            time_threshold: config.time_threshold.map(|value| value as f32),
            initial_rtt: config.initial_rtt.map(std_duration),
            ack_frequency: config.ack_frequency,
        })
    }

    /// Packet threshold in effect.
    pub(crate) fn packet_threshold(&self) -> u64 {
        u64::from(self.packet_threshold.unwrap_or(DEFAULT_PACKET_THRESHOLD))
    }

    /// Initial congestion window in effect, in bytes.
    pub(crate) fn initial_window(&self) -> u64 {
        self.initial_window.unwrap_or(DEFAULT_INITIAL_WINDOW)
    }

    /// Send window in effect, in bytes.
    pub(crate) fn send_window(&self) -> u64 {
        self.send_window.unwrap_or(DEFAULT_SEND_WINDOW)
    }
}

/// Checks that the workload says how much is sent, in one way.
pub(crate) fn check_workload(workload: &Workload) -> Result<(), StackError> {
    match workload {
        Workload::Download { size: None, duration: None, .. } => {
            Err(out_of_range("workload", "a download with neither", ONE_OF_BOTH))
        }
        Workload::Download { size: Some(_), duration: Some(_), .. } => {
            Err(out_of_range("workload", "a download with both", ONE_OF_BOTH))
        }
        Workload::Download { size: Some(ByteCount::ZERO), .. } => {
            Err(out_of_range("workload.size", ByteCount::ZERO, "1 B or more"))
        }
        Workload::Download { duration: Some(Duration::ZERO), .. } => {
            Err(out_of_range("workload.duration", Duration::ZERO, "1 ns or more"))
        }
        Workload::Download { .. } => Ok(()),
        other => Err(out_of_range("workload.kind", other.kind(), "download")),
    }
}

const ONE_OF_BOTH: &str = "exactly one of `size` or `duration`";

/// Checks that packets can be addressed: the stacks refuse a peer without address or port.
pub(crate) fn check_tuple(tuple: &FiveTuple) -> Result<(), StackError> {
    let peer = tuple.destination();
    if peer.ip().is_unspecified() || peer.port() == 0 {
        return Err(out_of_range("tuple.destination", peer, "an address and a port other than 0"));
    }
    if tuple.source().is_ipv4() != peer.is_ipv4() {
        return Err(out_of_range(
            "tuple.source",
            tuple.source(),
            "an address of the family of the destination",
        ));
    }
    Ok(())
}

/// The window must hold more than a datagram: quinn sends while what is in flight and one more
/// datagram are less than the window. The default window is checked, too.
fn check_initial_window(window: Option<ByteCount>, datagram_size: u16) -> Result<(), StackError> {
    let smallest = u64::from(datagram_size) + 1;
    let allowed = || {
        let largest = ByteCount::from_bytes(LARGEST_INITIAL_WINDOW);
        format!("more than one datagram, {smallest} B, to {largest}")
    };
    match window {
        Some(window) if !(smallest..=LARGEST_INITIAL_WINDOW).contains(&window.bytes()) => {
            Err(out_of_range("initial_window", window, allowed()))
        }
        None if DEFAULT_INITIAL_WINDOW < smallest => {
            Err(out_of_range("initial_window", format!("{DEFAULT_INITIAL_WINDOW} B, the default"), allowed()))
        }
        _ => Ok(()),
    }
}

fn bytes(
    field: &'static str,
    value: Option<ByteCount>,
    allowed: RangeInclusive<u64>,
) -> Result<Option<u64>, StackError> {
    match value {
        Some(value) if !allowed.contains(&value.bytes()) => {
            Err(out_of_range(field, value, format!("{} B to {} B", allowed.start(), allowed.end())))
        }
        value => Ok(value.map(ByteCount::bytes)),
    }
}

fn duration(
    field: &'static str,
    value: Option<Duration>,
    allowed: RangeInclusive<Duration>,
) -> Result<(), StackError> {
    match value {
        Some(value) if !allowed.contains(&value) => {
            Err(out_of_range(field, value, format!("{} to {}", allowed.start(), allowed.end())))
        }
        _ => Ok(()),
    }
}

fn out_of_range(field: &'static str, value: impl ToString, allowed: impl Into<String>) -> StackError {
    StackError::OutOfRange { field, value: value.to_string(), allowed: allowed.into() }
}

/// The same length of time in the type of the stacks.
pub(crate) fn std_duration(duration: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(duration.as_nanos())
}
