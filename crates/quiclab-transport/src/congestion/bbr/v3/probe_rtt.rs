//! Duration of ProbeRTT: its time, and a round with few packets in flight (sections 5.3.4.3, 5.3.4.4).

use quiclab_core::Time;

/// `BBR.probe_rtt_done_stamp` and `BBR.probe_rtt_round_done`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// `BBR.probe_rtt_done_stamp`; `None`: too many bytes are in flight.
    done_stamp: Option<Time>,
    is_round_done: bool,
}

impl ProbeRtt {
    /// Enters ProbeRTT: the time starts when the bytes in flight have reached the reduced window.
    pub(super) fn enter(&mut self) {
        self.done_stamp = None;
    }

    /// Whether the time has started.
    pub(super) fn is_running(&self) -> bool {
        self.done_stamp.is_some()
    }

    /// Starts the time, as the window is reached: the probe lasts until `done`, and a round.
    pub(super) fn run_until(&mut self, done: Time) {
        (self.done_stamp, self.is_round_done) = (Some(done), false);
    }

    /// Handles an acknowledgement; returns whether a round is over.
    pub(super) fn on_ack(&mut self, round_start: bool) -> bool {
        self.is_round_done |= round_start;
        self.is_round_done
    }

    /// Whether the time has elapsed.
    pub(super) fn is_over(&self, now: Time) -> bool {
        self.done_stamp.is_some_and(|done| now > done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms as at;

    #[test]
    fn time_and_round_count_from_the_small_window_on() {
        let mut probe = ProbeRtt::default();
        probe.enter();
        assert!(!probe.is_running() && !probe.is_over(at(10_000)));
        probe.run_until(at(200));
        assert!(probe.is_running() && !probe.on_ack(false));
        assert!(probe.on_ack(true) && probe.on_ack(false), "a round that is over stays so");
        assert!(!probe.is_over(at(200)) && probe.is_over(at(201)));
        probe.run_until(at(400));
        assert!(!probe.on_ack(false), "the next probe waits for a round of its own");
    }
}
