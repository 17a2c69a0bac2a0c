//! C4, "Christian's Congestion Control Code": draft-huitema-ccwg-c4-spec, the editors' text after version 04 of July 2026. States,
//! variables and constants have the names of the draft; sections are those of that text.
//!
//! ```text
//! signals   excessive delay, losses and marks, with the thresholds that the sensitivity sets (section 5)
//! machine   states, eras and transitions (sections 3.2, 4)
//! ```
//!
//! Two variables control the sender: the *nominal rate*, which measurements raise and congestion lowers, and
//! the *nominal max RTT*, the largest RTT without a queue of its own, including jitter. A cycle is two eras
//! of Cruising at the nominal rate, one of Probing at 17/16 of it, and one of Recovery at 15/16, in which the
//! result of the probe arrives; after a success, Pushing at 5/4.
//!
//! | | draft | picoquic (`c4.c`, August 2026) | here |
//! | --- | --- | --- | --- |
//! | rate sample (3.1) | bytes by the larger of RTT and send delay | by the larger of receive and send interval | as picoquic: [`RateSample`] |
//! | nominal rate rises (3.1) | pseudocode: if it is *above* the sample; text: only rises | if below | if below |
//! | window (4.1) | (rate + margin) x nominal max RTT | rate x (nominal max RTT + margin) | as picoquic: the margin is a time |
//! | window of Probing and Pushing (4.6, 4.7) | by `alpha` | by at least a packet | as picoquic: 17/16 of two packets are two, and the rate would never grow |
//! | before an estimate (4.1) | rate of the interface | 128 KiB/s | the transport's pacer, from the window |
//! | growth that counts in Initial (4.2) | "does not increase" | 5/4 in an era | 5/4 |
//! | eras of Initial that count (4.2) | not limited by the application | the rate grew, or more arrived than the rate permits in the minimum RTT | either |
//! | `initial_cwnd` grows (4.2) | with each acknowledgement | with each acknowledgement | while half of it was in flight in this era or the last, as Linux's slow start (`tcp_is_cwnd_limited`): an unused window would grow without limit |
//! | high jitter (4.4.1) | running min RTT against nominal max RTT | the same | against the largest RTT that counted in the nominal max RTT since the last Recovery: Initial sets it to half of its window, which is not a measured RTT |
//! | RTTs of Resuming (3.2) | of packets sent no faster than the nominal rate | not used: "alpha" 3 | not used |
//! | Initial after high jitter (4.4.1) | after each Recovery; once (draft-huitema-ccwg-c4-design) | once, above 50 ms and below 1 MB/s | once |
//! | draining (5.7) | 7/8 in the text, 3/4 in a table; after Initial, Pushing, or if the RTT falls | 7/8, after a signal in Recovery, which lasts longer | 7/8 after Initial and Pushing; no measure of a fallen RTT is stated |
//! | end of Cruising (4.5) | two eras, and not limited by the application (4: "at least 4 RTT") | two | two |
//! | after Pushing for 3 eras (4) | Initial | Initial by counts of probes | Initial |
//! | increase in Pushing (4.7) | 19/16 in an era | checked with each acknowledgement | draft |
//! | delay is congestion (5.2) | in any state | only of packets sent above the nominal rate | draft |
//! | excess of the delay at sensitivity 0 (5.2) | 1/4 | 260/1024 | draft |
//! | sensitivity at 1 MB/s (5.1) | 0.92 | 963/1024 | draft |
//! | beta of losses (5.5.1) | 1/4 | 1/8 to 1/4 by sensitivity | draft |
//! | nominal max RTT after losses (5) | "in some condition" lower | lowered by beta | as picoquic |
//! | loss rate after Recovery (5.3) | not said | 0 | 0 |
//! | `ecn_alpha` (5.4) | with each acknowledgement | with each that has marks, and at eras, of all in between | as picoquic: the share of an acknowledgement of two packets is 0, 1/2 or 1 |
//! | rate of Probing after marks (4.6) | 33/32 once there were marks | after an excess in the last cycle | draft |
//! | persistent congestion (5.5.2) | nominal rate "reset to" the recent maximum | if that is lower | as picoquic |
//! | trimming (5.6) | halfway to the recent maximum after a cycle without growth | none | draft |
//! | losses in Recovery of packets sent before (4.4) | "can be ignored"; a probe succeeds if it "did not trigger any congestion event" | ignored | a probe with such losses fails; without further effect |
//! | losses by timeout (5.3.1) | no reaction | none | none: also the RTO of TCP. Those that persistent congestion of QUIC consists of are detected by an acknowledgement, and count |
//! | short RTTs (6.2, 6.3) | 3/64 more below 1 ms, for slow timers; floor of 1 ms | both | the floor |

