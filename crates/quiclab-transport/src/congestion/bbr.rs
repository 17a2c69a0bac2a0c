//! BBR: the window and the pacing rate follow a model of the path. Version 3 is in `v3`; the rest is about
//! version 1, which ignores losses.
//!
//! The model (Cardwell, Cheng, Gunn, Yeganeh, Jacobson: "BBR: Congestion-Based Congestion Control", ACM Queue
//! 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00) has two numbers, which cannot be measured at
//! the same time: the bandwidth of the bottleneck, as the maximum delivery rate of ten round trips, and the
//! RTT without queue, as the minimum of ten seconds. Their product (BDP) is the amount that must be in
//! flight. Four states:
//!
//! ```text
//! STARTUP    2.885 times the bandwidth, until it has grown by less than 25 % for three rounds
//! DRAIN      1/2.885 times, until no more than the BDP is in flight
//! PROBE_BW   1.25, 0.75 and six times 1, about one RTT each
//! PROBE_RTT  four packets in flight for 200 ms and a round, when the minimum RTT is 10 s old
//! ```
//!
//! Three implementations; each file says which version was read and what is omitted:
//!
//! |                   | [`BbrLinux`]             | [`BbrChromium`]               | [`BbrPicoquic`]              |
//! |-------------------|--------------------------|-------------------------------|------------------------------|
//! | counts in         | packets                  | bytes                         | bytes                        |
//! | bandwidth sample  | one per acknowledgement  | one per packet; here as Linux | one per acknowledgement      |
//! | a round ends when | a packet is delivered that was sent after its start (`delivered`) | the same, by packet number | as Linux |
//! | pacing rate       | gain x 99 % of bandwidth | gain x bandwidth              | gain x bandwidth             |
//! | first pacing rate | 2.885 x window / srtt (1 ms) | 2.885 x window / 100 ms, then window / RTT | none: the pacer's from the window |
//! | long RTT          | nothing                  | nothing                       | above 100 ms: slow start with a delay test |
//! | startup ends early | no                      | losses in a round without growth | delay (above 100 ms), losses above 20 %, ECN |
//! | gain cycle        | starts at random, not at 0.75 | starts at random, not at 0.75 | 1 x n, 1.25, 0.75: n from the RTT, then 6 to 1 by success |
//! | 0.75 ends         | after an RTT or at the BDP | after an RTT or at the BDP | after an RTT, if at the BDP  |
//! | window            | 2 BDP + aggregation + 3 quanta, even | 2 BDP + aggregation | 2 BDP + 3 quanta             |
//! | recovery          | one round of conservation, then slow start; window restored | after startup, a second window: conservation, then growth | none; losses above 20 %: half |
//! | timeout           | in flight + 1            | nothing                       | 2 x 1536 B, drain            |
//! | PROBE_RTT         | 10 s, ends on the clock  | the same, one packet more     | 10 s and 20 RTT; 5 % tolerance |
//! | quantum           | 1 ms, 1 or 2 to 127 packets | the pacer's                | 1, 2 packets, 1 ms up to 64 KiB |
//! | policer (lt_bw)   | yes                      | no                            | yes, differs (`policer.rs`)   |

mod aggregation;
mod chromium;
mod constants;
pub mod filter;
mod linux;
mod loss_test;
mod picoquic;
mod policer;
#[cfg(test)]
mod tests;
mod v3;

pub use chromium::BbrChromium;
pub use linux::BbrLinux;
pub use picoquic::BbrPicoquic;
pub use v3::{BbrV3, Offload};

use crate::congestion::Phase;
use quiclab_core::{ByteCount, DataRate, Duration, Time};

/// Number of rounds of the maximum filter of the bandwidth: a gain cycle and two rounds (`bbr_bw_rtts`,
/// `kBandwidthWindowSize`, `BBR_BTL_BW_FILTER_LENGTH`).
const BANDWIDTH_ROUNDS: u64 = 10;
/// Time for which a minimum RTT is valid (`bbr_min_rtt_win_sec`, `kMinRttExpiry`, `BBR_PROBE_RTT_INTERVAL`).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// Minimum time with the minimum window (`bbr_probe_rtt_mode_ms`, `kProbeRttTime`).
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Minimum window in packets (`bbr_cwnd_min_target`, `kDefaultMinimumCongestionWindow`).
const MIN_WINDOW_PACKETS: u64 = 4;
/// Rounds without growth by a quarter after which the pipe is full (`bbr_full_bw_cnt`).
const FULL_ROUNDS: u32 = 3;
/// Number of phases of the gain cycle.
const CYCLE: usize = 8;

