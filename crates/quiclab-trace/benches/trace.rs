//! What tracing costs: nanoseconds per qlog event and per captured packet.
//!
//! `cargo bench -p quiclab-trace` prints one JSON object; each figure is the median of five rounds.
//! The output goes to a sink: formatting is measured, not the disk.

use bytes::BytesMut;
use quiclab_core::{
    ByteCount, FiveTuple, Packet, PacketSpace, Payload, Protocol, RecoveryState, Role, Time, TransportEvent,
    TransportObserver,
};
use quiclab_trace::pcapng::{Heading, PcapngWriter};
use quiclab_trace::qlog::{QlogTrace, QlogWriter};
use std::hint::black_box;
use std::io;
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

/// Nanoseconds per call of `event`, which is told the number of the call.
fn qlog<'a>(event: impl Fn(u64) -> TransportEvent<'a>) -> u64 {
    let mut writer = QlogWriter::new(Box::new(io::sink()), &QlogTrace::new("bench", Role::Server));
    median(|index| writer.observe(Time::from_nanos(index * 512_345), black_box(&event(index))))
}

fn sent(number: u64, payload: &[u8]) -> TransportEvent<'_> {
    TransportEvent::PacketSent { space: PacketSpace::OneRtt, number, header: &HEADER, payload }
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
         \"pcapng_packet_ns\":{},\"pcapng_packet_ipv6_ns\":{}}}",
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
    );
}
