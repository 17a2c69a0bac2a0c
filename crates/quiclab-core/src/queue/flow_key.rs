//! Flow keys for FQ-CoDel: of a modelled packet, or of the bytes of an IP packet.
//!
//! | packet | key |
//! | --- | --- |
//! | TCP, UDP, UDP-Lite, SCTP, DCCP | protocol, addresses, ports (RFC 8290 section 4.2) |
//! | ICMP, ICMPv6 | protocol, addresses, type and code; the identifier of echo messages |
//! | fragment, the first one too | protocol, addresses, identification: all parts of a datagram are one flow |
//! | any other | protocol and addresses |
//! | truncated or not IP | the readable fields of the above, else one key for all |
//!
//! Linux (`__skb_flow_dissect`) omits type, code and identifier of ICMP and the identification of fragments, looks into
//! tunnels, and uses the flow label of IPv6. IPv6 extension headers are skipped up to the number that `ip/header.rs`
//! reads (RFC 8200 section 4.1 allows fewer); beyond, protocol and addresses count.

use crate::ip::{self, IPV4_HEADER, IpHeader};
use crate::ip::{FiveTuple, Protocol};
use crate::packet::{Packet, Payload};
use std::net::{IpAddr, Ipv4Addr};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Fields common to all packets of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    source: IpAddr,
    destination: IpAddr,
    /// IANA protocol number.
    protocol: u8,
    /// Part that distinguishes flows between two addresses.
    part: Part,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    #[default]
    None,
    /// Source, destination.
    Ports(u16, u16),
    /// Identifier, type x 256 + code.
    Icmp(u16, u16),
    /// Identification of a fragmented datagram.
    Fragment(u32),
}

impl Default for FlowKey {
    /// Key of bytes that are no IP packet.
    fn default() -> Self {
        let nowhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        Self { source: nowhere, destination: nowhere, protocol: 255, part: Part::None }
    }
}

impl From<FiveTuple> for FlowKey {
    fn from(tuple: FiveTuple) -> Self {
        let (source, destination) = (tuple.source(), tuple.destination());
        let ports = (source.port(), destination.port());
        let (protocol, part) = match tuple.protocol() {
            Protocol::Udp => (UDP, Part::Ports(ports.0, ports.1)),
            Protocol::Tcp => (TCP, Part::Ports(ports.0, ports.1)),
            Protocol::Icmp if source.is_ipv6() => (ICMPV6, Part::Icmp(ports.0, ports.1)),
            Protocol::Icmp => (ICMP, Part::Icmp(ports.0, ports.1)),
        };
        Self { source: source.ip(), destination: destination.ip(), protocol, part }
    }
}

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const ICMPV6: u8 = 58;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

impl FlowKey {
    /// Key of a modelled packet: of its bytes if it has an IP header, else of its tuple.
    #[must_use]
    pub fn of_packet(packet: &Packet) -> Self {
        match &packet.payload {
            Payload::Ip(bytes) => Self::of_ip(bytes),
            _ => packet.tuple.into(),
        }
    }

    /// Key of an IP packet, its header included. Any bytes have one.
    #[must_use]
    pub fn of_ip(packet: &[u8]) -> Self {
        let Ok((header, _)) = ip::read(packet) else { return Self::default() };
        let IpHeader { source, destination, protocol, payload, fragment, .. } = header;
        let (protocol, part) = match fragment {
            Some(fragment) => (fragment.protocol, Part::Fragment(fragment.identification)),
            // a header length below the minimum is treated as the minimum
            None => {
                let inner = packet.get(payload.max(IPV4_HEADER)..);
                (protocol, inner.map_or(Part::None, |inner| part(protocol, inner)))
            }
        };
        Self { source, destination, protocol, part }
    }

