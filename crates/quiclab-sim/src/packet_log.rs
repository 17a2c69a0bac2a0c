//! Records of packets at elements: what the digest covers, and what `record.packets` keeps.

use quiclab_core::{Packet, Port, Time};
use serde::Serialize;
use std::ops::Range;

/// What happened to a packet at an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Event {
    /// It reached an input.
    Arrival = 0,
    /// It left an output.
    Departure = 1,
    /// It was discarded (not part of the digest).
    Drop = 2,
}

/// A packet at an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When.
    pub time: Time,
    /// Index of the element.
    pub element: u32,
    /// Input, output, or for drops the number of the reason.
    pub port: u16,
    /// What happened.
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

/// Keeps the records whose number (drops not counted) lies in a window.
pub(crate) struct PacketLog {
    pub(crate) window: Range<u64>,
    pub(crate) records: Vec<Record>,
}

impl PacketLog {
    pub(crate) fn add(&mut self, number: u64, record: Record) {
        if self.window.contains(&number) {
            self.records.push(record);
        }
    }
}
