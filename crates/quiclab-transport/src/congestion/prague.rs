//! Prague: scalable control for the Internet, which keeps queues of L4S almost empty, after the reference
//! implementation for Linux (`tcp_prague.c` 0.7, L4STeam). draft-briscoe-iccrg-prague-congestion-control-04
//! describes it; the two were not compared.
//!
//! |  | reference | here |
//! | --- | --- | --- |
//! | share of marks | moving average, g = 1/16, with the remainders of divisions; 0 before the first mark | as the reference |
//! | first mark | halves the window, which slow start overwrites if the acknowledgement has packets without a mark, too | as the reference |
//! | reduction | alpha / 2, once a round trip, or once in 25 ms below that | the same |
//! | increase | for each packet without a mark, also while reducing: 1500 bytes in a round trip | the same |
//! | RTTs below 25 ms | increase by (RTT / 25 ms)^2, after four rounds | the same |
//! | window in use | whole packets, one step for each acknowledgement towards the window with a fraction | the same, QUIC too |
//! | pacing | at the rate of the window, twice it in slow start; bursts of at most 0.25 ms | the same |
//! | windows of four packets or fewer | a rate in place of a window, alternating by 3 %; below 1 Mbit/s smaller packets | not modelled: at least two packets |
//! | losses | half, once an episode; by the share of marks if a tail loss probe repaired one | half |
//! | undo of a false loss | the window of the previous rate | the previous window |
//! | without feedback of marks | another control, Reno | growth of Reno: that of short RTTs is not scaled |
//! | feedback of TCP | accurate (RFC 9768) | all packets of an acknowledgement with ECE (`tcp.ecn = "dctcp"`) |

use super::window::{Flavour, WindowSettings};
use super::{Ack, CongestionEvent, Controller, Marks, Phase};
use quiclab_core::{DataRate, Duration, Time};

/// One packet in the fixed-point window (`ONE_CWND`).
const PACKET: u64 = 1 << 20;
/// Fixed-point representation of a share of 1 (`PRAGUE_MAX_ALPHA`).
const ONE: u64 = 1 << 24;
/// Weight of a new share in the average: 1/2^4 (`PRAGUE_SHIFT_G`); the average is stored times 2^4.
const SHIFT: u32 = 4;
/// RTT as which flows with a smaller one behave (`RTT_TARGET`).
const TARGET_RTT: Duration = Duration::from_millis(25);
/// Number of rounds after slow start before they do (`DEFAULT_RTT_TRANSITION`).
const TRANSITION_ROUNDS: u32 = 4;
/// Minimum window in packets (`MIN_CWND_RTT`).
const MIN_PACKETS: u64 = 2;
/// Minimum rate in bit/s (`MINIMUM_RATE`).
const MIN_RATE: u64 = 100_000;
/// Header bytes of a full packet of TCP (`tcp_mss_to_mtu` with timestamps).
const TCP_HEADERS: u64 = 52;
/// Growth of a window in a round trip in bytes (`MTU_SYS`).
const GROWTH: u64 = 1500;
/// Maximum duration of a burst: 2^-12 s (`prague_burst_shift`).
const BURST_SHIFT: u32 = 12;

/// Controller Prague.
pub struct Prague {
    flavour: Flavour,
    mss: u64,
    /// Size of a full packet on the wire, which pacing counts.
    wire: u64,
    /// Window in use, in packets.
    packets: u64,
    /// Window with a fraction, in units of 1/[`PACKET`].
    fraction: u64,
    /// Threshold in packets; `None`: unlimited.
    ssthresh: Option<u64>,
    /// Average share of marks, in units of 1/[`ONE`], times 2^[`SHIFT`].
    alpha: u64,
    /// Time of its last update; `None`: never.
    alpha_updated: Option<Time>,
    /// Time of the last reduction for marks.
    reduced: Option<Time>,
    /// Whether the receiver reports marks, and whether a mark was reported.
    has_feedback: bool,
    saw_marks: bool,
    /// Whether the window is reduced for losses.
    in_loss: bool,
    /// Packets with marks of the current acknowledgement.
    newly_marked: u64,
    /// Packets delivered in this round, and those of them with marks.
    delivered: u64,
    marked: u64,
    /// Position whose acknowledgement ends the round.
    round_end: u64,
    /// Number of rounds since slow start.
    rounds: u32,
    /// Growth for each packet without a mark, in units of 1/[`PACKET`], before the division by the window.
    increase: u64,
    srtt: Option<Duration>,
    in_flight: u64,
    /// Window in packets, with a fraction, and threshold before the last loss.
    prior: Option<(u64, u64, Option<u64>)>,
}

