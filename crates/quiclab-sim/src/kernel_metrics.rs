//! Metrics of the kernel lane. quiclab-live measures them; they stand here because documents are made without it: it is a program,
//! and for Linux only.

quiclab_core::metrics! {
    /// What a link of the kernel has done.
    pub static KERNEL_LINK: KernelLinkMetrics = "link, kernel lane" {
        /// Packets that the queue disciplines of the kernel dropped.
        kernel_dropped_packets: Counter, End;
        /// Packets inside the queue disciplines at the end.
        kernel_held_packets: Gauge, End;
        /// Acknowledgements dropped by the filter; only where the program reads headers.
        filtered_acks: Counter, End;
        /// Packets that the device refused.
        refused_packets: Counter, End;
        /// Marked packets.
        ce_marks: Counter, End;
        /// Packets that left late because the machine was busy.
        late_packets: Counter, End;
        /// Packets inside the link.
        inside_packets: Gauge, Series;
        /// IP packets delivered so far at the end of the link.
        sent_bytes: Counter, Series;
    }

    /// Packets of a device of the kernel lane.
    pub static DEVICE: DeviceMetrics = "endpoint, kernel lane" {
        /// IP packets sent.
        packets_sent: Counter, End;
        /// IP packets received.
        packets_received: Counter, End;
        /// Payloads of UDP or TCP received.
        payload_bytes_received: Counter, Both;
        /// Packets that the device refused.
        packets_refused: Counter, End;
        /// IP packets sent so far.
        sent_bytes: Counter, Series;
        /// IP packets received so far.
        received_bytes: Counter, Series;
    }
}
