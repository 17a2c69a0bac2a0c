//! Captures of several concurrent random QUIC connections, compared with their parameters: clients whose ports change,
//! ports that are reused or shared, paths of Multipath QUIC, empty connection IDs.

use quiclab_core::quic::{
    AckFrame, PacketFormat, QuicDatagram, QuicFrame, QuicPacket, TransportParameters, Wire,
};
use quiclab_core::{ByteCount, FiveTuple, Packet, PacketSpace, Payload, Protocol, RandomStream, Time};
use quiclab_trace::pacing::{Analysis, Settings};
use quiclab_trace::packets::{KeyLog, read_packets};
use quiclab_trace::pcapng::{Heading, PcapngWriter};
use std::net::SocketAddr;
use std::ops::ControlFlow;

const CASES: u64 = 40;

fn below(random: &mut RandomStream, most: u64) -> u64 {
    random.bits() % most
}

/// Expected result for a connection: packets of the server, ACKs of the client.
type Truth = (u64, u64);

/// A packet of a connection at a time [µs].
type Event = (u64, Packet);

struct Connection<'r> {
    random: &'r mut RandomStream,
    flow: u64,
    /// Length of the client's connection IDs.
    client_id: u8,
    /// Client and server of each path, and the client's address in the last packet at the server.
    tuples: Vec<[SocketAddr; 2]>,
    known: Vec<SocketAddr>,
    events: Vec<Event>,
}

fn frames(frames: Vec<QuicFrame>, space: PacketSpace, path: u8, number: u64, ids: (u8, u8)) -> QuicPacket {
    let (destination_id, source_id) = ids;
    let format = PacketFormat { wire: Wire::V1, destination_id, source_id, number_length: 2 };
    QuicPacket { space, path, number, format, frames: frames.into() }
}

fn crypto(length: u16, id: u8) -> QuicFrame {
    let parameters = TransportParameters {
        message_end: length.into(),
        connection_id_length: id,
        ..TransportParameters::default()
    };
    QuicFrame::Crypto { offset: 0, length, parameters: Some(Box::new(parameters)) }
}

impl Connection<'_> {
    fn put(&mut self, at: u64, path: usize, of_server: bool, packets: Vec<QuicPacket>) {
        let [client, server] = self.tuples[path];
        let ends = if of_server { [server, self.known[path]] } else { [client, server] };
        if !of_server {
            self.known[path] = client;
        }
        let datagram = QuicDatagram { packets: packets.into() };
        let packet = Packet {
            id: self.flow << 41 | u64::from(of_server) << 40,
            size: ByteCount::from_bytes(28 + datagram.length() as u64),
            tuple: FiveTuple::new(Protocol::Udp, ends[0], ends[1]),
            payload: Payload::Quic(Box::new(datagram)),
            ..Packet::default()
        };
        self.events.push((at, packet));
    }

    /// A handshake, then data of the server on all paths, every second packet of a path acknowledged; `moves`: a port of
    /// the client changes in the middle.
    fn run(&mut self, start: u64, packets: u64, moves: bool) -> Truth {
        use PacketSpace::{Handshake, Initial, OneRtt};
        let (client, server) = (self.client_id, 8);
        let paths = self.tuples.len() as u8;
        let hello = vec![crypto(300, client), QuicFrame::Padding { length: 852 }];
        self.put(start, 0, false, vec![frames(hello, Initial, 0, 0, (8, client))]);
        let ack = |path: Option<u8>, largest: u64, first: u64| {
            let ranges = [first..=largest].into_iter().collect();
            QuicFrame::Ack(Box::new(AckFrame { path, ranges, ..AckFrame::default() }))
        };
        let answer = vec![ack(None, 0, 0), crypto(90, server)];
        let flight = vec![crypto(700, server)];
        self.put(
            start + 20_000,
            0,
            true,
            vec![
                frames(answer, Initial, 0, 0, (client, server)),
                frames(flight, Handshake, 0, 0, (client, server)),
            ],
        );
        // connection IDs for further paths: the server's in its first packet with data, the client's in one of its own
        let ids: Vec<QuicFrame> =
            (1..paths).map(|path| QuicFrame::PathNewConnectionId { path, sequence_number: 0 }).collect();
        let greeting = [vec![QuicFrame::Ping, QuicFrame::Padding { length: 9 }], ids.clone()].concat();
        self.put(start + 40_000, 0, false, vec![frames(greeting, OneRtt, 0, 0, (server, client))]);
        let (mut sent, mut client_numbers, mut acks) =
            (vec![0_u64; paths.into()], vec![0_u64; paths.into()], 0);
        client_numbers[0] = 1;
        let mut at = start + 60_000;
        let middle = packets / 2;
        for index in 0..packets {
            let path = if index == 0 { 0 } else { below(self.random, paths.into()) as usize };
            at += 100 + below(self.random, 2000);
            let data = QuicFrame::Stream {
                stream_id: 0,
                offset: index * 900,
                length: 900,
                fin: false,
                last: true,
                label: 0,
            };
            let content = if index == 0 { [ids.clone(), vec![data]].concat() } else { vec![data] };
            let number = sent[path];
            sent[path] += 1;
            self.put(at, path, true, vec![frames(content, OneRtt, path as u8, number, (client, server))]);
            if moves && index == middle {
                let port = self.tuples[0][0].port();
                self.tuples[0][0].set_port(port + 1000);
            }
            if sent[path] % 2 == 0 {
                let id = (paths > 1).then_some(path as u8);
                let content = vec![ack(id, sent[path] - 1, 0)];
                let number = client_numbers[path];
                client_numbers[path] += 1;
                acks += 1;
                // before the next packet of the server
                self.put(
                    at + 50,
                    path,
                    false,
                    vec![frames(content, OneRtt, path as u8, number, (server, client))],
                );
            }
        }
        // the server's Initial and Handshake packets are one ack-eliciting datagram
        (packets + 1, acks)
    }
}

