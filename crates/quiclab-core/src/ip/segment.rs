//! Purpose of a TCP segment (RFC 9293 section 3.1).

use super::header::parse;
use super::length::TCP_HEADER;

const TCP: u8 = 6;
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;

/// Kind of a segment, as far as it matters to a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// Initiates a connection.
    Syn,
    /// Aborts a connection.
    Reset,
    /// Contains data or FIN: retransmitted until it is acknowledged.
    Data,
    /// Acknowledgement without data.
    Acknowledgement,
}

/// Kind of a TCP segment; `None` if the packet is not TCP, or a fragment without the TCP header.
#[must_use]
pub fn segment_kind(packet: &[u8]) -> Option<SegmentKind> {
    let header = parse(packet).ok().filter(|header| header.protocol == TCP && header.is_first())?;
    let segment = packet.get(header.payload..header.length).filter(|segment| segment.len() >= TCP_HEADER)?;
    let (flags, data) = (segment[13], usize::from(segment[12] >> 4) * 4);
    Some(if flags & SYN != 0 {
        SegmentKind::Syn
    } else if flags & RST != 0 {
        SegmentKind::Reset
    } else if flags & FIN != 0 || segment.len() > data {
        SegmentKind::Data
    } else {
        SegmentKind::Acknowledgement
    })
}
