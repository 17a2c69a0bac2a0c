//! BBR version 3: draft-ietf-ccwg-bbr-06 (July 2026). States, variables and constants have the names of the draft.
//!
//! ```text
//! machine       states and transitions
//! model         updates of the parts below, and the resulting window
//! signals       values of an acknowledgement and of a loss
//! round, loss_round              round trips, and those in which losses are evaluated
//! data_rate, extra_acked         bandwidth, aggregation
//! data_volume                    bytes in flight, in the long and in the short term
//! min_rtt, probe_rtt             minimum RTT, and the probe for it
//! full_pipe, probe_bw            end of Startup, probes for bandwidth
//! control                        pacing rate, quantum and window
//! undo                           state before a recovery that may prove spurious
//! ```
//!
//! | | draft | here |
//! | --- | --- | --- |
//! | rates, gains | real numbers | byte/s and hundredths, rounded down |
//! | `max_bw_filter` | Kathleen Nichols' filter over two cycles | the maxima of two cycles; a cycle without a sample does not count |
//! | `C.app_limited` after a pause | of the transport | [`Idle`]: nothing in flight, not limited by window or pacer |
//! | `MarkConnectionAppLimited` in ProbeRTT | of the transport | [`ProbeRttLimited`] |
//! | losses of Startup in fast recovery | at least a round of it | as of the acknowledgement that ends a round of losses |
//! | timeout | the window permits one packet | the same; QUIC: at persistent congestion (RFC 9002 section 7.6) |
//! | state saved for an undo | at the first loss of each round, and when recovery begins | once for a recovery: a second time would lose the information that a loss ended a probe |
//! | spurious recoveries | known to the transport | reported by lab-tcp and noq, not by lab-quic and quinn |
//! | connections without SACK | any loss is too much | losses above 2 %, as with it |
//! | `InflightAtLoss` | may be less than the bytes in flight before the packet | at least that |
//! | ECN | not a part of the algorithm | marks are ignored |

mod control;
mod data_rate;
mod data_volume;
mod extra_acked;
mod full_pipe;
mod loss_round;
mod machine;
mod min_rtt;
mod model;
mod probe_bw;
mod probe_rtt;
mod round;
mod signals;
#[cfg(test)]
mod tests;
mod undo;

use super::constants::Constants;
use super::{Idle, ProbeRttLimited, rate_of, time_of};
use crate::congestion::constants::BbrConstants;
use crate::congestion::{Ack, CongestionEvent, Controller, LostPacket, Phase, RecoveryPhase};
use control::ControlParameters;
use extra_acked::ExtraAcked;
use loss_round::LossRound;
use machine::State;
use min_rtt::MinRtt;
use probe_bw::ProbeCycle;
use probe_rtt::ProbeRtt;
use quiclab_core::{DataRate, Duration, RandomStream, Time};
use round::RoundCounter;
use signals::RateSample;
use undo::Undo;

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
/// 100 % less `BBR.PacingMarginPercent`.
const PACED_PERCENT: u64 = 99;
/// `BBR.LossThresh` in percent.
const LOSS_THRESH_PERCENT: u64 = 2;
/// `BBRStartupFullLossCnt`.
const STARTUP_FULL_LOSS_COUNT: u32 = 6;
/// `BBR.Beta` in percent.
const BETA_PERCENT: u64 = 70;
/// `BBR.MinPipeCwnd` in packets.
const MIN_PIPE_CWND: u64 = 4;
/// `BBR.ProbeRTTInterval`, `BBR.ProbeRTTDuration`.
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// Constants that a scenario can change.
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
/// Number of rounds after which Drain ends.
const DRAIN_ROUNDS: u64 = 3;

/// Segmentation offload of the transport, on which the window depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Three quanta in transit through the hosts (TCP).
    Tcp,
    /// One quantum (QUIC).
    Quic,
}

