//! The mark "congestion experienced" (RFC 3168 section 5).

use super::checksum::replaced;

/// Sets the mark in a packet that [`super::read`] has read; the checksum of IPv4 follows (RFC 1624).
pub fn mark_ce(packet: &mut [u8]) {
    if packet[0] >> 4 == 6 {
        packet[1] |= 0x30;
        return;
    }
    let before = [packet[0], packet[1]];
    packet[1] |= 3;
    let checksum = replaced(u16::from_be_bytes([packet[10], packet[11]]), &before, &packet[..2]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}
