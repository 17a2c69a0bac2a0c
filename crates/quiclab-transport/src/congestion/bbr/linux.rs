//! BBR of Linux 5.15 and later: net/ipv4/tcp_bbr.c, in packets and with its fixed-point arithmetic: gains in
//! 1/256, bandwidth in packets per microsecond x 2^24.
//!
//! | Linux | here |
//! |---|---|
//! | times in microseconds and jiffies | nanoseconds |
//! | `rs->losses`, `delivered` count segments | bytes by `mss`, rounded up; whole packets give the same |
//! | `CA_EVENT_TX_START` with `app_limited` | [`Idle`]: nothing in flight, not limited by window or pacer |
//! | `tp->app_limited` set in PROBE_RTT | [`ProbeRttLimited`] |
//! | DRAIN sets `snd_ssthresh` to the BDP, for readers of statistics | none |
//! | `lt_bw` in the unit of the bandwidth, milliseconds | byte/s, nanoseconds ([`super::policer`]) |
//! | losses detected by the timer count into the last interval of `lt_bw` | with the next acknowledgement |
//! | `bbr_undo_cwnd` keeps the window, the end of recovery restores it | restored at once |
//!
//! A retransmission timeout does not start packet conservation in the version read (`bbr_set_state`): the
//! window, one packet above the packets in flight, grows by slow start.

use super::aggregation::ExtraAcked;
use super::constants::Constants;
use super::filter::{Extremum, WindowedFilter};
use super::policer::{Policer, PolicerInput, PolicerRules};
use super::{
    BANDWIDTH_ROUNDS, CYCLE, FullPipe, Idle, MIN_RTT_WINDOW, MIN_WINDOW_PACKETS, Mode, PROBE_RTT_TIME,
    ProbeRttLimited, rate_of, time_of,
};
use crate::congestion::constants::BbrConstants;
use crate::congestion::{Ack, CongestionEvent, Controller, Phase, RecoveryPhase};
use crate::recovery::delivery_rate::RateSample;
use quiclab_core::{DataRate, Duration, RandomStream, Time};

/// Gain 1 (`BBR_UNIT`).
pub(super) const UNIT: u64 = 256;
/// 2/ln 2 rounded up: the minimum gain that doubles the rate each round (`bbr_high_gain`): 739/256.
pub(super) const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// Gain that drains the queue of startup in one round (`bbr_drain_gain`): 88/256.
pub(super) const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// Window in PROBE_BW: room for delayed acknowledgements (`bbr_cwnd_gain`).
const CWND_GAIN: u64 = 2 * UNIT;
/// Constants that a scenario can change.
const CONSTANTS: Constants<u64> = Constants {
    startup_pacing: HIGH_GAIN,
    startup_cwnd: HIGH_GAIN,
    drain_pacing: DRAIN_GAIN,
    probe_bw_cwnd: CWND_GAIN,
    up: UNIT * 5 / 4,
    down: UNIT * 3 / 4,
    probe_rtt_cwnd: 0,
    probe_rtt_interval: MIN_RTT_WINDOW,
    probe_rtt_duration: PROBE_RTT_TIME,
};
/// `bbr_pacing_gain`.
pub(super) const CYCLE_GAINS: [u64; CYCLE] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Number of phases at which the cycle can start (`bbr_cycle_rand`).
const CYCLE_RANDOM: u64 = 7;
/// Pacing rate in percent of the bandwidth: 1 % below it (`bbr_pacing_margin_percent`).
const PACED_PERCENT: u64 = 99;
/// Growth below which the pipe counts as full (`bbr_full_bw_thresh`).
const FULL_THRESHOLD: u64 = UNIT * 5 / 4;
/// Byte/s below which one packet at a time is sent (`bbr_min_tso_rate`: 1.2 Mbit/s).
const MIN_TSO_RATE: u64 = 1_200_000 / 8;
/// `GSO_MAX_SIZE - 1 - MAX_TCP_HEADER`, with the header of 320 bytes of an x86-64 kernel.
const MAX_TSO_BYTES: u64 = 65_536 - 1 - 320;
/// `TCP_INIT_CWND`.
const INIT_CWND: u64 = 10;
/// `bbr_extra_acked_max_us`.
const EXTRA_ACKED_TIME: Duration = Duration::from_millis(100);
/// `BW_SCALE`.
const BW_SHIFT: u32 = 24;

