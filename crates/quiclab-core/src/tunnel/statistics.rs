//! Totals of a tunnel, and its present state.

use super::metrics::TUNNEL;
use super::{Carrier, Counts, Pquic, Tunnel, TunnelEcn};
use crate::metric::Metrics;
use crate::time::Time;
use crate::units::ByteCount;

/// Maximum number of paths for which a tunnel reports values.
const MAX_PATHS: usize = 8;

impl Tunnel {
    /// Values over the whole run.
    pub fn statistics(&mut self, now: Time, out: &mut Metrics) {
        let Counts { entered, dropped, too_large, delivered, reordered, strange, marked_drops } = self.counts;
        out.count(&TUNNEL.entered_packets, entered);
        out.count(&TUNNEL.dropped_packets, dropped);
        out.count(&TUNNEL.too_large_packets, too_large);
        out.count(&TUNNEL.delivered_packets, delivered);
        out.count(&TUNNEL.reordered_packets, reordered);
        out.count(&TUNNEL.strange_datagrams, strange);
        if self.config.ecn == TunnelEcn::Propagated {
            out.count(&TUNNEL.marked_drops, marked_drops);
        }
        for path in 0..self.paths.min(MAX_PATHS) {
            out.count_of(
                &TUNNEL.path_sent_bytes,
                path + 1,
                self.sent_by_path.get(path).copied().unwrap_or(0),
            );
        }
        self.queue.statistics(out);
        self.pquic.iter().for_each(|pquic| pquic.statistics(out));
        if let Some(resequencer) = &mut self.resequencer {
            resequencer.statistics(now, out);
        }
        if let Some(repair) = &self.repair {
            let (repaired, reports) = repair.sent.counts();
            out.count(&TUNNEL.repaired_packets, repaired);
            out.count(&TUNNEL.loss_reports_received, reports);
            out.count(&TUNNEL.loss_reports_sent, repair.gaps.reports());
        }
    }

    /// Present values: the bytes in each place where packets can wait, and the state of the paths.
    pub fn sample(&mut self, now: Time, carrier: &dyn Carrier, out: &mut Metrics) {
        let waiting = self.queue.waiting();
        out.count(&TUNNEL.queue_packets, waiting.packets);
        out.count(&TUNNEL.queue_bytes, waiting.bytes.bytes());
        let reserved: u64 = self.pquic.iter().flat_map(Pquic::sizes).map(ByteCount::bytes).sum();
        out.count(&TUNNEL.reserved_bytes, reserved);
        if let Some(second) = self.pquic.as_ref().and_then(Pquic::second_waiting) {
            out.count(&TUNNEL.second_queue_bytes, second.bytes.bytes());
        }
        for path in 0..carrier.paths().min(MAX_PATHS) {
            let state = carrier.state(now, path);
            out.count_of(&TUNNEL.path_cwnd_bytes, path + 1, state.window.bytes());
            out.count_of(&TUNNEL.path_in_flight_bytes, path + 1, state.in_flight.bytes());
            out.set_of(&TUNNEL.path_srtt_ms, path + 1, state.srtt.as_ms_f64());
        }
        for path in 0..carrier.paths().min(MAX_PATHS) {
            out.count_of(
                &TUNNEL.path_sent_bytes,
                path + 1,
                self.sent_by_path.get(path).copied().unwrap_or(0),
            );
        }
    }
}
