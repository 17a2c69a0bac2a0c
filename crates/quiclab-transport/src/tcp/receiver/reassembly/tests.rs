//! The examples of RFC 2018 and RFC 2883, and the order in which Linux remembers blocks.

use super::*;

fn blocks(store: &mut Reassembly) -> Vec<Interval> {
    store.take_blocks(4).map_or(Vec::new(), |blocks| blocks.as_slice().to_vec())
}

/// RFC 2018 section 7: segments of 500 bytes at 5000 to 8500; the stream here begins at 5000, too.
fn at_5000() -> Reassembly {
    let mut store = Reassembly::new(true, true);
    assert_eq!(store.insert(1, 5000, false), Outcome::InOrder { filled: false });
    store
}
fn arrive(store: &mut Reassembly, start: u64) -> Vec<Interval> {
    store.insert(start, start + 500, false);
    blocks(store)
}

/// RFC 2018 section 7, case 1: the first four segments arrive, the last four do not.
#[test]
fn without_a_gap_there_is_no_block() {
    let mut store = at_5000();
    for start in [5000, 5500, 6000, 6500] {
        assert_eq!(arrive(&mut store, start), []);
    }
    assert_eq!(store.next(), 7000);
}

/// RFC 2018 section 7, case 2: the first segment is lost, the others arrive: one growing block.
#[test]
fn a_lost_first_segment_gives_one_growing_block() {
    let mut store = at_5000();
    for start in (5500..9000).step_by(500) {
        assert_eq!(arrive(&mut store, start), [(5500, start + 500)]);
    }
    assert_eq!((store.next(), store.held_bytes()), (5000, 3500));
}

/// RFC 2018 section 7, case 3: the 2nd, 4th, 6th and 8th segment are lost; then the 4th arrives,
/// then the 2nd. The ACK of the 4th lists 6000-7500 first, then 8000-8500; that of the 2nd 8000-8500.
#[test]
fn every_second_segment_lost_gives_the_blocks_of_the_rfc() {
    let mut store = at_5000();
    assert_eq!(arrive(&mut store, 5000), []);
    assert_eq!(arrive(&mut store, 6000), [(6000, 6500)]);
    assert_eq!(arrive(&mut store, 7000), [(7000, 7500), (6000, 6500)]);
    assert_eq!(arrive(&mut store, 8000), [(8000, 8500), (7000, 7500), (6000, 6500)]);
    assert_eq!(arrive(&mut store, 6500), [(6000, 7500), (8000, 8500)]);
    assert_eq!(arrive(&mut store, 5500), [(8000, 8500)]);
    assert_eq!((store.next(), store.held_bytes()), (7500, 500));
    assert_eq!(store.insert(7500, 8000, false), Outcome::InOrder { filled: true });
    assert_eq!((blocks(&mut store), store.next()), (vec![], 8500));
}

/// Five gaps, four places: the oldest block is dropped although its data are held, as in Linux. A neighbour
/// of the dropped block makes a separate block.
#[test]
fn the_four_blocks_changed_last_are_remembered() {
    let mut store = at_5000();
    for start in [6000, 7000, 8000, 9000] {
        arrive(&mut store, start);
    }
    let expected = [(10000, 10500), (9000, 9500), (8000, 8500), (7000, 7500)];
    assert_eq!(arrive(&mut store, 10000), expected);
    assert!(store.holds(6000, 6500));
    assert_eq!(
        arrive(&mut store, 6500),
        [(6500, 7500), (10000, 10500), (9000, 9500), (8000, 8500)],
        "joined with 7000, not with the forgotten 6000"
    );
    assert!(store.holds(6000, 7500));
    // the block at the fourth place moves to the front
    assert_eq!(
        arrive(&mut store, 8500),
        [(8000, 9500), (6500, 7500), (10000, 10500)],
        "8000 grew into 9000: both are one"
    );
}

