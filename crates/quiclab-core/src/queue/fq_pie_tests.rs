//! FQ-PIE by hand: turns as in FQ-CoDel, drops as in PIE, separately for each queue.

use super::*;
use crate::queue::Discipline;
use crate::queue::tests::{Piece, add, at, drain, piece, queue};
use crate::time::Time;

/// Flows that share no queue.
fn flows(queue: &Discipline<Piece>, count: usize) -> Vec<u16> {
    let mut queues = std::collections::BTreeSet::new();
    (1..).filter(|flow| queues.insert(queue.classify(|| piece(*flow, 0, 0).key()))).take(count).collect()
}

#[test]
fn queues_take_turns_by_bytes_and_new_ones_are_first() {
    let mut queue = queue("fq_pie", "quantum = \"1000 B\"");
    let [long, sparse] = flows(&queue, 2)[..] else { panic!("two flows") };
    add(&mut queue, at(0), (0..5).map(|number| piece(long, number, 600)));
    // two packets use up 1000 B; the queue is an old one then
    let first: Vec<u64> = (0..2).map(|_| queue.dequeue(at(1), &mut |_, _| {}).unwrap().number).collect();
    assert_eq!(first, [0, 1]);
    add(&mut queue, at(2), [piece(sparse, 9, 100)]);
    let served: Vec<u64> = drain(&mut queue, at(3)).iter().map(|piece| piece.number).collect();
    assert_eq!(served, [9, 2, 3, 4]);
    assert_eq!(queue.flows().iter().map(|flow| flow.totals.served).sum::<u64>(), 6);
}

#[test]
fn the_limit_is_that_of_all_queues() {
    let mut queue = queue("fq_pie", "packets = 3");
    let [first, second] = flows(&queue, 2)[..] else { panic!("two flows") };
    let dropped =
        add(&mut queue, at(0), (0..5).map(|number| piece([first, second][number as usize % 2], number, 10)));
    assert_eq!(dropped, [3, 4]);
}

/// 1.5 frames per millisecond of one flow and a small packet of another one each 10 ms; one frame per
/// millisecond is served: PIE drops only from the first queue, until its packets wait for about the target,
/// while the other one has no backlog.
#[test]
fn each_queue_has_a_pie_of_its_own() {
    let mut queue = queue("fq_pie", "");
    let [long, sparse] = flows(&queue, 2)[..] else { panic!("two flows") };
    let mut dropped = [0_u64; 2];
    for step in 0..60_000_u64 {
        let now = Time::from_nanos(step * 1_000_000 / 3);
        let mut count = |piece: Piece, reason| {
            assert_eq!(reason, DropReason::Pie);
            dropped[usize::from(piece.flow == sparse)] += 1;
        };
        if step % 2 == 0 {
            queue.enqueue(now, piece(long, step, FRAME.bytes()), &mut count);
        }
        if step % 30 == 1 {
            queue.enqueue(now, piece(sparse, step, 100), &mut count);
        }
        if step % 3 == 0 {
            queue.dequeue(now, &mut |_, _| panic!("on arrival only"));
        }
    }
    // 20 s: 30000 of the long one and 2000 of the other arrive, 20000 are served
    let [of_long, of_sparse] = dropped;
    assert!((11_000..=12_000).contains(&of_long) && of_sparse == 0, "{dropped:?}");
    let index = queue.classify(|| piece(sparse, 0, 0).key());
    let [long, sparse] = [false, true].map(|is_sparse| {
        *queue.flows().iter().find(|flow| (flow.queue == index) == is_sparse).expect("has been used")
    });
    // at most a frame in service and one in its turn
    assert!(sparse.totals.longest_sojourn <= Duration::from_millis(3));
    assert!(long.totals.last_sojourn < Duration::from_millis(45), "{:?}", long.totals.last_sojourn);
}

#[test]
fn words_of_tc() {
    let Ok(TcQueue::Child { words, mtu }) = FqPie::default().tc() else { panic!("the kernel has it") };
    let expected = "fq_pie limit 10240 flows 1024 quantum 1514 ecn_prob 10 target 15000us tupdate 15000us alpha 2 \
                    beta 20 noecn nobytemode no_dq_rate_estimator";
    assert_eq!(words.join(" "), expected);
    assert_eq!(mtu, tc::DeviceMtu::Always(FRAME));
    let fine = FqPie { ecn_drop_threshold: Probability::new(0.125).unwrap(), ..FqPie::default() };
    let error = fine.tc().unwrap_err().to_string();
    assert_eq!(error, "ecn_drop_threshold: expected whole per cent, got 0.125");
}
