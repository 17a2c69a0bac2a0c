//! PIE by hand, from the formulas of RFC 8033 section 4.2.

use super::control::{CERTAIN, Control, RATE_BYTES, TICK_BITS};
use super::*;
use crate::queue::tests::{Piece, at, piece, queue};
use crate::queue::{Discipline, QueueConfig};
use crate::time::Time;
use proptest::prelude::*;

/// Factors of Linux are integers: the smallest, alpha by 2048, is 281474, and less than 1 is truncated.
const CUT_OFF: f64 = 1.0 / 281_474.0;
const FRAME_BYTES: u64 = FRAME.bytes();

fn probability(value: f64) -> u64 {
    (value * CERTAIN as f64) as u64
}

fn millis(value: f64) -> u64 {
    (value * 1e6) as u64 >> TICK_BITS
}

/// The control of `config` without an allowance, at a probability and after waiting times [ms] of this and the last update.
fn control(config: &Pie, probability_now: f64, delay: f64, before: f64) -> (Parameters, Control) {
    let parameters = Parameters::from(config);
    let (delay, last_delay) = (millis(delay), millis(before));
    let state = Control {
        probability: probability(probability_now),
        delay,
        last_delay,
        burst: 0,
        ..Control::new(&parameters)
    };
    (parameters, state)
}

/// The probability after one update of the default controller.
fn updated(from: f64, delay: f64, before: f64, backlog: u64) -> f64 {
    let (parameters, mut control) = control(&Pie::default(), from, delay, before);
    control.update(&parameters, backlog);
    control.probability as f64 / CERTAIN as f64
}

fn assert_close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= expected.abs() * CUT_OFF + 1e-15, "{value} for {expected}");
}

#[test]
fn probability_grows_as_the_rfc_computes_it() {
    // a wait of 30 ms, from 0: (0.125 x 15 ms + 1.25 x 30 ms) / 2048, then 0.125 x 15 ms by 128, by 32 from 1e-4 on
    let (parameters, mut control) = control(&Pie::default(), 0.0, 30.0, 0.0);
    let step = 0.001_875;
    let first = (step + 0.0375) / 2048.0;
    for count in 0..8 {
        control.update(&parameters, 45_000);
        let of_128 = f64::from(count.min(6));
        let of_32 = f64::from((count - 6).max(0));
        assert_close(
            control.probability as f64 / CERTAIN as f64,
            first + step * (of_128 / 128.0 + of_32 / 32.0),
        );
    }
}

#[test]
fn changes_are_scaled_down_at_small_probabilities() {
    let divisors = [
        (5e-7, 2048.0),
        (5e-6, 512.0),
        (5e-5, 128.0),
        (5e-4, 32.0),
        (5e-3, 8.0),
        (0.05, 2.0),
        (0.1, 1.0),
        (0.5, 1.0),
    ];
    for (from, divisor) in divisors {
        // 8 ms above the target, without a trend
        assert_close(updated(from, 23.0, 23.0, 9000), from + 0.001 / divisor);
    }
    // 1 ms above the target, 4 ms less than before
    assert_close(updated(0.5, 16.0, 20.0, 9000), 0.5 + 0.000_125 - 0.005);
}

#[test]
fn steps_are_limited_and_high_waiting_times_add_to_them() {
    // 0.125 x 85 ms + 1.25 x 80 ms = 0.110625: halved below 10 %, in one step; 2 % from there on
    assert_close(updated(0.05, 100.0, 20.0, 90_000), 0.05 + 0.110_625 / 2.0);
    assert_close(updated(0.1001, 100.0, 20.0, 90_000), 0.1201);
    // above 250 ms another 2 %
    assert_close(updated(0.5, 250.0, 250.0, 90_000), 0.52);
    assert_close(updated(0.5, 250.001, 250.0, 90_000), 0.54);
    assert_close(updated(0.01, 260.0, 260.0, 90_000), 0.01 + 0.125 * 0.245 / 2.0 + 0.02);
}