/// BBR of Linux.
#[derive(Clone, Debug)]
pub struct BbrLinux {
    mss: u64,
    random: RandomStream,
    mode: Mode,
    /// Window in packets, and the last one before recovery or PROBE_RTT.
    window: u64,
    prior_window: u64,
    /// Pacing rate in byte/s.
    pacing_rate: u64,
    has_rtt: bool,
    constants: Constants<u64>,
    pacing_gain: u64,
    cwnd_gain: u64,
    bandwidth: WindowedFilter,
    min_rtt: Option<Duration>,
    /// Whether an RTT equal to the minimum counts as a new measurement of it.
    equal_renews: bool,
    /// Time at which the minimum RTT was measured; before the first sample, the time of the first packet.
    min_rtt_time: Option<Time>,
    rounds: u64,
    /// Delivered bytes at which the round ends.
    round_end: u64,
    round_start: bool,
    cycle: usize,
    cycle_start: Time,
    full: FullPipe,
    /// Phase of recovery at the last acknowledgement.
    recovery: RecoveryPhase,
    conservation: bool,
    idle_restart: bool,
    probe_rtt_end: Option<Time>,
    probe_rtt_round: bool,
    extra: ExtraAcked,
    policer: Policer,
    idle: Idle,
    self_limited: ProbeRttLimited,
    delivered: u64,
    lost: u64,
    delivered_time: Time,
}

impl BbrLinux {
    /// Makes a controller for packets of `mss` bytes with an initial window in bytes.
    #[must_use]
    pub fn new(mss: u64, initial_window: u64, random: RandomStream) -> Self {
        let mut controller = Self {
            mss,
            random,
            mode: Mode::Startup,
            window: (initial_window / mss).max(1),
            prior_window: 0,
            pacing_rate: 0,
            has_rtt: false,
            constants: CONSTANTS,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            bandwidth: WindowedFilter::new(Extremum::Max, BANDWIDTH_ROUNDS, 0),
            min_rtt: None,
            equal_renews: false,
            min_rtt_time: None,
            rounds: 0,
            round_end: 0,
            round_start: false,
            cycle: 0,
            cycle_start: Time::ZERO,
            full: FullPipe::default(),
            recovery: RecoveryPhase::Open,
            conservation: false,
            idle_restart: false,
            probe_rtt_end: None,
            probe_rtt_round: false,
            extra: ExtraAcked::default(),
            policer: Policer::new(PolicerRules::Linux),
            idle: Idle::default(),
            self_limited: ProbeRttLimited::default(),
            delivered: 0,
            lost: 0,
            delivered_time: Time::ZERO,
        };
        controller.init_pacing_rate(None);
        controller
    }

    /// Starts with the RTT of a handshake (`bbr_init`).
    #[must_use]
    pub fn after_handshake(mut self, rtt: Option<Duration>) -> Self {
        self.min_rtt = rtt;
        self.init_pacing_rate(rtt);
        self
    }

    /// Sets other constants; called before [`Self::after_handshake`].
    #[must_use]
    pub fn with(mut self, set: &BbrConstants) -> Self {
        self.constants = self.constants.with(set, |gain| libm::round(gain * UNIT as f64) as u64);
        (self.pacing_gain, self.cwnd_gain) = (self.constants.startup_pacing, self.constants.startup_cwnd);
        self.init_pacing_rate(None);
        self
    }

    /// Counts an RTT equal to the minimum as a new measurement of it, as before commit 1b9e2a8c99a5 (5.10):
    /// on a path whose queue empties, PROBE_RTT is then postponed again and again.
    #[must_use]
    pub fn renewed_by_equal_rtt(self, equal_renews: bool) -> Self {
        Self { equal_renews, ..self }
    }

    /// Bandwidth in packets / us x 2^24: that of the policer, or the recent maximum.
    fn bandwidth(&self) -> u64 {
        match self.policer.rate() {
            Some(rate) => {
                let scaled = (u128::from(rate) << BW_SHIFT) / u128::from(self.mss * 1_000_000);
                u64::try_from(scaled).unwrap_or(u64::MAX)
            }
            None => self.bandwidth.get(),
        }
    }

    /// Packets that bandwidth `bw` delivers in `time`, in 2^24ths.
    fn scaled_packets(bw: u64, time: Duration) -> u128 {
        u128::from(bw) * u128::from(time.as_nanos()) / 1000
    }

