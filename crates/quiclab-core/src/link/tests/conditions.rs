//! Links whose conditions change, computed by hand.

use super::*;
use crate::link::{
    AggregationConfig, ConditionRow, ConditionsConfig, LinkConfig, RetransmissionConfig, WhileDown,
};

fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A byte a microsecond and 10 ms, with these rows.
fn changing(at_end: TraceEnd, while_down: WhileDown, rows: &[ConditionRow]) -> LinkConfig {
    let mut config = byte_per_microsecond(unlimited());
    config.delay.mean = millis(10);
    config.conditions = Some(ConditionsConfig { file: None, rows: rows.to_vec(), at_end, while_down });
    config
}

fn row(at_ms: u64) -> ConditionRow {
    ConditionRow { at: millis(at_ms), ..ConditionRow::default() }
}

#[test]
fn rate_and_delay_are_those_of_the_time() {
    let rows = [
        row(0),
        ConditionRow { rate: Some(DataRate::from_mbps(4)), delay: Some(millis(20)), ..row(2) },
        ConditionRow { delay: Some(millis(1)), ..row(40) },
    ];
    // the second is half transmitted at the step, and its serialisation ends after it
    let arrivals = packets(&[(0, 1000), (1500, 1000), (39_000, 400), (40_000, 400)]);
    let mut config = changing(TraceEnd::Hold, WhileDown::Hold, &rows);
    let log = drive(&mut link(&config), &arrivals);
    // the last one waits for the previous one, which left with 20 ms
    assert_eq!(log.delivered_micros(), [11_000, 23_000, 59_800, 59_800]);
    config.delay.reorder = true;
    let log = drive(&mut link(&config), &arrivals);
    assert_eq!(log.delivered, [(11_000, 0), (23_000, 1), (41_800, 3), (59_800, 2)].map(at_micros));
}

fn at_micros((micros, id): (u64, u64)) -> (Time, u64) {
    (Time::from_nanos(micros * 1000), id)
}

#[test]
fn a_link_goes_down_for_the_first_time_from_a_time_on() {
    let rows = [
        row(0),
        ConditionRow { up: Some(false), ..row(8) },
        ConditionRow { up: Some(false), ..row(9) },
        ConditionRow { up: Some(true), ..row(16) },
        row(20),
    ];
    let first = |at_end, from: u64| {
        let config = changing(at_end, WhileDown::Lose, &rows);
        let conditions = Conditions::new(&config, None).expect("they are valid").expect("there are some");
        conditions.first_down(Time::ZERO + millis(from)).map(|at| at.since(Time::ZERO))
    };
    for (from, held, looped) in
        [(0, Some(8), 8), (8, Some(8), 8), (9, None, 28), (17, None, 28), (29, None, 48)]
    {
        assert_eq!(first(TraceEnd::Hold, from), held.map(millis), "{from}");
        assert_eq!(first(TraceEnd::Loop, from), Some(millis(looped)), "{from}");
    }
}

#[test]
fn while_down_packets_wait_or_are_lost() {
    let rows = [
        row(0),
        ConditionRow { up: Some(false), ..row(1) },
        ConditionRow { up: Some(true), ..row(5) },
        row(8),
    ];
    // the second is half transmitted when the link goes down
    let arrivals = packets(&[(0, 500), (500, 1000), (2000, 100), (9500, 100)]);
    let log = drive(&mut link(&changing(TraceEnd::Hold, WhileDown::Hold, &rows)), &arrivals);
    assert_eq!(log.delivered_micros(), [10_500, 15_500, 15_600, 19_600]);
    let log = drive(&mut link(&changing(TraceEnd::Hold, WhileDown::Lose, &rows)), &arrivals);
    assert_eq!(log.delivered_ids(), [0, 3]);
    assert_eq!(log.dropped_for(DropReason::LinkDown), [1, 2]);
    // repeated from 8 ms on: down from 9 ms on
    let log = drive(&mut link(&changing(TraceEnd::Loop, WhileDown::Hold, &rows)), &arrivals);
    assert_eq!(log.delivered_micros(), [10_500, 15_500, 15_600, 23_100]);
    // without a rate, arriving packets are lost
    let mut config = changing(TraceEnd::Loop, WhileDown::Lose, &rows);
    config.rate = None;
    let log = drive(
        &mut link(&config),
        &packets(&[(999, 1), (1000, 1), (4999, 1), (5000, 1), (9000, 1), (13_000, 1)]),
    );
    assert_eq!(log.dropped_for(DropReason::LinkDown), [1, 2, 4]);
}

