//! CoDel by hand. Times are in ticks of 1024 ns where the arithmetic of Linux matters.

use super::*;
use crate::queue::tests::{Piece, piece, queue};
use crate::queue::{Discipline, FqCodel, QueueConfig};
use crate::testing::at;
use proptest::prelude::*;

fn discipline(edit: &str) -> Discipline<Piece> {
    queue("codel", edit)
}

/// Fills the queue at time 0 and serves one packet per millisecond: the sojourn of each is the time. Times in ms of
/// drops, and of packets served with a mark.
fn drops_of_a_standing_queue(edit: &str, ecn: bool, until: u64) -> (Vec<u64>, Vec<u64>) {
    let mut queue = discipline(edit);
    for number in 0..10_000 {
        let piece = Piece { ecn_capable: ecn, ..piece(0, number, 1000) };
        queue.enqueue(Time::ZERO, piece, &mut |_, _| panic!("the limit is higher"));
    }
    let (mut drops, mut marks) = (Vec::new(), Vec::new());
    for millis in 0..until {
        let served = queue.dequeue(at(millis), &mut |_, reason| {
            assert_eq!(reason, DropReason::Codel);
            drops.push(millis);
        });
        if served.expect("the queue is long").marked {
            marks.push(millis);
        }
    }
    (drops, marks)
}

#[test]
fn drops_come_when_linux_makes_them() {
    // The sojourn reaches 5 ms = 4882 ticks at 5 ms: drops from tick 4882 + 97656 on, passed at 105 ms (tick 102539). From
    // then on Newton's root, which begins at 1, gives the waits: x (3 - n x^2) / 2 =
    // n = 2: 0.5, n = 3: 0.5625, n = 4: 0.4878, n = 5: 0.4415, n = 6: 0.4041. Due at 205, 255, 311.25, 360.0, 404.2,
    // 444.6, 482.1 ms; made at the next whole ms.
    let (drops, _) = drops_of_a_standing_queue("packets = 10000", false, 470);
    assert_eq!(drops, [105, 205, 255, 312, 361, 405, 445]);
}

#[test]
fn marks_come_in_place_of_drops() {
    let expected = drops_of_a_standing_queue("packets = 10000", false, 470).0;
    assert_eq!(
        drops_of_a_standing_queue("packets = 10000\necn = true", true, 470),
        (vec![], expected.clone())
    );
    // without ECN on one side, drops
    assert_eq!(drops_of_a_standing_queue("packets = 10000\necn = true", false, 470).0, expected);
    assert_eq!(drops_of_a_standing_queue("packets = 10000", true, 470).0, expected);
}

#[test]
fn the_published_law_divides_by_the_count() {
    // 105; then 100, 50, 33.3, 25, 20, 16.7 later: 205, 255, 288.3, 313.3, 333.3, 350
    let (drops, _) =
        drops_of_a_standing_queue("packets = 10000\ncontrol_law = \"inverse_count\"", false, 352);
    assert_eq!(drops, [105, 205, 255, 289, 314, 334, 350]);
}

#[test]
fn nothing_is_dropped_below_target_or_with_one_packet() {
    let mut queue = discipline("");
    for millis in 0..10_000 {
        // two packets, served 4 ms later: a sojourn of 4 ms
        for number in [2 * millis, 2 * millis + 1] {
            queue.enqueue(at(millis * 8), piece(0, number, 1514), &mut |_, _| panic!("nothing is full"));
        }
        for _ in 0..2 {
            queue.dequeue(at(millis * 8 + 4), &mut |_, _| panic!("below target")).unwrap();
        }
    }
    // one packet that always waits for 50 ms: after its removal no more than an MTU waits
    let slow = |edit: &str| {
        let (mut queue, mut drops) = (discipline(edit), 0);
        for number in 0..100 {
            queue.enqueue(at(number * 50), piece(0, number, 1514), &mut |_, _| panic!("nothing is full"));
            queue.dequeue(at(number * 50 + 50), &mut |_, _| drops += 1);
        }
        drops
    };
    assert_eq!(slow(""), 0);
    assert!(slow("least_backlog = \"0 B\"") > 0, "the published tunnel has no such exception");
}

#[test]
fn the_limit_drops_what_arrives() {
    let mut queue = discipline("packets = 2");
    let mut dropped = Vec::new();
    for number in 0..4 {
        let mut drop = |item: Piece, reason| dropped.push((item.number, reason));
        queue.enqueue(Time::ZERO, piece(0, number, 10), &mut drop);
    }
    assert_eq!(dropped, [(2, DropReason::QueueFull), (3, DropReason::QueueFull)]);
    assert_eq!(queue.totals().drops(DropReason::QueueFull), 2);
}

#[test]
fn the_threshold_marks_at_once() {
    let mut queue = discipline("ce_threshold = \"1 ms\"");
    let mut marked = Vec::new();
    for (millis, ecn_capable) in [(0, true), (1, true), (2, true), (2, false)] {
        let piece = Piece { ecn_capable, ..piece(0, 0, 100) };
        queue.enqueue(Time::ZERO, piece, &mut |_, _| panic!("nothing is full"));
        marked.push(queue.dequeue(at(millis), &mut |_, _| panic!("below target")).unwrap().marked);
    }
    // above the threshold, not at it
    assert_eq!(marked, [false, false, true, false]);
    assert_eq!(queue.totals().ce_marks, 1);
}

#[test]
fn it_does_not_matter_when_a_run_begins() {
    let drops = |start: u64| {
        let (mut queue, mut drops) = (discipline("packets = 10000"), Vec::new());
        for number in 0..5000 {
            queue.enqueue(at(start), piece(0, number, 1000), &mut |_, _| panic!("the limit is higher"));
        }
        for millis in 0..1000 {
            queue.dequeue(at(start + millis), &mut |_, _| drops.push(millis));
        }
        drops
    };
    // 128 ms are a whole number of ticks; two hours are more than 32 bits of them
    assert_eq!(drops(0), drops(128 * 60_000));
}

/// Disciplines with CoDel whose limits are far above the backlog of the next test.
fn with_codel() -> Vec<QueueConfig> {
    let plain = Codel::examples().into_iter().map(QueueConfig::Codel);
    plain.chain([QueueConfig::FqCodel(FqCodel { packets: 40, flows: 8, ..FqCodel::default() })]).collect()
}

proptest! {
    /// While each packet waits for less than the target, no discipline with CoDel drops any.
    #[test]
    fn nothing_is_dropped_below_target(
        config in prop::sample::select(with_codel()),
        arrivals in prop::collection::vec((0_u16..6, 20_u64..1514, 0_u64..1000), 0..300),
    ) {
        let mut queue = Discipline::new(&config, RandomStream::new(1, "queue"));
        let mut now = Time::ZERO;
        for (flow, bytes, wait) in arrivals {
            now += Duration::from_micros(wait);
            queue.enqueue(now, piece(flow, 0, bytes), &mut |_, _| panic!("nothing is full"));
            if queue.waiting().packets >= 4 {
                // the oldest arrived 4 packets, so at most 4 x 1 ms, ago; in FQ-CoDel the others as well
                while queue.dequeue(now, &mut |_, _| panic!("below target")).is_some() {}
            }
        }
    }
}
