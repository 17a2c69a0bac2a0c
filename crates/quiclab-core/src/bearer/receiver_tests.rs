//! Tests of the receiving end: cases by hand, then comparison with the reference implementation.

use super::*;
use crate::bearer::BearerSender;
use crate::bearer::reference::Reference;
use crate::bearer::{BearerMode, Reordering, ReorderingTimer, Splitter};
use crate::random::RandomStream;
use crate::testing::at;
use crate::units::ByteCount;
use crate::units::Probability;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SIZE: ByteCount = ByteCount::from_bytes(1308);

fn bearer(sequence_bits: u8, timer: Duration) -> BearerConfig {
    BearerConfig {
        links: vec!["a".into(), "b".into()],
        batch_packets: 2,
        shares: vec![],
        mode: BearerMode::Split,
        splitter: Splitter::Batches,
        duplication: Probability::ZERO,
        reordering: Reordering {
            sequence_bits,
            timer: ReorderingTimer::Fixed(timer),
            ..Reordering::default()
        },
    }
}

/// A receiver with a timer of 200 ms, driven in milliseconds. The packet of COUNT c has the id c.
struct Bench {
    bits: SequenceBits,
    receiver: BearerReceiver,
    out: Outputs,
}

impl Bench {
    fn new(sequence_bits: u8, first: u64) -> Self {
        Self::with(&bearer(sequence_bits, Duration::from_millis(200)), first)
    }

    fn with(bearer: &BearerConfig, first: u64) -> Self {
        Self {
            bits: SequenceBits::new(bearer.reordering.sequence_bits),
            receiver: BearerReceiver::new(bearer).starting_at(first),
            out: Outputs { record_drops: true, ..Outputs::default() },
        }
    }

    /// Ids delivered in this call.
    fn receive_on(&mut self, port: u16, now: Time, count: u64) -> Vec<u64> {
        let packet = Packet {
            id: count,
            size: SIZE,
            sequence: self.bits.sequence(count),
            encapsulation: self.bits.encapsulation(),
            ..Packet::default()
        };
        self.receiver.receive(now, Port(port), Box::new(packet), &mut self.out);
        self.check()
    }

    fn receive(&mut self, ms: u64, count: u64) -> Vec<u64> {
        self.receive_on(0, at(ms), count)
    }

    fn wake(&mut self, now: Time) -> Vec<u64> {
        self.receiver.wake(now, &mut self.out);
        self.check()
    }

    /// Asserts that the timer is due at `ms`; returns the ids that its expiry delivers.
    fn expire(&mut self, ms: u64) -> Vec<u64> {
        assert_eq!(self.receiver.next_wake(), Some(at(ms)));
        self.wake(at(ms))
    }

    fn check(&mut self) -> Vec<u64> {
        assert_eq!(self.receiver.counters().balance(), (0, 0));
        self.out
            .packets
            .drain(..)
            .map(|(port, packet)| {
                assert_eq!((port, packet.encapsulation, packet.sequence), (Port(0), ByteCount::ZERO, 0));
                packet.id
            })
            .collect()
    }

    fn statistic(&mut self, name: &str) -> f64 {
        let mut metrics = Metrics::default();
        self.receiver.statistics(Time::ZERO, &mut metrics);
        metrics.get(name).expect("a known name")
    }
}

const NONE: [u64; 0] = [];