#[test]
fn loss_and_deviation_are_those_of_the_time() {
    let share = |value| Some(Probability::new(value).unwrap());
    let rows = [
        ConditionRow { loss: share(1.0), ..row(0) },
        ConditionRow { loss: share(0.0), deviation: Some(millis(2)), ..row(100) },
        ConditionRow { deviation: Some(Duration::ZERO), ..row(200) },
    ];
    let mut config = changing(TraceEnd::Hold, WhileDown::Hold, &rows);
    config.rate = None;
    config.delay =
        Delay { deviation: millis(1), distribution: Distribution::Uniform, reorder: true, ..config.delay };
    let arrivals = packets(&(0..300).map(|ms| (ms * 1000, 1)).collect::<Vec<_>>());
    let log = drive(&mut link(&config), &arrivals);
    assert_eq!(log.dropped_for(DropReason::Loss), (0..100).collect::<Vec<_>>());
    let delay = |(time, id): &(Time, u64)| time.as_nanos() as f64 / 1e6 - *id as f64;
    let of =
        |ids: std::ops::Range<u64>| log.delivered.iter().filter(move |(_, id)| ids.contains(id)).map(delay);
    assert!(of(100..200).all(|ms| (8.0..=12.0).contains(&ms)));
    assert!(
        of(100..200).any(|ms| ms < 9.0) && of(100..200).any(|ms| ms > 11.0),
        "twice as wide as the link's own"
    );
    assert!(of(200..300).all(|ms| (ms - 10.0).abs() < 1e-6));
}

#[test]
fn a_late_driver_changes_nothing() {
    let rows = [
        ConditionRow { loss: Some(Probability::new(0.2).unwrap()), ..row(0) },
        ConditionRow { up: Some(false), delay: Some(millis(3)), ..row(3) },
        ConditionRow { up: Some(true), loss: Some(Probability::ZERO), ..row(4) },
        row(7),
    ];
    for while_down in [WhileDown::Hold, WhileDown::Lose] {
        let mut config = changing(TraceEnd::Loop, while_down, &rows);
        config.aggregation = Some(AggregationConfig { interval: Duration::from_micros(700) });
        let failure = Probability::new(0.1).unwrap();
        let delay = Duration::from_micros(800);
        config.retransmission =
            Some(RetransmissionConfig { failure, delay, transmissions: 2, recovery: None });
        let arrivals = packets(&(0..300).map(|index| (index * 217, 200)).collect::<Vec<_>>());
        let punctual = drive(&mut link(&config), &arrivals);
        let late: Vec<_> = (0..300).map(|index| index % 3 != 0).collect();
        let log = drive_late(&mut link(&config), &arrivals, &late);
        assert_eq!(punctual.delivered_ids(), log.delivered_ids());
        assert!(log.dropped.len() > 20, "losses of all kinds");
        assert!(punctual.delivered.windows(2).all(|pair| pair[0].1 < pair[1].1), "in order");
    }
}

#[test]
fn a_file_is_read_as_rows_are() {
    let rows = [
        row(0),
        ConditionRow { rate: Some(DataRate::from_mbps(4)), delay: Some(millis(20)), ..row(2) },
        ConditionRow { up: Some(false), ..row(4) },
        row(6),
    ];
    let config = changing(TraceEnd::Loop, WhileDown::Hold, &rows);
    let mut in_file = config.clone();
    in_file.conditions = Some(ConditionsConfig {
        file: Some("c.csv".into()),
        rows: Vec::new(),
        ..config.conditions.clone().unwrap()
    });
    let text = "time_ms,up,rate_mbps,delay_ms\n0,,,\n2,,4,20\n4,0,,\n6,,,\n";
    let conditions = Conditions::new(&in_file, Some(text)).unwrap();
    let mut of_file = Link::new(&in_file, LinkInputs { conditions, ..LinkInputs::default() }, 1, "link");
    let arrivals = packets(&(0..60).map(|index| (index * 500, 300)).collect::<Vec<_>>());
    assert_eq!(drive(&mut of_file, &arrivals), drive(&mut link(&config), &arrivals));
}