#[test]
fn probability_decays_while_nothing_waits() {
    assert_close(updated(0.5, 0.0, 0.0, 0), (0.5 - 0.001_875) * 63.0 / 64.0);
    // not with a backlog, nor with a wait at the last update
    assert_close(updated(0.5, 0.0, 0.0, 100), 0.5 - 0.001_875);
    assert_close(updated(0.5, 0.0, 10.0, 0), 0.5 - 0.001_875 - 0.0125);
    assert_eq!(updated(1e-3, 0.0, 100.0, 0), 0.0, "the step of 0.125875 / 32 is larger than the probability");
}

#[test]
fn probability_has_linux_bounds() {
    let above = updated(1.0, 300.0, 300.0, 90_000);
    assert_close(above, 1.04);
    let (parameters, mut control) = control(&Pie::default(), 0.5, 300.0, 300.0);
    control.probability = u64::MAX;
    control.update(&parameters, 90_000);
    assert_eq!(control.probability, CERTAIN);
}

#[test]
fn nothing_happens_during_the_burst_allowance() {
    // 20 ms between departures: 140 ms have passed at the eighth, 160 ms at the ninth
    let (parameters, mut control) = control(&Pie::default(), 1.0, 50.0, 50.0);
    control.burst = parameters.burst;
    let mut random = RandomStream::new(1, "queue");
    for count in 0..12 {
        control.departed(
            &parameters,
            at(1_000_000 + count * 20_000),
            at(950_000 + count * 20_000),
            1000,
            90_000,
        );
        let struck = control.strikes(&parameters, FRAME_BYTES, 90_000, &mut random);
        assert_eq!(struck, count >= 8, "{count}");
    }
    // a short queue and no probability: the allowance restarts
    (control.probability, control.delay, control.last_delay) = (0, millis(7.4), millis(7.4));
    control.update(&parameters, 5000);
    assert_eq!((control.burst, control.since, control.accumulated), (parameters.burst, None, 0));
    for (probability, delay, before) in [(1, 0.0, 0.0), (0, 7.6, 7.4), (0, 7.4, 7.6)] {
        let state =
            Control { probability, delay: millis(delay), last_delay: millis(before), burst: 5, ..control };
        let mut after = state;
        after.update(&Parameters { alpha: 0, beta: 0, ..parameters.clone() }, 5000);
        assert_eq!(after.burst, 5, "{probability} {delay} {before}");
    }
}

#[test]
fn safeguards_drop_nothing() {
    let strikes = |probability, delay, backlog| {
        let (parameters, mut control) = control(&Pie::default(), probability, delay, delay);
        control.accumulated = CERTAIN / 2 * 17;
        control.strikes(&parameters, FRAME_BYTES, backlog, &mut RandomStream::new(1, "queue"))
    };
    assert!(strikes(0.01, 7.5, 90_000));
    // below half of the target, unless the probability is 20 % or more
    assert!(!strikes(0.01, 7.49, 90_000));
    assert!(!strikes(0.199, 7.49, 90_000));
    assert!(strikes(0.2, 0.0, 90_000));
    // less than two frames wait
    assert!(!strikes(1.0, 50.0, 2 * FRAME_BYTES - 1));
    assert!(strikes(1.0, 50.0, 2 * FRAME_BYTES));
}

#[test]
fn drops_keep_a_distance() {
    // at 10 %: 0.85 is reached with the ninth packet, 8.5 with the 86th, as a tenth is truncated
    let (parameters, mut control) = control(&Pie::default(), 0.1, 20.0, 20.0);
    control.probability = CERTAIN / 10;
    let mut random = RandomStream::new(1, "queue");
    let mut distances = Vec::new();
    while distances.len() < 2000 {
        let found = (1..=86).find(|_| control.strikes(&parameters, FRAME_BYTES, 90_000, &mut random));
        distances.push(f64::from(found.expect("the 86th is dropped with certainty")));
        control.accumulated = 0;
    }
    assert!(distances.iter().all(|distance| *distance >= 9.0));
    // eight, then a geometric number with mean 10 and deviation 9.5; truncation at 78 reduces the mean by 10 x 0.9^78
    let mean = distances.iter().sum::<f64>() / 2000.0;
    assert!((mean - 18.0).abs() < 5.0 * 9.49 / 2000_f64.sqrt() + 10.0 * 0.9_f64.powi(78), "{mean}");
}

