//! A whole link in small cases computed by hand; random operations are in `properties`.

mod changes;
mod conditions;
mod feedback;
mod hold;
mod paced;
mod properties;
mod rate_at;
mod wire;

use super::*;
use crate::counters::Count;
use crate::ip::Ecn;
use crate::link::{Delay, Distribution, Loss, RateAt, TraceEnd, TraceFormat};
use crate::queue::{DropTail, QueueConfig};
use crate::units::{DataRate, Probability};

/// Output of a link.
#[derive(Debug, Default, PartialEq)]
struct Log {
    delivered: Vec<(Time, u64)>,
    dropped: Vec<(DropReason, u64)>,
}

impl Log {
    fn delivered_ids(&self) -> Vec<u64> {
        self.delivered.iter().map(|(_, id)| *id).collect()
    }
    fn delivered_micros(&self) -> Vec<u64> {
        self.delivered.iter().map(|(time, _)| time.as_nanos().div_ceil(1000)).collect()
    }
    fn dropped_for(&self, reason: DropReason) -> Vec<u64> {
        self.dropped.iter().filter(|(why, _)| *why == reason).map(|(_, id)| *id).collect()
    }
}

/// Feeds `arrivals` to `link` and wakes it at its deadlines; where `late` is set, wakes that are due before
/// the next arrival are omitted. Counters are checked after each call.
fn drive_late(link: &mut Link, arrivals: &[(Time, Packet)], late: &[bool]) -> Log {
    let mut log = Log::default();
    let mut out = Outputs { record_drops: true, ..Outputs::default() };
    let mut received = Count::default();
    let mut now = Time::ZERO;
    for (index, (time, packet)) in arrivals.iter().enumerate() {
        while let Some(wake) = link.next_wake().filter(|wake| wake <= time) {
            if late.get(index) == Some(&true) {
                break;
            }
            now = now.max(wake);
            link.wake(now, &mut out);
            drain(link, now, received, &mut out, &mut log);
        }
        now = *time;
        received.add(packet.size);
        link.receive(now, Port(0), Box::new(packet.clone()), &mut out);
        drain(link, now, received, &mut out, &mut log);
        assert!(link.next_wake().is_none_or(|wake| wake > now), "what is due at {now} has been done");
    }
    while let Some(wake) = link.next_wake() {
        now = now.max(wake);
        link.wake(now, &mut out);
        drain(link, now, received, &mut out, &mut log);
    }
    log
}

fn drive(link: &mut Link, arrivals: &[(Time, Packet)]) -> Log {
    drive_late(link, arrivals, &[])
}

/// Moves `out` into `log` and checks that counters match the events.
fn drain(link: &mut Link, now: Time, received: Count, out: &mut Outputs, log: &mut Log) {
    log.delivered.extend(out.packets.drain(..).map(|(_, packet)| (now, packet.id)));
    log.dropped.extend(out.drops.drain(..).map(|(reason, packet)| (reason, packet.id)));
    let counters = link.counters();
    assert_eq!(counters.balance(), (0, 0));
    assert_eq!(counters.received, received);
    assert_eq!(counters.sent.packets, log.delivered.len() as u64);
    assert_eq!(counters.dropped.packets, log.dropped.len() as u64);
    let held = link.holding.as_ref().map_or(0, |holding| holding.len());
    let inside = link.backlog().packets + (link.flight.len() + held) as u64;
    assert_eq!(counters.held.packets, inside);
    let mut statistics = Metrics::default();
    link.statistics(now, &mut statistics);
    let drops =
        statistics.iter().filter(|found| found.name().starts_with("dropped_")).map(|found| found.value);
    assert_eq!(drops.sum::<f64>(), log.dropped.len() as f64);
}

fn bytes(bytes: u64) -> ByteCount {
    ByteCount::from_bytes(bytes)
}

/// Packets numbered from 0 of (arrival in microseconds, size in bytes).
fn packets(arrivals: &[(u64, u64)]) -> Vec<(Time, Packet)> {
    (0..)
        .zip(arrivals)
        .map(|(id, &(micros, size))| {
            (Time::from_nanos(micros * 1000), Packet { id, size: bytes(size), ..Packet::default() })
        })
        .collect()
}

fn unlimited() -> QueueConfig {
    QueueConfig::DropTail(DropTail::default())
}

