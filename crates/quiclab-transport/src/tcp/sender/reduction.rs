//! Reduction of the window, paced by PRR while it lasts (RFC 6937, RFC 9937; `tcp_cwnd_reduction`).

use crate::options::RateReduction;
use crate::recovery::prr::{Prr, PrrAck, PrrVersion};

/// Window during a reduction, in segments.
#[derive(Clone, Debug)]
pub(super) struct WindowReduction {
    /// Version of PRR; `None`: the window is reduced at once.
    version: Option<PrrVersion>,
    /// Current reduction.
    prr: Option<Prr>,
    window: Option<u32>,
}

impl WindowReduction {
    /// Makes the state before a reduction.
    pub(super) fn new(option: RateReduction) -> Self {
        let version = match option {
            RateReduction::None => None,
            RateReduction::Prr => Some(PrrVersion::Rfc6937),
            RateReduction::PrrSafeAck => Some(PrrVersion::Rfc9937),
        };
        Self { version, prr: None, window: None }
    }

    /// Window in segments; `None`: that of the controller.
    pub(super) fn window(&self) -> Option<u32> {
        self.window
    }

    /// Starts a reduction from `prior` to `target`.
    pub(super) fn begin(&mut self, prior: u32, target: u32) {
        self.prr = self.version.map(|version| Prr::new(version, prior, target));
        self.window = self.prr.as_ref().map(|_| prior);
    }

    /// Sets another target, as the window of the controller has changed.
    pub(super) fn set_target(&mut self, target: u32) {
        if let Some(prr) = &mut self.prr {
            prr.set_target(target);
        }
    }

    /// Performs one step, with the segments in flight.
    pub(super) fn on_ack(&mut self, in_flight: u32, ack: PrrAck) {
        if let Some(window) = self.prr.as_mut().and_then(|prr| prr.on_ack(in_flight, ack)) {
            self.window = Some(window);
        }
    }

    /// Counts a segment that is sent.
    pub(super) fn on_sent(&mut self) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent();
        }
    }

    /// Ends the reduction: the window is that of the controller again.
    pub(super) fn end(&mut self) {
        (self.prr, self.window) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_falls_step_by_step() {
        let mut reduction = WindowReduction::new(RateReduction::Prr);
        assert_eq!(reduction.window(), None);
        reduction.begin(20, 10);
        assert_eq!(reduction.window(), Some(20));
        // RFC 6937: of 4 delivered, 4 x 10 / 20 may be sent
        reduction.on_ack(16, PrrAck { delivered: 4, lost: 1, ..PrrAck::default() });
        assert_eq!(reduction.window(), Some(18));
        reduction.on_sent();
        reduction.on_sent();
        reduction.on_ack(17, PrrAck { delivered: 2, ..PrrAck::default() });
        assert_eq!(reduction.window(), Some(18), "one more for two delivered");
        reduction.end();
        assert_eq!(reduction.window(), None);
    }

    #[test]
    fn without_prr_the_window_is_that_of_the_controller() {
        let mut reduction = WindowReduction::new(RateReduction::None);
        reduction.begin(20, 10);
        reduction.on_ack(16, PrrAck { delivered: 4, ..PrrAck::default() });
        assert_eq!(reduction.window(), None);
    }
}
