//! Values of the status that this program counts itself: name, meaning and source of each.

use super::open_metrics::Kind::{self, Counter, Gauge};
use crate::sockets::UdpCounts;
use crate::tun::TunCounts;
use quiclab_carrier::Strangers;

/// A value by its name: its kind, the name of its family of metrics, and its meaning.
pub(super) type Row = (&'static str, Kind, &'static str, &'static str);

/// A value and its source.
pub(super) struct Value<T> {
    pub(super) row: Row,
    of: fn(&T) -> u64,
}

/// Counters of the device, the sockets and the endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramCounts {
    /// Counters of the device.
    pub tun: TunCounts,
    /// Counters of the sockets.
    pub udp: UdpCounts,
    /// Counters of hosts without a session.
    pub strangers: Strangers,
    /// Packets of the device without a session for their destination.
    pub homeless: u64,
    /// Packets between clients that `isolate_clients` has dropped.
    pub isolated: u64,
    /// Peers that were rejected.
    pub refused: u64,
    /// Sessions that are kept for their clients to reconnect.
    pub parked: u64,
    /// Connections of QUIC.
    pub connections: u64,
}

/// Counters of a session in addition to those of its tunnel.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionCounts {
    /// Packets with a source that does not belong to the peer.
    pub spoofed: u64,
    /// Received packets with a destination that does not belong to this end.
    pub misdirected: u64,
    /// Packets of this machine with a source that does not belong to this end.
    pub foreign: u64,
    /// Tunnel payloads that are not IP packets.
    pub malformed: u64,
    /// Packets too big for the paths that were fragmented or answered with an error.
    pub too_big: u64,
    /// Packets received while the session was not open.
    pub closed: u64,
    /// Errors to senders of TCP in an outage.
    pub unreachable: u64,
    /// Packets dropped in an outage, because a newer one of their flow was kept.
    pub stalled: u64,
    /// Packets sent in fragments.
    pub fragmented: u64,
    /// Packets of which fragments were missing.
    pub incomplete: u64,
}

/// Values of the program.
pub(super) static PROGRAM: [Value<ProgramCounts>; 21] = [
    Value {
        row: ("device_read_packets_total", Counter, "device_read_packets", "Packets read from the device."),
        of: |counts| counts.tun.read_packets,
    },
    Value {
        row: (
            "device_read_bytes_total",
            Counter,
            "device_read_bytes",
            "Bytes of packets read from the device.",
        ),
        of: |counts| counts.tun.read_bytes,
    },
    Value {
        row: (
            "device_written_packets_total",
            Counter,
            "device_written_packets",
            "Packets written to the device.",
        ),
        of: |counts| counts.tun.written_packets,
    },
    Value {
        row: (
            "device_written_bytes_total",
            Counter,
            "device_written_bytes",
            "Bytes of packets written to the device.",
        ),
        of: |counts| counts.tun.written_bytes,
    },
    Value {
        row: (
            "device_unreadable_total",
            Counter,
            "device_unreadable_packets",
            "What came from the device and is no packet.",
        ),
        of: |counts| counts.tun.unreadable,
    },
    Value {
        row: (
            "device_refused_total",
            Counter,
            "device_refused_packets",
            "Packets that the device did not take.",
        ),
        of: |counts| counts.tun.refused,
    },
    Value {
        row: ("udp_sent_packets_total", Counter, "udp_sent_packets", "UDP datagrams sent."),
        of: |counts| counts.udp.sent_packets,
    },
    Value {
        row: ("udp_sent_bytes_total", Counter, "udp_sent_bytes", "Payload of UDP datagrams sent."),
        of: |counts| counts.udp.sent_bytes,
    },
    Value {
        row: ("udp_received_packets_total", Counter, "udp_received_packets", "UDP datagrams received."),
        of: |counts| counts.udp.received_packets,
    },
    Value {
        row: (
            "udp_received_bytes_total",
            Counter,
            "udp_received_bytes",
            "Payload of UDP datagrams received.",
        ),
        of: |counts| counts.udp.received_bytes,
    },
    Value {
        row: (
            "udp_unsent_packets_total",
            Counter,
            "udp_unsent_packets",
            "UDP datagrams that a socket did not take.",
        ),
        of: |counts| counts.udp.unsent,
    },
    Value {
        row: (
            "homeless_packets_total",
            Counter,
            "homeless_packets",
            "Packets of the device whose destination has no session.",
        ),
        of: |counts| counts.homeless,
    },
    Value {
        row: (
            "isolated_packets_total",
            Counter,
            "isolated_packets",
            "Packets between clients that `isolate_clients` has dropped.",
        ),
        of: |counts| counts.isolated,
    },
    Value {
        row: ("refused_peers_total", Counter, "refused_peers", "Peers that were refused."),
        of: |counts| counts.refused,
    },
    Value {
        row: (
            "parked_sessions",
            Gauge,
            "parked_sessions",
            "Sessions that have ended, kept for a while so that their flows go on.",
        ),
        of: |counts| counts.parked,
    },
    Value {
        row: ("half_open_connections", Gauge, "half_open_connections", "Connections without a session yet."),
        of: |counts| counts.strangers.half_open,
    },
    Value {
        row: ("retry_packets_total", Counter, "retry_packets", "Retry packets sent."),
        of: |counts| counts.strangers.retries,
    },
    Value {
        row: (
            "ignored_handshakes_total",
            Counter,
            "ignored_handshakes",
            "Handshakes not answered because of too many of their network.",
        ),
        of: |counts| counts.strangers.ignored,
    },
    Value {
        row: (
            "withheld_datagrams_total",
            Counter,
            "withheld_datagrams",
            "Datagrams not sent to an address that is not validated.",
        ),
        of: |counts| counts.strangers.withheld,
    },
    Value {
        row: (
            "junk_datagrams_total",
            Counter,
            "junk_datagrams",
            "Datagrams that are not of this version of QUIC.",
        ),
        of: |counts| counts.strangers.junk,
    },
    Value {
        row: (
            "connections",
            Gauge,
            "connections",
            "QUIC connections, those that are not accepted yet included.",
        ),
        of: |counts| counts.connections,
    },
];

