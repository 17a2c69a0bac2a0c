//! Whole connections over an ideal pipe of 10 ms each way, by hand. The window is `fixed`: results do not
//! depend on congestion control.

use super::*;
use crate::options::{CongestionControl, EndpointConfig, TcpOptions, Tls, TlsVersion, Workload};
use crate::stack::build;
use crate::testing::ms;
use crate::{EndpointRequest, STACKS};
use quiclab_core::{Duration, Ecn, Flags, FlowId, Segment, SegmentOptions};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

mod marks;
mod page;

const DELAY: Duration = Duration::from_millis(10);

fn fixed() -> EndpointConfig {
    EndpointConfig {
        stack: Some("lab-tcp".to_owned()),
        congestion_control: Some(CongestionControl::Fixed),
        ..EndpointConfig::default()
    }
}

fn download(size: u64) -> Workload {
    let request = ByteCount::from_bytes(100);
    Workload::Download { size: Some(ByteCount::from_bytes(size)), duration: None, request }
}

/// Packet that was sent: time, sender, length, segment.
struct Sent {
    time: Time,
    role: Role,
    size: u64,
    ecn: Ecn,
    segment: Segment,
}

type Lost = Box<dyn Fn(usize, &Sent) -> bool>;

/// Client and server with the packets in transit between them.
struct Pipe {
    client: Box<dyn Endpoint>,
    server: Box<dyn Endpoint>,
    travelling: VecDeque<(Time, Role, Box<Packet>)>,
    sent: Vec<Sent>,
    /// Numbers of sent packets, counted over both ends, that do not arrive.
    lost: Lost,
    /// Numbers of sent packets that are marked, if they are ECN-capable.
    marked: fn(usize) -> bool,
    /// ECN fields with which packets arrive, regardless of the field sent.
    mangled: fn(usize) -> Option<Ecn>,
}

impl Pipe {
    fn new(client: &EndpointConfig, server: &EndpointConfig, workload: &Workload) -> Self {
        Self::observed(client, server, workload, None)
    }

    fn observed(
        client: &EndpointConfig,
        server: &EndpointConfig,
        workload: &Workload,
        observer: Option<Box<dyn TransportObserver>>,
    ) -> Self {
        let tuple = FiveTuple::new(
            Protocol::Udp,
            "10.2.0.0:50000".parse().expect("an address"),
            "10.1.0.0:443".parse().expect("an address"),
        );
        let end = |role, name: &str, config, tuple, observer| {
            let identity = EndpointIdentity { name: name.to_owned(), flow: FlowId(3), role, tuple, paths: 1 };
            let request = EndpointRequest::new(identity, config, workload, Time::ZERO, 7);
            build(STACKS, EndpointRequest { observer, ..request }).expect("a good configuration")
        };
        Self {
            client: end(Role::Client, "f.receiver", client, tuple, None),
            server: end(Role::Server, "f.sender", server, tuple.reverse(), observer),
            travelling: VecDeque::new(),
            sent: Vec::new(),
            lost: Box::new(|_, _| false),
            marked: |_| false,
            mangled: |_| None,
        }
    }

    /// Runs until no event is left, or until `end`.
    fn run(&mut self, end: Time) {
        let mut out = Outputs::default();
        loop {
            let arrival = self.travelling.front().map(|packet| packet.0);
            let (client, server) = (self.client.next_wake(), self.server.next_wake());
            let Some(now) = [arrival, client, server].into_iter().flatten().min() else { return };
            if now > end {
                return;
            }
            let role = if arrival == Some(now) {
                let (_, from, packet) = self.travelling.pop_front().expect("looked at");
                if from == Role::Client {
                    self.server.receive(now, Port(0), packet, &mut out);
                    Role::Server
                } else {
                    self.client.receive(now, Port(0), packet, &mut out);
                    Role::Client
                }
            } else if client == Some(now) {
                self.client.wake(now, &mut out);
                Role::Client
            } else {
                self.server.wake(now, &mut out);
                Role::Server
            };
            assert_eq!(self.client.counters().balance(), (0, 0));
            for (_, mut packet) in out.packets.drain(..) {
                let Payload::Segment(segment) = &packet.payload else { panic!("not a segment") };
                assert_eq!(packet.tuple.protocol(), Protocol::Tcp);
                let number = self.sent.len();
                let size = packet.size.bytes();
                self.sent.push(Sent { time: now, role, size, ecn: packet.ecn, segment: segment.clone() });
                if packet.ecn != Ecn::NotEct && (self.marked)(number) {
                    packet.ecn = Ecn::Ce;
                }
                packet.ecn = (self.mangled)(number).unwrap_or(packet.ecn);
                if !(self.lost)(number, &self.sent[number]) {
                    self.travelling.push_back((now + DELAY, role, packet));
                }
            }
        }
    }

