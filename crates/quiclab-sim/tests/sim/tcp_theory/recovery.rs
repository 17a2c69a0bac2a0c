//! Loss recovery: one cut per round trip, reordering, tail loss.

use super::common::*;

/// Runs a link that loses exactly `packets`, counted from 0 at its input; the first two are the SYN-ACK and the ACK of
/// the request.
fn run_listed(packets: &str, more: &[(&str, &str)]) -> quiclab_sim::RunOutput {
    let loss = format!(r#"{{ kind = "listed", packets = [{packets}] }}"#);
    let mut sets = vec![("links.down.loss", loss.as_str())];
    sets.extend(more);
    run_one(&sets)
}

/// RFC 5681 section 4.3, RFC 6675 section 5: recovery ends when everything sent before it is acknowledged, and all
/// losses until then make one reduction. In slow start, with a first window of 10, packet 50 is followed by two for
/// each acknowledged before its loss is detected: by those up to 100 at least.
#[test]
fn losses_of_one_window_make_one_cut() {
    let windowed = [("duration", "3 s")];
    let cuts = |packets: &str| {
        let output = run_listed(packets, &windowed);
        assert_eq!(
            output.result.elements["down"].counters.dropped.packets as f64,
            sender(&output, "lost_packets")
        );
        assert_eq!(sender(&output, "timeouts"), 0.0);
        sender(&output, "congestion_events")
    };
    assert_eq!(cuts("50"), 1.0);
    assert_eq!(cuts("50, 51, 52, 53, 54"), 1.0);
    assert_eq!(cuts("50, 57, 63, 71, 88"), 1.0);
    // packet 600 belongs to a later window: it has 59 packets at the cut, 30 after it
    assert_eq!(cuts("50, 51, 52, 600, 601, 602"), 2.0);
}

/// A cut halves the window of that moment, not once more for each loss: 10 packets and one for each of those
/// acknowledged before.
#[test]
fn five_losses_of_one_window_halve_it_once() {
    let sets = [("duration", "200 ms"), ("record.series_interval", "5 us")];
    for packets in ["50", "50, 51, 52, 53, 54", "50, 57, 63, 71, 88"] {
        let output = run_listed(packets, &sets);
        let cut = rises(&series(&output, "congestion_events"))[0];
        let before = value_at(&windows(&output), cut - 5e-6);
        // packets 0 and 1 are the SYN-ACK and the ACK of the request: 48 segments precede the first loss, and each has
        // opened the window by one
        assert_eq!(before, 58.0);
        let threshold = value_at(&series(&output, "ssthresh_bytes"), 0.1999) / PAYLOAD;
        assert_eq!(threshold, (before / 2.0).floor());
    }
}

/// RFC 8985 section 6.2 step 4: before reordering is detected, three later segments are sufficient for a loss; after
/// that, a segment is lost min_rtt / 4 after one sent later has arrived. The jitter delays a packet by 2 ms after a
/// later one at most, less than 38 ms / 4. So all losses are spurious (the link has none), and all occur before the end
/// of the first round trip in which reordering is detected.
#[test]
fn after_reordering_was_seen_rack_takes_no_overtaken_packet_for_lost() {
    for seed in 0..5 {
        let output = run_seeded(
            &[
                ("duration", "10 s"),
                (
                    "links.down.delay",
                    r#"{ mean = "20 ms", deviation = "1 ms", distribution = "uniform", reorder = true }"#,
                ),
                ("links.up.delay", "20 ms"),
                ("links.down.rate", "100 Mbit/s"),
                // the window must not overflow the link: 100 packets, 30 Mbit/s
                ("flows.f.sender.congestion_control", "fixed"),
                ("flows.f.sender.initial_window", "144800 B"),
                ("record.series_interval", "10 ms"),
            ],
            seed,
        );
        assert_eq!(output.result.elements["down"].counters.dropped.packets, 0);
        let lost = series(&output, "lost_packets");
        // handshake and request 80 ms; losses of the first window are declared at 120 ms, the retransmissions are
        // acknowledged at 160 ms and reveal the reordering, and segments marked until then once more later
        assert_eq!(value_at(&lost, 0.25), sender(&output, "lost_packets"), "seed {seed}");
        assert!(sender(&output, "packets_sent") > 10_000.0, "a hundred windows are as many occasions");
    }
}

/// The same jitter if only a count of duplicates decides (RFC 6675) and reordering is not learned: losses continue.
/// Shows that the test above can fail.
#[test]
fn a_count_of_three_takes_overtaken_packets_for_lost_all_the_time() {
    let output = run_one(&[
        ("duration", "10 s"),
        (
            "links.down.delay",
            r#"{ mean = "20 ms", deviation = "1 ms", distribution = "uniform", reorder = true }"#,
        ),
        ("links.down.rate", "100 Mbit/s"),
        ("flows.f.sender.congestion_control", "fixed"),
        ("flows.f.sender.initial_window", "144800 B"),
        ("flows.f.sender.tcp.loss_detection", "duplicate_acks"),
        ("flows.f.sender.tcp.max_reordering", "3"),
        ("record.series_interval", "10 ms"),
    ]);
    let lost = series(&output, "lost_packets");
    assert!(sender(&output, "lost_packets") > value_at(&lost, 0.25) + 100.0);
}

/// RFC 8985 section 7.3: "After attempting to send a loss probe, regardless of whether a loss probe was sent, the
/// sender MUST re-arm the RTO timer" (Linux `tcp_send_loss_probe`: "will restart timer from now"). With an SRTT of 400
/// ms the RTO ends before two SRTT: the probe leaves an RTO after the last acknowledgement, which is an RTT and an RTO
/// after the first lost segment did. The probe, a retransmission of the second lost segment, reveals the loss of the
/// first a round trip later, before another RTO has elapsed.
///
/// The RTO is SRTT + RTTVAR, which Linux initialises with two SRTT (four times SRTT / 2, RFC 6298 section 2.2) and
/// moves by a quarter towards 200 ms each round trip: 200 ms and at most (3/4)^4 of 600 ms after four.
#[test]
fn a_probe_that_waited_for_an_rto_has_another_rto_to_be_answered() {
    // 10, 20, 40, 80, 160 and 90 packets, and a few more where a write has ended: the last two are lost
    let run = |lost: &str| {
        run_listed(
            lost,
            &[
                ("links.down.delay", "200 ms"),
                ("links.up.delay", "200 ms"),
                ("flows.f.workload.size", "579200 B"),
                ("until", "workloads_done"),
            ],
        )
    };
    let whole = run("100000");
    let packets = whole.result.elements["down"].counters.received.packets;
    let output = run(&format!("{}, {}", packets - 2, packets - 1));
    assert_eq!(output.result.elements["down"].counters.dropped.packets, 2);
    assert_eq!((sender(&output, "tail_loss_probes"), sender(&output, "timeouts")), (1.0, 0.0));
    // 200 ms until the last acknowledgement before it, 400 ms from the probe to the answer, 200 ms for the first lost
    // segment
    let time = |output: &quiclab_sim::RunOutput| output.result.flows["f"].download_time_s.unwrap();
    let repair = time(&output) - time(&whole);
    let rto = 0.6..=0.6 + 0.6 * 0.75_f64.powi(4);
    assert!(rto.contains(&(repair - 0.8)), "{repair} s");
}
