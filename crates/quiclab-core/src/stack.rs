//! Stacks as data: their options, profiles and abilities.
//!
//! quiclab-transport and quiclab-stacks each have a list of stacks; quiclab-sim joins them.

use crate::ip::Protocol;
use crate::operation::OperationInfo;

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// Description of a stack: an implementation of a transport for endpoints.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StackInfo {
    /// Name in scenarios.
    pub name: &'static str,
    /// Version of the library in the lock file.
    pub version: &'static str,
    /// Description, in a sentence.
    pub description: &'static str,
    /// Protocol between its two ends.
    pub protocol: StackProtocol,
    /// Kinds of workload that it runs, as in scenarios.
    pub workloads: &'static [&'static str],
    /// Options and fixed properties that matter for a result.
    pub options: &'static [OptionInfo],
    /// Named parameter sets.
    pub profiles: &'static [ProfileInfo],
    /// Computations that a plugin can replace.
    pub operations: &'static [OperationInfo],
    /// Whether a connection can use several paths, with some profile or option.
    pub multipath: bool,
    /// Whether its packets are understood by no other stack.
    #[serde(skip)]
    pub proprietary: bool,
    /// Whether it carries tunnels.
    #[serde(skip)]
    pub tunnels: bool,
}

/// An option of an endpoint in one stack, or a fixed property of the stack.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OptionInfo {
    /// Name in scenarios, with dots within tables; `None` for a property that no option changes.
    pub option: Option<&'static str>,
    /// Meaning.
    pub meaning: &'static str,
    /// Value if the scenario does not set it, with its unit.
    pub default: &'static str,
    /// Source of this value.
    pub source: &'static str,
}

impl OptionInfo {
    /// Creates the description of an option.
    #[must_use]
    pub const fn option(
        name: &'static str,
        meaning: &'static str,
        default: &'static str,
        source: &'static str,
    ) -> Self {
        Self { option: Some(name), meaning, default, source }
    }

    /// Creates the description of a property that no option changes.
    #[must_use]
    pub const fn fixed(meaning: &'static str, value: &'static str, source: &'static str) -> Self {
        Self { option: None, meaning, default: value, source }
    }
}

/// A named parameter set of a stack, which represents a published implementation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ProfileInfo {
    /// Name in scenarios.
    pub name: &'static str,
    /// Implementation that it represents, in a sentence.
    pub description: &'static str,
    /// Values of the set, each with its source; unlisted options have the values of the stack.
    pub options: &'static [OptionInfo],
}

/// Protocol of a stack, which must be the same at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StackProtocol {
    /// QUIC (RFC 9000).
    Quic,
    /// TCP (RFC 9293).
    Tcp,
    /// Plain datagrams over UDP.
    Udp,
}

impl StackProtocol {
    /// Protocol above IP.
    #[must_use]
    pub const fn over_ip(self) -> Protocol {
        match self {
            Self::Tcp => Protocol::Tcp,
            Self::Quic | Self::Udp => Protocol::Udp,
        }
    }
}

impl Display for StackProtocol {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quic => "QUIC",
            Self::Tcp => "TCP",
            Self::Udp => "plain UDP",
        })
    }
}

/// Feedback of a receiver about packets with CE marks, from less to more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkFeedback {
    /// No feedback.
    #[default]
    None,
    /// Presence of marks since the last reduction (RFC 3168).
    Echo,
    /// Mark of the packets covered by each acknowledgement (RFC 8257).
    EachAck,
    /// Number of marks (RFC 9768, RFC 9000 section 19.3.2).
    Count,
}

/// Abilities of a stack in a flow, as needed for validation.
#[derive(Clone, Debug, PartialEq)]
pub struct StackAbilities {
    /// Protocol.
    pub protocol: StackProtocol,
    /// Kinds of workload that it runs.
    pub workloads: Cow<'static, [&'static str]>,
    /// Computations that a plugin can replace.
    pub operations: &'static [OperationInfo],
    /// Whether a connection can use several paths.
    pub multipath: bool,
    /// Whether its packets are understood by no other stack.
    pub proprietary: bool,
    /// Feedback of this end about CE marks of packets that it receives.
    pub mark_feedback: MarkFeedback,
    /// Feedback that its congestion control needs from the peer.
    pub needs_mark_feedback: MarkFeedback,
    /// States reported by its congestion control, as in [`RecoveryState`](crate::RecoveryState); empty if it
    /// reports none.
    pub states: Cow<'static, [&'static str]>,
}

impl StackInfo {
    /// Abilities in a flow.
    #[must_use]
    pub const fn abilities(&self) -> StackAbilities {
        StackAbilities {
            protocol: self.protocol,
            workloads: Cow::Borrowed(self.workloads),
            operations: self.operations,
            multipath: self.multipath,
            proprietary: self.proprietary,
            // QUIC acknowledges with counts of marks
            mark_feedback: match self.protocol {
                StackProtocol::Quic => MarkFeedback::Count,
                StackProtocol::Tcp | StackProtocol::Udp => MarkFeedback::None,
            },
            needs_mark_feedback: MarkFeedback::None,
            states: Cow::Borrowed(&[]),
        }
    }
}
