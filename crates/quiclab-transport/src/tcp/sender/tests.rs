//! Reaction of the sender to acknowledgements written by hand. Segments have 1000 bytes: segment n (from 0)
//! is 1 + 1000 n. The path is 100 ms long unless stated otherwise.

mod bursts;
mod corners;
mod marks;

use super::*;
use crate::congestion::{Ack, CongestionEvent, Phase};
use crate::options::RateReduction;
use crate::tcp::config::test_config_with;
use quiclab_core::{DataRate, Flags, Segment, SegmentOptions};

/// Controller that halves the window, so that tests show the behaviour of the sender, not of a controller.
struct Halving {
    window: u64,
    prior: u64,
    grows: bool,
}

impl Controller for Halving {
    fn on_ack(&mut self, ack: &Ack) {
        if self.grows && ack.may_grow {
            self.window += ack.acked_bytes;
        }
    }
    fn on_congestion(&mut self, _: &CongestionEvent) {
        self.prior = self.window;
        self.window /= 2;
    }
    fn on_timeout(&mut self, event: &CongestionEvent, _: bool) {
        self.prior = self.window;
        self.window = event.in_flight + 1000;
        self.grows = true;
    }
    fn on_spurious(&mut self, _: Time) {
        self.window = self.window.max(self.prior);
    }
    fn window(&self) -> u64 {
        self.window
    }
    fn ssthresh(&self) -> Option<u64> {
        Some(0)
    }
    fn phase(&self) -> Phase {
        Phase::CongestionAvoidance
    }
}

struct NoPacing;

impl Pacer for NoPacing {
    fn update(&mut self, _: Time, _: &PacingInput) {}
    fn release(&self, now: Time, _: u64) -> Time {
        now
    }
    fn on_sent(&mut self, _: Time, _: u64) {}
    fn rate(&self) -> Option<DataRate> {
        None
    }
}

/// Sender with the segments that it sends.
struct Bench {
    sender: Sender,
    now: Time,
}

impl Bench {
    fn new(window: u64) -> Self {
        Self::with(window, |_| {}, true)
    }

    /// Makes a bench one round trip after a window of segments was sent.
    fn flight(window: u64) -> Self {
        let mut bench = Self::new(window);
        bench.sent();
        bench.wait(100);
        bench
    }

    fn with(window: u64, change: impl FnOnce(&mut TcpValues), sack: bool) -> Self {
        Self::paced(window, change, sack, Box::new(NoPacing))
    }

    fn paced(window: u64, change: impl FnOnce(&mut TcpValues), sack: bool, pacer: Box<dyn Pacer>) -> Self {
        let config = test_config_with(change);
        let agreed = Agreed {
            payload: 1000,
            sack,
            timestamps: true,
            window: 1_000_000,
            rtt: Some(Duration::from_millis(100)),
            ecn: config.tcp.ecn,
            feedback: (config.tcp.ecn == TcpEcn::Accurate).then(|| Feedback::new(false, false)),
        };
        let controller = Box::new(Halving { window: window * 1000, prior: 0, grows: false });
        let now = Time::ZERO + Duration::from_secs(1);
        let mut sender = Sender::new(&config, agreed, now, controller, pacer);
        sender.write(1_000_000);
        Self { sender, now }
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self
    }

    /// Takes the numbers of the segments sent now.
    fn sent(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.sender.transmit(self.now)).map(|sent| sent.sequence / 1000).collect()
    }

    /// Delivers an acknowledgement of all data before segment `next`, with SACK blocks of segments
    /// `from..to`.
    fn ack(&mut self, next: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
        self.ack_echoing(next, blocks, self.now_ms().saturating_sub(100))
    }

    /// Acknowledgement that arrives now and echoes a timestamp of 100 ms ago.
    fn segment(&self, acknowledgement: u64, window: u64) -> Segment {
        Segment {
            sequence: 1,
            acknowledgement,
            window: u32::try_from(window).expect("32 bits"),
            timestamp: self.now_ms(),
            timestamp_echo: self.now_ms().saturating_sub(100),
            flags: Flags::ACK,
            ..Segment::default()
        }
    }

    fn now_ms(&self) -> u32 {
        (self.now.as_nanos() / 1_000_000) as u32
    }

    fn ack_echoing(&mut self, next: u64, blocks: &[(u64, u64)], echo: u32) -> Vec<u64> {
        let mut sack = SackBlocks::default();
        blocks.iter().for_each(|(from, to)| sack.push(1 + from * 1000, 1 + to * 1000));
        let segment = Segment {
            timestamp_echo: echo,
            options: (!blocks.is_empty()).then(|| Box::new(SegmentOptions::Sack(sack))),
            ..self.segment(1 + next * 1000, 1_000_000)
        };
        self.sender.on_ack(self.now, &segment);
        self.sent()
    }

    /// Expires the next timer.
    fn timer(&mut self) -> Vec<u64> {
        self.now = self.sender.next_timer(self.now).expect("a timer runs").max(self.now);
        self.sender.on_timer(self.now);
        self.sent()
    }
}

