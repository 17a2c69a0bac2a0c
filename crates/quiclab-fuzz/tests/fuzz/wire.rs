//! Messages between the endpoints of a session inside QUIC: frames of the control stream, and datagrams.

use super::{bytes, mutate};
use bolero::{TypeGenerator, produce};
use bytes::{Bytes, BytesMut};
use quiclab_carrier::wire::{
    Frame, MAX_CONTROL_BYTES, MAX_FRAGMENTS, datagram, encode_datagram, encode_fragment, fragment, frame,
};
use quiclab_core::PacketMemory;
use quiclab_core::tunnel::TunnelPayload;
use quiclab_fuzz::target;

#[derive(Clone, Debug, TypeGenerator)]
enum Said {
    Hello([u8; 16], u8, u16),
    Welcome([u8; 16]),
    Message(u64, Vec<u8>),
    Received(u64),
    Path(u32, u8),
}

fn made(said: &Said) -> Frame {
    match *said {
        Said::Hello(token, path, payload) => Frame::Hello { token, path, payload },
        Said::Welcome(token) => Frame::Welcome { token },
        Said::Message(number, ref message) => {
            Frame::Message { number, message: Bytes::copy_from_slice(message) }
        }
        Said::Received(next) => Frame::Received { next },
        Said::Path(id, path) => Frame::Path { id, path },
    }
}

/// Reads a stream: whole frames, then a rest or an error.
fn read(mut stream: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Ok(Some((found, taken))) = frame(stream) {
        assert!((5..=stream.len()).contains(&taken));
        if let Frame::Message { message, .. } = &found {
            assert!(message.len() <= MAX_CONTROL_BYTES);
        }
        let mut again = BytesMut::new();
        found.encode(&mut again);
        assert_eq!(&again[..], &stream[..taken], "one encoding for each frame");
        for shorter in [0, taken / 2, taken - 1] {
            assert_eq!(frame(&stream[..shorter]), Ok(None), "a part of a frame is waited for");
        }
        frames.push(found);
        stream = &stream[taken..];
    }
    // an incomplete frame is at most as long as the longest frame
    assert!(frame(stream).is_err() || stream.len() < 4 + 1 + 8 + MAX_CONTROL_BYTES);
    frames
}

#[test]
fn frames_of_anything() {
    target(2000, bytes(300), |bytes| {
        read(bytes);
        // lengths that are not always too long
        let mut small = bytes.clone();
        small.iter_mut().take(3).for_each(|byte| *byte = 0);
        read(&small);
    });
}

#[test]
fn frames_of_a_stream() {
    target(1500, produce::<(Vec<Said>, Vec<(u16, u8, u8)>)>(), |(said, changes)| {
        let frames: Vec<Frame> = said.iter().map(made).collect();
        let mut stream = BytesMut::new();
        frames.iter().for_each(|frame| frame.encode(&mut stream));
        assert_eq!(read(&stream), frames);
        read(&mutate(stream.to_vec(), &changes[..changes.len().min(4)]));
    });
}

#[test]
fn datagrams() {
    target(3000, produce::<(u8, bool, Vec<u8>, u64, u16)>(), |(kind, zeros, rest, number, length)| {
        let mut bytes = rest.clone();
        if *zeros {
            bytes.iter_mut().skip(8).for_each(|byte| *byte = 0);
        }
        bytes.insert(0, kind % 4);
        let bytes = Bytes::from(bytes);
        if let Some(cargo) = datagram(&bytes) {
            assert_eq!(cargo.length(), rest.len());
            assert_eq!(encode_datagram(&cargo, &mut PacketMemory::default()), bytes);
        }
        if let Some(part) = fragment(&bytes) {
            assert!(part.index < part.count && usize::from(part.count) <= MAX_FRAGMENTS);
            assert_eq!(encode_fragment(part.number, part.index, part.count, &part.content), bytes);
            assert_eq!(datagram(&bytes), None, "one kind for each datagram");
        }
        let length = (length % 9000).max(8);
        for cargo in [
            TunnelPayload::Bytes(Bytes::from(rest.clone())),
            TunnelPayload::Reference { number: *number, length },
        ] {
            let sent = encode_datagram(&cargo, &mut PacketMemory::default());
            assert_eq!(sent.len(), 1 + cargo.length());
            assert_eq!(datagram(&sent), Some(cargo));
        }
    });
}
