//! A whole link under random operations: invariants for all arrivals.

use super::*;
use crate::link::trace::TraceCursor;
use crate::link::{AggregationConfig, RetransmissionConfig};
use crate::units::DataRate;
use proptest::prelude::*;
use std::collections::VecDeque;

/// A trace as text with its format and continuation.
type TraceText = (String, TraceFormat, TraceEnd);

fn trace_text() -> impl Strategy<Value = TraceText> {
    let ends = prop_oneof![Just(TraceEnd::Loop), Just(TraceEnd::Hold), Just(TraceEnd::Stop)];
    let steps = prop::collection::vec((1..5000u64, prop_oneof![Just(0), 1..100_000u64]), 1..10);
    let csv = (1..100_000u64, steps, ends).prop_map(|(first, steps, at_end)| {
        let mut text = format!("time_ms,rate_kbps\n0,{first}\n");
        let mut micros = 0;
        for (step, rate) in steps {
            micros += step;
            text += &format!("{}.{:03},{rate}\n", micros / 1000, micros % 1000);
        }
        (text, TraceFormat::Csv, at_end)
    });
    let gaps = prop::collection::vec(0..4u64, 1..20);
    let mahimahi = (gaps, any::<bool>()).prop_map(|(gaps, looped)| {
        let mut at = 1;
        let lines = gaps.iter().map(|gap| {
            at += gap;
            format!("{at}\n")
        });
        let at_end = if looped { TraceEnd::Loop } else { TraceEnd::Stop };
        (lines.collect(), TraceFormat::Mahimahi, at_end)
    });
    prop_oneof![csv, mahimahi]
}

fn rate() -> impl Strategy<Value = (Option<Rate>, Option<TraceText>)> {
    let rates = || (1_000..1_000_000_000u64).prop_map(DataRate::from_bits_per_second);
    prop_oneof![
        Just((None, None)),
        rates().prop_map(|rate| (Some(Rate::Constant(rate)), None)),
        (rates(), 1..20_000u64).prop_map(|(rate, burst)| {
            (Some(Rate::Shaped(ShapedRate::TokenBucket { rate, burst: bytes(burst) })), None)
        }),
        trace_text().prop_map(|trace| {
            let rate = ShapedRate::Trace {
                file: "trace".into(),
                format: trace.1,
                at_end: trace.2,
                rate_at: RateAt::Dequeue,
            };
            (Some(Rate::Shaped(rate)), Some(trace))
        }),
        (1..2000u64, 1..2000u64, 1..50u64).prop_map(|(before, after, step)| {
            let (format, at_end) = (TraceFormat::Csv, TraceEnd::Hold);
            let rate = ShapedRate::Trace { file: "trace".into(), format, at_end, rate_at: RateAt::Enqueue };
            let text = format!("time_ms,rate_kbps\n0,{before}\n{step},{after}\n");
            (Some(Rate::Shaped(rate)), Some((text, format, at_end)))
        }),
    ]
}

fn queue() -> impl Strategy<Value = QueueConfig> {
    let bytes = (1..20_000u64).prop_map(ByteCount::from_bytes);
    let time = (1..20_000u64).prop_map(Duration::from_micros);
    (prop::option::of(1..20u64), prop::option::of(bytes), prop::option::of(time)).prop_map(
        |(packets, bytes, time)| {
            QueueConfig::DropTail(DropTail { packets, bytes, time, ..DropTail::default() })
        },
    )
}

fn delay() -> impl Strategy<Value = Delay> {
    let distributions = prop_oneof![
        Just(Distribution::Normal),
        Just(Distribution::Uniform),
        Just(Distribution::Pareto),
        Just(Distribution::Wifi)
    ];
    (0..20_000u64, 0..5_000u64, distributions, any::<bool>()).prop_map(
        |(mean, deviation, distribution, reorder)| {
            let (mean, deviation) = (Duration::from_micros(mean), Duration::from_micros(deviation));
            Delay { mean, deviation, distribution, reorder, ..Delay::default() }
        },
    )
}

