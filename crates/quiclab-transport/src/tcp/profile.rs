//! Profiles: the values of Linux releases, and of receivers other than Linux, each with its source.
//!
//! `options/tcp.rs` and `config.rs` have the values of the oldest release; [`CHANGES`] has the later changes.
//! The configuration of a profile and the rows of its documentation both come from these. A profile of
//! [`RECEIVERS`] is the default profile with the options of another system for reception; as a sender it is
//! Linux.
//!
//! Changes between these releases that are not modelled: HyStart's allowance for delayed ACKs (5.6), the
//! rounds and minima of HyStart (5.16).
//!
//! Not modelled of receivers: the steps in which their buffers grow, window updates, and the list in
//! `acknowledgement/delayed.rs`. The buffer of Windows is that of Linux: its sizes are not documented.

use super::config::{Config, Fixed};
use crate::options::{RateReduction, TcpAckRule, TcpLossDetection, TcpValues};
use crate::profile::{OptionRow, Value, table, value};
use quiclab_core::{ByteCount, Duration};

/// Profile of an endpoint that names none.
pub const DEFAULT_PROFILE: &str = "linux-7";

/// A kernel release: major and minor.
type Release = (u16, u16);

/// All profiles with the release that they represent.
const PROFILES: [(&str, Release); 5] = [
    ("linux-4.15", (4, 15)),
    ("linux-4.19", (4, 19)),
    ("linux-5.3", (5, 3)),
    ("linux-5.15", (5, 15)),
    ("linux-7", (7, 0)),
];

/// Receiver other than Linux: name of its profile, its system, and differences from the default profile.
struct Receiver {
    name: &'static str,
    system: &'static str,
    values: &'static [Value<Config>],
}

/// `values! { tcp.field = value, "source"; ... }`
macro_rules! values {
    ($($part:ident.$field:ident = $value:expr, $source:expr;)+) => {
        &[$(value!($part.$field = $value, $source)),+]
    };
}

/// Source of the values of Windows.
const WINDOWS: &str = "Get-NetTCPSetting, template Internet, which clients use (Microsoft Networking Blog, TCP Templates for Windows \
     Server 2019, 2018)";
const SEGMENTS: &str = "Microsoft, Troubleshoot Windows Server, KB 823764: each second segment of a stream is acknowledged, its last one \
     by the timer";
/// Source of the behaviour behind a gap, which is not documented for Windows.
const IMMEDIATE: &str = "RFC 5681 section 4.2: each segment behind a gap SHOULD be acknowledged at once; Windows documents nothing else";

const RECEIVERS: [Receiver; 3] = [
    Receiver {
        name: "freebsd-14-receiver",
        system: "FreeBSD 14",
        values: values! {
            tcp.ack_rule = TcpAckRule::Segments, "sys/netinet/tcp_input.c DELAY_ACK: no segment waits already";
            tcp.segments_per_ack = 2, "sys/netinet/tcp_input.c DELAY_ACK";
            tcp.max_delayed_ack = Duration::from_millis(40),
                "sys/netinet/tcp_timer.h TCPTV_DELACK, hz / 25 since r360010 (13.0)";
            tcp.quick_acks = 0, "sys/netinet/tcp_input.c: none";
            tcp.acknowledge_reads = false, "sys/netinet/tcp_input.c DELAY_ACK: PSH does not count";
            tcp.compressed_acks = 0, "sys/netinet/tcp_input.c tcp_do_segment: out of order at once";
            tcp.receive_overhead = false, "sys/netinet/tcp_output.c: the window is sbspace()";
            tcp.receive_buffer = ByteCount::from_bytes(64 * 1024),
                "sys/netinet/tcp_input.c tcp_recvspace; sysctl net.inet.tcp.recvspace";
            tcp.max_receive_buffer = ByteCount::from_bytes(2 * 1024 * 1024),
                "sys/netinet/tcp_input.c tcp_autorcvbuf_max; sysctl net.inet.tcp.recvbuf_max";
        },
    },
    Receiver {
        name: "macos-15-receiver",
        system: "macOS 15",
        values: values! {
            tcp.ack_rule = TcpAckRule::FullSegments,
                "xnu-11417, bsd/netinet/tcp_cc.c tcp_cc_delay_ack, TCP_ACK_STRATEGY_MODERN";
            tcp.segments_per_ack = 2, "xnu-11417, bsd/netinet/tcp_output.c: adv >= 2 * t_maxseg";
            tcp.max_delayed_ack = Duration::from_millis(100),
                "xnu-11417, bsd/netinet/tcp_timer.c tcp_delack: TCP_RETRANSHZ / 10";
            tcp.quick_acks = 16, "xnu-11417, bsd/netinet/tcp_var.h TCP_FORCED_ACKS_COUNT";
            tcp.acknowledge_reads = true, "xnu-11417, bsd/netinet/tcp_output.c: TF_LAST_IS_PSH";
            tcp.compressed_acks = 0, "xnu-11417, bsd/netinet/tcp_input.c: out of order at once";
            tcp.receive_overhead = false, "xnu-11417, bsd/netinet/tcp_output.c: the window is tcp_sbspace()";
            tcp.receive_buffer = ByteCount::from_bytes(1448 * 384),
                "xnu-11417, bsd/netinet/tcp_usrreq.c tcp_recvspace";
            tcp.max_receive_buffer = ByteCount::from_bytes(4 * 1024 * 1024),
                "xnu-11417, bsd/netinet/tcp_subr.c tcp_init: tcp_autorcvbuf_max, with 4 GiB of memory";
        },
    },
    Receiver {
        name: "windows-11-receiver",
        system: "Windows 11",
        values: values! {
            tcp.timestamps = false, WINDOWS;
            tcp.ack_rule = TcpAckRule::Segments,
                SEGMENTS;
            tcp.segments_per_ack = 2, WINDOWS;
            tcp.max_delayed_ack = Duration::from_millis(40), WINDOWS;
            tcp.quick_acks = 0, SEGMENTS;
            tcp.acknowledge_reads = false, SEGMENTS;
            tcp.compressed_acks = 0, IMMEDIATE;
        },
    },
];

