//! The reader of captures and of key logs: what it makes of anything, with secrets and without.

use super::packets::Made;
use super::{bytes, mutate};
use bolero::{TypeGenerator, produce};
use quiclab_fuzz::target;
use quiclab_trace::packets::{Flow, KeyLog, ObservedPacket, Reading, Sink, read_capture};
use std::ops::ControlFlow;

/// A connection with its secrets inside.
const QUIC: &[u8] = include_bytes!("../../../quiclab-trace/tests/data/quic.pcapng");

/// Counts, and looks at what is promised of a packet.
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
    assert!(sink.packets <= reading.frames);
    Some((reading, sink))
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len().next_multiple_of(4) as u32 + 12).to_le_bytes();
    let padding = &[0; 3][..body.len().next_multiple_of(4) - body.len()];
    [&kind.to_le_bytes(), &length, body, padding, &length].concat()
}

/// A pcapng file of these frames, of a link type.
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
        for link in [0, 1, 101, 113, 276] {
            let (reading, _) =
                read(&file(link, std::slice::from_ref(rest))).expect("the file is well formed");
            assert_eq!(reading.frames, 1);
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
        assert_eq!(seen.packets + unread, reading.frames, "each is given or counted");
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
