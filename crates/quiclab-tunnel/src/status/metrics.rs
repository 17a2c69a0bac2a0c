//! The status as metrics: every value of [`Status`], with its unit and meaning.
//!
//! A client that connects anew has two sessions at its server until the earlier one has timed out. Metrics have the name of
//! the client, not the number of the session, so they are those of the later one.

use super::open_metrics::{Exposition, Kind, Labels};
use super::values::{PROGRAM, Row, SESSION};
use super::{MtuSearchState, PathStatus, SessionStatus, Status};
use Kind::{Counter, Gauge, Info, Unknown};
use std::collections::BTreeMap;

/// Values of the tunnel, its queue and its resequencing, which quiclab-core counts. What is not here is exported with the type
/// `unknown`: disciplines and schedulers that are not the default have values of their own.
const TUNNEL_VALUES: [Row; 30] = [
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
    ("strange_datagrams", Counter, "strange_datagrams", "Datagrams that are no payload of the tunnel."),
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
            let row = PROGRAM.iter().map(|value| &value.row).find(|row| row.0 == name);
            add_value(&mut out, row, "", name, &[], *value);
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

/// What a value of a session is, if that is known.
fn session_row(name: &str) -> Option<&'static Row> {
    SESSION.iter().map(|value| &value.row).chain(&TUNNEL_VALUES).find(|row| row.0 == name)
}

fn add_value(
    out: &mut Exposition,
    row: Option<&Row>,
    prefix: &str,
    name: &str,
    labels: Labels<'_>,
    value: f64,
) {
    // seconds are the unit of time in metrics
    let value = if name.ends_with("_ms") { value / 1e3 } else { value };
    match row {
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
        add_value(out, session_row(name), "session_", name, labels, *value);
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