/// Segment 0 of 10 is lost. Two segments selectively acknowledged are fewer than DupThresh: the sender waits;
/// with the third, 0 is lost (RFC 8985 section 6.2) and retransmitted; the window halves once.
#[test]
fn the_third_selective_acknowledgement_declares_the_hole_lost() {
    let mut bench = Bench::new(10);
    assert_eq!(bench.sent(), (0..10).collect::<Vec<_>>());
    bench.wait(100);
    assert_eq!(bench.ack(0, &[(1, 2)]), [10]);
    assert_eq!(bench.ack(0, &[(1, 3)]), [11]);
    assert_eq!(bench.ack(0, &[(1, 4)]), [0]);
    let state = bench.sender.snapshot();
    assert_eq!((state.counts.lost, state.counts.congestion_events, state.counts.retransmitted), (1, 1, 1));
    // PRR: 12 outstanding, 4 of them delivered or lost; half of the number delivered is sent
    let mut new = 0;
    for last in 5..12 {
        new += bench.ack(0, &[(1, last)]).len();
    }
    assert_eq!(new, 3, "one new segment for two delivered");
    bench.wait(100);
    assert!(!bench.ack(12, &[]).is_empty());
    assert_eq!((bench.sender.state, bench.sender.cwnd()), (State::Open, 5));
}

/// "Only once per round trip": losses of the same flight do not reduce the window again.
#[test]
fn two_losses_of_one_flight_cut_the_window_once() {
    let mut bench = Bench::flight(16);
    bench.ack(0, &[(1, 2)]);
    let mut sent = bench.ack(0, &[(1, 5)]);
    sent.extend(bench.ack(0, &[(6, 10), (1, 5)]));
    sent.extend(bench.ack(0, &[(6, 16), (1, 5)]));
    assert!(sent.contains(&0) && sent.contains(&5), "{sent:?}");
    assert_eq!(bench.sender.snapshot().counts.congestion_events, 1);
    assert_eq!(bench.sender.snapshot().counts.lost, 2);
}

/// ACK compression: one acknowledgement brings two new blocks, the newest first. Segments 0 and 4 are lost;
/// no segment overtook another.
#[test]
fn two_new_blocks_in_one_acknowledgement_are_no_reordering() {
    let mut bench = Bench::flight(16);
    bench.ack(0, &[(5, 10), (1, 4)]);
    assert!(!bench.sender.reordering.is_seen());
    assert_eq!((bench.sender.reordering.segments(), bench.sender.snapshot().counts.lost), (3, 2));
}

/// The extent of reordering reaches from the late segment to the end of the highest one: 0 to 9 are ten segments, nine of
/// which overtook it (`tcp_highest_sack_seq` is the segment after the highest one).
#[test]
fn the_extent_of_reordering_includes_the_highest_segment() {
    let mut bench = Bench::flight(10);
    for last in 2..=10 {
        bench.ack(0, &[(1, last)]);
    }
    bench.ack_echoing(10, &[], bench.now_ms() - 100); // the first copy of 0, late
    assert_eq!(bench.sender.snapshot().reordering, 10);
}

/// RFC 8985 section 6.2: once reordering was detected, a hole waits min_rtt / 4 = 25 ms longer than an RTT.
#[test]
fn after_reordering_was_seen_a_hole_waits_a_quarter_of_the_rtt() {
    let mut bench = Bench::flight(10);
    bench.ack(0, &[(1, 3)]);
    bench.ack(3, &[]); // 0 arrived late: no loss, reordering of 3 segments
    assert_eq!(bench.sender.snapshot().counts.lost, 0);
    assert!(bench.sender.reordering.is_seen());
    bench.ack(3, &[(4, 9)]); // five above the hole: no loss for DupThresh now
    assert_eq!(bench.sender.snapshot().counts.lost, 0);
    let due = bench.sender.next_timer(bench.now).unwrap();
    // sent at 1 s, RTT 100 ms, window 25 ms, margin 2 ms
    assert_eq!(due, Time::ZERO + Duration::from_millis(1127));
    assert_eq!(bench.timer()[0], 3);
    assert_eq!(bench.sender.state, State::Recovery);
}

