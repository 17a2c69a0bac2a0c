//! What loss tracking needs to know of the frames in a packet.

use quiclab_core::quic::{Frame, FrameError, Frames};
use std::ops::RangeInclusive;

/// What a packet holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Holds a frame other than ACK, PADDING and CONNECTION_CLOSE (RFC 9002 section 2).
    pub(crate) ack_eliciting: bool,
    /// Holds HANDSHAKE_DONE.
    pub(crate) handshake_done: bool,
}

/// Walks `payload`, a decrypted packet; `acknowledged` is called with each range of each ACK frame,
/// descending. A frame of unknown type, which takes the rest of the packet, is ack-eliciting.
pub(crate) fn walk(
    payload: &[u8],
    mut acknowledged: impl FnMut(RangeInclusive<u64>),
) -> Result<Summary, FrameError> {
    let mut summary = Summary::default();
    for frame in Frames::new(payload) {
        match frame? {
            Frame::Padding { .. } | Frame::ConnectionClose { .. } => {}
            Frame::Ack(ack) => ack.ranges().for_each(&mut acknowledged),
            frame => {
                summary.ack_eliciting = true;
                summary.handshake_done |= frame == Frame::HandshakeDone;
            }
        }
    }
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(payload: &[u8]) -> (Summary, Vec<RangeInclusive<u64>>) {
        let mut ranges = Vec::new();
        let summary = walk(payload, |range| ranges.push(range)).unwrap();
        (summary, ranges)
    }

    /// RFC 9002 section 2: "Packets that contain ack-eliciting frames elicit an ACK".
    #[test]
    fn ack_padding_and_close_elicit_no_acknowledgement() {
        // largest 100 (two bytes), delay 5, one more range, first range 10: 90..=100;
        // gap 3, length 4: the next largest is 90 - 3 - 2 = 85, so 81..=85; then ECN counts
        let ack = [0x03, 0x40, 100, 5, 1, 10, 3, 4, 1, 2, 0];
        assert_eq!(ranges(&ack), (Summary::default(), vec![90..=100, 81..=85]));
        for case in [&[0x1c, 0, 0, 1, b'x'][..], &[0x1d, 0, 0], &[0, 0, 0]] {
            assert_eq!(ranges(case), (Summary::default(), vec![]), "{case:x?}");
        }
        let ping = [&ack[..], &[0x01]].concat();
        let eliciting = Summary { ack_eliciting: true, handshake_done: false };
        assert_eq!(ranges(&ping), (eliciting, vec![90..=100, 81..=85]));
        let done = [0x1e, 0x00];
        assert_eq!(ranges(&done), (Summary { ack_eliciting: true, handshake_done: true }, vec![]));
    }
}
