//! An end of a tunnel as an element: input and output 0 are for inner packets, the others for the paths, in
//! order.

use super::{Carrier, Emitted, SojournRecord, Tunnel};
use crate::counters::Counters;
use crate::element::{Element, Outputs, Port};
use crate::endpoint::{Endpoint, Progress, Role};
use crate::metric::Metrics;
use crate::packet::{Direction, FlowId, Packet};
use crate::time::Time;

/// A tunnel over its carrier.
pub struct TunnelElement {
    tunnel: Tunnel,
    carrier: Box<dyn Carrier>,
    /// Identity of the outer packets.
    flow: FlowId,
    direction: Direction,
    next_id: u64,
    emitted: Emitted,
    /// Counters without held packets, which are in the tunnel.
    counters: Counters,
}

impl TunnelElement {
    /// Creates the end with `role` of the tunnel whose packets belong to `flow`, with ids from `first_id` on.
    #[must_use]
    pub fn new(tunnel: Tunnel, carrier: Box<dyn Carrier>, flow: FlowId, role: Role, first_id: u64) -> Self {
        Self {
            tunnel,
            carrier,
            flow,
            direction: role.direction(),
            next_id: first_id,
            emitted: Emitted::default(),
            counters: Counters::default(),
        }
    }

    /// Removes and returns the records of sojourn times, for a driver that has ended its run.
    pub fn take_sojourns(&mut self) -> Vec<SojournRecord> {
        self.tunnel.take_sojourns()
    }

    fn run(&mut self, now: Time, out: &mut Outputs) {
        let before = self.tunnel.backlog();
        self.tunnel.run(now, self.carrier.as_mut(), &mut self.emitted);
        let Self { emitted, counters, .. } = self;
        let (mut gone_packets, mut gone_bytes) = (0, 0);
        for (reason, packet) in emitted.dropped.drain(..) {
            counters.dropped.add(packet.size);
            gone_packets += 1;
            gone_bytes += packet.size.bytes();
            out.discard(reason, packet);
        }
        // packets that have left the queue without a drop have become payloads
        let after = self.tunnel.backlog();
        counters.consumed.packets += before.packets - after.packets - gone_packets;
        counters.consumed.bytes += before.bytes.bytes() - after.bytes.bytes() - gone_bytes;
        for packet in emitted.inner.drain(..) {
            counters.created.add(packet.size);
            counters.sent.add(packet.size);
            out.send(Port(0), packet);
        }
        for (path, mut packet) in emitted.outer.drain(..) {
            (packet.flow, packet.direction, packet.created) = (self.flow, self.direction, now);
            packet.id = self.next_id;
            self.next_id += 1;
            counters.created.add(packet.size);
            counters.sent.add(packet.size);
            packet.path = path as u8;
            out.send(Port(path as u16 + 1), packet);
        }
    }

    /// Handles the arrival of an inner packet; immediate drops are counted.
    fn enter(&mut self, now: Time, packet: Box<Packet>, out: &mut Outputs) {
        self.tunnel.enqueue(now, packet, &mut self.emitted);
        for (reason, packet) in self.emitted.dropped.drain(..) {
            self.counters.dropped.add(packet.size);
            out.discard(reason, packet);
        }
    }
}

impl Element for TunnelElement {
    fn receive(&mut self, now: Time, port: Port, packet: Box<Packet>, out: &mut Outputs) {
        self.counters.received.add(packet.size);
        match port.0 {
            0 => self.enter(now, packet, out),
            path => {
                self.counters.consumed.add(packet.size);
                self.carrier.receive(now, usize::from(path) - 1, packet);
            }
        }
        self.run(now, out);
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        if self.carrier.next_wake().is_some_and(|due| due <= now) {
            self.carrier.wake(now);
        }
        self.run(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        [self.carrier.next_wake(), self.tunnel.next_wake()].into_iter().flatten().min()
    }

    fn counters(&self) -> Counters {
        let backlog = self.tunnel.backlog();
        let mut counters = self.counters;
        (counters.held.packets, counters.held.bytes) = (backlog.packets, backlog.bytes.bytes());
        counters
    }

    fn statistics(&mut self, now: Time, out: &mut Metrics) {
        self.tunnel.statistics(now, out);
        self.carrier.statistics(out);
    }

    fn sample(&mut self, now: Time, out: &mut Metrics) {
        self.tunnel.sample(now, self.carrier.as_ref(), out);
    }
}

/// Allows a host to contain it: it is a process like any other. It has no workload.
impl Endpoint for TunnelElement {
    fn progress(&self) -> Progress {
        Progress::default()
    }

    fn failure(&self) -> Option<&str> {
        self.carrier.failure()
    }
}
