//! BBR of Chromium's QUIC, January 2023: quiche/quic/core/congestion_control/bbr_sender.cc of google/quiche at bebdfcd7
//! with all connection options and reloadable flags off; in bytes.
//!
//! | Chromium | here |
//! |---|---|
//! | one bandwidth sample per packet (`bandwidth_sampler.cc`) | one per acknowledgement, of the packet sent last |
//! | no sample is too short | [`RateSample::interval`] is `None` below the minimum RTT |
//! | `OnAppLimited` in PROBE_RTT | [`ProbeRttLimited`] |
//! | `sampler_.is_app_limited()` with nothing in flight | [`Idle`] |
//! | losses detected by a timer reduce the recovery window | only those detected by an acknowledgement |
//! | losses of a round in startup compared with the bytes in flight at the sending of the acknowledged packet | with those before the acknowledgement |
//! | packet numbers | positions |
//!
//! Earlier versions (2019) had a window gain of 2.885 in startup, did not exit it on losses, and had recovery
//! before the pipe was full. Retransmission timeouts, persistent congestion and spurious losses change
//! nothing (`OnRetransmissionTimeout` is empty).

use super::aggregation::AckHeight;
use super::constants::Constants;
use super::filter::{Extremum, WindowedFilter};
use super::{
    BANDWIDTH_ROUNDS, CYCLE, FullPipe, Idle, MIN_RTT_WINDOW, MIN_WINDOW_PACKETS, Mode, PROBE_RTT_TIME,
    ProbeRttLimited, bytes_in, per_second, rate_of, time_of,
};
use crate::congestion::constants::BbrConstants;
use crate::congestion::{Ack, CongestionEvent, Controller, Phase};
use crate::recovery::delivery_rate::RateSample;
use quiclab_core::{DataRate, Duration, RandomStream, Time};

/// 2/ln 2 (`kDefaultHighGain`).
pub(super) const HIGH_GAIN: f64 = 2.885;
/// `drain_gain_`.
pub(super) const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
/// Window in STARTUP and DRAIN (`kDerivedHighCWNDGain`).
pub(super) const HIGH_CWND_GAIN: f64 = 2.0;
/// Window in PROBE_BW (`FLAGS_quic_bbr_cwnd_gain`).
const CWND_GAIN: f64 = 2.0;
/// Constants that a scenario can change.
const CONSTANTS: Constants<f64> = Constants {
    startup_pacing: HIGH_GAIN,
    startup_cwnd: HIGH_CWND_GAIN,
    drain_pacing: DRAIN_GAIN,
    probe_bw_cwnd: CWND_GAIN,
    up: 1.25,
    down: 0.75,
    probe_rtt_cwnd: 0.0,
    probe_rtt_interval: MIN_RTT_WINDOW,
    probe_rtt_duration: PROBE_RTT_TIME,
};
/// `kPacingGain`.
pub(super) const CYCLE_GAINS: [f64; CYCLE] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Growth below which the pipe counts as full (`kStartupGrowthTarget`).
const GROWTH_TARGET: f64 = 1.25;
/// Number of acknowledgements with losses in a round without growth that ends startup, and the share of bytes
/// in flight that must be lost (`quic_bbr2_default_startup_full_loss_count`,
/// `quic_bbr2_default_loss_threshold`).
const STARTUP_LOSS_EVENTS: u32 = 8;
const LOSS_THRESHOLD: f64 = 0.02;
/// RTT before the first sample (`kInitialRttMs`).
const INITIAL_RTT: Duration = Duration::from_millis(100);
/// `kDefaultMaxCongestionWindowPackets`.
const MAX_WINDOW_PACKETS: u64 = 2000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    None,
    /// Sends the amount delivered, for one round.
    Conservation,
    /// Sends twice the amount delivered, until a round without losses is over.
    Growth,
}

