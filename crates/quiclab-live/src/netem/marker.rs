//! The packet that traverses the kernel in place of the simulated one: of the same length on the wire, with a number.
//!
//! Between quiclab's namespaces it is an IPv4 packet (RFC 791), so that fragments, the hop limit and IPv6 of the original do not
//! affect the kernel, and the kernel's changes of them do not affect the original. For queueing disciplines that read packets it
//! has the original's ECN field, and one of these:
//!
//! | [`MarkerFlow`] | protocol | source | destination | above IP |
//! | --- | --- | --- | --- | --- |
//! | `Address` | that for experiments (RFC 3692) | an address for each flow | always the same | the number |
//! | `Hosts` | TCP or UDP | an address for each host | an address for each host | ports that stand for the flow, the number, and of TCP the rest of the original's header |

use quiclab_core::Ecn;
use quiclab_core::ip::{IPV4_HEADER, checksum};

/// Minimum length of a marker: header and number.
pub const MIN_BYTES: usize = 24;
/// Minimum length of a marker with ports.
const MIN_BYTES_WITH_PORTS: usize = 28;
/// Protocol 253, "use for experimentation and testing".
const EXPERIMENT: u8 = 253;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Addresses for tests of network devices (RFC 2544), 198.18.0.0 and 198.19.0.0: no host of a run has them.
const FROM: [u8; 2] = [198, 18];
const TO: [u8; 2] = [198, 19];
/// Destination address if it has no meaning.
const ONE_DESTINATION: u16 = 1;
/// Offset after the sequence number in a header of TCP: the rest is the original's.
const AFTER_SEQUENCE: usize = 8;

/// Fields by which a queueing discipline may classify packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct MarkerClass<'a> {
    /// The ECN field.
    pub ecn: Ecn,
    /// Its flow.
    pub flow: MarkerFlow<'a>,
}

/// Representation of a packet's flow in its marker.
#[derive(Clone, Copy, Debug)]
pub enum MarkerFlow<'a> {
    /// A number for the flow: different for most different flows.
    Address(u16),
    /// For disciplines that distinguish hosts, or read headers of TCP.
    Hosts {
        /// Numbers for source and destination.
        hosts: [u16; 2],
        /// A number for the flow.
        flow: u32,
        /// The header of TCP with its options; empty if the packet is not a segment.
        segment: &'a [u8],
    },
}

impl Default for MarkerFlow<'_> {
    fn default() -> Self {
        Self::Address(0)
    }
}