fn link(config: &crate::link::LinkConfig) -> Link {
    let conditions = Conditions::new(config, None).unwrap();
    Link::new(config, LinkInputs { conditions, ..LinkInputs::default() }, 1, "link")
}

/// 8 Mbit/s: a byte takes a microsecond.
fn byte_per_microsecond(queue: QueueConfig) -> crate::link::LinkConfig {
    crate::link::LinkConfig {
        rate: Some(Rate::Constant(DataRate::from_mbps(8))),
        queue,
        ..crate::link::LinkConfig::default()
    }
}

fn traced(text: &str, format: TraceFormat, at_end: TraceEnd) -> Link {
    traced_at(RateAt::Dequeue, unlimited(), text, format, at_end)
}

fn traced_at(rate_at: RateAt, queue: QueueConfig, text: &str, format: TraceFormat, at_end: TraceEnd) -> Link {
    let rate = ShapedRate::Trace { file: "trace".into(), format, at_end, rate_at };
    let config = crate::link::LinkConfig { rate: Some(Rate::Shaped(rate)), queue, ..Default::default() };
    let trace = Some(Trace::parse(text, format, at_end).unwrap());
    Link::new(&config, LinkInputs { trace, ..LinkInputs::default() }, 1, "link")
}

#[test]
fn serialisation_overhead_encapsulation_and_delay_add_up() {
    let mut config = byte_per_microsecond(unlimited());
    config.overhead_per_packet = bytes(14);
    config.delay.mean = Duration::from_millis(10);
    let mut arrivals = packets(&[(0, 1000), (100, 1000), (5000, 86)]);
    arrivals[1].1.encapsulation = bytes(3);
    // 1014 us; then 1017 us behind it; then idle, 100 us
    let log = drive(&mut link(&config), &arrivals);
    assert_eq!(log.delivered_micros(), [11_014, 12_031, 15_100]);
}

#[test]
fn without_a_rate_there_is_only_delay() {
    let config = crate::link::LinkConfig {
        queue: QueueConfig::DropTail(DropTail { packets: Some(1), ..DropTail::default() }),
        delay: Delay { mean: Duration::from_micros(30), ..Delay::default() },
        ..crate::link::LinkConfig::default()
    };
    let arrivals = packets(&[(0, 1500), (0, 1500), (20, 1500)]);
    assert_eq!(drive(&mut link(&config), &arrivals).delivered_micros(), [30, 30, 50]);
    // and without a delay, packets leave in the call in which they arrive
    let mut through = link(&crate::link::LinkConfig::default());
    let mut out = Outputs::default();
    through.receive(Time::from_nanos(5), Port(0), Box::default(), &mut out);
    assert_eq!(out.packets.len(), 1);
    assert_eq!(through.next_wake(), None);
}

#[test]
fn a_limit_of_n_packets_holds_exactly_n() {
    for limit in [1, 2, 100] {
        let queue = QueueConfig::DropTail(DropTail { packets: Some(limit), ..DropTail::default() });
        // a burst, and one more in the instant in which the first one has left
        let mut arrivals = vec![(0, 1000); limit as usize + 3];
        arrivals.push((999, 1000));
        arrivals.push((1000, 1000));
        let log = drive(&mut link(&byte_per_microsecond(queue)), &packets(&arrivals));
        assert_eq!(log.dropped_for(DropReason::QueueFull), [limit, limit + 1, limit + 2, limit + 3]);
        assert_eq!(log.delivered.last().unwrap().1, limit + 4);
    }
}

#[test]
fn limits_in_bytes_and_time_count_overhead_and_hold_together() {
    let queue = QueueConfig::DropTail(DropTail {
        bytes: Some(bytes(2000)),
        time: Some(Duration::from_micros(1500)),
        ..DropTail::default()
    });
    let mut config = byte_per_microsecond(queue);
    config.overhead_per_packet = bytes(14);
    // 1014, then 1500 exactly: one byte more does not fit
    let arrivals = packets(&[(0, 1000), (0, 473), (0, 472), (0, 1)]);
    let log = drive(&mut link(&config), &arrivals);
    assert_eq!(log.dropped_for(DropReason::QueueFull), [1, 3]);
    config.queue = QueueConfig::DropTail(DropTail { bytes: Some(bytes(2000)), ..DropTail::default() });
    let arrivals = packets(&[(0, 1000), (0, 973), (0, 972), (0, 1)]);
    let log = drive(&mut link(&config), &arrivals);
    assert_eq!(log.dropped_for(DropReason::QueueFull), [1, 3]);
}

