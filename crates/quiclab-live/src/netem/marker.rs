//! The packet that traverses the kernel in place of the simulated one: of the same length on the wire, with a number.
//!
//! Between quiclab's namespaces it is an IPv4 packet (RFC 791) of the protocol for experiments (RFC 3692), so that
//! ports, fragments, the hop limit and IPv6 of the original are of no account to the kernel, nor what the kernel
//! does with them to the original. Its number is in the first bytes above IP. For queueing disciplines that look at
//! packets it has the original's ECN field, and a source address for each flow.

use quiclab_core::Ecn;
use quiclab_core::ip::{IPV4_HEADER, checksum};
use std::net::Ipv4Addr;

/// Shortest marker: header and number.
pub const MIN_BYTES: usize = 24;
/// Protocol 253, "use for experimentation and testing".
const PROTOCOL: u8 = 253;
/// Addresses for tests of network devices (RFC 2544): no host of a run has them.
const NETWORK: [u8; 2] = [198, 18];
const TO: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);

/// What a queueing discipline may tell packets by.
#[derive(Clone, Copy, Debug, Default)]
pub struct MarkerClass {
    /// The ECN field.
    pub ecn: Ecn,
    /// A number for the flow: different for most flows that differ.
    pub flow: u16,
}

/// Writes marker `number` of `length` bytes into `buffer` and gives it.
///
/// # Panics
/// If the buffer is shorter than the marker.
pub fn write(buffer: &mut [u8], number: u32, length: usize, look: MarkerClass) -> &[u8] {
    let length = length.max(MIN_BYTES);
    let total = u16::try_from(length).unwrap_or(u16::MAX);
    let [high, low] = total.to_be_bytes();
    let [.., id_high, id_low] = number.to_be_bytes();
    let packet = &mut buffer[..usize::from(total)];
    // version and header length; total length; identification; don't fragment; hop limit; protocol; checksum
    packet[..12].copy_from_slice(&[
        0x45,
        look.ecn.codepoint(),
        high,
        low,
        id_high,
        id_low,
        0x40,
        0,
        64,
        PROTOCOL,
        0,
        0,
    ]);
    packet[12..14].copy_from_slice(&NETWORK);
    packet[14..16].copy_from_slice(&look.flow.to_be_bytes());
    packet[16..20].copy_from_slice(&TO.octets());
    let checksum = checksum::finish(checksum::sum(&packet[..IPV4_HEADER]));
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet[IPV4_HEADER..MIN_BYTES].copy_from_slice(&number.to_be_bytes());
    packet
}

/// Whether a marker has been marked "congestion experienced".
#[must_use]
pub fn is_marked(packet: &[u8]) -> bool {
    packet.get(1).is_some_and(|byte| Ecn::from_codepoint(*byte) == Ecn::Ce)
}

/// Number of a marker; `None` for any other packet.
#[must_use]
pub fn number(packet: &[u8]) -> Option<u32> {
    let ours = packet.len() >= MIN_BYTES
        && packet[0] == 0x45
        && packet[9] == PROTOCOL
        && packet[12..14] == NETWORK
        && packet[16..20] == TO.octets();
    let number = ours.then(|| packet[IPV4_HEADER..MIN_BYTES].try_into().expect("four bytes"))?;
    Some(u32::from_be_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_has_its_length_and_number_and_a_right_checksum() {
        let mut buffer = [0; 2000];
        for (marker, length) in [(0, 24), (1, 40), (0xdead_beef, 1514)] {
            let packet = write(&mut buffer, marker, length, MarkerClass { ecn: Ecn::Ect0, flow: 7 });
            assert_eq!((packet.len(), number(packet), is_marked(packet)), (length, Some(marker), false));
            let sum: u32 =
                packet[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
            assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
        }
        assert_eq!(write(&mut buffer, 7, 3, MarkerClass::default()).len(), MIN_BYTES);
    }

    #[test]
    fn other_packets_have_no_number() {
        let mut buffer = [0; 100];
        write(&mut buffer, 5, 60, MarkerClass::default());
        assert_eq!(number(&buffer[..23]), None);
        buffer[9] = 17;
        assert_eq!(number(&buffer[..60]), None);
    }
}
