//! Events per CPU second of the event loop: 16 chains of source, link and sink whose ends do nothing.
//!
//! Prints `{"events": .., "cpu_seconds": ..}`. Used by `make bench`.

use quiclab_core::link::{Delay, LinkConfig, LinkInputs, Rate};
use quiclab_core::queue::{DropTail, QueueConfig};
use quiclab_core::{
    ByteCount, Counters, DataRate, Duration, Element, FlowId, Link, Node, Outputs, Packet, Port, Target,
    Time, Topology,
};
use quiclab_sim::{Simulation, Step};

const CHAINS: u32 = 16;
const INTERVAL: Duration = Duration::from_micros(500);

/// Emits a packet every half millisecond.
struct Source {
    flow: FlowId,
    next: Time,
}

impl Element for Source {
    fn receive(&mut self, _: Time, _: Port, _: Box<Packet>, _: &mut Outputs) {}
    fn wake(&mut self, now: Time, out: &mut Outputs) {
        self.next = now + INTERVAL;
        let size = ByteCount::from_bytes(1200);
        out.send(Port(0), Packet { flow: self.flow, size, created: now, ..Packet::default() });
    }
    fn next_wake(&self) -> Option<Time> {
        Some(self.next)
    }
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

/// Accepts everything.
struct Sink;

impl Element for Sink {
    fn receive(&mut self, _: Time, _: Port, _: Box<Packet>, _: &mut Outputs) {}
    fn wake(&mut self, _: Time, _: &mut Outputs) {}
    fn next_wake(&self) -> Option<Time> {
        None
    }
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

fn main() {
    let mut topology = Topology::default();
    let config = LinkConfig {
        rate: Some(Rate::Constant(DataRate::from_mbps(20))),
        queue: QueueConfig::DropTail(DropTail { packets: Some(100), ..DropTail::default() }),
        delay: Delay { mean: Duration::from_millis(10), ..Delay::default() },
        ..LinkConfig::default()
    };
    for chain in 0..CHAINS {
        let next = Time::ZERO + Duration::from_micros(u64::from(chain));
        let source = topology
            .add(format!("source{chain}"), Node::Element(Box::new(Source { flow: FlowId(chain), next })));
        let name = format!("link{chain}");
        let link = Link::new(&config, LinkInputs::default(), 1, &name);
        let link = topology.add(name, Node::Element(Box::new(link)));
        let sink = topology.add(format!("sink{chain}"), Node::Element(Box::new(Sink)));
        let wire = |to| Target { element: to, port: Port(0) };
        topology.wire(source, Port(0), None, wire(link)).expect("each output is wired once");
        topology.wire(link, Port(0), None, wire(sink)).expect("each output is wired once");
    }
    let mut simulation = Simulation::new(topology, Vec::new());
    let limit = Time::ZERO + Duration::from_secs(60);
    let start = cpu_seconds();
    while simulation.step(limit).expect("no livelock") != Step::Nothing {}
    let seconds = cpu_seconds() - start;
    println!("{{\"events\": {}, \"cpu_seconds\": {seconds}}}", simulation.events());
}

/// CPU time of this process so far, user and system.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