    /// Pacing rate in byte/s (`bbr_rate_bytes_per_sec`).
    fn paced(&self, bw: u64, gain: u64) -> u64 {
        let rate = (u128::from(bw) * u128::from(self.mss) * u128::from(gain)) >> 8;
        let rate = (rate * u128::from(1_000_000 / 100 * PACED_PERCENT)) >> BW_SHIFT;
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// Initialises the pacing rate: high gain x window / RTT, which is 1 ms before the first sample.
    fn init_pacing_rate(&mut self, srtt: Option<Duration>) {
        self.has_rtt = srtt.is_some();
        let micros = srtt.map_or(1000, |srtt| srtt.as_nanos() / 1000).max(1);
        self.pacing_rate = self.paced((self.window << BW_SHIFT) / micros, self.constants.startup_pacing);
    }

    fn set_pacing_rate(&mut self, bw: u64, gain: u64, srtt: Option<Duration>) {
        let rate = self.paced(bw, gain);
        if !self.has_rtt && srtt.is_some() {
            self.init_pacing_rate(srtt);
        }
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Number of packets in one release (`bbr_tso_segs_goal`): those of 1 ms (2^-10 s).
    fn tso_goal(&self) -> u64 {
        let bytes = (self.pacing_rate >> 10).min(MAX_TSO_BYTES);
        let least = if self.pacing_rate < MIN_TSO_RATE { 1 } else { 2 };
        (bytes / self.mss).max(least).min(0x7F)
    }

    /// Bandwidth x minimum RTT x gain, rounded up.
    fn bdp(&self, bw: u64, gain: u64) -> u64 {
        let Some(rtt) = self.min_rtt else { return INIT_CWND };
        let scaled = (Self::scaled_packets(bw, rtt) * u128::from(gain)) >> 8;
        u64::try_from(scaled.div_ceil(1 << BW_SHIFT)).unwrap_or(u64::MAX)
    }

    /// Adds room for bursts at both ends (`bbr_quantization_budget`).
    fn with_budget(&self, packets: u64) -> u64 {
        let even = (packets + 3 * self.tso_goal() + 1) & !1;
        // gain cycling must exceed a small BDP
        if self.mode == Mode::ProbeBandwidth && self.cycle == 0 { even + 2 } else { even }
    }

    fn inflight_target(&self, bw: u64, gain: u64) -> u64 {
        self.with_budget(self.bdp(bw, gain))
    }

    /// Packets in the network at the departure of the next one (`bbr_packets_in_net_at_edt`).
    fn in_network_at_departure(&self, ack: &Ack, in_flight: u64) -> u64 {
        let wait = ack.departure.since(ack.now);
        let delivered = Self::scaled_packets(self.bandwidth(), wait) >> BW_SHIFT;
        let ahead = if self.pacing_gain > UNIT { self.tso_goal() } else { 0 };
        (in_flight + ahead).saturating_sub(u64::try_from(delivered).unwrap_or(u64::MAX))
    }

    fn packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.mss)
    }

    fn save_window(&mut self) {
        self.prior_window = if self.recovery == RecoveryPhase::Open && self.mode != Mode::ProbeRtt {
            self.window
        } else {
            self.prior_window.max(self.window)
        };
    }

    fn advance_cycle(&mut self) {
        self.cycle = (self.cycle + 1) % CYCLE;
        self.cycle_start = self.delivered_time;
    }

    fn enter_probe_bandwidth(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        // 7 to 1, and one further: 0, or 7 to 2; never 0.75 first
        self.cycle = CYCLE - 1 - (self.random.bits() % CYCLE_RANDOM) as usize;
        self.advance_cycle();
    }

    fn update_bandwidth(&mut self, ack: &Ack, rate: &RateSample, interval: Duration, app_limited: bool) {
        if rate.prior_delivered >= self.round_end {
            self.round_end = rate.total_delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conservation = false;
        }
        self.sample_policer(ack.now, ack.lost_bytes > 0, app_limited);
        let scaled = (u128::from(rate.delivered) * 1000) << BW_SHIFT;
        let bw = scaled / (u128::from(self.mss) * u128::from(interval.as_nanos().max(1)));
        let bw = u64::try_from(bw).unwrap_or(u64::MAX);
        if !app_limited || bw >= self.bandwidth.get() {
            self.bandwidth.update(self.rounds, bw);
        }
    }