/// BBR version 3.
#[derive(Clone, Debug)]
pub struct BbrV3 {
    constants: Constants<u64>,
    state: State,
    /// `BBR.drain_start_round`.
    drain_start_round: u64,
    /// `BBR.idle_restart`.
    idle_restart: bool,
    round: RoundCounter,
    loss_round: LossRound,
    full_pipe: full_pipe::Estimator,
    data_rate: data_rate::Model,
    data_volume: data_volume::Model,
    extra_acked: ExtraAcked,
    min_rtt: MinRtt,
    probe_cycle: ProbeCycle,
    probe_rtt: ProbeRtt,
    undo: Undo,
    control: ControlParameters,
    // signals of the transport
    rs: RateSample,
    recovery: RecoveryPhase,
    idle: Idle,
    self_limited: ProbeRttLimited,
}

impl BbrV3 {
    /// Makes a controller for packets of `mss` bytes with an initial window in bytes.
    #[must_use]
    pub fn new(mss: u64, initial_window: u64, offload: Offload, random: RandomStream) -> Self {
        let mut controller = Self {
            constants: CONSTANTS,
            state: State::Startup,
            drain_start_round: 0,
            idle_restart: false,
            round: RoundCounter::default(),
            loss_round: LossRound::default(),
            full_pipe: full_pipe::Estimator::default(),
            data_rate: data_rate::Model::default(),
            data_volume: data_volume::Model::default(),
            extra_acked: ExtraAcked::new(),
            min_rtt: MinRtt::default(),
            probe_cycle: ProbeCycle::new(random),
            probe_rtt: ProbeRtt::default(),
            undo: Undo::default(),
            control: ControlParameters::new(mss, initial_window, offload),
            rs: RateSample::default(),
            recovery: RecoveryPhase::Open,
            idle: Idle::default(),
            self_limited: ProbeRttLimited::default(),
        };
        controller.init_pacing_rate(None);
        controller
    }

    /// Sets other constants; called before [`Self::after_handshake`].
    #[must_use]
    pub fn with(mut self, set: &BbrConstants) -> Self {
        self.constants = self.constants.with(set, |gain| libm::round(gain * UNIT as f64) as u64);
        self.init_pacing_rate(None);
        self
    }

    /// Starts with the RTT of a handshake.
    #[must_use]
    pub fn after_handshake(mut self, rtt: Option<Duration>) -> Self {
        self.min_rtt.set_handshake(rtt);
        self.init_pacing_rate(rtt);
        self
    }

    fn init_pacing_rate(&mut self, srtt: Option<Duration>) {
        self.control.init_pacing_rate(srtt, self.constants.startup_pacing);
    }

    fn is_in_recovery(&self) -> bool {
        self.recovery != RecoveryPhase::Open
    }
}

/// `value` x `percent` / 100.
fn percent(value: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(percent) / u128::from(UNIT)).unwrap_or(u64::MAX)
}

/// Minimum of a value and a limit that may be infinite.
fn limited(value: u64, limit: Option<u64>) -> u64 {
    limit.map_or(value, |limit| value.min(limit))
}

/// Maximum of two limits, of which either may be infinite.
fn larger(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one?.max(other?))
}

const _: () = assert!(UNIT == 100, "percentages are gains");

impl Controller for BbrV3 {
    fn on_sent(&mut self, now: Time, bytes: u64, in_flight: u64) {
        self.min_rtt.on_sent(now);
        if self.idle.on_sent(now, in_flight, time_of(self.control.pacing_rate(), bytes)) {
            self.handle_restart_from_idle(now);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let Some(rs) = RateSample::new(ack, &self.self_limited) else { return };
        self.rs = rs;
        self.idle.on_ack(ack.now);
        self.recovery = ack.phase;
        if !self.control.has_rtt()
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
        self.control.restore_cwnd();
        self.recovery = RecoveryPhase::Open;
        self.undo.on_recovery_end();
    }

    fn on_timeout(&mut self, event: &CongestionEvent, cut: bool) {
        if cut {
            self.save_state_upon_loss();
        }
        self.control.on_timeout(event.in_flight);
        self.recovery = RecoveryPhase::Loss;
    }

    fn on_spurious(&mut self, _now: Time) {
        self.handle_spurious_loss_detection();
    }

    fn window(&self) -> u64 {
        self.control.cwnd()
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn pacing_rate(&self) -> Option<DataRate> {
        Some(rate_of(self.control.pacing_rate()))
    }

    fn send_quantum(&self) -> Option<u64> {
        Some(self.control.send_quantum())
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn phase(&self) -> Phase {
        self.state.phase()
    }
}