/// RFC 8985 section 7: the last segment is lost; 2 SRTT and 2 ms later it is retransmitted, and its
/// acknowledgement reduces the window.
#[test]
fn a_tail_loss_probe_repairs_the_tail() {
    let mut bench = Bench::with(10, |_| {}, true);
    bench.sender.writes.truncate(3001); // three segments in all
    bench.sender.finish();
    bench.sent();
    bench.wait(100);
    assert!(bench.ack(2, &[]).is_empty());
    // one segment outstanding: 2 · 100 ms and the minimum RTO, bounded by RTO = 300 ms
    let due = bench.sender.next_timer(bench.now).unwrap();
    assert_eq!(due.since(bench.now), Duration::from_millis(300));
    assert_eq!(bench.timer(), [2]);
    assert_eq!(bench.sender.snapshot().counts.tail_loss_probes, 1);
    bench.wait(100);
    let segment_end = 3001 + 1;
    let before = bench.sender.cwnd();
    let ack = bench.segment(segment_end, 1_000_000);
    bench.sender.on_ack(bench.now, &ack);
    assert!(bench.sender.is_all_acknowledged() && bench.sender.timer.deadline().is_none());
    assert_eq!(bench.sender.cwnd(), before, "it acknowledges no more than the probe: no evidence of a loss");
}

/// RFC 6298 section 5: without acknowledgements, the head is retransmitted after the RTO, then after twice
/// that.
#[test]
fn the_retransmission_timeout_doubles() {
    let mut bench = Bench::with(4, |config| config.tail_loss_probe = false, true);
    bench.sent();
    let start = bench.now;
    assert_eq!(bench.timer(), [0]);
    assert_eq!(bench.now.since(start), Duration::from_millis(300)); // SRTT 100 ms + 200 ms
    assert_eq!(bench.timer(), [0]);
    assert_eq!(bench.now.since(start), Duration::from_millis(300 + 600));
    assert_eq!(bench.sender.retries(), 2);
    assert_eq!(bench.sender.snapshot().counts.timeouts, 2);
    // an acknowledgement of the head: F-RTO sends new data first (RFC 5682 section 3.1 step 2b)
    bench.wait(100);
    assert_eq!(bench.ack(1, &[]), [4, 5]);
    assert_eq!(bench.sender.retries(), 0);
    // duplicates: the loss was real, the rest follows
    assert_eq!(bench.ack(1, &[(4, 5)])[0], 1);
}

/// F-RTO step 3b: data that were never retransmitted are acknowledged: the timeout was spurious, the window
/// is restored.
#[test]
fn a_spurious_timeout_is_undone_by_frto() {
    let mut bench = Bench::with(4, |config| config.tail_loss_probe = false, true);
    bench.sender.timestamps = false; // otherwise Eifel detects it first
    bench.sent();
    bench.timer();
    assert_eq!(bench.sender.cwnd(), 1);
    bench.wait(1);
    bench.ack(1, &[]);
    bench.ack(2, &[]);
    assert_eq!((bench.sender.state, bench.sender.snapshot().counts.undos), (State::Open, 1));
    assert!(bench.sender.cwnd() >= 4);
}

/// Eifel (RFC 3522): the acknowledgement echoes the original's timestamp: the reduction is undone.
#[test]
fn an_echo_older_than_the_retransmission_undoes_the_reduction() {
    let mut bench = Bench::new(10);
    bench.sent();
    let sent_at = bench.now_ms();
    bench.wait(100);
    bench.ack(0, &[(1, 2)]);
    assert_eq!(bench.ack(0, &[(1, 4)])[0], 0);
    bench.wait(5);
    bench.ack_echoing(11, &[], sent_at);
    assert_eq!((bench.sender.state, bench.sender.snapshot().counts.undos), (State::Open, 1));
    assert_eq!(bench.sender.cwnd(), 10);
}

/// RFC 3708: the one retransmission is reported as a duplicate, after recovery has ended.
#[test]
fn a_dsack_for_every_retransmission_undoes_the_reduction() {
    let mut bench = Bench::flight(10);
    bench.ack(0, &[(1, 2)]);
    bench.ack(0, &[(1, 4)]);
    bench.wait(10);
    let retransmitted = bench.now_ms();
    bench.ack_echoing(11, &[], retransmitted);
    assert_eq!((bench.sender.state, bench.sender.cwnd()), (State::Open, 5));
    bench.wait(90);
    bench.ack_echoing(11, &[(0, 1)], retransmitted);
    assert_eq!((bench.sender.snapshot().counts.undos, bench.sender.snapshot().counts.spurious), (1, 1));
    assert_eq!(bench.sender.cwnd(), 10);
}

