//! Reading the packets of a qlog of any length takes the memory of a record. One test, because it counts what the
//! whole process allocates.

#[path = "support/memory.rs"]
mod memory;

use flate2::Compression;
use flate2::write::GzEncoder;
use memory::{Generated, RECORD_BYTES, most_held, records};
use quiclab_trace::packets::{Content, Flow, KeyLog, ObservedPacket, Reading, Sink, read_packets, read_qlog};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

/// Adds up.
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
    // zeros of packets compress to a small part, so this is a bomb of a kind, too
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packets_memory.qlog.gz");
    let mut out = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
    std::io::copy(&mut Generated::new(records, true), &mut out).unwrap();
    out.finish().unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < records * RECORD_BYTES / 5);
    check("gzip", &mut |sums| {
        read_packets(&path, &KeyLog::default(), sums, &mut |_, _| ControlFlow::Continue(())).unwrap()
    });
}
