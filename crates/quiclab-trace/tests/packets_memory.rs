//! Reading the packets of a qlog of any length takes the memory of a record; of a capture that of its connections, whatever
//! addresses their packets have. One test, because it counts all allocations of the process.

#[allow(dead_code, reason = "each test program uses a part")]
#[path = "support/frames.rs"]
mod frames;
#[path = "support/memory.rs"]
mod memory;

use flate2::Compression;
use flate2::write::GzEncoder;
use frames::{Layout, ipv4, pcap, udp};
use memory::{Generated, RECORD_BYTES, most_held, records};
use quiclab_trace::packets::{
    Content, Flow, KeyLog, ObservedPacket, Reading, Sink, read_capture, read_packets, read_qlog,
};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

/// A sink that sums up packets.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    flows: u64,
    packets: u64,
    payload_bytes: u64,
    numbers: u64,
    last_at: i64,
}

impl Sink for Sums {
    fn flow(&mut self, _: usize, _: &Flow) {
        self.flows += 1;
    }
    fn better_known(&mut self, _: usize, _: &Flow) {}
    fn packet(&mut self, _: usize, seen: &ObservedPacket<'_>) {
        let Content::Quic { numbers: [number], acknowledged: None, ack_eliciting: true } = seen.content
        else {
            panic!("{seen:?}")
        };
        self.packets += 1;
        self.payload_bytes += u64::from(seen.payload_bytes);
        self.numbers += number.number;
        self.last_at = seen.at;
    }
}

/// 10 MB take less than 4 MB, whatever the layout and from gzip. `QLOG_MB=300` with `--release --nocapture` shows the
/// speed of more.
#[test]
fn memory_does_not_depend_on_the_length() {
    let records = records(10);
    let expected = Sums {
        flows: 1,
        packets: records,
        payload_bytes: records * 1280,
        numbers: records * (records - 1) / 2,
        last_at: (records as i64 - 1) * 370_000,
    };
    let check = |what: &str, read: &mut dyn FnMut(&mut Sums) -> Reading| {
        let (start, mut sums) = (Instant::now(), Sums::default());
        let (reading, most) = most_held(|| read(&mut sums));
        eprintln!("{what}: {:?}, {most} bytes of memory", start.elapsed());
        assert!(most < 4 << 20, "{what}: {most} bytes of memory");
        assert_eq!((&sums, reading.frames), (&expected, records + records.div_ceil(50)), "{what}");
        assert_eq!(reading.problems.iter().count(), 0);
    };
    for contained in [true, false] {
        let open = || Ok(Generated::new(records, contained));
        check(if contained { "contained" } else { "sequence" }, &mut |sums| {
            read_qlog(open, "x", sums).unwrap()
        });
    }
    // zeros of packets compress to a small part, so this is also a kind of decompression bomb
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packets_memory.qlog.gz");
    let mut out = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
    std::io::copy(&mut Generated::new(records, true), &mut out).unwrap();
    out.finish().unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < records * RECORD_BYTES / 5);
    check("gzip", &mut |sums| {
        read_packets(&path, &KeyLog::default(), sums, &mut |_, _| ControlFlow::Continue(())).unwrap()
    });
    addresses_of_a_connection();
}

/// Counts the packets of each flow.
#[derive(Debug, Default, PartialEq)]
struct Flows(Vec<u64>);

impl Sink for Flows {
    fn flow(&mut self, _: usize, _: &Flow) {
        self.0.push(0);
    }
    fn better_known(&mut self, _: usize, _: &Flow) {}
    fn packet(&mut self, flow: usize, _: &ObservedPacket<'_>) {
        self.0[flow] += 1;
    }
}

/// A connection whose packets have a different address each: they belong to it, and not all addresses are stored.
fn addresses_of_a_connection() {
    const PACKETS: u32 = 150_000;
    let id = [0xc1; 8];
    // a Handshake packet of version 1, from the endpoint with this connection ID
    let first = [&[0xe0, 0, 0, 0, 1, 8][..], &[0x5e; 8], &[8], &id, &[30], &[0; 30]].concat();
    let mut packets = vec![ipv4(&udp(&first), 17)];
    for number in 1..PACKETS {
        let short = [&[0x40][..], &id, &number.to_be_bytes(), &[0; 17]].concat();
        let mut packet = ipv4(&udp(&short), 17);
        packet[12..16].copy_from_slice(&(0x0b00_0000 + number).to_be_bytes());
        packets.push(packet);
    }
    let file = pcap(Layout::default(), 101, &packets);
    let mut flows = Flows::default();
    let mut progress = |_| ControlFlow::Continue(());
    let (reading, most) =
        most_held(|| read_capture(&file[..], "x", &KeyLog::default(), &mut flows, &mut progress).unwrap());
    assert_eq!(flows, Flows(vec![u64::from(PACKETS)]));
    // 2^15 pairs of ends of 56 bytes, while a table of them grows: twice that, and half as much again
    assert!(most < 8 << 20, "{most} bytes of memory");
    let beyond = "QUIC packet at addresses beyond those that are remembered";
    let beyond = reading.problems.iter().find(|(kind, _)| *kind == beyond).map(|(_, count)| count);
    assert_eq!(beyond, Some(u64::from(PACKETS) - (1 << 15)));
}
