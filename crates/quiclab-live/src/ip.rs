//! What the elements need to know of a real IP packet, and the one field that they may change.
//!
//! After RFC 791, RFC 8200, RFC 3168 section 5 and RFC 1624 (incremental checksum).

use quiclab_core::{Ecn, FiveTuple, Protocol};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What is read of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Addresses and ports; ports are 0 where there are none, or in fragments.
    pub tuple: FiveTuple,
    /// ECN field.
    pub ecn: Ecn,
    /// Bytes above TCP or UDP, or above IP where it is neither.
    pub payload_bytes: usize,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Reads a packet as a device gives it. `None` if it is not an IP packet.
#[must_use]
pub fn parse(packet: &[u8]) -> Option<Header> {
    let (source, destination, next, header, traffic_class, whole) = match packet.first()? >> 4 {
        4 => {
            let length = usize::from(packet[0] & 15) * 4;
            let fixed = packet.get(..20)?;
            let address = |at: usize| -> IpAddr {
                let octets: [u8; 4] = fixed[at..at + 4].try_into().expect("four octets");
                Ipv4Addr::from(octets).into()
            };
            let first_fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x1fff == 0;
            (length >= 20).then_some(())?;
            (address(12), address(16), fixed[9], length, fixed[1], first_fragment)
        }
        6 => {
            let fixed = packet.get(..40)?;
            let address = |at: usize| -> IpAddr {
                let octets: [u8; 16] = fixed[at..at + 16].try_into().expect("sixteen octets");
                Ipv6Addr::from(octets).into()
            };
            (address(8), address(24), fixed[6], 40, fixed[0] << 4 | fixed[1] >> 4, true)
        }
        _ => return None,
    };
    let rest = packet.get(header..)?;
    let protocol = if next == TCP { Protocol::Tcp } else { Protocol::Udp };
    let ports = match rest.get(..4) {
        Some(&[a, b, c, d]) if whole && matches!(next, TCP | UDP) => {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        _ => (0, 0),
    };
    let above = match next {
        TCP if whole => rest.get(12).map_or(0, |offset| usize::from(offset >> 4) * 4),
        UDP if whole => 8,
        _ => 0,
    };
    let tuple =
        FiveTuple::new(protocol, SocketAddr::new(source, ports.0), SocketAddr::new(destination, ports.1));
    let ecn = match traffic_class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    };
    Some(Header { tuple, ecn, payload_bytes: rest.len().saturating_sub(above) })
}

/// Sets the mark "congestion experienced" in a packet that [`parse`] has read.
pub fn mark(packet: &mut [u8]) {
    if packet[0] >> 4 == 6 {
        packet[1] |= 0x30;
        return;
    }
    let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let before = word(packet, 0);
    packet[1] |= 3;
    // RFC 1624 section 3: HC' = ~(~HC + ~m + m')
    let sum = u32::from(!word(packet, 10)) + u32::from(!before) + u32::from(word(packet, 0));
    let sum = (sum & 0xffff) + (sum >> 16);
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
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
        mark(&mut six);
        assert_eq!(parse(&six).unwrap().ecn, Ecn::Ce);
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        let mut packet = segment();
        assert_eq!(checksum(&packet[..20]), 0);
        mark(&mut packet);
        assert_eq!(checksum(&packet[..20]), 0);
        assert_eq!(parse(&packet).unwrap().ecn, Ecn::Ce);
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
