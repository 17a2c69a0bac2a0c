//! BBR of picoquic at bf84867 (October 2020): picoquic/bbr.c (later bbr1.c), in bytes and with floating-point
//! gains. It follows the draft, with changes that result from tests of its author.
//!
//! | picoquic | here |
//! |---|---|
//! | no sample within 1 ms; startup takes at least half of the peak of a second estimator | one sample per acknowledgement, no peak: startup needs a round or two more |
//! | losses by packet number | delivered packets of an acknowledgement precede its losses |
//! | timeout notification | retransmission timeout, persistent congestion |
//! | quantum of slow start from the window | the pacer's |
//! | one-way delay if time stamps are negotiated | the RTT |
//! | a bandwidth remembered from an earlier connection; a minimum RTT above 30 s is rejected | none |
//!
//! As in the file read, no random number is drawn, samples of PROBE_RTT count for the bandwidth, and nothing
//! happens when sending restarts after idle (`BBROnTransmit` has no caller). Packet conservation
//! (`BBROnEnterFastRecovery`) has none either: below a share of 20 % losses have no effect.

use super::constants::Constants;
use super::loss_test::LossTest;
use super::policer::{Policer, PolicerInput, PolicerRules};
use super::{
    BANDWIDTH_ROUNDS, CYCLE, FULL_ROUNDS, FullPipe, MIN_RTT_WINDOW, MIN_WINDOW_PACKETS, Mode, PROBE_RTT_TIME,
    bytes_in, per_second, rate_of,
};
use crate::congestion::constants::BbrConstants;
use crate::congestion::hystart_picoquic::DelayTest;
use crate::congestion::{Ack, CongestionEvent, Controller, Phase};
use quiclab_core::{DataRate, Duration, RandomStream, Time};

/// 2/ln 2 (`BBR_HIGH_GAIN`).
pub(super) const HIGH_GAIN: f64 = 2.885_390_081_777_9;
/// Window in PROBE_BW (`BBREnterProbeBW`).
const CWND_GAIN: f64 = 2.0;
/// Constants that a scenario can change.
const CONSTANTS: Constants<f64> = Constants {
    startup_pacing: HIGH_GAIN,
    startup_cwnd: HIGH_GAIN,
    drain_pacing: 1.0 / HIGH_GAIN,
    probe_bw_cwnd: CWND_GAIN,
    up: 1.25,
    down: 0.75,
    probe_rtt_cwnd: 0.0,
    probe_rtt_interval: MIN_RTT_WINDOW,
    probe_rtt_duration: PROBE_RTT_TIME,
};
/// `bbr_pacing_gain_cycle`.
pub(super) const CYCLE_GAINS: [f64; CYCLE] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25, 0.75];
/// Latest start of a cycle (`BBR_GAIN_CYCLE_MAX_START`).
const MAX_START: usize = 5;
/// `PICOQUIC_TARGET_RENO_RTT`, above which startup is slow start with a delay test (`BBREnterStartupLongRTT`).
const RENO_RTT: Duration = Duration::from_millis(100);
/// `PICOQUIC_TARGET_SATELLITE_RTT`.
const SATELLITE_RTT: Duration = Duration::from_millis(610);
/// Pacing rate of slow start in units of window / RTT (`picoquic_update_pacing_data`).
const SLOW_START_GAIN: f64 = 1.25;
/// Packets below which slow start is not paced.
const UNPACED_PACKETS: u64 = 8;
/// Pacing rate in byte/s up to which one packet is sent at a time (`BBR_PACING_RATE_LOW`: 1.2 Mbit/s).
const LOW_RATE: f64 = 150_000.0;
/// Pacing rate in byte/s up to which two packets are sent at a time (`BBR_PACING_RATE_MEDIUM`: 24 Mbit/s).
const MEDIUM_RATE: f64 = 3_000_000.0;
/// `PICOQUIC_MAX_PACKET_SIZE`.
const MAX_PACKET: u64 = 1536;
/// Bytes of a packet that do not count as delivered: `delivered` sums lengths without the tag
/// (`picoquic_process_ack_range`), so that the estimate is a percent below the rate of the link.
const TAG: u64 = 16;
/// `PICOQUIC_CWIN_MINIMUM`.
const CUT_WINDOW: u64 = 2 * MAX_PACKET;

