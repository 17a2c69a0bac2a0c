//! DCTCP: the window is reduced by half of the share of packets with marks (RFC 8257; net/ipv4/tcp_dctcp.c).
//!
//! Slow start, timeouts and pauses are those of `window.rs`, growth is that of NewReno.
//!
//! | | RFC 8257 | Linux | here |
//! | --- | --- | --- | --- |
//! | share of marks | bytes | packets; all of an acknowledgement with ECE | packets that the receiver reports |
//! | g, alpha at the start | 1/16, 1 | the same | the same |
//! | arithmetic | | integers: 1024 is 1 | as Linux |
//! | losses | as TCP: half (section 3.5) | half, also while the window is being reduced for marks; by the share of marks if a tail loss probe repaired one | half |

use super::slow_start::SlowStartPolicy;
use super::window::{Window, WindowSettings};
use super::{Ack, CongestionEvent, Controller, Marks, Phase};
use quiclab_core::{Duration, Time};

/// Fixed-point representation of a share of 1 (`DCTCP_MAX_ALPHA`).
const ONE: u64 = 1024;
/// Weight of a new share in the estimate: 1/2^4 (`dctcp_shift_g`).
const SHIFT: u32 = 4;

/// Controller DCTCP.
pub struct Dctcp {
    window: Window,
    /// Estimate of the share of packets with marks, in units of 1/[`ONE`].
    alpha: u64,
    /// Packets delivered since the last estimate, and those of them with marks.
    delivered: u64,
    marked: u64,
    /// Position whose acknowledgement ends the round trip of an estimate.
    round_end: u64,
}

impl Dctcp {
    /// Makes a controller in slow start, which `policy` may end.
    ///
    /// # Panics
    /// If `mss` is 0.
    #[must_use]
    pub fn new(settings: &WindowSettings, policy: Box<dyn SlowStartPolicy>) -> Self {
        Self { window: Window::new(settings, policy), alpha: ONE, delivered: 0, marked: 0, round_end: 0 }
    }

    fn halved(&self) -> u64 {
        self.window.bytes() / 2
    }
}

impl Controller for Dctcp {
    fn start_with_threshold(&mut self, ssthresh: u64) {
        self.window.start_with_threshold(ssthresh);
    }

    fn on_marks(&mut self, marks: &Marks) {
        self.delivered += marks.delivered_packets;
        self.marked += marks.marked_packets;
        if marks.acked_position < self.round_end {
            return;
        }
        // alpha = (1 - g) alpha + g F, where a small alpha goes to 0
        let less = self.alpha >> SHIFT;
        self.alpha -= if less == 0 { self.alpha } else { less };
        let share = (self.marked << (ONE.ilog2() - SHIFT)) / self.delivered.max(1);
        self.alpha = (self.alpha + share).min(ONE);
        (self.delivered, self.marked, self.round_end) = (0, 0, marks.next_position);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let acked = self.window.slow_start(ack, ack.rtt, ack.min_rtt);
        if acked > 0 {
            self.window.grow_per(self.window.bytes().max(1), acked);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let window = self.window.bytes();
        let units = window / self.window.unit();
        let less = (units * self.alpha / (2 * ONE)) * self.window.unit();
        self.window.cut(if event.ecn { window - less } else { self.halved() });
    }

    fn on_loss_after_marks(&mut self, window: u64) {
        self.window.cut(window / 2);
    }

    fn on_timeout(&mut self, event: &CongestionEvent, cut: bool) {
        self.window.timeout(event, cut.then(|| self.halved()));
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
    use super::super::window::Flavour;
    use super::*;

    const MSS: u64 = 1000;

    fn dctcp(packets: u64) -> Dctcp {
        let settings = WindowSettings {
            flavour: Flavour::LinuxTcp,
            initial_window: packets * MSS,
            mss: MSS,
            emulated_connections: 1,
        };
        Dctcp::new(&settings, Box::new(NoSlowStartExit))
    }

    /// Runs a round trip of 16 packets, of which `marked` have marks.
    fn round(dctcp: &mut Dctcp, marked: u64) {
        let position = dctcp.round_end;
        dctcp.on_marks(&Marks {
            delivered_packets: 16,
            marked_packets: marked,
            acked_position: position,
            next_position: position + 16,
        });
    }

    fn marks() -> CongestionEvent {
        CongestionEvent { ecn: true, ..CongestionEvent::default() }
    }

    /// 1024 - 1024 / 16 = 960, and 64 of 1024 for each 16 of 16 marked.
    #[test]
    fn alpha_follows_the_share_of_marks_by_a_sixteenth() {
        let mut dctcp = dctcp(100);
        let alphas: Vec<_> = [16, 8, 0, 0]
            .into_iter()
            .map(|marked| {
                round(&mut dctcp, marked);
                dctcp.alpha
            })
            .collect();
        assert_eq!(alphas, [1024, 992, 930, 872]);
        (0..200).for_each(|_| round(&mut dctcp, 0));
        assert_eq!(dctcp.alpha, 0, "below 16 it goes to 0");
    }

    #[test]
    fn the_estimate_waits_for_the_end_of_the_round_trip() {
        let mut dctcp = dctcp(100);
        round(&mut dctcp, 16);
        let early = Marks { delivered_packets: 4, marked_packets: 0, acked_position: 4, next_position: 30 };
        dctcp.on_marks(&early);
        assert_eq!((dctcp.alpha, dctcp.round_end), (1024, 16));
        dctcp.on_marks(&Marks { acked_position: 16, marked_packets: 4, ..early });
        // half of eight packets were marked
        assert_eq!((dctcp.alpha, dctcp.round_end), (992, 30));
    }

    #[test]
    fn marks_cost_half_of_their_share_and_losses_half() {
        let mut dctcp = dctcp(100);
        dctcp.alpha = 512;
        dctcp.on_congestion(&marks());
        assert_eq!((dctcp.window(), dctcp.ssthresh()), (75 * MSS, Some(75 * MSS)));
        dctcp.alpha = 16;
        dctcp.on_congestion(&marks());
        assert_eq!(dctcp.window(), 75 * MSS, "75 * 16 / 2048 is no packet");
        dctcp.on_congestion(&CongestionEvent::default());
        assert_eq!(dctcp.window(), 37 * MSS);
        dctcp.on_loss_after_marks(20 * MSS);
        assert_eq!(dctcp.window(), 10 * MSS);
    }
}