mod machine;
mod signals;
#[cfg(test)]
mod tests;

use super::bbr::{bytes_in, per_second, rate_of};
use super::{Ack, CongestionEvent, Controller, LostPacket, Marks, Phase, SavedPath};
use machine::{Alpha, State};
use quiclab_core::{DataRate, Duration, Time};
use signals::{ONE, Signal};

/// Maximum margin of the window over the nominal max RTT (section 4.1).
const MARGIN: Duration = Duration::from_millis(15);
/// Minimum pacing rate in Initial: 1,048,576 bit/s, in byte/s (section 4.1).
const MIN_INITIAL_RATE: u64 = 131_072;
/// Duration of a quantum at the pacing rate, and its maximum size (section 4.1).
const QUANTUM_TIME: Duration = Duration::from_millis(4);
const MAX_QUANTUM: u64 = 0x1_0000;
/// Minimum window and quantum in packets (section 4.1).
const MIN_PACKETS: u64 = 2;
/// `MAX_JITTER` (section 3.2).
const MAX_JITTER: Duration = Duration::from_millis(250);
/// Minimum of the nominal max RTT (section 6.3).
const MIN_MAX_RTT: Duration = Duration::from_millis(1);

/// Controller C4.
#[derive(Clone, Debug)]
pub struct C4 {
    mss: u64,
    state: State,
    /// `alpha_current`, and `alpha_previous`: that of the packets acknowledged in this era.
    alpha_current: Alpha,
    alpha_previous: Alpha,
    /// `nominal_rate` in byte/s; 0: not assessed.
    nominal_rate: u64,
    /// `nominal_max_rtt`, and the running min RTT; `None` before the first sample.
    nominal_max_rtt: Option<Duration>,
    running_min_rtt: Option<Duration>,
    /// Position of the first packet of this era, and its RTTs.
    era_sequence: u64,
    era_max_rtt: Option<Duration>,
    era_min_rtt: Option<Duration>,
    /// Number of eras of this state that are over.
    eras: u32,
    /// Nominal rate at the start of the current era of Initial or Pushing, or of the last Probing.
    era_rate: u64,
    /// Initial: `initial_cwnd`, `nb_eras_no_increase`, and the packets received.
    initial_cwnd: u64,
    nb_eras_no_increase: u32,
    received: u64,
    /// Maximum bytes in flight in this era, and in the last.
    era_flight: u64,
    last_flight: u64,
    /// Whether the bytes that arrived in this era filled the path, even if the application limited sending.
    era_filled: bool,
    /// Largest RTT that entered the nominal max RTT since the last Recovery ended; `None`: none did.
    cycle_max_rtt: Option<Duration>,
    /// Whether Initial was entered again because of high jitter.
    initial_after_jitter: bool,
    /// Saved path of an earlier connection, until it is used.
    saved: Option<SavedPath>,
    resumed: Option<SavedPath>,
    /// In Recovery: whether the previous state was Probing, and the flag "draining needed".
    after_probing: bool,
    draining: bool,
    /// Whether congestion was signalled since the last Recovery ended.
    congested: bool,
    /// Whether sending was application-limited, in this era and since the last Recovery ended.
    era_limited: bool,
    limited: bool,
    /// Number of successive Recoveries with congestion; "recent maximum rate" since the last one ended, and
    /// the nominal rate then.
    congestions: u32,
    recent_max_rate: u64,
    cycle_rate: u64,
    /// Smoothed loss rate in units of 1/[`ONE`], and the losses to be included at the next acknowledgement.
    loss_rate: u64,
    pending_losses: u32,
    /// `ecn_alpha` in units of 1/[`ONE`], packets since its last update, and whether there were marks on the
    /// path.
    ecn_alpha: u64,
    ecn_delivered: u64,
    ecn_marked: u64,
    saw_marks: bool,
    pending_marks: bool,
    // control
    cwnd: u64,
    /// Pacing rate in byte/s; `None`: that of the transport.
    pacing_rate: Option<u64>,
}

