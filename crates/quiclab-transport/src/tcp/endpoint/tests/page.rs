//! A page over HTTP/2 on whole connections, by hand.
//!
//! Connected at 20 ms; the request arrives at 30, the think time is 5 ms, the HTML arrives at 45; the
//! requests for the objects arrive at 55, the think time is 2 ms: the responses are sent at 57 and
//! arrive at 67.

use super::*;
use crate::http::testing::page;
use crate::options::{Http2Options, ObjectKind, Priorities};
use quiclab_core::ProblemKind;

const IMAGE: ObjectKind = ObjectKind::Image;

fn payload(pipe: &Pipe, role: Role) -> u64 {
    let own = pipe.sent.iter().filter(|sent| sent.role == role);
    own.map(|sent| u64::from(sent.segment.length)).sum()
}

fn object_ms(pipe: &mut Pipe) -> [Option<f64>; 2] {
    ["object_ms_min", "object_ms_max"].map(|name| Pipe::metric(&mut pipe.client, name))
}

/// Bytes of h2_tests.rs: client 76, 114; 9, 114, 114. Server: 15, 13, 9 (the client's SETTINGS arrive with its
/// request), 209, 1009; two of 209, with DATA of 3000 and 9.
#[test]
fn a_page_loads_in_the_round_trips_of_its_requests() {
    let workload = page(&[(2, 3000, IMAGE)], Priorities::Browser);
    let mut pipe = Pipe::new(&fixed(), &fixed(), &workload);
    pipe.run(ms(10_000));
    assert_eq!(pipe.finished(), Some(ms(67)));
    assert_eq!(pipe.client.progress().delivered_bytes, 7000);
    assert_eq!(payload(&pipe, Role::Client), 76 + 114 + 9 + 114 + 114);
    assert_eq!(payload(&pipe, Role::Server), 37 + 209 + 1009 + 2 * 209 + 2 * 3009);
    assert_eq!(Pipe::metric(&mut pipe.client, "html_ms"), Some(45.0));
    assert_eq!(Pipe::metric(&mut pipe.client, "page_load_ms"), Some(67.0));
    assert_eq!(object_ms(&mut pipe), [Some(22.0), Some(22.0)]);
    assert_eq!(pipe.server.progress().finished, Some(ms(77)), "the client's FIN acknowledges");
    assert_eq!((pipe.client.next_wake(), pipe.server.next_wake()), (None, None));
}

/// Configuration with records of 16 KB from the start.
fn long_records() -> EndpointConfig {
    let http2 = Http2Options { warm_up: Some(ByteCount::ZERO), ..Http2Options::default() };
    EndpointConfig { http2: Some(http2), ..fixed() }
}

/// TLS 1.3 costs a round trip, and 22 B for each record. Client: the start, three requests, the ACK of
/// SETTINGS. Server: the same; the response of the HTML; those of the objects, 6436 B in one.
#[test]
fn records_of_tls_have_their_overhead() {
    let tls = Some(Tls {
        version: TlsVersion::Tls13,
        resumption: true,
        certificate: ByteCount::from_bytes(3000),
        early_data: None,
    });
    let config = EndpointConfig { tls, ..long_records() };
    let mut pipe = Pipe::new(&config, &config, &page(&[(2, 3000, IMAGE)], Priorities::Browser));
    pipe.run(ms(10_000));
    assert_eq!(pipe.finished(), Some(ms(87)));
    assert_eq!(payload(&pipe, Role::Client), 517 + 80 + 76 + 9 + 3 * 114 + 5 * 22);
    let server = 250 + 510 + 37 + 209 + 1009 + 2 * 209 + 2 * 3009;
    let records = (payload(&pipe, Role::Server) - server) / 22;
    assert_eq!(payload(&pipe, Role::Server), server + 22 * records);
    assert_eq!(records, 3, "what it begins with, with the ACK; the HTML; both objects");
}

