//! Throughput of two paths together.

use super::common::*;

/// Share of its rate that a path carries from `start` seconds on, to the end at `end`.
fn utilisation(output: &quiclab_sim::RunOutput, tap: &str, start: f64, end: f64) -> f64 {
    let records = passed(output, tap);
    let within = records.iter().filter(|record| (start..end).contains(&seconds(record.time)));
    within.map(|record| record.size.bytes() as f64 * 8.0).sum::<f64>() / (end - start) / RATE
}

/// Both links are full once slow start is over: 2 s are 100 round trips, of which it takes 7 (12 kB doubled up to 173
/// kB), and recovery of its losses as many again. 5 % are left for the part of a window that is lost at the end of slow
/// start.
fn both_links_are_full(sets: &[(&str, &str)], start: f64) {
    let output = run_two(sets);
    for tap in ["out1", "out2"] {
        let part = utilisation(&output, tap, start, 10.0);
        assert!((0.95..=1.001).contains(&part), "{tap}: {part} of the rate");
    }
    let least = 0.95 * 2.0 * RATE * PAYLOAD / PACKET * (10.0 - start) / 8.0;
    let delivered = output.result.flows["f"].delivered_bytes as f64;
    assert!(delivered >= least, "{delivered} B of {least} B");
    assert!(delivered <= 2.0 * RATE * 10.0 / 8.0);
}

/// Schedulers that leave no room unused while there is a backlog.
const FILLING: [&str; 6] = [
    "round_robin",
    "lowest_rtt",
    "cheapest_first",
    r#"{ kind = "weighted_round_robin", weights = [1, 1] }"#,
    "ecf",
    "earliest_arrival",
];

/// Schedulers that may wait do not wait indefinitely: the last byte arrives, with any losses and any difference of the
/// paths.
#[test]
fn a_download_ends_with_every_scheduler() {
    let waiting = [
        "strict_round_robin",
        "blest",
        r#"{ kind = "blest", send_window = "10 kB" }"#,
        r#"{ kind = "lowest_rtt", penalise_above = "20 kB" }"#,
    ];
    for scheduler in FILLING.iter().chain(&waiting) {
        let sets = [
            ("duration", "60 s"),
            ("links.down1.loss", "1 %"),
            ("links.down2.loss", "2 %"),
            ("links.down2.delay", "100 ms"),
            ("flows.f.workload", r#"{ kind = "download", size = "2 MB" }"#),
            ("flows.f.sender.quic.path_scheduler", scheduler),
        ];
        let output = run_two(&sets);
        assert_eq!(output.result.flows["f"].delivered_bytes, 2_000_000, "{scheduler}");
    }
}

#[test]
fn two_equal_paths_bring_the_sum() {
    for scheduler in FILLING {
        both_links_are_full(&[("flows.f.sender.quic.path_scheduler", scheduler)], 2.0);
    }
}

/// 40 ms each way: the bandwidth-delay product is 163 packets, the queue holds 200. NewReno needs 100 round trips of up
/// to 200 ms for 100 packets of growth, but never has less than the product: after slow start the link is full.
#[test]
fn paths_of_unequal_rtt_bring_the_sum() {
    for scheduler in FILLING {
        let slow = [
            ("links.down2.delay", "40 ms"),
            ("links.back2.delay", "40 ms"),
            ("links.down2.queue.packets", "200"),
            ("flows.f.sender.quic.path_scheduler", scheduler),
        ];
        both_links_are_full(&slow, 4.0);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for control in ["newreno", "lia", "olia", "balia"] {
        let sets = [
            ("duration", "2 s"),
            ("links.down1.loss", "1 %"),
            ("links.down2.loss", "1 %"),
            ("flows.f.sender.congestion_control", control),
        ];
        let [one, again] = [7, 7].map(|seed| run_text(TWO_PATHS, &sets, seed).result.digest);
        assert_eq!(one, again, "{control}");
        assert_ne!(one, run_text(TWO_PATHS, &sets, 8).result.digest, "{control}");
    }
}