impl C4 {
    /// Makes a controller for packets of `mss` bytes with an initial window in bytes; `saved` is the path of
    /// an earlier connection.
    #[must_use]
    pub fn new(mss: u64, initial_window: u64, saved: Option<SavedPath>) -> Self {
        Self {
            mss,
            state: State::Initial,
            alpha_current: Alpha::INITIAL,
            alpha_previous: Alpha::INITIAL,
            nominal_rate: 0,
            nominal_max_rtt: None,
            running_min_rtt: None,
            era_sequence: 0,
            era_max_rtt: None,
            era_min_rtt: None,
            eras: 0,
            era_rate: 0,
            initial_cwnd: initial_window,
            nb_eras_no_increase: 0,
            received: 0,
            era_flight: 0,
            last_flight: 0,
            era_filled: false,
            cycle_max_rtt: None,
            initial_after_jitter: false,
            saved,
            resumed: None,
            after_probing: false,
            draining: false,
            congested: false,
            era_limited: false,
            limited: false,
            congestions: 0,
            recent_max_rate: 0,
            cycle_rate: 0,
            loss_rate: 0,
            pending_losses: 0,
            ecn_alpha: 0,
            ecn_delivered: 0,
            ecn_marked: 0,
            saw_marks: false,
            pending_marks: false,
            cwnd: initial_window,
            pacing_rate: None,
        }
    }

    /// Measures the rate (section 3.1): measurements only raise the nominal rate, and not in a Recovery with
    /// congestion.
    fn measure_rate(&mut self, ack: &Ack) {
        let Some(sample) = ack.rate else { return };
        self.era_limited |= sample.app_limited;
        self.limited |= sample.app_limited;
        let Some(interval) = sample.interval else { return };
        let rate = per_second(sample.delivered, interval);
        self.recent_max_rate = self.recent_max_rate.max(rate);
        let least = self.running_min_rtt.into_iter().chain(self.era_min_rtt).min();
        let fills = least.is_some_and(|rtt| sample.delivered > bytes_in(self.nominal_rate, rtt));
        self.era_filled |= rate > self.nominal_rate || fills;
        if rate > self.nominal_rate && !(self.state == State::Recovery && self.congested) {
            self.nominal_rate = rate;
        }
    }

    /// Adds an RTT sample (section 3.2); the first one is the first estimate.
    fn measure_rtt(&mut self, rtt: Duration) {
        self.era_max_rtt = Some(self.era_max_rtt.map_or(rtt, |most| most.max(rtt)));
        self.era_min_rtt = Some(self.era_min_rtt.map_or(rtt, |least| least.min(rtt)));
        self.nominal_max_rtt.get_or_insert(rtt.max(MIN_MAX_RTT));
        self.running_min_rtt.get_or_insert(rtt);
    }

