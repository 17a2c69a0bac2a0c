//! The reader of captures and of key logs with arbitrary input, with and without secrets.

use super::packets::Made;
use super::{bytes, mutate};
use bolero::{TypeGenerator, produce};
use quiclab_fuzz::target;
use quiclab_trace::packets::{Flow, KeyLog, ObservedPacket, Reading, Sink, read_capture};
use std::ops::ControlFlow;

/// A capture of a connection that contains its secrets.
const QUIC: &[u8] = include_bytes!("../../../quiclab-trace/tests/data/quic.pcapng");

/// Counts packets and checks their invariants.
#[derive(Default)]
struct Counted {
    flows: usize,
    packets: u64,
}

impl Sink for Counted {
    fn flow(&mut self, index: usize, _: &Flow) {
        assert_eq!(index, self.flows);
        self.flows += 1;
    }
    fn better_known(&mut self, index: usize, _: &Flow) {
        assert!(index < self.flows);
    }
    fn packet(&mut self, index: usize, packet: &ObservedPacket<'_>) {
        assert!(index < self.flows);
        assert!(packet.payload_bytes < packet.frame_bytes);
        self.packets += 1;
    }
}

fn read(file: &[u8]) -> Option<(Reading, Counted)> {
    let mut sink = Counted::default();
    let mut progress = |read| {
        assert!(read <= file.len() as u64);
        ControlFlow::Continue(())
    };
    let reading = read_capture(file, "file", &KeyLog::default(), &mut sink, &mut progress).ok()?;
    assert!(sink.packets + reading.copies <= reading.frames);
    Some((reading, sink))
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len().next_multiple_of(4) as u32 + 12).to_le_bytes();
    let padding = &[0; 3][..body.len().next_multiple_of(4) - body.len()];
    [&kind.to_le_bytes(), &length, body, padding, &length].concat()
}

/// A pcapng file of these frames with a link type.
fn file(link: u16, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file =
        block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    file.extend(block(1, &[&link.to_le_bytes()[..], &[0; 6]].concat()));
    for frame in frames {
        let length = (frame.len() as u32).to_le_bytes();
        file.extend(block(6, &[&[0; 12][..], &length, &length, frame].concat()));
    }
    file
}

#[test]
fn captures_of_anything() {
    let magics: [&[u8]; 6] = [
        &[0xa1, 0xb2, 0xc3, 0xd4],
        &[0x4d, 0x3c, 0xb2, 0xa1],
        &[0x34, 0xcd, 0xb2, 0xa1],
        &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a],
        &[0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d],
        &[],
    ];
    target(1500, bytes(600), |rest| {
        for magic in magics {
            read(&[magic, rest].concat());
        }
        for link in [0, 1, 9, 50, 51, 100, 101, 104, 113, 138, 204, 219, 258, 276] {
            let (reading, _) =
                read(&file(link, std::slice::from_ref(rest))).expect("the file is well formed");
            assert_eq!(reading.frames, 1);
        }
    });
}