#[test]
fn in_sequence_leaves_at_once_and_a_filled_hole_releases_a_burst() {
    let mut bench = Bench::new(16, 0);
    assert_eq!(bench.receive_on(0, at(0), 0), [0]);
    assert_eq!(bench.receiver.next_wake(), None);
    assert_eq!(bench.receive_on(1, at(1), 2), NONE);
    assert_eq!(bench.receive_on(1, at(2), 3), NONE);
    assert_eq!(bench.receiver.next_wake(), Some(at(201)));
    let mut sample = Metrics::default();
    bench.receiver.sample(at(2), &mut sample);
    assert_eq!(sample, [("buffered_packets", 2.0), ("sent_bytes", 1308.0), ("reordering_timer_ms", 200.0)]);
    assert_eq!(bench.receive_on(0, at(5), 1), [1, 2, 3]);
    assert_eq!(bench.receiver.next_wake(), None);
    for (name, value) in [
        ("received_port0_packets", 2.0),
        ("received_port1_packets", 2.0),
        ("in_order_packets", 2.0),
        ("buffered_total_packets", 2.0),
        ("longest_buffer_packets", 2.0),
        ("reordering_events", 1.0),
        ("timer_expiries", 0.0),
        ("skipped_packets", 0.0),
        ("waited_packets", 2.0),
        ("waiting_mean_ms", 3.5), // 4 ms and 3 ms
        ("waiting_max_ms", 4.0),
    ] {
        assert_eq!(bench.statistic(name), value, "{name}");
    }
}

/// A second gap does not restart the timer; it gets one when the first is filled.
#[test]
fn a_filled_hole_restarts_the_timer_for_the_next_one() {
    let mut bench = Bench::new(16, 0);
    assert_eq!(bench.receive(0, 1), NONE); // RX_REORD = 2
    assert_eq!(bench.receive(50, 3), NONE);
    assert_eq!(bench.receiver.next_wake(), Some(at(200)));
    assert_eq!(bench.receive(60, 0), [0, 1]); // RX_DELIV = 2 reaches RX_REORD
    assert_eq!(bench.receiver.next_wake(), Some(at(260)));
    assert_eq!(bench.statistic("reordering_events"), 2.0);
    assert_eq!(bench.receive(70, 2), [2, 3]);
    assert_eq!(bench.receiver.next_wake(), None);
}

/// The gap of the timer is filled in part: RX_DELIV stays below RX_REORD and the timer continues.
#[test]
fn the_timer_goes_on_while_something_below_rx_reord_is_missing() {
    let mut bench = Bench::new(16, 0);
    assert_eq!(bench.receive(0, 2), NONE); // RX_REORD = 3, 0 and 1 are missing
    assert_eq!(bench.receive(10, 0), [0]);
    assert_eq!(bench.expire(200), [2]);
    assert_eq!(bench.statistic("skipped_packets"), 1.0);
}

#[test]
fn expiry_delivers_what_lies_below_rx_reord_and_the_run_from_there() {
    let mut bench = Bench::new(16, 0);
    assert_eq!(bench.receive(0, 5), NONE); // RX_REORD = 6
    assert_eq!(bench.receive(1, 2), NONE);
    assert_eq!(bench.receive(2, 6), NONE);
    assert_eq!(bench.receive(3, 7), NONE);
    assert_eq!(bench.receive(4, 9), NONE);
    // 2 and 5 are below 6; 6 and 7 are the run from 6; 8 is missing, so 9 gets its own timer
    assert_eq!(bench.expire(200), [2, 5, 6, 7]);
    assert_eq!(bench.statistic("skipped_packets"), 4.0); // 0, 1, 3, 4
    assert_eq!(bench.receive(300, 4), NONE); // late
    assert_eq!(bench.receive(301, 4), NONE); // a copy of it
    assert_eq!(bench.receive(302, 5), NONE); // a copy of a delivered packet
    assert_eq!(bench.receive(303, 9), NONE); // a copy of a waiting packet
    assert_eq!((bench.statistic("late_packets"), bench.statistic("duplicate_packets")), (1.0, 3.0));
    assert!(bench.out.drops.iter().all(|(reason, _)| *reason == DropReason::DuplicateOrLate));
    assert_eq!(bench.out.drops.iter().map(|(_, packet)| packet.id).collect::<Vec<_>>(), [4, 4, 5, 9]);
    assert_eq!(bench.expire(400), [9]);
    assert_eq!(bench.receiver.next_wake(), None);
}

