//! The status as a table.

use super::{MtuSearchState, Status};
use quiclab_core::tunnel::CarrierKind;
use std::fmt::Write;

impl Status {
    /// Formats the status as a table for users.
    #[must_use]
    pub fn table(&self) -> String {
        let mut out = format!("{} {} up {:.0} s\n", self.role, self.interface, self.uptime_seconds);
        if self.sessions.is_empty() {
            out.push_str("no sessions\n");
        }
        for session in &self.sessions {
            let addresses: Vec<_> = session.addresses.iter().map(ToString::to_string).collect();
            let state = if session.open { "open" } else { "not open" };
            let value = |name: &str| session.values.get(name).copied().unwrap_or(0.0);
            let separator = if addresses.is_empty() { "" } else { ", " };
            let carrier = match session.carrier.filter(|_| session.paths.len() > 1) {
                None => "",
                Some(CarrierKind::Multipath) => ", one connection for all paths",
                Some(CarrierKind::Connections) => ", a connection for each path",
            };
            let _ = writeln!(out, "\n{} ({state}{separator}{}{carrier})", session.name, addresses.join(" "));
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
                let of_path_up = |value: String| if path.up { value } else { "-".to_owned() };
                let rate = path
                    .rate_mbps
                    .filter(|_| path.up)
                    .map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}"));
                let remote = path.remote.map_or_else(|| "-".to_owned(), |remote| remote.to_string());
                let _ = writeln!(
                    out,
                    "  {:<12} {:<5} {:>5} {:<9} {:>9} {:>11} {:>11} {:>10} {:>14} {:>14}  {remote}",
                    path.name,
                    if path.up { "up" } else { "down" },
                    path.mtu_bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
                    path.mtu_search.map_or("-", MtuSearchState::name),
                    // for a path that is down, these are initial or earlier values
                    of_path_up(format!("{:.2}", path.rtt_ms)),
                    of_path_up(path.window_bytes.to_string()),
                    of_path_up(path.in_flight_bytes.to_string()),
                    rate,
                    path.sent_bytes,
                    path.received_bytes,
                );
            }
        }
        out
    }
}
