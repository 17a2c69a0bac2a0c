//! Constants of a BBR variant, with gains in its unit.

use crate::congestion::constants::BbrConstants;
use quiclab_core::Duration;

/// Gains and times of a BBR variant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Constants<G> {
    pub(super) startup_pacing: G,
    /// Window gain in Startup and Drain.
    pub(super) startup_cwnd: G,
    pub(super) drain_pacing: G,
    /// Window gain in ProbeBW.
    pub(super) probe_bw_cwnd: G,
    pub(super) up: G,
    pub(super) down: G,
    /// Window gain in ProbeRTT, of version 3 only.
    pub(super) probe_rtt_cwnd: G,
    pub(super) probe_rtt_interval: Duration,
    pub(super) probe_rtt_duration: Duration,
}

impl<G: Copy> Constants<G> {
    /// Replaces the constants that are set; `gain` converts a gain.
    pub(super) fn with(self, set: &BbrConstants, gain: impl Fn(f64) -> G) -> Self {
        let of = |set: Option<f64>, own: G| set.map_or(own, &gain);
        Self {
            startup_pacing: of(set.startup_pacing_gain, self.startup_pacing),
            startup_cwnd: of(set.startup_cwnd_gain, self.startup_cwnd),
            drain_pacing: of(set.drain_pacing_gain, self.drain_pacing),
            probe_bw_cwnd: of(set.probe_bw_cwnd_gain, self.probe_bw_cwnd),
            up: of(set.probe_up_pacing_gain, self.up),
            down: of(set.probe_down_pacing_gain, self.down),
            probe_rtt_cwnd: of(set.probe_rtt_cwnd_gain, self.probe_rtt_cwnd),
            probe_rtt_interval: set.probe_rtt_interval.unwrap_or(self.probe_rtt_interval),
            probe_rtt_duration: set.probe_rtt_duration.unwrap_or(self.probe_rtt_duration),
        }
    }

    /// Pacing gain of a phase of the cycle of version 1, by default `gain`; `unit` is gain 1.
    pub(super) fn cycle(&self, gain: G, unit: G) -> G
    where
        G: PartialOrd,
    {
        if gain > unit {
            self.up
        } else if gain < unit {
            self.down
        } else {
            unit
        }
    }
}