/// BBR of picoquic.
#[derive(Clone, Debug)]
pub struct BbrPicoquic {
    mss: u64,
    /// Bytes of a packet that do not count as delivered.
    tag: u64,
    initial_window: u64,
    mode: Mode,
    /// Whether Startup is slow start with a delay test.
    long_rtt: bool,
    window: u64,
    prior_window: u64,
    /// Pacing rate in byte/s; 0: none yet.
    pacing_rate: f64,
    constants: Constants<f64>,
    pacing_gain: f64,
    cwnd_gain: f64,
    quantum: u64,
    /// Last valid sample, and the maximum of each of ten rounds and of all, in byte/s.
    estimate: u64,
    round_maxima: [u64; BANDWIDTH_ROUNDS as usize],
    bandwidth: u64,
    /// Whether the bandwidth has risen in this gain cycle.
    increased: bool,
    min_rtt: Option<Duration>,
    min_rtt_time: Option<Time>,
    round_end: u64,
    round_start: bool,
    cycle: usize,
    /// First phase of the gain cycle; the more often the bandwidth rises, the later it is.
    cycle_first: usize,
    cycle_start: Time,
    /// Whether the phase ends on losses.
    cycle_on_loss: bool,
    full: FullPipe,
    probe_rtt_end: Option<Time>,
    probe_rtt_round: bool,
    /// Bytes in flight after the last acknowledgement.
    prior_in_flight: u64,
    policer: Policer,
    delay: DelayTest,
    loss: LossTest,
    last_loss: Option<Time>,
    last_loss_timeout: bool,
    app_limited: bool,
    srtt: Option<Duration>,
    delivered: u64,
    lost: u64,
}

impl BbrPicoquic {
    /// Sets the tag to 0 for TCP, whose packets have none.
    #[must_use]
    pub fn without_tag(self) -> Self {
        Self { tag: 0, ..self }
    }

    /// Sets other constants.
    #[must_use]
    pub fn with(mut self, set: &BbrConstants) -> Self {
        self.constants = self.constants.with(set, |gain| gain);
        (self.pacing_gain, self.cwnd_gain) = (self.constants.startup_pacing, self.constants.startup_cwnd);
        self
    }

    /// Makes a controller for packets of `mss` bytes with an initial window in bytes. No random number is
    /// drawn.
    #[must_use]
    pub fn new(mss: u64, initial_window: u64, _random: RandomStream) -> Self {
        Self {
            mss,
            tag: TAG,
            initial_window,
            mode: Mode::Startup,
            long_rtt: false,
            window: initial_window,
            prior_window: 0,
            pacing_rate: 0.0,
            constants: CONSTANTS,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            quantum: mss,
            estimate: 0,
            round_maxima: [0; BANDWIDTH_ROUNDS as usize],
            bandwidth: 0,
            increased: false,
            min_rtt: None,
            min_rtt_time: None,
            round_end: 0,
            round_start: false,
            cycle: 0,
            cycle_first: 0,
            cycle_start: Time::ZERO,
            cycle_on_loss: false,
            full: FullPipe::default(),
            probe_rtt_end: None,
            probe_rtt_round: false,
            prior_in_flight: 0,
            policer: Policer::new(PolicerRules::Picoquic),
            delay: DelayTest::default(),
            loss: LossTest::default(),
            last_loss: None,
            last_loss_timeout: false,
            app_limited: false,
            srtt: None,
            delivered: 0,
            lost: 0,
        }
    }

    fn bandwidth(&self) -> u64 {
        self.policer.rate().unwrap_or(self.bandwidth)
    }

    /// Gain x BDP and three quanta (`BBRInflight`).
    fn target(&self, gain: f64) -> u64 {
        let Some(rtt) = self.min_rtt else { return self.initial_window };
        (gain * bytes_in(self.bandwidth(), rtt) as f64) as u64 + 3 * self.quantum
    }

