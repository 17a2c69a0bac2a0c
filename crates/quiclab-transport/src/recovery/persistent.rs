//! Persistent congestion (RFC 9002 section 7.6): all packets sent over a long period are lost.
//!
//! | Aspect | Here | RFC 9002 |
//! | --- | --- | --- |
//! | packet number spaces | one tracker for each space | section 7.6.2: "MAY use state for just the packet number space that was acknowledged" |
//! | losses of earlier detections | count, while no packet between them is acknowledged | section 7.6.2: the same; the pseudocode (B.8) considers one detection |
//! | duration | at the time of the detection | not specified |

use super::rtt::RttEstimator;
use quiclab_core::{Duration, Time};

/// kPersistentCongestionThreshold (section 7.6.1).
const THRESHOLD: u64 = 3;

/// Period in which all packets must be lost: (smoothed + max(4 rttvar, granularity) + max_ack_delay) x 3,
/// with max_ack_delay in every packet number space (section 7.6.1).
#[must_use]
pub fn persistent_duration(rtt: &RttEstimator, max_ack_delay: Duration) -> Duration {
    (rtt.pto_base() + max_ack_delay) * THRESHOLD
}

/// Current run of losses in a packet number space.
#[derive(Clone, Copy, Debug, Default)]
pub struct PersistentCongestion {
    /// Send time of the first ack-eliciting packet of the run; `None`: no run.
    start: Option<Time>,
}

impl PersistentCongestion {
    /// Handles a packet sent at `sent` that is declared lost, in the order of packet numbers. `follows`:
    /// whether no packet between it and the previous lost one was acknowledged. `first_sample` is the time of
    /// the first RTT sample, `duration` is [`persistent_duration`]. Returns whether persistent congestion is
    /// established; then a new run starts.
    pub fn on_lost(
        &mut self,
        sent: Time,
        ack_eliciting: bool,
        follows: bool,
        first_sample: Option<Time>,
        duration: Duration,
    ) -> bool {
        if !follows {
            self.start = None;
        }
        // "The persistent congestion period SHOULD NOT start until there is at least one RTT sample": the
        // initial RTT may be far too short (section 7.6.2). The ends of the period must be ack-eliciting.
        if !ack_eliciting || first_sample.is_none_or(|first| sent <= first) {
            return false;
        }
        let start = *self.start.get_or_insert(sent);
        let established = sent.since(start) > duration;
        if established {
            self.start = None;
        }
        established
    }

    /// Ends the run: a packet of it was acknowledged after all, or sent again before it was known to be lost.
    pub fn end(&mut self) {
        self.start = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    const SIX: Duration = Duration::from_secs(6);
    const SAMPLE: Option<Time> = Some(Time::ZERO);

    fn established(sent: &[u64], duration: Duration) -> bool {
        let mut run = PersistentCongestion::default();
        sent.iter().any(|sent| run.on_lost(at(*sent), true, true, SAMPLE, duration))
    }

    /// (100 + 4 x 50 + 25 ms) x 3.
    #[test]
    fn the_duration_is_three_ptos() {
        let mut rtt = RttEstimator::new(Duration::from_millis(333));
        rtt.on_sample(Time::ZERO, Duration::from_millis(100), Duration::ZERO, None);
        let duration = persistent_duration(&rtt, Duration::from_millis(25));
        assert_eq!(duration, Duration::from_millis(975));
    }

    /// Section 7.6.3: packets 2 to 8, sent at 1, 2, 3, 4, 5, 6 and 8, are lost; 8 - 1 = 7 > 6.
    #[test]
    fn the_example_of_the_rfc_is_persistent_congestion() {
        assert!(established(&[1, 2, 3, 4, 5, 6, 8], SIX));
        assert!(!established(&[1, 2, 3, 4, 5, 6, 7], SIX), "7 - 1 does not exceed 6");
    }

    #[test]
    fn an_acknowledged_packet_between_ends_the_run() {
        let mut run = PersistentCongestion::default();
        assert!(!run.on_lost(at(1), true, true, SAMPLE, SIX));
        assert!(!run.on_lost(at(8), true, false, SAMPLE, SIX));
        assert!(!run.on_lost(at(14), true, true, SAMPLE, SIX));
        assert!(run.on_lost(at(15), true, true, SAMPLE, SIX));
        // it is established once, and a new run starts
        assert!(!run.on_lost(at(16), true, true, SAMPLE, SIX));
    }

    #[test]
    fn both_ends_are_ack_eliciting() {
        let mut run = PersistentCongestion::default();
        assert!(!run.on_lost(at(1), false, true, SAMPLE, SIX));
        assert!(!run.on_lost(at(2), true, true, SAMPLE, SIX));
        assert!(!run.on_lost(at(9), false, true, SAMPLE, SIX));
        assert!(run.on_lost(at(10), true, true, SAMPLE, SIX));
    }

    #[test]
    fn packets_from_before_the_first_sample_do_not_count() {
        let mut run = PersistentCongestion::default();
        assert!(!run.on_lost(at(1), true, true, Some(at(2)), SIX));
        assert!(!run.on_lost(at(2), true, true, Some(at(2)), SIX));
        assert!(!run.on_lost(at(9), true, true, Some(at(2)), SIX));
        assert!(!PersistentCongestion::default().on_lost(at(90), true, true, None, SIX));
    }

    #[test]
    fn a_spurious_loss_ends_the_run() {
        let mut run = PersistentCongestion::default();
        assert!(!run.on_lost(at(1), true, true, SAMPLE, SIX));
        run.end();
        assert!(!run.on_lost(at(9), true, true, SAMPLE, SIX));
    }
}