/// The published code would set RX_DELIV to RX_REORD + 1 and drop packet 3 on arrival.
#[test]
fn departure_1_rx_reord_that_comes_after_expiry_is_delivered() {
    let mut bench = Bench::new(16, 0);
    assert_eq!(bench.receive(0, 0), [0]);
    assert_eq!(bench.receive(0, 2), NONE); // RX_REORD = 3
    assert_eq!(bench.expire(200), [2]);
    assert_eq!(bench.receive(201, 3), [3]);
    assert_eq!(bench.statistic("late_packets"), 0.0);
}

/// The published code would deliver 4, whose run begins at RX_REORD + 1, and drop packet 3.
#[test]
fn departure_1_a_run_from_rx_reord_plus_1_waits() {
    let mut bench = Bench::new(16, 0);
    assert_eq!(bench.receive(0, 0), [0]);
    assert_eq!(bench.receive(0, 2), NONE); // RX_REORD = 3
    assert_eq!(bench.receive(100, 4), NONE);
    assert_eq!(bench.expire(200), [2]);
    assert_eq!(bench.receiver.next_wake(), Some(at(400)));
    assert_eq!(bench.receive(250, 3), [3, 4]);
}

/// With the first undelivered packet (1) as its limit, the first step would deliver nothing, and 3
/// and 5 would be stuck behind RX_DELIV = 6.
#[test]
fn departure_2_the_limit_of_the_first_step_is_rx_reord() {
    let mut bench = Bench::new(16, 0);
    assert_eq!(bench.receive(0, 0), [0]);
    assert_eq!(bench.receive(0, 5), NONE); // RX_REORD = 6
    assert_eq!(bench.receive(1, 3), NONE);
    assert_eq!(bench.expire(200), [3, 5]);
    assert_eq!(bench.receiver.counters().held.packets, 0);
}

/// A number that is passed over is neither awaited nor given up, wherever it is in the sequence: 1 is next, 3
/// is behind the gap of 2.
#[test]
fn what_follows_a_number_that_was_passed_over_does_not_wait_for_it() {
    let mut bench = Bench::new(16, 0);
    assert_eq!(bench.receive(0, 0), [0]);
    let pass_over = |bench: &mut Bench, ms: u64, count: u64| {
        let sequence = bench.bits.sequence(count);
        bench.receiver.pass_over(at(ms), sequence, &mut bench.out);
        bench.check()
    };
    assert_eq!(pass_over(&mut bench, 1, 1), NONE);
    assert_eq!(bench.receiver.next_wake(), None);
    assert_eq!(pass_over(&mut bench, 2, 3), NONE);
    assert_eq!(bench.receiver.next_wake(), Some(at(202)), "2 is missing");
    assert_eq!(bench.receive(3, 4), NONE);
    assert_eq!(bench.receive(4, 2), [2, 4]);
    assert_eq!(bench.receiver.next_wake(), None);
    // packets that wait for 5 leave when 5 is passed over
    assert_eq!(bench.receive(5, 6), NONE);
    assert_eq!(pass_over(&mut bench, 6, 5), [6]);
    // the gap of 7 is given up, 8 is not
    assert_eq!(pass_over(&mut bench, 7, 8), NONE);
    assert_eq!(bench.receive(8, 9), NONE);
    assert_eq!(bench.expire(207), [9]);
    assert_eq!(bench.statistic("skipped_packets"), 1.0);
    // too late: nothing waits for it
    assert_eq!(pass_over(&mut bench, 208, 7), NONE);
    assert_eq!(bench.receive(209, 10), [10]);
}

/// The bound of the module header is attained: 3 arrives at the start of a run of the timer that does not
/// cover it.
#[test]
fn the_longest_wait_is_two_timers() {
    let mut bench = Bench::new(16, 0);
    assert_eq!(bench.receive(0, 1), NONE);
    assert_eq!(bench.receive(0, 3), NONE);
    assert_eq!(bench.expire(200), [1]);
    assert_eq!(bench.expire(400), [3]);
    assert_eq!(bench.statistic("waiting_max_ms"), 400.0);
    assert_eq!(bench.statistic("waiting_mean_ms"), 300.0);
}

