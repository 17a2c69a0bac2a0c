//! The reader of packets of qlog files with arbitrary input.

use super::{bytes, mutate};
use bolero::produce;
use quiclab_fuzz::target;
use quiclab_trace::packets::{AckRange, Content, Flow, ObservedPacket, ReadError, Sink, read_qlog};

/// A file of each layout: sequence, contained with its description after the events, one record per line.
const FILES: [&str; 3] = [
    "\x1e{\"qlog_version\":\"0.3\",\"trace\":{\"vantage_point\":{\"type\":\"server\"},\"common_fields\":{\"time_format\":\"delta\",\
     \"group_id\":\"aa\"}}}\n\
     \x1e{\"time\":1.5,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7},\
     \"raw\":{\"length\":1252},\"frames\":[{\"frame_type\":\"ack\",\"acked_ranges\":[[5,9],[1]]},{\"frame_type\":\"stream\"}]}}\n",
    "{\"qlog_version\":\"draft-01\",\"traces\":[{\"events\":[[\"5\",\"transport\",\"packet_received\",\"line\",{\"packet_type\":\
     \"initial\",\"header\":{\"packet_number\":\"9\",\"packet_size\":219},\"frames\":[{\"frame_type\":\"crypto\"}]}]],\
     \"event_fields\":[\"delta_time\",\"category\",\"event\",\"trigger\",\"data\"],\"configuration\":{\"time_units\":\"us\"},\
     \"title\":\"one\"}]}",
    "{\"qlog_version\":\"0.4\",\"trace\":{}}\n\
     {\"time\":12,\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_number\":0,\"length\":1200}},\"group_id\":\"bb\"}\n",
];

/// Checks the invariants that an analysis relies on.
#[derive(Default)]
struct Checked {
    flows: usize,
}

impl Sink for Checked {
    fn flow(&mut self, index: usize, _: &Flow) {
        assert_eq!(index, self.flows, "flows are numbered as they come");
        self.flows += 1;
    }

    fn better_known(&mut self, index: usize, _: &Flow) {
        assert!(index < self.flows);
    }

    fn packet(&mut self, index: usize, seen: &ObservedPacket<'_>) {
        assert!(index < self.flows, "a flow comes before its packets");
        assert!(seen.frame_bytes >= seen.payload_bytes);
        assert!(seen.at.unsigned_abs() <= 1 << 61, "differences can be told");
        if let Content::Quic { numbers, acknowledged, .. } = seen.content {
            assert!(numbers.len() <= 1);
            let ranges = acknowledged.unwrap_or_default();
            assert!(ranges.iter().all(|range| range.numbers.start() <= range.numbers.end()));
            let ascending = |pair: &[AckRange]| {
                let [one, other] = pair else { return false };
                let apart = one.numbers.end().saturating_add(1) < *other.numbers.start();
                one.path < other.path || one.path == other.path && apart
            };
            assert!(ranges.windows(2).all(ascending), "{ranges:?}");
        }
    }
}

fn check(text: &[u8]) {
    let mut checked = Checked::default();
    match read_qlog(|| Ok(text), "x", &mut checked) {
        Ok(reading) => assert!(reading.format == "qlog" && !reading.notes.is_empty()),
        Err(ReadError::NotReadable { .. }) => assert_eq!(checked.flows, 0, "packets of what is no qlog"),
        Err(error) => panic!("{error}"),
    }
}

/// Arbitrary input.
#[test]
fn qlog_of_anything() {
    target(400, bytes(2000), |text| check(text));
}

/// Valid files with bytes replaced, inserted or removed.
#[test]
fn qlog_mutated() {
    let input = (0..FILES.len(), produce::<Vec<(u16, u8, u8)>>().with().len(0_usize..12));
    target(800, input, |(file, changes)| check(&mutate(FILES[*file].as_bytes().to_vec(), changes)));
}
