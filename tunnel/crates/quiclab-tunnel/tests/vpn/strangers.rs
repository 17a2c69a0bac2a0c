//! Attacks by hosts without a key and ends with one: floods of handshakes, random datagrams, forged inner
//! addresses.

use super::lab::{Lab, until};
use super::{IPV4, SECOND};
use bytes::BytesMut;
use quiclab_carrier::{Randomness, SecretKey, TunnelEndpoint, TunnelEndpointConfig};
use quiclab_core::{FiveTuple, Packet, Payload, Protocol, Role, Time};
use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const TARGET: &str = "10.1.1.1:4433";
/// Number of its handshakes, each of which can be repeated when the server has discarded it.
const STRANGERS: u64 = 120;
/// Initial packets per second.
const RATE: f64 = 1000.0;

/// Connection IDs of a long header (RFC 9000 section 17.2): destination and source.
fn ids(packet: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let end = 6 + usize::from(packet[5]);
    let (destination, source) = (&packet[6..end], &packet[end + 1..]);
    (destination.to_vec(), source[..usize::from(packet[end])].to_vec())
}

/// A client that the server does not know, with its first packet.
fn stranger(number: u64) -> (TunnelEndpoint, Vec<u8>) {
    let [own, other] = [1, 2].map(|byte| SecretKey::from_bytes([byte; 32]));
    let randomness = Randomness::Seeded(number);
    let config =
        TunnelEndpointConfig::new(Role::Client, own, [other.public()].into_iter().collect(), randomness);
    let mut endpoint = TunnelEndpoint::new(config).unwrap();
    let local: SocketAddr = ([10, 1, 1, 2], 1).into();
    endpoint.connect(Time::ZERO, &[(local, TARGET.parse().unwrap())]).unwrap();
    let first = next(&mut endpoint).unwrap();
    (endpoint, first)
}

fn next(endpoint: &mut TunnelEndpoint) -> Option<Vec<u8>> {
    match endpoint.transmit(Time::ZERO)?.packet.payload {
        Payload::Bytes(bytes) => Some(bytes.to_vec()),
        _ => None,
    }
}

/// A host that begins handshakes and never continues them. It owns its source address: it answers only Retry packets.
pub(super) struct Flood {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
}

impl Flood {
    pub(super) fn start(lab: &Lab) -> Self {
        let flood = Self { stop: Arc::default(), sent: Arc::default() };
        let (stop, sent) = (flood.stop.clone(), flood.sent.clone());
        let mut strangers: Vec<_> = (0..STRANGERS).map(stranger).collect();
        let (ready, is_ready) = std::sync::mpsc::channel();
        drop(lab.within('c', move || {
            let socket = UdpSocket::bind("10.1.1.2:0").unwrap();
            socket.connect(TARGET).unwrap();
            socket.set_nonblocking(true).unwrap();
            let mut of_id: BTreeMap<_, _> =
                strangers.iter().enumerate().map(|(index, (_, first))| (ids(first).1, index)).collect();
            let (start, mut buffer) = (Instant::now(), [0; 2000]);
            while !stop.load(Ordering::Relaxed) {
                let count = sent.load(Ordering::Relaxed);
                if (count as f64) < start.elapsed().as_secs_f64() * RATE {
                    let _ = socket.send(&strangers[count as usize % strangers.len()].1);
                    sent.store(count + 1, Ordering::Relaxed);
                    if count == STRANGERS {
                        ready.send(()).unwrap();
                    }
                } else {
                    std::thread::park_timeout(Duration::from_micros(300));
                }
                while let Ok(size @ 20..) = socket.recv(&mut buffer) {
                    // Retry (RFC 9000 section 17.2.5)
                    if buffer[0] & 0xf0 != 0xf0 {
                        continue;
                    }
                    let Some(index) = of_id.remove(&ids(&buffer[..size]).0) else { continue };
                    let (endpoint, first) = &mut strangers[index];
                    let tuple =
                        FiveTuple::new(Protocol::Udp, TARGET.parse().unwrap(), ([10, 1, 1, 2], 1).into());
                    let payload = Payload::Bytes(BytesMut::from(&buffer[..size]));
                    endpoint.receive(Time::ZERO, Packet { tuple, payload, ..Packet::default() });
                    if let Some(again) = next(endpoint) {
                        *first = again;
                    }
                }
            }
        }));
        is_ready.recv().unwrap();
        flood
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_host_that_floods_with_handshakes_does_not_delay_others() {
    let Some(mut lab) = Lab::new() else { return };
    lab.add_client();
    let peer =
        format!("[[server.peers]]\nname = \"other\"\npublic_key = \"{}\"\n[[server.peers]]", lab.keys[2]);
    lab.edit("server.toml", "[[server.peers]]", &peer);
    lab.start('s');
    until("the server is up", || lab.status('s')["role"] == "server");
    let mut connect = || {
        lab.start('d');
        let took = until("session", || lab.has_session('d'));
        lab.down('d');
        until("it is forgotten", || lab.status('s')["sessions"].as_array().is_some_and(Vec::is_empty));
        took
    };
    let quiet = connect();
    let flood = Flood::start(&lab);
    let mut took = Vec::new();
    for _ in 0..5 {
        lab.start('d');
        took.push(until("session", || lab.has_session('d')));
        lab.down('d');
    }
    let sent = flood.sent.load(Ordering::Relaxed);
    drop(flood);
    eprintln!(
        "connected in {quiet:?} before, in {took:?} with {sent} Initials; {}",
        lab.status('s')["values"]
    );
    // an attempt without an answer ends after 3 s, and the next one comes later: most had their session by the first, as a busy
    // machine may stop any of them for longer
    let first = took.iter().filter(|took| **took < quiet + 3 * SECOND).count();
    assert!(2 * first > took.len(), "{took:?}");
}

/// Bytes received from the server within some time.
fn answers(lab: &Lab, datagrams: Vec<Vec<u8>>, wait: Duration) -> usize {
    let task = move || {
        let socket = UdpSocket::bind("10.1.1.2:0").unwrap();
        socket.connect(TARGET).unwrap();
        socket.set_read_timeout(Some(wait)).unwrap();
        for datagram in &datagrams {
            let _ = socket.send(datagram);
        }
        let (start, mut bytes, mut buffer) = (Instant::now(), 0, [0; 2000]);
        while start.elapsed() < wait {
            bytes += socket.recv(&mut buffer).unwrap_or(0);
        }
        bytes
    };
    lab.within('c', task).join().unwrap()
}

#[test]
fn what_is_no_packet_of_this_tunnel_is_answered_with_nothing() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start('s');
    until("the server is up", || lab.status('s')["role"] == "server");
    let mut state = 1_u64;
    let mut random = |length: usize| -> Vec<u8> {
        let step = |_| {
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        };
        (0..length).map(step).collect()
    };
    let mut datagrams = Vec::new();
    for length in [1, 7, 21, 40, 100, 500, 1200, 1400] {
        for first in [0x00, 0x40, 0x7f, 0x80, 0xc0, 0xff] {
            let mut datagram = random(length);
            datagram[0] = first;
            datagrams.push(datagram);
        }
        // an unknown version, with connection IDs of no bytes: the shortest packet of QUIC (RFC 8999 section 5.1)
        let mut datagram = vec![0; length.max(7)];
        datagram[..5].copy_from_slice(&[0xc0, 0x1a, 0x2a, 0x3a, 0x4a]);
        datagrams.push(datagram);
    }
    let sent = datagrams.len() as f64;
    let received = |lab: &Lab| lab.status('s')["values"]["udp_received_packets_total"].as_f64().unwrap();
    let before = received(&lab);
    assert_eq!(answers(&lab, datagrams, SECOND), 0);
    until("all of them have arrived", || received(&lab) - before == sent);
}

#[test]
fn an_address_that_is_not_validated_gets_no_more_than_it_has_sent() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start('s');
    until("the server is up", || lab.status('s')["role"] == "server");
    let (_, first) = stranger(7);
    let size = first.len();
    // longer than the server waits for the rest of a handshake
    let back = answers(&lab, vec![first], 4 * SECOND);
    eprintln!("{back} bytes for {size}");
    assert!(back > 0 && back <= size, "{back} bytes for {size}");
    // many of them: less, because most get a Retry or no answer
    let many: Vec<_> = (100..200).map(|number| stranger(number).1).collect();
    let sent: usize = many.iter().map(Vec::len).sum();
    let back = answers(&lab, many, 4 * SECOND);
    eprintln!("{back} bytes for {sent}; {}", lab.status('s')["values"]);
    assert!(back * 4 < sent, "{back} bytes for {sent}");
}

