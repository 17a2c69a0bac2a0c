//! Random segments: lost, duplicated, reordered, overlapping, beyond the window. In all cases, the stream is
//! delivered once and in order, and the acknowledgements are correct.

use super::tests::segment;
use super::*;
use crate::tcp::config::test_config_with;
use proptest::prelude::*;
use quiclab_core::ByteCount;

/// Length of the stream in bytes; FIN follows at position 1 + STREAM.
const STREAM: u64 = 6000;
const PAYLOAD: u64 = 500;

/// A step: position, length, time since the last, whether the application reads, whether an ACK is sent.
type Step = (u64, u64, u64, bool, bool);

/// Received bytes (index: position; the last is FIN), and the number of bytes delivered.
struct Model {
    arrived: Vec<bool>,
    delivered: u64,
    edge: u64,
}

impl Model {
    fn next(&self) -> u64 {
        let missing = self.arrived.iter().skip(1).position(|arrived| !arrived);
        1 + missing.unwrap_or(self.arrived.len() - 1) as u64
    }
    fn has(&self, start: u64, end: u64) -> bool {
        self.arrived[start as usize..end as usize].iter().all(|arrived| *arrived)
    }
}

fn receiver(buffer: u64, sack: bool, timestamps: bool, window_scaling: bool) -> Receiver {
    let receive_buffer = ByteCount::from_bytes(buffer);
    let max_receive_buffer = ByteCount::from_bytes(2 * buffer);
    let config = test_config_with(|tcp| {
        *tcp = TcpValues { receive_buffer, max_receive_buffer, window_scaling, ..tcp.clone() };
    });
    Receiver::new(&config, PAYLOAD, sack, timestamps)
}

/// Segment at a step; the end of the stream carries FIN.
fn piece(start: u64, length: u64, now: Time) -> Segment {
    let end = (start + length).min(1 + STREAM);
    let millis = (now.as_nanos() / 1_000_000) as u32;
    let flags = if end == 1 + STREAM { Flags::ACK.with(Flags::FIN) } else { Flags::ACK };
    Segment {
        flags,
        timestamp: millis,
        timestamp_echo: millis.saturating_sub(20),
        ..segment(start, end - start)
    }
}

/// Delivers the segment to both and compares them.
fn arrive(receiver: &mut Receiver, model: &mut Model, now: Time, piece: &Segment) {
    let before = model.next();
    let end = piece.end().min(model.edge);
    for position in piece.sequence..end.max(piece.sequence) {
        model.arrived[position as usize] = true;
    }
    receiver.on_segment(now, piece, Ecn::NotEct, None);
    assert_eq!(receiver.next_expected(), model.next());
    let is_beyond = piece.sequence > before && piece.sequence < end;
    if is_beyond || piece.end() <= before {
        assert!(receiver.ack_due().is_some(), "duplicates and gaps are acknowledged");
    }
    let newest = is_beyond.then_some((piece.sequence, end));
    check_blocks(receiver, model, newest);
}

fn check_blocks(receiver: &mut Receiver, model: &Model, newest: Option<(u64, u64)>) {
    let next = model.next();
    let limit = if receiver.has_timestamps { 3 } else { 4 };
    let Some(option) = receiver.sack_blocks() else {
        assert!(newest.is_none() || !receiver.sack, "an arrival behind a gap is reported");
        return;
    };
    assert!(receiver.sack);
    let mut blocks = option.as_slice();
    assert!(blocks.len() <= limit);
    // RFC 2883 section 4: a duplicate lies below the acknowledgement or within the second block
    let inside = |a: (u64, u64), b: (u64, u64)| b.0 <= a.0 && a.1 <= b.1;
    if blocks[0].1 <= next || (blocks.len() > 1 && inside(blocks[0], blocks[1])) {
        assert!(model.has(blocks[0].0, blocks[0].1));
        blocks = &blocks[1..];
    }
    for (start, end) in blocks {
        assert!(*start > next && start < end, "block {start}-{end} at {next}");
        assert!(model.has(*start, *end) && receiver.reassembly.holds(*start, *end));
    }
    for (at, block) in blocks.iter().enumerate() {
        let others = &blocks[at + 1..];
        assert!(others.iter().all(|other| other.1 < block.0 || block.1 < other.0), "{blocks:?}");
    }
    if let Some(newest) = newest {
        assert!(inside(newest, blocks[0]), "the first block holds the newest arrival {newest:?}: {blocks:?}");
    }
}

fn acknowledge(receiver: &mut Receiver, model: &mut Model, now: Time) {
    let edge = receiver.next_expected() + u64::from(receiver.window());
    assert!(edge >= model.edge, "the right edge never moves left: {edge} after {}", model.edge);
    model.edge = edge;
    receiver.on_ack_sent(now, true);
    assert_eq!(receiver.ack_due(), None);
}

fn read(receiver: &mut Receiver, model: &mut Model, now: Time) {
    model.delivered += receiver.read(now);
    let next = model.next();
    assert_eq!(model.delivered, next - 1 - u64::from(next == STREAM + 2), "once and in order");
    assert_eq!(receiver.is_finished(), next == STREAM + 2);
}

fn run(mut receiver: Receiver, steps: &[Step]) {
    // index 0 is SYN, the last one FIN
    let mut model =
        Model { arrived: vec![false; STREAM as usize + 2], delivered: 0, edge: receiver.window.edge() };
    let mut now = Time::ZERO;
    for (start, length, gap_ms, reads, acknowledges) in steps {
        now += Duration::from_millis(*gap_ms);
        arrive(&mut receiver, &mut model, now, &piece(*start, *length, now));
        if *reads {
            read(&mut receiver, &mut model, now);
        }
        if *acknowledges {
            acknowledge(&mut receiver, &mut model, now);
        }
    }
    // the sender repeats missing data: all arrive
    for _ in 0..2 * STREAM {
        if receiver.is_finished() {
            break;
        }
        now += Duration::from_millis(1);
        let next = receiver.next_expected();
        if next <= STREAM + 1 && next < model.edge {
            let repeated = piece(next, PAYLOAD.min(model.edge - next), now);
            arrive(&mut receiver, &mut model, now, &repeated);
        }
        read(&mut receiver, &mut model, now);
        acknowledge(&mut receiver, &mut model, now);
    }
    assert!(receiver.is_finished());
    assert_eq!(model.delivered, STREAM);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_order_of_segments_is_delivered_once_and_reported_truly(
        steps in prop::collection::vec(
            (1..=STREAM, 1..700_u64, 0..60_u64, any::<bool>(), prop::bool::weighted(0.7)), 1..150),
        buffer in 2000..30_000_u64,
        sack in any::<bool>(),
        timestamps in any::<bool>(),
        scaling in any::<bool>(),
    ) {
        run(receiver(buffer, sack, timestamps, scaling), &steps);
    }

    /// Equal segments at their boundaries, as a real sender has them: long intervals and many merges.
    #[test]
    fn equal_segments_in_any_order_are_delivered_once(
        numbers in prop::collection::vec((0..60_u64, 0..3_u64, any::<bool>()), 1..200),
        sack in any::<bool>(),
    ) {
        let steps: Vec<Step> =
            numbers.iter().map(|(number, gap, acks)| (1 + number * 100, 100, *gap, true, *acks)).collect();
        run(receiver(131_072, sack, true, true), &steps);
    }
}