/// The first segment of two responses one after the other is lost: the second waits for its retransmission,
/// although all of it has arrived. Three later segments show the loss at 77; retransmitted, it
/// arrives at 87. Bytes of the responses: 2 · 209 + 2 · 6009, nine segments of 1448.
#[test]
fn one_lost_segment_holds_back_all_streams() {
    let workload = page(&[(2, 6000, IMAGE)], Priorities::Browser);
    let mut pipe = Pipe::new(&long_records(), &long_records(), &workload);
    pipe.run(ms(10_000));
    assert_eq!(object_ms(&mut pipe), [Some(22.0), Some(22.0)], "without a loss");

    let mut pipe = Pipe::new(&long_records(), &long_records(), &workload);
    let first = 1 + 37 + 209 + 1009;
    pipe.lost = Box::new(move |_, sent| {
        sent.role == Role::Server && sent.time == ms(57) && sent.segment.sequence == first
    });
    pipe.run(ms(10_000));
    let again: Vec<_> = pipe
        .sent
        .iter()
        .filter(|sent| sent.role == Role::Server && sent.segment.sequence == first && sent.segment.length > 0)
        .map(|sent| (sent.time, sent.segment.records().len(), sent.size))
        .collect();
    // both HEADERS and the first DATA begin in a record that begins there: 20 of IP, 32 of TCP
    assert_eq!(again, [(ms(57), 1, 1500), (ms(77), 1, 1500)], "it says the same again");
    assert_eq!(object_ms(&mut pipe), [Some(42.0), Some(42.0)]);
    assert_eq!(pipe.finished(), Some(ms(87)));

    // the last one: the first object is not affected
    let mut pipe = Pipe::new(&fixed(), &fixed(), &workload);
    let last = first + 8 * 1448;
    pipe.lost = Box::new(move |_, sent| {
        sent.role == Role::Server && sent.time == ms(57) && sent.segment.sequence == last
    });
    pipe.run(ms(10_000));
    assert_eq!(object_ms(&mut pipe)[0], Some(22.0));
    assert!(pipe.finished().is_some_and(|finished| finished > ms(77)));
}

/// A stream window of 10 kB and 25 kB. Data that arrive at 67 are read segment by segment: 1448 less 209 of
/// HEADERS and 9 of DATA, then 1448 each; after four, 5574 are more than half and refilled, 4426 follow. At
/// 87, 5574 arrive after a header of 9: after the first segment 4426 + 1439 are refilled, 4135 follow. At
/// 107, these 5865 arrive: 4135 + 1439 are refilled. At 127, the rest: 25000 - 10000 - 5574 - 5865 = 3561.
#[test]
fn a_stream_window_costs_round_trips() {
    let http2 =
        Some(Http2Options { stream_window: Some(ByteCount::from_bytes(10_000)), ..Http2Options::default() });
    let small = EndpointConfig { http2, ..fixed() };
    let workload = page(&[(1, 25_000, IMAGE)], Priorities::Browser);
    // ten segments have 14480 B
    let wide = EndpointConfig { initial_window: Some(ByteCount::from_bytes(100_000)), ..fixed() };
    let load = |client: &EndpointConfig| {
        let mut pipe = Pipe::new(client, &wide, &workload);
        pipe.run(ms(10_000));
        pipe.finished()
    };
    assert_eq!((load(&fixed()), load(&small)), (Some(ms(67)), Some(ms(127))));
}

/// With random losses both ways, with TLS and without, every page is loaded, byte by byte.
#[test]
fn pages_survive_losses() {
    let tls = Tls {
        version: TlsVersion::Tls12,
        resumption: false,
        certificate: ByteCount::from_bytes(3000),
        early_data: None,
    };
    for seed in 0..40 {
        let tls = (seed % 2 == 0).then(|| tls.clone());
        let priorities = if seed % 4 < 2 { Priorities::Browser } else { Priorities::RoundRobin };
        let config = EndpointConfig { stack: Some("lab-tcp".to_owned()), tls, ..EndpointConfig::default() };
        let workload = page(&[(3, 40_000, IMAGE), (120, 900, ObjectKind::Script)], priorities);
        let mut pipe = Pipe::new(&config, &config, &workload);
        let mut random = RandomStream::new(seed, "losses");
        let lost: Vec<bool> = (0..20_000).map(|_| random.uniform() < 0.05).collect();
        pipe.lost = Box::new(move |number, _| lost.get(number).copied().unwrap_or(false));
        pipe.run(ms(10_000_000));
        assert!(pipe.finished().is_some(), "seed {seed}");
        assert_eq!(pipe.client.progress().delivered_bytes, 1000 + 120_000 + 108_000, "seed {seed}");
    }
}

#[test]
fn options_of_http2_need_a_page() {
    let config = EndpointConfig { http2: Some(Http2Options::default()), ..fixed() };
    let identity = |role| EndpointIdentity {
        name: "f".to_owned(),
        flow: FlowId(0),
        role,
        tuple: FiveTuple::default(),
        paths: 1,
    };
    let build = |workload: &Workload| {
        build(STACKS, EndpointRequest::new(identity(Role::Server), &config, workload, ms(0), 1))
    };
    let problem = build(&download(1)).err().expect("rejected");
    assert_eq!((problem.path.to_string(), problem.kind), ("http2".to_owned(), ProblemKind::Conflict));
    assert!(build(&page(&[], Priorities::Browser)).is_ok(), "HTML alone is a page");
}
