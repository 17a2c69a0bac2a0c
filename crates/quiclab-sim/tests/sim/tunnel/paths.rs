//! Shares of the paths.

use super::common::*;

fn sent(output: &quiclab_sim::RunOutput) -> [f64; 2] {
    ["path1_sent_bytes", "path2_sent_bytes"].map(|name| statistic(output, "vpn.server", name))
}

/// A saturated tunnel sends in proportion to window over RTT, whatever the scheduler: 20 to 10 Mbit/s.
#[test]
fn a_saturated_tunnel_uses_paths_by_their_rate() {
    for scheduler in ["round_robin", "lowest_rtt"] {
        let output = run_with(&[
            FIFO,
            ("links.down2.rate", "10 Mbit/s"),
            ("tunnels.vpn.windows", r#"["62500 B", "31250 B"]"#),
            ("tunnels.vpn.scheduler", scheduler),
        ]);
        let [first, second] = sent(&output);
        let part = first / (first + second);
        assert!((part - 2.0 / 3.0).abs() < 0.02, "{scheduler}: {part}");
    }
}

/// Below saturation the scheduler decides: either path suffices for 4 Mbit/s.
#[test]
fn below_saturation_the_scheduler_decides() {
    let light = r#"{ kind = "datagrams", rate = "4 Mbit/s", size = "1372 B", duration = "10 s" }"#;
    let sets = |scheduler: &'static str| {
        [
            (
                "flows.load",
                r#"{ stack = "lab-udp", down = ["vpn"], up = ["vpn"], start = "1 s", workload = {} }"#,
            ),
            ("flows.load.workload", light),
            ("links.down2.delay", "15 ms"),
            ("links.up2.delay", "15 ms"),
            ("tunnels.vpn.scheduler", scheduler),
        ]
    };
    let [first, second] = sent(&run_with(&sets("round_robin")));
    assert!((first / (first + second) - 0.5).abs() < 0.01, "{first}, {second}");
    let [first, second] = sent(&run_with(&sets("lowest_rtt")));
    assert!(first / (first + second) > 0.99, "{first}, {second}");
}

/// A path that loses everything after a while: its packets in transit are lost, and the other continues
/// alone.
#[test]
fn a_dead_path_does_not_stop_the_other() {
    for carrier in ["connections", "multipath"] {
        // the first 5000 packets pass: with the other path's, 6 s of the download
        let lost: Vec<_> = (5_000..60_000).map(|number| number.to_string()).collect();
        let lost = format!(r#"{{ kind = "listed", packets = [{}] }}"#, lost.join(", "));
        let output = run_with(&[("links.down1.loss", &lost), ("tunnels.vpn.carrier", carrier)]);
        let [first, second] = sent(&output);
        assert!(first < 0.7 * second, "{carrier}: {first}, {second}");
        let goodput = output.result.flows["load"].goodput_mbps;
        assert!(goodput > RATE / 1e6, "{carrier}: more than one path alone carries: {goodput}");
    }
}