#[test]
fn listed_packets_are_lost_before_the_queue() {
    let queue = QueueConfig::DropTail(DropTail { packets: Some(2), ..DropTail::default() });
    let mut config = byte_per_microsecond(queue);
    config.loss = Some(Loss::Listed { packets: vec![1, 3] });
    // the lost packet 1 takes no room: 0 and 2 do
    let log = drive(&mut link(&config), &packets(&[(0, 100); 5]));
    assert_eq!(log.dropped_for(DropReason::Loss), [1, 3]);
    assert_eq!(log.dropped_for(DropReason::QueueFull), [4]);
    assert_eq!(log.delivered_ids(), [0, 2]);
}

#[test]
fn a_token_bucket_passes_bursts_and_drops_what_can_never_pass() {
    let rate = ShapedRate::TokenBucket { rate: DataRate::from_mbps(8), burst: bytes(2000) };
    let queue = QueueConfig::DropTail(DropTail { packets: Some(2), ..DropTail::default() });
    let config = crate::link::LinkConfig { rate: Some(Rate::Shaped(rate)), queue, ..Default::default() };
    let arrivals = packets(&[(0, 1000), (0, 1000), (0, 1000), (0, 500), (0, 1), (100, 2001)]);
    let log = drive(&mut link(&config), &arrivals);
    assert_eq!(log.delivered_micros(), [0, 0, 1000, 1500]);
    assert_eq!(log.dropped, [(DropReason::QueueFull, 4), (DropReason::TooLarge, 5)]);
}

#[test]
fn rates_of_a_trace() {
    // 1000 bytes in the first millisecond, 250 in the second, repeated
    let text = "time_ms,rate_mbps\n0,8\n1,2\n2,0\n";
    let mut looped = traced(text, TraceFormat::Csv, TraceEnd::Loop);
    // 1250 bytes a pass: [0, 2 ms), 500 in [2 ms, 2.5 ms), 625 until [3.5 ms), the last after idling
    let arrivals = packets(&[(0, 1250), (0, 500), (0, 625), (9000, 100)]);
    assert_eq!(drive(&mut looped, &arrivals).delivered_micros(), [2000, 2500, 3500, 9400]);
}

#[test]
fn opportunities_of_a_trace() {
    let mut looped = traced("3\n3\n7\n", TraceFormat::Mahimahi, TraceEnd::Loop);
    // two of 752 bytes share an opportunity, 1505 bytes need two, 1000 fit beside its last byte,
    // and 600 need the next pass
    let arrivals = packets(&[(0, 752), (0, 752), (0, 1505), (0, 1000), (0, 600), (17_500, 100)]);
    let log = drive(&mut looped, &arrivals);
    assert_eq!(log.delivered_micros(), [3000, 3000, 7000, 7000, 10_000, 21_000]);
}

#[test]
fn after_the_end_of_a_trace_packets_are_held_or_dropped() {
    let mut stopped = traced("time_ms,rate_mbps\n0,8\n2,0\n", TraceFormat::Csv, TraceEnd::Stop);
    let arrivals = packets(&[(0, 1500), (10, 501), (20, 100), (2000, 1), (9000, 1)]);
    let log = drive(&mut stopped, &arrivals);
    assert_eq!(log.delivered_ids(), [0]);
    assert_eq!(log.dropped, [(DropReason::LinkEnded, 3), (DropReason::LinkEnded, 4)]);
    assert_eq!(stopped.counters().held.packets, 2);
    assert_eq!(stopped.next_wake(), None);
}

