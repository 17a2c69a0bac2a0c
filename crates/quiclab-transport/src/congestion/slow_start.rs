//! Algorithms of the start of a connection: growth of the window, and end of slow start.
//!
//! [`NewReno`](super::newreno::NewReno) and [`Cubic`](super::cubic::Cubic) consult a [`SlowStartPolicy`] at
//! each acknowledgement in slow start; it decides whether, and how fast, the window continues to grow. A
//! policy that knows the capacity of a path better than the control may also set the window in the first
//! recovery period, and pace.
//!
//! | policy | input | decision |
//! |---|---|---|
//! | [`NoSlowStartExit`] | nothing | continues |
//! | [`HystartLinux`](super::hystart_linux::HystartLinux) | ACK train, delay | leaves |
//! | [`HystartChromium`](super::hystart_chromium::HystartChromium) | delay | leaves |
//! | [`RttRise`](super::hystart_aioquic::RttRise) | delay | leaves |
//! | [`DelayTest`](super::hystart_picoquic::DelayTest) | delay | leaves |
//! | [`HystartPlusPlus`](super::hystart_plus_plus::HystartPlusPlus) | delay, round after round | slows down, leaves or goes back |
//! | [`Search`](super::search::Search) | bytes sent and delivered | leaves, at the window of the congestion point |
//! | [`RapidStart`](super::rapid_start::RapidStart) | delay | grows faster; reduces the window by the bytes delivered |
//! | [`CarefulResume`](super::careful_resume::CarefulResume) | an earlier connection | jumps; retreats if that was too much |
//! | [`JumpStart`](super::jump_start::JumpStart) | nothing | jumps without information on the path |

use super::{Ack, CongestionEvent, LostPacket};
use quiclab_core::{DataRate, Duration, Time};

/// Input of a policy at an acknowledgement in slow start, before the window grows.
#[derive(Clone, Copy, Debug)]
pub struct SlowStartInput<'a> {
    /// Acknowledgement.
    pub ack: &'a Ack,
    /// RTT sample of the acknowledgement; `None` if it has none, or if the controller discards it.
    pub rtt: Option<Duration>,
    /// Minimum RTT of the controller, including this sample; `None` before the first.
    pub min_rtt: Option<Duration>,
    /// Window in bytes.
    pub window: u64,
    /// Size of a full packet in bytes.
    pub mss: u64,
    /// Whether it is the first slow start of the connection: the threshold is still unlimited.
    pub initial: bool,
}

/// Decision on a [`SlowStartInput`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartDecision {
    /// Slow start continues: the window grows by the acknowledged bytes, at most `limit` of them, times
    /// `gain` divided by `divisor`.
    Continue {
        /// Factor of growth: 1 in slow start, 2 in Rapid Start (draft-kazuho-ccwg-rapid-start-02 section
        /// 3.2). Not 0.
        gain: u64,
        /// Divisor of growth: 1 in slow start, more in conservative slow start (RFC 9406 section 4.2). Not 0.
        divisor: u64,
        /// Bytes of one acknowledgement that count (L of RFC 9406 section 4.3); `None`: all.
        limit: Option<u64>,
    },
    /// Slow start continues with a window of this number of bytes; the acknowledgement does not add to it.
    Window(u64),
    /// Slow start continues, and the window does not change.
    Hold,
    /// Slow start is over: the threshold becomes the window.
    Leave,
    /// Slow start is over: threshold and window become this number of bytes, unless they are smaller.
    LeaveAt(u64),
}

impl SlowStartDecision {
    /// Decision of slow start without an exit algorithm.
    pub const GO_ON: Self = Self::Continue { gain: 1, divisor: 1, limit: None };
}

/// Input of a policy at the start of the first recovery period.
#[derive(Clone, Copy, Debug)]
pub struct Reduction<'a> {
    /// Cause of the recovery period.
    pub event: &'a CongestionEvent,
    /// Window in bytes.
    pub window: u64,
    /// Part of the window that remains after a loss of the control.
    pub beta: f64,
}

/// Decision of the policy that sets the window at an acknowledgement in a recovery period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryStep {
    /// No change.
    Hold,
    /// Window and threshold become this number of bytes.
    Window(u64),
    /// The control takes over.
    Done(Convergence),
}

/// State that a policy hands over to the control with the window, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convergence {
    /// Threshold of slow start.
    pub ssthresh: u64,
    /// Estimate of the capacity of path and queue, which CUBIC uses as its window before the reduction.
    pub full: u64,
}

/// Product of `bytes` and `part`, rounded down; 0 if it is negative.
pub(crate) fn part_of(bytes: u64, part: f64) -> u64 {
    (bytes as f64 * part) as u64
}

/// Rate of `bytes` per `rtt`; `None` without an RTT.
pub(crate) fn paced_over(bytes: u64, rtt: Option<Duration>) -> Option<DataRate> {
    rtt.map(|rtt| crate::pacing::in_each(bytes, rtt))
}

/// Algorithm that ends slow start early.
pub trait SlowStartPolicy: Send {
    /// Window in bytes before the first packet, where `initial` is that of a sender without policy.
    fn initial_window(&mut self, initial: u64) -> u64 {
        initial
    }

