//! A TUN device as an endpoint of the topology: packets of a namespace enter and leave the elements through
//! it.

use crate::ip;
use crate::timing::{Lateness, MachineClock};
use bytes::BytesMut;
use quiclab_core::ip::set_ecn;
use quiclab_core::{
    ByteCount, Counters, Direction, Element, Endpoint, EndpointIdentity, FlowId, Metrics, Outputs, Packet,
    Payload, Port, Progress, Time,
};
use quiclab_sim::DEVICE;
use quiclab_sim::Simulation;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use tun_rs::SyncDevice;

/// Maximum number of packets read at once, so that a busy sender does not delay the others.
const BATCH: usize = 64;
/// Buffer for the largest IP packet of a host: its devices fragment larger ones.
const MAX_PACKET_BYTES: usize = 2048;
/// Size of the blocks that packets are cut from, to avoid an allocation per packet.
const BLOCK_BYTES: usize = 1 << 18;

/// One end of a flow.
pub struct Device {
    tun: Arc<SyncDevice>,
    clock: MachineClock,
    flow: FlowId,
    direction: Direction,
    /// Number of the next packet.
    next_id: u64,
    counters: Counters,
    progress: Progress,
    /// Bytes above TCP or UDP that left the elements here: only the program knows their application data.
    payload: ByteCount,
    failure: Option<String>,
    /// Remainder of the current block.
    block: BytesMut,
    /// Number of packets whose transmission into the device failed.
    refused: u64,
    /// Number of packets that are not IP.
    foreign: u64,
    lateness: Lateness,
}

impl Device {
    /// Creates the end `identity` at a non-blocking device.
    #[must_use]
    pub fn new(identity: &EndpointIdentity, tun: Arc<SyncDevice>, clock: MachineClock) -> Self {
        Self {
            tun,
            clock,
            flow: identity.flow,
            direction: identity.role.direction(),
            next_id: identity.first_packet_id(),
            counters: Counters::default(),
            progress: Progress::default(),
            payload: ByteCount::ZERO,
            failure: None,
            block: BytesMut::zeroed(BLOCK_BYTES),
            refused: 0,
            foreign: 0,
            lateness: Lateness::default(),
        }
    }

    /// Records that its program has started.
    pub fn started(&mut self, now: Time) {
        self.progress.started.get_or_insert(now);
    }

    /// Records that its program has ended, with an error if `failure` has a message.
    pub fn ended(&mut self, now: Time, failure: Option<String>) {
        if let Some(failure) = failure {
            self.progress.failed = true;
            self.failure = Some(failure);
        } else {
            self.progress.finished.get_or_insert(now);
        }
    }

    /// Bytes above TCP or UDP sent to its programs, retransmissions and headers of QUIC included.
    #[must_use]
    pub fn payload(&self) -> ByteCount {
        self.payload
    }

    /// Lateness of the packets that left the elements.
    #[must_use]
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// Numbers of packets that the device did not accept, and of packets of other protocols.
    #[must_use]
    pub fn lost(&self) -> (u64, u64) {
        (self.refused, self.foreign)
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}

impl Element for Device {
    /// Passes a packet from the elements to the namespace.
    fn receive(&mut self, now: Time, _port: Port, packet: Box<Packet>, _out: &mut Outputs) {
        self.counters.received.add(packet.size);
        self.counters.consumed.add(packet.size);
        let Payload::Ip(mut bytes) = packet.payload else {
            unreachable!("all endpoints of a live run are devices")
        };
        let header = ip::parse(&bytes);
        if header.is_some_and(|header| header.ecn != packet.ecn) {
            set_ecn(&mut bytes, packet.ecn);
        }
        self.payload += ByteCount::from_bytes(header.map_or(0, |header| header.payload_bytes as u64));
        if self.tun.send(&bytes).is_err() {
            self.refused += 1;
        }
        self.lateness.add(self.clock.by_now(now).since(now));
    }

    /// Reads the packets that wait in the device.
    fn wake(&mut self, now: Time, out: &mut Outputs) {
        for _ in 0..BATCH {
            if self.block.len() < MAX_PACKET_BYTES {
                self.block = BytesMut::zeroed(BLOCK_BYTES);
            }
            let length = match self.tun.recv(&mut self.block) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let Some(header) = ip::parse(&self.block[..length]) else {
                self.foreign += 1;
                continue;
            };
            if header.tuple.destination().ip().is_multicast() {
                // router solicitations and similar packets of the kernel itself
                self.foreign += 1;
                continue;
            }
            let size = ByteCount::from_bytes(length as u64);
            self.counters.created.add(size);
            self.counters.sent.add(size);
            let packet = Packet {
                id: self.next_id,
                flow: self.flow,
                direction: self.direction,
                size,
                tuple: header.tuple,
                ecn: header.ecn,
                created: now,
                payload: Payload::Ip(self.block.split_to(length)),
                ..Packet::default()
            };
            self.next_id += 1;
            out.send(Port(0), packet);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        out.count(&DEVICE.packets_sent, self.counters.sent.packets);
        out.count(&DEVICE.packets_received, self.counters.received.packets);
        out.count(&DEVICE.payload_bytes_received, self.payload.bytes());
        out.count(&DEVICE.packets_refused, self.refused);
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        out.count(&DEVICE.sent_bytes, self.counters.sent.bytes);
        out.count(&DEVICE.received_bytes, self.counters.received.bytes);
        out.count(&DEVICE.payload_bytes_received, self.payload.bytes());
    }
}

impl Endpoint for Device {
    fn progress(&self) -> Progress {
        self.progress
    }
    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

/// Returns the device of an end.
///
/// # Panics
/// If the element is not a device.
pub fn device(simulation: &mut Simulation, element: usize) -> &mut Device {
    simulation.topology_mut().get_mut(element).expect("ends of flows are devices")
}
