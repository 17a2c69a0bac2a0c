//! The state of loss recovery and congestion control: one schema for all engines, from which series,
//! statistics and qlog are made.

use crate::element::Metrics;
use crate::time::Duration;
use crate::units::DataRate;

/// State of loss recovery and congestion control; what an engine does not know is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecoveryState {
    /// Congestion window in bytes.
    pub cwnd_bytes: u64,
    /// Slow-start threshold in bytes; `None` while unlimited or unknown.
    pub ssthresh_bytes: Option<u64>,
    /// Bytes in flight; `None` where the stack does not tell.
    pub in_flight_bytes: Option<u64>,
    /// Smoothed RTT in nanoseconds; `None` before the first sample.
    pub srtt_ns: Option<u64>,
    /// Smallest RTT seen in nanoseconds; `None` before the first sample.
    pub min_rtt_ns: Option<u64>,
    /// Rate at which packets are paced in bit/s; `None` where the stack does not tell or does not pace.
    pub pacing_rate_bps: Option<u64>,
    /// What the congestion controller does: a number, see [`RecoveryState::PHASES`]. `None` where there is
    /// no connection yet.
    pub phase: Option<u64>,
    /// Packets declared lost so far.
    pub lost_packets: u64,
    /// Of these, packets that had arrived all the same, as far as the stack has noticed; `None` where it
    /// does not count them.
    pub spurious_losses: Option<u64>,
    /// Reductions of the window so far.
    pub congestion_events: u64,
}

impl RecoveryState {
    /// Names of the phases by number; the numbers are those of `quiclab_transport::congestion::Phase`.
    ///
    /// | number | name | what happens |
    /// | --- | --- | --- |
    /// | 0 | `slow_start` | exponential growth |
    /// | 1 | `conservative_slow_start` | slow start that HyStart++ has slowed down (RFC 9406 section 4.2) |
    /// | 2 | `congestion_avoidance` | slow growth |
    /// | 3 | `startup` | BBR: search for the bandwidth |
    /// | 4 | `drain` | BBR: emptying the queue that startup made |
    /// | 5 | `probe_bw` | BBR: probing for bandwidth |
    /// | 6 | `probe_rtt` | BBR: probing for the smallest RTT |
    /// | 7 | `fixed` | the window does not change |
    /// | 8 | `probe_bw_down` | BBR version 3: below the bandwidth, to empty the queue of a probe |
    /// | 9 | `probe_bw_cruise` | BBR version 3: at the bandwidth |
    /// | 10 | `probe_bw_refill` | BBR version 3: at the bandwidth, before a probe |
    /// | 11 | `probe_bw_up` | BBR version 3: above the bandwidth |
    /// | 12 | `c4_initial` | C4: search for the rate |
    /// | 13 | `c4_resuming` | C4: at the rate of an earlier connection |
    /// | 14 | `c4_recovery` | C4: below the nominal rate, until what was sent before is acknowledged |
    /// | 15 | `c4_cruising` | C4: at the nominal rate |
    /// | 16 | `c4_probing` | C4: a little above it |
    /// | 17 | `c4_pushing` | C4: above it, after a probe that succeeded |
    pub const PHASES: [&str; 18] = [
        "slow_start",
        "conservative_slow_start",
        "congestion_avoidance",
        "startup",
        "drain",
        "probe_bw",
        "probe_rtt",
        "fixed",
        "probe_bw_down",
        "probe_bw_cruise",
        "probe_bw_refill",
        "probe_bw_up",
        "c4_initial",
        "c4_resuming",
        "c4_recovery",
        "c4_cruising",
        "c4_probing",
        "c4_pushing",
    ];

    /// Name of the state that a sender enters when a recovery period of the transport begins (RFC 9002 section 7.3.2; in
    /// TCP, one of the states CWR, Recovery and Loss of Linux), whether its control reduces the window then or not.
    pub const RECOVERY: &str = "recovery";

    /// Whether the sender has entered the state of this name since it was in `before`: a phase, or
    /// [`RecoveryState::RECOVERY`].
    #[must_use]
    pub fn has_entered(&self, name: &str, before: &Self) -> bool {
        if name == Self::RECOVERY {
            return self.congestion_events > before.congestion_events;
        }
        self.phase != before.phase && self.phase_name() == Some(name)
    }

