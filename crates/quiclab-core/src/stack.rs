//! Stacks as data: their options, profiles and abilities.
//!
//! quiclab-transport and quiclab-stacks each have a list of stacks; quiclab-sim joins them.

use crate::ip::Protocol;
use crate::operation::OperationInfo;

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// A stack: something that endpoints can be made of.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StackInfo {
    /// Name in scenarios.
    pub name: &'static str,
    /// Version of the library, the one in the lock file.
    pub version: &'static str,
    /// What it is, in a sentence.
    pub description: &'static str,
    /// What its two ends speak.
    pub protocol: StackProtocol,
    /// Kinds of workload that it runs, as in scenarios.
    pub workloads: &'static [&'static str],
    /// Its options and what else matters for a result.
    pub options: &'static [OptionInfo],
    /// Its named parameter sets.
    pub profiles: &'static [ProfileInfo],
    /// Its computations that a plugin can exchange.
    pub operations: &'static [OperationInfo],
    /// Whether a connection can use several paths, with some profile or option.
    pub multipath: bool,
    /// Whether no other stack understands its packets.
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
    /// What it is.
    pub meaning: &'static str,
    /// Its value where the scenario does not set it, with its unit.
    pub default: &'static str,
    /// Where this value comes from.
    pub source: &'static str,
}

impl OptionInfo {
    /// An option.
    #[must_use]
    pub const fn option(
        name: &'static str,
        meaning: &'static str,
        default: &'static str,
        source: &'static str,
    ) -> Self {
        Self { option: Some(name), meaning, default, source }
    }

    /// A property that no option changes.
    #[must_use]
    pub const fn fixed(meaning: &'static str, value: &'static str, source: &'static str) -> Self {
        Self { option: None, meaning, default: value, source }
    }
}

/// A named parameter set of a stack, which stands for a published one.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ProfileInfo {
    /// Name in scenarios.
    pub name: &'static str,
    /// What it stands for, in a sentence.
    pub description: &'static str,
    /// The values of the set, each with its source; those of the stack hold for what is not listed.
    pub options: &'static [OptionInfo],
}

/// What two ends must have in common to understand each other.
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
    /// The protocol above IP.
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

/// How much a receiver tells the sender of packets with CE marks, from less to more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkFeedback {
    /// Nothing.
    #[default]
    None,
    /// That there were some since the last reduction (RFC 3168).
    Echo,
    /// Of the packets that each acknowledgement is of, whether they had marks (RFC 8257).
    EachAck,
    /// How many (RFC 9768, RFC 9000 section 19.3.2).
    Count,
}

/// What a stack can do in a flow: what validation needs of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StackAbilities {
    /// What it speaks.
    pub protocol: StackProtocol,
    /// Kinds of workload that it runs.
    pub workloads: Cow<'static, [&'static str]>,
    /// Computations that a plugin can exchange.
    pub operations: &'static [OperationInfo],
    /// Whether a connection can use several paths.
    pub multipath: bool,
    /// Whether no other stack understands its packets.
    pub proprietary: bool,
    /// What this end returns of the CE marks of packets that it receives.
    pub mark_feedback: MarkFeedback,
    /// What its congestion control needs of the other end.
    pub needs_mark_feedback: MarkFeedback,
    /// States that its congestion control reports, as in [`RecoveryState`](crate::RecoveryState); none: it reports none.
    pub states: Cow<'static, [&'static str]>,
}

impl StackInfo {
    /// What it can do in a flow.
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
