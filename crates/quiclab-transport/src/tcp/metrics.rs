//! Metrics of the peer that the kernel saves at the end of a connection for the next one to it: Linux 4.15 to
//! 7, net/ipv4/tcp_metrics.c.
//!
//! | metric | `tcp_update_metrics`, at the end | `tcp_init_metrics`, at the start | here |
//! | --- | --- | --- | --- |
//! | SSTHRESH | by the state of the connection, [`update`]; not since 5.6 (`tcp_no_ssthresh_metrics_save`) | the first threshold | as Linux; no part of BBR, which sets its own threshold (`bbr_init`) |
//! | RTT | smoothed RTT; one that has fallen counts one eighth | the first RTO, if it is longer than that of the handshake (since 3.12) | as Linux, without rounding to jiffies |
//! | REORDERING | in Disorder, Recovery, Loss and a slow start after a loss: if it is larger, and not the usual one | the first reordering | as Linux |
//! | RTTVAR, CWND | yes | not read, unless an administrator has locked CWND | not kept |
//!
//! | | Linux | here |
//! | --- | --- | --- |
//! | when | TIME-WAIT is entered, or LAST-ACK left: not after an RST (`tcp_time_wait`, `tcp_rcv_state_process`) | the connection is open, or was closed without an RST |
//! | scope | a pair of addresses, for an hour | the same end of the same flow: each flow has its own addresses |

use crate::options::TcpMetrics;
use quiclab_core::{Duration, Metrics, SavedTcpMetrics};

quiclab_core::metrics! {
    /// Metrics set from the cache of a destination.
    pub static SAVED: SavedMetrics = Flow, "endpoint, lab-tcp with [`tcp.metrics`](scenario.md#metrics-of-a-destination) `warm_start`" {
        /// Slow-start threshold at the start of this end; only if saved.
        saved_ssthresh_bytes: Gauge, End;
        /// Smoothed RTT at the start of this end; only if saved.
        saved_rtt_ms: Gauge, End;
        /// Tolerated reordering at the start of this end; only if saved.
        saved_reordering_packets: Gauge, End;
    }
}

/// State of a connection at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FinalState {
    /// Whether a timer has expired without an RTT sample since (`icsk_backoff`).
    pub(super) backed_off: bool,
    /// Smoothed RTT; `None` before the first sample.
    pub(super) srtt: Option<Duration>,
    /// Window in segments.
    pub(super) window: u32,
    /// Threshold in segments; `None`: unlimited, the initial slow start.
    pub(super) ssthresh: Option<u32>,
    /// Whether neither loss nor reordering is in progress (`TCP_CA_Open`).
    pub(super) open: bool,
    /// Reordering that is tolerated, and that at the start of a connection (`tcp_reordering`), in segments.
    pub(super) reordering: u32,
    pub(super) usual_reordering: u32,
}

/// Metrics that the kernel of an end keeps of its peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct MetricsCache {
    /// Metrics before the connection.
    pub(super) metrics: SavedTcpMetrics,
    /// Whether the threshold is among them: `tcp_no_ssthresh_metrics_save` is 0.
    saves_ssthresh: bool,
}

impl MetricsCache {
    /// Makes the cache; `None` if nothing is kept.
    pub(super) fn new(wanted: TcpMetrics, saves_ssthresh: bool) -> Option<Self> {
        let metrics = SavedTcpMetrics::default();
        (wanted == TcpMetrics::WarmStart).then_some(Self { metrics, saves_ssthresh })
    }

    /// Metrics after a connection; `None` if it was not opened, or was aborted.
    pub(super) fn after(&self, ended: Option<&FinalState>) -> SavedTcpMetrics {
        ended.map_or(self.metrics, |ended| update(self.metrics, ended, self.saves_ssthresh))
    }

    /// Reports the metrics before the connection, whose full segments carry `payload` bytes.
    pub(super) fn report(&self, payload: u64, out: &mut Metrics) {
        let SavedTcpMetrics { ssthresh, rtt, reordering } = self.metrics;
        if let Some(ssthresh) = ssthresh.filter(|_| payload > 0) {
            out.count(&SAVED.saved_ssthresh_bytes, u64::from(ssthresh) * payload);
        }
        if let Some(rtt) = rtt {
            out.set(&SAVED.saved_rtt_ms, rtt.as_ms_f64());
        }
        if let Some(reordering) = reordering {
            out.count(&SAVED.saved_reordering_packets, u64::from(reordering));
        }
    }
}

