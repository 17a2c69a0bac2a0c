//! Options of an endpoint, validated and in the units of the stacks.
//!
//! Both stacks take the same options with the same limits; an omitted option keeps the default of the stack
//! (`stack/family.rs`).

use quiclab_core::problem::{ensure, name_of, quoted};
use quiclab_core::{ByteCount, Duration, FieldPath, FiveTuple, Problem};
use quiclab_transport::congestion::Constants;
use quiclab_transport::options::{
    AckFrequency, CongestionControl, Controller, EndpointConfig, Multipath, SlowStartExit, Workload,
};
use quiclab_transport::workload::Datagram;

/// Validated options; `None` keeps the default of the stack.
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
    pub(crate) multipath: Option<Multipath>,
}

/// Congestion control that is not the stack's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LabControl {
    pub(crate) control: CongestionControl,
    pub(crate) emulated_connections: u32,
    pub(crate) slow_start_exit: SlowStartExit,
    pub(crate) constants: Constants,
}

impl LabControl {
    /// Congestion control that the options request; `None` if the stack has it itself and no other option
    /// requires quiclab's.
    fn new(stack: &'static str, config: &EndpointConfig) -> Result<Option<Self>, Problem> {
        let wanted = Self {
            control: config.congestion_control.unwrap_or(CongestionControl::Cubic), // as both stacks
            emulated_connections: config.emulated_connections.unwrap_or(1),
            slow_start_exit: config.slow_start_exit.unwrap_or(SlowStartExit::None),
            constants: Constants {
                newreno: config.newreno.unwrap_or_default(),
                cubic: config.cubic.unwrap_or_default(),
                bbr: config.bbr.unwrap_or_default(),
            },
        };
        ensure(!wanted.control.family().counts_marks(), || {
            let expected = "a congestion control that needs no number of marks";
            Problem::conflict("congestion_control", quoted(wanted.control.name()), expected)
                .because(format!("{stack} does not tell its congestion control how many packets were marked"))
        })?;
        ensure(!wanted.slow_start_exit.needs_pacing(), || {
            let expected = "an algorithm without a jump";
            Problem::conflict("slow_start_exit", quoted(name_of(&wanted.slow_start_exit)), expected)
                .because(format!("the pacer of {stack} does not spread a jump over a round trip"))
        })?;
        let lacking = if !matches!(wanted.control, CongestionControl::Newreno | CongestionControl::Cubic) {
            Some(format!("`{}`", wanted.control.name()))
        } else if wanted.emulated_connections != 1 {
            Some("`emulated_connections`".to_owned())
        } else if wanted.slow_start_exit != SlowStartExit::None {
            Some(format!("`{}`", name_of(&wanted.slow_start_exit)))
        } else if wanted.constants != Constants::default() {
            Some(format!("`{}` with other constants", wanted.control.name()))
        } else {
            None
        };
        match (config.controller, lacking) {
            (Some(Controller::Stack), Some(lacking)) => {
                let reason = format!("the stack `{stack}` does not have its own {lacking}");
                Err(Problem::conflict("controller", "\"stack\"", "\"quiclab\"").because(reason))
            }
            (Some(Controller::Quiclab), _) | (None, Some(_)) => Ok(Some(wanted)),
            (Some(Controller::Stack) | None, None) => Ok(None),
        }
    }
}

/// UDP payload in bytes without an option: the minimum of QUIC (RFC 9000 section 14).
pub(crate) const DEFAULT_DATAGRAM_SIZE: u16 = 1200;
/// Default packet threshold of both stacks (RFC 9002 section 6.1.1).
pub(crate) const DEFAULT_PACKET_THRESHOLD: u32 = 3;
/// Initial window without an option, in bytes: 10 datagrams of 1200 (both stacks).
pub(crate) const DEFAULT_INITIAL_WINDOW: u64 = 12_000;
/// Send window without an option, in bytes (both stacks).
pub(crate) const DEFAULT_SEND_WINDOW: u64 = 10_000_000;

