//! Marks that acknowledgements report, and the reduction for them.

use super::*;
use quiclab_core::{Ecn, Metrics};

fn capable() -> Bench {
    let mut bench = Bench::with(10, |tcp| tcp.ecn = TcpEcn::Classic, true);
    bench.sent();
    bench.wait(100);
    bench
}

impl Bench {
    /// Delivers an acknowledgement of all data before segment `next` that echoes a mark.
    fn marked(&mut self, next: u64, blocks: &[(u64, u64)]) -> Vec<Transmission> {
        let mut sack = SackBlocks::default();
        blocks.iter().for_each(|(from, to)| sack.push(1 + from * 1000, 1 + to * 1000));
        let segment = Segment {
            flags: Flags::ACK.with(Flags::ECE),
            options: (!blocks.is_empty()).then(|| Box::new(SegmentOptions::Sack(sack))),
            ..self.segment(1 + next * 1000, 1_000_000)
        };
        self.sender.on_ack(self.now, &segment);
        std::iter::from_fn(|| self.sender.transmit(self.now)).collect()
    }
}

/// With ten segments in flight, the window halves once per round trip to 5, without a retransmission. PRR
/// releases one segment for two that are delivered; the first new one has CWR. The period ends when a segment
/// behind it is acknowledged.
#[test]
fn a_mark_halves_the_window_once_in_a_round_trip() {
    let mut bench = capable();
    let sent = bench.marked(1, &[]);
    let told: Vec<_> =
        sent.iter().map(|sent| (sent.sequence / 1000, sent.ecn, sent.window_reduced)).collect();
    assert_eq!(told, [(10, Ecn::Ect0, true)]);
    let mut new = Vec::new();
    for next in 2..=10 {
        new.extend(
            bench.marked(next, &[]).into_iter().map(|sent| (sent.sequence / 1000, sent.window_reduced)),
        );
    }
    assert_eq!(new, [(11, false), (12, false), (13, false), (14, false)]);
    let state = bench.sender.snapshot();
    assert_eq!((state.counts.congestion_events, state.counts.retransmitted, state.counts.marked), (1, 0, 10));
    assert_eq!((bench.sender.state, bench.sender.cwnd()), (State::Cwr, 5));
    // the eleventh segment carried CWR
    bench.wait(100);
    bench.ack(11, &[]);
    assert_eq!((bench.sender.state, bench.sender.cwnd()), (State::Open, 5));
    bench.marked(12, &[]);
    assert_eq!(bench.sender.snapshot().counts.congestion_events, 2);
}

/// Losses within the period are retransmitted, and the window is not reduced a second time.
#[test]
fn losses_after_marks_are_of_the_same_reduction() {
    let mut bench = capable();
    bench.marked(1, &[]);
    bench.wait(1);
    // four are delivered and one is lost: five are in flight, the target of the window
    assert!(bench.marked(1, &[(2, 6)]).is_empty());
    assert_eq!(bench.sender.state, State::Recovery);
    let sent = bench.marked(1, &[(2, 7)]);
    assert!(sent.iter().any(|sent| sent.sequence == 1001 && sent.retransmission));
    // RFC 3168 section 6.1.5: retransmissions are not ECN-capable
    assert!(sent.iter().all(|sent| (sent.ecn == Ecn::Ect0) != sent.retransmission));
    assert_eq!(bench.sender.snapshot().counts.congestion_events, 1);
}

/// A reduction for marks is required: evidence that losses were none does not undo it.
#[test]
fn a_reduction_for_marks_is_not_undone() {
    let mut bench = capable();
    bench.marked(1, &[]);
    bench.wait(1);
    bench.marked(1, &[(2, 6)]);
    // the "lost" segment was late: the acknowledged copy was sent before the retransmission
    bench.ack_echoing(10, &[], bench.now_ms() - 101);
    assert_eq!(bench.sender.snapshot().cwnd_bytes, 5000);
}

/// RFC 3168 section 6.1.1: without negotiation nothing is ECN-capable, and ECE is ignored.
#[test]
fn without_agreement_marks_are_ignored() {
    let mut bench = Bench::flight(10);
    let sent = bench.marked(1, &[]);
    assert!(sent.iter().all(|sent| sent.ecn == Ecn::NotEct && !sent.window_reduced));
    let state = bench.sender.snapshot();
    assert_eq!((bench.sender.cwnd(), state.counts.congestion_events, state.has_ecn), (10, 0, false));
    let mut reported = Metrics::default();
    state.report(&mut reported);
    assert_eq!(reported.get("marked_packets"), None);
}

/// RFC 8257 section 3: all packets are ECN-capable.
#[test]
fn retransmissions_of_dctcp_are_capable() {
    let mut bench = Bench::with(10, |tcp| tcp.ecn = TcpEcn::Dctcp, true);
    bench.sent();
    bench.wait(100);
    let sent = bench.marked(0, &[(1, 5)]);
    assert!(sent.iter().any(|sent| sent.retransmission) && sent.iter().all(|sent| sent.ecn == Ecn::Ect0));
}

/// RFC 9768 section 3.2.2: the controller receives the count of an acknowledgement; the window is reduced
/// once in a round trip, without CWR, and an acknowledgement that was overtaken is ignored.
#[test]
fn accurate_feedback_is_counted() {
    let mut bench = Bench::with(10, |tcp| tcp.ecn = TcpEcn::Accurate, true);
    bench.sent();
    bench.wait(100);
    let mut acknowledge = |next: u64, marks: u8, timestamp: u32| {
        let flags = Flags::ACK.with(Flags::of_ace(5 + marks));
        let segment = Segment { flags, timestamp, ..bench.segment(1 + next * 1000, 1_000_000) };
        bench.sender.on_ack(bench.now, &segment);
        let sent: Vec<_> = std::iter::from_fn(|| bench.sender.transmit(bench.now)).collect();
        assert!(sent.iter().all(|sent| sent.ecn == Ecn::Ect0 && !sent.window_reduced));
        let state = bench.sender.snapshot();
        assert!(state.has_ecn);
        (state.counts.marked, state.counts.congestion_events)
    };
    assert_eq!(acknowledge(2, 0, 1100), (0, 0));
    assert_eq!(acknowledge(4, 1, 1101), (1, 1));
    // nothing new is acknowledged, and the timestamp is old; then the same with a new timestamp
    assert_eq!(acknowledge(4, 2, 1101), (1, 1));
    assert_eq!(acknowledge(4, 2, 1102), (2, 1));
    assert_eq!(acknowledge(8, 6, 1103), (6, 1));
}
