//! RED by hand, and its drops compared with the formulas of the papers.

use super::control::{Action, Control, Parameters};
use super::*;
use crate::queue::tests::{Piece, at, piece, queue};
use crate::queue::{Discipline, QueueConfig};

fn bytes(count: u64) -> ByteCount {
    ByteCount::from_bytes(count)
}

/// Adds pieces of 1000 bytes at one time; returns the drop reasons by number.
fn arrive(queue: &mut Discipline<Piece>, now: Time, numbers: std::ops::Range<u64>) -> Vec<(u64, DropReason)> {
    let mut dropped = Vec::new();
    for number in numbers {
        queue.enqueue(now, piece(0, number, 1000), &mut |piece: Piece, reason| {
            dropped.push((piece.number, reason));
        });
    }
    dropped
}

fn control(config: &Red) -> (Parameters, Control) {
    let parameters = Parameters::from(config);
    let control = Control::new(config, &parameters);
    (parameters, control)
}

#[test]
fn the_average_is_that_of_linux() {
    // weight 1/4, in quarters of a byte: 0 + 1000, 1000 + 2000 - 250, 2750 + 3000 - 687
    let config = Red { weight_exponent: 2, ..Red::default() };
    let (parameters, mut control) = control(&config);
    let mut random = RandomStream::new(1, "queue");
    for (backlog, quarters) in [(1000, 1000), (2000, 2750), (3000, 5063), (0, 3798)] {
        control.arrives(&parameters, Time::ZERO, backlog, &mut random);
        assert_eq!(control.average_bytes(&parameters), f64::from(quarters) / 4.0);
    }
}

#[test]
fn with_equal_thresholds_and_no_average_red_is_a_step() {
    // RFC 8257 section 3.1: a packet that finds more than the threshold is marked; from 4000 bytes on
    let options = "min_threshold = \"4 kB\"\nmax_threshold = \"4 kB\"\nweight_exponent = 0\necn = true";
    let mut red = queue("red", options);
    for round in 0..2_u64 {
        let now = at(round * 1000);
        for number in 0..8 {
            red.enqueue(now, Piece { ecn_capable: true, ..piece(0, number, 1000) }, &mut |_, _| {
                panic!("full")
            });
        }
        let served: Vec<Piece> =
            std::iter::from_fn(|| red.dequeue(now, &mut |_, _| panic!("late"))).collect();
        let marked: Vec<u64> = served.iter().filter(|piece| piece.marked).map(|piece| piece.number).collect();
        assert_eq!(marked, [4, 5, 6, 7]);
    }
    assert_eq!(red.totals().ce_marks, 8);
    // packets that are not ECN-capable are dropped, and pass with `no_drop`; `hard_drop` drops the others
    let forced = [(4, DropReason::RedForced), (5, DropReason::RedForced)];
    assert_eq!(arrive(&mut red, at(9000), 0..6), forced);
    let mut lenient = queue("red", &format!("{options}\nno_drop = true"));
    assert_eq!(arrive(&mut lenient, at(0), 0..6), []);
    let mut hard = queue("red", &format!("{options}\nhard_drop = true"));
    hard.enqueue(at(0), Piece { ecn_capable: true, ..piece(0, 9, 4000) }, &mut |_, _| panic!("full"));
    assert_eq!(arrive(&mut hard, at(0), 0..1), [(0, DropReason::RedForced)]);
}

#[test]
fn the_limit_is_in_bytes_and_comes_after_red() {
    let mut red = queue("red", "bytes = \"3500 B\"");
    assert_eq!(arrive(&mut red, at(0), 0..4), [(3, DropReason::QueueFull)]);
    red.enqueue(at(0), piece(0, 9, 500), &mut |_, _| panic!("fits"));
    assert_eq!(red.waiting().bytes, bytes(3500));
}

