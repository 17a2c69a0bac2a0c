//! Exit from slow start of aioquic: the RTT has risen by a quarter, five times (aioquic 0.9.25,
//! `quic/congestion/base.py`, `QuicRttMonitor`, and `RenoCongestionControl.on_rtt_measurement`; the same in
//! 0.8.8 and 0.9.0, `quic/recovery.py`).
//!
//! | | aioquic | here |
//! |---|---|---|
//! | samples | raw RTTs, at most one each millisecond, the last five are kept | the same |
//! | baseline | the minimum of the maxima of five so far | the same |
//! | a rise | the minimum of the five is above the baseline by a quarter of it | the same |
//! | no rise | a smaller rise resets the count to 0, none does not change it | the same |
//! | exit | after the fifth, the threshold is the window *after* this acknowledgement has increased it | the same: slow start ends when the next acknowledgement arrives, before it counts |
//! | later slow starts | none: it is active only while the threshold is unlimited | the same |

use super::slow_start::{SlowStartDecision, SlowStartInput, SlowStartPolicy};
use quiclab_core::{Duration, Time};

/// Number of samples kept, and of rises that end slow start (`_size`).
const SIZE: usize = 5;
/// Minimum time between two samples (`K_GRANULARITY`).
const SPACING: Duration = Duration::from_millis(1);

/// aioquic's RTT monitor.
#[derive(Clone, Debug, Default)]
pub struct RttRise {
    samples: [Duration; SIZE],
    /// Index of the next sample, which replaces the oldest.
    next: usize,
    /// Whether the number of samples has reached [`SIZE`].
    ready: bool,
    /// Time of the last sample; `None`: there was none.
    sampled: Option<Time>,
    /// Minimum of the maxima of the kept samples so far; `None` before there are enough.
    baseline: Option<Duration>,
    rises: usize,
    /// Whether the last acknowledgement brought the rise that ends slow start.
    has_ended: bool,
}

impl RttRise {
    /// Adds a sample; returns whether the RTT has risen often enough with it. It is called after that, too.
    fn has_risen(&mut self, now: Time, rtt: Duration) -> bool {
        if self.sampled.is_some_and(|last| now.since(last) <= SPACING) {
            return false;
        }
        self.sampled = Some(now);
        self.samples[self.next] = rtt;
        self.next = (self.next + 1) % SIZE;
        self.ready |= self.next == 0;
        if !self.ready {
            return false;
        }
        let least = self.samples.into_iter().min().expect("five samples");
        let largest = self.samples.into_iter().max().expect("five samples");
        let baseline = self.baseline.map_or(largest, |known| known.min(largest));
        self.baseline = Some(baseline);
        let rise = least.saturating_sub(baseline);
        if rise * 4 >= baseline {
            self.rises += 1;
            return self.rises >= SIZE;
        }
        if rise > Duration::ZERO {
            self.rises = 0;
        }
        false
    }
}

impl SlowStartPolicy for RttRise {
    fn on_ack(&mut self, question: &SlowStartInput<'_>) -> SlowStartDecision {
        if !question.initial {
            return SlowStartDecision::GO_ON;
        }
        // the acknowledgement with the last rise has increased the window
        if std::mem::take(&mut self.has_ended) {
            return SlowStartDecision::Leave;
        }
        self.has_ended = question.rtt.is_some_and(|rtt| self.has_risen(question.ack.now, rtt));
        SlowStartDecision::GO_ON
    }
}

#[cfg(test)]
#[path = "hystart_aioquic_tests.rs"]
mod tests;
