//! Profiles: the values of Linux releases, each with its source.
//!
//! [`FIELDS`] is the one definition: a field has a value from a release on. The configuration of a profile
//! and the rows of its documentation both come from it.
//!
//! Not modelled although it changed between these releases: HyStart's allowance for delayed ACKs (5.6),
//! the share of the RTT that bounds ACK compression (6.18), what a receive buffer counts (6.6).

use super::config::Config;
use crate::options::name;
use crate::options::{CongestionControl, Pacing, RateReduction, SlowStartExit, TcpLossDetection, TcpMetrics};
use crate::profile::OptionRow;
use quiclab_core::{ByteCount, Duration};

/// Profile of an endpoint that names none.
pub const DEFAULT_PROFILE: &str = "linux-7";

/// A kernel release: major and minor.
type Release = (u16, u16);

/// All profiles with the release they stand for.
const PROFILES: [(&str, Release); 5] = [
    ("linux-4.15", (4, 15)),
    ("linux-4.19", (4, 19)),
    ("linux-5.3", (5, 3)),
    ("linux-5.15", (5, 15)),
    ("linux-7", (7, 0)),
];

/// Names of all profiles, the oldest release first.
pub fn profiles() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|&(name, _)| name)
}

/// What the profile `name` sets; `None` if there is no such profile.
#[must_use]
pub fn rows(name: &str) -> Option<Vec<OptionRow>> {
    let values = find(name)?;
    let release = PROFILES.iter().find(|profile| profile.0 == name)?.1;
    let row = |field: &Field| OptionRow {
        field: field.name,
        meaning: field.meaning.to_owned(),
        value: (field.print)(&values),
        source: field.at(release).source,
    };
    Some(FIELDS.iter().map(row).collect())
}

/// A complete configuration with what no scenario changes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Values {
    pub(super) config: Config,
    /// Timeouts of a SYN that are not doubled.
    pub(super) linear_syns: u32,
    /// The slow-start threshold is among the metrics of a destination.
    pub(super) saves_ssthresh: bool,
}

/// The values of the profile `name`.
pub(super) fn find(name: &str) -> Option<Values> {
    let &(_, release) = PROFILES.iter().find(|profile| profile.0 == name)?;
    let mut values = EMPTY;
    for field in FIELDS {
        (field.at(release).set)(&mut values);
    }
    Some(values)
}

/// A field and its values in time.
struct Field {
    name: Option<&'static str>,
    meaning: &'static str,
    print: fn(&Values) -> String,
    /// The earliest first, which holds for all releases before, too.
    values: &'static [Since],
}

/// A value from a release on.
struct Since {
    release: Release,
    set: fn(&mut Values),
    source: &'static str,
}

impl Field {
    fn at(&self, release: Release) -> &Since {
        let last = self.values.iter().rev().find(|since| since.release <= release);
        last.expect("the first value of a field is that of the oldest release")
    }
}

/// Before everything: each field is set by [`FIELDS`].
const EMPTY: Values = Values {
    config: Config {
        congestion_control: CongestionControl::Fixed,
        emulated_connections: 0,
        slow_start_exit: SlowStartExit::None,
        pacing: Pacing::None,
        initial_window: None,
        mss: ByteCount::ZERO,
        timestamps: false,
        sack: false,
        dsack: false,
        window_scaling: false,
        receive_buffer: ByteCount::ZERO,
        max_receive_buffer: ByteCount::ZERO,
        max_send_buffer: ByteCount::ZERO,
        min_rto: Duration::ZERO,
        initial_rto: Duration::ZERO,
        reordering: 0,
        max_reordering: 0,
        loss_detection: TcpLossDetection::DuplicateAcks,
        tail_loss_probe: false,
        frto: false,
        undo: false,
        rate_reduction: RateReduction::None,
        min_delayed_ack: Duration::ZERO,
        max_delayed_ack: Duration::ZERO,
        quick_acks: 0,
        compressed_acks: 0,
        compressed_ack_delay: Duration::ZERO,
        restart_after_idle: false,
        gso_segments: 0,
        metrics: TcpMetrics::None,
        tls: None,
    },
    linear_syns: 0,
    saves_ssthresh: false,
};

