//! Protocol operations: computations of a connection that a plugin can replace, or before or after which it
//! runs a function.
//!
//! The idea is that of PQUIC (De Coninck et al., "Pluginizing QUIC", SIGCOMM 2019, section 2): a protocol is
//! a set of named operations, each with the anchors `replace`, `pre` and `post`. Differences:
//!
//! | | PQUIC | here |
//! | --- | --- | --- |
//! | operations | the functions of picoquic, any C type | [`Operation::ALL`]: numbers in, one number out |
//! | code | eBPF bytecode, exchanged between the peers | functions of the experimenter, named in the scenario |
//! | `before` (`pre`) | reads only | reads only: it answers nothing |
//! | `after` (`post`) | reads only | may answer with another result |
//! | several plugins | one `replace`, any number of the others, in no order | the same, in the order of the flow's list |

use serde::{Serialize, Serializer};
use std::fmt::{self, Display, Formatter};

/// Declares [`Operation`]: one operation and its name in scenarios per line, in the order of [`OPERATIONS`].
macro_rules! operations {
    ($($(#[$documentation:meta])* $operation:ident = $name:literal,)+) => {
        /// A computation that a plugin can replace.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Operation {
            $($(#[$documentation])* $operation,)+
        }

        impl Operation {
            /// All operations, in the order of [`OPERATIONS`].
            pub const ALL: &'static [Self] = &[$(Self::$operation),+];

            /// Name in scenarios.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$operation => $name),+ }
            }
        }
    };
}

operations! {
    /// Congestion window of a path in bytes, before each packet.
    CongestionWindow = "compute.congestion_window",
    /// Pacing rate of a path in bit/s, whenever it is computed.
    PacingRate = "compute.pacing_rate",
    /// Reordering in packets before a packet is declared lost, at each acknowledgement.
    PacketThreshold = "compute.packet_threshold",
    /// Probe timeout in ms, whenever the timer is set.
    ProbeTimeout = "compute.probe_timeout",
    /// Time until an acknowledgement must leave, in ms, at each ack-eliciting packet.
    AckDelay = "compute.ack_delay",
    /// RTT sample in ms, before it is used.
    RttSample = "compute.rtt_sample",
    /// Whether a DATAGRAM frame may be sent now (1) or waits for the window (0).
    DatagramMayLeave = "compute.datagram_may_leave",
    /// Number of the path of the next packet.
    Path = "compute.path",
    /// Identifier of the stream that sends next.
    Stream = "compute.stream",
}

/// Description of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OperationInfo {
    /// The operation, with its name in scenarios.
    #[serde(rename = "name")]
    pub operation: Operation,
    /// Result of the computation.
    pub meaning: &'static str,
    /// Time of the computation.
    pub when: &'static str,
    /// Inputs of a function: name with the unit as suffix, and meaning.
    pub inputs: &'static [(&'static str, &'static str)],
    /// Unit of the result.
    pub unit: &'static str,
    /// Minimum accepted result.
    pub least: f64,
    /// Maximum accepted result.
    pub most: f64,
    /// Whether the result must be an integer.
    pub whole: bool,
}

/// Position of a function relative to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Anchor {
    /// Receives the inputs, and returns nothing.
    Before,
    /// Receives the inputs instead of the native computation, and returns the result.
    Replace,
    /// Receives inputs and result, and returns another result, or nothing to keep it.
    After,
}

impl Anchor {
    /// Name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Replace => "replace",
            Self::After => "after",
        }
    }
}

impl Operation {
    /// Prefix of the names of operations: it distinguishes them from options, of which some have the same
    /// name.
    pub const PREFIX: &'static str = "compute.";

