//! DualPI2 by hand, in the units of Linux.

use super::*;
use crate::queue::Discipline;
use crate::queue::tests::{Piece, at, drain, piece, queue};

/// A packet of the L queue with `low_latency = "any_ect"`.
fn capable(number: u64, bytes: u64) -> Piece {
    Piece { ecn_capable: true, ..piece(1, number, bytes) }
}

fn arrive(queue: &mut Discipline<Piece>, micros: u64, pieces: impl IntoIterator<Item = Piece>) {
    for piece in pieces {
        queue.enqueue(at(micros), piece, &mut |_, _| panic!("there is room"));
    }
}

const ANY_ECT: &str = "low_latency = \"any_ect\"";

fn dual(options: &str) -> Discipline<Piece> {
    queue("dualpi2", &format!("{ANY_ECT}\n{options}"))
}

#[test]
fn the_probability_follows_waiting_time_and_trend() {
    // gains for 64 ns in units of 2^-32: 41 x (2^32 - 1) / 4 / 10^9 = 44.02, 819 x (2^32 - 1) / 4 / 10^9 = 879.4
    let parameters = Parameters::from(&Dualpi2::default());
    let mut control = Control::default();
    // 20 ms: (5 x 44 + 20 x 879) ms / 64 ns = 278_125_000
    control.update(&parameters, Duration::from_millis(20));
    assert_eq!(control.probability, 278_125_000);
    // still 20 ms: 5 ms x 44 / 64 ns = 3_437_500
    control.update(&parameters, Duration::from_millis(20));
    assert_eq!(control.probability, 281_562_500);
    // 1 ms less than the target, which is 6 ms less than before: -(44 + 6 x 879) ms / 64 ns = -83_093_750
    control.update(&parameters, Duration::from_millis(14));
    assert_eq!(control.probability, 198_468_750);
    // it is bounded at both ends, where the 32 bits of Linux wrap
    control.update(&parameters, Duration::from_secs(3));
    assert_eq!(control.probability, u32::MAX);
    control.update(&parameters, Duration::ZERO);
    control.update(&parameters, Duration::ZERO);
    assert_eq!(control.probability, 0);
}

#[test]
fn packets_are_classified_by_their_ecn_field() {
    let classified = |options: &str| {
        let mut queue = queue("dualpi2", options);
        let ce = Piece { marked: true, ..capable(2, 100) };
        arrive(&mut queue, 0, [piece(0, 0, 100), capable(1, 100), ce]);
        queue.flows().into_iter().map(|flow| flow.waiting.packets).collect::<Vec<_>>()
    };
    // the capable piece has ECT(0)
    assert_eq!(classified(""), [2, 1]);
    assert_eq!(classified("low_latency = \"any_ect\""), [1, 2]);
}

#[test]
fn the_low_latency_queue_is_first_but_the_other_one_has_its_share() {
    let mut queue = dual("");
    arrive(&mut queue, 0, (0..20).map(|number| piece(0, number, 1000)));
    arrive(&mut queue, 0, (100..130).map(|number| capable(number, 1000)));
    // the credit starts at 1514 x (10 - 90) = -121120 and grows by 10 x 1000 with each packet of the L queue: it
    // exceeds 0 after 13, and one of the C queue takes 90 x 1000
    let order: Vec<bool> = drain(&mut queue, at(100)).iter().map(|piece| piece.number < 100).collect();
    let classic: Vec<usize> =
        order.iter().enumerate().filter(|(_, is_classic)| **is_classic).map(|(place, _)| place).collect();
    assert_eq!(&classic[..2], [13, 23]);
    // if one is empty the other one is served, without a change of the credit
    assert_eq!(&classic[2..], &(32..50).collect::<Vec<_>>()[..]);
}

#[test]
fn a_queue_that_was_empty_begins_with_the_low_latency_queue_again() {
    let mut queue = dual("");
    let busy = |queue: &mut Discipline<Piece>| {
        arrive(queue, 0, (0..2).map(|number| piece(0, number, 1000)));
        arrive(queue, 0, (100..114).map(|number| capable(number, 1000)));
        drain(queue, at(0)).iter().position(|piece| piece.number < 100)
    };
    assert_eq!([busy(&mut queue), busy(&mut queue)], [Some(13), Some(13)]);
    // also if no link has requested a packet from the empty queue
    let taken = |queue: &mut Discipline<Piece>| {
        let pieces: Vec<_> =
            (0..16).map(|_| queue.dequeue(at(0), &mut |_, _| panic!("not dropped")).unwrap()).collect();
        pieces.iter().position(|piece| piece.number < 100)
    };
    for _ in 0..2 {
        arrive(&mut queue, 0, (0..2).map(|number| piece(0, number, 1000)));
        arrive(&mut queue, 0, (100..114).map(|number| capable(number, 1000)));
        assert_eq!(taken(&mut queue), Some(13));
    }
}