/// `changes! { (release) field = value, "source"; ... }`
macro_rules! changes {
    ($($release:tt $part:ident.$field:ident = $value:expr, $source:literal;)+) => {
        &[$(($release, value!($part.$field = $value, $source))),+]
    };
}

/// Values from a release on, the earliest first.
const CHANGES: &[(Release, Value<Config>)] = changes! {
    (4, 17) tcp.gso_segments = 65_535,
        "commit 0a6b2a1dc2a2, tcp: switch to GSO being always on (4.17); include/linux/netdevice.h GSO_MAX_SEGS";
    (4, 18) tcp.loss_detection = TcpLossDetection::Rack,
        "commit b38a51fec1c1, tcp: disable RFC6675 loss detection (4.18)";
    (4, 18) tcp.compressed_acks = 44, "sysctl tcp_comp_sack_nr; tcp: add SACK compression (netdev, May 2018)";
    (4, 20) tcp.receive_buffer = ByteCount::from_bytes(131_072),
        "sysctl tcp_rmem, second value; commit a337531b942b (4.20)";
    (4, 20) fixed.departure_times = true,
        "commits d3edd06ea8ea, ab408b6dc744, tcp: switch tcp and sch_fq to new earliest departure time model (4.20)";
    (5, 4) fixed.push_bursts = true, "commit 051ba67447de, tcp: force a PSH flag on TSO packets (5.4)";
    (5, 6) fixed.saves_ssthresh = false, "sysctl tcp_no_ssthresh_metrics_save 1; commit 65e6d90168f3 (5.6)";
    (5, 7) fixed.fq_timer_slack = Duration::from_micros(10),
        "commit 583396f4ca4d, net_sched: sch_fq: enable use of hrtimer slack (5.7)";
    (5, 10) fixed.equal_rtt_renews = false,
        "commit 1b9e2a8c99a5, tcp: only postpone PROBE_RTT if RTT is < current min_rtt estimate (5.10)";
    (5, 11) tcp.rate_reduction = RateReduction::PrrSafeAck,
        "tcp: avoid slow start during fast recovery on new losses (netdev, October 2020)";
    (5, 18) fixed.burst_rtt_log = Some(9),
        "sysctl tcp_tso_rtt_log; commit 65466904b015, tcp: adjust TSO packet sizes based on min_rtt (5.18)";
    (5, 18) fixed.space_checked_when_sent = true,
        "tcp: fix potential xmit stalls caused by TCP_NOTSENT_LOWAT (5.18)";
    (6, 5) fixed.linear_syns = 4, "sysctl tcp_syn_linear_timeouts; Documentation/networking/ip-sysctl.rst (6.5)";
    (6, 6) fixed.acknowledge_full_pushes = true,
        "commit 4720852ed9af, tcp: fix delayed ACKs for MSS boundary condition (6.6)";
    (6, 10) fixed.fills_when_sent = true,
        "commit 8ee602c63520, tcp: try to send bigger TSO packets (6.10)";
    (6, 16) fixed.measured_window = true,
        "commit dfa2f0483360, tcp: get rid of sysctl_tcp_adv_win_scale (6.6); net/ipv4/tcp_input.c tcp_rcvbuf_grow, 7.3";
    (6, 17) fixed.measures_out_of_order = true, "tcp: call tcp_measure_rcv_mss() for ooo packets (6.17)";
    (6, 18) fixed.compressed_ack_percent = 33, "sysctl tcp_comp_sack_rtt_percent (6.18)";
    (6, 16) tcp.max_receive_buffer = ByteCount::from_bytes(33_554_432),
        "sysctl tcp_rmem, third value; commit 572be9bf9d0d (6.16): 32 MiB where memory allows";
    (7, 0) tcp.kernel_hz = Some(1000), "the kernel that `quiclab kernel build` makes";
};

