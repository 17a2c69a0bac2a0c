//! The algorithm that ends slow start before a loss.
//!
//! [`NewReno`](super::newreno::NewReno) and [`Cubic`](super::cubic::Cubic) ask a [`SlowStartPolicy`] on each
//! acknowledgement in slow start; it answers whether, and how fast, the window goes on growing.
//!
//! | policy | looks at | answer |
//! |---|---|---|
//! | [`Never`] | nothing | goes on |
//! | [`HystartLinux`](super::hystart_linux::HystartLinux) | ACK train, delay | leaves |
//! | [`HystartChromium`](super::hystart_chromium::HystartChromium) | delay | leaves |
//! | [`RttRise`](super::hystart_aioquic::RttRise) | delay | leaves |
//! | [`DelayTest`](super::hystart_picoquic::DelayTest) | delay | leaves |
//! | [`HystartPlusPlus`](super::hystart_plus_plus::HystartPlusPlus) | delay, round after round | slows down, leaves or goes back |

use super::Ack;
use quiclab_core::{Duration, Time};

/// What a policy may know when an acknowledgement arrives in slow start, before the window grows.
#[derive(Clone, Copy, Debug)]
pub struct SlowStartInput<'a> {
    /// The acknowledgement.
    pub ack: &'a Ack,
    /// RTT sample of the acknowledgement; `None` if it has none, or if the controller discards it.
    pub rtt: Option<Duration>,
    /// Smallest RTT that the controller knows, this sample included; `None` before the first.
    pub min_rtt: Option<Duration>,
    /// Window in bytes.
    pub window: u64,
    /// Size of a full packet in bytes.
    pub mss: u64,
    /// Whether it is the first slow start of the connection: the threshold is still unlimited.
    pub initial: bool,
}

/// Answer to a [`SlowStartInput`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartDecision {
    /// Slow start goes on: the window grows by the acknowledged bytes, at most `limit` of them, divided
    /// by `divisor`.
    Continue {
        /// 1 in slow start, more in conservative slow start (RFC 9406 section 4.2). Not 0.
        divisor: u64,
        /// Bytes of one acknowledgement that count (L of RFC 9406 section 4.3); `None`: all.
        limit: Option<u64>,
    },
    /// Slow start is over: the threshold becomes the window.
    Leave,
}

impl SlowStartDecision {
    /// Slow start without an exit algorithm.
    pub const GO_ON: Self = Self::Continue { divisor: 1, limit: None };
}

/// An algorithm that ends slow start early.
pub trait SlowStartPolicy: Send {
    /// An acknowledgement arrived in slow start.
    fn on_ack(&mut self, question: &SlowStartInput<'_>) -> SlowStartDecision;

    /// A retransmission timeout, or persistent congestion: slow start begins anew. `next_position` is
    /// that of the next new packet.
    fn on_timeout(&mut self, _now: Time, _next_position: u64) {}
}

/// Nothing ends slow start but a loss or the threshold.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSlowStartExit;

impl SlowStartPolicy for NoSlowStartExit {
    fn on_ack(&mut self, _question: &SlowStartInput<'_>) -> SlowStartDecision {
        SlowStartDecision::GO_ON
    }
}

/// A threshold for an RTT increase: an eighth of `rtt`, at least 4 ms, at most 16 ms. The same in all three
/// (Linux `HYSTART_DELAY_THRESH`; Chromium `kHybridStartDelayMinThresholdUs` and its siblings; RFC 9406
/// section 4.2: `MIN_RTT_THRESH`, `MAX_RTT_THRESH`, `MIN_RTT_DIVISOR` in section 4.3).
pub(crate) fn increase_threshold(rtt: Duration) -> Duration {
    (rtt / 8).clamp(Duration::from_millis(4), Duration::from_millis(16))
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// MSS of the tests.
    pub(crate) const MSS: u64 = 1000;

    /// A policy at a constant window, whose acknowledgements each carry one packet.
    pub(crate) struct Driver<P> {
        pub(crate) policy: P,
        /// In packets.
        pub(crate) window: u64,
        pub(crate) min_rtt: Option<Duration>,
        pub(crate) initial: bool,
    }

    impl<P: SlowStartPolicy> Driver<P> {
        pub(crate) fn new(policy: P, window: u64) -> Self {
            Self { policy, window, min_rtt: None, initial: true }
        }

        /// One ACK at `now_us` with an RTT of `rtt_us` (0: none) of everything up to packet `acked`, when
        /// `next` is the next new packet.
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
