use super::super::capsule::{CapsuleAddress, none};
use super::super::qpack;
use super::*;

fn target() -> Target {
    Target { authority: "vpn.example".to_owned(), path: "/tunnel".to_owned() }
}

fn end(role: Role) -> Http3 {
    Http3::new(role, target())
}

/// Stream ID of the peer's control stream in these tests.
const CONTROL: u64 = 3;

/// A client and a server that have a tunnel on stream 0.
fn tunnel() -> (Http3, Http3) {
    let (mut client, mut server) = (end(Role::Client), end(Role::Server));
    let mut out = Vec::new();
    client.receive_uni(CONTROL, &server.control(), false, &mut out).unwrap();
    assert_eq!(out, [Http3Event::Ready]);
    let asked = client.ask(0);
    out.clear();
    // the request overtakes the settings
    server.receive_request(0, &asked, false, &mut out).unwrap();
    assert!(out.is_empty() && server.holds());
    server.receive_uni(CONTROL, &client.control(), false, &mut out).unwrap();
    assert_eq!(out, [Http3Event::Request(Ok(()))]);
    out.clear();
    let answer = server.answer(200, &mut out).unwrap();
    client.receive_request(0, &answer, false, &mut out).unwrap();
    assert_eq!(out, [Http3Event::Response(200)]);
    (client, server)
}

fn request() -> Capsule {
    Capsule::AddressRequest(vec![CapsuleAddress { request: 1, prefix: none(true) }])
}

#[test]
fn a_tunnel_carries_capsules_and_packets() {
    let (client, mut server) = tunnel();
    let mut out = Vec::new();
    // byte by byte, in frames that end within capsules, with unknown frames and capsules between them
    let mut capsules = BytesMut::new();
    request().encode(&mut capsules);
    records::write(&mut capsules, 0x40_00, b"unknown");
    Capsule::Datagram(Bytes::from_static(b"\0packet")).encode(&mut capsules);
    let mut stream = BytesMut::new();
    for piece in capsules.chunks(5) {
        records::write(&mut stream, frame::DATA, piece);
        records::write(&mut stream, 0x21, b"grease");
    }
    stream.iter().for_each(|byte| server.receive_request(0, &[*byte], false, &mut out).unwrap());
    let datagram = Capsule::Datagram(Bytes::from_static(b"\0packet"));
    assert_eq!(out, [Http3Event::Capsule(request()), Http3Event::Capsule(datagram)]);
    let sent = [&client.datagram_header()[..], b"packet"].concat();
    assert_eq!(sent, b"\0\0packet");
    assert_eq!(server.packet(&sent.into()), Ok(Some(Bytes::from_static(b"packet"))));
    assert_eq!(server.packet(&Bytes::from_static(b"\0\x02packet")), Ok(None), "another context");
    assert_eq!(server.packet(&Bytes::from_static(b"\x01\0packet")), Ok(None), "another stream");
    assert_eq!(server.packet(&Bytes::new()), Err(error::DATAGRAM));
    assert_eq!(server.packet(&Bytes::from_static(&[0xff; 9])), Err(error::DATAGRAM));
    out.clear();
    server.receive_request(0, &[], true, &mut out).unwrap();
    assert_eq!(out, [Http3Event::End]);
}

#[test]
fn what_follows_a_request_waits_for_its_answer() {
    let (client, mut server) = (&mut end(Role::Client), end(Role::Server));
    let mut out = Vec::new();
    server.receive_uni(CONTROL, &client.control(), false, &mut out).unwrap();
    let asked = [client.ask(0), data(&request())].concat();
    server.receive_request(0, &asked, false, &mut out).unwrap();
    assert_eq!(out, [Http3Event::Request(Ok(()))]);
    assert_eq!(server.packet(&Bytes::from_static(b"\0\0packet")), Ok(None), "not yet");
    out.clear();
    server.answer(200, &mut out).unwrap();
    assert_eq!(out, [Http3Event::Capsule(request())]);
    assert!(!server.takes(4), "one tunnel");
}

#[test]
fn a_refused_request_leaves_room_for_another() {
    let (mut client, mut server) = (end(Role::Client), end(Role::Server));
    let mut out = Vec::new();
    server.receive_uni(CONTROL, &client.control(), false, &mut out).unwrap();
    let asked = Http3::new(Role::Client, Target { path: "/other".to_owned(), ..target() }).ask(0);
    server.receive_request(0, &asked, false, &mut out).unwrap();
    assert_eq!(out, [Http3Event::Request(Err(404))]);
    let answer = server.answer(404, &mut Vec::new()).unwrap();
    let _ = client.ask(0);
    out.clear();
    client.receive_request(0, &answer, true, &mut out).unwrap();
    assert_eq!(out, [Http3Event::Response(404)]);
    assert!(server.takes(4) && !server.takes(0) && server.datagram_header().is_empty());
}

#[test]
fn an_end_without_datagrams_has_no_tunnel() {
    let mut stream = BytesMut::from(&[0][..]);
    records::write(&mut stream, frame::SETTINGS, &[8, 1]);
    let mut out = Vec::new();
    assert_eq!(end(Role::Client).receive_uni(3, &stream, false, &mut out), Err(error::NOT_OFFERED));
    let mut server = end(Role::Server);
    server.receive_uni(2, &stream, false, &mut out).unwrap();
    server.receive_request(0, &end(Role::Client).ask(0), false, &mut out).unwrap();
    assert_eq!(out, [Http3Event::Request(Err(400))]);
}

