//! The status as metrics: every value of [`Status`], with its unit and meaning.
//!
//! A client that connects anew has two sessions at its server until the earlier one has timed out. Metrics have the name of
//! the client, not the number of the session, so they are those of the later one.

use super::open_metrics::{Exposition, Kind, Labels};
use super::{MtuSearchState, PathStatus, SessionStatus, Status};
use Kind::{Counter, Gauge, Info, Unknown};
use std::collections::BTreeMap;

/// A value that is found by its name: its kind, the name of its family, and what it is.
type Row = (&'static str, Kind, &'static str, &'static str);

/// Values of the device, the sockets and the endpoint.
const VALUES: [Row; 21] = [
    ("device_read_packets_total", Counter, "device_read_packets", "Packets read from the device."),
    ("device_read_bytes_total", Counter, "device_read_bytes", "Bytes of packets read from the device."),
    ("device_written_packets_total", Counter, "device_written_packets", "Packets written to the device."),
    (
        "device_written_bytes_total",
        Counter,
        "device_written_bytes",
        "Bytes of packets written to the device.",
    ),
    (
        "device_unreadable_total",
        Counter,
        "device_unreadable_packets",
        "What came from the device and is no packet.",
    ),
    ("device_refused_total", Counter, "device_refused_packets", "Packets that the device did not take."),
    ("udp_sent_packets_total", Counter, "udp_sent_packets", "UDP datagrams sent."),
    ("udp_sent_bytes_total", Counter, "udp_sent_bytes", "Payload of UDP datagrams sent."),
    ("udp_received_packets_total", Counter, "udp_received_packets", "UDP datagrams received."),
    ("udp_received_bytes_total", Counter, "udp_received_bytes", "Payload of UDP datagrams received."),
    ("udp_unsent_packets_total", Counter, "udp_unsent_packets", "UDP datagrams that a socket did not take."),
    (
        "homeless_packets_total",
        Counter,
        "homeless_packets",
        "Packets of the device whose destination has no session.",
    ),
    (
        "isolated_packets_total",
        Counter,
        "isolated_packets",
        "Packets between clients that `isolate_clients` has dropped.",
    ),
    ("refused_peers_total", Counter, "refused_peers", "Peers that were refused."),
    (
        "parked_sessions",
        Gauge,
        "parked_sessions",
        "Sessions that have ended, kept for a while so that their flows go on.",
    ),
    ("half_open_connections", Gauge, "half_open_connections", "Connections without a session yet."),
    ("retry_packets_total", Counter, "retry_packets", "Retry packets sent."),
    (
        "ignored_handshakes_total",
        Counter,
        "ignored_handshakes",
        "Handshakes not answered because of too many of their network.",
    ),
    (
        "withheld_datagrams_total",
        Counter,
        "withheld_datagrams",
        "Datagrams not sent to an address that is not validated.",
    ),
    ("junk_datagrams_total", Counter, "junk_datagrams", "Datagrams that are not of this version of QUIC."),
    ("connections", Gauge, "connections", "QUIC connections, those that are not accepted yet included."),
];

/// Values of sessions. What is not here is exported with the type `unknown`.
const SESSION_VALUES: [Row; 40] = [
    ("entered_packets", Counter, "entered_packets", "Packets that entered the queue."),
    ("dropped_packets", Counter, "dropped_packets", "Packets that the queue discipline dropped."),
    ("delivered_packets", Counter, "delivered_packets", "Packets of the other end that left the tunnel."),
    (
        "reordered_packets",
        Counter,
        "reordered_packets",
        "Packets that left the tunnel after a later one of their flow.",
    ),
    (
        "too_large_packets",
        Counter,
        "too_large_packets",
        "Packets that were too long for the tunnel or a path.",
    ),
    (
        "too_big_packets",
        Counter,
        "too_big_packets",
        "Packets too long for the paths that were divided or answered with an error.",
    ),
    ("fragmented_packets", Counter, "fragmented_packets", "Packets that were sent in fragments."),
    ("incomplete_packets", Counter, "incomplete_packets", "Packets of which fragments were missing."),
    ("strange_datagrams", Counter, "strange_datagrams", "Datagrams that are no payload of the tunnel."),
    (
        "spoofed_packets",
        Counter,
        "spoofed_packets",
        "Packets from a source that the other end does not have.",
    ),
    (
        "misdirected_packets",
        Counter,
        "misdirected_packets",
        "Packets for a destination that this end does not have.",
    ),
    (
        "foreign_packets",
        Counter,
        "foreign_packets",
        "Packets of this machine from a source that this end does not have.",
    ),
    ("malformed_packets", Counter, "malformed_packets", "Payloads that are no IP packets."),
    (
        "packets_while_closed",
        Counter,
        "packets_while_closed",
        "Packets that came while the session was not open.",
    ),
    ("unreachable_errors", Counter, "unreachable_errors", "ICMP errors to flows while no path answered."),
    ("stalled_packets", Counter, "stalled_packets", "Packets dropped while no path answered."),
    ("marked_drops", Counter, "marked_drops", "Packets dropped because a path had marked what carried them."),
    (
        "repaired_packets",
        Counter,
        "repaired_packets",
        "Packets that were sent again because a path had lost them.",
    ),
    ("loss_reports_sent", Counter, "loss_reports_sent", "Reports of losses to the other end."),
    ("loss_reports_received", Counter, "loss_reports_received", "Reports of losses by the other end."),
    ("in_order_packets", Counter, "in_order_packets", "Numbered packets that arrived in order."),
    (
        "buffered_total_packets",
        Counter,
        "buffered_packets",
        "Numbered packets that waited for an earlier one.",
    ),
    ("overtaken_packets", Counter, "overtaken_packets", "Numbered packets that arrived after a later one."),
    ("waited_packets", Counter, "waited_packets", "Packets that left after a wait for an earlier one."),
    ("late_packets", Counter, "late_packets", "Packets that arrived after their turn."),
    ("duplicate_packets", Counter, "duplicate_packets", "Packets that had arrived before."),
    ("skipped_packets", Counter, "skipped_packets", "Packets that were missing when a wait ended."),
    ("reordering_events", Counter, "reordering_events", "Waits for an earlier packet."),
    ("timer_expiries", Counter, "timer_expiries", "Waits for an earlier packet that were in vain."),
    ("overflow_drops", Counter, "overflow_drops", "Packets dropped because the queue was full."),
    ("codel_drops", Counter, "codel_drops", "Packets that CoDel dropped."),
    ("pie_drops", Counter, "pie_drops", "Packets that PIE dropped."),
    ("cobalt_drops", Counter, "cobalt_drops", "Packets that COBALT dropped."),
    ("ce_marks", Counter, "ce_marks", "Packets that left the queue with an ECN mark that they got in it."),
    ("queues_used", Gauge, "queues_used", "Queues of flows that ever had a packet."),
    (
        "longest_sojourn_ms",
        Gauge,
        "queue_longest_sojourn_seconds",
        "Longest time that a packet waited in the queue.",
    ),
    ("waiting_max_ms", Gauge, "resequencing_longest_wait_seconds", "Longest wait for an earlier packet."),
    ("waiting_mean_ms", Gauge, "resequencing_mean_wait_seconds", "Mean wait for an earlier packet."),
    (
        "longest_buffer_packets",
        Gauge,
        "longest_resequencing_buffer_packets",
        "Most packets that waited for earlier ones.",
    ),
    (
        "mtu_bytes",
        Gauge,
        "session_mtu_bytes",
        "Longest packet inside that passes in one datagram on every path.",
    ),
];

/// Values that other metrics have: of paths, of the queue, and settings.
fn is_elsewhere(name: &str) -> bool {
    let of_path =
        name.strip_prefix("path").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    of_path
        || ["queue_packets", "queue_bytes", "queue_sojourn_ms", "reserved_bytes"].contains(&name)
        || ["reordering_timer", "received_port"].iter().any(|start| name.starts_with(start))
}

impl Status {
    /// The text that Prometheus reads.
    #[must_use]
    pub fn open_metrics(&self) -> String {
        let mut out = Exposition::default();
        let labels: Labels<'_> =
            &[("version", &self.version), ("role", &self.role), ("interface", &self.interface)];
        out.add(Info, "build", "The program, and which end of the tunnel it is.", labels, 1.0);
        out.add(Gauge, "uptime_seconds", "Time since the tunnel was set up.", &[], self.uptime_seconds);
        for (name, value) in &self.values {
            add_value(&mut out, &VALUES, "", name, &[], *value);
        }
        let latest: BTreeMap<_, _> =
            self.sessions.iter().map(|session| (session.name.as_str(), session)).collect();
        for session in latest.into_values() {
            add_session(&mut out, session);
            for path in &session.paths {
                add_path(&mut out, &[("session", &session.name), ("path", &path.name)], path);
            }
        }
        out.text()
    }
}

fn add_value(out: &mut Exposition, rows: &[Row], prefix: &str, name: &str, labels: Labels<'_>, value: f64) {
    // seconds are the unit of time in metrics
    let value = if name.ends_with("_ms") { value / 1e3 } else { value };
    match rows.iter().find(|row| row.0 == name) {
        Some((_, kind, family, help)) => out.add(*kind, family, help, labels, value),
        None => {
            let family = format!("{prefix}{name}").replace("_ms", "_seconds");
            let help = format!("Value {name} of the status.");
            out.add(Unknown, &family, &help, labels, value);
        }
    }
}

fn add_session(out: &mut Exposition, session: &SessionStatus) {
    let labels: Labels<'_> = &[("session", &session.name)];
    let gauges = [
        ("session_open", "Whether packets pass.", f64::from(u8::from(session.open))),
        ("session_open_seconds", "Time since the session was opened.", session.open_seconds),
        ("backlog_packets", "Packets that wait for the paths.", session.backlog_packets as f64),
        ("backlog_bytes", "Bytes that wait for the paths.", session.backlog_bytes as f64),
        ("waiting_flows", "Flows that have packets in the queue.", session.waiting_flows as f64),
    ];
    for (name, help, value) in gauges {
        out.add(Gauge, name, help, labels, value);
    }
    let help = "Time that packets had waited in the queue when they left for a path.";
    let (count, sum) = (session.queue_sent_packets, session.queue_sojourn_seconds);
    out.summary("queue_sojourn_seconds", help, labels, count, sum);
    for (name, value) in session.values.iter().filter(|(name, _)| !is_elsewhere(name)) {
        add_value(out, &SESSION_VALUES, "session_", name, labels, *value);
    }
}

fn add_path(out: &mut Exposition, labels: Labels<'_>, path: &PathStatus) {
    let mut gauge = |name: &str, help: &str, value: f64| out.add(Gauge, name, help, labels, value);
    gauge("path_up", "Whether the path carries data.", f64::from(u8::from(path.up)));
    gauge("path_rtt_seconds", "Smoothed round trip time.", path.rtt_ms / 1e3);
    gauge("path_window_bytes", "Congestion window.", path.window_bytes as f64);
    gauge("path_in_flight_bytes", "Bytes not acknowledged.", path.in_flight_bytes as f64);
    gauge("path_loss_ratio", "Recent share of packets lost.", path.loss);
    if let Some(rate) = path.rate_mbps {
        let help = "Rate that the congestion control has estimated, in bytes per second.";
        gauge("path_estimated_rate", help, rate * 1e6 / 8.0);
    }
    if let (Some(bytes), Some(search)) = (path.mtu_bytes, path.mtu_search) {
        gauge("path_mtu_bytes", "Longest IP packet that is known to pass.", bytes.into());
        let searching = f64::from(u8::from(search == MtuSearchState::Searching));
        gauge("path_mtu_searching", "Whether a longer packet is searched for.", searching);
    }
    let (sent, received) = (path.sent_bytes as f64, path.received_bytes as f64);
    out.add(Counter, "path_sent_bytes", "Bytes of packets inside sent on the path.", labels, sent);
    out.add(
        Counter,
        "path_received_bytes",
        "Bytes of packets inside received on the path.",
        labels,
        received,
    );
}
