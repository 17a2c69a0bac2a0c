//! Constants of congestion controls that a scenario changes, under the names of their RFCs and drafts; one that is not set has
//! the value of its control and flavour.
//!
//! | field | RFC 9438, RFC 9002 | Linux |
//! | --- | --- | --- |
//! | `beta` | `β_cubic`; kLossReductionFactor | parameter `beta` of tcp_cubic |
//! | `c` | C | parameter `bic_scale` |
//! | `fast_convergence` | section 4.7 | parameter `fast_convergence` |
//! | `slow_start_beta` | one factor for all reductions | as RFC |
//!
//! Those of BBR have the names of draft-ietf-ccwg-bbr-06, for version 1, too, whose draft has other names for some
//! (`bbr_high_gain`, `bbr_drain_gain`, `bbr_cwnd_gain`, `bbr_pacing_gain`, `bbr_min_rtt_win_sec`, `bbr_probe_rtt_mode_ms`).

use quiclab_core::{Duration, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Constants of NewReno (RFC 9002 section 7.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRenoConstants {
    /// Part of the window that a loss leaves, `kLossReductionFactor` (default: 0.5; Chromium and quic-go: 0.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(0.1, 0.99))]
    pub beta: Option<f64>,
    /// The same of a loss in slow start (default: `beta`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(0.1, 0.99))]
    pub slow_start_beta: Option<f64>,
}

/// Constants of CUBIC (RFC 9438).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CubicConstants {
    /// Part of the window that a loss leaves, `beta_cubic` of section 4.6 (default: 0.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(0.1, 0.99))]
    pub beta: Option<f64>,
    /// The same of a loss in slow start (default: `beta`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(0.1, 0.99))]
    pub slow_start_beta: Option<f64>,
    /// C of section 4.1 in packets per second cubed (default: 0.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(0.01, 10.0))]
    pub c: Option<f64>,
    /// A reduction below the last maximum lowers the next one, section 4.7 (default: true).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_convergence: Option<bool>,
}

/// Constants of BBR (draft-ietf-ccwg-bbr-06).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BbrConstants {
    /// `BBR.StartupPacingGain` (default: version 1 2/ln 2, version 3 2.77).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(1.0, 10.0))]
    pub startup_pacing_gain: Option<f64>,
    /// Window in Startup and Drain, in bandwidth-delay products (default: `bbr-linux` and `bbr-picoquic` 2/ln 2, others 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(1.0, 10.0))]
    pub startup_cwnd_gain: Option<f64>,
    /// `BBR.DrainPacingGain` (default: version 1 ln 2 / 2, version 3 0.5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(0.01, 0.99))]
    pub drain_pacing_gain: Option<f64>,
    /// Window in ProbeBW, in bandwidth-delay products; in ProbeBW_UP of version 3 it stays 2.25 (default: 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(1.0, 10.0))]
    pub probe_bw_cwnd_gain: Option<f64>,
    /// Pacing gain of ProbeBW_UP (default: 1.25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(1.01, 10.0))]
    pub probe_up_pacing_gain: Option<f64>,
    /// Pacing gain of ProbeBW_DOWN (default: version 1 0.75, version 3 0.9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(0.01, 0.99))]
    pub probe_down_pacing_gain: Option<f64>,
    /// `BBR.ProbeRTTInterval`: a smallest RTT that is as old is measured again (default: version 1 10 s, version 3 5 s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("10 ms", "60 min"))]
    pub probe_rtt_interval: Option<Duration>,
    /// `BBR.ProbeRTTDuration` (default: 200 ms).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_most("1 min"))]
    pub probe_rtt_duration: Option<Duration>,
    /// `BBR.ProbeRTTCwndGain` of `bbr-v3` (default: 0.5); version 1 keeps four packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(0.0, 1.0))]
    pub probe_rtt_cwnd_gain: Option<f64>,
}

/// Constants of all controls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Constants {
    /// Constants of NewReno.
    pub newreno: NewRenoConstants,
    /// Constants of CUBIC.
    pub cubic: CubicConstants,
    /// Constants of BBR.
    pub bbr: BbrConstants,
}