#[test]
fn control_streams_keep_to_the_rules() {
    let uni = |role: Role, streams: &[(u64, &[u8], bool)]| {
        let (mut end, mut out) = (end(role), Vec::new());
        streams.iter().try_for_each(|(id, bytes, last)| end.receive_uni(*id, bytes, *last, &mut out))
    };
    let server = |streams: &[(u64, &[u8], bool)]| uni(Role::Server, streams);
    let settings: &[u8] = &[0, 4, 2, 0x33, 1];
    assert_eq!(server(&[(2, settings, false), (6, &[2, 0x20], false), (10, &[3, 0x40], false)]), Ok(()));
    assert_eq!(server(&[(2, &[0, 0, 0], false)]), Err(error::MISSING_SETTINGS), "DATA");
    assert_eq!(server(&[(2, &[0, 4, 0, 4, 0], false)]), Err(error::FRAME_UNEXPECTED), "SETTINGS twice");
    assert_eq!(server(&[(2, &[0, 4, 2, 2, 1], false)]), Err(error::SETTINGS), "a setting of HTTP/2");
    assert_eq!(server(&[(2, &[0, 4, 4, 0x33, 1, 0x33, 1], false)]), Err(error::SETTINGS), "twice");
    assert_eq!(server(&[(2, &[0, 4, 2, 0x33, 2], false)]), Err(error::SETTINGS), "neither 0 nor 1");
    assert_eq!(server(&[(2, &[0, 4, 1, 0x33], false)]), Err(error::FRAME));
    assert_eq!(server(&[(2, &[0, 4, 0x7f, 0xff], false)]), Err(error::EXCESSIVE_LOAD));
    assert_eq!(server(&[(2, settings, false), (6, settings, false)]), Err(error::STREAM_CREATION));
    assert_eq!(server(&[(2, settings, true)]), Err(error::CLOSED_CRITICAL_STREAM));
    assert_eq!(server(&[(6, &[2], false), (6, &[], true)]), Err(error::CLOSED_CRITICAL_STREAM));
    assert_eq!(server(&[(6, &[2, 0x3f, 0xe1], false)]), Err(error::ENCODER_STREAM), "another capacity");
    assert_eq!(server(&[(6, &[1], false)]), Err(error::STREAM_CREATION), "a push of a client");
    assert_eq!(uni(Role::Client, &[(3, &[1], false)]), Err(error::ID));
    // others are ignored, with or without a type
    assert_eq!(server(&[(6, &[0x21, 9, 9], false), (6, &[9; 100], true), (10, &[0x40], true)]), Ok(()));
    // MAX_PUSH_ID of a client, and of a server
    let more = [settings, &[13, 1, 0]].concat();
    assert_eq!(server(&[(2, &more, false)]), Ok(()));
    assert_eq!(
        uni(Role::Client, &[(3, &[0, 4, 4, 8, 1, 0x33, 1, 13, 1, 0], false)]),
        Err(error::FRAME_UNEXPECTED)
    );
}

#[test]
fn request_streams_keep_to_the_rules() {
    let server =
        |bytes: &[u8], last: bool| end(Role::Server).receive_request(0, bytes, last, &mut Vec::new());
    assert_eq!(server(&[0, 1, 0], false), Err(error::FRAME_UNEXPECTED), "DATA before HEADERS");
    assert_eq!(server(&[4, 0], false), Err(error::FRAME_UNEXPECTED), "SETTINGS");
    assert_eq!(server(&[6], false), Err(error::FRAME_UNEXPECTED), "a frame of HTTP/2");
    assert_eq!(server(&[], true), Err(error::REQUEST_INCOMPLETE));
    assert_eq!(server(&[1, 0x80, 0, 0x40, 1], false), Err(error::EXCESSIVE_LOAD), "16 385 bytes");
    let (_, mut open) = tunnel();
    assert_eq!(
        open.receive_request(0, &[1, 2, 0, 0], false, &mut Vec::new()),
        Err(error::FRAME_UNEXPECTED),
        "trailers"
    );
    let (_, mut open) = tunnel();
    assert_eq!(
        open.receive_request(0, &[0, 5, 1], true, &mut Vec::new()),
        Err(error::FRAME),
        "within a frame"
    );
    let (_, mut open) = tunnel();
    assert_eq!(open.receive_request(0, &[0, 2, 1, 9], true, &mut Vec::new()), Err(error::MALFORMED_CAPSULE));
    let (_, mut open) = tunnel();
    assert_eq!(
        open.receive_request(0, &[0, 3, 2, 1, 0], false, &mut Vec::new()),
        Err(error::MALFORMED_CAPSULE)
    );
}

#[test]
fn interim_responses_are_passed_over() {
    let mut client = end(Role::Client);
    let _ = client.ask(0);
    let interim = header(&qpack::encode(&[(":status", "103")]));
    let bytes = [interim, header(&message::response(200))].concat();
    let mut out = Vec::new();
    client.receive_request(0, &bytes, false, &mut out).unwrap();
    assert_eq!(out, [Http3Event::Response(200)]);
}
