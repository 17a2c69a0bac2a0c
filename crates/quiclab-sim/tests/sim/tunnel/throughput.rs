//! Throughput of the paths together.

use super::common::*;

/// Maximum goodput of a download over two links of 20 Mbit/s: the payload's share of each packet on the wire.
fn ceiling() -> f64 {
    2.0 * RATE * 1348.0 / OUTER / 1e6
}

#[test]
fn two_paths_bring_95_percent_of_the_sum() {
    for stack in ["lab-quic", "noq"] {
        for carrier in ["connections", "multipath"] {
            for scheduler in ["round_robin", "lowest_rtt"] {
                let output = run_with(&[
                    ("tunnels.vpn.stack", stack),
                    ("tunnels.vpn.carrier", carrier),
                    ("tunnels.vpn.scheduler", scheduler),
                ]);
                let goodput = output.result.flows["load"].goodput_mbps;
                // slow start takes 8 round trips of 20 ms of the 10 s, and CoDel's first drops half a window
                let allowed = 0.95 * ceiling()..=ceiling();
                assert!(
                    allowed.contains(&goodput),
                    "{stack}, {carrier}, {scheduler}: {goodput} of {allowed:?}"
                );
            }
        }
    }
}

#[test]
fn a_window_below_the_bandwidth_delay_product_is_the_limit() {
    let output = run_with(&[("tunnels.vpn.windows", r#"["25 kB", "25 kB"]"#)]);
    // 25 kB for each round trip of 20 ms and the transmission of a packet and its acknowledgement
    let most = 2.0 * 25_000.0 * 8.0 / 0.020 / 1e6 * 1348.0 / (OUTER - 28.0);
    let goodput = output.result.flows["load"].goodput_mbps;
    // windows hold whole packets: 17 of 1432 B in 25 kB are 97 %, and acknowledgements wait for a second packet
    assert!((0.85 * most..=most).contains(&goodput), "{goodput} of {most}");
}

#[test]
fn the_published_pipeline_carries_as_much_when_packets_are_full() {
    for leaves in ["full", "full_or_acknowledging", "at_once"] {
        let pipeline = format!(r#"{{ kind = "pquic", leaves = "{leaves}" }}"#);
        let output = run_with(&[("tunnels.vpn.pipeline", &pipeline)]);
        let goodput = output.result.flows["load"].goodput_mbps;
        assert!((0.85 * ceiling()..=ceiling()).contains(&goodput), "{leaves}: {goodput}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for stack in ["lab-quic", "noq"] {
        let sets = [("links.down1.loss", "1 %"), ("duration", "4 s"), ("tunnels.vpn.stack", stack)];
        let [one, again] = [run_with(&sets), run_with(&sets)].map(|output| output.result.digest);
        assert_eq!(one, again, "{stack}");
    }
}
