//! Both ends of HTTP/2 without a network between them: order of frames, and blocking by windows and limits.

use super::*;
use crate::http::browser::Browser;
use crate::http::page::{BrowserTimes, Page, testing::page};
use crate::http::server::WebServer;
use crate::options::{ObjectKind, Priorities};
use crate::testing::ms;
use crate::workload::Command;
use quiclab_core::{Contents, Duration, Http2Frame, ProblemKind, Time};

fn client(objects: &[(u32, u64, ObjectKind)], priorities: Priorities, values: Http2Values) -> Client {
    let page = Page::new(&page(objects, priorities)).expect("a good page");
    let mut client = Client::new(Browser::new(page, BrowserTimes::default()), values);
    client.start(ms(0));
    client
}

fn server(objects: &[(u32, u64, ObjectKind)], priorities: Priorities, values: Http2Values) -> Server {
    let page = Page::new(&page(objects, priorities)).expect("a good page");
    let mut server = Server::new(WebServer::new(page), values);
    server.connected(ms(0));
    server
}

/// Values without small records at the start.
fn values(role: Role) -> Http2Values {
    Http2Values { warm_up: ByteCount::ZERO, ..super::values(role, None) }
}

/// Takes all records that `end` writes now.
fn drain(end: &mut dyn Application, now: Time) -> Vec<(u64, Vec<Http2Frame>)> {
    std::iter::from_fn(|| pull(end, now)).collect()
}

/// Takes the next record that `end` writes.
fn pull(end: &mut dyn Application, now: Time) -> Option<(u64, Vec<Http2Frame>)> {
    match end.pull(now, 16_384)? {
        (bytes, Contents::Http2(frames)) => Some((bytes, frames)),
        (_, Contents::Media(_)) => panic!("no media frame in HTTP/2"),
    }
}

/// Delivers all records of one end to the peer at once; returns the bytes and the frames.
fn pass(from: &mut dyn Application, to: &mut dyn Application, now: Time) -> (u64, Vec<Http2Frame>) {
    let records = drain(from, now);
    for (bytes, frames) in &records {
        to.read(now, *bytes, &Contents::Http2(frames.clone()));
    }
    (records.iter().map(|record| record.0).sum(), records.into_iter().flat_map(|record| record.1).collect())
}

/// Runs a round trip: the client writes, the server waits for its think time and writes; returns the server's
/// data.
fn round(client: &mut Client, server: &mut Server, now: Time) -> (u64, Vec<Http2Frame>) {
    pass(client, server, now);
    let now = now + Duration::from_millis(5);
    server.wake(now);
    pass(server, client, now)
}

/// Makes both ends of a page after a first round trip, in which the HTML arrives.
fn asked(
    objects: &[(u32, u64, ObjectKind)],
    priorities: Priorities,
    of_client: Http2Values,
    of_server: Http2Values,
) -> (Client, Server) {
    let mut client = client(objects, priorities, of_client);
    let mut server = server(objects, priorities, of_server);
    round(&mut client, &mut server, ms(0));
    (client, server)
}

/// Streams and payloads of DATA frames.
fn data(frames: &[Http2Frame]) -> Vec<(u32, u32)> {
    let of = |frame: &Http2Frame| match *frame {
        Http2Frame::Data { stream, length, .. } => Some((stream, length)),
        _ => None,
    };
    frames.iter().filter_map(of).collect()
}

/// Client: preface 24, SETTINGS 9 + 5 · 6, WINDOW_UPDATE 13; HEADERS 9 + 5 + 100. Server: SETTINGS 9 + 6,
/// WINDOW_UPDATE 13, ACK 9; HEADERS 9 + 200, DATA 9 + 1000. Client: ACK 9, two requests. Server: two HEADERS,
/// DATA of 20000 in frames of 16384 and 3616, of 50 in one.
#[test]
fn a_page_of_two_objects_by_hand() {
    let objects = [(1, 20_000, ObjectKind::Image), (1, 50, ObjectKind::Script)];
    let mut client = client(&objects, Priorities::Browser, values(Role::Client));
    let mut server = server(&objects, Priorities::Browser, values(Role::Server));
    let first = drain(&mut client, ms(10));
    let lengths: Vec<_> = first.iter().map(|record| record.0).collect();
    assert_eq!(lengths, [24 + 39 + 13, 114], "the beginning is one record, each request another");
    first
        .iter()
        .for_each(|(bytes, frames)| _ = server.read(ms(20), *bytes, &Contents::Http2(frames.clone())));
    assert_eq!(pass(&mut server, &mut client, ms(20)).0, 15 + 13 + 9);
    assert_eq!(server.deadline(), Some(ms(25)));
    server.wake(ms(25));
    assert_eq!(pass(&mut server, &mut client, ms(25)).0, 209 + 1009);
    assert_eq!(client.outcome().progress.delivered_bytes, 1000);

    assert_eq!(pass(&mut client, &mut server, ms(40)).0, 9 + 2 * 114);
    server.wake(ms(42));
    let (bytes, frames) = pass(&mut server, &mut client, ms(42));
    assert_eq!(bytes, 2 * 209 + 2 * 9 + 20_000 + 59);
    // the script is urgent, although the image was requested first
    assert_eq!(data(&frames), [(5, 50), (3, 16_384), (3, 3616)]);
    assert!(matches!(frames.last(), Some(Http2Frame::Data { end: true, .. })));
    let progress = client.outcome().progress;
    assert_eq!((progress.finished, progress.delivered_bytes), (Some(ms(42)), 21_050));
    server.acknowledged(ms(50));
    assert_eq!(server.outcome().progress.finished, Some(ms(50)));
}

