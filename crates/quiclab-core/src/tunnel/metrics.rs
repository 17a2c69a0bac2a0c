//! Metrics of a tunnel.

crate::metrics! {
    /// Totals of an end of a tunnel.
    pub static TUNNEL: TunnelMetrics = Network, "tunnel, each end" {
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
