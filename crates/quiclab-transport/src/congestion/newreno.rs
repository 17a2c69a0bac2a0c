//! NewReno: half the window at a loss, growth by a packet per round trip (RFC 9002 section 7.3; RFC 5681 and
//! 6582; net/ipv4/tcp_cong.c, where it is called reno).
//!
//! Slow start, timeouts and pauses are those of `window.rs`.
//!
//! | | RFC 9002 | Linux | here |
//! |---|---|---|---|
//! | decrease | 1/2 | 1/2, whole packets | the same, by flavour |
//! | increase | one packet per window acknowledged (section 7.3.3) | the same | the same |
//! | N emulated connections (not in Linux) | | | N packets per round trip, decrease (N - 1 + 0.7) / N |
//!
//! With Alternative Backoff with ECN (ABE, RFC 8511) marks reduce the window by less than losses:
//! [`NewReno::keeping_at_marks`].
//!
//! N emulated connections are as in Chromium (`TcpCubicSenderBytes::RenoBeta` and `MaybeIncreaseCwnd`), which
//! uses CUBIC's factor of 0.7 for Reno, too. With N = 1 Chromium keeps 0.7 of the window, too:
//! [`NewReno::keeping`].

use super::constants::NewRenoConstants;
use super::slow_start::SlowStartPolicy;
use super::window::{Flavour, Window, WindowSettings};
use super::{Ack, CongestionEvent, Controller, LostPacket, Phase};
use quiclab_core::{DataRate, Duration, Time};

/// NewReno.
pub struct NewReno {
    window: Window,
    /// Number of emulated connections.
    connections: u64,
    /// Part of the window that remains after a loss of one connection.
    keeps: f64,
    /// Part that remains after marks; `None`: as for a loss.
    keeps_at_marks: Option<f64>,
    /// Part that remains after a loss in slow start; `None`: as for other losses.
    keeps_in_slow_start: Option<f64>,
}

impl NewReno {
    /// Makes a controller in slow start, which `policy` may end.
    ///
    /// # Panics
    /// If `mss` is 0.
    #[must_use]
    pub fn new(settings: &WindowSettings, policy: Box<dyn SlowStartPolicy>) -> Self {
        let connections = u64::from(settings.emulated_connections.max(1));
        Self {
            window: Window::new(settings, policy),
            connections,
            keeps: 0.5,
            keeps_at_marks: None,
            keeps_in_slow_start: None,
        }
    }

    /// Sets the part of the window that remains after a loss of one connection (Chromium, quic-go: 0.7).
    #[must_use]
    pub fn keeping(self, part: f64) -> Self {
        Self { keeps: part, ..self }
    }

    /// Sets the part of the window that remains after marks (RFC 8511) for one connection.
    #[must_use]
    pub fn keeping_at_marks(self, part: Option<f64>) -> Self {
        Self { keeps_at_marks: part, ..self }
    }

    /// Sets other constants.
    #[must_use]
    pub fn with(self, set: &NewRenoConstants) -> Self {
        let keeps = set.beta.unwrap_or(self.keeps);
        Self { keeps, keeps_in_slow_start: set.slow_start_beta, ..self }
    }

    fn reduced(&self) -> u64 {
        let (window, n) = (self.window.bytes(), self.connections);
        match n {
            1 => (window as f64 * self.keeps) as u64, // RFC 9002 section 7.3.2: "MUST set the slow start threshold to half"
            _ => u64::try_from(u128::from(window) * u128::from(10 * n - 3) / u128::from(10 * n))
                .expect("a part of a window is not more than the window"),
        }
    }
}