/// Metrics after a connection that has ended, from those `known` before it (`tcp_update_metrics`).
fn update(known: SavedTcpMetrics, ended: &FinalState, saves_ssthresh: bool) -> SavedTcpMetrics {
    let mut now = known;
    let Some(srtt) = ended.srtt.filter(|_| !ended.backed_off) else {
        return SavedTcpMetrics { rtt: None, ..known }; // "this session failed to estimate rtt"
    };
    // an RTT that has grown counts at once: too long a timeout is better than too short a one
    now.rtt = match known.rtt {
        Some(rtt) if rtt > srtt => Some(rtt.saturating_sub((rtt - srtt) / 8)),
        _ => Some(srtt),
    };
    let ssthresh = match ended.ssthresh {
        // the initial slow start: the threshold was too low if half of the window is above it
        None => known.ssthresh.map(|known| known.max(ended.window / 2)),
        // congestion avoidance: the window can be relied on
        Some(ssthresh) if ended.window >= ssthresh && ended.open => Some(ssthresh.max(ended.window / 2)),
        // recovery of a loss, or slow start after it: the threshold itself may be wrong
        Some(ssthresh) => {
            let larger = ended.reordering > known.reordering.unwrap_or(0);
            if larger && ended.reordering != ended.usual_reordering {
                now.reordering = Some(ended.reordering);
            }
            known.ssthresh.map(|known| known.max(ssthresh))
        }
    };
    if saves_ssthresh {
        now.ssthresh = ssthresh;
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: SavedTcpMetrics = SavedTcpMetrics { ssthresh: None, rtt: None, reordering: None };

    /// Congestion avoidance at 100 segments, threshold 80.
    const ENDED: FinalState = FinalState {
        backed_off: false,
        srtt: Some(Duration::from_millis(40)),
        window: 100,
        ssthresh: Some(80),
        open: true,
        reordering: 3,
        usual_reordering: 3,
    };

    fn threshold(known: Option<u32>, ended: FinalState) -> Option<u32> {
        update(SavedTcpMetrics { ssthresh: known, ..NOTHING }, &ended, true).ssthresh
    }

    #[test]
    fn in_congestion_avoidance_it_is_the_threshold_or_half_of_the_window() {
        for known in [None, Some(20), Some(500)] {
            assert_eq!(threshold(known, ENDED), Some(80));
            assert_eq!(threshold(known, FinalState { window: 201, ..ENDED }), Some(100));
            assert_eq!(threshold(known, FinalState { window: 80, ..ENDED }), Some(80));
        }
    }

    #[test]
    fn a_slow_start_that_goes_on_only_raises_a_threshold_that_was_known() {
        let ended = FinalState { ssthresh: None, window: 200, ..ENDED };
        assert_eq!(threshold(None, ended), None);
        assert_eq!(threshold(Some(60), ended), Some(100));
        assert_eq!(threshold(Some(100), ended), Some(100));
        assert_eq!(threshold(Some(150), ended), Some(150));
    }

    #[test]
    fn neither_a_repair_nor_slow_start_after_a_loss_makes_a_threshold() {
        let repair = FinalState { open: false, ..ENDED };
        let slow_start = FinalState { window: 79, ..ENDED };
        for ended in [repair, slow_start] {
            assert_eq!(threshold(None, ended), None);
            assert_eq!(threshold(Some(60), ended), Some(80));
            assert_eq!(threshold(Some(90), ended), Some(90));
        }
    }

    /// 5.6: the threshold that an older kernel would save is neither written nor changed.
    #[test]
    fn a_kernel_that_saves_no_threshold_keeps_the_rest() {
        let ended = FinalState { reordering: 7, open: false, ..ENDED };
        let expected = SavedTcpMetrics { ssthresh: None, rtt: ENDED.srtt, reordering: Some(7) };
        assert_eq!(update(NOTHING, &ended, false), expected);
        assert_eq!(update(NOTHING, &ENDED, false), SavedTcpMetrics { reordering: None, ..expected });
    }

    /// 80 ms were known: 80 - (80 - 40) / 8 = 75 ms; a longer one counts at once.
    #[test]
    fn an_rtt_falls_slowly_and_rises_at_once() {
        let after = |known: u64| {
            let known = SavedTcpMetrics { rtt: Some(Duration::from_millis(known)), ..NOTHING };
            update(known, &ENDED, true).rtt
        };
        assert_eq!(after(80), Some(Duration::from_millis(75)));
        assert_eq!(after(40), ENDED.srtt);
        assert_eq!(after(10), ENDED.srtt);
        assert_eq!(update(NOTHING, &ENDED, true).rtt, ENDED.srtt);
    }

    #[test]
    fn reordering_is_kept_if_it_is_larger_and_the_window_cannot_be_relied_on() {
        let after = |known, reordering, open| {
            let known = SavedTcpMetrics { reordering: known, ..NOTHING };
            update(known, &FinalState { reordering, open, ..ENDED }, true).reordering
        };
        assert_eq!(after(None, 20, false), Some(20));
        assert_eq!(after(Some(10), 20, false), Some(20));
        assert_eq!(after(Some(30), 20, false), Some(30));
        assert_eq!(after(None, 3, false), None); // the usual one
        assert_eq!(after(None, 20, true), None);
    }

    /// "Reset our results": only the RTT.
    #[test]
    fn a_connection_without_an_rtt_makes_the_known_one_unknown() {
        let known =
            SavedTcpMetrics { ssthresh: Some(60), rtt: Some(Duration::from_millis(9)), reordering: Some(5) };
        let expected = SavedTcpMetrics { rtt: None, ..known };
        assert_eq!(update(known, &FinalState { backed_off: true, ..ENDED }, true), expected);
        assert_eq!(update(known, &FinalState { srtt: None, ..ENDED }, true), expected);
    }

    #[test]
    fn what_was_known_stays_after_an_abort_and_is_reported() {
        assert!(MetricsCache::new(TcpMetrics::None, true).is_none());
        let mut kept = MetricsCache::new(TcpMetrics::WarmStart, true).unwrap();
        let mut out = Metrics::default();
        kept.report(1268, &mut out);
        assert_eq!(out, []);
        kept.metrics = SavedTcpMetrics { ssthresh: Some(60), rtt: ENDED.srtt, reordering: Some(5) };
        assert_eq!(kept.after(None), kept.metrics);
        assert_eq!(kept.after(Some(&ENDED)).ssthresh, Some(80));
        kept.report(1268, &mut out);
        let expected =
            [("saved_ssthresh_bytes", 76_080.0), ("saved_rtt_ms", 40.0), ("saved_reordering_packets", 5.0)];
        assert_eq!(out, expected);
    }
}
