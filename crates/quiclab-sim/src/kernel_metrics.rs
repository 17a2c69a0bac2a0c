//! Metrics of the kernel lane. quiclab-live and the client of a browser measure them; they are defined here
//! because documents are generated without those programs, which are for Linux only.

quiclab_core::metrics! {
    /// Totals of a link of the kernel.
    pub static KERNEL_LINK: KernelLinkMetrics = Network, "link, kernel lane" {
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
    pub static DEVICE: DeviceMetrics = Flow, "endpoint, kernel lane" {
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

    /// The kernel's account of a connection: `TCP_INFO` (tcp(7)) and the counters of its network namespace.
    pub static LINUX: LinuxMetrics = Flow, "endpoint, `linux`" {
        /// Congestion window.
        cwnd_bytes: Gauge, Both;
        /// Slow-start threshold; missing before there is one.
        ssthresh_bytes: Gauge, Both;
        /// Sent and neither acknowledged, reported by SACK nor marked lost, and sent again.
        in_flight_bytes: Gauge, Both;
        /// Smoothed RTT; missing before the first sample.
        srtt_ms: Gauge, Both;
        /// Mean deviation of the RTT; missing before the first sample.
        rttvar_ms: Gauge, Both;
        /// Minimum RTT; missing before the first sample.
        min_rtt_ms: Gauge, Both;
        /// Retransmission timeout.
        rto_ms: Gauge, Both;
        /// Pacing rate; missing where nothing is paced.
        pacing_rate_mbps: Gauge, Both;
        /// Latest sample of the delivery rate; missing before the first.
        delivery_rate_mbps: Gauge, Both;
        /// Segments sent again.
        retransmitted_packets: Counter, Both;
        /// Segments in flight that are marked lost.
        marked_lost_packets: Gauge, Both;
        /// Segments delivered.
        delivered_packets: Counter, Both;
        /// Of these, segments that the receiver's feedback says had a mark; with the feedback of RFC 3168 all that an acknowledgement
        /// with ECE acknowledges.
        marked_packets: Counter, Both;
        /// Reordering that is assumed.
        reordering_packets: Gauge, Both;
        /// State of loss recovery: open 0, disorder 1, CWR 2, recovery 3, loss 4.
        ca_state: Gauge, Both;
        /// Written and not sent yet.
        unsent_bytes: Gauge, Both;
        /// Segments sent, those without data included.
        packets_sent: Counter, End;
        /// Segments received.
        packets_received: Counter, End;
        /// Bytes acknowledged.
        acked_bytes: Counter, End;
        /// Duplicates that the peer reported by DSACK.
        spurious_losses: Counter, End;
        /// Time with data in flight.
        busy_ms: Counter, End;
        /// Part of it that the peer's window limited.
        window_limited_ms: Counter, End;
        /// Part of it that the send buffer limited.
        buffer_limited_ms: Counter, End;
        /// Retransmission timeouts.
        timeouts: Counter, End;
        /// Tail loss probes.
        tail_loss_probes: Counter, End;
        /// Reductions of the window that were undone.
        undos: Counter, End;
        /// Recovery periods and timeouts, those undone included.
        congestion_events: Counter, End;
        /// Retransmissions except probes: Linux does not count losses.
        lost_packets: Counter, End;
        /// Counters of `/proc/net/netstat` that are not 0.
        extended_counters as "TcpExt.<name>": Counter, End;
        /// Counters of `/proc/net/snmp` that are not 0.
        counters as "Tcp.<name>": Counter, End;
    }

    /// Reports of programs.
    pub static PROGRAM: ProgramMetrics = Flow, "endpoint, program of the kernel lane" {
        /// From the start of the client to the end of the handshake.
        handshake_ms: Time, End;
        /// Payloads of UDP sent.
        bytes_sent: Counter, End;
        /// Largest payload of UDP that the path takes, as the program knows it.
        datagram_size_bytes: Gauge, End;
        /// Version of HTTP, as curl reports it.
        http_version: Gauge, End;
        /// Goodput, as iperf3 reports it.
        goodput_mbps: Gauge, End;
    }

    /// Loads of a page; `page_load_ms` and others of a load are those of the last one.
    pub static BROWSER: BrowserMetrics = Flow, "client of `page`, browser" {
        /// Loads that count.
        loads: Counter, End;
        /// From the start of the connection of the document to its end.
        connect_ms: Time, End;
        /// The part of it that is TLS or QUIC.
        ssl_ms: Time, End;
        /// Loads whose first request was sent as early data.
        early_data_sent_loads: Counter, End;
        /// Loads whose early data the server accepted.
        early_data_accepted_loads: Counter, End;
    }
}
