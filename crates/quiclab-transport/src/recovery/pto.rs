//! Probe timeout (RFC 9002 section 6.2).
//!
//! | Aspect | Here | RFC 9002 |
//! | --- | --- | --- |
//! | ACK delay | in the application's space only, with the backoff | section 6.2.1: the same |
//! | application data before the handshake is confirmed | no timer | section 6.2.1: "MUST NOT set" |
//! | a client that the server may not have validated | a timer with nothing in flight | section 6.2.2.1: the same |
//! | a server at its amplification limit | the caller sets no timer | section 6.2.2.1 |
//! | a loss time is set | the caller prefers it | section 6.2.1: the PTO timer "MUST NOT be set" then |

use super::rtt::RttEstimator;
use quiclab_core::{Duration, PacketSpace, Time};

/// Maximum number of doublings of the timeout, which no run reaches.
const MAX_DOUBLINGS: u32 = 32;

/// Packets in flight of a packet number space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceInFlight {
    /// Send time of its last ack-eliciting packet; `None`: none is in flight.
    pub last_ack_eliciting: Option<Time>,
}

/// Inputs of the timer, apart from the RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtoInput {
    /// Spaces: Initial, Handshake, application.
    pub spaces: [SpaceInFlight; 3],
    /// `max_ack_delay` of the peer.
    pub max_ack_delay: Duration,
    /// Whether the handshake is confirmed (RFC 9001 section 4.1.2).
    pub handshake_confirmed: bool,
    /// Whether Handshake keys are available.
    pub handshake_keys: bool,
    /// Whether the peer is known to have validated this end's address; always true at a server.
    pub peer_validated: bool,
}

/// Backoff of the probe timeout.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pto {
    /// Number of timeouts since the last acknowledgement.
    count: u32,
}

const SPACES: [PacketSpace; 3] = [PacketSpace::Initial, PacketSpace::Handshake, PacketSpace::OneRtt];