    fn finished(&self) -> Option<Time> {
        let progress = self.client.progress();
        assert!(!progress.failed, "{:?}", self.client.failure());
        progress.finished
    }

    fn metric(end: &mut Box<dyn Endpoint>, name: &str) -> Option<f64> {
        let mut out = Metrics::default();
        end.statistics(Time::ZERO, &mut out);
        out.get(name)
    }
}

/// RFC 9293 section 3.5, figure 6, with the lengths that tcpdump shows on Linux.
#[test]
fn a_connection_opens_transfers_and_closes() {
    use Role::{Client, Server};
    let mut pipe = Pipe::new(&fixed(), &fixed(), &download(1000));
    pipe.run(ms(1000));
    let ack = Flags::ACK;
    let (push, fin) = (ack.with(Flags::PSH), ack.with(Flags::FIN));
    // 20 of IP and 40, or 20 and 12 of timestamps
    let expected = [
        (0, Client, 60, Flags::SYN),
        (10, Server, 60, Flags::SYN.with(ack)),
        (20, Client, 52, ack),
        (20, Client, 152, push),
        // the kernel acknowledges before the application responds
        (30, Server, 52, ack),
        (30, Server, 1052, push),
        (40, Client, 52, ack),
        (40, Client, 52, fin),
        (50, Server, 52, ack),
        (50, Server, 52, fin),
        (60, Client, 52, ack),
    ];
    let sent: Vec<_> =
        pipe.sent.iter().map(|sent| (sent.time, sent.role, sent.size, sent.segment.flags)).collect();
    assert_eq!(sent, expected.map(|(time, role, size, flags)| (ms(time), role, size, flags)));
    assert_eq!(pipe.finished(), Some(ms(40)));
    assert_eq!(pipe.client.progress().delivered_bytes, 1000);
    assert_eq!(pipe.server.progress().started, Some(ms(30)));
    assert_eq!(pipe.server.progress().finished, Some(ms(50)), "all it wrote is acknowledged");
    assert_eq!((pipe.client.next_wake(), pipe.server.next_wake()), (None, None));
    // handshake and request: both ends measure 20 ms
    assert_eq!(Pipe::metric(&mut pipe.server, "min_rtt_ms"), Some(20.0));
    assert_eq!(Pipe::metric(&mut pipe.client, "min_rtt_ms"), Some(20.0));
}

#[test]
fn an_option_that_one_end_lacks_is_not_used() {
    let tcp = TcpOptions {
        mss: Some(ByteCount::from_bytes(1000)),
        timestamps: Some(false),
        sack: Some(false),
        window_scaling: Some(false),
        ..TcpOptions::default()
    };
    let mut pipe = Pipe::new(&EndpointConfig { tcp: Some(tcp), ..fixed() }, &fixed(), &download(2500));
    pipe.run(ms(1000));
    // SYN with the MSS alone; the SYN-ACK with its own MSS and no option that was not offered
    let options: Vec<_> =
        pipe.sent[..2].iter().map(|sent| sent.segment.options.as_deref().cloned()).collect();
    let syn = |mss| {
        Some(SegmentOptions::Syn { mss, window_scale: None, sack: false, timestamps: false, accecn: false })
    };
    assert_eq!(options, [syn(1000), syn(1460)]);
    let sizes: Vec<_> =
        pipe.sent.iter().filter(|sent| sent.role == Role::Server).map(|sent| sent.size).take(5).collect();
    assert_eq!(sizes, [44, 40, 1040, 1040, 540]);
    assert!(pipe.sent.iter().all(|sent| sent.segment.window <= 65_535));
    assert_eq!(pipe.finished(), Some(ms(40)));
}

