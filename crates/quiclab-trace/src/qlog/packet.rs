//! The `header` and `raw` fields of `quic:packet_sent` and `quic:packet_received`.
//!
//! After draft-ietf-quic-qlog-quic-events-13 section 8.8 and RFC 9000 section 17.
//!
//! | field | choice |
//! | --- | --- |
//! | `dcid` | on every packet, also 1-RTT: there are no `connection_id_updated` events |
//! | `raw.length` | whole packet, with the 16 bytes of the AEAD tag (section 1.2), not the Length field |
//! | `key_phase_bit` | only where set |
//! | `path_id` | of Multipath QUIC, on packets of all paths but 0: part of a packet's identity, as in the qlog of noq; |
//! | | the draft leaves it to extensions |
//! | `spin_bit`, `packet_number_length` | omitted: nothing here depends on them |

use super::json::{hex, raw, uint};
use quiclab_core::PacketSpace;
use quiclab_core::quic::Cursor;

/// Bytes of the AEAD tag of every cipher suite of QUIC version 1 (RFC 9001 section 5.3).
const AEAD_TAG_BYTES: u64 = 16;
/// Bit of the first byte that distinguishes long headers from short ones (RFC 9000 section 17.2).
const LONG_HEADER: u8 = 0x80;
/// Key Phase bit of a short header (RFC 9000 section 17.3.1).
const KEY_PHASE: u8 = 0x04;

/// Name of a packet type.
pub(super) const fn packet_type(space: PacketSpace) -> &'static str {
    match space {
        PacketSpace::Initial => "initial",
        PacketSpace::Handshake => "handshake",
        PacketSpace::ZeroRtt => "0RTT",
        PacketSpace::OneRtt => "1RTT",
    }
}

/// Appends `"header":{"packet_type":...,"packet_number":...` without the closing brace.
pub(super) fn open_header(out: &mut Vec<u8>, space: PacketSpace, path: u32, number: u64) {
    raw(out, "\"header\":{\"packet_type\":\"");
    raw(out, packet_type(space));
    uint(out, "\",\"packet_number\":", number);
    if path > 0 {
        uint(out, ",\"path_id\":", path.into());
    }
}

/// A packet as reported by a transport; `header` is without header protection.
pub(super) struct TransportPacket<'a> {
    pub(super) space: PacketSpace,
    pub(super) path: u32,
    pub(super) number: u64,
    pub(super) header: &'a [u8],
    pub(super) payload: &'a [u8],
}

/// Appends the fields `header` and `raw`.
pub(super) fn header_and_raw(out: &mut Vec<u8>, packet: &TransportPacket<'_>) {
    let TransportPacket { space, path, number, header, payload } = *packet;
    open_header(out, space, path, number);
    if let Some((&first, rest)) = header.split_first() {
        if first & LONG_HEADER == 0 {
            // The rest is the connection ID and the packet number, whose length is in the two low bits; the
            // header does not contain the length of the connection ID.
            let packet_number_bytes = usize::from(first & 0x03) + 1;
            let dcid = &rest[..rest.len().saturating_sub(packet_number_bytes)];
            if !dcid.is_empty() {
                hex(out, ",\"dcid\":", dcid);
            }
            if first & KEY_PHASE != 0 {
                raw(out, ",\"key_phase_bit\":true");
            }
        } else {
            // A truncated header is logged up to its end.
            let _complete = long_header(out, Cursor::new(rest), space);
        }
    }
    let payload_length = payload.len() as u64;
    uint(out, "},\"raw\":{\"length\":", header.len() as u64 + payload_length + AEAD_TAG_BYTES);
    uint(out, ",\"payload_length\":", payload_length);
    raw(out, "}");
}

/// Appends the fields of a long header (RFC 9000 section 17.2); `None` if it ends too early.
fn long_header(out: &mut Vec<u8>, mut cursor: Cursor<'_>, space: PacketSpace) -> Option<()> {
    hex(out, ",\"version\":", cursor.array::<4>()?);
    let dcid = cursor.byte_prefixed()?;
    uint(out, ",\"dcil\":", dcid.len() as u64);
    hex(out, ",\"dcid\":", dcid);
    let scid = cursor.byte_prefixed()?;
    uint(out, ",\"scil\":", scid.len() as u64);
    hex(out, ",\"scid\":", scid);
    if space == PacketSpace::Initial {
        let token = cursor.prefixed()?;
        if !token.is_empty() {
            uint(out, ",\"token\":{\"raw\":{\"length\":", token.len() as u64);
            raw(out, "}}");
        }
    }
    Some(())
}
