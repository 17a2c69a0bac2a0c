//! Links that their driver changes: by hand, and compared with the same changes as conditions over time.

use super::*;
use crate::link::{ConditionRow, ConditionsConfig, LinkConfig, WhileDown};
use proptest::prelude::*;

fn micros(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

/// 8 Mbit/s, a byte a microsecond, and 10 ms.
fn config() -> LinkConfig {
    let mut config = byte_per_microsecond(unlimited());
    config.delay.mean = Duration::from_millis(10);
    config
}

fn changing(config: &LinkConfig) -> Link {
    Link::new(config, LinkInputs { changes: true, ..LinkInputs::default() }, 1, "link")
}

/// A change, its end, or an arrival. At one instant changes come first.
fn drive_changing(
    link: &mut Link,
    arrivals: &[(Time, Packet)],
    changes: &[(Time, u64, Option<LinkChange>)],
) -> Log {
    let mut log = Log::default();
    let mut out = Outputs { record_drops: true, ..Outputs::default() };
    let (mut arrivals, mut changes) = (arrivals.iter().peekable(), changes.iter().peekable());
    let mut received = Count::default();
    loop {
        let change = changes.peek().map(|(at, ..)| *at);
        let arrival = arrivals.peek().map(|(at, _)| *at);
        let wake = link.next_wake();
        let Some(now) = [change, wake, arrival].into_iter().flatten().min() else { return log };
        if change == Some(now) {
            let (_, number, change) = changes.next().unwrap();
            link.change(now, *number, *change);
            link.wake(now, &mut out);
        } else if wake == Some(now) {
            link.wake(now, &mut out);
        } else {
            let (_, packet) = arrivals.next().unwrap();
            received.add(packet.size);
            link.receive(now, Port(0), Box::new(packet.clone()), &mut out);
        }
        drain(link, now, received, &mut out, &mut log);
    }
}

fn rate(mbps: u64) -> LinkChange {
    LinkChange { rate: Some(DataRate::from_mbps(mbps)), ..LinkChange::default() }
}

#[test]
fn the_packet_in_service_leaves_at_the_new_rate() {
    // half of 1000 B at a byte a microsecond, 250 B at half of that, the rest at the first rate
    let changes = [(micros(500), 0, Some(rate(4))), (micros(1000), 1, Some(rate(8)))];
    let log = drive_changing(&mut changing(&config()), &packets(&[(0, 1000), (0, 100)]), &changes);
    assert_eq!(log.delivered_micros(), [11_250, 11_350]);
}

#[test]
fn while_down_a_serialisation_pauses_and_packets_wait() {
    let down = LinkChange { up: Some(false), ..LinkChange::default() };
    let changes = [(micros(200), 0, Some(down)), (micros(700), 0, None)];
    let log = drive_changing(&mut changing(&config()), &packets(&[(0, 1000), (300, 100)]), &changes);
    assert_eq!(log.delivered_micros(), [11_500, 11_600]);
}

#[test]
fn overlapping_changes_end_in_any_order() {
    let mut link = changing(&config());
    let (half, more) = (
        LinkChange { rate_factor: Some(0.5), ..LinkChange::default() },
        LinkChange { added_delay: Some(Duration::from_millis(30)), ..LinkChange::default() },
    );
    let state = |link: &mut Link, at, number, change| {
        let LinkState { rate, delay, .. } = link.change(micros(at), number, change);
        (rate.unwrap().bits_per_second() / 1_000_000, delay.as_nanos() / 1_000_000)
    };
    assert_eq!(state(&mut link, 1, 0, Some(half)), (4, 10));
    assert_eq!(state(&mut link, 2, 1, Some(more)), (4, 40));
    assert_eq!(state(&mut link, 3, 2, Some(half)), (2, 40));
    assert_eq!(state(&mut link, 4, 0, None), (4, 40));
    assert_eq!(state(&mut link, 5, 3, Some(rate(10))), (10, 40), "a rate replaces what was before");
    assert_eq!(state(&mut link, 6, 1, None), (10, 10));
    assert_eq!(state(&mut link, 7, 3, None), (4, 10));
}

#[test]
fn a_longer_route_delays_what_leaves_from_then_on_and_a_shorter_one_lets_none_overtake() {
    let longer = LinkChange { added_delay: Some(Duration::from_millis(5)), ..LinkChange::default() };
    let changes = [(micros(100), 0, Some(longer)), (micros(201), 0, None)];
    // the second ends its serialisation in the instant of the change
    let arrivals = packets(&[(0, 99), (0, 1), (101, 99), (202, 98)]);
    let log = drive_changing(&mut changing(&config()), &arrivals, &changes);
    assert_eq!(log.delivered_micros(), [10_099, 15_100, 15_200, 15_200]);
}

/// Changes of a link at given times, equal to conditions over time with the same values.
#[derive(Clone, Debug)]
struct Row {
    after: u64,
    mbps: u64,
    delay_us: u64,
    loss: f64,
    up: bool,
}

fn row() -> impl Strategy<Value = Row> {
    (1..3_000_000u64, 1..20u64, 0..20_000u64, prop_oneof![Just(0.0), Just(0.3), Just(1.0)], any::<bool>())
        .prop_map(|(after, mbps, delay_us, loss, up)| Row { after, mbps, delay_us, loss, up })
}

proptest! {
    #[test]
    fn changes_are_conditions_that_are_not_known_before(
        rows in prop::collection::vec(row(), 1..12),
        gaps in prop::collection::vec((0..1500u64, 1..1500u64), 1..60),
    ) {
        let mut at = 0;
        let mut conditions = vec![ConditionRow { loss: Some(Probability::ZERO), ..ConditionRow::default() }];
        let mut changes = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            at += row.after;
            // the last one is up: a link that stays down has no packets in transit to compare
            let up = row.up || number + 1 == rows.len();
            let (rate, delay) = (DataRate::from_mbps(row.mbps), Duration::from_micros(row.delay_us));
            let loss = Probability::new(row.loss).unwrap();
            let (rate, delay, loss, up) = (Some(rate), Some(delay), Some(loss), Some(up));
            conditions.push(ConditionRow {
                at: Duration::from_nanos(at), rate, delay, deviation: None, loss, up,
            });
            let change = LinkChange { rate, delay, loss, up, ..LinkChange::default() };
            changes.push((Time::from_nanos(at), number as u64, Some(change)));
        }
        let mut now = 0;
        let arrivals: Vec<_> = gaps.iter().map(|(gap, size)| { now += gap; (now, *size) }).collect();
        let arrivals = packets(&arrivals);
        let mut of_time = config();
        of_time.conditions = Some(ConditionsConfig {
            file: None, rows: conditions, at_end: TraceEnd::Hold, while_down: WhileDown::Hold,
        });
        let expected = drive(&mut link(&of_time), &arrivals);
        let found = drive_changing(&mut changing(&config()), &arrivals, &changes);
        prop_assert_eq!(found, expected);
    }
}
