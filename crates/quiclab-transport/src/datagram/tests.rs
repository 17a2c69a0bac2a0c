//! Datagrams and ping over an ideal pipe, by hand.

use crate::options::{EndpointConfig, PingProtocol, Workload};
use crate::stack::build;
use crate::{EndpointRequest, STACKS};
use quiclab_core::{
    ByteCount, DataRate, Duration, Endpoint, EndpointIdentity, FiveTuple, FlowId, Metrics, Outputs, Packet,
    Payload, Port, ProblemKind, Protocol, Role, Time,
};

fn us(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

fn end(role: Role, workload: &Workload) -> Box<dyn Endpoint> {
    let address = |text: &str| text.parse().expect("an address");
    let tuple = FiveTuple::new(Protocol::Udp, address("10.1.0.0:443"), address("10.2.0.0:50000"));
    let identity = EndpointIdentity { name: "f".to_owned(), flow: FlowId(0), role, tuple, paths: 1 };
    let config = EndpointConfig { stack: Some("lab-udp".to_owned()), ..EndpointConfig::default() };
    build(STACKS, EndpointRequest::new(identity, &config, workload, us(1000), 1)).expect("a good workload")
}

fn datagrams(rate: DataRate, duration: Duration, pauses: Option<(Duration, Duration)>) -> Workload {
    let (on, off) = pauses.unzip();
    Workload::Datagrams { rate, size: ByteCount::from_bytes(1000), duration, on, off }
}

/// Packets with the times at which they were sent.
type Sent = Vec<(Time, Box<Packet>)>;

/// Wakes `endpoint` until it has no deadline; returns the packets sent with the times.
fn drain(endpoint: &mut dyn Endpoint) -> Sent {
    let (mut out, mut sent) = (Outputs::default(), Vec::new());
    while let Some(now) = endpoint.next_wake() {
        endpoint.wake(now, &mut out);
        assert_eq!(endpoint.counters().balance(), (0, 0));
        sent.extend(out.packets.drain(..).map(|(_, packet)| (now, packet)));
    }
    sent
}

fn metric(endpoint: &mut dyn Endpoint, name: &str) -> Option<f64> {
    let mut out = Metrics::default();
    endpoint.statistics(Time::ZERO, &mut out);
    out.get(name)
}

#[test]
fn datagrams_are_evenly_spaced() {
    // 8000 bits at 8 Mbit/s: 1 ms; the flow starts at 1 ms and lasts 10 ms
    let workload = datagrams(DataRate::from_mbps(8), Duration::from_millis(10), None);
    let mut source = end(Role::Server, &workload);
    let sent = drain(source.as_mut());
    let times: Vec<_> = sent.iter().map(|(time, _)| *time).collect();
    assert_eq!(times, (0..10).map(|index| us(1000 + index * 1000)).collect::<Vec<_>>());
    assert!(sent.iter().all(|(_, packet)| packet.size == ByteCount::from_bytes(1028)));
    assert_eq!(source.progress().finished, Some(us(10_000)));
    // 8000 bits at 3 Mbit/s: 2666666.67 ns, each rounded up separately
    let workload = datagrams(DataRate::from_mbps(3), Duration::from_nanos(8_000_001), None);
    let nanos = drain(end(Role::Server, &workload).as_mut())
        .iter()
        .map(|(time, _)| time.as_nanos())
        .collect::<Vec<_>>();
    assert_eq!(nanos, [1_000_000, 3_666_667, 6_333_334, 9_000_000]);
    let workload = datagrams(DataRate::from_mbps(3), Duration::from_millis(8), None);
    assert_eq!(drain(end(Role::Server, &workload).as_mut()).len(), 3, "none at the end itself");
}

#[test]
fn periods_of_sending_and_pauses_alternate() {
    let millis = Duration::from_millis;
    let workload = datagrams(DataRate::from_mbps(8), millis(11), Some((millis(3), millis(2))));
    let times: Vec<_> = drain(end(Role::Server, &workload).as_mut()).iter().map(|(time, _)| *time).collect();
    // three from 0, 5, 10 ms on; the last period is truncated after 1 ms
    assert_eq!(times, [0, 1, 2, 5, 6, 7, 10].map(|millis| us(1000 + millis * 1000)));
}

/// Packets of a source at 8 Mbit/s, and a sink that waits for them.
fn sent_and_sink(duration: Duration) -> (Sent, Box<dyn Endpoint>) {
    let workload = datagrams(DataRate::from_mbps(8), duration, None);
    let mut sink = end(Role::Client, &workload);
    sink.wake(us(1000), &mut Outputs::default());
    (drain(end(Role::Server, &workload).as_mut()), sink)
}

/// Delays 10, 12, 12 ms: mean 34/3; J = 2/16 = 0.125, then 0.125 - 0.125/16 = 0.1171875 (RFC 3550 section
/// 6.4.1).
#[test]
fn delays_jitter_and_losses_are_those_of_what_arrives() {
    let (sent, mut sink) = sent_and_sink(Duration::from_millis(5));
    let mut out = Outputs::default();
    for (index, delay) in [(0, 10_000), (2, 12_000), (3, 12_000), (3, 13_000)] {
        let (time, packet) = &sent[index];
        sink.receive(*time + Duration::from_micros(delay), Port(0), packet.clone(), &mut out);
        assert_eq!(sink.counters().balance(), (0, 0));
    }
    assert_eq!(metric(sink.as_mut(), "lost_packets"), Some(1.0), "number 1 so far");
    // the last is lost: 3 s after the end at 6 ms, the time of the last arrival is used, 4 + 12 ms
    assert_eq!(sink.next_wake(), Some(us(6_000 + 3_000_000)));
    drain(sink.as_mut());
    assert_eq!(metric(sink.as_mut(), "lost_packets"), Some(2.0));
    let progress = sink.progress();
    assert_eq!((progress.started, progress.finished), (Some(us(1000)), Some(us(16_000))));
    assert_eq!(progress.delivered_bytes, 3000, "the copy does not count");
    for (name, value) in [
        ("one_way_delay_ms_mean", 34.0 / 3.0),
        ("one_way_delay_ms_min", 10.0),
        ("one_way_delay_ms_max", 12.0),
        ("jitter_ms", 0.117_187_5),
        ("datagrams_received", 3.0),
        ("duplicate_packets", 1.0),
        ("packets_received", 4.0),
    ] {
        let found = metric(sink.as_mut(), name).expect(name);
        assert!((found - value).abs() < 1e-9, "{name}: {found}");
    }
}

#[test]
fn a_receiver_without_losses_is_done_when_the_senders_time_is_over() {
    let (sent, mut sink) = sent_and_sink(Duration::from_millis(2));
    let mut out = Outputs::default();
    for (time, packet) in sent {
        sink.receive(time + Duration::from_micros(100), Port(0), packet, &mut out);
    }
    assert_eq!(sink.next_wake(), Some(us(3000)));
    drain(sink.as_mut());
    assert_eq!(sink.progress().finished, Some(us(3000)));
}

#[test]
fn ping_over_udp() {
    ping_measures_the_round_trip_and_counts_losses(PingProtocol::Udp);
}

#[test]
fn ping_over_icmp() {
    ping_measures_the_round_trip_and_counts_losses(PingProtocol::Icmp);
}

/// Type 8 is the request, 0 the reply; the identifier of flow 0 is 0 (RFC 792).
#[test]
fn echoes_carry_identifier_and_type() {
    let (size, interval) = (ByteCount::from_bytes(56), Duration::from_secs(1));
    let workload = Workload::Ping { size, count: 1, interval, protocol: PingProtocol::Icmp };
    let (mut prober, mut echo) = (end(Role::Client, &workload), end(Role::Server, &workload));
    let mut out = Outputs::default();
    prober.wake(us(1000), &mut out);
    let probe = out.packets.pop().expect("a probe").1;
    echo.receive(us(2000), Port(0), probe.clone(), &mut out);
    let answer = out.packets.pop().expect("an answer").1;
    for (packet, kind) in [(&probe, 8 << 8), (&answer, 0)] {
        assert_eq!(packet.tuple.protocol(), Protocol::Icmp);
        assert_eq!((packet.tuple.source().port(), packet.tuple.destination().port()), (0, kind));
    }
}

/// Probes at 1, 2 and 3 s after the start; the second is lost, the others take 20 and 30 ms.
fn ping_measures_the_round_trip_and_counts_losses(protocol: PingProtocol) {
    let second = Duration::from_secs(1);
    let workload = Workload::Ping { size: ByteCount::from_bytes(56), count: 3, interval: second, protocol };
    let (mut prober, mut echo) = (end(Role::Client, &workload), end(Role::Server, &workload));
    let mut out = Outputs::default();
    let mut probes = Vec::new();
    for index in 0..3 {
        let now = prober.next_wake().expect("probes are left");
        assert_eq!(now, us(1000) + second * index);
        prober.wake(now, &mut out);
        let probe = out.packets.pop().expect("a probe").1;
        assert_eq!(probe.size, ByteCount::from_bytes(84), "what ping shows: 56(84) bytes of data");
        probes.push((now, probe));
    }
    for (index, millis) in [(0, 10), (2, 15)] {
        let (sent, probe) = probes[index].clone();
        let delay = Duration::from_millis(millis);
        echo.receive(sent + delay, Port(0), probe, &mut out);
        let answer = out.packets.pop().expect("an answer").1;
        assert_eq!(answer.size, ByteCount::from_bytes(84));
        prober.receive(sent + delay * 2, Port(0), answer, &mut out);
    }
    assert_eq!(prober.progress().finished, None, "the second may still come");
    assert_eq!(prober.next_wake(), Some(probes[2].0 + Duration::from_secs(3)));
    drain(prober.as_mut());
    for (name, value) in [
        ("rtt_ms_mean", 25.0),
        ("rtt_ms_min", 20.0),
        ("rtt_ms_max", 30.0),
        ("rtt_ms_p95", 30.0),
        ("lost_packets", 1.0),
    ] {
        assert_eq!(metric(prober.as_mut(), name), Some(value), "{name}");
    }
    assert_eq!(prober.progress().delivered_bytes, 2 * 56);
    assert_eq!(echo.progress().finished, Some(probes[2].0 + Duration::from_millis(15)));
}

#[test]
fn a_stray_packet_is_counted_only() {
    let workload = datagrams(DataRate::from_mbps(8), Duration::from_millis(2), None);
    let mut sink = end(Role::Client, &workload);
    let stray =
        Box::new(Packet { size: ByteCount::from_bytes(50), payload: Payload::Empty, ..Packet::default() });
    sink.receive(us(1500), Port(0), stray, &mut Outputs::default());
    assert_eq!((sink.counters().consumed.packets, sink.progress().delivered_bytes), (1, 0));
}

#[test]
fn workloads_of_tcp_are_refused() {
    let config = EndpointConfig { stack: Some("lab-udp".to_owned()), ..EndpointConfig::default() };
    let identity = EndpointIdentity {
        name: "f".to_owned(),
        flow: FlowId(0),
        role: Role::Client,
        tuple: FiveTuple::default(),
        paths: 1,
    };
    let size = ByteCount::from_bytes(100);
    let refused = |workload: &Workload| {
        let request = EndpointRequest::new(identity.clone(), &config, workload, us(0), 1);
        let Err(error) = build(STACKS, request) else { panic!("{workload:?} is taken") };
        (error.path.to_string(), error.kind)
    };
    let download = Workload::Download { size: Some(size), duration: None, request: size };
    assert_eq!(refused(&download), ("workload.kind".to_owned(), ProblemKind::UnknownName));
}