impl Pto {
    /// Number of timeouts since the last acknowledgement.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Handles the expiry of the timer.
    pub fn on_expired(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// Handles a new acknowledgement; `peer_validated` as in [`PtoInput`]: a client without this certainty
    /// keeps its backoff (section 6.2.1).
    pub fn on_ack(&mut self, peer_validated: bool) {
        if peer_validated {
            self.count = 0;
        }
    }

    /// Handles the discard of the keys of a space (section 6.2.2).
    pub fn on_keys_discarded(&mut self) {
        self.count = 0;
    }

    /// Time from the last ack-eliciting packet of `space` to the timeout, with the backoff.
    #[must_use]
    pub fn timeout(&self, rtt: &RttEstimator, space: PacketSpace, max_ack_delay: Duration) -> Duration {
        let application = matches!(space, PacketSpace::ZeroRtt | PacketSpace::OneRtt);
        let delay = if application { max_ack_delay } else { Duration::ZERO };
        (rtt.pto_base() + delay) * (1 << self.count.min(MAX_DOUBLINGS))
    }

    /// Expiry of the timer, and the space to probe; `None`: no timer (Appendix A.8).
    #[must_use]
    pub fn deadline(&self, now: Time, rtt: &RttEstimator, input: &PtoInput) -> Option<(Time, PacketSpace)> {
        Self::deadline_with(now, input, |space, max_ack_delay| self.timeout(rtt, space, max_ack_delay))
    }

    /// Expiry and space with a given function for the `timeout` of a space, and a given max_ack_delay.
    #[must_use]
    pub fn deadline_with(
        now: Time,
        input: &PtoInput,
        mut timeout: impl FnMut(PacketSpace, Duration) -> Duration,
    ) -> Option<(Time, PacketSpace)> {
        let timer = |(space, in_flight): (PacketSpace, &SpaceInFlight)| {
            let armed = space != PacketSpace::OneRtt || input.handshake_confirmed;
            let sent = in_flight.last_ack_eliciting.filter(|_| armed)?;
            Some((sent + timeout(space, input.max_ack_delay), space))
        };
        // of timers at one instant that of the first space
        let earliest = SPACES.into_iter().zip(&input.spaces).filter_map(timer).min_by_key(|(time, _)| *time);
        earliest.or_else(|| {
            // the server may need more bytes before it may send: this end must not stop sending
            let space = if input.handshake_keys { PacketSpace::Handshake } else { PacketSpace::Initial };
            let deadline = (now + timeout(space, Duration::ZERO), space);
            (!input.peer_validated).then_some(deadline)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + ms(millis)
    }

    /// 100 ms: 100 + 4 x 50 = 300 ms.
    fn rtt() -> RttEstimator {
        let mut rtt = RttEstimator::new(ms(333));
        rtt.on_sample(Time::ZERO, ms(100), ms(0), None);
        rtt
    }

    fn input(last: [Option<u64>; 3]) -> PtoInput {
        let in_flight = |last: Option<u64>| SpaceInFlight { last_ack_eliciting: last.map(at) };
        PtoInput {
            spaces: last.map(in_flight),
            max_ack_delay: ms(25),
            handshake_confirmed: true,
            handshake_keys: true,
            peer_validated: true,
        }
    }

    #[test]
    fn the_ack_delay_counts_for_application_data_only() {
        let pto = Pto::default();
        assert_eq!(pto.timeout(&rtt(), PacketSpace::OneRtt, ms(25)), ms(325));
        assert_eq!(pto.timeout(&rtt(), PacketSpace::Handshake, ms(25)), ms(300));
        assert_eq!(pto.timeout(&RttEstimator::new(ms(333)), PacketSpace::Initial, ms(25)), ms(999));
    }

    /// Section 6.2.1: the whole period doubles, including the ACK delay.
    #[test]
    fn each_timeout_doubles_the_next_until_an_acknowledgement() {
        let mut pto = Pto::default();
        let mut timeouts = Vec::new();
        for _ in 0..4 {
            timeouts.push(pto.timeout(&rtt(), PacketSpace::OneRtt, ms(25)));
            pto.on_expired();
        }
        assert_eq!(timeouts, [325, 650, 1300, 2600].map(ms));
        assert_eq!(pto.count(), 4);
        pto.on_ack(false);
        assert_eq!(pto.count(), 4);
        pto.on_ack(true);
        assert_eq!(pto.timeout(&rtt(), PacketSpace::OneRtt, ms(25)), ms(325));
        pto.on_expired();
        pto.on_keys_discarded();
        assert_eq!(pto.count(), 0);
    }

    #[test]
    fn the_backoff_does_not_overflow() {
        let mut pto = Pto::default();
        (0..200).for_each(|_| pto.on_expired());
        assert!(pto.timeout(&rtt(), PacketSpace::OneRtt, ms(25)) > Duration::from_secs(1_000_000));
    }

    #[test]
    fn the_earliest_timer_of_the_spaces_holds() {
        let pto = Pto::default();
        let deadline = |last| pto.deadline(at(50), &rtt(), &input(last));
        assert_eq!(deadline([None, Some(40), Some(10)]), Some((at(335), PacketSpace::OneRtt)));
        assert_eq!(deadline([None, Some(30), Some(10)]), Some((at(330), PacketSpace::Handshake)));
        assert_eq!(deadline([Some(35), Some(35), None]), Some((at(335), PacketSpace::Initial)));
        assert_eq!(deadline([None, None, None]), None);
    }

    #[test]
    fn application_data_has_no_timer_before_the_handshake_is_confirmed() {
        let unconfirmed = |last| PtoInput { handshake_confirmed: false, ..input(last) };
        let pto = Pto::default();
        assert_eq!(pto.deadline(at(50), &rtt(), &unconfirmed([None, None, Some(10)])), None);
        let both = unconfirmed([None, Some(40), Some(10)]);
        assert_eq!(pto.deadline(at(50), &rtt(), &both), Some((at(340), PacketSpace::Handshake)));
    }

    /// Section 6.2.2.1: "the client MUST set the PTO timer if [it] has not received an acknowledgment for any
    /// of its Handshake packets and the handshake is not confirmed [...], even if there are no packets in
    /// flight."
    #[test]
    fn a_client_that_may_not_be_validated_always_has_a_timer() {
        let pto = Pto::default();
        let mut input = PtoInput { peer_validated: false, ..input([None; 3]) };
        assert_eq!(pto.deadline(at(50), &rtt(), &input), Some((at(350), PacketSpace::Handshake)));
        // 0-RTT in flight has no timer, which does not count
        input.spaces[2].last_ack_eliciting = Some(at(10));
        input.handshake_confirmed = false;
        assert_eq!(pto.deadline(at(50), &rtt(), &input), Some((at(350), PacketSpace::Handshake)));
        input.handshake_keys = false;
        assert_eq!(pto.deadline(at(50), &rtt(), &input), Some((at(350), PacketSpace::Initial)));
    }
}