#[test]
fn small_packets_are_dropped_less_in_byte_mode() {
    let accumulated = |byte_mode, bytes| {
        let (parameters, mut control) = control(&Pie { byte_mode, ..Pie::default() }, 0.1, 20.0, 20.0);
        control.strikes(&parameters, bytes, 90_000, &mut RandomStream::new(1, "queue"));
        control.accumulated as f64 / CERTAIN as f64
    };
    assert_close(accumulated(true, 757), 0.05);
    assert_close(accumulated(true, 1514), 0.1);
    assert_close(accumulated(true, 1515), 0.1);
    assert_close(accumulated(false, 757), 0.1);
}

/// A queue in which the next packet is dropped or marked, at a probability.
fn striking(config: &Pie, probability_now: f64) -> PieQueue<Piece> {
    let mut queue = PieQueue::new(config, RandomStream::new(1, "queue"));
    for number in 0..100 {
        queue.line.push(Time::ZERO, Marked { item: piece(0, number, FRAME_BYTES), marked: false });
    }
    let accumulated = CERTAIN / 2 * 17;
    queue.controller.control = Control { accumulated, ..control(config, probability_now, 20.0, 20.0).1 };
    queue
}

/// Decisions on packets with these ECN capabilities: marked, or dropped.
fn fates(config: &Pie, probability_now: f64, capable: &[bool]) -> Vec<&'static str> {
    let mut queue = striking(config, probability_now);
    let fate = |ecn_capable: &bool| {
        let (mut account, mut dropped) = (Default::default(), None);
        let mut take = |_, reason| dropped = Some(reason);
        let mut exits = Exits { now: at(1), account: &mut account, dropped: &mut take };
        let arrival = Arrival { queue: QueueIndex(0), in_service: None, rate: || DataRate::from_mbps(1) };
        queue.enqueue(Piece { ecn_capable: *ecn_capable, ..piece(0, 0, FRAME_BYTES) }, arrival, &mut exits);
        match dropped {
            Some(reason) => reason.name(),
            None if queue.line.backlog().packets > 100
                && queue.controller.control.accumulated >= CERTAIN / 2 * 17 =>
            {
                "marked"
            }
            None => "admitted",
        }
    };
    capable.iter().map(fate).collect()
}

#[test]
fn marks_replace_drops_up_to_the_threshold() {
    let ecn = Pie { ecn: true, ..Pie::default() };
    assert_eq!(fates(&ecn, 0.1, &[true])[0], "marked");
    assert_eq!(fates(&ecn, 0.1001, &[true])[0], "pie");
    assert_eq!(fates(&ecn, 0.05, &[false])[0], "pie");
    assert_eq!(fates(&Pie::default(), 0.05, &[true])[0], "pie");
    let higher = Pie { ecn_drop_threshold: Probability::new(0.5).unwrap(), ..ecn.clone() };
    assert_eq!(fates(&higher, 0.4, &[true])[0], "marked");
    // an accumulated probability of 8.5 stays until a drop
    let several = fates(&ecn, 0.05, &[true, true, true, false, true]);
    assert_eq!(several, ["marked", "marked", "marked", "pie", "admitted"]);
}