    /// The operation with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.name() == name)
    }

    /// Its description.
    #[must_use]
    pub const fn info(self) -> &'static OperationInfo {
        &OPERATIONS[self as usize]
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Operation {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl OperationInfo {
    /// Whether `result` is accepted.
    #[must_use]
    pub fn allows(&self, result: f64) -> bool {
        // a comparison with NaN is false
        result >= self.least && result <= self.most && (!self.whole || libm::trunc(result) == result)
    }

    /// Accepted results, in words.
    #[must_use]
    pub fn expected(&self) -> String {
        let kind = if self.whole { "a whole number" } else { "a number" };
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        format!("{kind} from {} to {}{unit}", self.least, self.most)
    }
}

const NOW: (&str, &str) = ("now_ms", "time since the start of the run");
const PATH: (&str, &str) = ("path", "number of the path");
const SRTT: (&str, &str) = ("srtt_ms", "smoothed RTT; 0 before the first sample");
const MIN_RTT: (&str, &str) = ("min_rtt_ms", "minimum RTT; 0 before the first sample");
const WINDOW: (&str, &str) = ("cwnd_bytes", "congestion window of the congestion controller");
const IN_FLIGHT: (&str, &str) = ("in_flight_bytes", "bytes sent that are neither acknowledged nor lost");

/// Far above the product of any rate and RTT: a terabyte.
const MAX_BYTES: f64 = (1_u64 << 40) as f64;
/// A thousand times the fastest Ethernet.
const MAX_RATE: f64 = 1e15;
/// Ten minutes.
const MAX_MS: f64 = 600_000.0;
/// Limit up to which integers are exact in a float.
const MAX_EXACT: f64 = (1_u64 << 53) as f64;

/// All operations.
pub static OPERATIONS: [OperationInfo; 9] = [
    OperationInfo {
        operation: Operation::CongestionWindow,
        meaning: "congestion window of a path",
        when: "before each packet that counts towards it",
        inputs: &[
            NOW,
            PATH,
            WINDOW,
            IN_FLIGHT,
            ("datagram_bytes", "UDP payload of a full datagram"),
            SRTT,
            MIN_RTT,
        ],
        unit: "B",
        least: 1.0,
        most: MAX_BYTES,
        whole: false,
    },
    OperationInfo {
        operation: Operation::PacingRate,
        meaning: "pacing rate",
        when: "whenever window, RTT or the congestion control's own rate have changed",
        inputs: &[NOW, PATH, ("cwnd_bytes", "congestion window"), SRTT, MIN_RTT],
        unit: "bit/s",
        least: 1.0,
        most: MAX_RATE,
        whole: false,
    },
    OperationInfo {
        operation: Operation::PacketThreshold,
        meaning: "maximum reordering, in packets, before a packet is declared lost (RFC 9002 section 6.1.1)",
        when: "at each acknowledgement; holds until the next",
        inputs: &[
            NOW,
            PATH,
            ("packet_threshold", "value of the option, or the adapted value"),
            ("largest_acked", "largest packet number that is acknowledged"),
            ("spurious_losses", "packets declared lost so far that had arrived"),
        ],
        unit: "packets",
        least: 1.0,
        most: u32::MAX as f64,
        whole: true,
    },
    OperationInfo {
        operation: Operation::ProbeTimeout,
        meaning: "probe timeout, backoff included (RFC 9002 section 6.2.1)",
        when: "whenever the timer is set",
        inputs: &[
            NOW,
            PATH,
            SRTT,
            ("rttvar_ms", "RTT variation"),
            ("max_ack_delay_ms", "value that the peer announces; 0 during the handshake"),
            ("pto_count", "probe timeouts since the last acknowledgement"),
        ],
        unit: "ms",
        least: 1.0, // timer granularity of RFC 9002 section 6.1.2
        most: MAX_MS,
        whole: false,
    },
    OperationInfo {
        operation: Operation::AckDelay,
        meaning: "time until an acknowledgement must leave; 0: immediately",
        when: "at each ack-eliciting packet of application data that arrives; an earlier due time stays",
        inputs: &[
            NOW,
            PATH,
            ("unacknowledged", "ack-eliciting packets since the last acknowledgement, this one included"),
            ("out_of_order", "1 if this packet was not the next one, 0 otherwise"),
            SRTT,
            ("max_ack_delay_ms", "value that this end announces"),
        ],
        unit: "ms",
        least: 0.0,
        most: 16_383.0, // the largest max_ack_delay of RFC 9000 section 18.2
        whole: false,
    },
    OperationInfo {
        operation: Operation::RttSample,
        meaning: "an RTT sample, before the peer's delay is subtracted (RFC 9002 section 5.1)",
        when: "at each acknowledgement that yields a sample, before it is used",
        inputs: &[
            NOW,
            PATH,
            ("latest_rtt_ms", "the sample"),
            ("ack_delay_ms", "delay that the peer reports"),
            SRTT,
            MIN_RTT,
        ],
        unit: "ms",
        least: 0.001,
        most: MAX_MS,
        whole: false,
    },
    OperationInfo {
        operation: Operation::DatagramMayLeave,
        meaning: "whether a DATAGRAM frame may leave now, 1, or waits for the window, 0 (RFC 9221 section 5.4)",
        when: "whenever one waits",
        inputs: &[NOW, PATH, ("size_bytes", "length of its payload"), WINDOW, IN_FLIGHT],
        unit: "",
        least: 0.0,
        most: 1.0,
        whole: true,
    },
    OperationInfo {
        operation: Operation::Path,
        meaning: "number of the path that the next packet takes; it must have room",
        when: "before each packet, where there are several paths",
        inputs: &[NOW, ("paths", "number of paths"), ("previous", "path of the previous packet; -1: none")],
        unit: "",
        least: 0.0,
        most: u32::MAX as f64,
        whole: true,
    },
    OperationInfo {
        operation: Operation::Stream,
        meaning: "identifier of the stream that sends next; it must have something to send",
        when: "before each frame of stream data",
        inputs: &[
            NOW,
            ("ready", "streams with something to send"),
            ("lowest", "lowest of their identifiers"),
            ("highest", "highest of their identifiers"),
            ("previous", "stream that sent before; -1: none"),
        ],
        unit: "",
        least: 0.0,
        most: MAX_EXACT,
        whole: true,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_operations_and_names_are_unique() {
        for (index, operation) in Operation::ALL.iter().copied().enumerate() {
            assert_eq!(operation as usize, index);
            assert_eq!(operation.info().operation, operation);
            assert_eq!(Operation::find(operation.name()), Some(operation));
            assert!(operation.name().starts_with(Operation::PREFIX));
            let names: std::collections::BTreeSet<_> =
                operation.info().inputs.iter().map(|(name, _)| *name).collect();
            assert_eq!(names.len(), operation.info().inputs.len(), "{operation}");
            assert!(!names.contains("result"), "after a computation its result has this name");
        }
        assert_eq!(Operation::ALL.len(), OPERATIONS.len());
        assert_eq!(Operation::find("congestion_window"), None);
    }

    #[test]
    fn limits_are_inclusive_and_not_a_number_is_outside() {
        let threshold = Operation::PacketThreshold.info();
        assert!(threshold.allows(1.0) && threshold.allows(4_294_967_295.0));
        for refused in [0.0, -1.0, 1.5, 4_294_967_296.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!threshold.allows(refused), "{refused}");
        }
        assert_eq!(threshold.expected(), "a whole number from 1 to 4294967295 packets");
        let window = Operation::CongestionWindow.info();
        assert!(window.allows(1.5) && !window.allows(f64::INFINITY));
        assert_eq!(window.expected(), "a number from 1 to 1099511627776 B");
        assert_eq!(Operation::DatagramMayLeave.info().expected(), "a whole number from 0 to 1");
    }
}
