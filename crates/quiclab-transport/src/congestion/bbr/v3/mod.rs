//! BBR version 3: draft-ietf-ccwg-bbr-06 (July 2026). States, variables and constants have the names of the draft.
//!
//! ```text
//! signals   what an acknowledgement or a loss says: rounds, bandwidth, RTT, aggregation
//! model     how much may be in flight, in the long and in the short term
//! machine   the states, and when each ends
//! control   pacing rate, quantum and window
//! ```
//!
//! | | draft | here |
//! | --- | --- | --- |
//! | rates, gains | real numbers | byte/s and hundredths, rounded down |
//! | `max_bw_filter` | Kathleen Nichols' filter over two cycles | the maxima of two cycles; a cycle without a sample does not count |
//! | `C.app_limited` after a pause | of the transport | [`Idle`]: nothing in flight, neither window nor pacer in the way |
//! | `MarkConnectionAppLimited` in ProbeRTT | of the transport | [`ProbeRttLimited`] |
//! | losses of Startup in fast recovery | at least a round of it | as of the acknowledgement that ends a round of losses |
//! | timeout | the window lets one packet go | the same; QUIC: at persistent congestion (RFC 9002 section 7.6) |
//! | state saved for an undo | at the first loss of each round, and when recovery begins | once for a recovery: another time would forget that a loss ended a probe |
//! | spurious recoveries | known to the transport | lab-tcp and noq tell, lab-quic and quinn do not |
//! | connections without SACK | any loss is too much | losses above 2 %, as with it |
//! | `InflightAtLoss` | may be less than what was in flight before the packet | at least that |
//! | ECN | not a part of the algorithm | marks are not looked at |

mod control;
mod machine;
mod model;
mod signals;
#[cfg(test)]
mod tests;

use super::constants::Constants;
use super::filter::{Extremum, WindowedFilter};
use super::{Idle, ProbeRttLimited, rate_of, time_of};
use crate::congestion::constants::BbrConstants;
use crate::congestion::{Ack, CongestionEvent, Controller, LostPacket, Phase, RecoveryPhase};
use machine::{AckPhase, State};
use quiclab_core::{DataRate, Duration, RandomStream, Time};
use signals::RateSample;

/// `BBR.StartupPacingGain`: 4 ln 2; gains are in hundredths.
const STARTUP_PACING_GAIN: u64 = 277;
/// `BBR.DrainPacingGain`.
const DRAIN_PACING_GAIN: u64 = 50;
/// Pacing gains of ProbeBW_DOWN and ProbeBW_UP.
const PROBE_DOWN_PACING_GAIN: u64 = 90;
const PROBE_UP_PACING_GAIN: u64 = 125;
/// Gain 1.
const UNIT: u64 = 100;
/// `BBR.DefaultCwndGain`, and that of ProbeBW_UP.
const DEFAULT_CWND_GAIN: u64 = 200;
const PROBE_UP_CWND_GAIN: u64 = 225;
/// `BBR.ProbeRTTCwndGain`.
const PROBE_RTT_CWND_GAIN: u64 = 50;
/// `BBR.PacingMarginPercent`, as what is left.
const PACED_PERCENT: u64 = 99;
/// `BBR.LossThresh` in percent.
const LOSS_THRESH_PERCENT: u64 = 2;
/// `BBRStartupFullLossCnt`.
const STARTUP_FULL_LOSS_COUNT: u32 = 6;
/// `BBR.Beta` and `BBR.Headroom` in percent.
const BETA_PERCENT: u64 = 70;
const HEADROOM_PERCENT: u64 = 15;
/// `BBR.MinPipeCwnd` in packets.
const MIN_PIPE_CWND: u64 = 4;
/// `BBR.ExtraAckedFilterLen` in rounds.
const EXTRA_ACKED_FILTER_LEN: u64 = 10;
/// `BBR.MinRTTFilterLen`, `BBR.ProbeRTTInterval`, `BBR.ProbeRTTDuration`.
const MIN_RTT_FILTER_LEN: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// What a scenario can change.
const CONSTANTS: Constants<u64> = Constants {
    startup_pacing: STARTUP_PACING_GAIN,
    startup_cwnd: DEFAULT_CWND_GAIN,
    drain_pacing: DRAIN_PACING_GAIN,
    probe_bw_cwnd: DEFAULT_CWND_GAIN,
    up: PROBE_UP_PACING_GAIN,
    down: PROBE_DOWN_PACING_GAIN,
    probe_rtt_cwnd: PROBE_RTT_CWND_GAIN,
    probe_rtt_interval: PROBE_RTT_INTERVAL,
    probe_rtt_duration: PROBE_RTT_DURATION,
};
/// Rounds without growth by a quarter after which the pipe is full.
const FULL_BW_COUNT: u32 = 3;
/// Rounds after which Drain ends.
const DRAIN_ROUNDS: u64 = 3;

