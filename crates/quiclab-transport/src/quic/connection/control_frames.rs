//! Control frames of the connection that are to be sent, or sent again.

use crate::quic::sent::SentFrame;

/// Queue of HANDSHAKE_DONE, NEW_CONNECTION_ID and ACK_FREQUENCY.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ControlFrames {
    handshake_done: bool,
    new_connection_ids: u8,
    /// Sequence number of ACK_FREQUENCY.
    ack_frequency: Option<u64>,
}

impl ControlFrames {
    /// Whether one waits.
    pub(super) const fn is_waiting(&self) -> bool {
        self.handshake_done || self.new_connection_ids > 0 || self.ack_frequency.is_some()
    }

    /// Queues HANDSHAKE_DONE.
    pub(super) fn add_handshake_done(&mut self) {
        self.handshake_done = true;
    }

    /// Sets the number of connection IDs to be issued.
    pub(super) fn set_new_connection_ids(&mut self, count: u8) {
        self.new_connection_ids = count;
    }

    /// Queues ACK_FREQUENCY with this sequence number; `None`: no such frame.
    pub(super) fn set_ack_frequency(&mut self, sequence: Option<u64>) {
        self.ack_frequency = sequence;
    }

    /// Takes HANDSHAKE_DONE; returns whether it is sent now.
    pub(super) fn take_handshake_done(&mut self) -> bool {
        std::mem::take(&mut self.handshake_done)
    }

    /// Takes the sequence number of the ACK_FREQUENCY that is sent now.
    pub(super) fn take_ack_frequency(&mut self) -> Option<u64> {
        self.ack_frequency.take()
    }

    /// Takes the sequence number of the NEW_CONNECTION_ID that is sent now.
    pub(super) fn take_new_connection_id(&mut self) -> Option<u64> {
        let left = self.new_connection_ids.checked_sub(1)?;
        self.new_connection_ids = left;
        Some(u64::from(left) + 1)
    }

    /// Handles a lost frame. Returns whether it is one of these, which is sent again.
    pub(super) fn on_lost(&mut self, frame: &SentFrame) -> bool {
        match frame {
            SentFrame::HandshakeDone => self.handshake_done = true,
            SentFrame::NewConnectionId => self.new_connection_ids += 1,
            SentFrame::AckFrequency { sequence } => {
                self.ack_frequency.get_or_insert(*sequence);
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_are_lost_are_sent_again() {
        let mut frames = ControlFrames::default();
        frames.add_handshake_done();
        frames.set_new_connection_ids(2);
        frames.set_ack_frequency(Some(0));
        assert!(frames.take_handshake_done() && !frames.take_handshake_done());
        let ids = [
            frames.take_new_connection_id(),
            frames.take_new_connection_id(),
            frames.take_new_connection_id(),
        ];
        assert_eq!(ids, [Some(2), Some(1), None]);
        assert_eq!((frames.take_ack_frequency(), frames.take_ack_frequency()), (Some(0), None));
        assert!(!frames.is_waiting());
        let lost =
            [SentFrame::HandshakeDone, SentFrame::NewConnectionId, SentFrame::AckFrequency { sequence: 0 }];
        for frame in lost {
            let mut frames = frames;
            assert!(frames.on_lost(&frame) && frames.is_waiting(), "{frame:?}");
        }
        assert!(!frames.on_lost(&SentFrame::DataBlocked) && !frames.is_waiting());
    }
}
