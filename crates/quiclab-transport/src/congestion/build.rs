//! Controllers by their names in scenarios.

use super::Controller;
use super::bbr;
use super::coupled::{Coupled, Coupling};
use super::cubic::Cubic;
use super::fixed::Fixed;
use super::hystart_aioquic::RttRise;
use super::hystart_chromium::HystartChromium;
use super::hystart_linux::{AckTrain, HystartLinux};
use super::hystart_plus_plus::HystartPlusPlus;
use super::newreno::NewReno;
use super::slow_start::{Never, SlowStartPolicy};
pub use super::window::{Flavour, WindowSettings};
use crate::options::{CongestionControl, SlowStartExit};
use quiclab_core::RandomStream;

/// What a controller is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Which one.
    pub control: CongestionControl,
    /// Initial window in bytes; that of `fixed` for good.
    pub initial_window: u64,
    /// Size of a full packet in bytes. Not 0.
    pub mss: u64,
    /// Connections that NewReno and CUBIC behave like; 1: themselves.
    pub emulated_connections: u32,
    /// Part of the window that NewReno as one connection keeps at a loss: 0.5 (RFC 9002 section 7.3.2).
    pub newreno_keeps: f64,
    /// What ends slow start of NewReno and CUBIC early.
    pub slow_start_exit: SlowStartExit,
    /// Whether the sender paces: HyStart of Linux and HyStart++ ask.
    pub paced: bool,
    /// Whose details NewReno and CUBIC follow.
    pub flavour: Flavour,
}

/// A controller; `random` is for those that draw.
///
/// # Panics
/// If `mss` is 0.
#[must_use]
pub fn build(settings: &Settings, random: RandomStream) -> Box<dyn Controller> {
    let Settings { control, initial_window, mss, emulated_connections, flavour, .. } = *settings;
    let window = WindowSettings { flavour, initial_window, mss, emulated_connections };
    match control {
        CongestionControl::Newreno => {
            Box::new(NewReno::new(&window, policy(settings)).keeping(settings.newreno_keeps))
        }
        CongestionControl::Cubic => Box::new(Cubic::new(&window, policy(settings))),
        CongestionControl::Fixed => Box::new(Fixed::new(initial_window)),
        CongestionControl::Lia => Box::new(Coupled::new(Coupling::Lia, &window, policy(settings))),
        CongestionControl::Olia => Box::new(Coupled::new(Coupling::Olia, &window, policy(settings))),
        CongestionControl::Balia => Box::new(Coupled::new(Coupling::Balia, &window, policy(settings))),
        CongestionControl::BbrLinux => Box::new(bbr::BbrLinux::new(mss, initial_window, random)),
        CongestionControl::BbrChromium => Box::new(bbr::BbrChromium::new(mss, initial_window, random)),
        CongestionControl::BbrPicoquic => Box::new(bbr::BbrPicoquic::new(mss, initial_window, random)),
    }
}

/// What ends slow start.
fn policy(settings: &Settings) -> Box<dyn SlowStartPolicy> {
    let paced = settings.paced;
    match settings.slow_start_exit {
        SlowStartExit::None => Box::new(Never),
        SlowStartExit::HystartLinux => Box::new(HystartLinux::new(AckTrain::Cushioned { paced })),
        SlowStartExit::HystartChromium => Box::new(HystartChromium::default()),
        SlowStartExit::Aioquic => Box::new(RttRise::default()),
        SlowStartExit::HystartPlusPlus => Box::new(HystartPlusPlus::new(paced)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CongestionEvent, Phase};
    use super::*;

    fn made(control: CongestionControl, flavour: Flavour, emulated_connections: u32) -> Box<dyn Controller> {
        let settings = Settings {
            control,
            initial_window: 100_000,
            mss: 1000,
            emulated_connections,
            newreno_keeps: 0.5,
            slow_start_exit: SlowStartExit::None,
            paced: false,
            flavour,
        };
        build(&settings, RandomStream::new(1, "build"))
    }

    #[test]
    fn each_name_makes_its_controller() {
        // what a reduction leaves of 100 packets tells them apart
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
            (SlowStartExit::HystartPlusPlus, false, 8),
            (SlowStartExit::HystartPlusPlus, true, 20),
        ] {
            let settings = Settings {
                control: CongestionControl::Newreno,
                initial_window: 100_000,
                mss: 1000,
                emulated_connections: 1,
                newreno_keeps: 0.5,
                slow_start_exit,
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