/// A field of [`Config`] with its values: (release, value, source).
macro_rules! field {
    ($name:literal, $field:ident, $meaning:literal, $print:expr, $(($release:expr, $value:expr, $source:literal)),+) => {
        Field {
            name: Some($name),
            meaning: $meaning,
            print: |values| {
                let print: fn(&Config) -> String = $print;
                print(&values.config)
            },
            values: &[$(Since {
                release: $release,
                set: |values| values.config.$field = $value,
                source: $source,
            }),+],
        }
    };
}

const ALWAYS: Release = (0, 0);

fn on(value: bool) -> String {
    if value { "on" } else { "off" }.to_owned()
}

const FIELDS: &[Field] = &[
    field!(
        "congestion_control",
        congestion_control,
        "congestion control",
        |config| name(&config.congestion_control),
        (ALWAYS, CongestionControl::Cubic, "net/ipv4/Kconfig DEFAULT_TCP_CONG; 2.6.19")
    ),
    field!(
        "emulated_connections",
        emulated_connections,
        "connections that the congestion control stands for",
        |config| config.emulated_connections.to_string(),
        (ALWAYS, 1, "Linux has no such option")
    ),
    field!(
        "slow_start_exit",
        slow_start_exit,
        "what ends slow start before a loss; none with another congestion control",
        |config| name(&config.slow_start_exit),
        (ALWAYS, SlowStartExit::HystartLinux, "net/ipv4/tcp_cubic.c hystart, hystart_detect; 2.6.29")
    ),
    field!(
        "pacing",
        pacing,
        "pacing; `linux` with BBR",
        |config| name(&config.pacing),
        (ALWAYS, Pacing::None, "include/net/sock.h SK_PACING_NONE; tcp_bbr.c asks for SK_PACING_NEEDED")
    ),
    field!(
        "initial_window",
        initial_window,
        "initial congestion window",
        |config| config.initial_window.map_or("10 segments".to_owned(), |window| window.to_string()),
        (ALWAYS, None, "include/net/tcp.h TCP_INIT_CWND; RFC 6928; 2.6.39")
    ),
    field!(
        "tcp.mss",
        mss,
        "maximum segment size announced",
        |config| config.mss.to_string(),
        (
            ALWAYS,
            ByteCount::from_bytes(1460),
            "MTU of Ethernet, 1500 B, less 40 B of headers (RFC 9293 section 3.7.1)"
        )
    ),
    field!(
        "tcp.timestamps",
        timestamps,
        "timestamps",
        |config| on(config.timestamps),
        (ALWAYS, true, "sysctl tcp_timestamps 1")
    ),
    field!(
        "tcp.sack",
        sack,
        "selective acknowledgements",
        |config| on(config.sack),
        (ALWAYS, true, "sysctl tcp_sack 1")
    ),
    field!(
        "tcp.dsack",
        dsack,
        "duplicates reported by SACK",
        |config| on(config.dsack),
        (ALWAYS, true, "sysctl tcp_dsack 1")
    ),
    field!(
        "tcp.window_scaling",
        window_scaling,
        "window scaling",
        |config| on(config.window_scaling),
        (ALWAYS, true, "sysctl tcp_window_scaling 1")
    ),
    field!(
        "tcp.receive_buffer",
        receive_buffer,
        "receive buffer at the start",
        |config| config.receive_buffer.to_string(),
        (
            ALWAYS,
            ByteCount::from_bytes(87_380),
            "sysctl tcp_rmem, second value, before commit a337531b942b (4.20)"
        ),
        (
            (4, 20),
            ByteCount::from_bytes(131_072),
            "sysctl tcp_rmem, second value; commit a337531b942b (4.20)"
        )
    ),
    field!(
        "tcp.max_receive_buffer",
        max_receive_buffer,
        "largest receive buffer",
        |config| config.max_receive_buffer.to_string(),
        (
            ALWAYS,
            ByteCount::from_bytes(6_291_456),
            "sysctl tcp_rmem, third value; tcp_init: 6 MiB where memory allows"
        ),
        (
            (6, 16),
            ByteCount::from_bytes(33_554_432),
            "sysctl tcp_rmem, third value; commit 572be9bf9d0d (6.16): 32 MiB where memory allows"
        )
    ),
    field!(
        "tcp.max_send_buffer",
        max_send_buffer,
        "largest send buffer",
        |config| config.max_send_buffer.to_string(),
        (
            ALWAYS,
            ByteCount::from_bytes(4_194_304),
            "sysctl tcp_wmem, third value; tcp_init: 4 MiB where memory allows"
        )
    ),
    field!(
        "tcp.min_rto",
        min_rto,
        "smallest retransmission timeout",
        |config| config.min_rto.to_string(),
        (ALWAYS, Duration::from_millis(200), "include/net/tcp.h TCP_RTO_MIN")
    ),
    field!(
        "tcp.initial_rto",
        initial_rto,
        "timeout of the first SYN",
        |config| config.initial_rto.to_string(),
        (ALWAYS, Duration::from_secs(1), "include/net/tcp.h TCP_TIMEOUT_INIT; RFC 6298 section 2; 3.1")
    ),
    field!(
        "tcp.reordering",
        reordering,
        "segments of reordering at the start",
        |config| config.reordering.to_string(),
        (ALWAYS, 3, "sysctl tcp_reordering")
    ),
    field!(
        "tcp.max_reordering",
        max_reordering,
        "largest reordering that is adapted to",
        |config| config.max_reordering.to_string(),
        (ALWAYS, 300, "sysctl tcp_max_reordering; commit dca145ffaa8d (3.18)")
    ),
    field!(
        "tcp.loss_detection",
        loss_detection,
        "how losses are detected",
        |config| name(&config.loss_detection),
        (
            ALWAYS,
            TcpLossDetection::DuplicateAcksAndRack,
            "net/ipv4/tcp_input.c tcp_time_to_recover; RACK beside it since 4.4"
        ),
        ((4, 18), TcpLossDetection::Rack, "commit b38a51fec1c1, tcp: disable RFC6675 loss detection (4.18)")
    ),
    field!(
        "tcp.tail_loss_probe",
        tail_loss_probe,
        "tail loss probes",
        |config| on(config.tail_loss_probe),
        (ALWAYS, true, "sysctl tcp_early_retrans 3")
    ),
    field!(
        "tcp.frto",
        frto,
        "spurious timeouts are found out",
        |config| on(config.frto),
        (ALWAYS, true, "sysctl tcp_frto 2")
    ),
    field!(
        "tcp.undo",
        undo,
        "spurious reductions are undone",
        |config| on(config.undo),
        (ALWAYS, true, "net/ipv4/tcp_input.c tcp_try_undo_recovery")
    ),
    field!(
        "tcp.rate_reduction",
        rate_reduction,
        "how the window shrinks during recovery",
        |config| name(&config.rate_reduction),
        (ALWAYS, RateReduction::Prr, "net/ipv4/tcp_input.c tcp_cwnd_reduction; RFC 6937"),
        (
            (5, 11),
            RateReduction::PrrSafeAck,
            "tcp: avoid slow start during fast recovery on new losses (netdev, October 2020)"
        )
    ),
    field!(
        "tcp.min_delayed_ack",
        min_delayed_ack,
        "shortest wait of a delayed acknowledgement",
        |config| config.min_delayed_ack.to_string(),
        (ALWAYS, Duration::from_millis(40), "include/net/tcp.h TCP_DELACK_MIN")
    ),
    field!(
        "tcp.max_delayed_ack",
        max_delayed_ack,
        "longest wait of a delayed acknowledgement",
        |config| config.max_delayed_ack.to_string(),
        (ALWAYS, Duration::from_millis(200), "include/net/tcp.h TCP_DELACK_MAX")
    ),
    field!(
        "tcp.quick_acks",
        quick_acks,
        "segments acknowledged one by one at the start",
        |config| config.quick_acks.to_string(),
        (ALWAYS, 16, "include/net/tcp.h TCP_MAX_QUICKACKS")
    ),
    field!(
        "tcp.compressed_acks",
        compressed_acks,
        "most duplicate acknowledgements merged into one",
        |config| config.compressed_acks.to_string(),
        (ALWAYS, 0, "none before tcp: add SACK compression"),
        ((4, 18), 44, "sysctl tcp_comp_sack_nr; tcp: add SACK compression (netdev, May 2018)")
    ),
    field!(
        "tcp.compressed_ack_delay",
        compressed_ack_delay,
        "longest wait of merged acknowledgements",
        |config| config.compressed_ack_delay.to_string(),
        (ALWAYS, Duration::from_millis(1), "sysctl tcp_comp_sack_delay_ns")
    ),
    field!(
        "tcp.restart_after_idle",
        restart_after_idle,
        "the window shrinks after a pause",
        |config| on(config.restart_after_idle),
        (ALWAYS, true, "sysctl tcp_slow_start_after_idle 1; RFC 5681 section 4.1")
    ),
    field!(
        "tcp.gso_segments",
        gso_segments,
        "most segments in one burst of segmentation offload",
        |config| config.gso_segments.to_string(),
        (
            ALWAYS,
            1,
            "offload is a matter of the network card: off, as in the reference measurements; 45 segments of 1448 B fill GSO_LEGACY_MAX_SIZE, 64 KiB"
        )
    ),
    field!(
        "tcp.metrics",
        metrics,
        "what is known of the other end from connections before",
        |config| name(&config.metrics),
        (
            ALWAYS,
            TcpMetrics::None,
            "a first connection: sysctl tcp_no_metrics_save is 0, but net/ipv4/tcp_metrics.c keeps nothing for longer than an hour"
        )
    ),
    field!(
        "tls",
        tls,
        "TLS above TCP",
        |config| if config.tls.is_some() { "on" } else { "none" }.to_owned(),
        (ALWAYS, None, "the kernel sends none")
    ),
    Field {
        name: None,
        meaning: "timeouts of a SYN that are not doubled",
        print: |values| values.linear_syns.to_string(),
        values: &[
            Since { release: ALWAYS, set: |values| values.linear_syns = 0, source: "RFC 6298 section 5.5" },
            Since {
                release: (6, 5),
                set: |values| values.linear_syns = 4,
                source: "sysctl tcp_syn_linear_timeouts; Documentation/networking/ip-sysctl.rst (6.5)",
            },
        ],
    },
    Field {
        name: None,
        meaning: "the slow-start threshold is saved for the next connection",
        print: |values| on(values.saves_ssthresh),
        values: &[
            Since {
                release: ALWAYS,
                set: |values| values.saves_ssthresh = true,
                source: "net/ipv4/tcp_metrics.c tcp_update_metrics",
            },
            Since {
                release: (5, 6),
                set: |values| values.saves_ssthresh = false,
                source: "sysctl tcp_no_ssthresh_metrics_save 1; commit 65e6d90168f3 (5.6)",
            },
        ],
    },
    Field {
        name: None,
        meaning: "SYN, SYN-ACK and data are sent again at most",
        print: |values| format!("{}, 5, 15 times", 6 + values.linear_syns),
        values: &[Since {
            release: ALWAYS,
            set: |_| {},
            source: "sysctls tcp_syn_retries, tcp_synack_retries, tcp_retries2",
        }],
    },
];

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
                .map(|(one, two)| (one.field.map_or(one.meaning, str::to_owned), one.value, two.value))
                .collect()
        };
        let change = |field: &str, one: &str, two: &str| (field.to_owned(), one.to_owned(), two.to_owned());
        let expected = [
            change("tcp.loss_detection", "duplicate_acks_and_rack", "rack"),
            change("tcp.compressed_acks", "0", "44"),
        ];
        assert_eq!(differences("linux-4.15", "linux-4.19"), expected);
        let expected = [change("tcp.receive_buffer", "87380 B", "128 KiB")];
        assert_eq!(differences("linux-4.19", "linux-5.3"), expected);
        let expected = [
            change("tcp.rate_reduction", "prr", "prr_safe_ack"),
            change("the slow-start threshold is saved for the next connection", "on", "off"),
        ];
        assert_eq!(differences("linux-5.3", "linux-5.15"), expected);
        let expected = [
            change("tcp.max_receive_buffer", "6 MiB", "32 MiB"),
            change("timeouts of a SYN that are not doubled", "0", "4"),
            change("SYN, SYN-ACK and data are sent again at most", "6, 5, 15 times", "10, 5, 15 times"),
        ];
        assert_eq!(differences("linux-5.15", "linux-7"), expected);
    }

    #[test]
    fn every_field_of_a_profile_has_a_row_and_a_source() {
        for profile in profiles() {
            let rows = rows(profile).unwrap();
            assert!(rows.iter().all(|row| !row.source.is_empty() && !row.value.is_empty()), "{profile}");
            // 31 fields of the configuration and three properties
            assert_eq!(rows.len(), 34);
        }
        assert!(profiles().any(|name| name == DEFAULT_PROFILE));
        assert_eq!(rows("linux-2.4"), None);
    }
}
