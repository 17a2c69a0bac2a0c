//! Parameters of a controller.

use super::CongestionControl;
use super::careful_resume::SavedPath;
use super::constants::Constants;
use super::exit::{SlowStartExit, Start};
use super::slow_start::SlowStartPolicy;
use super::window::{Flavour, WindowSettings};
use quiclab_core::Duration;

/// Parameters of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Congestion control.
    pub control: CongestionControl,
    /// Initial window in bytes; for `fixed`, the constant window.
    pub initial_window: u64,
    /// Size of a full packet in bytes. Not 0.
    pub mss: u64,
    /// Number of connections that NewReno and CUBIC emulate.
    pub emulated_connections: u32,
    /// Part of the window that remains after a loss of NewReno as one connection: 0.5 (RFC 9002 section
    /// 7.3.2).
    pub newreno_beta: f64,
    /// RTT of the handshake; `None`: not known. BBR of Linux starts with it.
    pub handshake_rtt: Option<Duration>,
    /// Whether BBR of Linux counts an RTT equal to its minimum as a new measurement of it.
    pub equal_rtt_renews: bool,
    /// Ticks per second in which CUBIC of Linux counts time; `None`: 250.
    pub kernel_hz: Option<u32>,
    /// Algorithm that ends slow start of NewReno and CUBIC early.
    pub slow_start_exit: SlowStartExit,
    /// Path parameters from an earlier connection; `None`: there was none.
    pub saved_path: Option<SavedPath>,
    /// Maximum window of a jump in bytes; `None`: no limit, or no jump.
    pub max_jump: Option<u64>,
    /// Part of the window of NewReno and CUBIC that remains after marks; `None`: as for losses.
    pub ecn_beta: Option<f64>,
    /// Constants that replace those of the control.
    pub constants: Constants,
    /// Whether the sender paces, which HyStart of Linux and HyStart++ consider.
    pub paced: bool,
    /// Implementation whose details NewReno and CUBIC follow.
    pub flavour: Flavour,
}

impl Settings {
    /// Settings common to the window-based controls.
    pub(super) fn window(&self) -> WindowSettings {
        let Self { flavour, initial_window, mss, emulated_connections, .. } = *self;
        WindowSettings { flavour, initial_window, mss, emulated_connections }
    }

    /// Policy that ends slow start early.
    pub(super) fn policy(&self) -> Box<dyn SlowStartPolicy> {
        let Self { paced, initial_window, handshake_rtt, saved_path, max_jump, .. } = *self;
        self.slow_start_exit.policy(Start { paced, initial_window, handshake_rtt, saved_path, max_jump })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CongestionEvent, Controller, CubicConstants, NewRenoConstants, Phase, build};
    use super::*;
    use quiclab_core::RandomStream;

    fn made(control: CongestionControl, flavour: Flavour, emulated_connections: u32) -> Box<dyn Controller> {
        made_with(control, flavour, emulated_connections, Constants::default())
    }

    fn made_with(
        control: CongestionControl,
        flavour: Flavour,
        emulated_connections: u32,
        constants: Constants,
    ) -> Box<dyn Controller> {
        let settings = Settings {
            control,
            initial_window: 100_000,
            mss: 1000,
            emulated_connections,
            newreno_beta: 0.5,
            handshake_rtt: None,
            equal_rtt_renews: false,
            kernel_hz: None,
            slow_start_exit: SlowStartExit::None,
            saved_path: None,
            max_jump: None,
            ecn_beta: None,
            constants,
            paced: false,
            flavour,
        };
        build(&settings, RandomStream::new(1, "build"))
    }

    /// A loss in slow start at 100 packets, and another after it: 0.4 of the window, and 0.6 of the rest.
    /// Linux has 614/1024 of 40 packets, in whole ones.
    #[test]
    fn constants_of_a_scenario_replace_those_of_the_control() {
        let (beta, slow_start_beta) = (Some(0.6), Some(0.4));
        let constants = Constants {
            newreno: NewRenoConstants { beta, slow_start_beta },
            cubic: CubicConstants { beta, slow_start_beta, ..CubicConstants::default() },
            ..Constants::default()
        };
        for (control, flavour, second) in [
            (CongestionControl::Newreno, Flavour::Quic, 24_000),
            (CongestionControl::Cubic, Flavour::Quic, 24_000),
            (CongestionControl::Cubic, Flavour::Quinn, 24_000),
            (CongestionControl::Cubic, Flavour::LinuxTcp, 23_000),
        ] {
            let mut controller = made_with(control, flavour, 1, constants);
            for left in [40_000, second] {
                controller.on_congestion(&CongestionEvent::default());
                assert_eq!(controller.window(), left, "{control:?}, {flavour:?}");
            }
        }
    }

    #[test]
    fn each_name_makes_its_controller() {
        // the window after a reduction from 100 packets distinguishes them
        for (control, n, left) in [
            (CongestionControl::Newreno, 1, 50_000),
            (CongestionControl::Newreno, 2, 85_000),
            (CongestionControl::Cubic, 1, 70_000),
            (CongestionControl::Cubic, 2, 85_000),
            (CongestionControl::Fixed, 1, 100_000),
        ] {
            let mut controller = made(control, Flavour::Quic, n);
            assert_eq!(controller.window(), 100_000);
            controller.on_congestion(&CongestionEvent::default());
            assert_eq!(controller.window(), left, "{control:?}, {n}");
        }
        assert_eq!(made(CongestionControl::Cubic, Flavour::Quic, 1).phase(), Phase::SlowStart);
    }

    #[test]
    fn each_exit_of_slow_start_has_its_policy() {
        // an ACK of 20 packets in the first round: only HyStart++ without pacing counts 8 of them
        for (slow_start_exit, paced, grown) in [
            (SlowStartExit::None, false, 20),
            (SlowStartExit::HystartLinux, false, 20),
            (SlowStartExit::HystartChromium, false, 20),
            (SlowStartExit::Aioquic, false, 20),
            (SlowStartExit::Picoquic, false, 20),
            (SlowStartExit::HystartPlusPlus, false, 8),
            (SlowStartExit::HystartPlusPlus, true, 20),
        ] {
            let settings = Settings {
                control: CongestionControl::Newreno,
                initial_window: 100_000,
                mss: 1000,
                emulated_connections: 1,
                newreno_beta: 0.5,
                handshake_rtt: None,
                equal_rtt_renews: false,
                kernel_hz: None,
                slow_start_exit,
                saved_path: None,
                max_jump: None,
                ecn_beta: None,
                constants: Constants::default(),
                paced,
                flavour: Flavour::LinuxTcp,
            };
            let mut controller = build(&settings, RandomStream::new(1, "build"));
            controller.on_ack(&super::super::Ack {
                acked_packets: 20,
                acked_bytes: 20_000,
                may_grow: true,
                cwnd_limited: true,
                ..Default::default()
            });
            assert_eq!(controller.window(), (100 + grown) * 1000, "{slow_start_exit:?}");
        }
    }
}