impl Prague {
    /// Makes a controller in slow start.
    ///
    /// # Panics
    /// If `mss` is 0.
    #[must_use]
    pub fn new(settings: &WindowSettings) -> Self {
        let WindowSettings { flavour, initial_window, mss, .. } = *settings;
        assert!(mss > 0, "a full packet has a size");
        let packets = (initial_window / mss).max(1);
        Self {
            flavour,
            mss,
            wire: if flavour == Flavour::LinuxTcp { mss + TCP_HEADERS } else { mss },
            packets,
            fraction: packets * PACKET,
            ssthresh: None,
            alpha: 0,
            alpha_updated: None,
            reduced: None,
            has_feedback: false,
            saw_marks: false,
            in_loss: false,
            newly_marked: 0,
            delivered: 0,
            marked: 0,
            round_end: 0,
            rounds: 0,
            increase: PACKET,
            srtt: None,
            in_flight: 0,
            prior: None,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.packets < ssthresh)
    }

    fn is_rtt_independent(&self) -> bool {
        self.has_feedback && !self.in_slow_start() && self.rounds >= TRANSITION_ROUNDS
    }

    /// Scales the growth by the RTT: a packet per target RTT, converted to a rate.
    fn scale_increase(&mut self) {
        let scaled = self.srtt.filter(|srtt| *srtt > Duration::ZERO && *srtt < TARGET_RTT);
        self.increase = match scaled {
            Some(srtt) if self.has_feedback && self.rounds >= TRANSITION_ROUNDS => {
                let (rtt, target) = (u128::from(srtt.as_nanos()), u128::from(TARGET_RTT.as_nanos()));
                ((u128::from(PACKET) * rtt * rtt + target * target / 2) / (target * target)) as u64
            }
            _ => PACKET,
        };
    }

    /// Grows by 1500 bytes for each window of packets without marks; in slow start by a packet for each.
    fn grow(&mut self, mut packets: u64) {
        if self.in_slow_start() {
            let room = self.ssthresh.map_or(u64::MAX, |ssthresh| ssthresh - self.packets);
            let grown = packets.min(room);
            self.packets += grown;
            self.fraction = self.packets * PACKET;
            packets -= grown;
        }
        if packets > 0 {
            let window = u128::from(self.fraction.max(1));
            let growth = u128::from(packets * self.increase) * u128::from(PACKET);
            let growth = (growth + window / 2) / window * u128::from(GROWTH) / u128::from(self.wire);
            self.fraction += packets.max(growth as u64);
        }
    }

    /// Moves the window in use one step towards the one with a fraction.
    fn step(&mut self) {
        let wanted = self.fraction.div_ceil(PACKET).max(MIN_PACKETS);
        match self.packets.cmp(&wanted) {
            std::cmp::Ordering::Greater => {
                self.packets -= 1;
                self.ssthresh = Some(self.packets);
            }
            std::cmp::Ordering::Less => self.packets += 1,
            std::cmp::Ordering::Equal => return,
        }
        self.scale_increase();
    }

    /// Updates the average share of marks once per round trip, or once per target RTT.
    fn update_alpha(&mut self, ack: &Ack) {
        let recently = |updated: Time| ack.now.since(updated) < TARGET_RTT;
        if ack.acked_position < self.round_end
            || self.is_rtt_independent() && self.alpha_updated.is_some_and(recently)
        {
            return;
        }
        if self.saw_marks {
            let share = self.marked * ONE / self.delivered.max(1);
            self.alpha = (self.alpha - (self.alpha >> SHIFT) + share).min(ONE << SHIFT);
            self.alpha_updated = Some(ack.now);
        }
        (self.delivered, self.marked, self.round_end) = (0, 0, ack.next_position);
        if !self.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
        self.scale_increase();
    }

