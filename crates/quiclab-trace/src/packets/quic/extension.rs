//! Frames of extensions that the parser of an endpoint does not know: length and acknowledged packets.
//!
//! | type | frame, source |
//! | --- | --- |
//! | 0x02f5 | TIME_STAMP: draft-huitema-quic-ts; picoquic sends it in front of ACK, and it is not ack-eliciting |
//! | 0xac | IMMEDIATE_ACK: draft-ietf-quic-ack-frequency up to -05, mvfst |
//! | 0xb0, 0xb1 | ACK_RECEIVE_TIMESTAMPS (mvfst), ACK_EXTENDED (draft-ietf-quic-receive-ts): they begin as ACK does |
//! | 0x1550 | KNOB: mvfst, `quic/codec/Types.h` |
//! | 0xebd9 | BDP_FRAME: picoquic, `frames.c` |
//! | 0x3d7f90 to 0x3d7f94 | addresses for NAT traversal: noq, `frame.rs` |
//! | 0x9f81a6, 0x9f81a7 | OBSERVED_ADDRESS: draft-ietf-quic-address-discovery |
//! | 0xbaba00, 0xbaba01 | ACK_MP: draft-ietf-quic-multipath up to -04 |
//! | 0x15228c00 to 0x15228c0d | frames of draft-ietf-quic-multipath-05 to -20; names after Wireshark's `packet-quic.c` |
//!
//! PATH_ABANDON (0x15228c05) had a reason phrase up to some draft, PATH_CIDS_BLOCKED (0x15228c0e) a second field from some
//! draft on: their end cannot be determined, so they count as unknown.

use quiclab_core::quic::{Ack, Cursor};

/// Content of a frame after its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extension<'a> {
    /// An ACK frame of a path; `rest`: whether the frames after it can be read.
    Ack { path: u64, ack: Ack<'a>, rest: bool },
    /// A connection ID.
    NewId { path: u64, sequence: u64, id: &'a [u8] },
    /// Any other frame; whether it is ack-eliciting.
    Other { eliciting: bool },
}

/// Reads a frame from its type on, and consumes it; `None` if the type is unknown or the frame malformed.
pub(super) fn extension<'a>(cursor: &mut Cursor<'a>) -> Option<Extension<'a>> {
    let frame_type = cursor.varint()?;
    let numbers =
        |cursor: &mut Cursor<'a>, count: usize| (0..count).try_for_each(|_| cursor.varint().map(drop));
    let other = Extension::Other { eliciting: true };
    Some(match frame_type {
        0x02f5 => {
            numbers(cursor, 1)?;
            Extension::Other { eliciting: false }
        }
        0xac => other,
        0xb0 | 0xb1 => Extension::Ack { path: 0, ack: Ack::parse(cursor, false).ok()?, rest: false },
        0x1550 => {
            numbers(cursor, 2)?;
            cursor.prefixed()?;
            other
        }
        0xebd9 => {
            numbers(cursor, 3)?;
            cursor.prefixed()?;
            other
        }
        0x3d7f90..=0x3d7f93 | 0x9f81a6 | 0x9f81a7 => {
            numbers(cursor, 1)?;
            address(cursor, frame_type & 1 == 1)?;
            other
        }
        0x3d7f94 | 0x1522_8c0b..=0x1522_8c0d => {
            numbers(cursor, 1)?;
            other
        }
        0xbaba00 | 0xbaba01 | 0x1522_8c00 | 0x1522_8c01 => {
            let path = cursor.varint()?;
            Extension::Ack { path, ack: Ack::parse(cursor, frame_type & 1 == 1).ok()?, rest: true }
        }
        0x1522_8c06 => {
            numbers(cursor, 3)?;
            other
        }
        0x1522_8c07 | 0x1522_8c08 | 0x1522_8c0a => {
            numbers(cursor, 2)?;
            other
        }
        0x1522_8c09 => {
            let (path, sequence, _) = (cursor.varint()?, cursor.varint()?, cursor.varint()?);
            let id = cursor.byte_prefixed().filter(|id| (1..=20).contains(&id.len()))?;
            cursor.array::<16>()?;
            Extension::NewId { path, sequence, id }
        }
        _ => return None,
    })
}

/// An address of IPv4 or IPv6, and a port.
fn address(cursor: &mut Cursor<'_>, six: bool) -> Option<()> {
    cursor.bytes(if six { 18 } else { 6 }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types as encoded, by hand: 0x42f5 is 0x02f5 in two bytes, 0x9522_8c00 is 0x1522_8c00 in four.
    #[test]
    fn frames_end_where_their_drafts_say() {
        let four = |frame_type: u32| (frame_type | 0x8000_0000).to_be_bytes().to_vec();
        let id = [[0x55; 4].to_vec(), vec![0; 16]].concat();
        for (bytes, length) in [
            (vec![0x42, 0xf5, 0x80, 0, 1, 0], 6),
            (vec![0x40, 0xac], 2),
            (vec![0x55, 0x50, 1, 2, 3, 7, 7, 7], 8),
            ([four(0xebd9), vec![1, 2, 3, 2, 9, 9]].concat(), 10),
            ([four(0x9f81a6), vec![1, 1, 2, 3, 4, 5, 6]].concat(), 11),
            ([four(0x9f81a7), vec![0; 19]].concat(), 23),
            ([four(0x3d7f94), vec![0]].concat(), 5),
            ([four(0x1522_8c00), vec![1, 9, 0, 0, 0]].concat(), 9),
            ([four(0x1522_8c01), vec![1, 9, 0, 0, 0, 1, 2, 3]].concat(), 12),
            ([four(0xbaba00), vec![1, 9, 0, 1, 1, 1, 2]].concat(), 11),
            ([four(0x1522_8c07), vec![1, 2]].concat(), 6),
            ([four(0x1522_8c09), vec![1, 0, 0, 4], id].concat(), 28),
        ] {
            let padded = [&bytes[..], &[1; 3]].concat();
            let mut cursor = Cursor::new(&padded);
            assert!(extension(&mut cursor).is_some(), "{bytes:x?}");
            assert_eq!(padded.len() - cursor.rest().len(), length, "{bytes:x?}");
            for cut in 1..bytes.len() {
                let found = extension(&mut Cursor::new(&bytes[..cut]));
                assert!(found.is_none(), "{:x?}", &bytes[..cut]);
            }
        }
        assert_eq!(extension(&mut Cursor::new(&[0x40, 0xfe, 0])), None);
        let abandon = [four(0x1522_8c05), vec![1, 0]].concat();
        assert_eq!(extension(&mut Cursor::new(&abandon)), None, "its end cannot be told");
    }
}
