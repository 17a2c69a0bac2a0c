//! Bursts of segmentation offload, and the send buffer to which they are charged.

use super::*;
use crate::pacing::{Fq, Unpaced};

/// Sender without pacing with a window of `window` segments of 1000 bytes; RTT 100 ms.
fn offloading(window: u64) -> Bench {
    Bench::paced(window, |_| {}, true, Box::new(Unpaced))
}

/// The same without written data.
fn empty(window: u64) -> Bench {
    let mut bench = offloading(window);
    bench.sender.writes.truncate(1);
    bench
}

/// Ends of the skbs that were not sent completely.
fn ends(bench: &Bench) -> Vec<u64> {
    bench.sender.writes.skbs().map(|skb| skb.end).collect()
}

/// PSH of these skbs.
fn pushes(bench: &Bench) -> Vec<bool> {
    bench.sender.writes.skbs().map(|skb| skb.push).collect()
}

/// 1.2 windows of 40 000 B in 100 ms are 468 B in 2^-10 s: the minimum is two segments. With a window of 2000
/// segments they are 23 437 B: 23 segments.
#[test]
fn a_burst_is_what_a_millisecond_brings() {
    assert_eq!(offloading(40).sender.burst.limit(), 2);
    assert_eq!(offloading(2000).sender.burst.limit(), 23);
    assert_eq!(offloading(100_000).sender.burst.limit(), 65, "64 KiB");
    let limited = Bench::paced(2000, |tcp| tcp.gso_segments = 4, true, Box::new(Unpaced));
    assert_eq!(limited.sender.burst.limit(), 4);
    assert_eq!(Bench::new(2000).sender.burst.limit(), 1, "a pacer of single packets");
}

/// Since 5.18 a path of 2 ms adds 65 215 B / 2^(2000 us / 512 us) = 8151 B to the 18 750 B of 16 segments at 1.2 windows in
/// 1 ms ... with an RTT of 2 ms: 1.2 * 16 000 B / 2 ms / 1024 = 9375 B; both are 17 segments.
#[test]
fn short_paths_get_longer_bursts() {
    let burst = |log| {
        let mut bench = offloading(16);
        bench.sender.burst.set_rtt_log(log);
        bench.sender.rtt = TcpRtt::new(Duration::from_millis(200), Duration::from_secs(1));
        bench.sender.rtt.on_min_sample(bench.now, Duration::from_millis(2));
        bench.sender.rtt.on_sample(Duration::from_millis(2), 1, 1);
        bench.sender.update_pacing(bench.now);
        bench.sender.burst.limit()
    };
    assert_eq!((burst(None), burst(Some(9))), (9, 17));
}

/// A window of 400 segments: 4 to a burst. Two acknowledged ones do not fill a burst; they wait for the next
/// acknowledgement, which is due within a millisecond, and are then sent together.
#[test]
fn a_short_burst_waits_for_the_next_acknowledgement() {
    let mut bench = offloading(400);
    bench.sender.write(1_000_000);
    bench.sent();
    assert_eq!(bench.sender.burst.limit(), 4);
    bench.wait(100);
    assert_eq!(bench.ack(2, &[]), [400, 401], "more than a millisecond after the last transmission");
    assert!(bench.ack(4, &[]).is_empty());
    assert!(bench.sender.usage.is_limited(400, false), "what waits is limited by the window");
    assert_eq!(bench.ack(6, &[]), [402, 403, 404, 405]);
}

/// The last segment of a burst marks the end of a write in it; 3500 bytes end in the fourth of four segments,
/// 2500 in the third of six.
#[test]
fn a_push_is_at_the_end_of_its_burst() {
    let mut bench = empty(400);
    bench.sender.write(2500);
    bench.sender.write(3500);
    let sent: Vec<_> = std::iter::from_fn(|| bench.sender.transmit(bench.now)).collect();
    assert_eq!(sent.len(), 6);
    assert_eq!(
        sent.iter().map(|sent| sent.push).collect::<Vec<_>>(),
        [false, false, false, true, false, true]
    );
}

/// 12 Mbit/s: two segments are sent every 4/3 ms, together.
#[test]
fn pacing_holds_whole_bursts() {
    let max = Some(DataRate::from_bits_per_second(12_000_000));
    let mut bench = Bench::paced(400, |_| {}, true, Box::new(Fq::new(max)));
    let mut departures = Vec::new();
    while departures.len() < 20 {
        let now = bench.now;
        departures.extend(bench.sent().iter().map(|_| now.since(Time::ZERO).as_nanos() / 1000 - 1_000_000));
        bench.now = bench.sender.next_timer(now).expect("pacing").max(now);
    }
    assert_eq!(departures[..10], [0; 10], "the first ten are not paced");
    assert_eq!(departures[10..16], [1333, 1333, 2666, 2666, 4000, 4000]);
}

