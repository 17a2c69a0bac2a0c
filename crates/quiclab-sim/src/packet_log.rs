//! Records of packets at elements: the input of the digest, and the records of `record.packets`.

use quiclab_core::{Packet, Port, Time};
use serde::Serialize;
use std::ops::Range;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Event of a packet at an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Event {
    /// The packet reached an input.
    Arrival = 0,
    /// The packet left an output.
    Departure = 1,
    /// The packet was discarded (not part of the digest).
    Drop = 2,
}

#[cfg(feature = "tables")]
impl Event {
    /// All events, in the order of their numbers.
    pub(crate) const ALL: [Self; 3] = [Self::Arrival, Self::Departure, Self::Drop];

    /// Name in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Arrival => "arrival",
            Self::Departure => "departure",
            Self::Drop => "drop",
        }
    }
}

/// A packet at an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time of the event.
    pub time: Time,
    /// Index of the element.
    pub element: u32,
    /// Number of the input or output; for drops, of the reason.
    pub port: u16,
    /// Kind of event.
    pub event: Event,
    /// 0 down, 1 up.
    pub direction: u8,
    /// Number of the flow.
    pub flow: u32,
    /// IP length.
    pub size_bytes: u64,
    /// Number of the packet.
    pub packet: u64,
}

impl Record {
    pub(crate) fn new(time: Time, element: usize, port: Port, event: Event, packet: &Packet) -> Self {
        Self {
            time,
            element: element as u32,
            port: port.0,
            event,
            direction: packet.direction as u8,
            flow: packet.flow.0,
            size_bytes: packet.size.bytes(),
            packet: packet.id,
        }
    }
}

/// Records between two checkpoints of a comparison.
pub(crate) const CHECKPOINT: u64 = 4096;

/// Keeps the records whose index is in a window, counted from 0 with drops.
pub(crate) struct PacketLog {
    window: Range<u64>,
    count: u64,
    pub(crate) records: Vec<Record>,
    comparison: Option<Comparison>,
}

/// A hash over all records by which two runs are compared. Unlike the digest it identifies elements and flows
/// by name, not by number, so that an additional element does not change the records of all others, and it
/// includes drops.
struct Comparison {
    hash: Xxh3,
    /// Hash of the name by element, and by flow.
    elements: Vec<u64>,
    flows: Vec<u64>,
    checkpoints: Vec<u128>,
}

impl PacketLog {
    pub(crate) fn new(window: Range<u64>) -> Self {
        Self { window, count: 0, records: Vec::new(), comparison: None }
    }

    /// Also hashes all records, for a comparison of runs whose elements and flows have these names.
    pub(crate) fn compare<'a>(
        &mut self,
        elements: impl Iterator<Item = &'a str>,
        flows: impl Iterator<Item = &'a str>,
    ) {
        let hashes = |name: &str| xxh3_64(name.as_bytes());
        self.comparison = Some(Comparison {
            hash: Xxh3::new(),
            elements: elements.map(hashes).collect(),
            flows: flows.map(hashes).collect(),
            checkpoints: Vec::new(),
        });
    }

    pub(crate) fn add(&mut self, record: Record) {
        if self.window.contains(&self.count) {
            self.records.push(record);
        }
        self.count += 1;
        if let Some(comparison) = &mut self.comparison {
            comparison.add(&record);
            if self.count.is_multiple_of(CHECKPOINT) {
                comparison.checkpoints.push(comparison.hash.digest128());
            }
        }
    }

    /// The hash after each [`CHECKPOINT`] records and after the last; empty without a comparison.
    pub(crate) fn into_checkpoints(self) -> Vec<u128> {
        let Some(comparison) = self.comparison else { return Vec::new() };
        let mut checkpoints = comparison.checkpoints;
        checkpoints.push(comparison.hash.digest128());
        checkpoints
    }
}

impl Comparison {
    fn add(&mut self, record: &Record) {
        let numbers = [
            record.time.as_nanos(),
            self.elements[record.element as usize],
            self.flows[record.flow as usize],
            record.size_bytes,
            u64::from(record.port) << 16 | u64::from(record.direction) << 8 | record.event as u64,
        ];
        self.hash.update(numbers.map(u64::to_le_bytes).as_flattened());
    }
}
