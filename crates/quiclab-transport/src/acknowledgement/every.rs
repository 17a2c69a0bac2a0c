//! Acknowledgement of every n packets, or after a delay (RFC 9000 sections 13.2.1 and 13.2.2).
//!
//! | Aspect | Here | RFC 9000 |
//! | --- | --- | --- |
//! | packets | each n-th ack-eliciting one | "SHOULD send an ACK frame after receiving at least two ack-eliciting packets" |
//! | delay | counted from the first packet not acknowledged | "MUST acknowledge all ack-eliciting [...] packets within its advertised max_ack_delay" |
//! | a gap is left or filled | at once | "SHOULD generate and send an ACK frame without delay" |
//! | CE mark | at once | "SHOULD be acknowledged immediately" |
//! | Initial and Handshake | [`Every::packet`]: n = 1 | "immediately" |

use super::{AckPolicy, Arrival, Pending};
use quiclab_core::{Duration, Time};

/// Policy that counts packets.
#[derive(Clone, Debug)]
pub struct Every {
    packets: u32,
    max_ack_delay: Duration,
    pending: Pending,
}

impl Every {
    /// Acknowledges each `packets`-th ack-eliciting packet (0 counts as 1), and the others after
    /// `max_ack_delay`. RFC 9000 suggests 2.
    #[must_use]
    pub fn new(packets: u32, max_ack_delay: Duration) -> Self {
        Self { packets: packets.max(1), max_ack_delay, pending: Pending::default() }
    }

    /// Acknowledges every packet at once, as Initial and Handshake packets are (RFC 9000 section 13.2.1).
    #[must_use]
    pub fn packet() -> Self {
        Self::new(1, Duration::ZERO)
    }
}

impl AckPolicy for Every {
    fn on_arrival(&mut self, arrival: &Arrival) {
        let at_once = arrival.out_of_order || arrival.ce;
        self.pending.add(arrival.now, self.packets, self.max_ack_delay, at_once);
    }

    fn due(&self) -> Option<Time> {
        self.pending.due
    }

    fn on_ack_sent(&mut self, _now: Time) {
        self.pending = Pending::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acknowledgement::testing::{arrival, ms};

    const DELAY: Duration = Duration::from_millis(25);

    #[test]
    fn the_second_packet_is_acknowledged_at_once_and_the_first_after_the_delay() {
        let mut policy = Every::new(2, DELAY);
        assert_eq!(policy.due(), None);
        policy.on_arrival(&arrival(10, 0));
        assert_eq!(policy.due(), Some(ms(35)));
        policy.on_arrival(&arrival(12, 1));
        assert_eq!(policy.due(), Some(ms(12)));
        policy.on_ack_sent(ms(12));
        assert_eq!(policy.due(), None);
        policy.on_arrival(&arrival(13, 2));
        assert_eq!(policy.due(), Some(ms(38)));
    }

    /// RFC 9000 section 13.2.1: within max_ack_delay of the first, not of the last.
    #[test]
    fn the_delay_runs_from_the_first_packet() {
        let mut policy = Every::new(10, DELAY);
        policy.on_arrival(&arrival(0, 0));
        policy.on_arrival(&arrival(20, 1));
        assert_eq!(policy.due(), Some(ms(25)));
    }

    #[test]
    fn a_gap_or_a_mark_is_acknowledged_at_once() {
        for (out_of_order, ce) in [(true, false), (false, true)] {
            let mut policy = Every::new(10, DELAY);
            policy.on_arrival(&Arrival { out_of_order, ce, ..arrival(5, 3) });
            assert_eq!(policy.due(), Some(ms(5)));
        }
    }

    #[test]
    fn handshake_packets_are_acknowledged_at_once() {
        let mut policy = Every::packet();
        policy.on_arrival(&arrival(7, 0));
        assert_eq!(policy.due(), Some(ms(7)));
    }
}