/// Linux sends a merged ACK at once before a block beyond the second changes.
#[test]
fn a_change_behind_the_second_block_is_distant() {
    let mut store = at_5000();
    let near = Outcome::OutOfOrder { distant: false };
    let far = Outcome::OutOfOrder { distant: true };
    assert_eq!(store.insert(6000, 6500, false), near);
    assert_eq!(store.insert(7000, 7500, false), near);
    assert_eq!(store.insert(6500, 6600, false), near, "second place");
    assert_eq!(store.insert(8000, 8500, false), far, "a third block");
    assert_eq!(store.insert(7500, 7600, false), far, "third place");
    assert_eq!(store.insert(7600, 7700, false), near, "it is the first now");
}

/// Receiver of the examples of RFC 2883, with all data before `next`.
fn from(next: u64) -> Reassembly {
    let mut store = Reassembly::new(true, true);
    store.insert(1, next, false);
    store
}
/// ACK of a segment: acknowledgement number and blocks.
fn ack(store: &mut Reassembly, start: u64, end: u64) -> (u64, Vec<Interval>) {
    store.insert(start, end, false);
    (store.next(), blocks(store))
}

/// RFC 2883 section 4, example 1: two ACKs are lost, the first segment is sent again.
#[test]
fn a_duplicate_segment_is_reported_once() {
    let mut store = from(3000);
    assert_eq!(ack(&mut store, 3000, 3500), (3500, vec![]));
    assert_eq!(ack(&mut store, 3500, 4000), (4000, vec![]));
    assert_eq!(store.insert(3000, 3500, false), Outcome::Duplicate);
    assert_eq!(blocks(&mut store), [(3000, 3500)]);
    assert_eq!(blocks(&mut store), [], "the next ACK has it no more");
}

/// RFC 2883 section 4, example 2: 4000-4499 is lost, all ACKs, too.
#[test]
fn a_duplicate_stands_before_the_other_blocks() {
    let mut store = from(4000);
    assert_eq!(ack(&mut store, 4500, 5000), (4000, vec![(4500, 5000)]));
    assert_eq!(ack(&mut store, 3000, 3500), (4000, vec![(3000, 3500), (4500, 5000)]));
}

/// RFC 2883 section 4, example 3: the network duplicates a segment behind a gap.
#[test]
fn a_duplicate_out_of_order_is_followed_by_its_block() {
    let mut store = from(3500);
    assert_eq!(ack(&mut store, 3500, 4000), (4000, vec![]));
    assert_eq!(ack(&mut store, 4500, 5000), (4000, vec![(4500, 5000)]));
    assert_eq!(ack(&mut store, 5000, 5500), (4000, vec![(4500, 5500)]));
    assert_eq!(ack(&mut store, 5000, 5500), (4000, vec![(5000, 5500), (4500, 5500)]));
}

/// RFC 2883 section 4, example 4: segments of 1000 bytes instead of 500 after a retransmission.
#[test]
fn a_partly_old_segment_reports_the_old_part() {
    let mut store = from(1000);
    assert_eq!(ack(&mut store, 2000, 2500), (1000, vec![(2000, 2500)]));
    assert_eq!(ack(&mut store, 1000, 1500), (1500, vec![(2000, 2500)]));
    assert_eq!(ack(&mut store, 1000, 2000), (2500, vec![(1000, 1500)]));
}

/// RFC 2883 section 4, example 5: of two old parts below the acknowledgement the first is reported.
#[test]
fn of_two_duplicate_parts_the_first_is_reported() {
    let mut store = from(1000);
    assert_eq!(ack(&mut store, 3000, 3500), (1000, vec![(3000, 3500)]));
    assert_eq!(ack(&mut store, 1000, 1500), (1500, vec![(3000, 3500)]));
    assert_eq!(ack(&mut store, 2000, 2500), (1500, vec![(2000, 2500), (3000, 3500)]));
    assert_eq!(ack(&mut store, 1000, 2500), (2500, vec![(1000, 1500), (3000, 3500)]));
}

