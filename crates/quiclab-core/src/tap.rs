//! A tap: forwards packets without delay and records them.

use crate::counters::Counters;
use crate::element::{Element, Outputs, Port};
use crate::metric::Metrics;
use crate::packet::{Direction, FlowId, Packet};
use crate::time::Time;
use crate::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::metrics! {
    /// Totals of a tap.
    pub static TAP: TapMetrics = Network, "tap" {
        /// Packets that traversed it.
        packets: Counter, End;
        /// Bytes that traversed it.
        bytes: Counter, End;
    }
}

/// A point that records the packets passing it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tap")]
pub struct TapConfig {
    /// Maximum number of recorded packets; later packets are only counted.
    #[serde(default = "default_tap_packets")]
    pub keep_packets: u64,
}

fn default_tap_packets() -> u64 {
    1_000_000
}

/// Records the packets that pass from input 0 to output 0.
#[derive(Debug)]
pub struct Tap {
    keep_packets: u64,
    records: TapRecords,
    counters: Counters,
}

/// One packet that passed a tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapRecord {
    /// Time of passing.
    pub time: Time,
    /// Identity of the packet.
    pub id: u64,
    /// Flow of the packet.
    pub flow: FlowId,
    /// Direction of the packet.
    pub direction: Direction,
    /// Length of the IP packet.
    pub size: ByteCount,
}

/// Records of a tap in the order of passing, column by column: 25 bytes per packet, which exporters use
/// unchanged.
#[derive(Clone, Debug, Default)]
pub struct TapRecords {
    /// Time of passing of each packet.
    pub times: Vec<Time>,
    /// Identities of the packets.
    pub ids: Vec<u64>,
    /// Their flows.
    pub flows: Vec<FlowId>,
    /// Directions of the packets.
    pub directions: Vec<Direction>,
    /// Lengths of the IP packets in bytes.
    pub sizes_bytes: Vec<u32>,
}

impl TapRecords {
    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }
    /// Whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }
    /// The records one by one.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = TapRecord> + '_ {
        (0..self.len()).map(|index| TapRecord {
            time: self.times[index],
            id: self.ids[index],
            flow: self.flows[index],
            direction: self.directions[index],
            size: ByteCount::from_bytes(u64::from(self.sizes_bytes[index])),
        })
    }

    fn push(&mut self, time: Time, packet: &Packet) {
        self.times.push(time);
        self.ids.push(packet.id);
        self.flows.push(packet.flow);
        self.directions.push(packet.direction);
        // an IP packet has at most 64 KiB, a jumbogram less than 4 GiB
        self.sizes_bytes.push(u32::try_from(packet.size.bytes()).unwrap_or(u32::MAX));
    }
}

impl Tap {
    /// Creates a tap that keeps records as configured.
    #[must_use]
    pub fn new(config: &crate::TapConfig) -> Self {
        Self {
            keep_packets: config.keep_packets,
            records: TapRecords::default(),
            counters: Counters::default(),
        }
    }

    /// The packets that passed, up to the number to keep; later ones are only counted.
    #[must_use]
    pub fn records(&self) -> &TapRecords {
        &self.records
    }

    /// Removes and returns the records, for a driver that has ended its run.
    pub fn take_records(&mut self) -> TapRecords {
        std::mem::take(&mut self.records)
    }
}

impl Element for Tap {
    fn receive(&mut self, now: Time, port: Port, packet: Box<Packet>, out: &mut Outputs) {
        debug_assert_eq!(port, Port(0), "a tap has one input");
        // by the counter, so that later packets do not replace removed records
        if self.counters.received.packets < self.keep_packets {
            self.records.push(now, &packet);
        }
        self.counters.received.add(packet.size);
        self.counters.sent.add(packet.size);
        out.send(Port(0), packet);
    }

    fn wake(&mut self, _now: Time, _out: &mut Outputs) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        out.count(&TAP.packets, self.counters.sent.packets);
        out.count(&TAP.bytes, self.counters.sent.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(id: u64, bytes: u64) -> Box<Packet> {
        Box::new(Packet {
            id,
            flow: FlowId(7),
            direction: Direction::Up,
            size: ByteCount::from_bytes(bytes),
            encapsulation: ByteCount::from_bytes(2),
            ..Packet::default()
        })
    }

    #[test]
    fn passes_everything_at_once_and_keeps_the_first_records() {
        let mut tap = Tap::new(&crate::TapConfig { keep_packets: 2 });
        let mut out = Outputs::default();
        for id in 0..5 {
            tap.receive(Time::from_nanos(10 * id), Port(0), packet(id, 100 + id), &mut out);
            assert_eq!(tap.counters().balance(), (0, 0));
            assert_eq!(tap.next_wake(), None);
        }
        let passed: Vec<_> = out.packets.iter().map(|(port, packet)| (*port, packet.id)).collect();
        assert_eq!(passed, [0, 1, 2, 3, 4].map(|id| (Port(0), id)));
        let expected = |id| TapRecord {
            time: Time::from_nanos(10 * id),
            id,
            flow: FlowId(7),
            direction: Direction::Up,
            size: ByteCount::from_bytes(100 + id),
        };
        assert!(tap.records().iter().eq([expected(0), expected(1)]));
        let mut metrics = Metrics::default();
        tap.statistics(Time::ZERO, &mut metrics);
        assert_eq!(metrics, [("packets", 5.0), ("bytes", 510.0)]);
        assert_eq!(tap.take_records().len(), 2);
        tap.receive(Time::ZERO, Port(0), packet(5, 100), &mut out);
        assert!(tap.records().is_empty());
    }
}