/// Names of all profiles, the oldest release first.
pub fn profiles() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|&(name, _)| name).chain(RECEIVERS.iter().map(|receiver| receiver.name))
}

/// Description of the profile `name`; `None` if there is no such profile.
#[must_use]
pub fn description(name: &str) -> Option<String> {
    let of_linux = |release: &str| format!("TCP of Linux {release} with the defaults of its kernel");
    match receiver(name) {
        Some(receiver) => Some(format!("receiver of {}; as a sender, `{DEFAULT_PROFILE}`", receiver.system)),
        None => profiles().find(|&profile| profile == name)?.strip_prefix("linux-").map(of_linux),
    }
}

fn receiver(name: &str) -> Option<&'static Receiver> {
    RECEIVERS.iter().find(|receiver| receiver.name == name)
}

/// Values of the profile `name`; `None` if there is no such profile.
#[must_use]
pub fn rows(name: &str) -> Option<Vec<OptionRow>> {
    let config = find(name)?;
    let source = |key: &str| changes(name).filter(|value| value.key == key).last().map(|value| value.source);
    let retries = OptionRow {
        field: None,
        meaning: "maximum retransmissions of SYN, SYN-ACK and data".to_owned(),
        value: format!("{}, 5, 15 times", 6 + config.fixed.linear_syns),
        source: "sysctls tcp_syn_retries, tcp_synack_retries, tcp_retries2",
    };
    let rows = table("", Config::FIELDS, &config, source)
        .chain(table("tcp.", TcpValues::FIELDS, &config.tcp, source))
        .chain(table("fixed.", Fixed::FIELDS, &config.fixed, source))
        .chain([retries]);
    Some(rows.collect())
}

/// Configuration of the profile `name`; `None` if there is no such profile.
pub(super) fn find(name: &str) -> Option<Config> {
    profiles().find(|&profile| profile == name)?;
    let mut config = Config::DEFAULTS;
    for value in changes(name) {
        (value.set)(&mut config);
    }
    Some(config)
}

