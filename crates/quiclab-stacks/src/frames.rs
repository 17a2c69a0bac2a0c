//! Summary of the frames of a packet, for loss tracking.

use quiclab_core::quic::{Ack, Frame, Frames};

/// Summary of the frames of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Contains a frame other than ACK, PADDING and CONNECTION_CLOSE (RFC 9002 section 2).
    pub(crate) ack_eliciting: bool,
    /// Contains HANDSHAKE_DONE.
    pub(crate) handshake_done: bool,
    /// Contains an unknown frame.
    pub(crate) unknown: bool,
}

/// Walks `payload`, a decrypted packet; `acknowledged` is called with each ACK frame, and with each PATH_ACK
/// frame and its path. An unknown frame ends the walk and counts as ack-eliciting.
pub(crate) fn walk(payload: &[u8], mut acknowledged: impl FnMut(u64, &Ack<'_>)) -> Summary {
    let mut summary = Summary::default();
    for frame in Frames::new(payload) {
        match frame {
            Ok(Frame::Padding { .. } | Frame::ConnectionClose { .. }) => {}
            Ok(Frame::Ack(ack)) => acknowledged(0, &ack),
            Ok(Frame::PathAck { path_id, ack }) => acknowledged(path_id, &ack),
            frame => {
                summary.ack_eliciting = true;
                summary.handshake_done |= frame == Ok(Frame::HandshakeDone);
                summary.unknown |= matches!(frame, Ok(Frame::Unknown { .. }) | Err(_));
            }
        }
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::RangeInclusive;

    fn ranges(payload: &[u8]) -> (Summary, Vec<RangeInclusive<u64>>) {
        let mut ranges = Vec::new();
        let summary = walk(payload, |_, ack| ranges.extend(ack.ranges()));
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
        let eliciting = Summary { ack_eliciting: true, ..Summary::default() };
        assert_eq!(ranges(&ping), (eliciting, vec![90..=100, 81..=85]));
        let done = [0x1e, 0x00];
        assert_eq!(ranges(&done), (Summary { handshake_done: true, ..eliciting }, vec![]));
    }

    /// A stack may send frames that are unknown here; the ranges before them count.
    #[test]
    fn what_is_unknown_or_cut_off_is_ack_eliciting() {
        let ack = [0x02, 7, 0, 0, 1];
        for rest in [&[0x20, 1, 2][..], &[0x06, 0, 9], &[0x40]] {
            let expected = Summary { ack_eliciting: true, handshake_done: false, unknown: true };
            assert_eq!(ranges(&[&ack[..], rest].concat()), (expected, vec![6..=7]), "{rest:x?}");
        }
    }
}