/// Writes marker `number` of `length` bytes into `buffer` and returns it.
///
/// # Panics
/// If the buffer is shorter than the marker.
pub fn write<'a>(buffer: &'a mut [u8], number: u32, length: usize, class: MarkerClass<'_>) -> &'a [u8] {
    let (protocol, hosts, least) = match class.flow {
        MarkerFlow::Address(flow) => (EXPERIMENT, [flow, ONE_DESTINATION], MIN_BYTES),
        MarkerFlow::Hosts { hosts, segment: [], .. } => (UDP, hosts, MIN_BYTES_WITH_PORTS),
        MarkerFlow::Hosts { hosts, segment, .. } => (TCP, hosts, IPV4_HEADER + segment.len()),
    };
    let total = u16::try_from(length.max(least)).unwrap_or(u16::MAX);
    let [high, low] = total.to_be_bytes();
    let [.., id_high, id_low] = number.to_be_bytes();
    let packet = &mut buffer[..usize::from(total)];
    // version and header length; total length; identification; don't fragment; hop limit; protocol; checksum
    packet[..12].copy_from_slice(&[
        0x45,
        class.ecn.codepoint(),
        high,
        low,
        id_high,
        id_low,
        0x40,
        0,
        64,
        protocol,
        0,
        0,
    ]);
    let [source, destination] = hosts.map(u16::to_be_bytes);
    packet[12..20].copy_from_slice(&[FROM, source, TO, destination].concat());
    let checksum = checksum::finish(checksum::sum(&packet[..IPV4_HEADER]));
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    match class.flow {
        MarkerFlow::Address(_) => packet[IPV4_HEADER..MIN_BYTES].copy_from_slice(&number.to_be_bytes()),
        MarkerFlow::Hosts { flow, segment, .. } => {
            let above = &mut packet[IPV4_HEADER..];
            above[..4].copy_from_slice(&flow.to_be_bytes());
            // the sequence number of TCP; length and checksum of UDP, which no hop reads
            above[4..AFTER_SEQUENCE].copy_from_slice(&number.to_be_bytes());
            if let Some(rest) = segment.get(AFTER_SEQUENCE..) {
                above[AFTER_SEQUENCE..segment.len()].copy_from_slice(rest);
            }
        }
    }
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
    let ours =
        packet.len() >= MIN_BYTES && packet[0] == 0x45 && packet[12..14] == FROM && packet[16..18] == TO;
    let at = match packet.get(9) {
        Some(&EXPERIMENT) => IPV4_HEADER,
        Some(&(TCP | UDP)) => IPV4_HEADER + 4,
        _ => return None,
    };
    let number = packet.get(at..).filter(|_| ours)?.first_chunk()?;
    Some(u32::from_be_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checksum_of(packet: &[u8]) -> u32 {
        let sum: u32 =
            packet[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        (sum & 0xffff) + (sum >> 16)
    }

    #[test]
    fn a_marker_has_its_length_and_number_and_a_right_checksum() {
        let mut buffer = [0; 2000];
        let flow = MarkerFlow::Address(7);
        for (marker, length) in [(0, 24), (1, 40), (0xdead_beef, 1514)] {
            let packet = write(&mut buffer, marker, length, MarkerClass { ecn: Ecn::Ect0, flow });
            assert_eq!((packet.len(), number(packet), is_marked(packet)), (length, Some(marker), false));
            assert_eq!(checksum_of(packet), 0xffff);
        }
        assert_eq!(write(&mut buffer, 7, 3, MarkerClass::default()).len(), MIN_BYTES);
    }

    #[test]
    fn hosts_are_addresses_and_the_header_of_tcp_is_the_original_s() {
        let mut buffer = [0; 2000];
        // ports, sequence number, acknowledgement number, 5 words and ACK, window, checksum, urgent pointer
        let segment = [1, 187, 195, 80, 0, 0, 0, 9, 0, 0, 0, 5, 0x50, 0x10, 1, 0, 3, 4, 0, 0];
        let mut with = |segment: &[u8], length| {
            let flow = MarkerFlow::Hosts { hosts: [258, 3], flow: 0x0a0b_0c0d, segment };
            write(&mut buffer, 77, length, MarkerClass { ecn: Ecn::Ce, flow }).to_vec()
        };
        let ack = with(&segment, 40);
        assert_eq!((ack.len(), number(&ack), is_marked(&ack)), (40, Some(77), true));
        assert_eq!(checksum_of(&ack), 0xffff);
        assert_eq!((ack[9], &ack[12..20]), (TCP, &[198, 18, 1, 2, 198, 19, 0, 3][..]));
        assert_eq!(ack[20..28], [10, 11, 12, 13, 0, 0, 0, 77]);
        assert_eq!(ack[28..], segment[8..]);
        let datagram = with(&[], 20);
        assert_eq!((datagram.len(), datagram[9], number(&datagram)), (28, UDP, Some(77)));
    }

    #[test]
    fn other_packets_have_no_number() {
        let mut buffer = [0; 100];
        write(&mut buffer, 5, 60, MarkerClass::default());
        assert_eq!(number(&buffer[..23]), None);
        buffer[9] = 1;
        assert_eq!(number(&buffer[..60]), None);
        buffer[9] = UDP;
        buffer[16] = 10;
        assert_eq!(number(&buffer[..60]), None);
    }
}
