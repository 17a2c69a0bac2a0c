//! Two ends on lab-quic and a path of 10 ms each way between them, without a limit of its rate.

use quiclab_core::quic::{QuicDatagram, QuicFrame};
use quiclab_core::{
    Duration, Endpoint, EndpointIdentity, FiveTuple, FlowId, Metrics, Outputs, Packet, PacketSpace, Payload,
    Port, Protocol, Role, Time,
};
use quiclab_transport::operations::{Anchor, Hook, Operation, Operations};
use quiclab_transport::options::EndpointConfig;
use quiclab_transport::stack::build;
use quiclab_transport::{EndpointRequest, STACKS};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Round trip.
pub(crate) const RTT: Duration = Duration::from_millis(20);
pub(crate) const SERVER: usize = 0;
pub(crate) const CLIENT: usize = 1;

/// Datagram sent by an end.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) time: Time,
    pub(crate) end: usize,
    pub(crate) path: usize,
    pub(crate) datagram: QuicDatagram,
}

impl Sent {
    /// Frames of its 1-RTT packets.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &QuicFrame> {
        let packets = self.datagram.packets.iter().filter(|packet| packet.space == PacketSpace::OneRtt);
        packets.flat_map(|packet| &packet.frames)
    }

    /// Stream, offset, length, FIN of its STREAM frames.
    pub(crate) fn streams(&self) -> impl Iterator<Item = (u64, u64, u64, bool)> {
        self.frames().filter_map(|frame| match frame {
            QuicFrame::Stream { stream_id, offset, length, fin, .. } => {
                Some((*stream_id, *offset, u64::from(*length), *fin))
            }
            _ => None,
        })
    }
}

/// Fate of the nth datagram with stream data of the server: `None`: lost; otherwise its additional delay.
pub(crate) type Fate = fn(u64) -> Option<Duration>;

/// Case of a test.
pub(crate) struct Case {
    /// Options of both ends.
    pub(crate) options: Value,
    pub(crate) workload: Value,
    pub(crate) paths: usize,
    pub(crate) fate: Fate,
    pub(crate) until: Duration,
}

impl Case {
    /// Makes a case with the profile of the RFCs without pacing.
    pub(crate) fn new(workload: Value) -> Self {
        Self {
            options: json!({ "stack": "lab-quic", "pacing": { "kind": "none" } }),
            workload,
            paths: 1,
            fate: |_| Some(Duration::ZERO),
            until: Duration::from_secs(20),
        }
    }

    pub(crate) fn download(size: &str) -> Self {
        Self::new(json!({ "kind": "download", "size": size }))
    }

    /// Runs it with functions at the operations of an end.
    pub(crate) fn run(&self, end: usize, hooks: Vec<Hook>) -> World {
        let mut operations = [Operations::default(), Operations::default()];
        operations[end] = Operations::new(hooks);
        let mut world = World::new(self, operations);
        world.run(self);
        world
    }

    /// Runs it without functions.
    pub(crate) fn run_plain(&self) -> World {
        self.run(SERVER, Vec::new())
    }
}