/// Changes up to the release of the profile `name`, then the values of its receiver.
fn changes(name: &str) -> impl Iterator<Item = &'static Value<Config>> {
    let receiver = receiver(name);
    let linux = receiver.map_or(name, |_| DEFAULT_PROFILE);
    let release = PROFILES.iter().find(|profile| profile.0 == linux).map_or((0, 0), |profile| profile.1);
    let changed = CHANGES.iter().filter(move |(since, _)| *since <= release).map(|(_, value)| value);
    changed.chain(receiver.map_or(&[][..], |receiver| receiver.values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_differ_where_linux_changed() {
        let differences = |one: &str, two: &str| -> Vec<_> {
            let (one, two) = (rows(one).unwrap(), rows(two).unwrap());
            one.into_iter()
                .zip(two)
                .filter(|(one, two)| one.value != two.value)
                .map(|(one, two)| (one.field.unwrap_or(one.meaning), one.value, two.value))
                .collect()
        };
        let change = |field: &str, one: &str, two: &str| (field.to_owned(), one.to_owned(), two.to_owned());
        let expected = [
            change("tcp.loss_detection", "duplicate_acks_and_rack", "rack"),
            change("tcp.compressed_acks", "0", "44"),
            change("tcp.gso_segments", "1", "65535"),
        ];
        assert_eq!(differences("linux-4.15", "linux-4.19"), expected);
        let expected = [
            change("tcp.receive_buffer", "87380 B", "128 KiB"),
            change(
                "TCP gives each packet its departure time, from which pacing, fq and RTTs count",
                "off",
                "on",
            ),
        ];
        assert_eq!(differences("linux-4.19", "linux-5.3"), expected);
        let expected = [
            change("tcp.rate_reduction", "prr", "prr_safe_ack"),
            change("BBR takes an RTT that equals its smallest one as a new measurement of it", "on", "off"),
            change("The timer of fq may be late by this", "0 ns", "10 us"),
            change("The last segment of each burst of two or more carries PSH", "off", "on"),
            change("The slow-start threshold is saved for the next connection", "on", "off"),
        ];
        assert_eq!(differences("linux-5.3", "linux-5.15"), expected);
        let expected = [
            change("tcp.max_receive_buffer", "6 MiB", "32 MiB"),
            change("tcp.kernel_hz", "250", "1000"),
            change("Number of timeouts of a SYN that are not doubled", "0", "4"),
            change(
                "Part of a burst that depends on the smallest RTT: it halves with every 2^n microseconds, n being \
                 this number",
                "none",
                "9",
            ),
            change(
                "An application that waits for room in the send buffer gets more after each burst that leaves the window \
                 unfilled, not only at acknowledgements",
                "off",
                "on",
            ),
            change(
                "An skb of writes that is to leave and is shorter than a burst is filled up with what follows it",
                "off",
                "on",
            ),
            change("A full segment with PSH is acknowledged when the application reads it", "off", "on"),
            change(
                "The receive window follows the memory that packets take, and the receive buffer what one RTT brings",
                "off",
                "on",
            ),
            change(
                "Data out of order also show the size of segments and the memory of a packet",
                "off",
                "on",
            ),
            change("Maximum wait of merged acknowledgements, as a share of the RTT in percent", "5", "33"),
            change("maximum retransmissions of SYN, SYN-ACK and data", "6, 5, 15 times", "10, 5, 15 times"),
        ];
        assert_eq!(differences("linux-5.15", "linux-7"), expected);
    }

    /// A receiver differs from the default profile only in reception: values used only by a sender are equal.
    #[test]
    fn receivers_differ_in_what_they_receive() {
        let linux = rows(DEFAULT_PROFILE).unwrap();
        let differences = |name: &str| -> Vec<_> {
            let rows = rows(name).unwrap().into_iter().zip(&linux);
            rows.filter(|(own, linux)| own.value != linux.value)
                .map(|(own, _)| format!("{} {}", own.field.unwrap_or(own.meaning), own.value))
                .collect()
        };
        let freebsd = [
            "tcp.receive_buffer 64 KiB",
            "tcp.max_receive_buffer 2 MiB",
            "tcp.receive_overhead off",
            "tcp.ack_rule segments",
            "tcp.max_delayed_ack 40 ms",
            "tcp.quick_acks 0",
            "tcp.compressed_acks 0",
            "tcp.acknowledge_reads off",
        ];
        assert_eq!(differences("freebsd-14-receiver"), freebsd);
        let macos = [
            "tcp.receive_buffer 543 KiB",
            "tcp.max_receive_buffer 4 MiB",
            "tcp.receive_overhead off",
            "tcp.ack_rule full_segments",
            "tcp.max_delayed_ack 100 ms",
            "tcp.compressed_acks 0",
        ];
        assert_eq!(differences("macos-15-receiver"), macos);
        let windows = [
            "tcp.timestamps off",
            "tcp.ack_rule segments",
            "tcp.max_delayed_ack 40 ms",
            "tcp.quick_acks 0",
            "tcp.compressed_acks 0",
            "tcp.acknowledge_reads off",
        ];
        assert_eq!(differences("windows-11-receiver"), windows);
    }

    #[test]
    fn every_field_of_a_profile_has_a_row_and_a_source() {
        for profile in profiles() {
            let rows = rows(profile).unwrap();
            assert!(rows.iter().all(|row| !row.source.is_empty() && !row.value.is_empty()), "{profile}");
            // and the number of retransmissions of a segment
            let fields = Config::FIELDS.len() + TcpValues::FIELDS.len() + Fixed::FIELDS.len();
            assert_eq!(rows.len(), fields + 1);
        }
        assert!(profiles().any(|name| name == DEFAULT_PROFILE));
        assert_eq!(rows("linux-2.4"), None);
    }
}