/// Largest variable-length integer (RFC 9000 section 16).
const VARINT_MAX: u64 = (1 << 62) - 1;
/// Maximum initial window in bytes: above it the pacers of both stacks switch themselves off.
const MAX_INITIAL_WINDOW: u64 = u32::MAX as u64;
impl Options {
    pub(crate) fn new(stack: &'static str, config: &EndpointConfig) -> Result<Self, Problem> {
        let datagram_size = config.datagram_size.map_or(DEFAULT_DATAGRAM_SIZE, |size| {
            u16::try_from(size.bytes()).expect("a valid UDP payload fits into 16 bits")
        });
        check_initial_window(config.initial_window, datagram_size)?;
        for (field, window) in [
            ("stream_receive_window", config.stream_receive_window),
            ("connection_receive_window", config.connection_receive_window),
            ("send_window", config.send_window),
        ] {
            if let Some(window) = window.filter(|window| window.bytes() > VARINT_MAX) {
                let expected = format!("a size of at most \"{VARINT_MAX} B\"");
                return Err(Problem::value(field, format!("\"{window}\""), expected));
            }
        }
        let lab_control = LabControl::new(stack, config)?;
        if let Some(multipath) = &config.multipath {
            check_multipath(stack, multipath, lab_control.as_ref())?;
        }
        Ok(Self {
            congestion_control: config.congestion_control,
            lab_control,
            datagram_size,
            initial_window: config.initial_window.map(ByteCount::bytes),
            stream_receive_window: config.stream_receive_window.map(ByteCount::bytes),
            connection_receive_window: config.connection_receive_window.map(ByteCount::bytes),
            send_window: config.send_window.map(ByteCount::bytes),
            packet_threshold: config.packet_threshold,
            time_threshold: config.time_threshold.map(|value| value as f32),
            initial_rtt: config.initial_rtt.map(std_duration),
            ack_frequency: config.ack_frequency,
            multipath: config.multipath,
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

/// Checks the path management: noq chooses the paths of acknowledgements itself, and a controller of quiclab
/// serves all paths.
fn check_multipath(stack: &str, multipath: &Multipath, lab: Option<&LabControl>) -> Result<(), Problem> {
    multipath.check()?;
    if let Some(rule) = multipath.acknowledgements {
        let path = FieldPath::new(["multipath", "acknowledgements"]);
        return Err(Problem::conflict(path, quoted(name_of(&rule)), "no value")
            .because(format!("{stack} sends them on its first path that is available")));
    }
    ensure(lab.is_none(), || {
        Problem::conflict("multipath", "options", "none")
            .because(format!("{stack} would share a congestion control of quiclab's between the paths"))
    })
}

/// Checks that a datagram has room for its label.
///
/// # Errors
/// If it is shorter.
pub fn check_workload(workload: &Workload) -> Result<(), Problem> {
    let (Workload::Datagrams { size, .. } | Workload::Ping { size, .. }) = workload else { return Ok(()) };
    let least = ByteCount::from_bytes(Datagram::HEADER as u64);
    ensure(*size >= least, || {
        Problem::conflict(FieldPath::new(["workload", "size"]), quoted(size), format!("at least \"{least}\""))
            .because("its data begin with its number and its time")
    })
}

/// Checks that packets can be addressed: the stacks reject a peer without address or port.
pub(crate) fn check_tuple(tuple: &FiveTuple) -> Result<(), Problem> {
    let peer = tuple.destination();
    if peer.ip().is_unspecified() || peer.port() == 0 {
        return Err(Problem::value("tuple.destination", peer, "an address and a port other than 0"));
    }
    if tuple.source().is_ipv4() != peer.is_ipv4() {
        let expected = "an address of the same family as the destination";
        return Err(Problem::value("tuple.source", tuple.source(), expected));
    }
    Ok(())
}

/// Checks that the window is larger than a datagram: quinn sends while the bytes in flight plus one datagram
/// are less than the window. The default window is checked, too.
fn check_initial_window(window: Option<ByteCount>, datagram_size: u16) -> Result<(), Problem> {
    let smallest = u64::from(datagram_size) + 1;
    let allowed = || {
        let largest = ByteCount::from_bytes(MAX_INITIAL_WINDOW);
        format!("a size from \"{smallest} B\", more than one datagram, to \"{largest}\"")
    };
    match window {
        Some(window) if !(smallest..=MAX_INITIAL_WINDOW).contains(&window.bytes()) => {
            Err(Problem::conflict("initial_window", format!("\"{window}\""), allowed()))
        }
        None if DEFAULT_INITIAL_WINDOW < smallest => {
            let default = format!("\"{DEFAULT_INITIAL_WINDOW} B\", the default");
            Err(Problem::conflict("initial_window", default, allowed()))
        }
        _ => Ok(()),
    }
}

/// Converts a duration to the type of the stacks.
pub(crate) fn std_duration(duration: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(duration.as_nanos())
}