    /// Enters Startup at an RTT above 100 ms: the initial window grows with the RTT.
    fn enter_long_rtt(&mut self, min_rtt: Duration) {
        self.long_rtt = true;
        let nanos = min_rtt.min(SATELLITE_RTT).as_nanos() as f64;
        let window = self.initial_window as f64 * nanos / RENO_RTT.as_nanos() as f64;
        self.window = self.window.max(window as u64);
    }

    fn exit_long_rtt(&mut self, now: Time, in_flight: u64) {
        self.long_rtt = false;
        self.round_end = self.delivered;
        self.round_start = true;
        self.full = FullPipe { reached: true, bandwidth: self.bandwidth, rounds: FULL_ROUNDS };
        self.enter_drain(now);
        if in_flight <= self.target(1.0) {
            self.enter_probe_bandwidth(now);
        }
    }

    fn enter_drain(&mut self, now: Time) {
        self.mode = Mode::Drain;
        self.pacing_gain = self.constants.drain_pacing;
        self.cwnd_gain = self.constants.startup_cwnd;
        self.sample_policer(now);
    }

    fn enter_probe_bandwidth(&mut self, now: Time) {
        self.mode = Mode::ProbeBandwidth;
        self.cwnd_gain = self.constants.probe_bw_cwnd;
        // long paths probe earlier because a cycle lasts longer there
        let first = match self.min_rtt {
            Some(rtt) if rtt > RENO_RTT => (rtt.min(SATELLITE_RTT).as_nanos() / RENO_RTT.as_nanos()) as usize,
            _ => 2,
        };
        self.cycle = first.min(MAX_START);
        self.cycle_first = self.cycle;
        self.increased = true;
        self.advance_cycle(now);
        self.sample_policer(now);
    }

    fn advance_cycle(&mut self, now: Time) {
        self.cycle_on_loss = false;
        self.cycle_start = now;
        self.cycle += 1;
        if self.cycle >= CYCLE {
            // probing that succeeds is repeated sooner
            self.cycle_first = if std::mem::take(&mut self.increased) {
                (self.cycle_first + 1).min(MAX_START)
            } else {
                self.cycle_first.saturating_sub(1)
            };
            self.cycle = self.cycle_first;
        }
        self.pacing_gain = self.constants.cycle(CYCLE_GAINS[self.cycle], 1.0);
        self.raise_gain_of_small_paths();
    }

    /// Raises the gain so that probing reaches four packets (`BBRSetMinimalGain`).
    fn raise_gain_of_small_paths(&mut self) {
        let Some(rtt) = self.min_rtt else { return };
        let bdp = bytes_in(self.bandwidth, rtt);
        let least = MIN_WINDOW_PACKETS * MAX_PACKET;
        if self.pacing_gain > 1.0 && (1..least).contains(&bdp) {
            self.pacing_gain = self.pacing_gain.max(least as f64 / bdp as f64);
        }
    }

    fn sample_policer(&mut self, now: Time) {
        let given_up = self.policer.update(&PolicerInput {
            now,
            delivered: self.delivered,
            lost: self.lost,
            losses: false, // from the totals
            round_start: self.round_start,
            app_limited: self.app_limited,
            probing: self.mode == Mode::ProbeBandwidth,
        });
        if given_up {
            self.mode = Mode::ProbeBandwidth;
            self.cycle = 2;
            self.advance_cycle(now);
        }
    }

    fn update_bandwidth(&mut self, ack: &Ack) {
        let rate = ack.rate.unwrap_or_default();
        let Some(interval) = rate.interval else {
            self.round_start = false;
            return;
        };
        self.app_limited = rate.app_limited;
        let sample = per_second(rate.delivered * (self.mss - self.tag) / self.mss, interval);
        if !rate.app_limited || sample > self.estimate {
            self.estimate = sample;
        }
        // not less than two packets per RTT
        let least = self.min_rtt.map_or(0, |rtt| per_second(CUT_WINDOW, rtt));
        let sample = self.estimate.max(least);
        self.round_start = rate.prior_delivered >= self.round_end;
        if self.round_start {
            self.round_end = rate.total_delivered;
        }
        self.sample_policer(ack.now);
        if self.round_start {
            self.round_maxima.rotate_right(1);
            self.round_maxima[0] = 0;
            self.bandwidth = self.round_maxima.iter().copied().max().unwrap_or(0);
        }
        self.round_maxima[0] = self.round_maxima[0].max(sample);
        if sample > self.bandwidth {
            self.bandwidth = sample;
            self.increased = true;
        }
    }