/// Between the thresholds a series of packets ends when count times the probability reaches a uniform number: it is
/// uniform from 1 to 1 / probability (1993, section 7), so that 2 / (1 + 1 / probability) of all are dropped.
#[test]
fn stationary_drops_follow_the_average_backlog() {
    for (average, share) in [(30_000, 0.0), (45_000, 0.25), (60_000, 0.5), (75_000, 0.75)] {
        let config = Red::default();
        let (parameters, start) = control(&config);
        let mut state = start.at(&parameters, average);
        let mut random = RandomStream::new(1, "queue");
        let packets = 200_000_u32;
        let (mut drops, mut spacings, mut count) = (0_u32, Vec::new(), 0_u32);
        for _ in 0..packets {
            count += 1;
            if state.arrives(&parameters, Time::ZERO, average, &mut random) == Action::Early {
                drops += 1;
                spacings.push(f64::from(count));
                count = 0;
            }
        }
        let probability = share * 0.02;
        if probability == 0.0 {
            assert_eq!(drops, 0);
            continue;
        }
        let longest = 1.0 / probability;
        let mean = (1.0 + longest) / 2.0;
        // five standard errors of the mean of uniform spacings; the first needs one more packet
        let slack = 5.0 * longest / libm::sqrt(12.0 * f64::from(drops)) + 1.0 / f64::from(drops);
        let found = spacings.iter().sum::<f64>() / f64::from(drops);
        assert!((found - mean).abs() < slack, "{average}: {found} for {mean} +- {slack}");
        assert!(spacings[1..].iter().all(|spacing| *spacing <= longest.ceil() + 1.0));
    }
}

#[test]
fn an_idle_time_decreases_the_average_as_the_table_does() {
    // weight 1/4, packets of 1 ms: -ln(3/4) / 1000 = 0.000287682 for each microsecond, 31 of them at 107758 us, which
    // 2^8 us divide to less than 512
    let packet_time = Some(Duration::from_millis(1));
    let config = Red { weight_exponent: 2, packet_time, ..Red::default() };
    let parameters = Parameters::from(&config);
    for (idle_us, bytes_after) in [
        (0, 8000.0),
        // a straight line below 2^8 us: 8000 x (1 - 64 / 256)
        (64, 6000.0),
        // and half of it at most, as long as the table has 0: up to 13 entries (13 x 256 us x 0.000287682 = 0.957)
        (200, 4000.0),
        (3400, 4000.0),
        // one bit from entry 14 on, two from 28 on (2.06)
        (3584, 4000.0),
        (7168, 2000.0),
        // 65280 us is the last entry, and any longer time
        (65_280, 8000.0 / 2_147_483_648.0),
        (9_000_000, 8000.0 / 2_147_483_648.0),
    ] {
        let mut state = Control::new(&config, &parameters).at(&parameters, 8000);
        state.is_idle(&parameters, at(1000));
        state.is_idle(&parameters, at(1000 + idle_us / 2)); // called once more
        state.arrives(&parameters, at(1000 + idle_us), 0, &mut RandomStream::new(1, "queue"));
        let expected = libm::floor(bytes_after * 4.0) / 4.0;
        assert_eq!(state.average_bytes(&parameters), expected, "{idle_us}");
    }
    // without a packet time the idle time has no effect: only the backlog of 0 at the arrival lowers the average
    let config = Red { packet_time: None, ..config };
    let parameters = Parameters::from(&config);
    let mut state = Control::new(&config, &parameters).at(&parameters, 8000);
    state.is_idle(&parameters, at(0));
    state.arrives(&parameters, at(9_000_000), 0, &mut RandomStream::new(1, "queue"));
    assert_eq!(state.average_bytes(&parameters), 6000.0);
}

/// Section 3 of the paper of 2001: more by 1 %, at most by a quarter, above the target; less by a tenth below it.
#[test]
fn adaptive_red_adapts_the_probability_to_the_average() {
    let config = Red { adaptive: true, ..Red::default() };
    let (parameters, start) = control(&config);
    let adapted = |average, from: f64, times| {
        let probability = Probability::new(from).expect("a probability");
        let mut state = Control::new(&Red { max_probability: probability, ..config.clone() }, &parameters)
            .at(&parameters, average);
        for _ in 0..times {
            state.adapt(&parameters, at(0));
        }
        state.max_probability()
    };
    // the target is from 30 kB + 2 x 12 kB to 30 kB + 3 x 12 kB
    for (average, from, times, expected) in [
        (66_001, 0.02, 1, 0.025),
        (66_001, 0.08, 2, 0.10),
        (66_000, 0.08, 9, 0.08),
        (54_000, 0.08, 9, 0.08),
        (53_999, 0.08, 2, 0.0648),
        (53_999, 0.02, 90, 0.009_565_938), // 0.02 x 0.9^7, below 1 %
        (66_001, 0.02, 90, 0.508_828),     // 0.02 x 1.25^4, and 46 times 1 % until it exceeds 50 %
    ] {
        let found = adapted(average, from, times);
        assert!(
            (found - expected).abs() < 0.006 * expected,
            "{average} {from} {times}: {found} for {expected}"
        );
    }
    assert_eq!(start.max_probability(), (0.02_f64 * 4_294_967_296.0).floor() / 4_294_967_296.0);
}

