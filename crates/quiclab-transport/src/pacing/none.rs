//! No pacing: every packet is sent as soon as the window allows.
//!
//! RFC 9002 section 7.7 requires a sender without a pacer to limit its bursts by other means; this one does
//! not, so a burst is the window that an acknowledgement opens.

use super::{Pacer, PacingInput};
use quiclab_core::{DataRate, Time};

/// Pacer that releases every packet at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unpaced;

impl Pacer for Unpaced {
    fn update(&mut self, _now: Time, _input: &PacingInput) {}

    fn release(&self, now: Time, _bytes: u64) -> Time {
        now
    }

    fn on_sent(&mut self, _now: Time, _bytes: u64) {}

    fn rate(&self) -> Option<DataRate> {
        None
    }

    fn paces_bursts(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::testing::input;

    #[test]
    fn everything_leaves_at_once() {
        let mut pacer = Unpaced;
        let now = Time::from_nanos(5);
        pacer.update(now, &input(12_000, 100));
        for _ in 0..100 {
            assert_eq!(pacer.release(now, 1200), now);
            pacer.on_sent(now, 1200);
        }
        assert_eq!(pacer.rate(), None);
    }
}