/// What the transport is, as far as the window depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Three quanta are on the way through the hosts (TCP).
    Tcp,
    /// One (QUIC).
    Quic,
}

/// BBR version 3.
#[derive(Clone, Debug)]
pub struct BbrV3 {
    /// `C.SMSS`.
    mss: u64,
    initial_cwnd: u64,
    offload: Offload,
    random: RandomStream,
    constants: Constants<u64>,
    // control parameters
    cwnd: u64,
    /// Byte/s.
    pacing_rate: u64,
    send_quantum: u64,
    has_rtt: bool,
    prior_cwnd: u64,
    // state machine
    state: State,
    drain_start_round: u64,
    ack_phase: AckPhase,
    idle_restart: bool,
    /// Rounds without growth, and what they are compared with.
    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw: u64,
    full_bw_count: u32,
    cycle_stamp: Time,
    bw_probe_wait: Duration,
    rounds_since_probe_up: u64,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    is_bw_probe_sample: bool,
    bw_probe_up_rounds: u32,
    bw_probe_up_acked: u64,
    /// `None`: infinite, as all `Option`s of limits here.
    probe_up_acked_per_inc: Option<u64>,
    probe_rtt_done_stamp: Option<Time>,
    probe_rtt_round_done: bool,
    // rounds
    next_round_delivered: u64,
    round_start: bool,
    round_count: u64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    is_loss_in_round: bool,
    // model
    /// The largest bandwidth of the last full cycle and of this one.
    max_bw_filter: [u64; 2],
    bw: u64,
    bw_shortterm: Option<u64>,
    inflight_shortterm: Option<u64>,
    inflight_longterm: Option<u64>,
    bw_latest: u64,
    inflight_latest: u64,
    min_rtt: Option<Duration>,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Option<Duration>,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    extra_acked_interval_start: Time,
    extra_acked_delivered: u64,
    extra_acked_filter: WindowedFilter,
    extra_acked: u64,
    undo: Undo,
    /// The state is that before the present recovery.
    is_state_saved: bool,
    /// A packet was sent.
    started: bool,
    // what the transport said last
    rs: RateSample,
    recovery: RecoveryPhase,
    /// Discontiguous ranges lost in this round, and where the last one ended.
    lost_ranges: u32,
    lost_up_to: u64,
    idle: Idle,
    self_limited: ProbeRttLimited,
}

/// State before a recovery that may prove spurious.
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    state: Option<State>,
    bw_shortterm: Option<u64>,
    inflight_shortterm: Option<u64>,
    inflight_longterm: Option<u64>,
}