/// 12 Mbit/s, and fq: two bursts wait in it as of their departures, 4/3 and 8/3 ms from now, and leave it 10
/// us later; when the first one has left, another is handed over. Waiting bursts are in flight.
#[test]
fn fq_holds_two_bursts_that_count_as_in_flight() {
    let max = Some(DataRate::from_bits_per_second(12_000_000));
    let mut bench = Bench::paced(400, |_| {}, true, Box::new(Fq::new(max)));
    bench.sender.departures.set_host_queue(HostQueue::new(Duration::from_micros(10)));
    let sent: Vec<_> = std::iter::from_fn(|| bench.sender.transmit(bench.now)).collect();
    let micros = |time: Time| time.since(bench.now).as_nanos() / 1000;
    let times: Vec<_> = sent[8..].iter().map(|sent| (micros(sent.departure), micros(sent.leaves))).collect();
    assert_eq!(times, [(0, 0), (0, 0), (1333, 1343), (1333, 1343), (2666, 2676), (2666, 2676)]);
    assert_eq!(bench.sender.board.in_flight(), 14);
    assert_eq!(bench.sender.next_timer(bench.now), bench.sender.timer.deadline(), "not for pacing");
    let (before, leaves) = (bench.now, sent[10].leaves);
    assert!(!bench.sender.leave_host(before));
    bench.now = leaves;
    assert!(bench.sender.leave_host(leaves));
    let next: Vec<_> = std::iter::from_fn(|| bench.sender.transmit(bench.now)).collect();
    assert_eq!(next.len(), 2);
    assert_eq!(next[0].departure.since(before).as_nanos() / 1000, 4000);
}

/// Memory for two windows of 50 segments: 2 · 50 · (2^11 + 256) B = 230 400 B for segments of 1000 B. In pairs, each
/// takes 2000 + 832 B: the application may write until two thirds of the buffer are used, 153.6 kB.
#[test]
fn the_send_buffer_follows_the_window() {
    let mut bench = empty(50);
    assert_eq!(bench.sender.buffer.size(), 230_400);
    assert!(bench.sender.is_writable());
    bench.sender.write(160_000);
    bench.sent();
    // 25 pairs, and three waiting skbs: 160 000 + 28 * 832 B
    assert_eq!(bench.sender.memory(), 183_296);
    assert!(!bench.sender.is_writable());
    bench.wait(100);
    bench.ack(20, &[]);
    assert_eq!(
        bench.sender.memory(),
        162_464,
        "ten pairs have left, ten bursts of 19 segments, and a whole skb"
    );
    assert!(!bench.sender.is_writable());
    bench.ack(30, &[]);
    assert!(bench.sender.is_writable());
}

/// The buffer grows if the application has not filled the window, and not otherwise.
#[test]
fn the_send_buffer_grows_when_the_window_is_not_used() {
    let mut bench = empty(50);
    bench.sender.buffer.set_size(20_000);
    bench.sender.write(20_000);
    bench.sent();
    assert!(!bench.sender.is_writable(), "it begins to wait");
    assert!(bench.sender.is_writable(), "at the next event");
    assert_eq!(bench.sender.buffer.size(), 230_400);
    bench.sender.buffer.set_size(20_000);
    bench.sender.write(100_000);
    bench.sent();
    assert!(!bench.sender.is_writable());
    assert_eq!(bench.sender.buffer.size(), 20_000);
}

/// A write fills the last skb, then others until the buffer is full; the end of a write to which another is
/// appended is not an end. 65 segments of 1000 B fit into an skb, two into that for a peer with a window of
/// 4000 B.
#[test]
fn a_write_is_appended_to_the_last_skb() {
    let mut bench = empty(50);
    bench.sender.write(70_000);
    assert_eq!(ends(&bench), [65_001, 70_001]);
    assert_eq!(bench.sender.room(300_000), 60_000);
    bench.sender.write(10_000);
    assert_eq!(ends(&bench), [65_001, 80_001]);
    assert_eq!(bench.sender.room(300_000), 50_000);
    assert_eq!(pushes(&bench), [false, true], "the skb that both writes have ended with");
    assert_eq!(bench.sender.push_within_write(), PushWithinWrite::Nothing, "two skbs wait");
    bench.sent();
    assert_eq!(bench.sender.snd.next(), 50_001);
    bench.sender.buffer.set_size(10_000);
    assert_eq!(bench.sender.room(300_000), 50_000, "the last skb is filled though the buffer is full");
    bench.sender.append(50_000);
    assert_eq!(bench.sender.room(300_000), 0, "no other one");
    bench.sender.snd.set_largest_window(4000);
    assert_eq!(bench.sender.max_skb(), 2000);
}

