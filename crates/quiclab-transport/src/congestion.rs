//! Congestion control: the bytes that may be in flight, and the rate at which packets are sent.
//!
//! A controller is informed of packets sent, delivered and lost, and provides a window and, if it has one, a
//! pacing rate. It neither detects losses nor keeps time. The early end of slow start is a separate part
//! ([`slow_start`]), which NewReno and CUBIC consult.
//!
//! Sizes are in bytes; a controller that counts in packets (CUBIC, HyStart) divides by `mss`.
//! *Positions* are numbers that grow with every packet sent: packet numbers in QUIC, bytes of the
//! stream in TCP. A round trip is over when data sent after its start are acknowledged.
//!
//! A congestion control is one file: its algorithm, which implements [`Controller`], and its tests. It is registered at
//! the end of this file.

pub mod bbr;
pub mod c4;
pub mod careful_resume;
pub mod constants;
mod controller;
pub mod coupled;
pub mod cubic;
pub mod dctcp;
mod exit;
pub mod fixed;
pub mod hystart_aioquic;
pub mod hystart_chromium;
pub mod hystart_linux;
pub mod hystart_picoquic;
pub mod hystart_plus_plus;
pub mod jump_start;
#[cfg(test)]
mod link_by_hand;
pub mod newreno;
pub mod prague;
pub mod rapid_start;
pub mod rate_limited;
mod registry;
pub mod search;
mod settings;
pub mod slow_start;
mod states;
mod window;

pub use careful_resume::SavedPath;
pub use constants::{BbrConstants, Constants, CubicConstants, NewRenoConstants};
pub use controller::{Ack, CongestionEvent, Controller, LostPacket, Marks, PathView, RecoveryPhase};
pub use exit::SlowStartExit;
pub use registry::Family;
pub use settings::Settings;
pub use window::{Flavour, WindowSettings};

/// Warning about a maximum window of `bytes` that was reached, for packets of `mss` bytes.
pub(crate) fn bound_window_warning(bytes: u64, mss: u64) -> String {
    let packets = bytes / mss;
    format!(
        "the congestion window reached its maximum of {packets} packets, {bytes} B: its sender limits it, not the network"
    )
}

use coupled::{Coupled, Coupling};
pub use quiclab_core::Phase;
use quiclab_core::RandomStream;

registry::controls! {
    /// NewReno (RFC 9002 section 7, RFC 6582); Linux calls it reno.
    Newreno = "newreno", Family::Window => |s, _| {
        newreno::NewReno::new(&s.window(), s.policy()).keeping(s.newreno_beta).keeping_at_marks(s.ecn_beta).with(&s.constants.newreno)
    };
    /// CUBIC (RFC 9438).
    Cubic = "cubic", Family::Window => |s, _| {
        cubic::Cubic::new(&s.window(), s.policy()).counting(s.kernel_hz).keeping_at_marks(s.ecn_beta).with(&s.constants.cubic)
    };
    /// BBR version 1 as in Linux 5.15 and later.
    BbrLinux = "bbr-linux", Family::Rate => |s, random| {
        bbr::BbrLinux::new(s.mss, s.initial_window, random)
            .with(&s.constants.bbr)
            .after_handshake(s.handshake_rtt)
            .renewed_by_equal_rtt(s.equal_rtt_renews)
    };
    /// BBR version 1 as in Chromium's QUIC.
    BbrChromium = "bbr-chromium", Family::Rate => |s, random| {
        bbr::BbrChromium::new(s.mss, s.initial_window, random).with(&s.constants.bbr)
    };
    /// BBR version 3 (draft-ietf-ccwg-bbr-06).
    BbrV3 = "bbr-v3", Family::Rate => |s, random| {
        let offload = if s.flavour == Flavour::LinuxTcp { bbr::Offload::Tcp } else { bbr::Offload::Quic };
        bbr::BbrV3::new(s.mss, s.initial_window, offload, random).with(&s.constants.bbr).after_handshake(s.handshake_rtt)
    };
    /// BBR version 1 as in picoquic.
    BbrPicoquic = "bbr-picoquic", Family::Rate => |s, random| {
        let bbr = bbr::BbrPicoquic::new(s.mss, s.initial_window, random).with(&s.constants.bbr);
        if s.flavour == Flavour::LinuxTcp { bbr.without_tag() } else { bbr }
    };
    /// DCTCP (RFC 8257): the reduction follows the share of packets with marks.
    Dctcp = "dctcp", Family::Scalable => |s, _| dctcp::Dctcp::new(&s.window(), s.policy());
    /// Prague (draft-briscoe-iccrg-prague-congestion-control-04): scalable, for queues with L4S (RFC 9330).
    Prague = "prague", Family::L4s => |s, _| prague::Prague::new(&s.window());
    /// C4 (draft-huitema-ccwg-c4-spec): a rate, and the largest RTT without a queue of its own.
    C4 = "c4", Family::RateL4s => |s, _| c4::C4::new(s.mss, s.initial_window, s.saved_path);
    /// A constant window of the size `initial_window`.
    Fixed = "fixed", Family::Plain => |s, _| fixed::Fixed::new(s.initial_window);
    /// Coupled over several paths: linked increases (RFC 6356).
    Lia = "lia", Family::Coupled => |s, _| Coupled::new(Coupling::Lia, &s.window(), s.policy());
    /// Coupled over several paths: opportunistic linked increases.
    Olia = "olia", Family::Coupled => |s, _| Coupled::new(Coupling::Olia, &s.window(), s.policy());
    /// Coupled over several paths: balanced linked adaptation.
    Balia = "balia", Family::Coupled => |s, _| Coupled::new(Coupling::Balia, &s.window(), s.policy());
}