/// RTT 20 ms: TCP takes one round trip, the response one, TLS 1.3 one more, TLS 1.2 two more, resumed one.
#[test]
fn tls_costs_the_round_trips_of_its_version() {
    for (version, resumption, millis) in [
        (TlsVersion::Tls13, false, 60),
        (TlsVersion::Tls13, true, 60),
        (TlsVersion::Tls12, false, 80),
        (TlsVersion::Tls12, true, 60),
    ] {
        let tls =
            Some(Tls { version, resumption, certificate: ByteCount::from_bytes(3000), early_data: None });
        let config = EndpointConfig { tls, ..fixed() };
        let mut pipe = Pipe::new(&config, &config, &download(1000));
        pipe.run(ms(1000));
        assert_eq!(pipe.finished(), Some(ms(millis)), "{version:?} {resumption}");
        let payload = |role| {
            let own = pipe.sent.iter().filter(|sent| sent.role == role);
            own.map(|sent| u64::from(sent.segment.length)).sum::<u64>()
        };
        // the sums of tls.rs, with a request of 100 and a response of 1000 in a record each
        let expected = match (version, resumption) {
            (TlsVersion::Tls13, false) => (517 + 80 + 122, 3386 + 510 + 1022),
            (TlsVersion::Tls13, true) => (517 + 80 + 122, 250 + 510 + 1022),
            (TlsVersion::Tls12, false) => (517 + 93 + 129, 3257 + 274 + 1029),
            (TlsVersion::Tls12, true) => (517 + 51 + 129, 160 + 1029),
        };
        assert_eq!((payload(Role::Client), payload(Role::Server)), expected, "{version:?} {resumption}");
    }
}

#[test]
fn requests_follow_responses_and_pauses() {
    let workload = Workload::RequestResponse {
        count: 3,
        request: ByteCount::from_bytes(100),
        response: ByteCount::from_bytes(5000),
        pause: Duration::from_millis(5),
    };
    let mut pipe = Pipe::new(&fixed(), &fixed(), &workload);
    pipe.run(ms(10_000));
    // connected at 20, then 20 for each response and 5 for each pause
    assert_eq!(pipe.finished(), Some(ms(20 + 3 * 20 + 2 * 5)));
    assert_eq!(pipe.client.progress().delivered_bytes, 15_000);
    for name in ["response_time_ms_mean", "response_time_ms_max", "response_time_ms_p95"] {
        assert_eq!(Pipe::metric(&mut pipe.client, name), Some(20.0), "{name}");
    }
    assert_eq!(Pipe::metric(&mut pipe.client, "responses"), Some(3.0));
    assert!(pipe.server.progress().finished.is_some());
}

/// A window of 10 segments of 1448 each 20 ms, until 100 ms; then the packets in flight, and the RST.
/// Segments are sent singly: bursts might wait.
#[test]
fn a_download_of_a_given_duration_ends_by_a_reset() {
    let duration = Some(Duration::from_millis(100));
    let workload = Workload::Download { size: None, duration, request: ByteCount::from_bytes(100) };
    let tcp = TcpOptions {
        gso_segments: Some(1),
        quick_acks: Some(1000),
        receive_buffer: Some(ByteCount::from_bytes(1_000_000)),
        ..TcpOptions::default()
    };
    let end = EndpointConfig { tcp: Some(tcp), ..fixed() };
    let mut pipe = Pipe::new(&end, &end, &workload);
    pipe.run(ms(10_000));
    let reset = pipe.sent.iter().find(|sent| sent.segment.flags.has(Flags::RST)).expect("a reset");
    assert_eq!((reset.time, reset.role, reset.size), (ms(100), Role::Server, 52));
    assert_eq!(pipe.finished(), Some(ms(110)));
    // rounds sent at 30, 50, 70, 90
    assert_eq!(pipe.client.progress().delivered_bytes, 4 * 10 * 1448);
    assert_eq!((pipe.client.next_wake(), pipe.server.next_wake()), (None, None));
}

