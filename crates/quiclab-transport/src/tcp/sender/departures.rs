//! Departures of segments: the pacer, and fq at the sender's host, which delays bursts that were handed over.

use super::host_queue::HostQueue;
use crate::pacing::{Pacer, PacingInput};
use quiclab_core::{DataRate, Time};

/// Pacer and queue of the host.
pub(super) struct Departures {
    pacer: Box<dyn Pacer>,
    /// Queue of the host; `None`: the sender delays paced data, not fq.
    host_queue: Option<HostQueue>,
    /// Whether a segment counts as sent from its departure, not from the handover.
    counts_from_departure: bool,
    last_sent: Time,
}

impl Departures {
    /// Makes the state; nothing was sent before `now`.
    pub(super) fn new(
        now: Time,
        pacer: Box<dyn Pacer>,
        host_queue: Option<HostQueue>,
        counts_from_departure: bool,
    ) -> Self {
        Self { pacer, host_queue, counts_from_departure, last_sent: now }
    }

    /// Handles a change of window, RTT or the controller's rate.
    pub(super) fn update(&mut self, now: Time, input: &PacingInput) {
        self.pacer.update(now, input);
    }

    /// Current rate; `None` if segments are not paced.
    pub(super) fn rate(&self) -> Option<DataRate> {
        self.pacer.rate()
    }

    /// Whether a burst may be handed over as one.
    pub(super) fn paces_bursts(&self) -> bool {
        self.pacer.paces_bursts()
    }

    /// Time until which the sender delays `bytes` for pacing; `None`: no delay, or in fq.
    pub(super) fn held_until(&self, now: Time, bytes: u64) -> Option<Time> {
        if self.host_queue.is_some() {
            return None;
        }
        Some(self.pacer.release(now, bytes)).filter(|release| *release > now)
    }

    /// Departure time of the next `bytes` for the controller.
    pub(super) fn next(&self, now: Time, bytes: u64) -> Time {
        if self.counts_from_departure { self.pacer.release(now, bytes) } else { now }
    }

    /// Latest departure, which may be in the future.
    pub(super) fn last(&self) -> Time {
        self.pacer.next_departure().unwrap_or(self.last_sent)
    }

    /// Time of the latest transmission.
    pub(super) fn last_sent(&self) -> Time {
        self.last_sent
    }

    /// Handles a segment that is sent.
    pub(super) fn on_sent(&mut self, now: Time) {
        self.last_sent = now;
    }

    /// Hands over a burst of `bytes` now, of segments with `payload`. Returns its send time, and the time at
    /// which it leaves the host.
    pub(super) fn hand_over(&mut self, now: Time, bytes: u64, payload: u64) -> (Time, Time) {
        let due = if self.host_queue.is_some() { self.pacer.release(now, payload) } else { now };
        self.pacer.on_sent(now, bytes);
        let departure = if self.counts_from_departure { due } else { now };
        match self.host_queue.as_mut().filter(|_| due > now) {
            Some(queue) => (departure, queue.push(due, bytes)),
            None => (departure, due),
        }
    }

    /// Removes due bursts from the host. Returns whether the next one waited for that.
    pub(super) fn leave_host(&mut self, now: Time) -> bool {
        self.host_queue.as_mut().is_some_and(|queue| queue.leave(now))
    }

    /// Whether too many bytes wait in fq for a burst of `bytes`; `is_only`: nothing else is outstanding.
    pub(super) fn is_throttled(&mut self, bytes: u64, retransmission: bool, is_only: bool) -> bool {
        let Some(queue) = &mut self.host_queue else { return false };
        let millisecond = self.pacer.rate().map_or(0, |rate| (rate.bits_per_second() / 8) >> 10);
        queue.is_full(bytes, millisecond, retransmission, is_only)
    }

    /// Makes paced bursts wait in fq.
    #[cfg(test)]
    pub(super) fn set_host_queue(&mut self, queue: HostQueue) {
        self.host_queue = Some(queue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::Fq;
    use crate::testing::ms as at;
    use quiclab_core::Duration;

    /// 8 Mbit/s: 10 kB are sent at once, then a segment each millisecond.
    fn departures(queue: Option<HostQueue>, counts_from_departure: bool) -> Departures {
        let rate = Some(DataRate::from_bits_per_second(8_000_000));
        let mut departures = Departures::new(at(0), Box::new(Fq::new(rate)), queue, counts_from_departure);
        let (window, mss) = (100_000, 1000);
        let srtt = Some(Duration::from_millis(100));
        let input =
            PacingInput { window, outstanding: 0, srtt, ssthresh: None, rate: None, quantum: None, mss };
        departures.update(at(0), &input);
        for _ in 0..11 {
            departures.hand_over(at(0), 1000, 1000);
        }
        departures
    }

    #[test]
    fn without_fq_the_sender_holds_what_is_paced() {
        let mut departures = departures(None, true);
        let release = departures.held_until(at(0), 1000).expect("the first ten are not paced");
        assert!(release > at(0));
        assert_eq!(departures.held_until(release, 1000), None);
        assert_eq!(departures.hand_over(release, 1000, 1000), (release, release));
        assert!(!departures.is_throttled(1000, false, false));
    }

    #[test]
    fn with_fq_a_burst_is_sent_as_of_its_departure() {
        for counts in [true, false] {
            let mut departures = departures(Some(HostQueue::new(Duration::ZERO)), counts);
            assert_eq!(departures.held_until(at(0), 1000), None);
            let (departure, leaves) = departures.hand_over(at(0), 1000, 1000);
            assert!(leaves > at(0));
            assert_eq!(departure, if counts { leaves } else { at(0) });
            assert!(!departures.leave_host(leaves), "nothing waited");
        }
    }
}