#[test]
fn a_wake_before_the_deadline_does_nothing() {
    let mut bench = Bench::new(16, 0);
    assert_eq!(bench.receive(0, 1), NONE);
    assert_eq!(bench.wake(at(199)), NONE);
    assert_eq!(bench.expire(200), [1]);
    assert_eq!(bench.wake(at(201)), NONE);
    assert_eq!(bench.statistic("timer_expiries"), 1.0);
}

#[test]
fn a_timer_of_zero_gives_holes_up_at_once() {
    let mut bench = Bench::with(&bearer(16, Duration::ZERO), 0);
    assert_eq!(bench.receive(7, 1), NONE);
    assert_eq!(bench.expire(7), [1]);
}

#[test]
fn switched_off_it_strips_and_passes_everything() {
    let mut off = bearer(18, Duration::from_millis(200));
    off.reordering.enabled = false;
    let mut bench = Bench::with(&off, 0);
    for count in [3, 1, 1, 0] {
        assert_eq!(bench.receive(0, count), [count]);
    }
    assert_eq!(bench.receiver.next_wake(), None);
    assert_eq!(bench.receiver.counters().dropped.packets, 0);
}

#[test]
fn the_window_is_half_of_the_sequence_space_at_every_length() {
    for bits in [12u8, 16, 18] {
        let window = 1u64 << (bits - 1);
        let first = 3 * window; // low part = window, so that both sides stay within one HFN
        let mut bench = Bench::new(bits, first);
        assert_eq!(bench.receive(0, first + window - 1), NONE);
        assert_eq!(bench.receiver.counters().held.packets, 1);
        // one more is taken for a packet of the previous number space, whose turn is over
        assert_eq!(bench.receive(0, first + window), NONE);
        assert_eq!(bench.receiver.counters().dropped.packets, 1);
        assert_eq!(bench.expire(200), [first + window - 1]);
        assert_eq!(bench.statistic("skipped_packets"), (window - 1) as f64);
    }
}

#[test]
fn a_packet_from_before_the_first_count_is_late() {
    let mut bench = Bench::new(12, 0);
    assert_eq!(bench.receive(0, 4095), NONE); // HFN(RX_DELIV) - 1 would be -1
    assert_eq!(bench.statistic("late_packets"), 1.0);
    assert_eq!(bench.receiver.next_wake(), None);
    assert_eq!(bench.receive(1, 0), [0]);
}

/// TS 38.323 section 6.3.5: "COUNT does not wrap around"; here it continues with 64 bits.
#[test]
fn count_passes_32_bits() {
    let last = u64::from(u32::MAX);
    for bits in [12, 16, 18] {
        let mut bench = Bench::new(bits, last - 1);
        assert_eq!(bench.receive(0, last + 2), NONE);
        assert_eq!(bench.receive(1, last - 1), [last - 1]);
        assert_eq!(bench.receive(2, last + 1), NONE);
        assert_eq!(bench.receive(3, last), [last, last + 1, last + 2]);
        assert_eq!(bench.receive(4, last), NONE);
        assert_eq!(bench.statistic("duplicate_packets"), 1.0);
    }
}

/// Both ends together over more than two sequence spaces; the second link overtakes the first.
#[test]
fn sender_and_receiver_agree() {
    let config = bearer(12, Duration::from_millis(200));
    let mut sender = BearerSender::new(&config, None);
    let mut bench = Bench::with(&config, 0);
    let mut delivered = Vec::new();
    for round in 0..5000u64 {
        let mut sent = Outputs::default();
        for id in [2 * round, 2 * round + 1] {
            let packet = Box::new(Packet { id, size: SIZE, ..Packet::default() });
            sender.receive(at(10 * round), Port(0), packet, &mut sent);
        }
        assert_eq!(sent.packets.iter().map(|(port, _)| port.0).collect::<Vec<_>>(), [0, 1]);
        for (port, packet) in sent.packets.into_iter().rev() {
            bench.receiver.receive(at(10 * round), port, packet, &mut bench.out);
        }
        delivered.extend(bench.check());
    }
    assert_eq!(delivered, (0..10_000).collect::<Vec<u64>>());
}

