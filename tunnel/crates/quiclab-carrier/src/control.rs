//! Congestion control of a path: quiclab's controllers.

use super::config::PathConfig;
use quiclab_core::{RandomStream, Time};
use quiclab_stacks::lab_controller::LabController;
use quiclab_transport::congestion::{
    Ack, CongestionEvent, Constants, Controller, Family, Flavour, PathView, Phase, Settings, build,
};
use quiclab_transport::options::SlowStartExit;
use std::sync::{Arc, Mutex};

/// Initial window in packets (RFC 9002 section 7.2).
const INITIAL_PACKETS: u64 = 10;

/// Paths of a session, as seen by their coupled controllers.
pub(crate) type Group = Arc<Mutex<Vec<PathView>>>;

/// The controller of path `own` of the session with `group`, for datagrams of `mtu` bytes.
pub(crate) fn controller(
    path: PathConfig,
    mtu: u16,
    random: RandomStream,
    group: &Group,
    own: usize,
) -> LabController {
    let mss = u64::from(mtu);
    let control = path.congestion_control;
    // a window below a datagram would never send
    let initial_window = path.window.map_or(INITIAL_PACKETS * mss, |window| window.bytes().max(mss));
    let settings = Settings {
        control,
        initial_window,
        mss,
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
        paced: true,
        flavour: Flavour::Quic,
    };
    let inner = build(&settings, random);
    let controller = LabController::of(if control.family() == Family::Coupled {
        Box::new(CoupledController { inner, group: group.clone(), own })
    } else {
        inner
    });
    // a slow start of an inner flow must not wait for that of the path, which would end it
    if control.family().grows_by_window() { controller.with_rate_limited_increase() } else { controller }
}

/// A coupled controller that reports its state to its group, and that of the group to its inner controller.
struct CoupledController {
    inner: Box<dyn Controller>,
    group: Group,
    own: usize,
}

impl CoupledController {
    fn meet(&mut self, srtt: Option<quiclab_core::Duration>) {
        let mut views = self.group.lock().expect("no holder panics");
        if views.len() <= self.own {
            views.resize(self.own + 1, PathView::default());
        }
        let view = &mut views[self.own];
        view.window = self.inner.window();
        view.srtt = srtt.or(view.srtt);
        view.losses_apart = self.inner.losses_apart();
        self.inner.on_paths(&views, self.own);
    }
}

impl Controller for CoupledController {
    fn on_sent(&mut self, now: Time, bytes: u64, in_flight: u64) {
        self.inner.on_sent(now, bytes, in_flight);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.meet(ack.srtt);
        self.inner.on_ack(ack);
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.meet(None);
        self.inner.on_congestion(event);
    }
    fn on_recovery_end(&mut self, now: Time) {
        self.inner.on_recovery_end(now);
    }
    fn on_timeout(&mut self, event: &CongestionEvent, cut: bool) {
        self.meet(None);
        self.inner.on_timeout(event, cut);
    }
    fn on_spurious(&mut self, now: Time) {
        self.inner.on_spurious(now);
    }
    fn window(&self) -> u64 {
        self.inner.window()
    }
    fn ssthresh(&self) -> Option<u64> {
        self.inner.ssthresh()
    }
    fn losses_apart(&self) -> u64 {
        self.inner.losses_apart()
    }
    fn phase(&self) -> Phase {
        self.inner.phase()
    }
}