/// Makes a function at an operation.
pub(crate) fn hook(
    operation: Operation,
    anchor: Anchor,
    mut function: impl FnMut(&[(&'static str, f64)], Option<f64>) -> Option<f64> + Send + 'static,
) -> Hook {
    Hook {
        plugin: "mine".into(),
        operation,
        anchor,
        name: "m:f".into(),
        function: Box::new(move |inputs: &[(&'static str, f64)], result: Option<f64>| {
            Ok(function(inputs, result))
        }),
    }
}

/// Replaces an operation by a number.
pub(crate) fn replaced(operation: Operation, by: f64) -> Vec<Hook> {
    vec![hook(operation, Anchor::Replace, move |_, _| Some(by))]
}

/// Value of an input by its name.
pub(crate) fn input(inputs: &[(&'static str, f64)], name: &str) -> f64 {
    inputs.iter().find(|(input, _)| *input == name).unwrap_or_else(|| panic!("no {name}")).1
}

pub(crate) struct World {
    now: Time,
    pub(crate) ends: [Box<dyn Endpoint>; 2],
    travelling: BTreeMap<(Time, u64), (usize, Box<Packet>)>,
    pub(crate) sent: Vec<Sent>,
    data: u64,
    out: Outputs,
}

impl World {
    fn new(case: &Case, operations: [Operations; 2]) -> Self {
        let config: EndpointConfig = serde_json::from_value(case.options.clone()).unwrap();
        let workload = serde_json::from_value(case.workload.clone()).unwrap();
        let address = |last: u8, port: u16| std::net::SocketAddr::from(([10, 0, 0, last], port));
        let tuple = FiveTuple::new(Protocol::Udp, address(1, 443), address(2, 50_000));
        let end = |role, name: &str, tuple, operations| {
            let identity =
                EndpointIdentity { name: name.into(), flow: FlowId(0), role, tuple, paths: case.paths };
            let request = EndpointRequest::new(identity, &config, &workload, Time::ZERO, 1);
            build(STACKS, EndpointRequest { operations, ..request }).unwrap()
        };
        let [of_server, of_client] = operations;
        Self {
            now: Time::ZERO,
            ends: [
                end(Role::Server, "f.sender", tuple, of_server),
                end(Role::Client, "f.receiver", tuple.reverse(), of_client),
            ],
            travelling: BTreeMap::new(),
            sent: Vec::new(),
            data: 0,
            out: Outputs::default(),
        }
    }

    fn run(&mut self, case: &Case) {
        let mut calls_now = 0;
        loop {
            let arrival = self.travelling.first_key_value().map(|((time, _), _)| *time);
            let timers = [0, 1].map(|end| self.ends[end].next_wake());
            let Some(next) = [arrival, timers[0], timers[1]].into_iter().flatten().min() else { return };
            if next > Time::ZERO + case.until {
                return;
            }
            calls_now = if next > self.now { 0 } else { calls_now + 1 };
            assert!(calls_now < 1000, "time stands still at {}", self.now);
            self.now = self.now.max(next);
            let end = if arrival == Some(next) {
                let (_, (end, packet)) = self.travelling.pop_first().unwrap();
                self.ends[end].receive(self.now, Port(0), packet, &mut self.out);
                end
            } else {
                let end = usize::from(timers[0] != Some(next));
                self.ends[end].wake(self.now, &mut self.out);
                end
            };
            self.take(end, case);
        }
    }

    fn take(&mut self, end: usize, case: &Case) {
        for (port, packet) in std::mem::take(&mut self.out.packets) {
            let Payload::Quic(datagram) = &packet.payload else { unreachable!("lab-quic sends QUIC") };
            let sent =
                Sent { time: self.now, end, path: usize::from(port.0), datagram: (**datagram).clone() };
            let mut fate = Some(Duration::ZERO);
            if end == SERVER && sent.streams().next().is_some() {
                fate = (case.fate)(self.data);
                self.data += 1;
            }
            self.sent.push(sent);
            let number = self.sent.len() as u64;
            if let Some(later) = fate {
                self.travelling.insert((self.now + RTT / 2 + later, number), (1 - end, packet));
            }
        }
    }

    /// Datagrams of the server with stream data.
    pub(crate) fn data(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(|sent| sent.end == SERVER && sent.streams().next().is_some())
    }

    /// Instants at which the server sent stream data, each with the number of datagrams.
    pub(crate) fn bursts(&self) -> Vec<(Time, usize)> {
        let mut bursts = BTreeMap::new();
        self.data().for_each(|sent| *bursts.entry(sent.time).or_default() += 1);
        bursts.into_iter().collect()
    }

    /// Value of the statistics of an end.
    pub(crate) fn metric(&mut self, end: usize, name: &str) -> f64 {
        let mut metrics = Metrics::default();
        self.ends[end].statistics(self.now, &mut metrics);
        metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.ends[CLIENT].progress().finished.is_some()
    }
}
