//! Header fields that determine a packet's route: addresses, ports, protocol, ECN field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "EcnField")]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, code point 01.
    Ect1,
    /// ECN-capable, code point 10.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The two bits in the header.
    #[must_use]
    pub const fn codepoint(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }
    /// ECN field of a packet with this one after a tunnel whose outer packet has `outer` (RFC 6040 section
    /// 4.2, figure 4; Linux `INET_ECN_decapsulate`); `None` if it is dropped.
    #[must_use]
    pub(crate) const fn decapsulated(self, outer: Self) -> Option<Self> {
        match (self, outer) {
            // congestion that the packet cannot signal
            (Self::NotEct, Self::Ce) => None,
            (Self::NotEct, _) => Some(Self::NotEct),
            (Self::Ce, _) | (_, Self::Ce) => Some(Self::Ce),
            (Self::Ect1, _) | (_, Self::Ect1) => Some(Self::Ect1),
            (Self::Ect0, _) => Some(Self::Ect0),
        }
    }
    /// The field in the two lowest bits of `traffic_class`.
    #[must_use]
    pub const fn from_codepoint(traffic_class: u8) -> Self {
        match traffic_class & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// Transport protocol of a packet (IANA protocol numbers).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// UDP, 17.
    #[default]
    Udp,
    /// TCP, 6.
    Tcp,
    /// ICMP, 1, and ICMPv6, 58. It has no ports: that of the source is the identifier of an echo, that of the
    /// destination holds type << 8 | code.
    Icmp,
}

/// Source and destination of a packet, in 40 bytes (two `SocketAddr` take 64): packets are moved at
/// every hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiveTuple {
    protocol: Protocol,
    source: (IpAddr, u16),
    destination: (IpAddr, u16),
}

impl FiveTuple {
    /// The tuple of packets from `source` to `destination`.
    #[must_use]
    pub fn new(protocol: Protocol, source: SocketAddr, destination: SocketAddr) -> Self {
        let short = |address: SocketAddr| (address.ip(), address.port());
        Self { protocol, source: short(source), destination: short(destination) }
    }
    /// Transport protocol.
    #[must_use]
    pub const fn protocol(self) -> Protocol {
        self.protocol
    }
    /// Address and port of the sender of this packet.
    #[must_use]
    pub fn source(self) -> SocketAddr {
        self.source.into()
    }
    /// Address and port of the receiver of this packet.
    #[must_use]
    pub fn destination(self) -> SocketAddr {
        self.destination.into()
    }
    /// The tuple of packets in the other direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        Self { protocol: self.protocol, source: self.destination, destination: self.source }
    }
}

impl Default for FiveTuple {
    fn default() -> Self {
        let nowhere = (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Self { protocol: Protocol::Udp, source: nowhere, destination: nowhere }
    }
}
