//! What a tunnel counts, and its state at a moment.

use super::{Carrier, Counts, Pquic, Tunnel, TunnelEcn};
use crate::element::Metrics;
use crate::time::Time;
use crate::units::ByteCount;

impl Tunnel {
    /// Values over the whole run.
    pub fn statistics(&mut self, now: Time, out: &mut Metrics) {
        let Counts { entered, dropped, too_large, delivered, reordered, strange, marked_drops } = self.counts;
        out.count("entered_packets", entered);
        out.count("dropped_packets", dropped);
        out.count("too_large_packets", too_large);
        out.count("delivered_packets", delivered);
        out.count("reordered_packets", reordered);
        out.count("strange_datagrams", strange);
        if self.config.ecn == TunnelEcn::Propagated {
            out.count("marked_drops", marked_drops);
        }
        for (path, name) in SENT.into_iter().enumerate().take(self.paths) {
            out.count(name, self.sent_by_path.get(path).copied().unwrap_or(0));
        }
        self.queue.statistics(out);
        self.pquic.iter().for_each(|pquic| pquic.statistics(out));
        if let Some(resequencer) = &mut self.resequencer {
            resequencer.statistics(now, out);
        }
        if let Some(repair) = &self.repair {
            let (repaired, reports) = repair.sent.counts();
            out.count("repaired_packets", repaired);
            out.count("loss_reports_received", reports);
            out.count("loss_reports_sent", repair.gaps.reports());
        }
    }

    /// Values at this moment: the bytes in each place where packets can wait, and the state of the paths.
    pub fn sample(&mut self, now: Time, carrier: &dyn Carrier, out: &mut Metrics) {
        let waiting = self.queue.waiting();
        out.count("queue_packets", waiting.packets);
        out.count("queue_bytes", waiting.bytes.bytes());
        let reserved: u64 = self.pquic.iter().flat_map(Pquic::sizes).map(ByteCount::bytes).sum();
        out.count("reserved_bytes", reserved);
        if let Some(second) = self.pquic.as_ref().and_then(Pquic::second_waiting) {
            out.count("second_queue_bytes", second.bytes.bytes());
        }
        for path in 0..carrier.paths().min(8) {
            let state = carrier.state(now, path);
            out.count(CWND[path], state.window.bytes());
            out.count(IN_FLIGHT[path], state.in_flight.bytes());
            out.set(SRTT[path], state.srtt.as_ms_f64());
        }
        for (path, name) in SENT.into_iter().enumerate().take(carrier.paths()) {
            out.count(name, self.sent_by_path.get(path).copied().unwrap_or(0));
        }
    }
}

macro_rules! by_path {
    ($name:ident, $suffix:literal) => {
        const $name: [&str; 8] = [
            concat!("path1_", $suffix),
            concat!("path2_", $suffix),
            concat!("path3_", $suffix),
            concat!("path4_", $suffix),
            concat!("path5_", $suffix),
            concat!("path6_", $suffix),
            concat!("path7_", $suffix),
            concat!("path8_", $suffix),
        ];
    };
}

by_path!(SENT, "sent_bytes");
by_path!(CWND, "cwnd_bytes");
by_path!(IN_FLIGHT, "in_flight_bytes");
by_path!(SRTT, "srtt_ms");