#[test]
fn adaptations_that_were_due_are_made_at_the_next_call() {
    // an average above the target from the first packet on, then no packet for 1.7 s: three adaptations
    let mut red = queue("red", "adaptive = true\nweight_exponent = 0");
    arrive(&mut red, at(1), 0..70);
    let probability = |red: &mut Discipline<Piece>, micros| {
        let mut out = Metrics::default();
        red.sample(at(micros), &mut out);
        out.get("red_max_probability").unwrap()
    };
    assert!((probability(&mut red, 499_999) - 0.02).abs() < 1e-9);
    assert!((probability(&mut red, 500_000) - 0.025).abs() < 1e-9);
    assert!((probability(&mut red, 1_700_000) - 0.025 * 1.25 * 1.25).abs() < 1e-8);
    // an empty queue and no idle time: the average stays
    while red.dequeue(at(1_700_000), &mut |_, _| {}).is_some() {}
    assert!(probability(&mut red, 900_000_000) > 0.5);
}

#[test]
fn values_that_linux_does_not_have_are_refused() {
    let conflict = |options: &str| {
        let config: QueueConfig = toml::from_str(&format!("kind = \"red\"\n{options}")).expect("a queue");
        config.options().conflict().expect("refused").to_string()
    };
    assert_eq!(
        conflict("weight_exponent = 20"),
        "max_threshold: expected at most \"2047 B\" with a `weight_exponent` of 20, got \"90 kB\""
    );
    assert_eq!(
        conflict("min_threshold = \"91 kB\""),
        "min_threshold: expected at most `max_threshold` (\"90 kB\"), got \"91 kB\""
    );
    assert_eq!(conflict("no_drop = true"), "no_drop: expected false without `ecn`, got true");
    // Linux accepts this setting, and it has no effect
    assert_eq!(conflict("hard_drop = true"), "hard_drop: expected false without `ecn`, got true");
}

#[test]
fn the_kernel_gets_the_same_values() {
    let step = Red { ecn: true, max_threshold: bytes(30_000), weight_exponent: 0, ..Red::default() };
    let Ok(TcQueue::Child { words, mtu }) = step.tc() else { panic!("the kernel has it") };
    assert_eq!(words.join(" "), "red limit 400000 min 30000 max 30000 ewma 0 max_p 85899345 ecn");
    assert_eq!(mtu, DeviceMtu::Any);
    let refused = |red: Red| red.tc().unwrap_err().to_string();
    assert_eq!(
        refused(Red { packet_time: Some(Duration::from_micros(800)), ..Red::default() }),
        "packet_time: expected no value, got \"800 us\"; the kernel's `red` learns of no idle time below `tbf`"
    );
    let both = Red { ecn: true, no_drop: true, adaptive: true, ..Red::default() };
    assert!(refused(both).starts_with("no_drop: expected false with `adaptive`"));
}

/// Below `tbf`, the backlog in Linux includes the packet that waits for tokens.
#[test]
fn the_packet_in_service_is_a_part_of_the_backlog() {
    let step = "min_threshold = \"3 kB\"\nmax_threshold = \"3 kB\"\nweight_exponent = 0\nbytes = \"5 kB\"";
    let taken = |in_service: Option<u64>| {
        let (mut red, mut taken) = (queue("red", step), 0);
        for _ in 0..5 {
            let in_service = in_service.map(ByteCount::from_bytes);
            let mut refused = false;
            red.enqueue_at(
                Time::ZERO,
                piece(0, 0, 1000),
                QueueIndex(0),
                in_service,
                || unreachable!(),
                &mut |_, _| {
                    refused = true;
                },
            );
            taken += u64::from(!refused);
        }
        taken
    };
    assert_eq!((taken(None), taken(Some(1000)), taken(Some(3000))), (3, 2, 0));
}