fn holds() -> impl Strategy<Value = Vec<crate::link::Hold>> {
    let hold = (0..60u64, 1..5_000u64, prop::option::of(1..10u64));
    prop::collection::vec(hold, 0..4).prop_map(|holds| {
        let by = Duration::from_micros;
        holds
            .into_iter()
            .map(|(packet, micros, behind)| crate::link::Hold { packet, by: by(micros), behind })
            .collect()
    })
}

fn policer() -> impl Strategy<Value = Option<crate::link::Policer>> {
    let policer = |(kbps, burst)| crate::link::Policer {
        rate: DataRate::from_bits_per_second(kbps * 1000),
        burst: bytes(burst),
    };
    prop::option::of((1..20_000u64, 1000..20_000u64).prop_map(policer))
}

fn aggregation() -> impl Strategy<Value = Option<AggregationConfig>> {
    prop::option::of(
        (10..5_000u64).prop_map(|interval| AggregationConfig { interval: Duration::from_micros(interval) }),
    )
}

fn retransmission() -> impl Strategy<Value = Option<RetransmissionConfig>> {
    let recovery = prop::option::of((1..5_000u64).prop_map(Duration::from_micros));
    prop::option::of((0..=90u32, 1..5_000u64, 1..4u32, recovery).prop_map(
        |(percent, delay, transmissions, recovery)| {
            let failure = Probability::new(f64::from(percent) / 100.0).unwrap();
            RetransmissionConfig { failure, delay: Duration::from_micros(delay), transmissions, recovery }
        },
    ))
}

fn loss() -> impl Strategy<Value = Option<Loss>> {
    let probability =
        || (0..=100u32).prop_map(|percent| Probability::new(f64::from(percent) / 100.0).unwrap());
    let bursts = (probability(), probability(), probability(), probability());
    prop_oneof![
        Just(None),
        probability().prop_map(|probability| Some(Loss::Independent { probability })),
        bursts.prop_map(|(good_to_bad, bad_to_good, loss_in_good, loss_in_bad)| {
            Some(Loss::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad })
        }),
        prop::collection::vec(0..60u64, 0..20).prop_map(|packets| Some(Loss::Listed { packets })),
    ]
}

/// Arrivals in nanoseconds, often several at once.
fn arrivals() -> impl Strategy<Value = Vec<(Time, Packet)>> {
    let gap = prop_oneof![Just(0), 0..1_000u64, 0..3_000_000u64];
    prop::collection::vec((gap, 1..3000u64, 0..3u64), 1..60).prop_map(|arrivals| {
        let mut now = 0;
        let packet = |(id, (gap, size, encapsulation)): (u64, (u64, u64, u64))| {
            now += gap;
            let (size, encapsulation) = (bytes(size), bytes(encapsulation));
            (Time::from_nanos(now), Packet { id, size, encapsulation, ..Packet::default() })
        };
        (0..).zip(arrivals).map(packet).collect()
    })
}

prop_compose! {
    /// Any link, as a function that builds it repeatedly.
    fn any_link()(
        (rate, trace) in rate(), queue in queue(), loss in loss(), delay in delay(), overhead in 0..40u64,
        holds in holds(), policer in policer(), aggregation in aggregation(), retransmission in retransmission(),
    ) -> (crate::link::LinkConfig, Option<TraceText>) {
        let link = crate::link::LinkConfig {
            rate,
            overhead_per_packet: bytes(overhead),
            policer,
            queue,
            loss,
            delay,
            holds,
            aggregation,
            retransmission,
            ..crate::link::LinkConfig::default()
        };
        (link, trace)
    }
}

fn build((config, trace): &(crate::link::LinkConfig, Option<TraceText>)) -> Link {
    let trace = trace.as_ref().map(|(text, format, at_end)| Trace::parse(text, *format, *at_end).unwrap());
    Link::new(config, LinkInputs { trace, ..LinkInputs::default() }, 1, "link")
}