#[test]
fn statistics_and_samples() {
    let mut config = byte_per_microsecond(unlimited());
    config.delay.mean = Duration::from_millis(1);
    let mut link = link(&config);
    let mut out = Outputs::default();
    for (time, packet) in packets(&[(0, 1000), (0, 600), (400, 400)]) {
        link.receive(time, Port(0), Box::new(packet), &mut out);
    }
    let read = |metrics: Metrics| metrics.named().into_iter().collect::<std::collections::BTreeMap<_, _>>();
    let sample = |link: &mut Link, micros: u64| {
        let mut metrics = Metrics::default();
        link.sample(Time::from_nanos(micros * 1000), &mut metrics);
        let values = read(metrics);
        [values["queue_packets"], values["queue_bytes"], values["sent_bytes"]]
    };
    assert_eq!(sample(&mut link, 400), [3.0, 2000.0, 0.0]);
    for micros in [1000, 1600, 2000] {
        link.wake(Time::from_nanos(micros * 1000), &mut out);
    }
    assert_eq!(sample(&mut link, 2000), [0.0, 0.0, 1000.0]);
    let mut metrics = Metrics::default();
    link.statistics(Time::from_nanos(4_000_000), &mut metrics);
    let values = read(metrics);
    assert_eq!(values["queue_longest_packets"], 3.0);
    assert_eq!(values["queue_longest_bytes"], 2000.0);
    // waits of 0, 1000 and 1200 us; busy for 2 of 4 ms
    assert!((values["queueing_mean_ms"] - 2.2 / 3.0).abs() < 1e-12);
    assert_eq!(values["queueing_longest_ms"], 1.2);
    assert_eq!(values["utilisation_share"], 0.5);
}

#[test]
#[should_panic(expected = "a trace is given if and only if its rate is one")]
fn a_trace_goes_with_a_rate_of_this_kind_only() {
    let trace = Trace::parse("1", TraceFormat::Mahimahi, TraceEnd::Loop).unwrap();
    _ = Link::new(
        &LinkConfig::default(),
        LinkInputs { trace: Some(trace), ..LinkInputs::default() },
        1,
        "down1",
    );
}

#[test]
fn jitter_overtakes_only_where_it_may() {
    let n = 2000;
    let arrivals = packets(&(0..n).map(|number| (500 * number, 100)).collect::<Vec<_>>());
    // packets 0.5 ms apart with delays of 10 ms +- 1 ms: a packet overtakes the one before it if
    // their delays differ by more, which is P(N(0, 2) > 0.5), and (2 - 0.5)^2 / 8 of a triangle
    for (distribution, p) in [(Distribution::Normal, 0.3618), (Distribution::Uniform, 0.28125)] {
        let delivered = |reorder| {
            let (mean, deviation) = (Duration::from_millis(10), Duration::from_millis(1));
            let delay = Delay { mean, deviation, distribution, reorder, ..Delay::default() };
            let config = crate::link::LinkConfig { delay, ..crate::link::LinkConfig::default() };
            drive(&mut link(&config), &arrivals).delivered_ids()
        };
        assert!(delivered(false).is_sorted());
        let mut position = vec![0; n as usize];
        for (place, id) in delivered(true).into_iter().enumerate() {
            position[id as usize] = place;
        }
        let overtakings = position.windows(2).filter(|pair| pair[1] < pair[0]).count();
        // neighbouring pairs share a packet, which can at most triple the variance
        let error = libm::sqrt(3.0 * n as f64 * p * (1.0 - p));
        assert!((overtakings as f64 - (n - 1) as f64 * p).abs() < 5.0 * error, "{overtakings}");
    }
}

#[test]
fn seed_and_name_decide_alone() {
    let delay = Delay {
        mean: Duration::from_millis(10),
        deviation: Duration::from_millis(1),
        distribution: Distribution::Normal,
        reorder: true,
        ..Delay::default()
    };
    let loss = Some(Loss::Independent { probability: Probability::new(0.3).unwrap() });
    let config = crate::link::LinkConfig { delay, loss, ..crate::link::LinkConfig::default() };
    let arrivals = packets(&(0..100).map(|number| (10 * number, 100)).collect::<Vec<_>>());
    let run = |seed, name| drive(&mut Link::new(&config, LinkInputs::default(), seed, name), &arrivals);
    assert_eq!(run(1, "a"), run(1, "a"));
    assert_ne!(run(1, "a"), run(2, "a"));
    assert_ne!(run(1, "a").dropped, run(1, "b").dropped);
}

#[test]
fn a_mahimahi_trace_cannot_hold() {
    let error = Trace::parse("1\n", TraceFormat::Mahimahi, TraceEnd::Hold).unwrap_err();
    assert_eq!(error, TraceError::HoldNeedsRates);
    assert!(error.to_string().contains("expected `loop` or `stop`"));
}

