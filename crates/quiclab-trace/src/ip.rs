//! IPv4, IPv6 and UDP headers around the payload of a simulated packet, for captures; TCP headers are
//! those of [`crate::tcp`].
//!
//! After RFC 791, RFC 8200, RFC 768 and RFC 1071. Fields that the simulation does not have:
//!
//! | field | value |
//! | --- | --- |
//! | IPv4 identification | low 16 bits of `Packet::id`: both copies of a duplicate have the same value |
//! | IPv4 flags | Don't Fragment (RFC 9000 section 14; path MTU discovery of TCP, RFC 1191) |
//! | IPv6 flow label | low 20 bits of the flow's number |
//! | TTL, hop limit | 64 |
//! | UDP checksum | IPv4: 0, "no checksum"; IPv6: computed, 0 is forbidden (RFC 8200 section 8.1) |

use crate::tcp::{self, WindowScales};
use quiclab_core::ip::checksum::{finish, sum};
use quiclab_core::ip::{ICMP_HEADER, IPV4_HEADER, IPV6_HEADER, UDP_HEADER};
use quiclab_core::{Packet, Payload, Protocol};
use std::net::{IpAddr, Ipv6Addr};

/// Appends the packet from its IP header on and returns its length in bytes before truncation.
///
/// A packet without content ends after the headers that are known: the IP header, the UDP header where the protocol
/// is UDP, the TCP header of a segment. Its lengths are those of the whole packet. `scales` learns from the SYNs
/// among the segments; `datagram`: the content of a packet of lab-quic, if it can be written.
pub(crate) fn packet(
    out: &mut Vec<u8>,
    packet: &Packet,
    scales: &mut WindowScales,
    datagram: Option<&[u8]>,
) -> usize {
    let (protocol, content, segment) = match &packet.payload {
        Payload::Ip(bytes) => {
            out.extend_from_slice(bytes);
            return bytes.len();
        }
        Payload::Segment(segment) => (Protocol::Tcp, None, Some(segment)),
        Payload::Quic(_) => (Protocol::Udp, datagram, None),
        Payload::Bytes(bytes) if packet.tuple.protocol() == Protocol::Udp => {
            (Protocol::Udp, Some(&bytes[..]), None)
        }
        Payload::Bytes(_)
        | Payload::Empty
        | Payload::Datagram { .. }
        | Payload::Rtp(_)
        | Payload::MediaFeedback(_)
        | Payload::DeliveryStatus(_) => (packet.tuple.protocol(), None, None),
    };
    let udp = protocol == Protocol::Udp;
    let (source, destination) = (packet.tuple.source(), packet.tuple.destination());
    let ipv4 = source.is_ipv4() && destination.is_ipv4();
    let ip_header_bytes = if ipv4 { IPV4_HEADER } else { IPV6_HEADER };
    let size = usize::try_from(packet.size.bytes()).unwrap_or(usize::MAX);
    // bytes of the packet that are available for the header of a segment
    let available = segment.map(|segment| size.saturating_sub(ip_header_bytes + usize::from(segment.length)));
    let header_bytes = ip_header_bytes
        + match protocol {
            Protocol::Udp => UDP_HEADER,
            Protocol::Icmp => ICMP_HEADER,
            Protocol::Tcp => 0,
        }
        + segment.zip(available).map_or(0, |(segment, available)| tcp::header_bytes(segment, available));
    let total_bytes = match content {
        Some(content) => header_bytes + content.len(),
        None => size.max(header_bytes),
    };
    let transport_bytes = total_bytes - ip_header_bytes;
    match (source.ip(), destination.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let start = out.len();
            let [.., id_high, id_low] = packet.id.to_be_bytes();
            let [length_high, length_low] = length_field(total_bytes);
            out.extend_from_slice(&[0x45, packet.ecn.codepoint(), length_high, length_low, id_high, id_low]);
            out.extend_from_slice(&[0x40, 0x00, 64, protocol_number(protocol, true), 0, 0]);
            out.extend_from_slice(&from.octets());
            out.extend_from_slice(&to.octets());
            let checksum = finish(sum(&out[start..]));
            out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
        }
        (from, to) => {
            // A packet cannot have addresses of two families: write the IPv4 one as IPv4-mapped.
            let (from, to) = (ipv6(from), ipv6(to));
            let word = 0x6000_0000 | u32::from(packet.ecn.codepoint()) << 20 | packet.flow.0 & 0xf_ffff;
            out.extend_from_slice(&word.to_be_bytes());
            out.extend_from_slice(&length_field(transport_bytes));
            out.extend_from_slice(&[protocol_number(protocol, false), 64]);
            out.extend_from_slice(&from.octets());
            out.extend_from_slice(&to.octets());
        }
    }
    if udp {
        let start = out.len();
        out.extend_from_slice(&source.port().to_be_bytes());
        out.extend_from_slice(&destination.port().to_be_bytes());
        out.extend_from_slice(&length_field(transport_bytes));
        out.extend_from_slice(&[0, 0]);
        if let Some(content) = content {
            out.extend_from_slice(content);
        }
        if !ipv4 && content.is_some() {
            // "if that computation yields a result of zero, it must be changed to hex FFFF"
            let checksum = match checksum(out, start, ipv4, protocol, transport_bytes) {
                0 => 0xffff,
                checksum => checksum,
            };
            out[start + 6..start + 8].copy_from_slice(&checksum.to_be_bytes());
        }
    }
    if protocol == Protocol::Icmp {
        // an echo or its reply (RFC 792); the rest counts as zeros
        let start = out.len();
        out.extend_from_slice(&destination.port().to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&source.port().to_be_bytes());
        let number = if let Payload::Datagram { number, .. } = packet.payload { number as u16 } else { 0 };
        out.extend_from_slice(&number.to_be_bytes());
        let checksum = if ipv4 {
            finish(sum(&out[start..]))
        } else {
            checksum(out, start, ipv4, protocol, transport_bytes)
        };
        out[start + 2..start + 4].copy_from_slice(&checksum.to_be_bytes());
    }
    if let Some((segment, available)) = segment.zip(available) {
        let start = out.len();
        scales.note(packet.tuple, segment);
        tcp::header(out, packet.tuple, segment, available, scales);
        let checksum = checksum(out, start, ipv4, protocol, transport_bytes);
        out[start + 16..start + 18].copy_from_slice(&checksum.to_be_bytes());
    }
    total_bytes
}

/// Checksum of the bytes from `start` on and of the pseudo-header: the addresses, which end at `start`, the
/// protocol and the length (RFC 768, RFC 9293 section 3.1, RFC 8200 section 8.1).
fn checksum(out: &[u8], start: usize, ipv4: bool, protocol: Protocol, transport_bytes: usize) -> u16 {
    let addresses = &out[start - if ipv4 { 8 } else { 32 }..start];
    let pseudo_header = sum(addresses) + u64::from(protocol_number(protocol, ipv4)) + transport_bytes as u64;
    finish(pseudo_header + sum(&out[start..]))
}

/// A 16-bit length; 0 if it does not fit, as in captures of segments before segmentation offload.
fn length_field(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes).unwrap_or(0).to_be_bytes()
}

const fn protocol_number(protocol: Protocol, ipv4: bool) -> u8 {
    match protocol {
        Protocol::Tcp => 6,
        Protocol::Udp => 17,
        Protocol::Icmp if ipv4 => 1,
        Protocol::Icmp => 58,
    }
}

fn ipv6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}
