//! What a tunnel counts, and its state at a moment.

use super::{Carrier, Counts, Pquic, Tunnel, TunnelEcn};
use crate::metric::Metrics;
use crate::time::Time;
use crate::units::ByteCount;

/// Paths of which a tunnel reports values.
const MAX_PATHS: usize = 8;

crate::metrics! {
    /// What an end of a tunnel has done.
    pub static TUNNEL: TunnelMetrics = "tunnel, each end" {
        /// Inner packets that entered at this end.
        entered_packets: Counter, End;
        /// Inner packets dropped by the queue.
        dropped_packets: Counter, End;
        /// Inner packets above the MTU or the limit of a path.
        too_large_packets: Counter, End;
        /// Inner packets that arrived from the other end.
        delivered_packets: Counter, End;
        /// Arrived packets that a later one of their flow has overtaken.
        reordered_packets: Counter, End;
        /// Datagrams that are not a payload of the tunnel.
        strange_datagrams: Counter, End;
        /// With `ecn = "propagated"`: packets that are not ECN-capable and arrived in an outer packet with a mark, which are dropped (RFC 6040).
        marked_drops: Counter, End;
        /// Inner bytes sent on path *k*.
        path_sent_bytes as "path<k>_sent_bytes": Counter, Both;
        /// Packets sent again because a path had lost them.
        repaired_packets: Counter, End;
        /// Reports of losses by the other end.
        loss_reports_received: Counter, End;
        /// Reports of losses to the other end.
        loss_reports_sent: Counter, End;
        /// Backlog of the queue.
        queue_packets: Gauge, Series;
        /// Backlog of the queue.
        queue_bytes: Gauge, Series;
        /// Bytes behind the queue, in the pipeline of PQUIC.
        reserved_bytes: Gauge, Series;
        /// Backlog of the second queue; only with `second_queue`.
        second_queue_bytes: Gauge, Series;
        /// Congestion window of path *k*.
        path_cwnd_bytes as "path<k>_cwnd_bytes": Gauge, Series;
        /// Bytes in flight on path *k*.
        path_in_flight_bytes as "path<k>_in_flight_bytes": Gauge, Series;
        /// Smoothed RTT of path *k*.
        path_srtt_ms as "path<k>_srtt_ms": Gauge, Series;
        /// Packets that left without congestion control; only with `second_queue`.
        uncontrolled_packets: Counter, End;
        /// Packets that waited for a path with a larger MTU than that chosen; missing if there are none.
        mtu_waits: Counter, End;
    }
}

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

    /// Values at this moment: the bytes in each place where packets can wait, and the state of the paths.
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