#[test]
fn a_reset_behind_a_gap_is_found_out_by_a_challenge() {
    let duration = Some(Duration::from_millis(40));
    let workload = Workload::Download { size: None, duration, request: ByteCount::from_bytes(100) };
    let mut pipe = Pipe::new(&fixed(), &fixed(), &workload);
    // of SYN, SYN-ACK, ACK, request, its ACK and data, the third of data; and that of a packet to which a
    // reset would respond
    pipe.lost = Box::new(|number, sent| number == 7 || sent.role == Role::Client && sent.time == ms(40));
    pipe.run(ms(10_000));
    // RST of 40 arrives at 50 behind the gap; challenge ACK; RST for it at 60, which arrives at 70
    assert_eq!(pipe.finished(), Some(ms(70)));
    assert_eq!(pipe.client.progress().delivered_bytes, 2 * 1448, "what was read in order");
}

/// With ticks of a millisecond, a second ends with a multiple of 64 of them. The echo of the timestamp
/// identifies the SYN of the SYN-ACK; without timestamps there is no RTT (RFC 6298 section 3).
#[test]
fn a_lost_syn_is_sent_again_and_its_echo_gives_an_rtt() {
    for (timestamps, rtt) in [(true, Some(20.0)), (false, None)] {
        let end = EndpointConfig {
            tcp: Some(TcpOptions { timestamps: Some(timestamps), ..TcpOptions::default() }),
            ..fixed()
        };
        let mut pipe = Pipe::new(&end, &end, &download(1000));
        pipe.lost = Box::new(|number, _| number == 0);
        pipe.run(ms(1030));
        let syn = |sent: &Sent| (sent.time, sent.segment.flags, sent.segment.retransmission);
        assert_eq!(syn(&pipe.sent[1]), (ms(1024), Flags::SYN, true));
        pipe.run(ms(1049));
        assert_eq!(Pipe::metric(&mut pipe.client, "srtt_ms"), rtt);
        assert_eq!(Pipe::metric(&mut pipe.client, "rto_ms"), Some(if timestamps { 220.0 } else { 3000.0 }));
        pipe.run(ms(5000));
        assert_eq!(pipe.finished(), Some(ms(1064)));
    }
}

/// Linux: more than one retransmission of SYN leaves a window of one segment (`tcp_init_transfer`).
#[test]
fn two_lost_syns_cost_the_initial_window() {
    for (lost, cwnd) in [(1, 14_480.0), (2, 1448.0)] {
        let cubic = EndpointConfig { congestion_control: None, ..fixed() };
        let mut pipe = Pipe::new(&cubic, &cubic, &download(1000));
        pipe.lost = Box::new(move |number, _| number < lost);
        // linux-7: retransmissions after 1 s each, at ticks
        let syn_ack = Duration::from_millis(1024) * lost as u64 + DELAY * 2;
        pipe.run(Time::ZERO + syn_ack);
        assert_eq!(Pipe::metric(&mut pipe.client, "cwnd_bytes"), Some(cwnd));
    }
}

#[test]
fn a_server_that_never_answers_is_given_up_in_a_sentence() {
    // 127 and 131 s, apart from the ticks at which timers end
    for (profile, milliseconds, syns) in [("linux-5.15", 131_072, 7), ("linux-7", 135_168, 11)] {
        let config = EndpointConfig { profile: Some(profile.to_owned()), ..fixed() };
        let mut pipe = Pipe::new(&config, &config, &download(1000));
        pipe.lost = Box::new(|_, _| true);
        pipe.run(ms(1_000_000));
        assert_eq!(pipe.sent.len(), syns);
        assert!(pipe.client.progress().failed);
        let reason = pipe.client.failure().expect("a reason");
        let time = ms(milliseconds);
        assert_eq!(reason, format!("no answer to SYN by {time}: the connection was given up"));
        assert_eq!(pipe.client.next_wake(), None);
    }
}

#[test]
fn a_lost_synack_is_sent_again_by_the_server_or_for_the_client() {
    let mut pipe = Pipe::new(&fixed(), &fixed(), &download(1000));
    pipe.lost = Box::new(|number, _| number == 1);
    pipe.run(ms(5000));
    // both timers expire at 1.024 s, and the server responds to the SYN of 1.034 s, too
    assert_eq!(pipe.finished(), Some(ms(1054)));
    assert_eq!(pipe.client.progress().delivered_bytes, 1000);
}