/// Headers that contain another one, as in `layers.rs` and `tunnel.rs`: Ethernet, PPP, MPLS, GRE, and tunnels in UDP.
fn around(mut inside: Vec<u8>, chain: &[(u8, u8, u8)]) -> Vec<u8> {
    for &(kind, first, second) in chain {
        let ports = [4789_u16, 8472, 4790, 6081, 2152, 1701, 4341, 37008, 3544, 4754, 6635, 51820];
        let ethernet = |kind: u16| [&[2; 12][..], &kind.to_be_bytes()].concat();
        let before = match kind % 8 {
            0 => ethernet([0x0800, 0x86dd, 0x8100, 0x8847, 0x8864, 0x88e7][usize::from(first) % 6]),
            1 => vec![first, second, 0x08, 0x00],
            2 => vec![0xff, 3, 0, 0x21],
            3 => vec![0, first, second, 64],
            4 => [8, 0, 0, 0, 0, 0, 1, 0].to_vec(),
            5 => [0x30, 255, first, second, 0, 0, 0, 0].to_vec(),
            6 => [0, first, 0x65, 0x58, second, 0, 0, 0].to_vec(),
            _ => {
                let protocol = [4, 17, 17, 17, 41, 47, 97, 137, 143, 51][usize::from(first) % 10];
                let port = ports[usize::from(second) % ports.len()];
                let mut udp = Vec::new();
                if protocol == 17 {
                    udp.extend([0xc3, 0x50]);
                    udp.extend(port.to_be_bytes());
                    udp.extend((inside.len() as u16 + 8).to_be_bytes());
                    udp.extend([0, 0]);
                }
                let length = (20 + udp.len() + inside.len()) as u16;
                let mut ip = vec![0x45, 0, 0, 0, 0, second, 0x40, 0, 64, protocol, 0, 0];
                ip[2..4].copy_from_slice(&length.to_be_bytes());
                ip.extend([10, 0, 0, 1, 10, 0, 0, 2]);
                [ip, udp].concat()
            }
        };
        inside = [before, inside].concat();
        inside.truncate(60_000);
    }
    inside
}

#[test]
fn tunnels_of_anything() {
    type Tunnels = (Made, Vec<(u8, u8, u8)>, Vec<(u16, u8, u8)>);
    target(1500, produce::<Tunnels>(), |(packet, chain, changes)| {
        let right = around(packet.bytes(), &chain[..chain.len().min(40)]);
        let spoilt = mutate(right.clone(), &changes[..changes.len().min(3)]);
        for link in [1, 9, 101, 219] {
            let (reading, seen) = read(&file(link, &[right.clone(), spoilt.clone()])).expect("well formed");
            let unread: u64 = reading.problems.iter().map(|(_, count)| count).sum();
            assert!(seen.packets + unread + reading.copies >= reading.frames, "each is given or counted");
        }
    });
}

#[derive(Clone, Debug, TypeGenerator)]
struct Capture {
    packets: Vec<Made>,
    changes: Vec<(u16, u8, u8)>,
}

#[test]
fn captures_of_packets_that_are_nearly_right() {
    target(800, produce::<Capture>(), |Capture { packets, changes }| {
        let frames: Vec<Vec<u8>> = packets.iter().take(6).map(Made::bytes).collect();
        let right = file(101, &frames);
        let (reading, seen) = read(&right).expect("the file is well formed");
        assert_eq!(reading.frames, frames.len() as u64);
        let unread: u64 = reading.problems.iter().map(|(_, count)| count).sum();
        assert_eq!(seen.packets + unread + reading.copies, reading.frames, "each is given or counted");
        read(&mutate(right, &changes[..changes.len().min(6)]));
    });
}

#[test]
fn quic_with_secrets_and_false_bytes() {
    target(150, produce::<(Vec<(u16, u8, u8)>, bool)>(), |(changes, cut)| {
        let mut changed = mutate(QUIC.to_vec(), &changes[..changes.len().min(4)]);
        if *cut {
            changed.drain(200.min(changed.len())..900.min(changed.len()));
        }
        read(&changed);
    });
}

#[test]
fn key_logs() {
    target(2000, produce::<(Vec<u8>, Vec<(u16, u8, u8)>)>(), |(anything, changes)| {
        let lines = |text: &[u8]| text.split(|&byte| byte == b'\n').count();
        let line = format!("CLIENT_TRAFFIC_SECRET_0 {:064x} {:096x}\n", anything.len(), changes.len());
        let mutated = mutate(line.repeat(2).into_bytes(), &changes[..changes.len().min(3)]);
        for text in [anything, &mutated] {
            let log = KeyLog::read(&text[..], "keys").expect("short, and in memory");
            assert!(log.connections() + log.unknown_lines() as usize <= lines(text));
        }
    });
}
