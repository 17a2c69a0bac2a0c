//! State of loss recovery and congestion control: one schema for all engines, from which series, statistics and qlog
//! are generated.

use crate::metric::Metrics;
use crate::phase::Phase;
use crate::time::Duration;
use crate::units::DataRate;

crate::metrics! {
    /// State of loss recovery and congestion control.
    pub static RECOVERY: RecoveryMetrics = Flow, "endpoint, QUIC or TCP" {
        /// Congestion window.
        cwnd_bytes: Gauge, Both;
        /// Slow-start threshold; missing before the first reduction.
        ssthresh_bytes: Gauge, Both;
        /// Sent, and neither acknowledged nor declared lost; missing where the stack does not report it.
        in_flight_bytes: Gauge, Both;
        /// [Phase](#phases) of the congestion control; missing before the connection exists.
        phase: Gauge, Both;
        /// Of the lost packets, those that had arrived, as far as the stack detects it; missing where it does not.
        spurious_losses: Counter, Both;
        /// Smoothed RTT; missing before the first sample.
        srtt_ms: Gauge, Both;
        /// Minimum RTT; missing before the first sample.
        min_rtt_ms: Gauge, Both;
        /// Rate at which packets are paced; missing where the stack does not report it.
        pacing_rate_mbps: Gauge, Both;
        /// Packets declared lost.
        lost_packets: Counter, Both;
        /// Recovery periods entered.
        congestion_events: Counter, Both;
    }
}

/// State of loss recovery and congestion control; values that an engine does not know are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecoveryState {
    /// Congestion window in bytes.
    pub cwnd_bytes: u64,
    /// Slow-start threshold in bytes; `None` while unlimited or unknown.
    pub ssthresh_bytes: Option<u64>,
    /// Bytes in flight; `None` if the stack does not report them.
    pub in_flight_bytes: Option<u64>,
    /// Smoothed RTT in nanoseconds; `None` before the first sample.
    pub srtt_ns: Option<u64>,
    /// Minimum RTT in nanoseconds; `None` before the first sample.
    pub min_rtt_ns: Option<u64>,
    /// Rate at which packets are paced in bit/s; `None` if the stack does not report it or does not pace.
    pub pacing_rate_bps: Option<u64>,
    /// Phase of the congestion control; `None` before the connection exists.
    pub phase: Option<Phase>,
    /// Packets declared lost so far.
    pub lost_packets: u64,
    /// Lost packets that had arrived, as far as the stack has detected it; `None` if it does not count them.
    pub spurious_losses: Option<u64>,
    /// Reductions of the window so far.
    pub congestion_events: u64,
}

impl RecoveryState {
    /// Name of the state that a sender enters when a recovery period of the transport begins (RFC 9002 section 7.3.2;
    /// in TCP, one of the states CWR, Recovery and Loss of Linux), whether or not its congestion control then reduces
    /// the window.
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

    /// Rate at which queued data are sent: the smaller of the pacing rate and cwnd / srtt, as a transport can report it
    /// to its application ("the estimated rate at which queued data will be sent", W3C WebTransport,
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
        self.phase.map(Phase::name)
    }

    /// Adds all values to the metrics of an endpoint, those of its time series and of its statistics. Unknown values
    /// are omitted.
    pub fn report(&self, out: &mut Metrics) {
        out.count(&RECOVERY.cwnd_bytes, self.cwnd_bytes);
        let counts = [
            (&RECOVERY.ssthresh_bytes, self.ssthresh_bytes),
            (&RECOVERY.in_flight_bytes, self.in_flight_bytes),
            (&RECOVERY.phase, self.phase.map(Phase::number)),
            (&RECOVERY.spurious_losses, self.spurious_losses),
        ];
        for (metric, value) in counts {
            value.into_iter().for_each(|value| out.count(metric, value));
        }
        for (metric, value) in [(&RECOVERY.srtt_ms, self.srtt_ns), (&RECOVERY.min_rtt_ms, self.min_rtt_ns)] {
            value.into_iter().for_each(|value| out.set(metric, Duration::from_nanos(value).as_ms_f64()));
        }
        if let Some(rate) = self.pacing_rate_bps {
            out.set(&RECOVERY.pacing_rate_mbps, rate as f64 / 1e6);
        }
        out.count(&RECOVERY.lost_packets, self.lost_packets);
        out.count(&RECOVERY.congestion_events, self.congestion_events);
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
            phase: Some(Phase::ProbeBandwidth),
            lost_packets: 4,
            spurious_losses: Some(3),
            congestion_events: 2,
        };
        let mut metrics = Metrics::default();
        state.report(&mut metrics);
        let mut found = metrics.named();
        found.sort_by_key(|(name, _)| name.clone());
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
        assert_eq!(found, expected.map(|(name, value)| (name.into(), value)));
        assert_eq!(state.phase_name(), Some("probe_bw"));
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        let mut metrics = Metrics::default();
        RecoveryState::default().report(&mut metrics);
        let names: Vec<_> = metrics.iter().map(|known| known.metric.name).collect();
        assert_eq!(names, ["cwnd_bytes", "lost_packets", "congestion_events"]);
        assert_eq!(RecoveryState::default().phase_name(), None);
    }
}