#[test]
fn marks_leave_with_the_packet() {
    // 3 frames per millisecond, one served: the wait exceeds all bounds, and marks come first
    let mut queue = queue("pie", "ecn = true\nburst_allowance = \"0 s\"\npackets = 100000");
    let mut served = 0;
    for millis in 0..2000 {
        for number in 0..3 {
            let piece = Piece { ecn_capable: true, ..piece(0, number, FRAME_BYTES) };
            queue.enqueue(at(millis * 1000), piece, &mut |_, reason| assert_eq!(reason, DropReason::Pie));
        }
        served += u64::from(
            queue.dequeue(at(millis * 1000), &mut |_, _| panic!("on arrival only")).unwrap().marked,
        );
    }
    assert!(served > 0);
    assert_eq!(queue.totals().ce_marks, served);
}

#[test]
fn the_limit_drops_what_arrives() {
    let mut queue = queue("pie", "packets = 3");
    let mut dropped = Vec::new();
    for number in 0..5 {
        queue.enqueue(Time::ZERO, piece(0, number, 10), &mut |item, reason| {
            dropped.push((item.number, reason))
        });
    }
    assert_eq!(dropped, [(3, DropReason::QueueFull), (4, DropReason::QueueFull)]);
}

#[test]
fn rate_and_waiting_time_are_estimated() {
    // 1000 B each millisecond: 17 departures have 17000 B in 16 ms = 250000 ticks, the first at the beginning:
    // 17000 x 256 / 250000 = 17 (truncated); 20000 B x 256 / 17 = 301176 ticks = 19.3 ms
    let (parameters, mut control) = control(&Pie { rate_estimator: true, ..Pie::default() }, 0.0, 0.0, 0.0);
    control.burst = parameters.burst;
    for count in 0..17 {
        assert_eq!((control.rate, control.burst), (0, parameters.burst));
        control.departed(&parameters, at(16_000 + count * 1000), Time::ZERO, 1000, 20_000);
    }
    assert_eq!((control.rate, control.measured, control.burst), (17, Some(0), parameters.burst - 250_000));
    control.update(&parameters, 20_000);
    assert_eq!((control.delay, control.last_delay), (301_176, 0));
    // twice the rate counts an eighth: 17 - 2 + 34 / 8; no measurement continues below the threshold
    for count in 1..=17 {
        let backlog = if count < 17 { 20_000 } else { RATE_BYTES - 1 };
        control.departed(&parameters, at(32_000 + count * 500), Time::ZERO, 1000, backlog);
    }
    assert_eq!((control.rate, control.measured), (17 - 2 + (17_000 * 256 / 132_812) / 8, None));
}

/// Serves one frame per millisecond, and sends one and a half: numbers of dropped frames, waiting times [ms] at each
/// update after 20 s, and the queue.
fn overloaded(options: &str, seed: u64, seconds: u64) -> (Vec<u64>, Vec<f64>, Discipline<Piece>) {
    let config: QueueConfig = toml::from_str(&format!("kind = \"pie\"\n{options}")).unwrap();
    let mut queue = Discipline::new(&config, RandomStream::new(seed, "queue"));
    let (mut dropped, mut waits) = (Vec::new(), Vec::new());
    for step in 0..seconds * 3000 {
        let now = Time::from_nanos(step * 1_000_000 / 3);
        if step % 2 == 0 {
            queue.enqueue(now, piece(0, step, FRAME_BYTES), &mut |item, reason| {
                assert_eq!(reason, DropReason::Pie);
                dropped.push(item.number);
            });
        }
        if step % 3 == 0 {
            queue.dequeue(now, &mut |_, _| panic!("on arrival only"));
        }
        if step % 45 == 0 && step >= 60_000 {
            waits.push(queue.totals().last_sojourn.as_ms_f64());
        }
    }
    (dropped, waits, queue)
}

