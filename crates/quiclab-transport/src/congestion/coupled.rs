//! Coupled congestion control: the paths of one connection share a bottleneck fairly, and shift traffic to
//! the better ones (LIA, RFC 6356; OLIA, Khalili et al., "MPTCP Is Not Pareto-Optimal", IEEE/ACM Transactions
//! on Networking 21(5), 2013; BALIA, Peng et al., "Multipath TCP: Analysis, Design, and Implementation",
//! IEEE/ACM Transactions on Networking 24(1), 2016; draft-khalili-mptcp-congestion-control-05,
//! draft-walid-mptcp-congestion-control-04).
//!
//! Slow start is that of NewReno; coupling concerns congestion avoidance (RFC 6356 section 3). Windows and
//! increases are in packets, as in the papers; RTTs are the smoothed ones.
//!
//! | | increase per packet acknowledged on path r | decrease |
//! | --- | --- | --- |
//! | LIA | min(alpha / sum w, 1 / w_r), alpha = sum w · max(w/rtt²) / (sum w/rtt)² | 1/2 |
//! | OLIA | (w_r/rtt_r²) / (sum w/rtt)² + alpha_r / w_r; alpha shifts to the best paths with small windows | 1/2 |
//! | BALIA | (x_r / rtt_r) / (sum x)² · (1 + a)/2 · (4 + a)/5, a = max x / x_r, x = w/rtt | min(a, 3/2) / 2 |
//!
//! With one path all three are equal to NewReno: LIA's and BALIA's alpha is 1, OLIA's second term 0.

mod increase;
#[cfg(test)]
mod tests;

use super::slow_start::SlowStartPolicy;
use super::window::{Window, WindowSettings};
use super::{Ack, CongestionEvent, Controller, PathView, Phase};
use quiclab_core::Time;

/// Algorithm of coupling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coupling {
    /// Linked increases.
    Lia,
    /// Opportunistic linked increases.
    Olia,
    /// Balanced linked adaptation.
    Balia,
}

/// Controller of one path.
pub struct Coupled {
    coupling: Coupling,
    window: Window,
    /// All paths at the last acknowledgement, and the index of this one.
    paths: Vec<PathView>,
    own: usize,
    /// Fraction of a packet by which the window is to grow; negative where OLIA shrinks it.
    credit: f64,
    /// Bytes acknowledged since the last loss, and between the last two (OLIA's l_r).
    since_loss: u64,
    between_losses: u64,
}

impl Coupled {
    /// Makes a controller in slow start, which `policy` may end.
    #[must_use]
    pub fn new(coupling: Coupling, settings: &WindowSettings, policy: Box<dyn SlowStartPolicy>) -> Self {
        Self {
            coupling,
            window: Window::new(settings, policy),
            paths: Vec::new(),
            own: 0,
            credit: 0.0,
            since_loss: 0,
            between_losses: 0,
        }
    }

    /// Window of this path after a loss.
    fn reduced(&self) -> u64 {
        let kept = match self.coupling {
            Coupling::Lia | Coupling::Olia => 0.5,
            Coupling::Balia => 1.0 - increase::balia_decrease(&self.paths, self.own),
        };
        (self.window.bytes() as f64 * kept) as u64
    }
}

impl Controller for Coupled {
    fn on_paths(&mut self, paths: &[PathView], own: usize) {
        self.paths.clear();
        self.paths.extend_from_slice(paths);
        self.own = own;
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.since_loss += ack.acked_bytes;
        let acked = self.window.slow_start(ack, ack.rtt, ack.min_rtt);
        if acked == 0 {
            return;
        }
        let mss = self.window.mss() as f64;
        if self.paths.is_empty() {
            self.paths.push(PathView { window: self.window.bytes(), srtt: ack.srtt, losses_apart: 0 });
            self.own = 0;
        }
        self.paths[self.own].window = self.window.bytes();
        let per_packet = match self.coupling {
            Coupling::Lia => increase::lia(&self.paths, self.own, mss),
            Coupling::Olia => increase::olia(&self.paths, self.own, mss),
            Coupling::Balia => increase::balia(&self.paths, self.own, mss),
        };
        self.credit += per_packet * (acked as f64 / mss);
        let whole = libm::trunc(self.credit);
        if whole >= 1.0 {
            self.credit -= whole;
            self.window.raise(self.window.bytes() + (whole * mss) as u64);
        } else if whole <= -1.0 {
            self.credit -= whole;
            self.window.lower((-whole * mss) as u64);
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        (self.between_losses, self.since_loss) = (self.since_loss, 0);
        self.credit = 0.0;
        self.window.cut(self.reduced());
    }

    fn on_timeout(&mut self, event: &CongestionEvent, cut: bool) {
        let reduced = self.reduced();
        self.window.timeout(event, cut.then_some(reduced));
    }

    fn on_spurious(&mut self, _now: Time) {
        self.window.undo();
    }

    fn window(&self) -> u64 {
        self.window.bytes()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.window.ssthresh()
    }

    fn losses_apart(&self) -> u64 {
        self.since_loss.max(self.between_losses)
    }

    fn phase(&self) -> Phase {
        self.window.phase()
    }
}