#[test]
fn packets_of_the_low_latency_queue_are_marked_above_the_step() {
    let mut queue = dual("step_threshold = \"1 ms\"");
    arrive(&mut queue, 0, [capable(0, 1500), capable(1, 1500), piece(0, 2, 1500)]);
    let marked = |queue: &mut Discipline<Piece>, micros| {
        queue.dequeue(at(micros), &mut |_, _| panic!()).unwrap().marked
    };
    // as long as the threshold is not longer; the other queue has no step
    assert_eq!([1000, 1001, 2000].map(|micros| marked(&mut queue, micros)), [false, true, false]);
    assert_eq!(queue.totals().ce_marks, 1);
    let flows = queue.flows();
    assert_eq!([flows[0].totals.ce_marks, flows[1].totals.ce_marks], [0, 1]);
}

/// Shares of marks and drops among 20,000 packets served from a queue whose probability stays at `probability` of 2^32,
/// as both gains are 0.
fn shares(options: &str, capable_packets: bool, probability: u32) -> [f64; 2] {
    let config: Dualpi2 = toml::from_str(&format!(
        "packets = 100000\nalpha = 0\nbeta = 0\nstep_threshold = \"4 s\"\n{options}"
    ))
    .unwrap();
    let mut queue = Dualpi2Queue::new(&config, RandomStream::new(1, "queue"));
    queue.control.probability = probability;
    let (mut marks, mut drops) = (0, 0);
    let mut account = super::super::exits::QueueCounters::default();
    let mut dropped = |_: Piece, reason| {
        assert_eq!(reason, DropReason::Dualpi2);
        drops += 1;
    };
    let mut exits = Exits { now: Time::ZERO, account: &mut account, dropped: &mut dropped };
    for number in 0..20_000 {
        let item = Piece { ecn_capable: capable_packets, ..piece(1, number, 1514) };
        queue.enqueue(
            item,
            Arrival { queue: CLASSIC, in_service: None, rate: || unreachable!() },
            &mut exits,
        );
    }
    while let Some(item) = queue.dequeue(&mut exits) {
        marks += u32::from(item.marked);
    }
    [marks, drops].map(|count| f64::from(count) / 20_000.0)
}

#[test]
fn probabilities_are_coupled_and_squared() {
    let quarter = 1 << 30;
    // five standard errors of 20,000 draws with probability 1/2 are 0.018
    let near = |found: [f64; 2], expected: [f64; 2]| {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.018), "{found:?}, {expected:?}");
    };
    near(shares(ANY_ECT, true, quarter), [0.5, 0.0]);
    let uncoupled = format!("{ANY_ECT}\ncoupling_factor = 1");
    near(shares(&uncoupled, true, quarter), [0.25, 0.0]);
    near(shares("", false, quarter), [0.0, 0.0625]);
    // in the classic queue packets with ECT(0) are marked with the squared probability, unless it is overloaded
    near(shares("", true, quarter), [0.0625, 0.0]);
    near(shares("", true, 3 * quarter), [0.0, 0.5625]);
    // overload: twice 3/4 is more than 1, so both queues drop 9/16, and the remainder of the L queue is marked
    near(shares(ANY_ECT, true, 3 * quarter), [0.4375, 0.5625]);
    near(shares("", false, 3 * quarter), [0.0, 0.5625]);
}

#[test]
fn nothing_is_struck_while_less_than_two_packets_wait() {
    // the last packet but one leaves one behind
    let passed = 20_000.0 - 20_000.0 * shares("", false, u32::MAX)[1];
    assert_eq!(passed.round(), 2.0);
}

#[test]
fn updates_that_were_due_are_made_in_the_next_call() {
    let config = Dualpi2::default();
    let filled = || {
        let mut queue = Dualpi2Queue::new(&config, RandomStream::new(1, "queue"));
        queue.line(CLASSIC).items.push(at(20_000), piece(0, 0, 1500));
        queue
    };
    let (mut late, mut timely) = (filled(), filled());
    late.update_until(at(500_000));
    for micros in (0..=500_000).step_by(1000) {
        timely.update_until(at(micros));
    }
    assert_eq!((late.control, late.next_update), (timely.control, at(512_000)));
    // the first two found it empty or new; the last of 31 is at 496 ms, when it has waited for 476 ms: the target is
    // exceeded by 5.55 s in total, which are 44.02 / 64 ns x 5.55 s + 879.4 / 64 ns x 476 ms = 2.4 x 2^32
    assert_eq!(late.control.probability, u32::MAX);
    // updates of an empty queue end when they have no effect
    late.line(CLASSIC).items.pop();
    late.update_until(Time::from_nanos(u64::MAX / 2));
    assert_eq!(late.control, Control::default());
}

#[test]
fn the_words_of_tc() {
    let Ok(TcQueue::Child { words, mtu }) = Dualpi2::default().tc() else { panic!("the kernel has it") };
    let expected = "dualpi2 limit 10000 alpha 41 beta 819 coupling_factor 2 classic_protection 10 target 15000us \
                    tupdate 16000us step_thresh 1000us l4s_ect";
    assert_eq!((words.join(" ").as_str(), mtu), (expected, DeviceMtu::Always(FRAME)));
}
