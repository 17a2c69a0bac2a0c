//! Order: over unequal paths packets overtake each other, unless the remote end waits for those that are
//! missing.

use super::common::*;

const UNEQUAL: [(&str, &str); 3] = [
    ("links.down2.delay", "30 ms"),
    ("links.up2.delay", "30 ms"),
    ("tunnels.vpn.windows", r#"["60 kB", "160 kB"]"#),
];

#[test]
fn packets_overtake_each_other_on_unequal_paths() {
    let equal = statistic(&run_with(&[]), "vpn.client", "reordered_packets");
    let unequal = statistic(&run_with(&UNEQUAL), "vpn.client", "reordered_packets");
    assert!(unequal > 2.0 * equal, "{unequal}, on equal paths {equal}");
}

/// The paths differ by 20 ms and the queues in their links; nothing is lost, so a wait of 100 ms never ends
/// early.
#[test]
fn a_resequencer_hides_it_from_the_flows() {
    let sets = [&UNEQUAL[..], &[("tunnels.vpn.resequencing", "100 ms")]].concat();
    let output = run_with(&sets);
    assert_eq!(statistic(&output, "vpn.client", "timer_expiries"), 0.0);
    assert!(statistic(&output, "vpn.client", "buffered_total_packets") > 0.0);
    assert_eq!(received(&output, "ping", "lost_packets"), 0.0);
    let mistaken = |output: &quiclab_sim::RunOutput| output.result.flows["load"].sender["spurious_losses"];
    assert_eq!(mistaken(&output), 0.0);
    assert!(mistaken(&run_with(&UNEQUAL)) > 0.0, "without it TCP takes packets for lost");
}

/// Each packet on both paths: one is lost only if both copies are, of 10 % on each path 1 % of the packets.
#[test]
fn copies_on_both_paths_outlive_losses() {
    let sets = [
        ("tunnels.vpn.scheduler", "redundant"),
        ("tunnels.vpn.resequencing", "50 ms"),
        ("links.down1.loss", "10 %"),
        ("links.down2.loss", "10 %"),
        ("links.up1.loss", "10 %"),
        ("links.up2.loss", "10 %"),
        ("flows.load.workload.duration", "100 ms"),
        ("flows.load.start", "11.5 s"),
    ];
    let lost = received(&run_with(&sets), "ping", "lost_packets");
    // 2 % of 100 pings; with 19 % on one path alone it would be 19
    assert!(lost <= 8.0, "{lost}: five standard deviations above 2");
}

/// Packets that a path has lost are retransmitted by the remote end within the wait, so that TCP retransmits
/// nothing, and a ping of another flow does not wait for them.
#[test]
fn repair_hides_the_losses_of_a_path() {
    let lossy =
        [("links.down2.loss", "2 %"), ("tunnels.vpn.resequencing", "200 ms"), ("tunnels.vpn.repair", "true")];
    let sets = [&UNEQUAL[..], &lossy].concat();
    let (with, without) = (run_with(&sets), run_with(&sets[..sets.len() - 1]));
    let repeated =
        |output: &quiclab_sim::RunOutput| output.result.flows["load"].sender["retransmitted_packets"];
    let goodput = |output: &quiclab_sim::RunOutput| output.result.flows["load"].goodput_mbps;
    let lost =
        |output: &quiclab_sim::RunOutput| output.result.elements["down2"].counters.dropped.packets as f64;
    assert!(statistic(&with, "vpn.server", "repaired_packets") >= 0.9 * lost(&with), "of {}", lost(&with));
    let part = |output: &quiclab_sim::RunOutput| repeated(output) / lost(output);
    assert!(part(&with) < 0.1 && part(&without) > 0.5, "{} and {}", part(&with), part(&without));
    assert!(goodput(&with) > 1.5 * goodput(&without), "{:?} and {:?}", goodput(&with), goodput(&without));
    // 200 ms is the time that packets in order would wait for one that is permanently lost
    let slowest = |output: &quiclab_sim::RunOutput| received(output, "ping", "rtt_ms_max");
    assert!(
        slowest(&with) < 150.0 && slowest(&without) > 200.0,
        "{} and {}",
        slowest(&with),
        slowest(&without)
    );
}
