//! The ECN field in a packet (RFC 3168 section 5).

use super::checksum::replaced;
use super::tuple::Ecn;

/// Sets the ECN field of a packet that [`super::read`] has read, and updates the checksum of IPv4 (RFC 1624).
pub fn set_ecn(packet: &mut [u8], field: Ecn) {
    if packet[0] >> 4 == 6 {
        packet[1] = packet[1] & !0x30 | field.codepoint() << 4;
        return;
    }
    let before = [packet[0], packet[1]];
    packet[1] = packet[1] & !3 | field.codepoint();
    let checksum = replaced(u16::from_be_bytes([packet[10], packet[11]]), &before, &packet[..2]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}