/// With ticks both timers end at 1.024 s, so that the server sends at its own timeout and for the client's
/// SYN: three SYN-ACKs and a timeout leave one segment. If the client's SYN arrives before the timeout, the
/// window is kept.
#[test]
fn a_lost_synack_costs_the_initial_window_where_timers_end_together() {
    for (initial_rto, syn_acks, cwnd) in [(1000, 3, 1448.0), (900, 2, 14_480.0)] {
        let cubic = EndpointConfig { congestion_control: None, ..fixed() };
        let tcp =
            TcpOptions { initial_rto: Some(Duration::from_millis(initial_rto)), ..TcpOptions::default() };
        let client = EndpointConfig { tcp: Some(tcp), ..cubic.clone() };
        let mut pipe = Pipe::new(&client, &cubic, &download(1000));
        pipe.lost = Box::new(|number, _| number == 1);
        // the client's request has arrived, the response is not acknowledged yet
        pipe.run(ms(if syn_acks == 3 { 1045 } else { 991 }));
        let answers = |sent: &&Sent| sent.role == Role::Server && sent.segment.flags.has(Flags::SYN);
        assert_eq!(pipe.sent.iter().filter(answers).count(), syn_acks);
        assert_eq!(Pipe::metric(&mut pipe.server, "cwnd_bytes"), Some(cwnd));
        assert_eq!(Pipe::metric(&mut pipe.server, "srtt_ms"), Some(20.0));
    }
}

#[test]
fn a_client_that_vanishes_is_given_up_with_a_reset() {
    let mut pipe = Pipe::new(&fixed(), &fixed(), &download(1_000_000));
    pipe.lost = Box::new(|number, _| number > 6);
    pipe.run(ms(10_000_000));
    let progress = pipe.server.progress();
    let reason = pipe.server.failure().expect("a reason");
    assert!(
        progress.failed && reason.starts_with("no acknowledgement after 15 retransmissions by "),
        "{reason}"
    );
    let last = pipe.sent.iter().rfind(|sent| sent.role == Role::Server).expect("the server sent");
    assert!(last.segment.flags.has(Flags::RST));
    // 15 led to a retransmission, the 16th to the end
    assert_eq!(Pipe::metric(&mut pipe.server, "timeouts"), Some(16.0));
    assert_eq!(pipe.server.next_wake(), None);
}

#[test]
fn timestamps_count_milliseconds_and_are_echoed() {
    let mut pipe = Pipe::new(&fixed(), &fixed(), &download(1000));
    pipe.run(ms(1000));
    let stamps: Vec<_> =
        pipe.sent.iter().take(5).map(|sent| (sent.segment.timestamp, sent.segment.timestamp_echo)).collect();
    // SYN, SYN-ACK, ACK, request, response
    assert_eq!(stamps, [(0, 0), (10, 0), (20, 10), (20, 10), (30, 20)]);
}

#[test]
fn a_stray_packet_is_counted_and_a_stray_segment_is_reset() {
    let mut pipe = Pipe::new(&fixed(), &fixed(), &download(1000));
    let mut out = Outputs::default();
    pipe.server.receive(
        ms(0),
        Port(0),
        Box::new(Packet { size: ByteCount::from_bytes(40), ..Packet::default() }),
        &mut out,
    );
    assert_eq!((pipe.server.counters().consumed.packets, out.packets.len()), (1, 0));
    let segment = Segment { sequence: 5, acknowledgement: 77, flags: Flags::ACK, ..Segment::default() };
    let payload = Payload::Segment(segment);
    pipe.server.receive(ms(0), Port(0), Box::new(Packet { payload, ..Packet::default() }), &mut out);
    let Payload::Segment(answer) = &out.packets[0].1.payload else { panic!("not a segment") };
    assert_eq!((answer.flags, answer.sequence), (Flags::RST, 77));
}

/// States of recovery, and bytes of acknowledgements.
#[derive(Default)]
struct Notified {
    states: Vec<(Time, RecoveryState)>,
    acknowledged: Vec<u64>,
}

struct Recorder(Arc<Mutex<Notified>>);

impl TransportObserver for Recorder {
    fn observe(&mut self, now: Time, event: &TransportEvent<'_>) {
        let mut told = self.0.lock().expect("one thread");
        match event {
            TransportEvent::Recovery(state) => told.states.push((now, *state)),
            TransportEvent::AckReceived { bytes, .. } => told.acknowledged.push(*bytes),
            other => panic!("TCP does not tell {other:?}"),
        }
    }
}

