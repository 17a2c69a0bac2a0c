//! Cost of tracing: nanoseconds per qlog event and per captured packet, written and read.
//!
//! `cargo bench -p quiclab-trace` prints one JSON object; each figure is the median of five rounds.
//! The output goes to a sink: formatting is measured, not the disk.

use bytes::BytesMut;
use quiclab_core::{
    ByteCount, FiveTuple, Packet, PacketSpace, Payload, Protocol, RecoveryState, Role, Time, TransportEvent,
    TransportObserver,
};
use quiclab_trace::packets::{Flow, KeyLog, ObservedPacket, Sink, read_capture};
use quiclab_trace::pcapng::{Heading, PcapngWriter};
use quiclab_trace::qlog::{QlogTrace, QlogWriter};
use std::hint::black_box;
use std::io;
use std::ops::ControlFlow;
use std::time::Instant;

const CALLS: u64 = 1_000_000;
/// 1-RTT header: 8-byte connection ID, 2-byte packet number.
const HEADER: [u8; 11] = [0x41, 1, 2, 3, 4, 5, 6, 7, 8, 0x12, 0x34];
/// UDP payload of a full packet.
const UDP_PAYLOAD_BYTES: usize = 1280;

/// Nanoseconds per call, median of five rounds.
fn median(mut call: impl FnMut(u64)) -> u64 {
    let mut rounds = [0; 5].map(|_: u64| {
        let start = Instant::now();
        for index in 0..CALLS {
            call(index);
        }
        start.elapsed().as_nanos() as u64 / CALLS
    });
    rounds.sort_unstable();
    rounds[2]
}

/// Nanoseconds per call of `event`, which receives the number of the call.
fn qlog<'a>(event: impl Fn(u64) -> TransportEvent<'a>) -> u64 {
    let mut writer = QlogWriter::new(Box::new(io::sink()), &QlogTrace::new("bench", Role::Server));
    median(|index| writer.observe(Time::from_nanos(index * 512_345), black_box(&event(index))))
}

fn sent(number: u64, payload: &[u8]) -> TransportEvent<'_> {
    TransportEvent::PacketSent { space: PacketSpace::OneRtt, path: 0, number, header: &HEADER, payload }
}

fn capture(tuple: FiveTuple) -> u64 {
    let payload = Payload::Bytes(BytesMut::zeroed(UDP_PAYLOAD_BYTES));
    let packet = Packet { size: ByteCount::from_bytes(1308), tuple, payload, ..Packet::default() };
    let mut writer = PcapngWriter::new(io::sink(), &["sender"]).expect("a sink takes everything");
    median(|index| {
        writer
            .packet(Time::from_nanos(index), 0, black_box(&packet), Heading::Outbound)
            .expect("a sink takes everything");
    })
}

/// A sink that discards packets.
struct Nowhere(u64);

impl Sink for Nowhere {
    fn flow(&mut self, _: usize, _: &Flow) {}
    fn better_known(&mut self, _: usize, _: &Flow) {}
    fn packet(&mut self, index: usize, packet: &ObservedPacket<'_>) {
        self.0 += index as u64 + u64::from(packet.payload_bytes);
    }
}

/// A pcap file of TCP headers, of packets of eight flows in turn.
fn headers() -> Vec<u8> {
    let mut file = [&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0][..], &[0; 8], &[96, 0, 0, 0, 1, 0, 0, 0]].concat();
    let mut frame = [&[2; 12][..], &[8, 0, 0x45, 0, 5, 0xdc, 0, 0, 0, 0, 64, 6, 0, 0]].concat();
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0x80, 16, 1, 0, 0, 0, 0, 0]);
    frame.extend([1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0]);
    for number in 0..CALLS as u32 {
        let lengths = [(frame.len() as u32).to_le_bytes(), 1514_u32.to_le_bytes()].concat();
        file.extend([&number.to_le_bytes()[..], &[0; 4], &lengths].concat());
        frame[37] = number as u8 & 7;
        file.extend(&frame);
    }
    file
}

/// Nanoseconds per packet of a capture that is read, median of five rounds.
fn reading() -> u64 {
    let file = headers();
    let mut rounds = [0; 5].map(|_: u64| {
        let (keys, mut sink) = (KeyLog::default(), Nowhere(0));
        let start = Instant::now();
        let read = read_capture(&file[..], "bench", &keys, &mut sink, &mut |_| ControlFlow::Continue(()));
        let elapsed = start.elapsed().as_nanos() as u64;
        assert_eq!(read.expect("it is well formed").frames, CALLS);
        black_box(sink.0);
        elapsed / CALLS
    });
    rounds.sort_unstable();
    rounds[2]
}

fn main() {
    // STREAM frame with offset and length, up to the AEAD tag.
    let mut stream = vec![0x0e, 0x04, 0x80, 0x12, 0x34, 0x56, 0x44, 0xdc];
    stream.resize(UDP_PAYLOAD_BYTES - HEADER.len() - 16, 0xaa);
    let ack = [0x02, 0x80, 0x01, 0x23, 0x45, 0x40, 0xff, 0x00, 0x40, 0x80];
    let ack_of_ten = {
        let mut frame = vec![0x02, 0x80, 0x01, 0x23, 0x45, 0x40, 0xff, 0x09, 0x05];
        frame.extend([0x01, 0x05].repeat(9));
        frame
    };
    let v6 = "[2001:db8::1]:443".parse().expect("an address");
    let v6 = FiveTuple::new(Protocol::Udp, v6, v6);
    println!(
        "{{\"qlog_stream_packet_ns\":{},\"qlog_ack_ns\":{},\"qlog_ack_10_ranges_ns\":{},\"qlog_recovery_ns\":{},\
         \"pcapng_packet_ns\":{},\"pcapng_packet_ipv6_ns\":{},\"capture_read_ns\":{}}}",
        qlog(|number| sent(number, &stream)),
        qlog(|number| sent(number, &ack)),
        qlog(|number| sent(number, &ack_of_ten)),
        qlog(|number| TransportEvent::Recovery(RecoveryState {
            cwnd_bytes: 12_000 + number,
            in_flight_bytes: Some(number),
            srtt_ns: Some(20_000_000 + number),
            ..RecoveryState::default()
        })),
        capture(FiveTuple::default()),
        capture(v6),
        reading(),
    );
}
