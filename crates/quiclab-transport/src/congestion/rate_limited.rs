//! Increase of the window when the sender is rate-limited (draft-ietf-ccwg-ratelimited-increase,
//! "Rate-Limited Increase"): limited by the maximum in flight since the last reduction (maxFS).
//!
//! | | draft | here |
//! | --- | --- | --- |
//! | FlightSize | sent and not acknowledged | bytes in flight (RFC 9002 section 2) |
//! | slow start | "cwnd = min(cwnd_new, 2*maxFS)" | the same: of an acknowledgement, no more bytes count than remain up to the limit |
//! | congestion avoidance | "cwnd = min(cwnd_new, SMSS+maxFS)" | a window below the limit grows as the control permits for one acknowledgement |
//! | a reduction | "maxFS MUST be reset to zero", then the first measurement of FlightSize | bytes in flight when it is detected: at the next packet sent or acknowledgement |
//! | conservative slow start (HyStart++) | not specified | the limit of slow start |
//!
//! RFC 9002 section 7.8 does not permit such a window to grow; Linux (`tcp_is_cwnd_limited`) grows in slow
//! start to twice the bytes outstanding in the last round trip, and does not grow in congestion avoidance.
//! The draft calls both more conservative than its rule.

use super::{Ack, Controller};

/// State of a sender for the rule.
#[derive(Clone, Copy, Debug)]
pub struct RateLimitedIncrease {
    /// maxFS in bytes.
    max_flight: u64,
    /// Window at the last call in bytes.
    window: u64,
}

impl RateLimitedIncrease {
    /// Makes the state; maxFS starts as the initial window.
    #[must_use]
    pub fn new(initial_window: u64) -> Self {
        Self { max_flight: initial_window, window: initial_window }
    }

    /// Records `in_flight` bytes in flight at a window of `window` bytes.
    pub fn on_flight(&mut self, in_flight: u64, window: u64) {
        if window < self.window {
            self.max_flight = 0;
        }
        self.window = window;
        self.max_flight = self.max_flight.max(in_flight);
    }

    /// Sets in `ack` whether and by how much the window may grow, before `controller`, whose full packets
    /// have `mss` bytes, receives it.
    pub fn limit(&mut self, ack: &mut Ack, controller: &dyn Controller, mss: u64) {
        let window = controller.window();
        self.on_flight(ack.in_flight, window);
        let in_slow_start = controller.ssthresh().is_none_or(|ssthresh| window < ssthresh);
        let limit = if in_slow_start { 2 * self.max_flight } else { self.max_flight + mss };
        let room = limit.saturating_sub(window);
        ack.cwnd_limited = room > 0;
        if in_slow_start {
            ack.growth_limit = Some(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        CongestionControl, CongestionEvent, Constants, Flavour, Settings, SlowStartExit, build,
    };
    use super::*;
    use quiclab_core::RandomStream;

    const MSS: u64 = 1000;

    /// A sender with NewReno, an initial window of ten packets, and an ACK for every second packet.
    struct Sender {
        controller: Box<dyn Controller>,
        rule: RateLimitedIncrease,
        in_flight: u64,
    }

    impl Sender {
        fn new() -> Self {
            let settings = Settings {
                control: CongestionControl::Newreno,
                initial_window: 10 * MSS,
                mss: MSS,
                emulated_connections: 1,
                newreno_beta: 0.5,
                handshake_rtt: None,
                equal_rtt_renews: false,
                kernel_hz: None,
                slow_start_exit: SlowStartExit::None,
                saved_path: None,
                max_jump: None,
                ecn_beta: None,
                constants: Constants::default(),
                paced: false,
                flavour: Flavour::Quic,
            };
            let controller = build(&settings, RandomStream::new(1, "controller"));
            Self { controller, rule: RateLimitedIncrease::new(10 * MSS), in_flight: 0 }
        }

        fn send(&mut self, packets: u64) {
            for _ in 0..packets {
                self.in_flight += MSS;
                self.rule.on_flight(self.in_flight, self.controller.window());
            }
        }

        fn acknowledge(&mut self, packets: u64) {
            self.in_flight -= packets * MSS;
            let mut ack = Ack {
                acked_bytes: packets * MSS,
                acked_packets: packets as u32,
                in_flight: self.in_flight,
                may_grow: true,
                ..Ack::default()
            };
            self.rule.limit(&mut ack, &*self.controller, MSS);
            self.controller.on_ack(&ack);
        }

        /// Windows after each of the ACKs of a round in which `packets` are sent.
        fn round(&mut self, packets: u64) -> Vec<u64> {
            self.send(packets);
            let acks = 0..packets / 2;
            acks.map(|_| {
                self.acknowledge(2);
                self.controller.window() / MSS
            })
            .collect()
        }
    }

    /// Appendix A of the draft, "An Example Using cwnd Represented in Bytes".
    #[test]
    fn the_example_of_the_draft_in_bytes() {
        let mut sender = Sender::new();
        assert_eq!(sender.round(4), [12, 14]);
        assert_eq!(sender.round(8), [16, 18, 20, 20]);
        assert_eq!(sender.round(4), [20, 20]);
        assert_eq!(sender.round(20), [22, 24, 26, 28, 30, 32, 34, 36, 38, 40]);
    }

    /// The example from its section on the rules: ten packets, a pause, four packets; an ACK for each.
    #[test]
    fn a_window_does_not_pass_twice_what_was_in_flight() {
        let mut sender = Sender::new();
        sender.send(10);
        (0..10).for_each(|_| sender.acknowledge(1));
        assert_eq!(sender.controller.window(), 20 * MSS);
        sender.send(4);
        (0..4).for_each(|_| sender.acknowledge(1));
        assert_eq!(sender.controller.window(), 20 * MSS);
    }

    /// Acknowledged bytes count only up to the limit: 19 packets, an ACK of four.
    #[test]
    fn growth_ends_exactly_at_the_limit() {
        let mut sender = Sender::new();
        sender.send(9);
        (0..9).for_each(|_| sender.acknowledge(1));
        sender.send(4);
        sender.acknowledge(4);
        assert_eq!(sender.controller.window(), 20 * MSS);
    }

    /// A loss with 20 packets in flight results in a window of 10 and, when two more are acknowledged, in a
    /// maxFS of the packets in flight. With 4 in flight the window does not grow; with 10 it grows by a
    /// packet for each window acknowledged, up to 11.
    #[test]
    fn after_a_reduction_the_measure_begins_anew() {
        let mut sender = Sender::new();
        sender.round(10);
        sender.round(20);
        sender.in_flight = 4 * MSS;
        sender.controller.on_congestion(&CongestionEvent::default());
        let window = sender.controller.window();
        assert_eq!(window, 20 * MSS, "half of 40");
        (0..20).for_each(|_| {
            sender.send(2);
            sender.acknowledge(2);
        });
        assert_eq!(sender.controller.window(), window, "6 packets in flight at most");
        sender.send(16);
        assert_eq!(sender.in_flight, 20 * MSS);
        (0..10).for_each(|_| sender.acknowledge(2));
        assert_eq!(sender.controller.window(), window + MSS);
        (0..20).for_each(|_| {
            sender.send(2);
            sender.acknowledge(2);
        });
        assert_eq!(sender.controller.window(), window + MSS, "a packet more than was in flight");
    }
}
