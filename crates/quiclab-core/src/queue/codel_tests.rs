//! CoDel by hand. Times are in ticks of 1024 ns where Linux' arithmetic matters.

use super::*;
use crate::queue::Discipline;
use crate::queue::QueueConfig;
use crate::random::RandomStream;

/// An item of a size, with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    number: u64,
    bytes: u64,
    ecn_capable: bool,
    marked: bool,
}

impl Item for Piece {
    fn bytes(&self) -> ByteCount {
        ByteCount::from_bytes(self.bytes)
    }
    fn key(&self) -> crate::queue::FlowKey {
        crate::queue::FlowKey::default()
    }
    fn mark(&mut self) -> bool {
        self.marked |= self.ecn_capable;
        self.ecn_capable
    }
}

fn config(edit: &str) -> QueueConfig {
    toml::from_str(&format!("kind = \"codel\"\n{edit}")).expect("a queue")
}

fn discipline(edit: &str) -> Discipline<Piece> {
    Discipline::new(&config(edit), &mut RandomStream::new(1, "queue"))
}

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Fills the queue at time 0 and serves one packet a millisecond: the sojourn of each is the time. Times in ms
/// of drops, and of packets served with a mark.
fn drops_of_a_standing_queue(edit: &str, ecn: bool, until: u64) -> (Vec<u64>, Vec<u64>) {
    let mut queue = discipline(edit);
    for number in 0..10_000 {
        let piece = Piece { number, bytes: 1000, ecn_capable: ecn, marked: false };
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
fn the_root_of_newton_approaches_the_root_of_the_count() {
    let mut control = Control { inverse_sqrt: u16::MAX, count: 1, ..Control::default() };
    for count in 2..=1000_u32 {
        control.count = count;
        control.newton_step();
        let root = f64::from(control.inverse_sqrt) / 65536.0;
        let n = f64::from(count);
        let error = root * n.sqrt() - 1.0;
        // the root is off by 1 / 2n when the count grows; a step squares that, times 1.5, and cuts off bits
        let bound = 1.5 / (4.0 * n * n) * 1.3 + 2.0 * n.sqrt() / 65536.0;
        assert!(error <= 0.0 && (count < 10 || -error < bound), "{count}: {error}");
    }
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
        let piece = |number| Piece { number, bytes: 1514, ecn_capable: false, marked: false };
        queue.enqueue(at(millis * 8), piece(2 * millis), &mut |_, _| panic!("nothing is full"));
        queue.enqueue(at(millis * 8), piece(2 * millis + 1), &mut |_, _| panic!("nothing is full"));
        for _ in 0..2 {
            queue.dequeue(at(millis * 8 + 4), &mut |_, _| panic!("below target")).unwrap();
        }
    }
    // one packet that always waits for 50 ms: after it is taken no more than an MTU waits
    let slow = |edit: &str| {
        let (mut queue, mut drops) = (discipline(edit), 0);
        for number in 0..100 {
            let piece = Piece { number, bytes: 1514, ecn_capable: false, marked: false };
            queue.enqueue(at(number * 50), piece, &mut |_, _| panic!("nothing is full"));
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
        let piece = Piece { number, bytes: 10, ecn_capable: false, marked: false };
        queue.enqueue(Time::ZERO, piece, &mut |item: Piece, reason| dropped.push((item.number, reason)));
    }
    assert_eq!(dropped, [(2, DropReason::QueueFull), (3, DropReason::QueueFull)]);
    assert_eq!(queue.totals().overflow_drops, 2);
}

#[test]
fn a_new_series_soon_after_begins_with_what_the_last_one_added() {
    let parameters = Parameters::new(&config(""));
    let series = |count, last_count, ago: u64| {
        let drop_next = Some(at(10_000));
        let mut control =
            Control { count, last_count, drop_next, inverse_sqrt: 20_000, ..Control::default() };
        control.begin_series(at(10_000 + ago), Duration::from_millis(200), &parameters);
        (control.count, control.last_count)
    };
    assert_eq!(series(9, 4, 100), (5, 5)); // 9 - 4 added
    assert_eq!(series(5, 4, 100), (1, 1)); // one drop only: the state was hardly needed
    assert_eq!(series(9, 4, 1599), (5, 5));
    assert_eq!(series(9, 4, 1601), (1, 1)); // 16 intervals are over
    // the published rule: count - 2 if the sojourn is below an interval
    let published = Parameters::new(&config("restart = \"minus_two\""));
    let restart = |count, sojourn| {
        let mut control = Control { count, inverse_sqrt: 20_000, ..Control::default() };
        control.begin_series(at(10_000), Duration::from_millis(sojourn), &published);
        control.count
    };
    assert_eq!([restart(9, 99), restart(9, 101), restart(3, 50), restart(0, 50)], [7, 1, 1, 1]);
}

#[test]
fn the_threshold_marks_at_once() {
    let mut queue = discipline("ce_threshold = \"1 ms\"");
    let mut marked = Vec::new();
    for (millis, ecn_capable) in [(0, true), (1, true), (2, true), (2, false)] {
        let piece = Piece { number: 0, bytes: 100, ecn_capable, marked: false };
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
            let piece = Piece { number, bytes: 1000, ecn_capable: false, marked: false };
            queue.enqueue(at(start), piece, &mut |_, _| panic!("the limit is higher"));
        }
        for millis in 0..1000 {
            queue.dequeue(at(start + millis), &mut |_, _| drops.push(millis));
        }
        drops
    };
    // 128 ms are a whole number of ticks; two hours are more than 32 bits of them
    assert_eq!(drops(0), drops(128 * 60_000));
}
