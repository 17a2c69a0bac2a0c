//! What the frames of a datagram say: acknowledged ranges, whether it elicits an ACK, new connection IDs.

use super::super::Problems;
use super::super::ip::Problem;
use quiclab_core::quic::{Frame, Frames};
use std::ops::RangeInclusive;

/// What has been found in the packets of a datagram. Its memory is used again for the next.
#[derive(Debug, Default)]
pub(in super::super) struct Found {
    pub(in super::super) numbers: Vec<u64>,
    pub(in super::super) ranges: Vec<RangeInclusive<u64>>,
    pub(in super::super) has_ack: bool,
    pub(in super::super) eliciting: bool,
    /// Bit n: a connection ID of n bytes was given out.
    pub(super) id_lengths: u32,
}

impl Found {
    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.ranges.clear();
        (self.has_ack, self.eliciting, self.id_lengths) = (false, false, 0);
    }

    /// A packet of application data.
    pub(super) fn packet(&mut self, number: u64, payload: &[u8], problems: &mut Problems) {
        self.numbers.push(number);
        for frame in Frames::new(payload) {
            let unreadable: Option<Problem> = match frame {
                Ok(Frame::Padding { .. } | Frame::ConnectionClose { .. }) => None,
                Ok(Frame::Ack(ack) | Frame::PathAck { path_id: 0, ack }) => {
                    self.has_ack = true;
                    self.ranges.extend(ack.ranges());
                    None
                }
                // its numbers are those of another flow of the capture
                Ok(Frame::PathAck { .. }) => {
                    problems.count("QUIC PATH_ACK of a further path");
                    None
                }
                Ok(
                    Frame::NewConnectionId { connection_id, .. }
                    | Frame::PathNewConnectionId { connection_id, .. },
                ) => {
                    self.id_lengths |= 1 << connection_id.len();
                    self.eliciting = true;
                    None
                }
                Ok(Frame::Unknown { .. }) => Some("QUIC frame not known"),
                Err(_) => Some("QUIC frame not well formed"),
                Ok(_) => {
                    self.eliciting = true;
                    None
                }
            };
            if let Some(problem) = unreadable {
                self.eliciting = true;
                problems.count(problem);
            }
        }
    }

    /// Ranges in the order of the contract.
    pub(super) fn settle(&mut self) {
        self.ranges.sort_unstable_by_key(|range| *range.start());
    }
}