impl Controller for NewReno {
    fn start_with_threshold(&mut self, ssthresh: u64) {
        self.window.start_with_threshold(ssthresh);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let acked = self.window.slow_start(ack, ack.rtt, ack.min_rtt);
        if acked > 0 && self.connections == 1 && self.window.flavour() == Flavour::Quinn {
            self.window.grow_each(ack.acked_packets, acked);
        } else if acked > 0 {
            let per_packet = (self.window.bytes() / self.connections).max(1);
            self.window.grow_per(per_packet, acked);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let in_slow_start = self.keeps_in_slow_start.filter(|_| self.window.in_slow_start());
        let special = self.keeps_at_marks.filter(|_| event.ecn).or(in_slow_start);
        let reduced =
            special.map_or_else(|| self.reduced(), |part| (self.window.bytes() as f64 * part) as u64);
        if !self.window.converge(event, reduced as f64 / self.window.bytes() as f64) {
            self.window.cut(reduced);
        }
    }

    fn on_sent(&mut self, _now: Time, bytes: u64, _in_flight: u64) {
        self.window.on_sent(bytes);
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.window.on_lost(packet);
    }

    fn on_recovery_end(&mut self, _now: Time) {
        self.window.on_recovery_end();
    }

    fn owns_recovery(&self) -> bool {
        self.window.owns_recovery()
    }

    fn pacing_rate(&self) -> Option<DataRate> {
        self.window.pacing_rate()
    }

    fn on_timeout(&mut self, event: &CongestionEvent, cut: bool) {
        self.window.timeout(event, cut.then(|| self.reduced()));
    }

    fn on_spurious(&mut self, _now: Time) {
        self.window.undo();
    }

    fn on_idle(&mut self, _now: Time, idle: Duration, rto: Duration) {
        self.window.idle(idle, rto);
    }

    fn on_application_limited(&mut self, _now: Time, used: u64) {
        self.window.application_limited(used);
    }

    fn window(&self) -> u64 {
        self.window.bytes()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.window.ssthresh()
    }

    fn phase(&self) -> Phase {
        self.window.phase()
    }
}

#[cfg(test)]
mod tests {
    use super::super::slow_start::NoSlowStartExit;
    use super::*;

    const MSS: u64 = 1000;

    fn newreno(flavour: Flavour, packets: u64, emulated_connections: u32) -> NewReno {
        let settings =
            WindowSettings { flavour, initial_window: packets * MSS, mss: MSS, emulated_connections };
        NewReno::new(&settings, Box::new(NoSlowStartExit))
    }

    /// Acknowledges a whole window, packet by packet.
    fn round(reno: &mut NewReno) {
        for _ in 0..reno.window() / MSS {
            reno.on_ack(&Ack {
                acked_bytes: MSS,
                acked_packets: 1,
                may_grow: true,
                cwnd_limited: true,
                ..Ack::default()
            });
        }
    }

    /// From 10 packets the window doubles to 20, slow start ends at 25, and the other acknowledgements of
    /// that window add no packet; from there on it grows by one for each window.
    #[test]
    fn a_known_threshold_ends_the_first_slow_start() {
        let mut reno = newreno(Flavour::LinuxTcp, 10, 1);
        reno.start_with_threshold(25 * MSS);
        let mut windows = Vec::new();
        for _ in 0..4 {
            round(&mut reno);
            windows.push(reno.window() / MSS);
        }
        assert_eq!((windows, reno.ssthresh()), (vec![20, 25, 26, 27], Some(25 * MSS)));
        // below the initial window: congestion avoidance from the first packet on
        let mut reno = newreno(Flavour::LinuxTcp, 10, 1);
        reno.start_with_threshold(5 * MSS);
        assert_eq!((reno.window(), reno.phase()), (10 * MSS, Phase::CongestionAvoidance));
    }

    #[test]
    fn the_sawtooth_halves_the_window_and_regains_a_packet_per_round_trip() {
        for flavour in [Flavour::LinuxTcp, Flavour::Quic] {
            let mut reno = newreno(flavour, 20, 1);
            for _ in 0..3 {
                reno.on_congestion(&CongestionEvent::default());
                assert_eq!(reno.window(), 10 * MSS);
                assert_eq!(reno.ssthresh(), Some(10 * MSS));
                for packets in 11..=20 {
                    round(&mut reno);
                    assert_eq!(reno.window(), packets * MSS, "{flavour:?}");
                }
            }
        }
    }

