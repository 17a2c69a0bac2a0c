//! The published pipeline: the second queue of its plugin, and paths with unequal MTUs.

use super::common::*;

/// Windows of one bandwidth-delay product, one queue for all of 10 MB, and the pipeline of PQUIC.
fn published(second_queue: &str, sets: &[(&str, &str)]) -> quiclab_sim::RunOutput {
    let pipeline = format!(r#"{{ kind = "pquic", leaves = "full"{second_queue} }}"#);
    let all = [
        &[
            FIFO,
            ("tunnels.vpn.carrier", "multipath"),
            ("tunnels.vpn.pipeline", &*pipeline),
            ("tunnels.vpn.mtu", "1400 B"),
            ("flows.ping.workload.protocol", "icmp"),
            ("flows.ping.workload.size", "1372 B"),
        ],
        sets,
    ]
    .concat();
    run_with(&all)
}

/// A ping in the second queue passes the FIFO and the window. Its remaining delay is in the links: of windows of 1.25
/// bandwidth-delay products a quarter, 5 ms, and the packets that need no window themselves.
#[test]
fn a_ping_in_the_second_queue_does_not_wait_behind_the_first() {
    let idle_ms = 20.0 + 2.0 * OUTER * 8.0 / RATE * 1e3;
    let first = received(&published("", &[]), "ping", "rtt_ms_mean");
    let output = published(r#", second_queue = "icmp""#, &[]);
    let second = received(&output, "ping", "rtt_ms_mean");
    assert!((idle_ms..=idle_ms + 10.0).contains(&second), "{second}");
    assert!(first > 1.3 * second, "{first} and {second}");
    // each of the 100 answers, and nothing else
    assert_eq!(statistic(&output, "vpn.server", "uncontrolled_packets"), 100.0);
}

/// The build without congestion control of datagrams: the amount sent to the links is not limited. They have the queue,
/// more than the quarter of a bandwidth-delay product that windows leave them.
#[test]
fn without_congestion_control_the_links_have_the_queue() {
    let output = published(r#", second_queue = "all""#, &[]);
    for link in ["down1", "down2"] {
        assert!(statistic(&output, link, "queue_longest_bytes") > 2.0 * WINDOW, "{link}");
    }
}

/// The first path is too small for a datagram with a full segment: these wait for the second, and none is dropped for
/// its size.
#[test]
fn what_does_not_fit_a_path_waits_for_the_other() {
    let sizes = ("tunnels.vpn.datagram_sizes", r#"["1250 B", "1452 B"]"#);
    let output = published("", &[sizes]);
    assert!(statistic(&output, "vpn.server", "mtu_waits") > 0.0);
    assert_eq!(statistic(&output, "vpn.server", "too_large_packets"), 0.0);
    let goodput = output.result.flows["load"].goodput_mbps;
    let alone = RATE / 1e6 * 1348.0 / OUTER;
    assert!((0.8 * alone..=alone).contains(&goodput), "the rate of one path: {goodput}");
    // without a rule for it the other pipeline drops packets passed to the wrong path
    let direct = run_with(&[sizes, ("tunnels.vpn.carrier", "multipath")]);
    assert!(statistic(&direct, "vpn.server", "too_large_packets") > 0.0);
}

/// Segments of 1100 B fit both paths: no packet waits.
#[test]
fn equal_or_small_datagrams_wait_for_no_mtu() {
    let fits = ("flows.load.sender.tcp.mss", "1100 B");
    let receiver = ("flows.load.receiver.tcp.mss", "1100 B");
    let ping = ("flows.ping.workload.size", "1100 B");
    let sizes = ("tunnels.vpn.datagram_sizes", r#"["1250 B", "1452 B"]"#);
    let output = published("", &[fits, receiver, ping, sizes]);
    assert!(!output.result.elements["vpn.server"].statistics.contains_key("mtu_waits"));
    assert!(statistic(&output, "vpn.server", "path1_sent_bytes") > 0.0);
}