/// A write takes PSH from the skb that it appends to (`tcp_sendmsg_locked`: `if (!copied)`), also from the
/// rest of one that was sent in part, but from no other: a full one, after which it starts another, keeps it.
#[test]
fn a_write_takes_the_push_of_the_skb_that_it_appends_to() {
    let mut bench = empty(50);
    bench.sender.write(64_000);
    assert_eq!(pushes(&bench), [true]);
    for (bytes, ends_after, pushes_after) in [
        (64_000, vec![65_001, 128_001], vec![false, true]),
        (2_000, vec![65_001, 130_001], vec![false, true]),
        (1_000, vec![65_001, 130_001, 131_001], vec![false, true, true]),
    ] {
        bench.sender.write(bytes);
        assert_eq!((ends(&bench), pushes(&bench)), (ends_after, pushes_after));
    }
    let mut bench = empty(50);
    bench.sender.write(60_000);
    bench.sent();
    assert_eq!((bench.sender.snd.next(), pushes(&bench)), (50_001, vec![true]));
    bench.sender.start_write();
    bench.sender.append(20_000);
    assert_eq!((ends(&bench), pushes(&bench)), (vec![80_001], vec![false]));
}

/// Bursts of 20 segments of three skbs of 65: since 6.10 each is full, before the end of an skb ends one,
/// too. The rest of the first skb, 5 segments, is filled up to 20 with 15 of the second one.
#[test]
fn a_burst_is_a_part_of_one_skb() {
    for (fills, bursts) in [(false, [20, 20, 20, 5, 20]), (true, [20, 20, 20, 20, 20])] {
        let mut bench = empty(400);
        bench.sender.writes.set_fills_when_sent(fills);
        bench.sender.burst.fix_limit(20);
        bench.sender.write(195_000);
        let sent = bursts.map(|_| {
            assert!(bench.sender.transmit(bench.now).is_some());
            1 + std::iter::from_fn(|| bench.sender.is_in_burst().then(|| bench.sender.transmit(bench.now)))
                .count()
        });
        assert_eq!(sent, bursts);
        assert_eq!(ends(&bench), [130_001, 195_001]);
    }
}

/// A window of 840 segments, of which bursts have 9, ends 5 segments before the end of an skb. Fewer
/// acknowledged segments wait for more, 5 are sent at once, unless the application could still fill the skb.
#[test]
fn what_is_left_of_an_skb_does_not_wait() {
    for (follows, sent) in [(65_000, 5), (0, 0)] {
        let mut bench = empty(840);
        bench.sender.write(845_000 + follows);
        bench.sent();
        bench.wait(100);
        bench.sender.departures.on_sent(bench.now);
        assert!(bench.ack(4, &[]).is_empty());
        assert_eq!(bench.ack(5, &[]).len(), sent);
    }
}

/// 20 segments are outstanding, and more data are written than the window of 23 permits: a tail loss probe,
/// due after two RTTs, sends a burst of three, and no other one is scheduled.
#[test]
fn a_tail_loss_probe_of_new_data_is_a_burst() {
    let mut bench = empty(20);
    bench.sender.burst.fix_limit(9);
    bench.sender.write(20_000);
    assert_eq!(bench.sent().len(), 20);
    bench.sender.controller = Box::new(Halving { window: 23_000, prior: 0, grows: false });
    bench.sender.write(30_000);
    bench.sender.burst.fix_limit(9);
    bench.now = bench.sender.timer.deadline().expect("a probe");
    assert!(bench.sender.on_timer(bench.now));
    assert_eq!(bench.sent(), [20, 21, 22]);
    assert!(bench.sender.tail_probe.ends_at(23_001));
    assert_eq!(bench.sender.timer.purpose(), Some(timer::Timer::Retransmission));
}

/// An skb of which a part was sent is filled again: after two of its 65 segments are sent, there is room for
/// two more.
#[test]
fn a_full_skb_leaves_at_once_and_is_filled_again() {
    let mut bench = empty(50);
    bench.sender.append(65_000);
    assert_eq!(bench.sender.push_within_write(), PushWithinWrite::One);
    assert!(bench.sender.transmit(bench.now).is_some() && bench.sender.is_in_burst());
    assert!(bench.sender.transmit(bench.now).is_some() && !bench.sender.is_in_burst());
    assert_eq!(bench.sender.room(300_000), 2000);
    assert_eq!(bench.sender.push_within_write(), PushWithinWrite::Nothing);
    bench.sender.append(2000);
    bench.sender.snd.set_largest_window(130_000);
    assert_eq!(
        bench.sender.push_within_write(),
        PushWithinWrite::All,
        "half of the largest window was written"
    );
    assert_eq!(bench.sender.push_within_write(), PushWithinWrite::One);
}