/// BBR of Chromium.
#[derive(Clone, Debug)]
pub struct BbrChromium {
    mss: u64,
    random: RandomStream,
    mode: Mode,
    window: u64,
    initial_window: u64,
    /// Pacing rate in byte/s; 0: none yet.
    pacing_rate: u64,
    constants: Constants<f64>,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Maximum bandwidth in byte/s.
    bandwidth: WindowedFilter,
    ack_height: AckHeight,
    min_rtt: Option<Duration>,
    min_rtt_time: Time,
    rounds: u64,
    /// Position that ends the round when a packet beyond it is acknowledged; `None` before the first.
    round_end: Option<u64>,
    cycle: usize,
    cycle_start: Time,
    full: FullPipe,
    /// Number of acknowledgements of this round with losses, and the bytes lost.
    loss_events: u32,
    lost_in_round: u64,
    /// Whether sending has restarted after idle; until the next acknowledgement.
    exiting_quiescence: bool,
    probe_rtt_end: Option<Time>,
    probe_rtt_round: bool,
    app_limited: bool,
    recovery: Recovery,
    /// Recovery window; `None`: to be set from the bytes in flight.
    recovery_window: Option<u64>,
    /// Position whose acknowledgement without losses ends recovery.
    recovery_end: u64,
    idle: Idle,
    self_limited: ProbeRttLimited,
    delivered: u64,
    /// Whether the window has reached its maximum.
    bound: bool,
}

impl BbrChromium {
    /// Makes a controller for packets of `mss` bytes with an initial window in bytes.
    #[must_use]
    pub fn new(mss: u64, initial_window: u64, random: RandomStream) -> Self {
        Self {
            mss,
            random,
            mode: Mode::Startup,
            window: initial_window,
            initial_window,
            pacing_rate: 0,
            constants: CONSTANTS,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_CWND_GAIN,
            bandwidth: WindowedFilter::new(Extremum::Max, BANDWIDTH_ROUNDS, 0),
            ack_height: AckHeight::new(BANDWIDTH_ROUNDS),
            min_rtt: None,
            min_rtt_time: Time::ZERO,
            rounds: 0,
            round_end: None,
            cycle: 0,
            cycle_start: Time::ZERO,
            full: FullPipe::default(),
            loss_events: 0,
            lost_in_round: 0,
            exiting_quiescence: false,
            probe_rtt_end: None,
            probe_rtt_round: false,
            app_limited: false,
            recovery: Recovery::None,
            recovery_window: None,
            recovery_end: 0,
            idle: Idle::default(),
            self_limited: ProbeRttLimited::default(),
            delivered: 0,
            bound: false,
        }
    }

    /// Sets other constants.
    #[must_use]
    pub fn with(mut self, set: &BbrConstants) -> Self {
        self.constants = self.constants.with(set, |gain| gain);
        self.enter_startup();
        self
    }

    fn min_window(&self) -> u64 {
        MIN_WINDOW_PACKETS * self.mss
    }

    fn min_rtt(&self) -> Duration {
        self.min_rtt.unwrap_or(INITIAL_RTT)
    }

    /// Pacing rate in byte/s.
    fn paced(&self) -> u64 {
        if self.pacing_rate != 0 {
            return self.pacing_rate;
        }
        (self.constants.startup_pacing * per_second(self.initial_window, self.min_rtt()) as f64) as u64
    }

    /// Gain x BDP (`GetTargetCongestionWindow`).
    fn target(&self, gain: f64) -> u64 {
        let bdp = bytes_in(self.bandwidth.get(), self.min_rtt());
        let window = match (gain * bdp as f64) as u64 {
            0 => (gain * self.initial_window as f64) as u64,
            window => window,
        };
        window.max(self.min_window())
    }

    fn enter_startup(&mut self) {
        self.mode = Mode::Startup;
        self.pacing_gain = self.constants.startup_pacing;
        self.cwnd_gain = self.constants.startup_cwnd;
    }

    fn enter_probe_bandwidth(&mut self, now: Time) {
        self.mode = Mode::ProbeBandwidth;
        self.cwnd_gain = self.constants.probe_bw_cwnd;
        // 0 or 2 to 7: less than the bandwidth makes no sense before more
        self.cycle = (self.random.bits() % (CYCLE as u64 - 1)) as usize;
        if self.cycle >= 1 {
            self.cycle += 1;
        }
        self.cycle_start = now;
        self.pacing_gain = self.constants.cycle(CYCLE_GAINS[self.cycle], 1.0);
    }