impl BbrV3 {
    /// A connection with packets of `mss` bytes and a first window in bytes.
    #[must_use]
    pub fn new(mss: u64, initial_window: u64, offload: Offload, random: RandomStream) -> Self {
        let mut controller = Self {
            mss,
            initial_cwnd: initial_window,
            offload,
            random,
            constants: CONSTANTS,
            cwnd: initial_window,
            pacing_rate: 0,
            send_quantum: 2 * mss,
            has_rtt: false,
            prior_cwnd: 0,
            state: State::Startup,
            drain_start_round: 0,
            ack_phase: AckPhase::Init,
            idle_restart: false,
            full_bw_reached: false,
            full_bw_now: false,
            full_bw: 0,
            full_bw_count: 0,
            cycle_stamp: Time::ZERO,
            bw_probe_wait: Duration::ZERO,
            rounds_since_probe_up: 0,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            is_bw_probe_sample: false,
            bw_probe_up_rounds: 0,
            bw_probe_up_acked: 0,
            probe_up_acked_per_inc: None,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            next_round_delivered: 0,
            round_start: false,
            round_count: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            max_bw_filter: [0; 2],
            bw: 0,
            bw_shortterm: None,
            inflight_shortterm: None,
            inflight_longterm: None,
            bw_latest: 0,
            inflight_latest: 0,
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min_delay: None,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_expired: false,
            extra_acked_interval_start: Time::ZERO,
            extra_acked_delivered: 0,
            extra_acked_filter: WindowedFilter::new(Extremum::Max, 1, 0),
            extra_acked: 0,
            undo: Undo::default(),
            is_state_saved: false,
            started: false,
            rs: RateSample::default(),
            recovery: RecoveryPhase::Open,
            lost_ranges: 0,
            lost_up_to: 0,
            idle: Idle::default(),
            self_limited: ProbeRttLimited::default(),
        };
        controller.init_pacing_rate(None);
        controller
    }

    /// The same with other constants; before [`Self::after_handshake`].
    #[must_use]
    pub fn with(mut self, set: &BbrConstants) -> Self {
        self.constants = self.constants.with(set, |gain| libm::round(gain * UNIT as f64) as u64);
        self.init_pacing_rate(None);
        self
    }

    /// Begins with the RTT of a handshake.
    #[must_use]
    pub fn after_handshake(mut self, rtt: Option<Duration>) -> Self {
        self.min_rtt = rtt;
        self.probe_rtt_min_delay = rtt;
        self.init_pacing_rate(rtt);
        self
    }

    fn max_bw(&self) -> u64 {
        self.max_bw_filter[0].max(self.max_bw_filter[1])
    }

    fn is_in_recovery(&self) -> bool {
        self.recovery != RecoveryPhase::Open
    }
}

/// `value` x `percent` / 100.
fn percent(value: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(percent) / u128::from(UNIT)).unwrap_or(u64::MAX)
}

/// The smaller of a value and a limit that may be infinite.
fn limited(value: u64, limit: Option<u64>) -> u64 {
    limit.map_or(value, |limit| value.min(limit))
}

impl Controller for BbrV3 {
    fn on_sent(&mut self, now: Time, bytes: u64, in_flight: u64) {
        if !self.started {
            self.started = true;
            (self.probe_rtt_min_stamp, self.min_rtt_stamp) = (now, now);
        }
        if self.idle.on_sent(now, in_flight, time_of(self.pacing_rate, bytes)) {
            self.handle_restart_from_idle(now);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let Some(rs) = RateSample::new(ack, &self.self_limited) else { return };
        self.rs = rs;
        self.idle.on_ack(ack.now);
        self.recovery = ack.phase;
        if !self.has_rtt
            && let Some(srtt) = ack.srtt
        {
            self.init_pacing_rate(Some(srtt));
        }
        self.update_model_and_state();
        self.update_control_parameters();
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.handle_lost_packet(packet);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if !event.ecn {
            self.save_state_upon_loss();
            self.recovery = RecoveryPhase::Recovery;
        }
    }

    fn on_recovery_end(&mut self, _now: Time) {
        self.restore_cwnd();
        self.recovery = RecoveryPhase::Open;
        self.is_state_saved = false;
    }

    fn on_timeout(&mut self, event: &CongestionEvent, cut: bool) {
        if cut {
            self.save_state_upon_loss();
        }
        self.cwnd = event.in_flight + self.mss;
        self.recovery = RecoveryPhase::Loss;
    }

    fn on_spurious(&mut self, _now: Time) {
        self.handle_spurious_loss_detection();
    }

    fn window(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn pacing_rate(&self) -> Option<DataRate> {
        Some(rate_of(self.pacing_rate))
    }

    fn send_quantum(&self) -> Option<u64> {
        Some(self.send_quantum)
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn phase(&self) -> Phase {
        self.state.phase()
    }
}
