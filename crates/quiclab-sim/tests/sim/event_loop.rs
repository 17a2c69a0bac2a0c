//! The event loop with minimal elements: order of equal times, livelock, open outputs, determinism.

use quiclab_core::Selector;
use quiclab_core::{
    ByteCount, Counters, Direction, Duration, Element, FlowId, Node, Outputs, Packet, Port, Target, Time,
    Topology,
};
use quiclab_sim::{Simulation, SimulationError, Step};
use std::sync::{Arc, Mutex};

type Journal = Arc<Mutex<Vec<(u64, &'static str)>>>;

/// Records its wakes and the packets that it receives.
struct Clock {
    name: &'static str,
    deadlines: Vec<Time>,
    emit: usize,
    journal: Journal,
}

impl Element for Clock {
    fn receive(&mut self, now: Time, _: Port, _: Box<Packet>, _: &mut Outputs) {
        self.journal.lock().unwrap().push((now.as_nanos(), "arrival"));
    }
    fn wake(&mut self, now: Time, out: &mut Outputs) {
        self.journal.lock().unwrap().push((now.as_nanos(), self.name));
        self.deadlines.remove(0);
        for _ in 0..self.emit {
            out.send(Port(0), Packet { size: ByteCount::from_bytes(100), ..Packet::default() });
        }
    }
    fn next_wake(&self) -> Option<Time> {
        self.deadlines.first().copied()
    }
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

/// Returns received packets, after a delay or immediately.
struct Echo {
    delay: Duration,
    held: Vec<(Time, Box<Packet>)>,
}

impl Element for Echo {
    fn receive(&mut self, now: Time, _: Port, packet: Box<Packet>, out: &mut Outputs) {
        if self.delay == Duration::ZERO {
            out.send(Port(0), packet);
        } else {
            self.held.push((now + self.delay, packet));
        }
    }
    fn wake(&mut self, _: Time, out: &mut Outputs) {
        out.send(Port(0), self.held.remove(0).1);
    }
    fn next_wake(&self) -> Option<Time> {
        self.held.first().map(|(time, _)| *time)
    }
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

fn clock(name: &'static str, at_ns: &[u64], emit: usize, journal: &Journal) -> Node {
    let deadlines = at_ns.iter().map(|&at| Time::from_nanos(at)).collect();
    Node::Element(Box::new(Clock { name, deadlines, emit, journal: journal.clone() }))
}

fn echo(delay: Duration) -> Node {
    Node::Element(Box::new(Echo { delay, held: Vec::new() }))
}

fn run(simulation: &mut Simulation) -> Result<(), SimulationError> {
    while simulation.step(Time::from_nanos(1_000_000))? != Step::Nothing {}
    Ok(())
}

#[test]
fn equal_times_happen_in_the_order_of_scheduling() {
    let journal = Journal::default();
    let mut topology = Topology::default();
    let first = topology.add("first", clock("first", &[5], 1, &journal));
    topology.add("second", clock("second", &[5, 7], 0, &journal));
    let sink = topology.add("sink", clock("sink", &[], 0, &journal));
    topology.wire(first, Port(0), None, Target { element: sink, port: Port(0) }).unwrap();
    run(&mut Simulation::new(topology, Vec::new())).unwrap();
    // `second` was armed before the packet of `first` was sent, so it precedes its arrival
    assert_eq!(*journal.lock().unwrap(), [(5, "first"), (5, "second"), (5, "arrival"), (7, "second")]);
}

#[test]
fn a_loop_without_delay_is_declared_a_livelock_and_named() {
    let mut topology = Topology::default();
    let start = topology.add("start", clock("start", &[5], 1, &Journal::default()));
    let echo_a = topology.add("mirror", echo(Duration::ZERO));
    topology.wire(start, Port(0), None, Target { element: echo_a, port: Port(0) }).unwrap();
    topology.wire(echo_a, Port(0), None, Target { element: echo_a, port: Port(0) }).unwrap();
    let mut simulation = Simulation::new(topology, Vec::new());
    simulation.set_livelock_events(1000);
    let error = run(&mut simulation).unwrap_err();
    assert!(matches!(&error, SimulationError::Livelock { element, .. } if element == "mirror"), "{error}");
    assert!(error.to_string().contains("mirror"));
}

#[test]
fn a_packet_at_an_open_output_is_an_error_with_its_place() {
    let mut topology = Topology::default();
    topology.add("start", clock("start", &[5], 1, &Journal::default()));
    let error = run(&mut Simulation::new(topology, Vec::new())).unwrap_err();
    assert_eq!(error, SimulationError::OpenOutput { element: "start".into(), port: 0, flow: 0 });
}

#[test]
fn packets_follow_the_wire_of_their_flow_and_direction() {
    let mut topology = Topology::default();
    let target = |port| Target { element: 0, port: Port(port) };
    let shared = topology.add("shared", echo(Duration::ZERO));
    topology.wire(shared, Port(0), Some(Selector::of(FlowId(1), Direction::Down)), target(3)).unwrap();
    topology.wire(shared, Port(0), Some(Selector::of(FlowId(1), Direction::Up)), target(4)).unwrap();
    let packet = |flow, direction| Packet { flow: FlowId(flow), direction, ..Packet::default() };
    assert_eq!(topology.next_hop(shared, Port(0), &packet(1, Direction::Down)), Some(target(3)));
    assert_eq!(topology.next_hop(shared, Port(0), &packet(1, Direction::Up)), Some(target(4)));
    assert_eq!(topology.next_hop(shared, Port(0), &packet(0, Direction::Down)), None);
    assert_eq!(topology.next_hop(shared, Port(1), &packet(1, Direction::Down)), None);
    assert!(topology.wire(shared, Port(0), None, target(5)).is_err(), "one output, two meanings");
    assert!(topology.wire(shared, Port(0), Some(Selector::of(FlowId(1), Direction::Up)), target(5)).is_err());
}

#[test]
fn nothing_happens_after_the_limit() {
    let journal = Journal::default();
    let mut topology = Topology::default();
    topology.add("clock", clock("clock", &[5, 9, 11], 0, &journal));
    let mut simulation = Simulation::new(topology, Vec::new());
    while simulation.step(Time::from_nanos(9)).unwrap() != Step::Nothing {}
    assert_eq!(*journal.lock().unwrap(), [(5, "clock"), (9, "clock")]);
    assert_eq!(simulation.next_event(), Some(Time::from_nanos(11)));
}