/// Three images of 20000 B in frames of 8000, 8000, 4000.
#[test]
fn priorities_decide_the_order_of_frames() {
    let objects = [(3, 20_000, ObjectKind::Image)];
    let small = Http2Values { frame_size: ByteCount::from_bytes(8000), ..values(Role::Server) };
    let order = |priorities| {
        let (mut client, mut server) = asked(&objects, priorities, values(Role::Client), small.clone());
        data(&round(&mut client, &mut server, ms(20)).1)
    };
    let one_after_the_other: Vec<_> =
        [3, 5, 7].into_iter().flat_map(|stream| [(stream, 8000), (stream, 8000), (stream, 4000)]).collect();
    assert_eq!(order(Priorities::Browser), one_after_the_other);
    let in_turn: Vec<_> =
        [8000, 8000, 4000].into_iter().flat_map(|size| [(3, size), (5, size), (7, size)]).collect();
    assert_eq!(order(Priorities::RoundRobin), in_turn);
}

/// A response that starts while others are sent precedes frames that the server has not chosen yet.
#[test]
fn an_urgent_response_overtakes_what_waits() {
    let objects = [(1, 100_000, ObjectKind::Image), (1, 100, ObjectKind::Style)];
    let mut server = server(&objects, Priorities::Browser, values(Role::Server));
    let headers = |stream, resource| Http2Frame::Headers {
        stream,
        section: 100,
        dependency: true,
        end: true,
        resource,
    };
    let window = Http2Frame::Settings { count: 1, max_streams: None, stream_window: Some(1 << 20) };
    let more = Http2Frame::WindowUpdate { stream: 0, increment: 1 << 20 };
    server.read(ms(0), 15 + 13 + 114, &Contents::Http2(vec![window, more, headers(3, 1)]));
    server.wake(ms(2));
    // SETTINGS 15, WINDOW_UPDATE 13, ACK 9, HEADERS 209, then one DATA frame fills the record
    let (_, frames) = pull(&mut server, ms(2)).expect("a record");
    assert_eq!(data(&frames), [(3, 16_384)]);
    server.read(ms(3), 114, &Contents::Http2(vec![headers(5, 2)]));
    server.wake(ms(5));
    // 255 bytes of the frame before; HEADERS and DATA of the style sheet; then the image again
    let (_, frames) = pull(&mut server, ms(5)).expect("a record");
    assert_eq!(data(&frames), [(5, 100), (3, 16_384)]);
}

/// A window of 10000 is refilled after more than 5000 were read. A body of 25000: 10000 in each of the first
/// two round trips, 5000 in the third; ceil(25000 / 10000) = 3.
#[test]
fn a_stream_window_costs_round_trips() {
    let small = Http2Values { stream_window: ByteCount::from_bytes(10_000), ..values(Role::Client) };
    for (size, rounds) in [(9_999, 1), (10_000, 1), (10_001, 2), (25_000, 3), (30_000, 3), (30_001, 4)] {
        let objects = [(1, size, ObjectKind::Image)];
        let (mut client, mut server) =
            asked(&objects, Priorities::Browser, small.clone(), values(Role::Server));
        let mut taken = 0;
        while client.outcome().progress.finished.is_none() {
            taken += 1;
            assert!(taken < 10, "{size}");
            let sent = data(&round(&mut client, &mut server, ms(20 * taken)).1);
            let bytes: u32 = sent.iter().map(|frame| frame.1).sum();
            assert_eq!(u64::from(bytes), (size - (taken - 1) * 10_000).min(10_000), "{size}");
        }
        assert_eq!(taken, rounds, "{size}");
    }
}