/// RACK detects a retransmission that is lost again: a segment sent after it has arrived.
#[test]
fn a_lost_retransmission_is_sent_again_without_a_timeout() {
    let mut bench = Bench::flight(20);
    bench.ack(0, &[(1, 2)]);
    bench.ack(0, &[(1, 6)]);
    let after = (6..16).flat_map(|last| bench.ack(0, &[(1, last)])).max().unwrap();
    assert!(after >= 20, "new data follows the retransmission");
    bench.wait(100);
    // the new data arrive, the retransmission does not
    let sent = bench.ack(0, &[(1, after + 1)]);
    assert_eq!(sent[0], 0);
    assert_eq!(bench.sender.snapshot().counts.timeouts, 0);
    assert_eq!(bench.sender.snapshot().counts.lost, 2);
}

/// Without SACK: three duplicates, then one hole for each partial acknowledgement (RFC 6582).
#[test]
fn without_sack_newreno_fills_one_hole_per_round_trip() {
    let mut bench = Bench::with(10, |config| config.undo = false, false);
    bench.sent();
    bench.wait(100);
    bench.ack(0, &[]);
    bench.ack(0, &[]);
    assert!(bench.ack(0, &[]).contains(&0));
    bench.wait(100);
    // the partial acknowledgement identifies the next hole; PRR releases it with the next duplicates
    let sent: Vec<u64> = (0..4).flat_map(|_| bench.ack(4, &[])).collect();
    assert_eq!(sent[0], 4);
    bench.wait(100);
    let next = bench.sender.snd.next() / 1000;
    bench.ack(next, &[]);
    assert_eq!(bench.sender.snapshot().counts.congestion_events, 1);
}

/// RFC 9293 section 3.8.6.1: a closed window is probed, at increasing intervals, and nothing else is sent.
#[test]
fn a_closed_window_is_probed() {
    let mut bench = Bench::flight(4);
    let closed = bench.segment(4001, 0);
    bench.sender.on_ack(bench.now, &closed);
    assert!(bench.sent().is_empty());
    let start = bench.now;
    let probe = |bench: &mut Bench| {
        bench.now = bench.sender.next_timer(bench.now).unwrap();
        bench.sender.on_timer(bench.now);
        bench.sender.transmit(bench.now).unwrap()
    };
    let first = probe(&mut bench);
    assert_eq!((first.sequence, first.length), (4000, 0));
    let pause = bench.now.since(start);
    probe(&mut bench);
    assert_eq!(bench.now.since(start), pause * 3);
    bench.sender.on_ack(bench.now, &Segment { window: 2000, ..closed });
    assert_eq!(bench.sent(), [4, 5]);
}

/// Known are an RTT of 150 ms, longer than the 100 ms of the handshake, and a reordering of 12: the first RTO
/// is 150 ms and twice as much, which is more than the minimum RTO of 200 ms.
#[test]
fn it_starts_with_what_is_known_of_the_peer() {
    let mut bench = Bench::new(10);
    let rtt = Some(Duration::from_millis(150));
    bench.sender.load_metrics(bench.now, &SavedTcpMetrics { ssthresh: None, rtt, reordering: Some(12) });
    let snapshot = bench.sender.snapshot();
    assert_eq!((snapshot.rto, snapshot.reordering), (Duration::from_millis(450), 12));
    let expected = FinalState {
        backed_off: false,
        srtt: Some(Duration::from_millis(100)),
        window: 10,
        ssthresh: Some(0),
        open: true,
        reordering: 12,
        usual_reordering: 3,
    };
    assert_eq!(bench.sender.ended(), expected);
}

#[test]
fn at_its_end_a_connection_tells_of_a_timeout_and_of_a_repair() {
    let mut bench = Bench::new(10);
    bench.sent();
    bench.ack(0, &[(1, 5)]);
    assert!(!bench.sender.ended().open);
    let mut bench = Bench::new(10);
    bench.sent();
    for _ in 0..3 {
        bench.now = bench.sender.next_timer(bench.now).expect("segments are outstanding");
        bench.sender.on_timer(bench.now);
        bench.sent();
    }
    assert!(bench.sender.ended().backed_off);
}