/// State of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

impl Mode {
    fn phase(self) -> Phase {
        match self {
            Self::Startup => Phase::Startup,
            Self::Drain => Phase::Drain,
            Self::ProbeBandwidth => Phase::ProbeBandwidth,
            Self::ProbeRtt => Phase::ProbeRtt,
        }
    }
}

/// Detection of a full pipe: the bandwidth has not grown by a quarter for three rounds.
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    reached: bool,
    /// Last bandwidth that had grown, and the number of rounds since.
    bandwidth: u64,
    rounds: u32,
}

impl FullPipe {
    /// Handles the end of a round with `bandwidth`; `has_grown` compares it with the previous bandwidth.
    fn on_round(&mut self, bandwidth: u64, has_grown: impl FnOnce(u64) -> bool) {
        if has_grown(self.bandwidth) {
            (self.bandwidth, self.rounds) = (bandwidth, 0);
        } else {
            self.rounds += 1;
            self.reached = self.rounds >= FULL_ROUNDS;
        }
    }
}

/// Detection of a restart after the application had nothing to send. (Linux uses `CA_EVENT_TX_START` and
/// `app_limited` of the socket; a controller here receives only packets.)
#[derive(Clone, Copy, Debug, Default)]
struct Idle {
    /// Time at which the next packet could have been sent; `None` before the first.
    ready: Option<Time>,
}

impl Idle {
    /// Handles a packet that is sent; the pacer delays the next one by `spacing`. Returns whether nothing is
    /// in flight, for another reason than window or pacer.
    fn on_sent(&mut self, now: Time, in_flight: u64, spacing: Duration) -> bool {
        let restart = in_flight == 0 && self.ready.is_some_and(|ready| now > ready);
        self.ready = Some(self.ready.map_or(now, |ready| ready.max(now)) + spacing);
        restart
    }

    /// Handles an acknowledgement, which makes room.
    fn on_ack(&mut self, now: Time) {
        self.ready = self.ready.map(|ready| ready.max(now));
    }
}

/// Marks packets as limited by the controller itself: those sent in PROBE_RTT do not measure the bandwidth.
/// (The originals mark them in the estimator, to which a controller has no access here.)
#[derive(Clone, Copy, Debug, Default)]
struct ProbeRttLimited {
    /// Bytes delivered when the first marked packet was sent, and when the last was; `None`: no mark yet.
    range: Option<(u64, u64)>,
}

impl ProbeRttLimited {
    /// Marks packets sent from now on, until all bytes now in flight are delivered.
    fn mark(&mut self, delivered: u64, in_flight: u64) {
        let from = match self.range {
            Some((from, until)) if delivered <= until => from,
            _ => delivered,
        };
        self.range = Some((from, delivered + in_flight));
    }

    /// Whether a packet sent when `prior_delivered` bytes had been delivered is marked.
    fn covers(&self, prior_delivered: u64) -> bool {
        self.range.is_some_and(|(from, until)| (from..=until).contains(&prior_delivered))
    }
}

/// Byte/s as a rate.
pub(super) fn rate_of(bytes_per_second: u64) -> DataRate {
    DataRate::from_bits_per_second(bytes_per_second.saturating_mul(8))
}

/// Time that `bytes` take at byte/s; zero if the rate is unknown.
pub(super) fn time_of(bytes_per_second: u64, bytes: u64) -> Duration {
    if bytes_per_second == 0 {
        return Duration::ZERO;
    }
    rate_of(bytes_per_second).time_for(ByteCount::from_bytes(bytes))
}

/// Bytes in `time` at byte/s, rounded down.
pub(super) fn bytes_in(bytes_per_second: u64, time: Duration) -> u64 {
    let bytes = u128::from(bytes_per_second) * u128::from(time.as_nanos()) / 1_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Byte/s of `bytes` in `time`, rounded down.
pub(super) fn per_second(bytes: u64, time: Duration) -> u64 {
    let rate = u128::from(bytes) * 1_000_000_000 / u128::from(time.as_nanos().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}
