//! What `status` tells, as JSON, as a table, and as Prometheus metrics (text format 0.0.4).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

/// One end of a tunnel at this moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// `server` or `client`.
    pub role: String,
    /// Name of its device.
    pub interface: String,
    /// Time since it was set up.
    pub uptime_seconds: f64,
    /// Values of the device, the sockets and the endpoint, by name.
    pub values: BTreeMap<String, f64>,
    /// The other ends.
    pub sessions: Vec<SessionStatus>,
}

/// A session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionStatus {
    /// Name of the other end.
    pub name: String,
    /// Its key; empty if it is not known by an Ed25519 key.
    pub public_key: String,
    /// Whether packets pass.
    pub open: bool,
    /// Since when.
    pub open_seconds: f64,
    /// Addresses of its client inside.
    pub addresses: Vec<IpAddr>,
    /// Packets that wait for the paths.
    pub backlog_packets: u64,
    /// Bytes that wait.
    pub backlog_bytes: u64,
    /// Values of the queue and the tunnel by name.
    pub values: BTreeMap<String, f64>,
    /// Its paths.
    pub paths: Vec<PathStatus>,
}

/// A path, as this end sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PathStatus {
    /// Its number.
    pub path: usize,
    /// Its name; at a server its number.
    pub name: String,
    /// Whether it carries data.
    pub up: bool,
    /// Addresses outside.
    pub local: Option<SocketAddr>,
    /// Addresses outside.
    pub remote: Option<SocketAddr>,
    /// Longest IP packet that is known to pass outside, header included; none while there is no connection.
    pub mtu_bytes: Option<u16>,
    /// Whether a longer one is searched for.
    pub mtu_search: Option<MtuSearchState>,
    /// Smoothed RTT.
    pub rtt_ms: f64,
    /// Congestion window.
    pub window_bytes: u64,
    /// Bytes not acknowledged.
    pub in_flight_bytes: u64,
    /// Rate that the congestion control knows, if it does.
    pub rate_mbps: Option<f64>,
    /// Recent share of packets lost.
    pub loss: f64,
    /// Bytes of inner packets sent.
    pub sent_bytes: u64,
    /// Bytes of inner packets received.
    pub received_bytes: u64,
}

/// State of the search for the MTU of a path (RFC 8899 section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MtuSearchState {
    /// A longer packet may turn out to pass: packets that do not fit are sent in fragments.
    Searching,
    /// It has ended, and is repeated every ten minutes.
    Complete,
}

impl MtuSearchState {
    /// The state of a path whose MTU is searched for, or is not.
    #[must_use]
    pub fn of(searching: bool) -> Self {
        if searching { Self::Searching } else { Self::Complete }
    }

    /// Its name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Searching => "searching",
            Self::Complete => "complete",
        }
    }
}

impl Status {
    /// A table for people.
    #[must_use]
    pub fn table(&self) -> String {
        let mut out = format!("{} {} up {:.0} s\n", self.role, self.interface, self.uptime_seconds);
        for session in &self.sessions {
            let addresses: Vec<_> = session.addresses.iter().map(ToString::to_string).collect();
            let state = if session.open { "open" } else { "not open" };
            let value = |name: &str| session.values.get(name).copied().unwrap_or(0.0);
            let _ = writeln!(out, "\n{} ({state}, {})", session.name, addresses.join(" "));
            let _ = writeln!(
                out,
                "  queue: {} packets, {} bytes; mean sojourn {:.2} ms; {} dropped of {}",
                session.backlog_packets,
                session.backlog_bytes,
                value("queue_sojourn_ms"),
                value("dropped_packets"),
                value("entered_packets"),
            );
            let _ = writeln!(
                out,
                "  {:<12} {:<5} {:>5} {:<9} {:>9} {:>11} {:>11} {:>10} {:>14} {:>14}  remote",
                "path",
                "state",
                "mtu",
                "search",
                "rtt ms",
                "window",
                "in flight",
                "Mbit/s",
                "sent",
                "received"
            );
            for path in &session.paths {
                let rate = path.rate_mbps.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}"));
                let remote = path.remote.map_or_else(|| "-".to_owned(), |remote| remote.to_string());
                let _ = writeln!(
                    out,
                    "  {:<12} {:<5} {:>5} {:<9} {:>9.2} {:>11} {:>11} {:>10} {:>14} {:>14}  {remote}",
                    path.name,
                    if path.up { "up" } else { "down" },
                    path.mtu_bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
                    path.mtu_search.map_or("-", MtuSearchState::name),
                    path.rtt_ms,
                    path.window_bytes,
                    path.in_flight_bytes,
                    rate,
                    path.sent_bytes,
                    path.received_bytes,
                );
            }
        }
        out
    }

    /// The same as metrics of Prometheus.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let mut families: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut add = |name: &str, labels: String, value: f64| {
            let name = format!("quiclab_tunnel_{name}");
            let line = format!("{name}{labels} {value}");
            families.entry(name).or_default().push(line);
        };
        add("uptime_seconds", String::new(), self.uptime_seconds);
        for (name, value) in &self.values {
            add(name, String::new(), *value);
        }
        for session in &self.sessions {
            let label = format!("session=\"{}\"", session.name);
            let labels = format!("{{{label}}}");
            add("session_open", labels.clone(), f64::from(u8::from(session.open)));
            add("backlog_packets", labels.clone(), session.backlog_packets as f64);
            add("backlog_bytes", labels.clone(), session.backlog_bytes as f64);
            for (name, value) in &session.values {
                add(&format!("session_{name}"), labels.clone(), *value);
            }
            for path in &session.paths {
                let labels = format!("{{{label},path=\"{}\"}}", path.name);
                let values = [
                    ("path_up", f64::from(u8::from(path.up))),
                    ("path_rtt_seconds", path.rtt_ms / 1e3),
                    ("path_window_bytes", path.window_bytes as f64),
                    ("path_in_flight_bytes", path.in_flight_bytes as f64),
                    ("path_loss_ratio", path.loss),
                    ("path_sent_bytes_total", path.sent_bytes as f64),
                    ("path_received_bytes_total", path.received_bytes as f64),
                ];
                for (name, value) in values {
                    add(name, labels.clone(), value);
                }
                if let (Some(bytes), Some(search)) = (path.mtu_bytes, path.mtu_search) {
                    add("path_mtu_bytes", labels.clone(), bytes.into());
                    let searching = search == MtuSearchState::Searching;
                    add("path_mtu_searching", labels, f64::from(u8::from(searching)));
                }
            }
        }
        let mut out = String::new();
        for (name, lines) in families {
            let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
            let _ = writeln!(out, "# TYPE {name} {kind}\n{}", lines.join("\n"));
        }
        out
    }
}
