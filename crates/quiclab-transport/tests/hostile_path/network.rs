//! Two endpoints and the path between them.

use crate::path::Path;
use crate::{Case, PATIENCE};
use quiclab_core::{
    Endpoint, EndpointIdentity, FiveTuple, Flags, FlowId, Outputs, Packet, Payload, Port, Protocol,
    RandomStream, Role, Segment, Time,
};
use quiclab_transport::options::EndpointConfig;
use quiclab_transport::stack::build;
use quiclab_transport::{EndpointRequest, STACKS};
use std::collections::BTreeMap;

/// Two endpoints, the server first, and packets in transit between them.
pub(crate) struct World {
    now: Time,
    pub(crate) ends: [Box<dyn Endpoint>; 2],
    path: Path,
    random: RandomStream,
    /// Packets by time and number, with their destination.
    travelling: BTreeMap<(Time, u64), (usize, Box<Packet>)>,
    sent: u64,
    /// Limit (exclusive) for each end as sender of data by the announcements of its peer that have arrived.
    allowed: [u64; 2],
    out: Outputs,
}

impl World {
    pub(crate) fn new(case: &Case) -> Self {
        let address = |last: u8, port: u16| std::net::SocketAddr::from(([10, 0, 0, last], port));
        let tuple = FiveTuple::new(Protocol::Tcp, address(1, 443), address(2, 50_000));
        let end = |role, name: &str, config: &EndpointConfig, tuple| {
            let identity = EndpointIdentity { name: name.into(), flow: FlowId(0), role, tuple, paths: 1 };
            let request = EndpointRequest::new(identity, config, &case.workload, Time::ZERO, case.number);
            build(STACKS, request)
                .unwrap_or_else(|error| panic!("case {} is refused: {error}; {case:?}", case.number))
        };
        Self {
            now: Time::ZERO,
            ends: [
                end(Role::Server, "flow.sender", &case.server, tuple),
                end(Role::Client, "flow.receiver", &case.client, tuple.reverse()),
            ],
            path: case.path,
            random: RandomStream::new(case.number, "path"),
            travelling: BTreeMap::new(),
            sent: 0,
            allowed: [0; 2],
            out: Outputs::default(),
        }
    }

    /// Runs until no event is left.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        let mut calls_now = 0;
        loop {
            let arrival = self.travelling.first_key_value().map(|((time, _), _)| *time);
            let timers = [0, 1].map(|end| self.ends[end].next_wake());
            let Some(next) = [arrival, timers[0], timers[1]].into_iter().flatten().min() else {
                return Ok(());
            };
            if next > self.now {
                calls_now = 0;
                self.now = next;
            }
            calls_now += 1;
            if calls_now > 10_000 {
                return Err(format!("time stands still at {}", self.now));
            }
            if self.now > Time::ZERO + PATIENCE {
                return Err("the connection does not end".into());
            }
            if arrival == Some(next) {
                let (_, (end, packet)) = self.travelling.pop_first().expect("looked at");
                self.note_arrival(end, &packet);
                self.ends[end].receive(self.now, Port(0), packet, &mut self.out);
                self.send(end)?;
            } else {
                let end = usize::from(timers[0] != Some(next));
                self.ends[end].wake(self.now, &mut self.out);
                self.send(end)?;
            }
        }
    }

    /// Updates the limit of an end from a received packet.
    fn note_arrival(&mut self, end: usize, packet: &Packet) {
        let segment = segment(packet);
        if segment.flags.has(Flags::ACK) {
            let edge = segment.acknowledgement + u64::from(segment.window);
            self.allowed[end] = self.allowed[end].max(edge);
        }
    }

    fn send(&mut self, end: usize) -> Result<(), String> {
        for (_, packet) in std::mem::take(&mut self.out.packets) {
            self.check(end, &packet)?;
            for arrival in self.path.arrivals(self.now, &mut self.random) {
                self.sent += 1;
                self.travelling.insert((arrival, self.sent), (1 - end, packet.clone()));
            }
        }
        Ok(())
    }

    /// Checks that sizes are exact, and data are within the peer's window (RFC 9293 section 3.8.6).
    fn check(&self, end: usize, packet: &Packet) -> Result<(), String> {
        let segment = segment(packet);
        let timestamps =
            [false, true].map(|with| 20 + segment.header_bytes(with) + u64::from(segment.length));
        if !timestamps.contains(&packet.size.bytes()) {
            return Err(format!("a packet of {} with {segment:?}", packet.size));
        }
        let data_end = segment.sequence + u64::from(segment.length);
        if segment.length > 0 && data_end > self.allowed[end] {
            return Err(format!("end {end} exceeds the window {}: {segment:?}", self.allowed[end]));
        }
        Ok(())
    }
}

fn segment(packet: &Packet) -> &Segment {
    match &packet.payload {
        Payload::Segment(segment) => segment,
        other => panic!("lab-tcp sends segments, not {other:?}"),
    }
}