    #[test]
    fn each_call_halves_once_down_to_two_packets() {
        let mut reno = newreno(Flavour::LinuxTcp, 15, 1);
        let windows: Vec<u64> = (0..5)
            .map(|_| {
                reno.on_congestion(&CongestionEvent::default());
                reno.window() / MSS
            })
            .collect();
        assert_eq!(windows, [7, 3, 2, 2, 2]); // floor(15 / 2), floor(7 / 2), max(floor(3 / 2), 2)
        let mut quic = newreno(Flavour::Quic, 15, 1);
        quic.on_congestion(&CongestionEvent::default());
        assert_eq!(quic.window(), 7_500);
    }

    #[test]
    fn a_timeout_halves_the_threshold_only_if_it_shall() {
        let lost = CongestionEvent { in_flight: 2_500, ..CongestionEvent::default() };
        let mut reno = newreno(Flavour::LinuxTcp, 20, 1);
        reno.on_timeout(&lost, true);
        // the 3 packets in flight plus one
        assert_eq!((reno.window(), reno.ssthresh()), (4 * MSS, Some(10 * MSS)));
        reno.on_timeout(&CongestionEvent::default(), false);
        assert_eq!((reno.window(), reno.ssthresh()), (MSS, Some(10 * MSS)));
        assert_eq!(reno.phase(), Phase::SlowStart);
        // persistent congestion (RFC 9002 section 7.6.2)
        let mut quic = newreno(Flavour::Quic, 20, 1);
        quic.on_timeout(&lost, true);
        assert_eq!((quic.window(), quic.ssthresh()), (2 * MSS, Some(10 * MSS)));
    }

    /// RFC 8511: 0.8 for marks, and half for losses and timeouts as before.
    #[test]
    fn marks_cost_less_than_losses_with_abe() {
        for flavour in [Flavour::LinuxTcp, Flavour::Quic, Flavour::Quinn] {
            let mut reno = newreno(flavour, 20, 1).keeping_at_marks(Some(0.8));
            reno.on_congestion(&CongestionEvent { ecn: true, ..CongestionEvent::default() });
            assert_eq!((reno.window(), reno.ssthresh()), (16 * MSS, Some(16 * MSS)));
            reno.on_congestion(&CongestionEvent::default());
            assert_eq!(reno.window(), 8 * MSS);
        }
    }

    /// Credit of 15 of 16 packets is kept at the halving to 8. Another acknowledged packet makes it 16: two
    /// packets of growth at once without a remainder; in quinn one, for 8, and with the next packet, 9 of 9,
    /// another.
    #[test]
    fn credit_kept_at_a_halving_is_spent_at_once_or_packet_by_packet() {
        for (flavour, windows) in [(Flavour::Quic, [10, 10]), (Flavour::Quinn, [9, 10])] {
            let mut reno = newreno(flavour, 32, 1);
            reno.on_congestion(&CongestionEvent::default());
            let packet = |reno: &mut NewReno| {
                let grown = Ack { may_grow: true, cwnd_limited: true, ..Ack::default() };
                reno.on_ack(&Ack { acked_bytes: MSS, acked_packets: 1, ..grown });
                reno.window() / MSS
            };
            (0..15).for_each(|_| assert_eq!(packet(&mut reno), 16, "{flavour:?}"));
            reno.on_congestion(&CongestionEvent::default());
            assert_eq!([packet(&mut reno), packet(&mut reno)], windows, "{flavour:?}");
        }
    }

    #[test]
    fn two_emulated_connections_keep_17_20_and_grow_two_packets_per_round_trip() {
        // (2 - 1 + 0.7) / 2 = 0.85
        let mut reno = newreno(Flavour::Quic, 20, 2);
        reno.on_congestion(&CongestionEvent::default());
        assert_eq!(reno.window(), 17_000);
        // a packet for each 8.5 packets acknowledged, then one for each 9, one for each 9.5
        round(&mut reno);
        assert!((18_000..=19_000).contains(&reno.window()), "{}", reno.window());
        let before = reno.window();
        for _ in 0..10 {
            round(&mut reno);
        }
        // 20 packets in 10 round trips; at most one is still due, by credit
        let grown = (reno.window() - before) / MSS;
        assert!((19..=20).contains(&grown), "{grown}");
    }
}