#[test]
fn codel_marks_what_leaves_the_link() {
    let mut config = byte_per_microsecond(QueueConfig::default());
    config.queue = toml::from_str("kind = \"codel\"\nce_threshold = \"1 ms\"").unwrap();
    let mut link = Link::new(&config, LinkInputs::default(), 1, "link");
    let mut out = Outputs::default();
    for id in 0..4 {
        // the last one is not ECN-capable
        let ecn = if id < 3 { Ecn::Ect0 } else { Ecn::NotEct };
        let packet = Packet { id, size: bytes(1000), ecn, ..Packet::default() };
        link.receive(Time::ZERO, Port(0), Box::new(packet), &mut out);
    }
    link.wake(Time::from_nanos(1_000_000_000), &mut out);
    // waiting for 0, 1, 2 and 3 ms; 1 ms is not above the threshold
    let left: Vec<_> = out.packets.iter().map(|(_, packet)| (packet.id, packet.ecn)).collect();
    assert_eq!(left, [(0, Ecn::Ect0), (1, Ecn::Ect0), (2, Ecn::Ce), (3, Ecn::NotEct)]);
    let mut metrics = Metrics::default();
    link.statistics(Time::from_nanos(1_000_000_000), &mut metrics);
    let value = |name| metrics.get(name);
    assert_eq!(value("ce_marks"), Some(1.0));
    assert_eq!(value("longest_sojourn_ms"), Some(3.0));
    assert_eq!(link.counters().balance(), (0, 0));
}

/// 1 byte per microsecond behind a policer of half of it: a burst of 3000 bytes passes, then, of 1000 bytes each
/// millisecond, every second packet; in the long run it is the rate of tokens.
#[test]
fn a_policer_passes_a_burst_and_then_its_rate() {
    let policer = Policer { rate: DataRate::from_mbps(4), burst: bytes(3000) };
    let config = LinkConfig { policer: Some(policer), ..byte_per_microsecond(QueueConfig::default()) };
    let mut link = Link::new(&config, LinkInputs::default(), 1, "link");
    let size = bytes(1000);
    let arrivals: Vec<_> = (0..10_000)
        .map(|id| (Time::from_nanos(1_000_000 * id), Packet { id, size, ..Packet::default() }))
        .collect();
    let log = drive(&mut link, &arrivals);
    // tokens at the arrivals: 3000, 2500, 2000, 1500, 1000, 500, 1000, 500 ...
    assert_eq!(log.dropped_for(DropReason::Policed)[..4], [5, 7, 9, 11]);
    // the bucket, and half a packet each millisecond
    assert_eq!(log.delivered.len(), 5002);
    let mut metrics = Metrics::default();
    link.statistics(Time::from_nanos(10_000_000_000), &mut metrics);
    assert_eq!(metrics.get("dropped_policed_packets"), Some(4998.0));
    assert_eq!(link.counters().balance(), (0, 0));
    // no queue before or behind it: a packet needs its serialisation only
    assert!(log.delivered.iter().all(|(time, id)| time.as_nanos() == 1_000_000 * (id + 1)));
}

#[test]
fn a_policer_needs_no_rate_and_counts_no_random_loss() {
    let config: LinkConfig =
        toml::from_str("policer = { rate = \"8 Mbit/s\", burst = \"1500 B\" }\nloss = 1").unwrap();
    let mut link = Link::new(&config, LinkInputs::default(), 1, "link");
    let arrivals: Vec<_> = (0..4)
        .map(|id| (Time::from_nanos(id), Packet { id, size: bytes(700), ..Packet::default() }))
        .collect();
    let log = drive(&mut link, &arrivals);
    // packets lost behind the policer have consumed tokens
    assert_eq!(log.dropped_for(DropReason::Loss), [0, 1]);
    assert_eq!(log.dropped_for(DropReason::Policed), [2, 3]);
}

/// The first matching change is made: ECT(1) becomes ECT(0), and other ECN-capable packets lose their field.
#[test]
fn the_ecn_field_is_changed_by_the_first_rule_that_applies() {
    let config: LinkConfig = toml::from_str(
        r#"ecn_rewrites = [{ from = "ect1", to = "ect0" }, { from = "ce", to = "ce" }, { to = "not_ect" }]"#,
    )
    .unwrap();
    let mut link = Link::new(&config, LinkInputs::default(), 1, "link");
    let mut out = Outputs::default();
    for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
        link.receive(Time::ZERO, Port(0), Box::new(Packet { ecn, ..Packet::default() }), &mut out);
    }
    let fields: Vec<_> = out.packets.iter().map(|(_, packet)| packet.ecn).collect();
    assert_eq!(fields, [Ecn::NotEct, Ecn::Ect0, Ecn::NotEct, Ecn::Ce]);
}
