//! The status as metrics: every value of [`Status`], with its unit and meaning.
//!
//! A client that reconnects has two sessions at its server until the earlier one has timed out. Metrics have the name of
//! the client, not the number of the session, so they are those of the later one.

use super::open_metrics::{Exposition, Kind, Labels};
use super::values::{PROGRAM, Row, SESSION};
use super::{MtuSearchState, PathStatus, SessionStatus, Status};
use Kind::{Counter, Gauge, Info, Unknown};
use std::collections::BTreeMap;

/// Families whose names differ from those of their values, which quiclab-core defines.
const FAMILIES: [(&str, &str); 5] = [
    ("buffered_total_packets", "buffered_packets"),
    ("longest_sojourn_ms", "queue_longest_sojourn_seconds"),
    ("waiting_max_ms", "resequencing_longest_wait_seconds"),
    ("waiting_mean_ms", "resequencing_mean_wait_seconds"),
    ("longest_buffer_packets", "longest_resequencing_buffer_packets"),
];

/// Whether a value is part of other metrics: of paths, of the queue, and settings.
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
            let row = PROGRAM.iter().map(|value| value.row).find(|row| row.0 == name);
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

/// Type, family and meaning of a value of a session: one that this program counts, or that a tunnel, a queue discipline or
/// the resequencing of quiclab-core defines.
fn session_row(name: &str) -> Option<Row> {
    let own = || SESSION.iter().map(|value| value.row).find(|row| row.0 == name);
    let defined = || {
        let metric = quiclab_core::metric_groups()
            .iter()
            .flat_map(|group| group.metrics)
            .find(|metric| metric.name == name)?;
        let kind = if metric.kind.is_additive() { Counter } else { Gauge };
        let family =
            FAMILIES.iter().find(|(value, _)| *value == name).map_or(metric.name, |(_, family)| family);
        Some((metric.name, kind, family, metric.meaning()))
    };
    let mtu = (
        "mtu_bytes",
        Gauge,
        "session_mtu_bytes",
        "Longest packet inside that passes in one datagram on every path.",
    );
    own().or_else(defined).or_else(|| (name == mtu.0).then_some(mtu))
}

fn add_value(
    out: &mut Exposition,
    row: Option<Row>,
    prefix: &str,
    name: &str,
    labels: Labels<'_>,
    value: f64,
) {
    // seconds are the unit of time in metrics
    let value = if name.ends_with("_ms") { value / 1e3 } else { value };
    match row {
        Some((_, kind, family, help)) => {
            out.add(kind, &family.replace("_ms", "_seconds"), help, labels, value);
        }
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