/// One packet: pause before it in ms, numbers lost before it, and its delay on each link in ms
/// (`None`: lost there).
type Step = (u64, u64, [Option<u64>; 2]);

/// Coverage of a comparison, for assertions of tests.
#[derive(Debug, Default)]
struct Covered {
    expiries: u64,
    late: u64,
    duplicates: u64,
    sequence_wraps: u64,
    longest: u64,
}

/// Sends `steps` through the element and the reference and compares all observable state. Equal times are
/// ordered timer first if `timer_first`.
fn compare(bits: u8, first: u64, t_reordering: Duration, timer_first: bool, steps: &[Step]) -> Covered {
    let mut bench = Bench::with(&bearer(bits, t_reordering), first);
    let mut reference = Reference::new(first, t_reordering);
    let window = bench.bits.window();
    let (mut arrivals, mut sent_ms, mut count) = (Vec::new(), 0, first);
    for (pause_ms, lost, delays) in steps {
        (sent_ms, count) = (sent_ms + pause_ms, count + lost);
        for (port, delay_ms) in (0u16..).zip(delays) {
            arrivals.extend(delay_ms.map(|delay_ms| (at(sent_ms + delay_ms), port, count)));
        }
        count += 1;
    }
    arrivals.sort_by_key(|&(time, ..)| time);

    let mut arrived_at: BTreeMap<u64, Time> = BTreeMap::new();
    let mut covered_at: BTreeMap<u64, Time> = BTreeMap::new();
    let mut delivered: Vec<(Time, u64)> = Vec::new();
    let mut arrivals = arrivals.into_iter().peekable();
    loop {
        let next_arrival = arrivals.peek().map_or(Time::MAX, |&(time, ..)| time);
        let expiry =
            reference.timer.filter(|&timer| timer < next_arrival || timer_first && timer == next_arrival);
        let now;
        let burst = if let Some(timer) = expiry {
            now = timer;
            reference.t_reordering_expires(now);
            bench.wake(now)
        } else if let Some((time, port, count)) = arrivals.next() {
            now = time;
            // beyond half of the sequence space no receiver can determine COUNT
            if count + window < reference.rx_deliv || count >= reference.rx_deliv + window {
                continue;
            }
            reference.packet_received(now, count);
            arrived_at.entry(count).or_insert(now);
            bench.receive_on(port, now, count)
        } else {
            break;
        };
        for count in burst {
            assert!(now <= arrived_at[&count] + t_reordering * 2, "{count} waited more than two timers");
            let covered = covered_at.get(&count).copied().unwrap_or(now);
            assert!(now <= covered + t_reordering, "{count} waited more than a timer after it was covered");
            delivered.push((now, count));
        }
        assert_eq!(bench.receiver.next_wake(), reference.timer);
        assert_eq!(bench.receiver.rx_next, reference.rx_next);
        assert_eq!(bench.receiver.rx_deliv, reference.rx_deliv);
        assert_eq!(bench.receiver.counters().held.packets, reference.waiting());
        for count in reference.covered() {
            covered_at.entry(count).or_insert(now);
        }
    }
    assert_eq!(delivered, reference.delivered);
    assert!(delivered.windows(2).all(|pair| pair[0].1 < pair[1].1), "in order and nothing twice");
    let dropped: Vec<u64> = bench.out.drops.iter().map(|(_, packet)| packet.id).collect();
    assert_eq!(dropped, reference.discarded.iter().map(|(count, _)| *count).collect::<Vec<_>>());
    let duplicates = reference.discarded.iter().filter(|(_, copy)| *copy).count() as u64;
    let late = reference.discarded.len() as u64 - duplicates;
    assert_eq!(bench.statistic("duplicate_packets"), duplicates as f64);
    assert_eq!(bench.statistic("late_packets"), late as f64);
    assert_eq!(bench.statistic("skipped_packets"), reference.skipped(first) as f64);
    assert_eq!(bench.statistic("timer_expiries"), reference.expiries as f64);
    let counters = bench.receiver.counters();
    assert_eq!(counters.held.packets, 0, "the last timer empties the buffer");
    let at_once = delivered.iter().filter(|(time, count)| arrived_at[count] == *time).count() as f64;
    let in_order = bench.statistic("in_order_packets");
    // a packet may also wait for no time: its gap is filled or given up in the same millisecond
    assert!(in_order <= at_once);
    assert_eq!(in_order + bench.statistic("waited_packets"), delivered.len() as f64);
    assert_eq!(bench.statistic("buffered_total_packets"), bench.statistic("waited_packets"));
    Covered {
        expiries: reference.expiries,
        late,
        duplicates,
        sequence_wraps: (reference.rx_deliv >> bits) - (first >> bits),
        longest: bench.receiver.buffer.longest(),
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let delay = || prop_oneof![8 => 10u64..13, 3 => 10u64..60, 1 => 100u64..450];
    let delays = prop_oneof![
        8 => delay().prop_map(|ms| [Some(ms), None]),
        8 => delay().prop_map(|ms| [None, Some(ms)]),
        2 => (delay(), delay()).prop_map(|(one, other)| [Some(one), Some(other)]),
        1 => Just([None, None]),
    ];
    let lost = prop_oneof![30 => Just(0u64), 1 => 1u64..1000];
    prop::collection::vec((0u64..4, lost, delays), 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Element and reference agree on every delivery, its time, the timer and all counts, for starts
    /// near both ends of the sequence space and of 32 bits.
    #[test]
    fn agrees_with_the_reference(
        bits in prop::sample::select(vec![12u8, 12, 12, 16, 18]),
        base in prop::sample::select(vec![0u64, 1, 2]),
        before in 0u64..300,
        timer_ms in prop::sample::select(vec![0u64, 1, 5, 20, 50, 200]),
        timer_first in any::<bool>(),
        steps in steps(),
    ) {
        let end = [0, 3 << bits, 1 << 32][base as usize];
        let first = u64::saturating_sub(end, before);
        compare(bits, first, Duration::from_millis(timer_ms), timer_first, &steps);
    }
}

/// 40 000 packets with 12 bits: 0.5 % loss, 0.5 % copies, links of 10 and 25 ms with jitter, a
/// straggler in 200. The number space of 4096 wraps at least nine times.
#[test]
fn agrees_with_the_reference_over_many_wraps() {
    let mut random = RandomStream::new(38_323, "many wraps");
    let steps: Vec<Step> = (0..40_000u64)
        .map(|number| {
            let straggles = if random.bits().is_multiple_of(200) { 250 } else { 0 };
            let delay_ms = random.bits() % 3 + straggles;
            let delays = match random.bits() % 200 {
                0 => [None, None],
                1 => [Some(10 + delay_ms), Some(25 + delay_ms)],
                _ if number % 100 < 50 => [Some(10 + delay_ms), None],
                _ => [None, Some(25 + delay_ms)],
            };
            (random.bits() % 2, 0, delays)
        })
        .collect();
    let covered = compare(12, 0, Duration::from_millis(200), true, &steps);
    assert!(covered.sequence_wraps >= 9, "{covered:?}");
    assert!(covered.expiries > 0 && covered.late > 0 && covered.duplicates > 0, "{covered:?}");
    assert!(covered.longest > 64, "{covered:?}"); // the ring has grown
}