/// Values of a session.
pub(super) static SESSION: [Value<SessionCounts>; 10] = [
    Value {
        row: (
            "too_big_packets",
            Counter,
            "too_big_packets",
            "Packets too long for the paths that were divided or answered with an error.",
        ),
        of: |counts| counts.too_big,
    },
    Value {
        row: ("fragmented_packets", Counter, "fragmented_packets", "Packets that were sent in fragments."),
        of: |counts| counts.fragmented,
    },
    Value {
        row: (
            "incomplete_packets",
            Counter,
            "incomplete_packets",
            "Packets of which fragments were missing.",
        ),
        of: |counts| counts.incomplete,
    },
    Value {
        row: (
            "spoofed_packets",
            Counter,
            "spoofed_packets",
            "Packets from a source that the other end does not have.",
        ),
        of: |counts| counts.spoofed,
    },
    Value {
        row: (
            "misdirected_packets",
            Counter,
            "misdirected_packets",
            "Packets for a destination that this end does not have.",
        ),
        of: |counts| counts.misdirected,
    },
    Value {
        row: (
            "foreign_packets",
            Counter,
            "foreign_packets",
            "Packets of this machine from a source that this end does not have.",
        ),
        of: |counts| counts.foreign,
    },
    Value {
        row: ("malformed_packets", Counter, "malformed_packets", "Payloads that are no IP packets."),
        of: |counts| counts.malformed,
    },
    Value {
        row: (
            "packets_while_closed",
            Counter,
            "packets_while_closed",
            "Packets that came while the session was not open.",
        ),
        of: |counts| counts.closed,
    },
    Value {
        row: (
            "unreachable_errors",
            Counter,
            "unreachable_errors",
            "ICMP errors to flows while no path answered.",
        ),
        of: |counts| counts.unreachable,
    },
    Value {
        row: ("stalled_packets", Counter, "stalled_packets", "Packets dropped while no path answered."),
        of: |counts| counts.stalled,
    },
];

impl ProgramCounts {
    /// The counts with their names.
    pub fn values(&self) -> impl Iterator<Item = (String, f64)> {
        PROGRAM.iter().map(|value| (value.row.0.to_owned(), (value.of)(self) as f64))
    }
}

impl SessionCounts {
    /// The counts with their names.
    pub fn values(&self) -> impl Iterator<Item = (String, f64)> {
        SESSION.iter().map(|value| (value.row.0.to_owned(), (value.of)(self) as f64))
    }
}