    fn update_cycle(&mut self, now: Time) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let over = self.cycle_on_loss || self.min_rtt.is_some_and(|rtt| now.since(self.cycle_start) > rtt);
        let next = match self.pacing_gain {
            gain if gain > 1.0 => over && self.prior_in_flight >= self.target(gain),
            gain if gain < 1.0 => over && self.prior_in_flight <= self.target(1.0),
            _ => over,
        };
        if next {
            self.advance_cycle(now);
        }
    }

    fn check_full(&mut self) {
        if self.full.reached || !self.round_start || self.app_limited {
            return;
        }
        let bandwidth = self.bandwidth;
        self.full.on_round(bandwidth, |before| bandwidth as f64 >= before as f64 * 1.25);
    }

    fn check_drain(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.full.reached {
            self.enter_drain(ack.now);
        }
        if self.mode == Mode::Drain && ack.in_flight <= self.target(1.0) {
            self.enter_probe_bandwidth(ack.now);
        }
    }

    /// Updates the minimum RTT; returns whether it had expired, after 10 s and 20 RTTs.
    fn update_min_rtt(&mut self, ack: &Ack) -> bool {
        let (Some(rtt), since) = (ack.rtt, *self.min_rtt_time.get_or_insert(ack.now)) else {
            return false;
        };
        let Some(min) = self.min_rtt else {
            self.min_rtt = Some(rtt);
            self.min_rtt_time = Some(ack.now);
            return false;
        };
        let age = ack.now.since(since);
        let expired = age > self.constants.probe_rtt_interval && age > min * 20;
        if rtt <= min || expired {
            self.min_rtt = Some(rtt);
            self.min_rtt_time = Some(ack.now);
        } else if rtt.saturating_sub(min) * 20 < min {
            // within 5 %: the path has not changed
            self.min_rtt_time = Some(ack.now);
        }
        expired
    }

    fn update_probe_rtt(&mut self, ack: &Ack, expired: bool) {
        if self.mode != Mode::ProbeRtt && expired {
            self.mode = Mode::ProbeRtt;
            self.pacing_gain = 1.0;
            self.cwnd_gain = 1.0;
            self.prior_window = self.window;
            self.probe_rtt_end = None;
        }
        if self.mode != Mode::ProbeRtt {
            return;
        }
        if let Some(end) = self.probe_rtt_end {
            self.probe_rtt_round |= self.round_start;
            if self.probe_rtt_round && ack.now > end {
                self.min_rtt_time = Some(ack.now);
                self.window = self.window.max(self.prior_window);
                if self.full.reached {
                    self.enter_probe_bandwidth(ack.now);
                } else {
                    self.mode = Mode::Startup;
                    self.pacing_gain = self.constants.startup_pacing;
                    self.cwnd_gain = self.constants.startup_cwnd;
                }
            }
        } else if ack.in_flight <= MIN_WINDOW_PACKETS * self.mss {
            self.probe_rtt_end = Some(ack.now + self.constants.probe_rtt_duration);
            self.probe_rtt_round = false;
            self.round_end = self.delivered;
        }
    }

    fn update_pacing(&mut self) {
        let rate = self.pacing_gain * self.bandwidth() as f64;
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
        self.quantum = match self.pacing_rate {
            rate if rate < LOW_RATE => self.mss,
            rate if rate < MEDIUM_RATE => 2 * self.mss,
            rate => ((rate * 0.001) as u64).min(0x1_0000),
        };
    }

    fn update_window(&mut self, acked: u64) {
        let least = MIN_WINDOW_PACKETS * self.mss;
        let target = self.target(self.cwnd_gain);
        if self.full.reached {
            self.window = (self.window + acked).min(target);
        } else if self.window < target || self.delivered < self.initial_window {
            self.window += acked;
        }
        self.window = self.window.max(least);
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(least);
        }
    }

    fn grow_in_long_rtt(&mut self, ack: &Ack) {
        self.update_bandwidth(ack);
        if let Some(rtt) = ack.rtt.filter(|rtt| self.min_rtt.is_none_or(|min| *rtt <= min)) {
            self.min_rtt = Some(rtt);
            self.min_rtt_time = Some(ack.now);
        }
        if !self.app_limited {
            self.window += ack.acked_bytes;
        }
        let half = bytes_in(self.bandwidth, self.min_rtt.unwrap_or_default()) / 2;
        self.window = self.window.max(half);
    }

    /// Reduces the window after losses above 20 %, a mark or a timeout: to half, after a timeout to the
    /// minimum.
    fn cut(&mut self, now: Time, in_flight: u64, timeout: bool) {
        let recent = self.cycle_on_loss
            || self.last_loss.is_some_and(|last| now < last + self.srtt.unwrap_or_default());
        if recent && (!timeout || self.last_loss_timeout) {
            return;
        }
        self.window = if timeout { CUT_WINDOW } else { (self.window / 2).max(CUT_WINDOW) };
        self.last_loss = Some(now);
        self.last_loss_timeout = timeout;
        if self.long_rtt {
            self.exit_long_rtt(now, in_flight);
        } else if self.mode == Mode::Startup {
            self.full.reached = true;
            self.enter_drain(now);
        } else {
            self.cycle_on_loss = true;
        }
    }
}