    fn sample_policer(&mut self, now: Time, losses: bool, app_limited: bool) {
        let given_up = self.policer.update(&PolicerInput {
            now,
            delivered: self.delivered,
            lost: self.lost,
            losses,
            round_start: self.round_start,
            app_limited,
            probing: self.mode == Mode::ProbeBandwidth,
        });
        if given_up {
            self.enter_probe_bandwidth();
        }
    }

    fn update_cycle(&mut self, ack: &Ack) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let full_length = self.min_rtt.is_some_and(|rtt| ack.now.since(self.cycle_start) > rtt);
        let in_network = self.in_network_at_departure(ack, self.packets(ack.prior_in_flight));
        let target = |gain| self.inflight_target(self.bandwidth.get(), gain);
        let next = match self.pacing_gain {
            gain if gain > UNIT => full_length && (ack.lost_bytes > 0 || in_network >= target(gain)),
            gain if gain < UNIT => full_length || in_network <= target(UNIT),
            _ => full_length,
        };
        if next {
            self.advance_cycle();
        }
    }

    fn check_full(&mut self, app_limited: bool) {
        if self.full.reached || !self.round_start || app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        self.full.on_round(bandwidth, |before| bandwidth >= (before * FULL_THRESHOLD) >> 8);
    }

    fn check_drain(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain {
            let in_network = self.in_network_at_departure(ack, self.packets(ack.in_flight));
            if in_network <= self.inflight_target(self.bandwidth.get(), UNIT) {
                self.enter_probe_bandwidth();
            }
        }
    }

    fn update_min_rtt(&mut self, ack: &Ack, rate: &RateSample) {
        let expired =
            self.min_rtt_time.is_some_and(|since| ack.now.since(since) > self.constants.probe_rtt_interval);
        if let Some(rtt) = ack.rtt {
            let smaller = self.min_rtt.is_none_or(|min| rtt < min || (self.equal_renews && rtt == min));
            if smaller || (expired && !rate.ack_delayed) {
                self.min_rtt = Some(rtt);
                self.min_rtt_time = Some(ack.now);
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_window_for_probe_rtt();
            self.probe_rtt_end = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.self_limited.mark(self.delivered, ack.in_flight);
            if self.probe_rtt_end.is_some() {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round {
                    self.check_probe_rtt_end(ack.now);
                }
            } else if self.packets(ack.in_flight) <= MIN_WINDOW_PACKETS {
                self.probe_rtt_end = Some(ack.now + self.constants.probe_rtt_duration);
                self.probe_rtt_round = false;
                self.round_end = self.delivered;
            }
        }
        if rate.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn save_window_for_probe_rtt(&mut self) {
        // as in Linux the mode changes first: a window grown since the last save replaces only a smaller one
        self.mode = Mode::ProbeRtt;
        self.save_window();
    }

    fn check_probe_rtt_end(&mut self, now: Time) {
        if self.probe_rtt_end.is_none_or(|end| now <= end) {
            return;
        }
        self.min_rtt_time = Some(now);
        self.window = self.window.max(self.prior_window);
        if self.full.reached {
            self.enter_probe_bandwidth();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        let constants = &self.constants;
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (constants.startup_pacing, constants.startup_cwnd),
            Mode::Drain => (constants.drain_pacing, constants.startup_cwnd),
            Mode::ProbeBandwidth if self.policer.rate().is_some() => (UNIT, constants.probe_bw_cwnd),
            Mode::ProbeBandwidth => (constants.cycle(CYCLE_GAINS[self.cycle], UNIT), constants.probe_bw_cwnd),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// Sets the window to the packets delivered in the first round of recovery, and restores it at the end of
    /// recovery. Returns whether the window is set.
    fn recover_or_restore(&mut self, ack: &Ack, acked: u64, in_flight: u64) -> bool {
        let entering = ack.phase == RecoveryPhase::Recovery && self.recovery != RecoveryPhase::Recovery;
        let leaving = ack.phase == RecoveryPhase::Open && self.recovery != RecoveryPhase::Open;
        if entering {
            self.save_window(); // again: harmless if `on_congestion` came before, as it must
        }
        self.window = self.window.saturating_sub(self.packets(ack.lost_bytes)).max(1);
        if entering {
            self.conservation = true;
            self.round_end = self.delivered;
            self.window = in_flight + acked;
        } else if leaving {
            self.window = self.window.max(self.prior_window);
            self.conservation = false;
        }
        self.recovery = ack.phase;
        if self.conservation {
            self.window = self.window.max(in_flight + acked);
        }
        self.conservation
    }

    fn set_window(&mut self, ack: &Ack) {
        let acked = u64::from(ack.acked_packets);
        let in_flight = self.packets(ack.in_flight);
        if acked > 0 && !self.recover_or_restore(ack, acked, in_flight) {
            let bw = self.bandwidth();
            let mut target = self.bdp(bw, self.cwnd_gain);
            if self.full.reached {
                let most = Self::scaled_packets(bw, EXTRA_ACKED_TIME) >> BW_SHIFT;
                target += self.extra.packets().min(u64::try_from(most).unwrap_or(u64::MAX));
            }
            target = self.with_budget(target);
            if self.full.reached {
                self.window = (self.window + acked).min(target);
            } else if self.window < target || self.delivered < INIT_CWND * self.mss {
                self.window += acked;
            }
            self.window = self.window.max(MIN_WINDOW_PACKETS);
        }
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(MIN_WINDOW_PACKETS);
        }
    }
}

impl Controller for BbrLinux {
    fn on_sent(&mut self, now: Time, bytes: u64, in_flight: u64) {
        self.min_rtt_time.get_or_insert(now);
        let spacing = time_of(self.pacing_rate, bytes);
        if self.idle.on_sent(now, in_flight, spacing) && self.recovery == RecoveryPhase::Open {
            self.idle_restart = true;
            self.extra.restart(now);
            match self.mode {
                // at most the estimate, as more is not required
                Mode::ProbeBandwidth => self.set_pacing_rate(self.bandwidth(), UNIT, None),
                Mode::ProbeRtt => self.check_probe_rtt_end(now),
                Mode::Startup | Mode::Drain => {}
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.idle.on_ack(ack.now);
        self.min_rtt_time.get_or_insert(ack.now);
        let rate = ack.rate.unwrap_or_default();
        if ack.rate.is_some() {
            self.delivered = rate.total_delivered;
            self.lost = rate.total_lost;
        }
        self.delivered_time = ack.now;
        let app_limited = rate.app_limited || self.self_limited.covers(rate.prior_delivered);
        self.round_start = false;
        if let Some(interval) = rate.interval {
            self.update_bandwidth(ack, &rate, interval, app_limited);
            let bw = self.bandwidth();
            let expected = |time| (Self::scaled_packets(bw, time) >> BW_SHIFT) as u64;
            let acked = u64::from(ack.acked_packets);
            self.extra.update(ack.now, self.round_start, acked, self.window, expected);
        }
        self.update_cycle(ack);
        self.check_full(app_limited);
        self.check_drain(ack);
        self.update_min_rtt(ack, &rate);
        self.update_gains();
        self.set_pacing_rate(self.bandwidth(), self.pacing_gain, ack.srtt);
        self.set_window(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        // `bbr_ssthresh`; the window saved for marks is saved again before it is used
        if !event.ecn {
            self.save_window();
        }
    }

    fn on_timeout(&mut self, event: &CongestionEvent, cut: bool) {
        if cut {
            self.save_window();
        }
        self.window = self.packets(event.in_flight) + 1; // `tcp_enter_loss`
        self.recovery = RecoveryPhase::Loss;
        self.full.bandwidth = 0;
        self.round_start = true; // a timeout is like the end of a round
        self.sample_policer(event.now, true, false);
    }

    fn on_spurious(&mut self, now: Time) {
        self.full.bandwidth = 0;
        self.full.rounds = 0;
        self.policer.reset(now, self.delivered, self.lost);
        if self.mode != Mode::ProbeRtt {
            self.window = self.window.max(self.prior_window);
        }
    }

    fn window(&self) -> u64 {
        self.window * self.mss
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn pacing_rate(&self) -> Option<DataRate> {
        Some(rate_of(self.pacing_rate))
    }

    fn send_quantum(&self) -> Option<u64> {
        Some(self.tso_goal() * self.mss)
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    /// `bbr_sndbuf_expand`: "provision 3 * cwnd since BBR may slow-start even during recovery".
    fn send_buffer_windows(&self) -> u64 {
        3
    }

    fn phase(&self) -> Phase {
        self.mode.phase()
    }
}
