//! Sizes of the frames about streams (RFC 9000 section 19; Google QUIC 37).
//!
//! A stream needs the size of a STREAM frame's header before the frame exists.
//!
//! | gQUIC 37 (Chromium `QuicFramer::GetMinStreamFrameSize`) | bytes |
//! | --- | --- |
//! | type | 1 |
//! | stream ID | 1 to 4, as few as it needs: the n-th is 2n + 5 of a client, 2n + 2 of a server |
//! | offset | 0, or 2 to 8, as few as it needs |
//! | data length | 2; none if the frame is the last |

use crate::workload::StreamId;
use quiclab_core::quic::{QuicFrame, Wire, varint_length};

/// Size in bytes of a STREAM frame before its Length field.
pub(super) fn stream_header(wire: Wire, id: StreamId, offset: u64) -> usize {
    match wire {
        Wire::V1 => 1 + varint_length(id.0) + if offset > 0 { varint_length(offset) } else { 0 },
        Wire::Gquic37 => {
            1 + bytes(2 * id.index() + if id.is_of_server() { 2 } else { 5 })
                + if offset > 0 { bytes(offset).max(2) } else { 0 }
        }
    }
}

/// Size of its Length field in bytes.
pub(super) fn length_field(wire: Wire, length: u64) -> usize {
    match wire {
        Wire::V1 => varint_length(length),
        Wire::Gquic37 => 2,
    }
}

/// Maximum size of a frame about limits, resets and similar.
pub(super) fn control(wire: Wire, frame: &QuicFrame) -> usize {
    if wire == Wire::Gquic37 {
        return 17; // RST_STREAM: type, stream ID (4), byte offset (8), error code (4)
    }
    let varints = |values: &[u64]| 1 + values.iter().map(|value| varint_length(*value)).sum::<usize>();
    match *frame {
        QuicFrame::ResetStream { stream_id, error_code, final_size } => {
            varints(&[stream_id, error_code, final_size])
        }
        QuicFrame::StopSending { stream_id, error_code } => varints(&[stream_id, error_code]),
        QuicFrame::MaxStreamData { stream_id, maximum: value }
        | QuicFrame::StreamDataBlocked { stream_id, limit: value } => varints(&[stream_id, value]),
        QuicFrame::MaxData { maximum: value }
        | QuicFrame::MaxStreams { maximum: value, .. }
        | QuicFrame::DataBlocked { limit: value }
        | QuicFrame::StreamsBlocked { limit: value, .. } => varints(&[value]),
        _ => unreachable!("no other frame is about streams"),
    }
}

/// Number of bytes for `value`.
fn bytes(value: u64) -> usize {
    (u64::BITS - value.leading_zeros()).div_ceil(8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_as_short_as_its_numbers_allow() {
        let v1 = |id, offset| stream_header(Wire::V1, StreamId(id), offset);
        assert_eq!(
            [v1(0, 0), v1(63, 1), v1(64, 63), v1(0, 64), v1(0, 1 << 14), v1(0, 1 << 30)],
            [2, 3, 4, 4, 6, 10]
        );
        let gquic = |id, offset| stream_header(Wire::Gquic37, StreamId(id), offset);
        assert_eq!(
            [gquic(0, 0), gquic(4 * 125, 1), gquic(4 * 126 + 1, 1 << 16), gquic(0, u64::MAX)],
            [2, 4, 5, 10]
        );
        assert_eq!(
            [length_field(Wire::V1, 63), length_field(Wire::V1, 64), length_field(Wire::Gquic37, 1)],
            [1, 2, 2]
        );
    }

    #[test]
    fn control_frames_are_types_and_numbers() {
        let v1 = |frame: QuicFrame| control(Wire::V1, &frame);
        assert_eq!(v1(QuicFrame::ResetStream { stream_id: 4, error_code: 0, final_size: 1 << 20 }), 7);
        assert_eq!(v1(QuicFrame::StopSending { stream_id: 4, error_code: 0 }), 3);
        assert_eq!(v1(QuicFrame::MaxStreamData { stream_id: 64, maximum: 64 }), 5);
        assert_eq!(v1(QuicFrame::MaxData { maximum: 1 << 30 }), 9);
    }
}