    fn enter_loss(&mut self) {
        // as in `tcp_current_ssthresh`: at least three quarters of the window
        let ssthresh = self.ssthresh.map(|ssthresh| ssthresh.max(self.packets / 2 + self.packets / 4));
        self.prior = Some((self.packets, self.fraction, ssthresh));
        self.fraction -= self.fraction / 2;
        self.in_loss = true;
    }
}

impl Controller for Prague {
    fn start_with_threshold(&mut self, ssthresh: u64) {
        self.ssthresh = Some((ssthresh / self.mss).max(MIN_PACKETS));
    }

    fn on_marks(&mut self, marks: &Marks) {
        self.has_feedback = true;
        self.newly_marked += marks.marked_packets;
        self.delivered += marks.delivered_packets;
        self.marked += marks.marked_packets;
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.alpha_updated.get_or_insert(ack.now);
        (self.srtt, self.in_flight) = (ack.srtt, ack.in_flight);
        let marked = std::mem::take(&mut self.newly_marked);
        if marked > 0 && !self.saw_marks {
            self.fraction = self.fraction.div_ceil(2);
            self.saw_marks = true;
        }
        let packets = u64::from(ack.acked_packets).saturating_sub(marked);
        if packets > 0 && !self.in_loss && ack.cwnd_limited {
            self.grow(packets);
        }
        self.step();
        self.update_alpha(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if !event.ecn {
            self.enter_loss();
            return;
        }
        let recently = |reduced: Time| event.now.since(reduced) < TARGET_RTT;
        if self.is_rtt_independent() && self.reduced.is_some_and(recently) {
            return;
        }
        self.reduced = Some(event.now);
        let alpha = u128::from(self.alpha >> SHIFT);
        self.fraction -= ((alpha * u128::from(self.fraction) + u128::from(ONE)) / u128::from(2 * ONE)) as u64;
    }

    fn on_loss_after_marks(&mut self, _window: u64) {
        self.enter_loss();
    }

    fn on_recovery_end(&mut self, _now: Time) {
        self.in_loss = false;
    }

    fn on_timeout(&mut self, event: &CongestionEvent, cut: bool) {
        if cut {
            self.enter_loss();
        }
        self.packets = match self.flavour {
            Flavour::LinuxTcp => event.in_flight.div_ceil(self.mss) + 1,
            // RFC 9002 section 7.6.2
            Flavour::Quic | Flavour::Quinn | Flavour::Aioquic => MIN_PACKETS,
        };
    }

    fn on_spurious(&mut self, _now: Time) {
        self.in_loss = false;
        if let Some((packets, fraction, ssthresh)) = self.prior.take() {
            self.packets = self.packets.max(packets);
            self.fraction = self.fraction.max(fraction);
            self.ssthresh = self.ssthresh.zip(ssthresh).map(|(now, before)| now.max(before));
        }
    }

    fn window(&self) -> u64 {
        self.packets * self.mss
    }

    fn ssthresh(&self) -> Option<u64> {
        self.ssthresh.map(|packets| packets * self.mss)
    }

    /// Packets of the window, or those in flight, per round trip; twice that far below the threshold.
    fn pacing_rate(&self) -> Option<DataRate> {
        let srtt = self.srtt.filter(|srtt| *srtt > Duration::ZERO)?;
        let packets = (self.fraction / PACKET).max(self.in_flight.div_ceil(self.mss));
        let bits = u128::from(packets * self.wire * 8) * 1_000_000_000 / u128::from(srtt.as_nanos());
        let is_low = self.ssthresh.is_none_or(|ssthresh| self.packets < ssthresh / 2);
        let rate = u64::try_from(bits).unwrap_or(u64::MAX / 2).max(MIN_RATE);
        Some(DataRate::from_bits_per_second(if is_low { rate.saturating_mul(2) } else { rate }))
    }

    fn send_quantum(&self) -> Option<u64> {
        let rate = self.pacing_rate()?.bits_per_second();
        let packets = (rate / (8 * self.wire)) >> BURST_SHIFT;
        Some(packets.max(1) * self.mss)
    }

    /// Returns true, as the window also grows during the reduction.
    fn owns_recovery(&self) -> bool {
        true
    }

    fn phase(&self) -> Phase {
        if self.in_slow_start() { Phase::SlowStart } else { Phase::CongestionAvoidance }
    }
}

#[cfg(test)]
#[path = "prague_tests.rs"]
mod tests;