impl Controller for BbrPicoquic {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rate) = ack.rate {
            self.delivered = rate.total_delivered;
            self.lost = rate.total_lost;
        }
        self.srtt = ack.srtt;
        if self.long_rtt {
            self.grow_in_long_rtt(ack);
        } else {
            self.update_bandwidth(ack);
            self.update_cycle(ack.now);
            self.check_full();
            self.check_drain(ack);
            let expired = self.update_min_rtt(ack);
            self.update_probe_rtt(ack, expired);
            self.update_pacing();
            self.update_window(ack.acked_bytes);
            self.prior_in_flight = ack.in_flight;
        }
        if let (Some(rtt), Some(min_rtt)) = (ack.rtt, ack.min_rtt) {
            if self.mode == Mode::Startup && !self.long_rtt && min_rtt > RENO_RTT {
                self.enter_long_rtt(min_rtt);
            }
            if self.long_rtt && self.delay.risen(ack.now, rtt) {
                self.exit_long_rtt(ack.now, ack.in_flight);
            }
        }
        self.loss.on_delivered(ack.acked_packets);
        for _ in 0..ack.lost_bytes.div_ceil(self.mss) {
            if self.loss.lost_too_many() {
                self.cut(ack.now, ack.in_flight, false);
            }
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.ecn {
            self.cut(event.now, event.in_flight, false);
        }
    }

    fn on_timeout(&mut self, event: &CongestionEvent, _cut: bool) {
        self.cut(event.now, event.in_flight, true);
    }

    fn on_spurious(&mut self, _now: Time) {}

    fn window(&self) -> u64 {
        self.window
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn pacing_rate(&self) -> Option<DataRate> {
        if self.long_rtt {
            let srtt = self.srtt.filter(|_| self.window >= UNPACED_PACKETS * self.mss)?;
            return Some(rate_of((SLOW_START_GAIN * per_second(self.window, srtt) as f64) as u64));
        }
        (self.pacing_rate > 0.0).then(|| rate_of(self.pacing_rate as u64))
    }

    fn send_quantum(&self) -> Option<u64> {
        (!self.long_rtt && self.pacing_rate > 0.0).then_some(self.quantum)
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn phase(&self) -> Phase {
        if self.long_rtt { Phase::SlowStart } else { self.mode.phase() }
    }
}
