//! Packets that a link holds back, in cases computed by hand.

use super::*;
use crate::link::Hold;

/// A link of 10 ms without a rate, and ten packets, one each millisecond: the n-th is at its end at 10 + n ms.
fn log_with(holds: &[Hold], loss: Option<Loss>, late: &[bool]) -> Vec<(u64, u64)> {
    let mut config =
        crate::link::LinkConfig { holds: holds.to_vec(), loss, ..crate::link::LinkConfig::default() };
    config.delay.mean = Duration::from_millis(10);
    let arrivals: Vec<(u64, u64)> = (0..10).map(|number| (number * 1000, 100)).collect();
    let log = drive_late(&mut link(&config), &packets(&arrivals), late);
    log.delivered.iter().map(|(time, id)| (*id, time.as_nanos() / 1_000_000)).collect()
}

fn hold(packet: u64, millis: u64, behind: Option<u64>) -> Hold {
    Hold { packet, by: Duration::from_millis(millis), behind }
}

#[test]
fn a_held_packet_leaves_directly_behind_the_last_that_is_to_pass_it() {
    // 3 is at the end of the link at 13 ms; 4, 5 and 6 pass, the last of them at 16 ms
    let log = log_with(&[hold(3, 1000, Some(3))], None, &[]);
    let order: Vec<u64> = log.iter().map(|(id, _)| *id).collect();
    assert_eq!(order, [0, 1, 2, 4, 5, 6, 3, 7, 8, 9]);
    assert_eq!(log[6], (3, 16));
    assert_eq!(log[7], (7, 17), "the others are where they were");
}

#[test]
fn it_leaves_when_its_time_is_over_whoever_has_passed() {
    // 3 at 13 + 4 ms: 4, 5 and 6 (16 ms) have passed, and 7, due at that instant, comes behind it
    let log = log_with(&[hold(3, 4, None)], None, &[]);
    assert_eq!(log[6..8], [(3, 17), (7, 17)]);
    // two pass the last but two, and no packet follows: the time limit ends it, at 17 + 30 ms
    let log = log_with(&[hold(7, 30, Some(5))], None, &[]);
    assert_eq!(log[7..], [(8, 18), (9, 19), (7, 47)]);
}

#[test]
fn packets_held_at_one_time_do_not_pass_each_other() {
    // 2 and 3 both wait for 4 and 5
    let log = log_with(&[hold(3, 1000, Some(2)), hold(2, 1000, Some(2))], None, &[]);
    let order: Vec<u64> = log.iter().map(|(id, _)| *id).collect();
    assert_eq!(order, [0, 1, 4, 5, 2, 3, 6, 7, 8, 9]);
}

/// Numbers are those of listed losses: a lost packet counts. A packet to be held can be lost before.
#[test]
fn numbers_are_those_of_arrivals() {
    let loss = Some(Loss::Listed { packets: vec![2, 5] });
    let log = log_with(&[hold(3, 1000, Some(1)), hold(5, 1000, Some(1))], loss, &[]);
    let order: Vec<u64> = log.iter().map(|(id, _)| *id).collect();
    assert_eq!(order, [0, 1, 4, 3, 6, 7, 8, 9]);
}

#[test]
fn a_late_driver_changes_no_order() {
    let holds = [hold(1, 5, Some(3)), hold(6, 2, None)];
    let ids =
        |late: &[bool]| -> Vec<u64> { log_with(&holds, None, late).iter().map(|(id, _)| *id).collect() };
    assert_eq!(ids(&[true; 10]), ids(&[]));
    assert_eq!(
        ids(&[]),
        [0, 2, 3, 4, 1, 5, 7, 6, 8, 9],
        "6 leaves at 16 + 2 ms, before 8, due at that instant"
    );
}