fn count(lab: &Lab, host: char, name: &str) -> f64 {
    lab.status(host)["sessions"][0]["values"][name].as_f64().unwrap_or(f64::NAN)
}

fn send(lab: &Lab, host: char, from: &'static str, to: &'static str) {
    let task = move || UdpSocket::bind(from).unwrap().send_to(b"x", to).unwrap();
    lab.within(host, task).join().unwrap();
}

#[test]
fn a_client_takes_packets_for_itself_and_its_networks_only() {
    let Some(mut lab) = Lab::new() else { return };
    lab.edit("server.toml", "name = \"laptop\"", "name = \"laptop\"\nnetworks = [\"10.88.0.0/16\"]");
    lab.start_both();
    lab.echo('s', IPV4);
    until("an answer", || lab.ping(IPV4, SECOND).is_some());
    send(&lab, 's', "10.77.0.1:0", "10.88.0.1:9");
    until("it is dropped", || count(&lab, 'c', "misdirected_packets") == 1.0);
    // an address of another interface, which the server would drop
    send(&lab, 'c', "10.1.1.2:0", "10.77.0.1:9");
    until("it is dropped", || count(&lab, 'c', "foreign_packets") == 1.0);
    assert_eq!(count(&lab, 's', "spoofed_packets"), 0.0);
    lab.down('c');
    // a network behind the client
    lab.edit("client.toml", "[client]", "[client]\nnetworks = [\"10.88.0.0/16\"]");
    lab.ip('c', "addr add 10.88.0.1/32 dev lo");
    lab.start('c');
    until("session", || lab.is_open());
    let socket = lab.socket('c', "10.88.0.1:9");
    let heard = std::thread::spawn(move || {
        socket.set_read_timeout(Some(10 * SECOND)).unwrap();
        let (_, from) = socket.recv_from(&mut [0; 8]).unwrap();
        socket.send_to(b"x", from).unwrap();
    });
    let task = || {
        let socket = UdpSocket::bind("10.77.0.1:0").unwrap();
        socket.set_read_timeout(Some(10 * SECOND)).unwrap();
        socket.send_to(b"x", "10.88.0.1:9").unwrap();
        socket.recv(&mut [0; 8]).is_ok()
    };
    assert!(lab.within('s', task).join().unwrap(), "an answer from the network behind the client");
    heard.join().unwrap();
}