    /// The phase that window and threshold tell, for NewReno and CUBIC of stacks that do not name it: slow
    /// start below the threshold and before there is one, otherwise congestion avoidance (RFC 9002
    /// section 7.3).
    #[must_use]
    pub fn phase_of_window(cwnd_bytes: u64, ssthresh_bytes: Option<u64>) -> u64 {
        if ssthresh_bytes.is_none_or(|threshold| cwnd_bytes < threshold) { 0 } else { 2 }
    }

    /// Rate at which data that wait are sent: the smaller of the pacing rate and cwnd / srtt. This is what a
    /// transport can tell its application ("the estimated rate at which queued data will be sent", W3C WebTransport,
    /// `estimatedSendRate`). `None` before the first RTT.
    #[must_use]
    pub fn send_rate(&self) -> Option<DataRate> {
        let srtt = u128::from(self.srtt_ns.filter(|&srtt| srtt > 0)?);
        let bits = u128::from(self.cwnd_bytes) * 8 * 1_000_000_000 / srtt;
        let bits = u64::try_from(bits).unwrap_or(u64::MAX);
        Some(DataRate::from_bits_per_second(bits.min(self.pacing_rate_bps.unwrap_or(u64::MAX))))
    }

    /// Name of the present phase.
    #[must_use]
    pub fn phase_name(&self) -> Option<&'static str> {
        Self::PHASES.get(usize::try_from(self.phase?).ok()?).copied()
    }

    /// Adds all values to the metrics of an endpoint, those of its time series and of its statistics. One
    /// that is unknown is left out.
    pub fn report(&self, out: &mut Metrics) {
        out.count("cwnd_bytes", self.cwnd_bytes);
        let counts = [
            ("ssthresh_bytes", self.ssthresh_bytes),
            ("in_flight_bytes", self.in_flight_bytes),
            ("phase", self.phase),
            ("spurious_losses", self.spurious_losses),
        ];
        for (name, value) in counts {
            value.into_iter().for_each(|value| out.count(name, value));
        }
        for (name, value) in [("srtt_ms", self.srtt_ns), ("min_rtt_ms", self.min_rtt_ns)] {
            value.into_iter().for_each(|value| out.set(name, Duration::from_nanos(value).as_ms_f64()));
        }
        if let Some(rate) = self.pacing_rate_bps {
            out.set("pacing_rate_mbps", rate as f64 / 1e6);
        }
        out.count("lost_packets", self.lost_packets);
        out.count("congestion_events", self.congestion_events);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_reported_in_its_unit() {
        let state = RecoveryState {
            cwnd_bytes: 12_000,
            ssthresh_bytes: Some(24_000),
            in_flight_bytes: Some(6_000),
            srtt_ns: Some(33_300_000),
            min_rtt_ns: Some(20_000_000),
            pacing_rate_bps: Some(12_500_000),
            phase: Some(5),
            lost_packets: 4,
            spurious_losses: Some(3),
            congestion_events: 2,
        };
        let mut metrics = Metrics::default();
        state.report(&mut metrics);
        let mut found = metrics.0;
        found.sort_by_key(|(name, _)| *name);
        let expected = [
            ("congestion_events", 2.0),
            ("cwnd_bytes", 12_000.0),
            ("in_flight_bytes", 6_000.0),
            ("lost_packets", 4.0),
            ("min_rtt_ms", 20.0),
            ("pacing_rate_mbps", 12.5),
            ("phase", 5.0),
            ("spurious_losses", 3.0),
            ("srtt_ms", 33.3),
            ("ssthresh_bytes", 24_000.0),
        ];
        assert_eq!(found, expected);
        assert_eq!(state.phase_name(), Some("probe_bw"));
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        let mut metrics = Metrics::default();
        RecoveryState::default().report(&mut metrics);
        let names: Vec<_> = metrics.0.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["cwnd_bytes", "lost_packets", "congestion_events"]);
        assert_eq!(RecoveryState::default().phase_name(), None);
        assert_eq!(RecoveryState { phase: Some(99), ..RecoveryState::default() }.phase_name(), None);
    }

    /// "slow start [...] any time the congestion window is below the slow start threshold" (RFC 9002
    /// section 7.3.1); at the threshold, congestion avoidance (section 7.3.3).
    #[test]
    fn the_threshold_parts_slow_start_from_congestion_avoidance() {
        let phase =
            |cwnd, threshold| RecoveryState::PHASES[RecoveryState::phase_of_window(cwnd, threshold) as usize];
        assert_eq!(phase(12_000, None), "slow_start");
        assert_eq!(phase(11_999, Some(12_000)), "slow_start");
        assert_eq!(phase(12_000, Some(12_000)), "congestion_avoidance");
    }
}
