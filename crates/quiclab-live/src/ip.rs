//! Fields of a real IP packet that the elements need.

use quiclab_core::ip::{IPV4_HEADER, UDP_HEADER, read};
use quiclab_core::{Ecn, FiveTuple, Protocol};
use std::net::SocketAddr;

/// Fields of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Addresses and ports; ports are 0 if there are none, and in fragments.
    pub tuple: FiveTuple,
    /// ECN field.
    pub ecn: Ecn,
    /// Bytes above TCP or UDP, or above IP for other protocols.
    pub payload_bytes: usize,
}

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Bytes of a header of TCP without options.
const TCP_HEADER: usize = 20;

/// Reads a packet from a device. `None` if it is not an IP packet.
#[must_use]
pub fn parse(packet: &[u8]) -> Option<Header> {
    let (header, _) = read(packet).ok().filter(|(header, _)| header.payload >= IPV4_HEADER)?;
    let rest = packet.get(header.payload..)?;
    let protocol = if header.protocol == TCP { Protocol::Tcp } else { Protocol::Udp };
    let above = match header.protocol {
        TCP if header.is_first() => rest.get(12).map_or(0, |offset| usize::from(offset >> 4) * 4),
        UDP if header.is_first() => UDP_HEADER,
        _ => 0,
    };
    let ports = match rest.first_chunk() {
        Some(&[a, b, c, d]) if header.is_first() && matches!(header.protocol, TCP | UDP) => {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        _ => (0, 0),
    };
    let source = SocketAddr::new(header.source, ports.0);
    let destination = SocketAddr::new(header.destination, ports.1);
    Some(Header {
        tuple: FiveTuple::new(protocol, source, destination),
        ecn: header.ecn,
        payload_bytes: rest.len().saturating_sub(above),
    })
}

/// Header of TCP, with its options, of an IPv4 packet. `None` if it is not a segment, or incomplete.
#[must_use]
pub fn tcp_header(packet: &[u8]) -> Option<&[u8]> {
    let (header, malformed) = read(packet).ok()?;
    let whole = malformed.is_none() && header.fragment.is_none() && header.source.is_ipv4();
    let segment = packet.get(header.payload..).filter(|_| whole && header.protocol == TCP)?;
    let length = usize::from(*segment.get(12)? >> 4) * 4;
    segment.get(..length).filter(|header| header.len() >= TCP_HEADER)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 header by hand: TCP from 10.1.0.0:443 to 10.2.0.0:50000, ECT(0), checksum computed.
    fn segment() -> Vec<u8> {
        let mut packet = vec![0x45, 2, 0, 50, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 1, 0, 0, 10, 2, 0, 0];
        let sum = checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend([1, 187, 0xc3, 0x50, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
        packet.extend([7; 10]);
        packet
    }

    fn checksum(header: &[u8]) -> u16 {
        let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        !((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn a_segment_has_a_header_with_its_options() {
        let mut packet = segment();
        assert_eq!(tcp_header(&packet), Some(&packet[20..40]));
        packet[32] = 0x70;
        assert_eq!(tcp_header(&packet).unwrap().len(), 28);
        // longer than the packet, shorter than any, a fragment, not TCP
        for (at, byte) in [(32, 0xf0), (32, 0x40), (6, 0x20), (9, UDP)] {
            let mut other = segment();
            other[at] = byte;
            assert_eq!(tcp_header(&other), None, "byte {at}");
        }
    }

    #[test]
    fn reads_ipv4_and_ipv6() {
        let header = parse(&segment()).unwrap();
        assert_eq!(header.tuple.protocol(), Protocol::Tcp);
        assert_eq!(header.tuple.source(), "10.1.0.0:443".parse().unwrap());
        assert_eq!(header.tuple.destination(), "10.2.0.0:50000".parse().unwrap());
        assert_eq!((header.ecn, header.payload_bytes), (Ecn::Ect0, 10));
        let mut six = vec![0x60, 0x10, 0, 0, 0, 12, 17, 64];
        six.extend([1; 32]);
        six.extend([0, 1, 0, 2, 0, 12, 0, 0, 9, 9, 9, 9]);
        let header = parse(&six).unwrap();
        assert_eq!(header.tuple.protocol(), Protocol::Udp);
        assert_eq!((header.tuple.source().port(), header.tuple.destination().port()), (1, 2));
        assert_eq!((header.ecn, header.payload_bytes), (Ecn::Ect1, 4));
    }

    #[test]
    fn what_is_cut_short_or_no_packet_is_no_header() {
        let whole = segment();
        for length in 0..20 {
            assert_eq!(parse(&whole[..length]), None, "{length}");
        }
        assert_eq!(parse(&[0x20; 60]), None);
        assert_eq!(parse(&[0x41; 60]), None, "a header of four bytes");
        // a fragment that is not the first has no ports
        let mut fragment = segment();
        fragment[7] = 9;
        assert_eq!(parse(&fragment).unwrap().tuple.source().port(), 0);
    }
}