/// RFC 2883 section 4, example 6: of two old parts above the acknowledgement, too, and the block that
/// contains it follows.
#[test]
fn a_segment_over_two_blocks_reports_the_first_overlap() {
    let mut store = from(1000);
    assert_eq!(ack(&mut store, 3500, 4000), (1000, vec![(3500, 4000)]));
    assert_eq!(ack(&mut store, 1500, 2000), (1000, vec![(1500, 2000), (3500, 4000)]));
    let three = vec![(2500, 3000), (1500, 2000), (3500, 4000)];
    assert_eq!(ack(&mut store, 2500, 3000), (1000, three));
    let three = vec![(1500, 2000), (1500, 3000), (3500, 4000)];
    assert_eq!(ack(&mut store, 1500, 3000), (1000, three));
    assert!(store.holds(1500, 3000) && !store.holds(1500, 3001));
}

/// A segment that fills a gap may overlap data held behind it.
#[test]
fn a_segment_that_fills_more_than_the_gap_reports_the_overlap() {
    let mut store = from(1000);
    store.insert(2000, 3000, false);
    assert_eq!(ack(&mut store, 1000, 2500), (3000, vec![(2000, 2500)]));
}

#[test]
fn without_sack_or_dsack_nothing_is_reported() {
    let mut plain = Reassembly::new(false, true);
    plain.insert(100, 200, false);
    plain.insert(100, 200, false);
    assert_eq!(blocks(&mut plain), []);
    let mut sack = Reassembly::new(true, false);
    sack.insert(100, 200, false);
    sack.insert(100, 200, false);
    assert_eq!(blocks(&mut sack), [(100, 200)]);
}

#[test]
fn fin_counts_when_everything_before_it_is_there() {
    let mut store = Reassembly::new(true, true);
    store.insert(101, 202, true); // 100 bytes and FIN at 201
    store.insert(300, 400, false); // behind FIN: must not exist
    assert!(!store.is_complete());
    store.insert(1, 101, false);
    assert!(store.is_complete());
    assert_eq!((store.next(), store.readable(), store.held_bytes()), (202, 201, 0));
    assert_eq!(store.insert(250, 260, false), Outcome::Duplicate, "nothing follows FIN");
    assert_eq!((store.next(), blocks(&mut store)), (202, vec![]));
}

/// Ten thousand gaps, filled from the end: only the last one makes data readable.
#[test]
fn thousands_of_gaps_are_merged() {
    let mut store = Reassembly::new(true, true);
    for gap in 1..=10_000_u64 {
        store.insert(gap * 20 + 1, gap * 20 + 11, false);
    }
    assert_eq!((store.held_bytes(), store.held.len()), (100_000, 10_000));
    for gap in (1..=10_000_u64).rev() {
        store.insert(gap * 20 - 9, gap * 20 + 1, false);
    }
    assert_eq!((store.held.len(), store.next()), (1, 1));
    assert_eq!(store.insert(1, 11, false), Outcome::InOrder { filled: true });
    assert_eq!(store.next(), 200_011);
}

/// Segments of 500 B have 1280 B of memory each ((500 + 436) rounded up to 1024, and 256), one of 100 B has
/// 1280, too. Data in order have memory until they are read, a duplicate has none.
#[test]
fn memory_is_that_of_the_segments() {
    let mut store = at_5000();
    store.on_read();
    assert_eq!(store.memory(), 0);
    for start in [5500, 6000, 7000, 6000] {
        arrive(&mut store, start);
    }
    assert_eq!(store.memory(), 3 * 1280);
    store.insert(7600, 7700, false);
    assert_eq!((store.memory(), store.held_bytes()), (4 * 1280, 1600));
    arrive(&mut store, 5000);
    assert_eq!((store.next(), store.memory()), (6500, 5 * 1280));
    store.on_read();
    assert_eq!(store.memory(), 2 * 1280, "7000 to 7500, and 7600 to 7700");
    arrive(&mut store, 6500);
    store.insert(7500, 7600, false);
    store.on_read();
    assert_eq!((store.next(), store.memory()), (7700, 0));
}