#[test]
fn an_observer_is_told_of_recovery_and_acknowledgements_and_changes_nothing() {
    let told = Arc::new(Mutex::new(Notified::default()));
    let recorder = Box::new(Recorder(Arc::clone(&told)));
    let mut watched = Pipe::observed(&fixed(), &fixed(), &download(20_000), Some(recorder));
    let mut alone = Pipe::new(&fixed(), &fixed(), &download(20_000));
    watched.run(ms(1000));
    alone.run(ms(1000));
    let told = told.lock().expect("one thread");
    let states = &told.states;
    assert_eq!(told.acknowledged.iter().sum::<u64>(), 20_000 + 1, "the answer and FIN");
    assert_eq!(states.first().expect("told").0, ms(30), "the connection is open");
    assert!(states.windows(2).all(|pair| pair[0].1 != pair[1].1), "changes only");
    assert!(states.iter().any(|(_, state)| state.in_flight_bytes == Some(14_480)));
    let key = |pipe: &Pipe| pipe.sent.iter().map(|sent| (sent.time, sent.size)).collect::<Vec<_>>();
    assert_eq!(key(&watched), key(&alone));
}

/// Two segments that arrive at 40 ms are read when both have arrived; until then they are only acknowledged.
#[test]
fn what_arrives_together_is_read_together() {
    let mut pipe = Pipe::new(&fixed(), &fixed(), &download(20_000));
    pipe.run(ms(39));
    let mut out = Outputs::default();
    let arriving: Vec<_> = pipe.travelling.drain(..).filter(|packet| packet.0 == ms(40)).collect();
    let data = |packet: &Packet| matches!(&packet.payload, Payload::Segment(segment) if segment.length > 0);
    for (now, _, packet) in arriving.into_iter().filter(|(.., packet)| data(packet)).take(2) {
        pipe.client.receive(now, Port(0), packet, &mut out);
        assert_eq!((pipe.client.progress().delivered_bytes, pipe.client.next_wake()), (0, Some(now)));
    }
    assert_eq!(out.packets.len(), 2, "the first segments are acknowledged one by one");
    pipe.client.wake(ms(40), &mut out);
    assert_eq!(pipe.client.progress().delivered_bytes, 2 * 1448);
    assert!(pipe.client.next_wake().is_none_or(|wake| wake > ms(40)));
}

/// Thousands of idle connections must fit into memory: the target is 20 KiB each with all allocations.
#[test]
fn an_endpoint_is_small() {
    assert!(size_of::<TcpEndpoint>() < 4096, "{}", size_of::<TcpEndpoint>());
}

/// The payload of a segment with data need not shrink for SACK blocks, which are sent separately before it.
#[test]
fn sack_blocks_that_are_due_leave_before_data() {
    let config = super::super::options::resolve(&fixed()).expect("a good configuration");
    let random = RandomStream::new(1, "client");
    let mut client = Connection::new(config, Role::Client, random);
    client.connect(ms(0));
    let syn = client.next_segment(ms(0)).expect("a SYN").segment;
    let syn_ack = Segment { acknowledgement: 1, flags: Flags::SYN.with(Flags::ACK), ..syn.clone() };
    client.receive(ms(20), &syn_ack, Ecn::NotEct);
    assert!(client.next_segment(ms(20)).is_some_and(|ack| ack.segment.length == 0));
    client.write(500);
    let flags = Flags::ACK;
    client.receive(
        ms(30),
        &Segment {
            sequence: 1449,
            acknowledgement: 1,
            length: 1448,
            flags,
            timestamp: 30,
            options: None,
            ..syn
        },
        Ecn::NotEct,
    );
    let ack = client.next_segment(ms(30)).expect("an ACK at once: RFC 5681 section 4.2").segment;
    assert_eq!((ack.length, ack.sack()), (0, &[(1449, 2897)][..]));
    let data = client.next_segment(ms(30)).expect("data").segment;
    assert_eq!((data.length, data.sack().len(), data.acknowledgement), (500, 0, 1));
    assert!(client.next_segment(ms(30)).is_none());
}