    fn start_round(&mut self, ack: &Ack) -> bool {
        let over = self.round_end.is_none_or(|end| ack.acked_position > end);
        if over {
            self.rounds += 1;
            self.round_end = Some(ack.next_position);
        }
        over
    }

    fn update_bandwidth(&mut self, rate: &RateSample) {
        let Some(interval) = rate.interval else { return };
        self.app_limited = rate.app_limited || self.self_limited.covers(rate.prior_delivered);
        let sample = per_second(rate.delivered, interval);
        if !self.app_limited || sample > self.bandwidth.get() {
            self.bandwidth.update(self.rounds, sample);
        }
    }

    /// Updates the minimum RTT; returns whether it had expired.
    fn update_min_rtt(&mut self, ack: &Ack) -> bool {
        let Some(rtt) = ack.rtt else { return false };
        let expired =
            self.min_rtt.is_some() && ack.now > self.min_rtt_time + self.constants.probe_rtt_interval;
        if expired || self.min_rtt.is_none_or(|min| rtt < min) {
            self.min_rtt = Some(rtt);
            self.min_rtt_time = ack.now;
        }
        expired
    }

    fn update_recovery(&mut self, ack: &Ack, round_start: bool) {
        if !self.full.reached {
            return;
        }
        let losses = ack.lost_bytes > 0;
        if losses {
            self.recovery_end = ack.next_position;
        }
        match self.recovery {
            Recovery::None => {
                if losses {
                    self.recovery = Recovery::Conservation;
                    self.recovery_window = None;
                    // conservation lasts a whole round
                    self.round_end = Some(ack.next_position);
                }
            }
            Recovery::Conservation | Recovery::Growth => {
                if round_start {
                    self.recovery = Recovery::Growth;
                }
                if !losses && ack.acked_position > self.recovery_end {
                    self.recovery = Recovery::None;
                }
            }
        }
    }

    fn update_cycle(&mut self, ack: &Ack) {
        let mut advance = ack.now.since(self.cycle_start) > self.min_rtt();
        // more than the bandwidth until it is in flight, unless it does not fit
        if self.pacing_gain > 1.0
            && ack.lost_bytes == 0
            && ack.prior_in_flight < self.target(self.pacing_gain)
        {
            advance = false;
        }
        // less than the bandwidth until the queue is empty
        if self.pacing_gain < 1.0 && ack.in_flight <= self.target(1.0) {
            advance = true;
        }
        if advance {
            self.cycle = (self.cycle + 1) % CYCLE;
            self.cycle_start = ack.now;
            self.pacing_gain = self.constants.cycle(CYCLE_GAINS[self.cycle], 1.0);
        }
    }

    fn check_full(&mut self, ack: &Ack) {
        if self.app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        self.full.on_round(bandwidth, |before| bandwidth as f64 >= before as f64 * GROWTH_TARGET);
        // in a round without growth
        let much = self.lost_in_round as f64 > ack.prior_in_flight as f64 * LOSS_THRESHOLD;
        if self.full.rounds > 0 && self.loss_events >= STARTUP_LOSS_EVENTS && much {
            self.full.reached = true;
        }
    }