    /// Updates the nominal max RTT (section 3.2, "on end of era") with RTTs of packets sent no faster than
    /// the nominal rate.
    fn update_max_rtt(&mut self) {
        let (Some(era_max), Some(era_min)) = (self.era_max_rtt, self.era_min_rtt) else { return };
        if self.alpha_previous > Alpha::NEUTRAL {
            return;
        }
        let running = match self.running_min_rtt {
            Some(running) if era_min >= running => (running * 7 + era_min) / 8,
            _ => era_min,
        };
        self.running_min_rtt = Some(running);
        let era_max = era_max.min(running + MAX_JITTER);
        self.cycle_max_rtt = self.cycle_max_rtt.max(Some(era_max));
        let nominal = match self.nominal_max_rtt {
            Some(nominal) if era_max <= nominal => (nominal * 7 + era_max) / 8,
            _ => era_max,
        };
        self.nominal_max_rtt = Some(nominal.max(MIN_MAX_RTT));
    }

    /// Sets pacing rate and window (section 4.1).
    fn apply_rate_and_cwnd(&mut self) {
        if let (State::Resuming, Some(saved)) = (self.state, self.resumed) {
            self.cwnd = saved.window.bytes();
            self.pacing_rate = Some(per_second(saved.window.bytes(), saved.rtt));
            return;
        }
        let Some(max_rtt) = self.nominal_max_rtt.filter(|_| self.nominal_rate > 0) else {
            self.cwnd = self.initial_cwnd.max(MIN_PACKETS * self.mss);
            return;
        };
        let mut rate = self.alpha_current.of(self.nominal_rate);
        if self.state == State::Initial {
            self.cwnd = bytes_in(rate, max_rtt).max(self.initial_cwnd).max(MIN_PACKETS * self.mss);
            rate = rate.max(MIN_INITIAL_RATE);
        } else {
            let margin = MARGIN.min(max_rtt / 4);
            self.cwnd = bytes_in(rate, max_rtt + margin).max(MIN_PACKETS * self.mss);
            if matches!(self.state, State::Probing | State::Pushing) {
                let more = bytes_in(rate - self.nominal_rate, max_rtt);
                self.cwnd += self.mss.saturating_sub(more);
            }
        }
        self.pacing_rate = Some(rate);
    }
}

impl Controller for C4 {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.measure_rtt(rtt);
        }
        self.measure_rate(ack);
        if let Some(saved) = self.saved.take_if(|_| ack.rtt.is_some()) {
            self.resume(saved, ack.next_position);
        }
        if self.state == State::Initial {
            self.received += u64::from(ack.acked_packets);
            self.era_flight = self.era_flight.max(ack.prior_in_flight);
            if ack.cwnd_limited && self.initial_cwnd < 2 * self.era_flight.max(self.last_flight) {
                self.initial_cwnd += ack.acked_bytes.checked_shr(3 * self.nb_eras_no_increase).unwrap_or(0);
            }
        }
        if let Some(signal) = self.detect(ack) {
            self.on_signal(signal, ack.next_position);
        }
        if ack.acked_position > self.era_sequence {
            self.end_era(ack.next_position);
        }
        self.apply_rate_and_cwnd();
    }

    fn on_packet_lost(&mut self, _packet: &LostPacket) {
        self.pending_losses += 1;
    }

    fn on_marks(&mut self, marks: &Marks) {
        self.ecn_delivered += marks.delivered_packets;
        self.ecn_marked += marks.marked_packets;
        self.pending_marks |= marks.marked_packets > 0;
        self.saw_marks |= marks.marked_packets > 0;
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    /// Ignores losses detected by a timer, which are not a signal (section 5.3.1).
    fn on_timeout(&mut self, event: &CongestionEvent, _cut: bool) {
        if !event.persistent {
            self.pending_losses = 0;
        }
    }

    fn on_spurious(&mut self, _now: Time) {}

    fn window(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn pacing_rate(&self) -> Option<DataRate> {
        self.pacing_rate.map(rate_of)
    }

    fn send_quantum(&self) -> Option<u64> {
        let quantum = bytes_in(self.pacing_rate?, QUANTUM_TIME).min(MAX_QUANTUM);
        Some(quantum.max(MIN_PACKETS * self.mss))
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn phase(&self) -> Phase {
        self.state.phase()
    }
}