#[test]
fn what_does_not_go_together_is_refused_with_a_sentence() {
    let refused = |change: &dyn Fn(&mut LinkConfig), rows: &[ConditionRow]| {
        let mut config = changing(TraceEnd::Hold, WhileDown::Hold, rows);
        change(&mut config);
        Conditions::new(&config, None).unwrap_err().to_string()
    };
    let rate = [ConditionRow { rate: Some(DataRate::from_mbps(4)), ..row(0) }];
    let up = [ConditionRow { up: Some(true), ..row(0) }];
    let delay = [ConditionRow { delay: Some(millis(4)), ..row(0) }];
    let deviation = [ConditionRow { deviation: Some(millis(4)), ..row(0) }];
    let loss = [ConditionRow { loss: Some(Probability::ZERO), ..row(0) }];
    for (found, expected) in [
        (
            refused(&|link| link.rate = None, &rate),
            "rate: `rate` of the conditions needs it; expected a constant rate",
        ),
        (
            refused(&|link| link.rate = None, &up),
            "rate: `up` with `while_down` \"hold\" of the conditions needs it; expected a constant rate",
        ),
        (
            refused(&|_| (), &deviation),
            "delay.distribution: expected another distribution, got \"constant\"; the conditions have a deviation",
        ),
        (
            refused(
                &|link| {
                    link.delay = Delay {
                        deviation: millis(1),
                        distribution: Distribution::Normal,
                        every: Some(millis(5)),
                        ..link.delay
                    };
                },
                &delay,
            ),
            "delay.every: expected no value, got \"5 ms\"; the conditions have a delay",
        ),
        (
            refused(&|link| link.loss = Some(Loss::Listed { packets: vec![1] }), &loss),
            "loss.kind: expected \"independent\", got \"listed\"; the conditions have a loss",
        ),
        (refused(&|_| (), &[]), "conditions: neither; expected either `file` or `rows`"),
        (refused(&|_| (), &[row(1)]), "conditions.rows.0: expected 0 as the first time, got \"1 ms\""),
        (
            refused(&|_| (), &[row(0), row(2), row(2)]),
            "conditions.rows.2: row 3: expected a time later than \"2 ms\", got \"2 ms\"",
        ),
        (
            refused(&|link| link.conditions.as_mut().unwrap().at_end = TraceEnd::Loop, &[row(0)]),
            "conditions.rows.0: expected a last time above 0 with `loop` and `stop`, got 0; it is the period or the end of \
             the trace",
        ),
    ] {
        assert_eq!(found, expected);
    }
}

#[test]
fn aggregated_packets_arrive_together_and_repeated_ones_later() {
    let mut config = byte_per_microsecond(unlimited());
    config.aggregation = Some(AggregationConfig { interval: millis(4) });
    let arrivals = packets(&(0..40).map(|index| (index * 500, 400)).collect::<Vec<_>>());
    let log = drive(&mut link(&config), &arrivals);
    let mut times: Vec<_> = log.delivered.iter().map(|(time, _)| time.as_nanos()).collect();
    times.dedup();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 4_000_000), "eight packets each: {times:?}");
    assert_eq!(log.delivered.len(), 40);
    let failure = Probability::new(0.5).unwrap();
    config.aggregation = None;
    config.retransmission =
        Some(RetransmissionConfig { failure, delay: millis(8), transmissions: 2, recovery: None });
    let log = drive(&mut link(&config), &arrivals);
    let lost = log.dropped_for(DropReason::Loss).len();
    // a quarter: ten of 40, within five standard errors
    assert!((1..=23).contains(&lost), "{lost}");
    assert!(log.delivered.windows(2).all(|pair| pair[0].1 < pair[1].1));
    config.delay.reorder = true;
    let log = drive(&mut link(&config), &arrivals);
    assert!(log.delivered.windows(2).any(|pair| pair[0].1 > pair[1].1), "repeated ones are overtaken");
}
