//! Acknowledgement by a timer only (aioquic `QuicConnection.receive_datagram`: `if space.ack_at is None:
//! space.ack_at = now + self._ack_delay`).
//!
//! | Aspect | Here | aioquic | RFC 9000 section 13.2 |
//! | --- | --- | --- | --- |
//! | delay | counted from the first packet not acknowledged | the same, 1 ms | at most max_ack_delay |
//! | every second packet, a gap, a CE mark | wait for the timer | the same | at once |

use super::{AckPolicy, Arrival};
use quiclab_core::{Duration, Time};

/// Policy that waits regardless of arrivals.
#[derive(Clone, Debug)]
pub struct Timer {
    delay: Duration,
    /// Time at which the acknowledgement is due; `None`: nothing to acknowledge.
    due: Option<Time>,
}

impl Timer {
    /// Acknowledges `delay` after the first packet that is not acknowledged.
    #[must_use]
    pub fn new(delay: Duration) -> Self {
        Self { delay, due: None }
    }
}

impl AckPolicy for Timer {
    fn on_arrival(&mut self, arrival: &Arrival) {
        self.due.get_or_insert(arrival.now + self.delay);
    }

    fn due(&self) -> Option<Time> {
        self.due
    }

    fn on_ack_sent(&mut self, _now: Time) {
        self.due = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acknowledgement::testing::{arrival, ms};

    #[test]
    fn nothing_but_time_makes_an_acknowledgement_due() {
        let mut policy = Timer::new(Duration::from_millis(5));
        assert_eq!(policy.due(), None);
        for number in 0..50 {
            policy.on_arrival(&arrival(10 + number / 25, number));
        }
        policy.on_arrival(&Arrival { out_of_order: true, ce: true, ..arrival(12, 60) });
        assert_eq!(policy.due(), Some(ms(15)), "5 ms after the first");
        policy.on_ack_sent(ms(15));
        assert_eq!(policy.due(), None);
        policy.on_arrival(&arrival(17, 61));
        assert_eq!(policy.due(), Some(ms(22)));
    }
}