#[test]
fn an_overload_waits_for_the_target() {
    let (dropped, waits, queue) = overloaded("", 1, 80);
    // no drop before the allowance has been used up: 150 ms with departures, which begin at 0
    assert!(dropped[0] >= 150 * 3, "{}", dropped[0]);
    // frames that are not served are dropped, or wait: 120000 arrived, 80000 were served
    assert!((dropped.len() as u64).abs_diff(40_000) <= queue.waiting().packets + 1);
    // the sum of all changes is at most 1, that of the trend at most 1.25 x 250 ms; the rest is 0.125 x (wait - target)
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    let bound = 1000.0 * (1.0 + 1.25 * 0.25) / (0.125 * waits.len() as f64);
    assert!((mean - 15.0).abs() < bound, "{mean} is not within {bound}");
    // estimated, the rate is truncated: by 2 % at 1.5 MB/s, by which the wait is too short, and by one packet in
    // service
    let (_, waits, _) = overloaded("rate_estimator = true", 1, 80);
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!((mean - 15.0).abs() < bound + 15.0 / 24.0 + 1.0, "{mean} is not within {bound}");
}

#[test]
fn drops_depend_on_the_seed_only() {
    assert_eq!(overloaded("", 1, 5).0, overloaded("", 1, 5).0);
    assert_ne!(overloaded("", 1, 5).0, overloaded("", 2, 5).0);
}

#[test]
fn words_of_tc() {
    let words = |pie: Pie| match pie.tc() {
        Ok(TcQueue::Child { words, mtu }) => Ok((words.join(" "), mtu)),
        Ok(TcQueue::Limits { .. } | TcQueue::Shaper { .. }) => panic!("a child"),
        Err(problem) => Err(problem.path.to_string()),
    };
    let plain =
        "pie limit 1000 target 15000us tupdate 15000us alpha 2 beta 20 noecn nobytemode no_dq_rate_estimator";
    assert_eq!(words(Pie::default()), Ok((plain.to_owned(), DeviceMtu::Always(FRAME))));
    let all = Pie { ecn: true, byte_mode: true, rate_estimator: true, ..Pie::default() };
    assert!(words(all).unwrap().0.ends_with("ecn bytemode dq_rate_estimator"));
    let refused = [
        Pie { ecn_drop_threshold: Probability::ZERO, ..Pie::default() },
        Pie { burst_allowance: Duration::ZERO, ..Pie::default() },
        Pie { mtu: ByteCount::from_bytes(599), ..Pie::default() },
    ];
    assert_eq!(refused.map(|pie| words(pie).unwrap_err()), ["ecn_drop_threshold", "burst_allowance", "mtu"]);
}

proptest! {
    /// Updates that are made late, and omitted when they change nothing, have the results of a timer.
    #[test]
    fn late_updates_are_those_of_a_timer(
        config in prop::sample::select(Pie::examples()),
        steps in prop::collection::vec((0_u64..5, 100_u64..1514, prop_oneof![5 => 0_u64..2000, 1 => 0_u64..3_000_000]), 1..200),
    ) {
        let new = || PieQueue::new(&config, RandomStream::new(1, "queue"));
        let (mut late, mut timely) = (new(), new());
        let mut timer = Time::ZERO + config.update_interval;
        let mut micros = 0;
        for (arrivals, bytes, wait) in steps {
            micros += wait;
            while timer <= at(micros) {
                let backlog = timely.line.backlog().bytes.bytes();
                timely.controller.control.update(&timely.parameters, backlog);
                timer += config.update_interval;
                timely.controller.next_update = timer;
            }
            for queue in [&mut late, &mut timely] {
                let mut account = Default::default();
                let mut exits = Exits { now: at(micros), account: &mut account, dropped: &mut |_, _| () };
                for number in 0..arrivals {
                    let arrival = Arrival { queue: QueueIndex(0), in_service: None, rate: || DataRate::from_mbps(1) };
                    queue.enqueue(piece(0, number, bytes), arrival, &mut exits);
                }
                queue.dequeue(&mut exits);
            }
            prop_assert_eq!(late.controller.control, timely.controller.control);
            prop_assert_eq!(late.controller.next_update, timely.controller.next_update);
        }
    }
}
