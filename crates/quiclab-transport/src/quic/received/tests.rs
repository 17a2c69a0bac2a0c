//! Cases by hand, and comparison with a set of all packets received.

use super::*;
use crate::acknowledgement::{Every, Timer};
use crate::testing::ms;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

fn received(most_ranges: u32) -> Received {
    Received::new(Box::new(Every::new(2, Duration::from_millis(25))), most_ranges)
}

fn with(most_ranges: u32, numbers: impl IntoIterator<Item = u64>) -> Received {
    let mut received = received(most_ranges);
    for number in numbers {
        assert!(!received.is_duplicate(number), "{number}");
        received.on_packet(ms(number), number, true, Ecn::NotEct, None);
    }
    received
}

fn ranges(received: &Received, room: usize) -> Vec<RangeInclusive<u64>> {
    received.ack_frame(ms(1000), room).map_or_else(Vec::new, |frame| frame.ranges.to_vec())
}

#[test]
fn the_largest_ranges_come_first_with_the_delay_of_the_largest_packet() {
    let received = with(8, [0, 1, 2, 5, 6, 9]);
    let frame = received.ack_frame(ms(13), 100).unwrap();
    assert_eq!(frame.ranges.as_slice(), [9..=9, 5..=6, 0..=2]);
    assert_eq!(frame.delay, Duration::from_millis(4));
    assert_eq!((frame.ecn, frame.path), (None, None));
    assert_eq!(self::received(8).ack_frame(ms(13), 100), None);
}

/// Largest 9, delay 991 ms / 8 us = 123 875 (4 bytes), count, first range 0: 8 bytes; each further range
/// takes 2.
#[test]
fn as_many_ranges_as_fit() {
    let received = with(8, [0, 1, 2, 5, 6, 9]);
    assert_eq!(ranges(&received, 7), []);
    assert_eq!(ranges(&received, 8), vec![9..=9]);
    assert_eq!(ranges(&received, 9), vec![9..=9]);
    assert_eq!(ranges(&received, 10), [9..=9, 5..=6]);
    assert_eq!(ranges(&received, 12), [9..=9, 5..=6, 0..=2]);
}

/// 70 single packets two apart: 69 further ranges take 2 bytes each, their count 2 bytes from 64 on. The
/// largest, 138, takes 2 bytes: 1 + 2 + 4 + 1 + 64 x 2 = 136 without the count of 64.
#[test]
fn the_count_of_ranges_has_a_length_too() {
    let received = with(100, (0..70).map(|index| 2 * index));
    assert_eq!(ranges(&received, 137).len(), 64);
    assert_eq!(ranges(&received, 138).len(), 65);
    assert_eq!(ranges(&received, 1000).len(), 70);
}

/// Largest 100 takes 2 bytes, and each of the counts of ECT(0), ECT(1) and CE 1 byte.
#[test]
fn marks_are_counted_and_take_room() {
    let mut received = received(8);
    received.on_packet(ms(0), 99, true, Ecn::Ce, None);
    received.on_packet(ms(0), 100, false, Ecn::Ce, None);
    assert_eq!(received.ack_frame(ms(0), 8), None);
    assert_eq!(received.ack_frame(ms(0), 9).unwrap().ecn, Some(EcnCounts { ce: 2, ..EcnCounts::default() }));
}

#[test]
fn the_oldest_ranges_are_forgotten_and_count_as_received() {
    let mut received = with(2, [0, 2, 4]);
    assert_eq!(ranges(&received, 100), [4..=4, 2..=2]);
    assert!(received.is_duplicate(0) && !received.is_duplicate(1));
    received.on_packet(ms(5), 6, true, Ecn::NotEct, None);
    assert_eq!(ranges(&received, 100), [6..=6, 4..=4]);
    assert!(received.is_duplicate(1) && received.is_duplicate(2) && !received.is_duplicate(3));
}

#[test]
fn what_the_peer_knows_is_acknowledged_is_forgotten() {
    let mut received = with(8, [0, 1, 4, 5, 6]);
    received.forget_up_to(4); // 4 to 6 continues after it
    assert_eq!(ranges(&received, 100), vec![4..=6]);
    assert!(received.is_duplicate(1) && !received.is_duplicate(2) && !received.is_duplicate(3));
    received.forget_up_to(6);
    assert_eq!(received.ack_frame(ms(9), 100), None);
    assert!(received.is_duplicate(3) && received.is_duplicate(6) && !received.is_duplicate(7));
    received.on_packet(ms(9), 7, true, Ecn::NotEct, None);
    assert_eq!(ranges(&received, 100), vec![7..=7]);
}

/// Every second packet is acknowledged, and at once one that leaves or fills a gap; a packet that is not
/// ack-eliciting is not a gap.
#[test]
fn the_policy_learns_what_is_out_of_order() {
    let mut received = received(8);
    let mut at_once = |number, ack_eliciting| {
        received.on_packet(ms(number), number, ack_eliciting, Ecn::NotEct, None);
        let due = received.due() == Some(ms(number));
        if due {
            received.on_ack_sent(ms(number));
            assert!(!received.is_pending());
        }
        due
    };
    // the first is not a gap, regardless of its number
    assert!(!at_once(3, true));
    assert!(at_once(4, true));
    assert!(at_once(6, true));
    assert!(at_once(5, true));
    assert!(!at_once(7, false));
    assert!(!at_once(8, true), "7 has arrived");
    assert!(!at_once(9, false));
}

#[test]
fn a_packet_that_asks_for_nothing_makes_nothing_due_but_is_acknowledged() {
    let mut received = Received::new(Box::new(Timer::new(Duration::from_millis(1))), 8);
    received.on_packet(ms(0), 0, false, Ecn::NotEct, None);
    assert!(received.due().is_none() && !received.is_pending());
    assert_eq!(ranges(&received, 100), vec![0..=0]);
}

proptest! {
    /// No packet is accepted twice, all packets acknowledged have arrived, and all packets in kept ranges are
    /// acknowledged.
    #[test]
    fn acknowledgements_tell_the_truth(
        numbers in prop::collection::vec(0u64..90, 1..120),
        most_ranges in 1u32..60,
        forget in prop::option::of(0u64..90),
        room in 0usize..120,
    ) {
        let mut received = received(most_ranges);
        let mut model = BTreeSet::new();
        for (step, number) in numbers.iter().enumerate() {
            if forget.is_some_and(|forget| forget == step as u64) {
                received.forget_up_to(step as u64);
            }
            let is_duplicate = received.is_duplicate(*number);
            prop_assert!(is_duplicate || !model.contains(number), "{} is taken twice", number);
            if !is_duplicate {
                received.on_packet(ms(step as u64), *number, true, Ecn::NotEct, None);
                model.insert(*number);
            }
            let all = ranges(&received, 1000);
            prop_assert!(all.len() <= most_ranges as usize);
            let told: BTreeSet<u64> = all.iter().cloned().flatten().collect();
            prop_assert!(told.is_subset(&model));
            prop_assert!(model.difference(&told).all(|n| *n < received.forgotten));
            let enough = numbers.len() <= most_ranges as usize && forget.is_none();
            prop_assert!(!enough || received.forgotten == 0);
            // the part that fits is its beginning
            let some = ranges(&received, room);
            prop_assert_eq!(&some[..], &all[..some.len()]);
        }
    }
}