fn address(host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], port))
}

fn case(seed: u64) {
    let mut random = RandomStream::new(seed, "connections");
    let count = 1 + below(&mut random, 4);
    let [shared, concurrent] = [(); 2].map(|()| below(&mut random, 2) == 0);
    let (mut events, mut truths, mut start) = (Vec::new(), Vec::new(), 0);
    for flow in 0..count {
        // connections that share ports at the same time need IDs that are not empty (RFC 9000 section 5.1)
        let client_id = if shared && concurrent || below(&mut random, 2) == 0 { 8 } else { 0 };
        let paths = if client_id == 0 { 1 } else { 1 + below(&mut random, 3) };
        let port = if shared { 50_000 } else { 50_000 + flow as u16 };
        // not both: the port could be that of another connection
        let moves = !shared && below(&mut random, 2) == 0;
        let client = |path: u64| if path == 0 { address(1, port) } else { address(10 + path as u8, port) };
        let tuples: Vec<_> = (0..paths).map(|path| [client(path), address(2, 443)]).collect();
        let known = tuples.iter().map(|[client, _]| *client).collect();
        let packets = 10 + 3 * flow + 20 * below(&mut random, 3);
        let mut made = Connection { random: &mut random, flow, client_id, tuples, known, events: Vec::new() };
        truths.push(made.run(start, packets, moves));
        let end = made.events.iter().map(|(at, _)| *at).max().unwrap_or(start);
        events.append(&mut made.events);
        start = if concurrent { start + 7 } else { end + 100_000 };
    }
    events.sort_by_key(|(at, _)| *at);
    let mut writer = PcapngWriter::new(Vec::new(), &["random"]).unwrap().with_seed(seed);
    for (at, packet) in &events {
        writer.packet(Time::from_nanos(at * 1000), 0, packet, Heading::Outbound).unwrap();
    }
    let file = writer.finish().unwrap();
    let mut analysis = Analysis::new(&Settings::default());
    let path = std::env::temp_dir().join(format!("quiclab-random-{}-{seed}.pcapng", std::process::id()));
    std::fs::write(&path, &file).unwrap();
    let mut progress = |_, _| ControlFlow::Continue(());
    let reading = read_packets(&path, &KeyLog::default(), &mut analysis, &mut progress);
    std::fs::remove_file(&path).unwrap();
    let reading = reading.unwrap();
    let capture = analysis.finish("random".to_owned(), reading, 100);
    assert!(capture.problems.is_empty(), "seed {seed}: {:?}", capture.problems);
    let mut found: Vec<Truth> = capture
        .flows
        .iter()
        .map(|flow| {
            assert_eq!(flow.acks.duplicate_share, Some(0.0), "seed {seed}: {flow:?}");
            (flow.data.packets, flow.acks.count)
        })
        .collect();
    found.sort_unstable();
    truths.sort_unstable();
    assert_eq!(found, truths, "seed {seed}: {:?}", capture.notes);
}

/// `QUICLAB_CASES` makes more of them.
#[test]
fn captures_of_random_connections() {
    let cases = std::env::var("QUICLAB_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    (0..cases).for_each(case);
}
