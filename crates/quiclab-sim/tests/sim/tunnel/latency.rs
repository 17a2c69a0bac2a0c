//! Effect of a download on a concurrent ping.

use super::common::*;

/// Round trip of a ping in an idle tunnel: both ways 10 ms and its transmission.
fn idle_ms() -> f64 {
    20.0 + 2.0 * OUTER * 8.0 / RATE * 1e3
}

/// With windows of 1.25 bandwidth-delay products, a quarter of one waits in the links: 5 ms. A ping has its own queue
/// in the tunnel and waits for one packet there.
#[test]
fn per_flow_queues_keep_a_ping_fast() {
    let output = run_with(&[]);
    let mean = received(&output, "ping", "rtt_ms_mean");
    assert!((idle_ms()..=idle_ms() + 10.0).contains(&mean), "{mean}");
    assert!(received(&output, "ping", "rtt_ms_max") <= idle_ms() + 15.0);
    // CoDel ends a standing queue: the mean stays below its target of 5 ms
    assert!(statistic(&output, "vpn.server", "queue_sojourn_ms") < 5.0);
    assert!(statistic(&output, "vpn.server", "codel_drops") >= 1.0);
}

/// One queue for all of 10 MB: the window of TCP grows by one half each second or so, and the ping waits behind it.
#[test]
fn one_queue_for_all_makes_it_slow() {
    let fifo = run_with(&[FIFO]);
    let slow = received(&fifo, "ping", "rtt_ms_mean");
    assert!(slow > 2.0 * received(&run_with(&[]), "ping", "rtt_ms_mean"), "{slow}");
    let longest = statistic(&fifo, "vpn.server", "longest_sojourn_ms");
    assert!(longest <= 10e6 * 8.0 / (2.0 * RATE) * 1e3, "no longer than 10 MB take: {longest}");
}

/// No queue behind that of the tunnel: a link never holds more than the window of its path, which counts neither IP nor
/// UDP.
#[test]
fn paths_hold_no_more_than_their_windows() {
    let output = run_with(&[FIFO]);
    for link in ["down1", "down2"] {
        let longest = statistic(&output, link, "queue_longest_bytes");
        // acknowledgements of packets in the other direction need no window: one for two packets in transit
        let most = WINDOW * OUTER / (OUTER - 28.0) + 10.0 * 80.0;
        assert!(longest <= most, "{link}: {longest}");
    }
}

/// A packet that contains only a ping's small datagrams is not full: in PQUIC it waits for the next ones.
#[test]
fn a_small_ping_waits_until_a_packet_of_pquic_is_full() {
    let alone = [
        ("flows.ping.workload.size", "100 B"),
        ("flows.load.workload.duration", "100 ms"),
        ("flows.load.start", "11.5 s"),
    ];
    let pipeline = |leaves: &str| format!(r#"{{ kind = "pquic", leaves = "{leaves}" }}"#);
    let rtt = |leaves: &str| {
        let pipeline = pipeline(leaves);
        let sets = [&alone[..], &[("tunnels.vpn.pipeline", &*pipeline)]].concat();
        received(&run_with(&sets), "ping", "rtt_ms_mean")
    };
    assert!(rtt("at_once") < 25.0);
    // frames of 131 B, eleven of which fill a packet of 1440 B: the first of them waits a second, at each end
    let mean = rtt("full");
    assert!(mean > 500.0, "{mean}");
}