/// A burst that could be longer with the next acknowledgement waits for it, unless the application's write has filled the skb.
#[test]
fn a_write_that_fills_the_skb_does_not_wait() {
    let mut bench = empty(840);
    bench.sender.write(840_000);
    bench.sent();
    bench.wait(100);
    bench.sender.departures.on_sent(bench.now);
    assert!(bench.ack(2, &[]).is_empty());
    bench.sender.append(65_000);
    assert_eq!(bench.sender.push(bench.now, false), None);
    assert!(bench.sender.push(bench.now, true).is_some() && bench.sender.is_in_burst());
}

/// The buffer of a waiting application grows when a burst is sent and the window has room for another one,
/// but before 5.18 not when the last burst fills the window.
#[test]
fn a_burst_that_leaves_room_in_the_window_calls_the_application() {
    for (checked, buffer) in [(true, 230_400), (false, 70_000)] {
        let mut bench = empty(50);
        bench.sender.buffer.set_checked_when_sent(checked);
        bench.sender.buffer.set_size(70_000);
        bench.sender.append(65_000);
        assert!(!bench.sender.is_writable(), "66 kB of 70 kB");
        bench.sent();
        assert_eq!((bench.sender.board.in_flight(), bench.sender.buffer.size()), (50, buffer));
    }
}

/// A sender without data is application-limited when the application writes again, not before; and not while
/// a loss waits for its retransmission.
#[test]
fn an_application_is_limiting_when_it_writes() {
    let mut bench = empty(50);
    bench.sender.write(20_000);
    bench.sender.rate = DeliveryRate::default(); // the first write always counts as limited
    bench.sent();
    bench.wait(100);
    bench.ack(2, &[]);
    assert!(!bench.sender.rate.is_app_limited(), "it has not written");
    bench.sender.write(1000);
    assert!(bench.sender.rate.is_app_limited());
}

/// Six pairs of 1000 B, of which segment 2 is lost: segment 3 is split from it, segments that arrive after it
/// are merged into one skb, and the retransmitted segment is a separate skb. Each skb takes 832 B.
#[test]
fn what_has_arrived_is_merged_into_one_skb() {
    let mut bench = empty(12);
    bench.sender.write(12_000);
    assert_eq!(bench.sent().len(), 12);
    assert_eq!(bench.sender.memory(), 12_000 + 6 * 832);
    bench.wait(100);
    bench.ack(2, &[]);
    assert_eq!(bench.sender.memory(), 10_000 + 5 * 832);
    bench.ack(2, &[(3, 4)]);
    assert_eq!(bench.sender.board.skbs(), 6, "2, 3, and four pairs");
    bench.ack(2, &[(3, 7)]);
    assert_eq!(bench.sender.board.skbs(), 5, "2, 3 to 6, 7, and two pairs");
    bench.ack(2, &[(9, 12), (3, 7)]);
    assert_eq!(bench.sender.board.skbs(), 5, "2, 3 to 6, 7, 8, 9 to 11");
    bench.ack(2, &[(3, 12)]);
    assert_eq!(bench.sender.memory(), 10_000 + 2 * 832, "2, and all that came after it");
    bench.ack(7, &[(7, 12)]);
    assert_eq!(bench.sender.memory(), 5_000 + 832, "the middle of an skb is acknowledged");
    bench.ack(12, &[]);
    assert_eq!(bench.sender.memory(), 0);
}

/// PSH of a burst belongs to its transmission (`__tcp_transmit_skb` sets it in the clone): if the second
/// segment of a pair was lost, its retransmission has none; if the pair was lost as a whole, the second one
/// has it. The end of the write always has it.
#[test]
fn what_is_sent_again_has_psh_as_a_burst_or_as_the_end_of_a_write() {
    let mut bench = empty(12);
    bench.sender.write(12_000);
    let pushed = |bench: &mut Bench| {
        let sent = std::iter::from_fn(|| bench.sender.transmit(bench.now));
        sent.map(|sent| (sent.sequence / 1000, sent.push)).collect::<Vec<_>>()
    };
    assert!(pushed(&mut bench).iter().all(|(segment, push)| (segment % 2 == 1) == *push));
    bench.wait(100);
    let mut sack = SackBlocks::default();
    sack.push(4001, 11_001);
    let options = Some(Box::new(SegmentOptions::Sack(sack)));
    let ack = Segment { options, ..bench.segment(1001, 1_000_000) };
    bench.sender.on_ack(bench.now, &ack);
    assert_eq!(pushed(&mut bench), [(1, false), (2, false), (3, true)]);
    bench.wait(100);
    bench.ack(11, &[]);
    bench.now = bench.sender.next_timer(bench.now).expect("a tail loss probe is due");
    bench.sender.on_timer(bench.now);
    assert_eq!(pushed(&mut bench), [(11, true)]);
}
