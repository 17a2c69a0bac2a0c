//! Cycle of probes for bandwidth: time of the next one, and result of the last one (section 5.3.3).

use quiclab_core::{Duration, RandomStream, Time};

/// Minimum time between probes, and the maximum random time that is added.
const MIN_WAIT: Duration = Duration::from_secs(2);
const RANDOM_WAIT_NANOS: f64 = 1e9;
/// Maximum number of rounds between probes: those of Reno at a BDP of 63 packets.
const MAX_RENO_ROUNDS: u64 = 63;

/// `BBR.ack_phase`: relation of acknowledgements to a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of the cycle of ProbeBW.
#[derive(Clone, Debug)]
pub(super) struct ProbeCycle {
    random: RandomStream,
    ack_phase: AckPhase,
    cycle_stamp: Time,
    bw_probe_wait: Duration,
    rounds_since_probe_up: u64,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    is_bw_probe_sample: bool,
}

impl ProbeCycle {
    /// Makes the state before the first probe.
    pub(super) fn new(random: RandomStream) -> Self {
        Self {
            random,
            ack_phase: AckPhase::Init,
            cycle_stamp: Time::ZERO,
            bw_probe_wait: Duration::ZERO,
            rounds_since_probe_up: 0,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            is_bw_probe_sample: false,
        }
    }

    /// Counts a round.
    pub(super) fn on_round(&mut self) {
        self.rounds_since_probe_up += 1;
    }

    /// `StartProbeBW_DOWN`. The next probe is due in 2 to 3 s, or after the number of rounds that Reno would
    /// need, less one or none (`PickProbeWait`).
    pub(super) fn start_down(&mut self, now: Time) {
        self.rounds_since_probe_up = self.random.bits() % 2;
        self.bw_probe_wait = MIN_WAIT + Duration::from_nanos_f64(self.random.uniform() * RANDOM_WAIT_NANOS);
        self.cycle_stamp = now;
        self.stop_probe();
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_refill(&mut self) {
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
    }

    /// `StartProbeBW_UP`: packets sent from now on belong to the probe.
    pub(super) fn start_up(&mut self) {
        self.is_bw_probe_sample = true;
        self.ack_phase = AckPhase::ProbeStarting;
    }

    /// Ends the probe; its acknowledgements arrive for another round.
    pub(super) fn stop_probe(&mut self) {
        self.ack_phase = AckPhase::ProbeStopping;
    }

    /// Whether the next probe is due: after its wait, or after the rounds of Reno with a window of `packets`.
    pub(super) fn is_due(&self, now: Time, packets: u64) -> bool {
        now > self.cycle_stamp + self.bw_probe_wait
            || self.rounds_since_probe_up >= packets.min(MAX_RENO_ROUNDS)
    }

    /// Handles the start of a round. Returns whether the last acknowledgement of the probe has arrived.
    pub(super) fn on_round_start(&mut self) -> bool {
        match self.ack_phase {
            AckPhase::ProbeStarting => {
                self.ack_phase = AckPhase::ProbeFeedback;
                false
            }
            AckPhase::ProbeStopping => {
                self.is_bw_probe_sample = false;
                self.ack_phase = AckPhase::Init;
                true
            }
            _ => false,
        }
    }

    /// Whether packets that are lost or acknowledged may be those of a probe.
    pub(super) fn is_probe_sample(&self) -> bool {
        self.is_bw_probe_sample
    }

    /// Handles losses that are too high, once for each probe.
    pub(super) fn on_too_high(&mut self) {
        (self.prev_probe_too_high, self.is_bw_probe_sample) = (true, false);
    }

    /// Handles the end of a probe without too many losses.
    pub(super) fn on_not_too_high(&mut self) {
        self.prev_probe_too_high = false;
    }

    /// Whether losses of the previous probe were too high.
    pub(super) fn was_too_high(&self) -> bool {
        self.prev_probe_too_high
    }

    /// Makes the probe precautionary: it ends where the previous one had too many losses.
    pub(super) fn on_precaution(&mut self) {
        self.prev_probe_precautionary = true;
    }

    /// Whether the previous probe was precautionary and without too many losses, so that it can be done in full.
    pub(super) fn can_probe_in_full(&self) -> bool {
        self.prev_probe_precautionary && !self.prev_probe_too_high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms as at;

    fn cycle(seed: u64) -> ProbeCycle {
        ProbeCycle::new(RandomStream::new(seed, "bbr"))
    }

    #[test]
    fn a_probe_is_due_after_two_to_three_seconds() {
        let mut waits = Vec::new();
        for seed in 0..50 {
            let mut cycle = cycle(seed);
            cycle.start_down(at(1000));
            assert!(!cycle.is_due(at(3000), 100), "2 s are not over");
            assert!(cycle.is_due(at(4001), 100), "3 s are");
            waits.push(cycle.is_due(at(3500), 100));
        }
        assert!(waits.contains(&true) && waits.contains(&false), "they are random");
    }

    /// Reno grows by a packet per round: the number of rounds is the window in packets.
    #[test]
    fn a_probe_is_due_after_the_rounds_of_reno() {
        for (packets, rounds) in [(10, 10), (63, 63), (1000, 63)] {
            let mut cycle = cycle(1);
            cycle.start_down(at(1000));
            let needed = (0..100).take_while(|_| {
                let waits = !cycle.is_due(at(1001), packets);
                cycle.on_round();
                waits
            });
            assert!((rounds - 1..=rounds).contains(&needed.count()), "{packets}");
        }
    }

    #[test]
    fn a_probe_has_samples_until_a_round_after_its_end() {
        let mut cycle = cycle(1);
        cycle.start_refill();
        assert!(!cycle.on_round_start() && !cycle.is_probe_sample());
        cycle.start_up();
        assert!(!cycle.on_round_start() && !cycle.on_round_start(), "feedback of the probe");
        cycle.start_down(at(0));
        assert!(cycle.is_probe_sample());
        assert!(cycle.on_round_start() && !cycle.is_probe_sample());
        assert!(!cycle.on_round_start(), "once");
    }

    #[test]
    fn losses_of_a_probe_have_one_effect() {
        let mut cycle = cycle(1);
        cycle.start_up();
        cycle.on_too_high();
        assert!(cycle.was_too_high() && !cycle.is_probe_sample());
        cycle.on_precaution();
        assert!(!cycle.can_probe_in_full());
        cycle.on_not_too_high();
        assert!(cycle.can_probe_in_full());
        cycle.start_refill();
        assert!(!cycle.can_probe_in_full(), "this is the full one");
    }
}
