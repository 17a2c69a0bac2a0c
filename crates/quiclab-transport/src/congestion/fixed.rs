//! Constant window: behaviour of a network without congestion control.

use super::{Ack, CongestionEvent, Controller, Phase};
use quiclab_core::Time;

/// Constant window.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    window: u64,
}

impl Fixed {
    /// Makes a constant window of `window` bytes.
    #[must_use]
    pub fn new(window: u64) -> Self {
        Self { window }
    }
}

impl Controller for Fixed {
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    fn on_timeout(&mut self, _event: &CongestionEvent, _cut: bool) {}

    fn on_spurious(&mut self, _now: Time) {}

    fn window(&self) -> u64 {
        self.window
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    /// Returns true, as rate reduction in recovery would set a smaller window.
    fn owns_recovery(&self) -> bool {
        true
    }

    fn phase(&self) -> Phase {
        Phase::Fixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_changes_the_window() {
        let mut fixed = Fixed::new(20_000);
        let event = CongestionEvent { in_flight: 5_000, ..CongestionEvent::default() };
        fixed.on_ack(&Ack { acked_bytes: 1000, cwnd_limited: true, may_grow: true, ..Ack::default() });
        fixed.on_congestion(&event);
        fixed.on_timeout(&event, true);
        fixed.on_spurious(Time::ZERO);
        fixed.on_application_limited(Time::ZERO, 0);
        assert_eq!((fixed.window(), fixed.ssthresh(), fixed.phase()), (20_000, None, Phase::Fixed));
    }
}