proptest! {
    /// Counters are checked by the driver after each call. A driver that misses wakes loses and delays only
    /// the calls themselves.
    #[test]
    fn nothing_vanishes_and_late_wakes_change_no_decision(
        config in any_link(), arrivals in arrivals(), late in prop::collection::vec(any::<bool>(), 60),
    ) {
        let mut punctual = build(&config);
        let log = drive(&mut punctual, &arrivals);
        let held = punctual.counters().held.packets;
        let ends = matches!(&config.1, Some((.., TraceEnd::Stop | TraceEnd::Hold)));
        prop_assert!(held == 0 || ends, "{held} packets are held");
        let late = drive_late(&mut build(&config), &arrivals, &late);
        prop_assert_eq!(late.delivered_ids(), log.delivered_ids());
        prop_assert_eq!(late.dropped, log.dropped);
        prop_assert!(late.delivered.iter().zip(&log.delivered).all(|(late, punctual)| late.0 >= punctual.0));
    }

    #[test]
    fn nothing_is_early_and_order_is_kept_unless_it_need_not(
        bits in 1_000..1_000_000_000u64, delay in delay(), arrivals in arrivals(), overhead in 0..40u64,
    ) {
        let rate = DataRate::from_bits_per_second(bits);
        let config = crate::link::LinkConfig {
            rate: Some(Rate::Constant(rate)),
            overhead_per_packet: bytes(overhead),
            queue: unlimited(),
            delay: delay.clone(),
            loss: None,
            ..crate::link::LinkConfig::default()
        };
        let mean = delay.mean.as_nanos() as f64;
        let deviation = delay.deviation.as_nanos() as f64;
        let smallest = match delay.distribution {
            Distribution::Constant | Distribution::Wifi => mean,
            Distribution::Normal => 0.0,
            Distribution::Uniform => mean - deviation,
            Distribution::Pareto => mean - deviation / libm::sqrt(3.0),
        };
        let smallest = Duration::from_nanos_f64(libm::floor(smallest));
        let log = drive(&mut link(&config), &arrivals);
        prop_assert_eq!(log.delivered.len(), arrivals.len());
        for (time, id) in &log.delivered {
            let (arrived, packet) = &arrivals[*id as usize];
            let serialisation = rate.time_for(packet.wire_size() + bytes(overhead));
            prop_assert!(*time >= *arrived + serialisation + smallest);
        }
        prop_assert!(delay.reorder || log.delivered_ids().is_sorted());
    }

    /// In any window at most rate x window and one packet leave, and a busy link loses less than a
    /// nanosecond a packet.
    #[test]
    fn a_constant_rate_is_never_exceeded_and_always_used(
        bits in 1_000..1_000_000_000u64, arrivals in arrivals(),
    ) {
        let rate = DataRate::from_bits_per_second(bits);
        let config = crate::link::LinkConfig {
            rate: Some(Rate::Constant(rate)), queue: unlimited(), ..crate::link::LinkConfig::default()
        };
        let log = drive(&mut link(&config), &arrivals);
        let sizes: Vec<u64> = arrivals.iter().map(|(_, packet)| packet.wire_size().bytes()).collect();
        for first in 0..sizes.len() {
            let mut sum = 0;
            for (last, size) in sizes.iter().enumerate().skip(first + 1) {
                // the first packet of the window is the one that may leave at its edge
                sum += size;
                let window = log.delivered[last].0.since(log.delivered[first].0);
                prop_assert!(
                    u128::from(sum) * 8_000_000_000 <= u128::from(bits) * u128::from(window.as_nanos())
                );
            }
        }
        let mut free = Time::ZERO;
        for ((arrived, packet), (left, _)) in arrivals.iter().zip(&log.delivered) {
            let needed = rate.time_for(packet.wire_size()).as_nanos();
            let start = free.max(*arrived);
            prop_assert_eq!(left.since(start).as_nanos(), needed);
            free = *left;
        }
    }

    #[test]
    fn a_token_bucket_passes_at_most_rate_and_burst(
        bits in 1_000..1_000_000_000u64, burst in 3002..20_000u64, arrivals in arrivals(),
    ) {
        let bucket = ShapedRate::TokenBucket { rate: DataRate::from_bits_per_second(bits), burst: bytes(burst) };
        let config = crate::link::LinkConfig {
            rate: Some(Rate::Shaped(bucket)), queue: unlimited(), ..crate::link::LinkConfig::default()
        };
        let log = drive(&mut link(&config), &arrivals);
        prop_assert_eq!(log.delivered.len(), arrivals.len());
        for first in 0..arrivals.len() {
            let mut sum = 0;
            for (last, (_, packet)) in arrivals.iter().enumerate().skip(first) {
                sum += u128::from(packet.wire_size().bytes());
                let window = u128::from(log.delivered[last].0.since(log.delivered[first].0).as_nanos());
                prop_assert!(sum * 8_000_000_000 <= u128::from(bits) * window + u128::from(burst) * 8_000_000_000);
            }
        }
    }

    /// The drops and departures of an ideal drop-tail queue (Lindley 1952), computed without events.
    #[test]
    fn drop_tail_is_the_ideal_queue(
        bits in 1_000_000..100_000_000u64, limit in 1..20u64, arrivals in arrivals(),
    ) {
        let rate = DataRate::from_bits_per_second(bits);
        let queue = QueueConfig::DropTail(DropTail { packets: Some(limit), ..DropTail::default() });
        let config = crate::link::LinkConfig { rate: Some(Rate::Constant(rate)), queue, ..crate::link::LinkConfig::default() };
        let log = drive(&mut link(&config), &arrivals);
        let mut ideal = Log::default();
        let mut departures = VecDeque::new();
        for (now, packet) in &arrivals {
            while departures.front().is_some_and(|departure| departure <= now) {
                departures.pop_front();
            }
            if departures.len() as u64 == limit {
                ideal.dropped.push((DropReason::QueueFull, packet.id));
                continue;
            }
            let start = departures.back().copied().unwrap_or(*now);
            departures.push_back(start + rate.time_for(packet.wire_size()));
            ideal.delivered.push((start + rate.time_for(packet.wire_size()), packet.id));
        }
        prop_assert_eq!(log, ideal);
    }

    #[test]
    fn a_trace_of_one_rate_is_that_rate(
        kbps in 1..1_000_000u64, split in 1..1000u64, arrivals in arrivals(),
    ) {
        let rate = Rate::Constant(DataRate::from_bits_per_second(kbps * 1000));
        let config = crate::link::LinkConfig { rate: Some(rate), queue: unlimited(), ..crate::link::LinkConfig::default() };
        let text = format!("time_ms,rate_kbps\n0,{kbps}\n{split},{kbps}\n1000,{kbps}\n");
        let expected = drive(&mut link(&config), &arrivals);
        for at_end in [TraceEnd::Loop, TraceEnd::Hold] {
            let log = drive(&mut traced(&text, TraceFormat::Csv, at_end), &arrivals);
            prop_assert_eq!(&log, &expected);
        }
    }

    /// Any file content is a working trace or an error that can be printed.
    #[test]
    fn hostile_traces_never_panic(
        text in prop_oneof![
            any::<String>(),
            "(time_s|time_ms),rate_(bps|kbps|mbps)\n([0-9eE.+-]{0,25},[0-9eE.-]{0,25}\n){0,5}",
            "(time_s|time_ms),rate_(bps|kbps|mbps)\n0,[0-9]{1,22}\n([0-9]{1,12},[0-9]{1,22}\n){0,3}",
            "([0-9.-]{0,22}\n){0,6}",
        ],
        sizes in prop::collection::vec(prop_oneof![1..3000u64, any::<u64>()], 1..4),
    ) {
        for format in [TraceFormat::Csv, TraceFormat::Mahimahi] {
            for at_end in [TraceEnd::Loop, TraceEnd::Hold, TraceEnd::Stop] {
                match Trace::parse(&text, format, at_end) {
                    Err(error) => prop_assert!(!error.to_string().is_empty()),
                    Ok(trace) => {
                        let mut cursor = TraceCursor::new(&trace);
                        let mut now = Time::ZERO;
                        for size in &sizes {
                            cursor.rate_at(now);
                            match cursor.finish(now, bytes(*size)) {
                                Some(end) => {
                                    prop_assert!(end >= now);
                                    now = end;
                                }
                                None => break,
                            }
                        }
                    }
                }
            }
        }
    }
}