/// Two bodies of 60000 with a window of 65535 for the connection, of which the HTML has used 1000, less than
/// half: 64535 are sent. Read in records: HEADERS 2 · 209, 9, 15957; 427, 9, 15948; by then 1000 + 32332 is
/// more than half, and that amount is refilled. The 32203 read afterwards are less than half and wait for the
/// next round, which sends 120000 - 64535 - 33332.
#[test]
fn a_connection_window_holds_back_all_streams() {
    let small = Http2Values { connection_window: ByteCount::from_bytes(65_535), ..values(Role::Client) };
    let objects = [(2, 60_000, ObjectKind::Image)];
    let (mut client, mut server) = asked(&objects, Priorities::Browser, small.clone(), values(Role::Server));
    let total = |frames: &[Http2Frame], stream| -> u32 {
        data(frames).iter().filter(|frame| frame.0 == stream).map(|frame| frame.1).sum()
    };
    for (time, first, second) in [(20, 60_000, 4535), (40, 0, 33_332), (60, 0, 22_133)] {
        let (_, frames) = round(&mut client, &mut server, ms(time));
        assert_eq!((total(&frames, 3), total(&frames, 5)), (first, second));
    }
    assert_eq!(client.outcome().progress.finished, Some(ms(65)));
}

#[test]
fn a_stream_that_its_window_stops_lets_the_next_go() {
    let small = Http2Values { stream_window: ByteCount::from_bytes(1000), ..values(Role::Client) };
    let objects = [(2, 1500, ObjectKind::Image)];
    let (mut client, mut server) = asked(&objects, Priorities::Browser, small.clone(), values(Role::Server));
    assert_eq!(data(&round(&mut client, &mut server, ms(20)).1), [(3, 1000), (5, 1000)]);
    assert_eq!(data(&round(&mut client, &mut server, ms(40)).1), [(3, 500), (5, 500)]);
}

/// Five objects, two at a time: two, two, one.
#[test]
fn the_server_limits_the_streams_at_a_time() {
    let options = Http2Options { max_streams: Some(2), ..Http2Options::default() };
    let objects = [(5, 10, ObjectKind::Image)];
    let (mut client, mut server) = asked(
        &objects,
        Priorities::Browser,
        values(Role::Client),
        super::values(Role::Server, Some(&options)),
    );
    let streams = |frames: Vec<Http2Frame>| data(&frames).iter().map(|frame| frame.0).collect::<Vec<_>>();
    assert_eq!(streams(round(&mut client, &mut server, ms(20)).1), [3, 5]);
    assert_eq!(streams(round(&mut client, &mut server, ms(40)).1), [7, 9]);
    assert_eq!(streams(round(&mut client, &mut server, ms(60)).1), [11]);
    assert_eq!(client.outcome().progress.finished, Some(ms(65)));
}

/// mod_http2 sends its window only if it differs from that of the protocol.
#[test]
fn settings_hold_what_is_not_the_default() {
    let options = Http2Options {
        stream_window: Some(ByteCount::from_bytes(100_000)),
        connection_window: Some(ByteCount::from_bytes(65_535)),
        ..Http2Options::default()
    };
    let mut server = server(&[], Priorities::Browser, super::values(Role::Server, Some(&options)));
    let settings = Http2Frame::Settings { count: 2, max_streams: Some(100), stream_window: Some(100_000) };
    assert_eq!(drain(&mut server, ms(0)), [(21, vec![settings])]);
}

#[test]
fn an_end_before_the_page_is_loaded_is_a_failure() {
    let objects = [(1, 10, ObjectKind::Image)];
    let (mut client, mut server) =
        asked(&objects, Priorities::Browser, values(Role::Client), values(Role::Server));
    assert_eq!((client.peer_closed(ms(9)), server.peer_closed(ms(9))), (Command::Close, Command::Close));
    let failure = "closed by the server before the page was loaded";
    assert_eq!(client.outcome().failure.as_deref(), Some(failure));
    let failure = "closed by the client before its last request";
    assert_eq!(server.outcome().failure.as_deref(), Some(failure));
}

#[test]
fn options_replace_defaults() {
    let options = |change: fn(&mut Http2Options)| {
        let mut options = Http2Options::default();
        change(&mut options);
        options
    };
    let given = options(|options| options.max_streams = Some(7));
    let values = super::values(Role::Server, Some(&given));
    assert_eq!(values, Http2Values { max_streams: 7, ..super::values(Role::Server, None) });
    let workload = page(&[(1, 1, ObjectKind::Image)], Priorities::Browser);
    let given = options(|options| options.frame_size = Some(ByteCount::from_bytes(1000)));
    let random = quiclab_core::RandomStream::new(1, "page");
    let ends = PageEnds::new(&workload, random).expect("a good page");
    let problem = build(Role::Client, &ends, 0, Some(&given)).err().expect("rejected");
    assert_eq!(
        (problem.path.to_string(), problem.kind),
        ("http2.frame_size".to_owned(), ProblemKind::Conflict)
    );
    assert!(build(Role::Server, &ends, 0, Some(&given)).is_ok());
}
