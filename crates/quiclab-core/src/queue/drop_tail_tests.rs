//! Drop-tail by hand.

use super::*;
use crate::queue::tests::{add, at, drain, numbers, piece, queue};
use crate::queue::{Discipline, QueueConfig};

const RATE: DataRate = DataRate::from_mbps(8); // one byte per microsecond

fn limits(packets: Option<u64>, bytes: Option<u64>, micros: Option<u64>) -> QueueConfig {
    let (bytes, time) = (bytes.map(ByteCount::from_bytes), micros.map(Duration::from_micros));
    QueueConfig::DropTail(DropTail { packets, bytes, time, ..DropTail::default() })
}

/// Number of the arriving packets of `sizes` that are accepted while one of `in_service` is served.
fn taken(config: &QueueConfig, in_service: Option<u64>, sizes: &[u64]) -> (u64, usize) {
    let mut queue = Discipline::new(config, RandomStream::new(1, "queue"));
    let mut dropped = 0;
    for size in sizes {
        let in_service = in_service.map(ByteCount::from_bytes);
        queue.enqueue_at(Time::ZERO, piece(0, 0, *size), QueueIndex(0), in_service, || RATE, &mut |_, _| {
            dropped += 1
        });
    }
    (queue.waiting().packets, dropped)
}

#[test]
fn a_limit_in_packets_includes_the_one_in_service() {
    assert_eq!(taken(&limits(Some(3), None, None), Some(1), &[1; 5]), (2, 3));
    assert_eq!(taken(&limits(Some(3), None, None), None, &[1; 5]), (3, 2));
}

#[test]
fn a_limit_in_bytes_is_exact_and_smaller_packets_still_fit() {
    assert_eq!(taken(&limits(None, Some(1000), None), Some(400), &[600]), (1, 0));
    assert_eq!(taken(&limits(None, Some(1000), None), Some(400), &[601, 600, 1]), (1, 2));
}

/// 1000 B wait after two packets, which is within the limit; 1001 B after the third of 1 B are not.
#[test]
fn a_limit_on_what_waits_asks_neither_for_the_size_nor_for_the_packet_in_service() {
    let waiting_bytes = Some(ByteCount::from_bytes(1000));
    let dummynet = QueueConfig::DropTail(DropTail { waiting_bytes, ..DropTail::default() });
    assert_eq!(taken(&dummynet, Some(400), &[500, 500, 1, 1, 1]), (3, 2));
    assert_eq!(taken(&dummynet, None, &[500, 500, 1500, 1]), (3, 1));
}

#[test]
fn a_limit_in_time_counts_the_new_packet() {
    assert_eq!(taken(&limits(None, None, Some(1000)), Some(400), &[600]), (1, 0));
    assert_eq!(taken(&limits(None, None, Some(1000)), Some(400), &[601]), (0, 1));
    // 999.999 microseconds are not enough
    let just_below =
        QueueConfig::DropTail(DropTail { time: Some(Duration::from_nanos(999_999)), ..DropTail::default() });
    assert_eq!(taken(&just_below, Some(400), &[600, 599]), (1, 1));
}

#[test]
fn every_limit_given_holds_and_without_limits_everything_fits() {
    assert_eq!(taken(&limits(Some(10), Some(300), None), None, &[100; 5]), (3, 2));
    assert_eq!(taken(&limits(Some(2), Some(300), Some(10_000)), None, &[100; 5]), (2, 3));
    assert_eq!(taken(&limits(None, None, None), None, &[100; 5000]), (5000, 0));
}

#[test]
fn first_in_first_out_and_bytes_follow() {
    let mut queue = queue("drop_tail", "");
    add(&mut queue, Time::ZERO, (0..3).map(|number| piece(0, number, 100 + number)));
    assert_eq!(queue.waiting(), Backlog { packets: 3, bytes: ByteCount::from_bytes(303) });
    assert_eq!(numbers(&drain(&mut queue, at(5))), [0, 1, 2]);
    assert_eq!(queue.waiting(), Backlog::default());
    // three sojourns of 5 us
    let totals = queue.totals();
    assert_eq!(
        (totals.served, totals.sojourn_nanos, totals.longest_sojourn),
        (3, 15_000, Duration::from_micros(5))
    );
}