    fn check_drain(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
            self.pacing_gain = self.constants.drain_pacing;
            self.cwnd_gain = self.constants.startup_cwnd;
        }
        if self.mode == Mode::Drain && ack.in_flight <= self.target(1.0) {
            self.enter_probe_bandwidth(ack.now);
        }
    }

    fn update_probe_rtt(&mut self, ack: &Ack, round_start: bool, expired: bool) {
        if expired && !self.exiting_quiescence && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.pacing_gain = 1.0;
            self.probe_rtt_end = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.self_limited.mark(self.delivered, ack.in_flight);
            if let Some(end) = self.probe_rtt_end {
                self.probe_rtt_round |= round_start;
                if ack.now >= end && self.probe_rtt_round {
                    self.min_rtt_time = ack.now;
                    if self.full.reached {
                        self.enter_probe_bandwidth(ack.now);
                    } else {
                        self.enter_startup();
                    }
                }
            } else if ack.in_flight < self.min_window() + self.mss {
                // one more: QUIC checks the window before a packet, not after
                self.probe_rtt_end = Some(ack.now + self.constants.probe_rtt_duration);
                self.probe_rtt_round = false;
            }
        }
        self.exiting_quiescence = false;
    }

    fn update_pacing_rate(&mut self, ack: &Ack) {
        if self.bandwidth.get() == 0 {
            return;
        }
        let target = (self.pacing_gain * self.bandwidth.get() as f64) as u64;
        if self.full.reached {
            self.pacing_rate = target;
            return;
        }
        if let (0, Some(min_rtt)) = (self.pacing_rate, ack.min_rtt) {
            self.pacing_rate = per_second(self.initial_window, min_rtt);
            return;
        }
        self.pacing_rate = self.pacing_rate.max(target);
    }

    fn update_window(&mut self, ack: &Ack) {
        if self.mode == Mode::ProbeRtt {
            return;
        }
        let target = self.target(self.cwnd_gain);
        if self.full.reached {
            self.window = (self.window + ack.acked_bytes).min(target + self.ack_height.bytes());
        } else if self.window < target || self.delivered < self.initial_window {
            self.window += ack.acked_bytes;
        }
        let most = MAX_WINDOW_PACKETS * self.mss;
        self.bound |= self.window >= most;
        self.window = self.window.max(self.min_window()).min(most);
    }

    fn update_recovery_window(&mut self, ack: &Ack) {
        if self.recovery == Recovery::None {
            return;
        }
        let answer = ack.in_flight + ack.acked_bytes;
        let window = match self.recovery_window {
            None => answer,
            Some(window) => {
                let less = if window >= ack.lost_bytes { window - ack.lost_bytes } else { self.mss };
                let growth = if self.recovery == Recovery::Growth { ack.acked_bytes } else { 0 };
                (less + growth).max(answer)
            }
        };
        self.recovery_window = Some(window.max(self.min_window()));
    }
}

impl Controller for BbrChromium {
    fn on_sent(&mut self, now: Time, bytes: u64, in_flight: u64) {
        let spacing = time_of(self.paced(), bytes);
        self.exiting_quiescence |= self.idle.on_sent(now, in_flight, spacing);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.idle.on_ack(ack.now);
        let rate = ack.rate.unwrap_or_default();
        self.delivered += ack.acked_bytes;
        let round_start = self.start_round(ack);
        self.update_bandwidth(&rate);
        let expired = self.update_min_rtt(ack);
        self.update_recovery(ack, round_start);
        let bandwidth = self.bandwidth.get();
        let expected = |time| bytes_in(bandwidth, time);
        self.ack_height.update(ack.now, self.rounds, ack.acked_bytes, expected);
        if self.mode == Mode::ProbeBandwidth {
            self.update_cycle(ack);
        }
        if ack.lost_bytes > 0 {
            self.loss_events += 1;
            self.lost_in_round += ack.lost_bytes;
        }
        if round_start && !self.full.reached {
            self.check_full(ack);
        }
        self.check_drain(ack);
        self.update_probe_rtt(ack, round_start, expired);
        self.update_pacing_rate(ack);
        self.update_window(ack);
        self.update_recovery_window(ack);
        if round_start {
            (self.loss_events, self.lost_in_round) = (0, 0);
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        // losses are reported with the acknowledgement; marks are ignored
    }

    fn on_timeout(&mut self, _event: &CongestionEvent, _cut: bool) {}

    fn on_spurious(&mut self, _now: Time) {}

    fn window(&self) -> u64 {
        if self.mode == Mode::ProbeRtt {
            return self.min_window();
        }
        match (self.recovery, self.recovery_window) {
            (Recovery::None, _) | (_, None) => self.window,
            (_, Some(window)) => self.window.min(window),
        }
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn pacing_rate(&self) -> Option<DataRate> {
        Some(rate_of(self.paced()))
    }

    fn bound_window(&self) -> Option<u64> {
        self.bound.then_some(MAX_WINDOW_PACKETS * self.mss)
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn phase(&self) -> Phase {
        self.mode.phase()
    }
}
