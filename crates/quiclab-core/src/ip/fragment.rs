//! Division of an IPv4 packet that allows it (RFC 791 section 3.2).
//!
//! Difference from Linux: options are copied into every fragment, also those without the "copied" flag, as in its fast
//! path for packets without options (which nearly all are).

use super::checksum;
use super::header::parse;
use super::length::IPV4_HEADER;

/// Maximum data length of an IPv4 packet with the shortest header.
const MAX_DATA: usize = 65_535 - IPV4_HEADER;

/// Divides `packet` into fragments of at most `mtu` bytes; `None` if it must not be divided (DF, IPv6), is no valid
/// packet, has no data or ends beyond the 65 535 bytes of a whole packet, or if `mtu` has no room for eight bytes of
/// data.
#[must_use]
pub fn fragment(packet: &[u8], mtu: u16) -> Option<Vec<Vec<u8>>> {
    let header = parse(packet).ok()?;
    let (head, data) = packet[..header.length].split_at(header.payload);
    if header.dont_fragment || usize::from(mtu) < header.payload + 8 {
        return None;
    }
    let before = header.fragment;
    // the offsets of such fragments would begin at 0 again
    if data.is_empty() || before.map_or(0, |fragment| fragment.offset) + data.len() > MAX_DATA {
        return None;
    }
    // in units of eight bytes, except in the last
    let room = (usize::from(mtu) - header.payload) / 8 * 8;
    let count = data.len().div_ceil(room);
    let pieces = data.chunks(room).enumerate().map(|(index, piece)| {
        let offset = before.map_or(0, |fragment| fragment.offset) + index * room;
        let more = index + 1 < count || before.is_some_and(|fragment| fragment.more);
        let mut fragment = [head, piece].concat();
        let length = fragment.len() as u16;
        fragment[2..4].copy_from_slice(&length.to_be_bytes());
        let place = u16::from(more) << 13 | (offset / 8) as u16;
        fragment[6..8].copy_from_slice(&place.to_be_bytes());
        fragment[10..12].fill(0);
        let sum = checksum::finish(checksum::sum(&fragment[..head.len()]));
        fragment[10..12].copy_from_slice(&sum.to_be_bytes());
        fragment
    });
    Some(pieces.collect())
}
