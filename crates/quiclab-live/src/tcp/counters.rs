//! Counters of the kernel for a network namespace: `/proc/net/netstat` and `/proc/net/snmp`.
//!
//! Each end of a flow has a namespace of its own: its counters count its connections only.

use quiclab_sim::LINUX;
use std::collections::BTreeMap;

/// Counters by name, such as `TcpExt.TCPSackRecovery`; zeros are omitted.
pub type Counters = BTreeMap<String, f64>;

/// Tables that are read, and the groups of them that are about TCP.
const TABLES: [(&str, &str); 2] = [("netstat", "TcpExt:"), ("snmp", "Tcp:")];
/// Entries that are settings of the kernel, not counters.
const SETTINGS: [&str; 4] = ["Tcp.RtoAlgorithm", "Tcp.RtoMin", "Tcp.RtoMax", "Tcp.MaxConn"];

/// Counters of the namespace of the calling thread.
#[must_use]
pub fn read() -> Counters {
    let mut found = Counters::new();
    for (table, group) in TABLES {
        let text = std::fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
        found.extend(parse(&text, group));
    }
    found
}

/// Counters of a group: one line with its names, the next with its values.
fn parse(text: &str, group: &str) -> Counters {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return Counters::new() };
    names
        .split_whitespace()
        .zip(values.split_whitespace())
        .filter_map(|(name, value)| Some((format!("{group}{name}").replace(':', "."), value.parse().ok()?)))
        .filter(|(name, value)| *value != 0.0 && !SETTINGS.contains(&name.as_str()))
        .collect()
}

/// Values of the counters as metrics common to all stacks.
#[must_use]
pub fn summary(counters: &Counters) -> Vec<(&'static str, Option<f64>)> {
    let sum = |names: &[&str]| {
        let counts = names.iter().filter_map(|name| counters.get(&format!("TcpExt.{name}")));
        Some(counts.fold(0.0, |sum, count| sum + count)) // `sum` of an empty iterator is -0
    };
    vec![
        (LINUX.timeouts.name, sum(&["TCPTimeouts"])),
        (LINUX.tail_loss_probes.name, sum(&["TCPLossProbes"])),
        (LINUX.undos.name, sum(&["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"])),
        // a reduction for each recovery and each timeout, undone ones included, as in lab-tcp
        (LINUX.congestion_events.name, sum(&["TCPSackRecovery", "TCPRenoRecovery", "TCPTimeouts"])),
        // Linux counts no losses: retransmissions without probes
        (LINUX.lost_packets.name, sum(&["TCPLostRetransmit", "TCPFastRetrans", "TCPSlowStartRetrans"])),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETSTAT: &str = "TcpExt: SyncookiesSent TCPTimeouts TCPSackRecovery TCPDSACKUndo\nTcpExt: 0 2 3 1\n\
                           IpExt: InNoRoutes\nIpExt: 7\n";

    #[test]
    fn names_and_values_are_paired_within_their_group() {
        let counters = parse(NETSTAT, "TcpExt:");
        let found: Vec<_> = counters.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(
            found,
            [("TcpExt.TCPDSACKUndo", 1.0), ("TcpExt.TCPSackRecovery", 3.0), ("TcpExt.TCPTimeouts", 2.0)]
        );
        let summary = summary(&counters);
        assert!(summary.contains(&("timeouts", Some(2.0))) && summary.contains(&("undos", Some(1.0))));
        assert!(summary.contains(&("congestion_events", Some(5.0))));
    }

    #[test]
    fn a_table_cut_off_has_no_counters() {
        assert!(parse("TcpExt: TCPTimeouts\n", "TcpExt:").is_empty());
        assert!(parse("", "Tcp:").is_empty());
    }
}