    /// Hash in which every bit depends on the seed and on the whole key: XXH3 instead of SipHash of Linux.
    #[must_use]
    pub fn hash(&self, seed: u64) -> u64 {
        let mut bytes = [0; 16 + 16 + 1 + 1 + 4];
        let octets = |address: IpAddr| match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        bytes[..16].copy_from_slice(&octets(self.source));
        bytes[16..32].copy_from_slice(&octets(self.destination));
        bytes[32] = self.protocol;
        let pair = |first: u16, second: u16| u32::from(first) << 16 | u32::from(second);
        let (kind, value) = match self.part {
            Part::None => (0, 0),
            Part::Ports(source, destination) => (1, pair(source, destination)),
            Part::Icmp(identifier, kind) => (2, pair(identifier, kind)),
            Part::Fragment(identification) => (3, identification),
        };
        bytes[33] = kind;
        bytes[34..].copy_from_slice(&value.to_be_bytes());
        xxh3_64_with_seed(&bytes, seed)
    }

    /// Hashes, as [`FlowKey::hash`], of the source alone and of the destination alone.
    #[must_use]
    pub fn hosts(&self, seed: u64) -> [u64; 2] {
        let nowhere = Self::default();
        [
            Self { source: self.source, ..nowhere }.hash(seed),
            Self { destination: self.destination, ..nowhere }.hash(seed),
        ]
    }

    /// Name of the protocol in lower case, as in `/etc/protocols` of Linux; `None` for a protocol without ports or
    /// identifiers here.
    #[must_use]
    pub const fn protocol_name(&self) -> Option<&'static str> {
        match self.protocol {
            ICMP => Some("icmp"),
            TCP => Some("tcp"),
            UDP => Some("udp"),
            DCCP => Some("dccp"),
            ICMPV6 => Some("ipv6-icmp"),
            SCTP => Some("sctp"),
            UDP_LITE => Some("udplite"),
            _ => None,
        }
    }

    /// IANA protocol number.
    #[must_use]
    pub const fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Source and destination, with ports if the flow has any.
    #[must_use]
    pub const fn ends(&self) -> [(IpAddr, Option<u16>); 2] {
        match self.part {
            Part::Ports(source, destination) => {
                [(self.source, Some(source)), (self.destination, Some(destination))]
            }
            _ => [(self.source, None), (self.destination, None)],
        }
    }

    /// Whether the protocol is ICMP or ICMPv6.
    #[must_use]
    pub(crate) fn is_icmp(&self) -> bool {
        matches!(self.protocol, ICMP | ICMPV6)
    }

    /// Key of the published tunnel: the sum of protocol, addresses and ports, 0 for ICMP. Both directions have the same
    /// key, and so do flows whose ports differ by opposite amounts. (Of IPv6 addresses, which that tunnel did not
    /// support, the four words are added.)
    #[must_use]
    pub fn field_sum(&self) -> u32 {
        if self.is_icmp() {
            return 0;
        }
        let words = |address: IpAddr| match address {
            IpAddr::V4(address) => u32::from(address),
            IpAddr::V6(address) => {
                let bits = u128::from(address);
                (0..4).fold(0, |sum: u32, word| sum.wrapping_add((bits >> (32 * word)) as u32))
            }
        };
        let ports = match self.part {
            Part::Ports(source, destination) => u32::from(source) + u32::from(destination),
            _ => 0,
        };
        [words(self.source), words(self.destination), ports]
            .iter()
            .fold(u32::from(self.protocol), |sum, part| sum.wrapping_add(*part))
    }
}

/// Part that distinguishes flows of `protocol`; `inner` begins with its header.
fn part(protocol: u8, inner: &[u8]) -> Part {
    let part = match protocol {
        TCP | UDP | DCCP | SCTP | UDP_LITE => {
            word(inner, 0).zip(word(inner, 2)).map(|(source, destination)| Part::Ports(source, destination))
        }
        ICMP | ICMPV6 => word(inner, 0).map(|kind| {
            // echo request and reply (RFC 792, RFC 4443 section 4), timestamp and its reply have an identifier
            let has_identifier = match protocol {
                ICMP => matches!(kind >> 8, 0 | 8 | 13 | 14),
                _ => matches!(kind >> 8, 128 | 129),
            };
            let identifier = if has_identifier { word(inner, 4).unwrap_or(0) } else { 0 };
            Part::Icmp(identifier, kind)
        }),
        _ => None,
    };
    part.unwrap_or_default()
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word))
}

#[cfg(test)]
#[path = "flow_key_tests.rs"]
mod tests;
