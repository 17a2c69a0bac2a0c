//! Time since which a connection is idle (RFC 9000 section 10.1).

use quiclab_core::Time;

/// Time of the last restart of the idle timeout: "when a packet from its peer is received and processed
/// successfully", and when the first ack-eliciting packet after it is sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Activity {
    at: Time,
    has_sent: bool,
}

impl Activity {
    /// Time at which the idle timeout was restarted.
    pub(super) fn at(&self) -> Time {
        self.at
    }

    /// Starts with the connection.
    pub(super) fn begin(&mut self, now: Time) {
        self.at = now;
    }

    /// Handles a received packet.
    pub(super) fn on_received(&mut self, now: Time) {
        (self.at, self.has_sent) = (now, false);
    }

    /// Handles an ack-eliciting packet that is sent.
    pub(super) fn on_sent(&mut self, now: Time) {
        if !self.has_sent {
            (self.at, self.has_sent) = (now, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms as at;

    #[test]
    fn the_first_packet_after_one_that_is_received_restarts_the_timeout() {
        let mut activity = Activity::default();
        activity.begin(at(1));
        activity.on_sent(at(5));
        activity.on_sent(at(9));
        assert_eq!(activity.at(), at(5));
        activity.on_received(at(20));
        assert_eq!(activity.at(), at(20));
        activity.on_sent(at(30));
        assert_eq!(activity.at(), at(30));
    }
}