    /// Handles a packet of `bytes` that is sent.
    fn on_sent(&mut self, _bytes: u64) {}

    /// Handles a packet that is declared lost; called before the events of the same acknowledgement.
    fn on_lost(&mut self, _packet: &LostPacket) {}

    /// Handles a recovery period that starts in the first slow start. Returns the window in bytes if the
    /// policy sets it, which it does while [`SlowStartPolicy::owns_recovery`] holds; `None`: the control
    /// reduces it.
    fn on_congestion(&mut self, _reduction: &Reduction<'_>) -> Option<u64> {
        None
    }

    /// Handles an acknowledgement while the policy owns the recovery period; `window` in bytes.
    fn on_recovery_ack(&mut self, _ack: &Ack, _window: u64) -> RecoveryStep {
        RecoveryStep::Hold
    }

    /// Handles the end of the recovery period that the policy owns; `window` in bytes.
    fn on_recovery_end(&mut self, window: u64) -> Convergence {
        Convergence { ssthresh: window, full: window }
    }

    /// Whether the policy sets the window in the current recovery period.
    fn owns_recovery(&self) -> bool {
        false
    }

    /// Handles a spurious reduction that the policy had set.
    fn on_undo(&mut self) {}

    /// Pacing rate at a window of this number of bytes; `None`: the pacer derives it.
    fn pacing_rate(&self, _window: u64) -> Option<DataRate> {
        None
    }

    /// Handles an acknowledgement in slow start.
    fn on_ack(&mut self, question: &SlowStartInput<'_>) -> SlowStartDecision;

    /// Handles a retransmission timeout or persistent congestion: slow start restarts. `next_position` is
    /// that of the next new packet.
    fn on_timeout(&mut self, _now: Time, _next_position: u64) {}
}

/// Policy under which only a loss or the threshold ends slow start.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSlowStartExit;

impl SlowStartPolicy for NoSlowStartExit {
    fn on_ack(&mut self, _question: &SlowStartInput<'_>) -> SlowStartDecision {
        SlowStartDecision::GO_ON
    }
}

/// Threshold for an RTT increase: an eighth of `rtt`, at least 4 ms, at most 16 ms. The same in Linux,
/// Chromium and RFC 9406 (Linux `HYSTART_DELAY_THRESH`; Chromium `kHybridStartDelayMinThresholdUs` and its
/// siblings; RFC 9406 section 4.2: `MIN_RTT_THRESH`, `MAX_RTT_THRESH`, `MIN_RTT_DIVISOR` in section 4.3).
pub(crate) fn increase_threshold(rtt: Duration) -> Duration {
    (rtt / 8).clamp(Duration::from_millis(4), Duration::from_millis(16))
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// MSS of the tests.
    pub(crate) const MSS: u64 = 1000;

    /// Policy at a constant window, with one packet per acknowledgement.
    pub(crate) struct Driver<P> {
        pub(crate) policy: P,
        /// Window in packets.
        pub(crate) window: u64,
        pub(crate) min_rtt: Option<Duration>,
        pub(crate) initial: bool,
    }

    impl<P: SlowStartPolicy> Driver<P> {
        pub(crate) fn new(policy: P, window: u64) -> Self {
            Self { policy, window, min_rtt: None, initial: true }
        }

        /// Handles an ACK at `now_us` with an RTT of `rtt_us` (0: none) of all packets up to `acked`; `next`
        /// is the next new packet.
        pub(crate) fn ack(&mut self, now_us: u64, rtt_us: u64, acked: u64, next: u64) -> SlowStartDecision {
            let rtt = (rtt_us > 0).then(|| Duration::from_micros(rtt_us));
            self.min_rtt = self.min_rtt.into_iter().chain(rtt).min();
            let ack = Ack {
                now: Time::from_nanos(now_us * 1000),
                acked_bytes: MSS,
                acked_packets: 1,
                rtt,
                srtt: rtt,
                acked_position: acked * MSS,
                next_position: next * MSS,
                ..Ack::default()
            };
            self.policy.on_ack(&SlowStartInput {
                ack: &ack,
                rtt,
                min_rtt: self.min_rtt,
                window: self.window * MSS,
                mss: MSS,
                initial: self.initial,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::Driver;
    use super::*;

    #[test]
    fn nothing_ends_slow_start_when_the_policy_is_never() {
        let mut driver = Driver::new(NoSlowStartExit, 1000);
        for packet in 1..100 {
            assert_eq!(driver.ack(packet * 100, packet * 10_000, packet, 1000), SlowStartDecision::GO_ON);
        }
    }

    #[test]
    fn the_increase_threshold_is_an_eighth_between_4_and_16_ms() {
        let threshold = |ms| increase_threshold(Duration::from_millis(ms));
        assert_eq!(threshold(10), Duration::from_millis(4)); // 1.25 ms
        assert_eq!(threshold(80), Duration::from_millis(10));
        assert_eq!(threshold(200), Duration::from_millis(16)); // 25 ms
    }
}
