//! Corner cases of the state machine found with a hostile path or by reading Linux. Numbers as in the tests
//! above.

use super::*;

/// A window of 1500 B: segments of 750 B. A small one is not halved (`tcp_bound_to_half_wnd`).
#[test]
fn a_segment_is_at_most_half_of_the_largest_window() {
    for (window, lengths) in [(1_500, vec![750, 750]), (500, vec![500])] {
        let mut bench = Bench::new(10);
        bench.sender.snd.set_window(window);
        bench.sender.snd.set_largest_window(window);
        let sent: Vec<_> = std::iter::from_fn(|| bench.sender.transmit(bench.now)).collect();
        assert_eq!(sent.iter().map(|sent| sent.length).collect::<Vec<_>>(), lengths);
    }
}

/// RFC 9293 section 3.4: FIN occupies a sequence number. Beyond the window it would be dropped.
#[test]
fn fin_waits_for_the_window() {
    let mut bench = Bench::new(10);
    bench.sender.writes.truncate(1_001);
    bench.sender.snd.set_window(1_000);
    assert_eq!(bench.sent(), [0]);
    bench.sender.finish();
    assert!(bench.sent().is_empty());
    bench.wait(100);
    assert_eq!(bench.ack(1, &[]), [1]);
    assert_eq!(bench.sender.snd.next(), bench.sender.writes.end());
}

/// Segment 0 alone is lost; after its retransmission all data are acknowledged. Without SACK that does not
/// show that the timeout was spurious; and the following duplicates are not a new loss (RFC 6582 section 4).
#[test]
fn without_sack_a_repaired_timeout_is_neither_undone_nor_left_at_once() {
    let mut bench = Bench::with(4, |config| config.tail_loss_probe = false, false);
    bench.sender.timestamps = false;
    bench.sent();
    assert_eq!(bench.timer(), [0]);
    bench.wait(100);
    assert!(!bench.ack(4, &[]).is_empty());
    assert_eq!((bench.sender.state, bench.sender.snapshot().counts.undos), (State::Loss, 0));
    // duplicates of a retransmission that was not necessary
    (0..4).for_each(|_| drop(bench.ack(4, &[])));
    assert_eq!(bench.sender.snapshot().counts.lost, 4, "those of the timeout, none for the duplicates");
    bench.wait(100);
    bench.ack(5, &[]);
    assert_eq!(bench.sender.state, State::Open);
}

/// RFC 5681 section 3.2: three duplicates of one acknowledgement; those of the hole before do not count.
#[test]
fn without_sack_each_hole_needs_three_duplicates_of_its_own() {
    let mut bench = Bench::with(10, |config| config.undo = false, false);
    bench.sent();
    bench.wait(100);
    assert!(bench.ack(0, &[]).iter().chain(&bench.ack(0, &[])).all(|sent| *sent >= 10));
    bench.ack(1, &[]);
    assert!(bench.ack(1, &[]).iter().chain(&bench.ack(1, &[])).all(|sent| *sent >= 10));
    assert!(bench.ack(1, &[]).contains(&1));
}

/// RFC 8985 section 7.4.2: original and probe have both arrived. That is reported when nothing is
/// outstanding; later acknowledgements are not evidence of a loss.
#[test]
fn a_probe_that_was_not_necessary_is_settled_when_nothing_is_outstanding() {
    for blocks in [&[(2, 3)][..], &[]] {
        let mut bench = Bench::new(10);
        bench.sender.writes.truncate(3_001);
        bench.sent();
        bench.wait(100);
        bench.ack(2, &[]);
        assert_eq!(bench.timer(), [2]);
        bench.wait(50);
        bench.ack(3, &[]);
        bench.wait(50);
        bench.ack(3, blocks);
        bench.sender.write(3_000);
        assert_eq!(bench.sent(), [3, 4, 5]);
        bench.wait(100);
        bench.ack(6, &[]);
        assert_eq!(bench.sender.snapshot().counts.congestion_events, 0);
        assert_eq!(bench.sender.cwnd(), 10);
    }
}

/// The timeout has reduced the window: the probe before it must not reduce it again (Linux:
/// `tcp_enter_loss`).
#[test]
fn a_timeout_forgets_the_probe() {
    let mut bench = Bench::new(10);
    bench.sender.writes.truncate(3_001);
    bench.sent();
    assert_eq!(bench.timer(), [2]);
    assert!(bench.sender.tail_probe.ends_at(3_001));
    assert_eq!(bench.timer(), [0]);
    assert_eq!(bench.sender.snapshot().counts.timeouts, 1);
    assert!(!bench.sender.tail_probe.ends_at(3_001));
}

/// RFC 6298 section 5.4. Segments 0 and 5 were retransmitted, an undo has removed their marks of loss, and 5
/// is selectively acknowledged: two retransmissions count as in flight, one segment is lost.
#[test]
fn a_timeout_sends_the_first_segment_whatever_counts_say() {
    let mut bench = Bench::with(10, |config| config.rate_reduction = RateReduction::None, true);
    bench.sent();
    bench.wait(100);
    bench.ack(0, &[(1, 5), (6, 10)]);
    bench.ack(0, &[(1, 5), (6, 11)]);
    assert_eq!(bench.sender.board.retransmitted(), 2);
    bench.sender.undo(bench.now, true);
    bench.ack(0, &[(1, 12)]);
    assert_eq!((bench.sender.board.retransmitted(), bench.sender.board.lost()), (2, 0));
    while bench.sender.snapshot().counts.timeouts == 0 {
        let sent = bench.timer();
        assert!(bench.sender.snapshot().counts.timeouts == 0 || sent.first() == Some(&0), "{sent:?}");
    }
}

/// RFC 8985 section 6.2 step 2: the acknowledgement of 0 echoes the original, although it arrives an RTT
/// after the retransmission: segments sent at that time are not acknowledged by it.
#[test]
fn rack_asks_the_timestamp_which_copy_has_arrived() {
    let mut bench = Bench::new(10);
    let first = bench.now;
    bench.sent();
    let original = bench.now_ms();
    bench.wait(100);
    bench.ack(0, &[(1, 2)]);
    assert_eq!(bench.ack(0, &[(1, 4)])[0], 0);
    bench.wait(150);
    bench.ack_echoing(1, &[(1, 4)], original);
    // 3 is the newest that has arrived; 9 was sent at the same time, after it
    assert!(!bench.sender.rack.is_overtaken(first, 10_001));
}

/// RFC 3708: only duplicates of retransmissions count. The network has duplicated segment 2, which was sent
/// once; the retransmission of 0 was necessary.
#[test]
fn a_dsack_of_what_was_sent_once_undoes_nothing() {
    let mut bench = Bench::flight(10);
    bench.ack(0, &[(1, 2)]);
    assert_eq!(bench.ack(0, &[(1, 4)])[0], 0);
    bench.ack(0, &[(2, 3), (1, 4)]);
    assert_eq!((bench.sender.state, bench.sender.snapshot().counts.undos), (State::Recovery, 0));
}
