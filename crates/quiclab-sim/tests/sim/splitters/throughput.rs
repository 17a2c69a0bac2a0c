//! Throughput of splitters: bounds derived from the links, and comparisons with batches.

use super::common::*;

/// Stream data in a datagram of 1280 B, as a share of the 1324 B that a link serialises: IP and UDP 28 B,
/// PDCP 2 B, Ethernet 14 B; short header and frame take at most 37 B.
const DATA: f64 = (1280.0 - 37.0) / 1324.0;

#[test]
fn adaptive_splitters_use_unequal_links() {
    let results: Vec<_> = ALL
        .iter()
        .map(|splitter| goodput(&run_with(&[UNEQUAL[0], UNEQUAL[1], ("bearers.dc.splitter", splitter)])))
        .collect();
    println!("30 + 10: {results:?}");
    let (batches, adaptive) = (results[0], &results[1..]);
    // equal batches cannot exceed twice the slower link
    assert!(batches <= 2.0 * 10.0 * DATA + 1.0, "{batches}");
    for &goodput in adaptive {
        assert!(goodput > 1.2 * batches, "{goodput} beside {batches} Mbit/s");
        assert!(goodput <= 40.0 * DATA * 1.03, "{goodput}");
    }
}

#[test]
fn no_splitter_is_bad_on_equal_links() {
    let results: Vec<_> =
        ALL.iter().map(|splitter| goodput(&run_with(&[("bearers.dc.splitter", splitter)]))).collect();
    println!("20 + 20: {results:?}");
    assert!(results[2] >= results[0], "least expected arrival beside batches: {results:?}");
    assert!(
        results.iter().all(|goodput| (0.6 * 40.0 * DATA..40.0 * DATA * 1.03).contains(goodput)),
        "{results:?}"
    );
}

#[test]
fn splitters_work_for_tcp() {
    let tcp = [
        ("flows.f.stack", "lab-tcp"),
        ("flows.f.sender", "{ congestion_control = \"cubic\" }"),
        ("flows.f.receiver", "{}"),
    ];
    let results = ALL.map(|splitter| {
        let mut sets = tcp.to_vec();
        sets.extend(UNEQUAL);
        sets.push(("bearers.dc.splitter", splitter));
        goodput(&run_with(&sets))
    });
    println!("TCP, 30 + 10: {results:?}");
    assert!(results[2] > 1.2 * results[0], "{results:?}");
}

/// The desired buffer is 15 ms of the rate: 37.5 kB at 20 Mbit/s, 56.25 kB and 18.75 kB at 30 and 10.
#[test]
fn flow_control_keeps_links_near_the_desired_size_and_loses_nothing_in_them() {
    for (rates, desired) in [([20, 20], [37_500.0, 37_500.0]), ([30, 10], [56_250.0, 18_750.0])] {
        let rates = rates.map(|rate| format!("{rate} Mbit/s"));
        let output = run_with(&[
            ("links.down1.rate", &rates[0]),
            ("links.down2.rate", &rates[1]),
            ("bearers.dc.splitter", r#"{ kind = "flow_control", queue_packets = 200 }"#),
            ("record.series_interval", "10 ms"),
        ]);
        for (index, desired) in desired.into_iter().enumerate() {
            let link = ["down1", "down2"][index];
            assert_eq!(output.result.elements[link].counters.dropped.packets, 0, "{link}");
            // overhead (14 B) is not in the reports; 1324 / 1310 of the desired size are on the wire
            let longest = statistic(&output, link, "queue_longest_bytes");
            assert!(longest <= desired * 1324.0 / 1310.0, "{link}: {longest} of {desired} B");
            let queue = series(&output, link, "queue_bytes");
            let busy = &queue[queue.len() / 2..];
            let mean = busy.iter().sum::<f64>() / busy.len() as f64;
            // a report is 1 to 6 ms old: of 15 ms, 9 to 14 ms remain, less where the window is small
            assert!((0.4 * desired..=desired).contains(&mean), "{link}: {mean} of {desired} B");
        }
        let waits = series(&output, "dc.ingress", "queue_packets");
        assert!(waits.iter().any(|&packets| packets > 0.0), "the queue is at the sending end now");
        assert!(statistic(&output, "dc.ingress", "dropped_queue_full_packets") > 0.0);
        assert_eq!(statistic(&output, "dc.ingress", "queue_longest_packets"), 200.0);
    }
}

#[test]
fn a_splitter_follows_a_link_that_changes() {
    // 30 Mbit/s for 4 s, then 5 Mbit/s
    let folder = std::env::temp_dir().join(format!("quiclab-splitters-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("fall.csv"), "time_s,rate_mbps\n0,30\n4,5\n20,5\n").unwrap();
    let trace = r#"{ kind = "trace", file = "fall.csv", at_end = "hold" }"#;
    for splitter in [PROPORTIONAL, LEAST_EXPECTED_ARRIVAL] {
        let scenario = load(&[("links.down1.rate", trace), ("bearers.dc.splitter", splitter)]).unwrap();
        let output = run_scenario(&scenario, &folder);
        let rate = statistic(&output, "dc.ingress", "rate_port0_mbps");
        // in bytes without the link's overhead: 4.95 Mbit/s
        assert!((4.5..5.5).contains(&rate), "{splitter}: {rate} Mbit/s");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_share_of_the_packets_takes_all_links() {
    let output = run_with(&[("bearers.dc.duplication", "20 %")]);
    let sender = &output.result.elements["dc.ingress"].counters;
    let share = sender.created.packets as f64 / sender.received.packets as f64;
    // received includes the reports; packets are those that were not consumed here
    let packets = (sender.received.packets - sender.consumed.packets) as f64;
    assert!((sender.created.packets as f64 / packets - 0.2).abs() < 1.0 / packets, "{share}");
    assert!(statistic(&output, "dc.egress", "duplicate_packets") > 0.0);
    assert_eq!(run_with(&[("bearers.dc.duplication", "0 %")]).result.digest, run_with(&[]).result.digest);
}
