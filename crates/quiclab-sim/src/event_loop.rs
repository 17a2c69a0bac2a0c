//! The event loop: one queue of packets that arrive now, and one winner tree of deadlines.
//!
//! Wires take no time: packets emitted by an element arrive at the next element at the same instant. All
//! events at one instant occur in the order in which they were scheduled.

use crate::deadlines::Deadlines;
use crate::digest::Digest;
use crate::packet_log::{Event, PacketLog, Record};
use quiclab_core::{Outputs, Packet, PacketObserver, Port, Target, Time, Topology};
use std::collections::VecDeque;
use thiserror::Error;

/// Events at one instant after which a run is considered stuck. A burst of a whole reordering
/// buffer through a dozen elements stays far below it.
pub const LIVELOCK_EVENTS: u64 = 10_000_000;

/// Reason why a run cannot continue.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SimulationError {
    /// Virtual time does not advance.
    #[error(
        "livelock: {events} events at {time} without progress of time; element `{element}` generated most of the recent events"
    )]
    Livelock {
        /// The instant.
        time: Time,
        /// Events at it.
        events: u64,
        /// The element.
        element: String,
    },
    /// A packet left at an output that is not connected.
    #[error("output {port} of `{element}` leads nowhere, but a packet of flow {flow} left it")]
    OpenOutput {
        /// Name of the element.
        element: String,
        /// Number of the output.
        port: u16,
        /// Number of the flow.
        flow: u32,
    },
}

/// A packet in transit over a wire.
struct Arrival {
    sequence: u64,
    target: Target,
    packet: Box<Packet>,
}

/// Result of [`Simulation::step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An event of this element was handled.
    Handled(usize),
    /// The next event is after the limit, or there is none.
    Nothing,
}

/// A topology in virtual time.
pub struct Simulation {
    topology: Topology,
    now: Time,
    sequence: u64,
    deadlines: Deadlines,
    ready: VecDeque<Arrival>,
    outputs: Outputs,
    events: u64,
    /// Number of events at `now` so far.
    events_now: u64,
    /// Number of events by element, counted only in the second half before a livelock is declared.
    suspects: Vec<u64>,
    livelock_events: u64,
    pub(crate) digest: Digest,
    pub(crate) log: Option<PacketLog>,
    observers: Vec<Box<dyn PacketObserver>>,
}

impl Simulation {
    /// Creates a simulation of `topology` at time 0. Elements are queried for their first deadlines.
    #[must_use]
    pub fn new(topology: Topology, observers: Vec<Box<dyn PacketObserver>>) -> Self {
        let elements = topology.len();
        let mut simulation = Self {
            topology,
            now: Time::ZERO,
            sequence: 0,
            deadlines: Deadlines::new(elements),
            ready: VecDeque::new(),
            outputs: Outputs { record_drops: !observers.is_empty(), ..Outputs::default() },
            events: 0,
            events_now: 0,
            suspects: Vec::new(),
            livelock_events: LIVELOCK_EVENTS,
            digest: Digest::new(),
            log: None,
            observers,
        };
        for element in 0..elements {
            simulation.rearm(element, false);
        }
        simulation
    }

    /// Declares a livelock after `events` events at one instant instead of [`LIVELOCK_EVENTS`].
    pub fn set_livelock_events(&mut self, events: u64) {
        self.livelock_events = events;
    }

    /// Also passes every arrival, departure and drop to `log`.
    pub(crate) fn keep_records(&mut self, log: PacketLog) {
        self.outputs.record_drops = true;
        self.log = Some(log);
    }

    /// Keeps a record of every arrival, departure and drop.
    pub fn keep_all_records(&mut self) {
        self.keep_records(PacketLog::new(0..u64::MAX));
    }

    /// Time of the last event.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }
    /// Number of events handled: arrivals and wakes.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }
    /// The elements.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }
    /// Mutable access to the elements, for sampling.
    pub fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }

    /// Time of the next event.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        if self.ready.is_empty() { self.deadlines.first().map(|((time, _), _)| time) } else { Some(self.now) }
    }

    /// Handles the next event if it is due at `limit` or before.
    ///
    /// # Errors
    /// If time does not advance, or a packet leaves at an output that is not connected.
    #[inline]
    pub fn step(&mut self, limit: Time) -> Result<Step, SimulationError> {
        let mut fired = false;
        let element = match (self.ready.front(), self.deadlines.first()) {
            (None, None) => return Ok(Step::Nothing),
            (Some(arrival), deadline)
                if deadline.is_none_or(|(key, _)| (self.now, arrival.sequence) < key) =>
            {
                let Arrival { target, packet, .. } = self.ready.pop_front().expect("front was there");
                self.count(target.element)?;
                self.note(Event::Arrival, target.element, target.port, &packet);
                let element = self.topology.node_mut(target.element);
                element.receive(self.now, target.port, packet, &mut self.outputs);
                target.element
            }
            (_, Some(((time, _), element))) => {
                if time > limit {
                    return Ok(Step::Nothing);
                }
                if time > self.now {
                    self.now = time;
                    self.events_now = 0;
                }
                self.count(element)?;
                fired = true;
                self.topology.node_mut(element).wake(self.now, &mut self.outputs);
                element
            }
            (Some(_), None) => unreachable!("an arrival without any deadline is taken by the first arm"),
        };
        self.forward(element)?;
        self.rearm(element, fired);
        Ok(Step::Handled(element))
    }

    /// Wakes `element` at `now` although it has not requested it: a driver knows of a pending input outside,
    /// such as a packet in a device.
    ///
    /// # Errors
    /// As [`Simulation::step`].
    ///
    /// # Panics
    /// If an event before `now` has not been handled: time would go backwards.
    pub fn force_wake(&mut self, element: usize, now: Time) -> Result<(), SimulationError> {
        assert!(
            self.now <= now && self.next_event().is_none_or(|due| due >= now),
            "events before {now} come first"
        );
        if now > self.now {
            self.now = now;
            self.events_now = 0;
        }
        self.count(element)?;
        self.topology.node_mut(element).wake(now, &mut self.outputs);
        self.forward(element)?;
        self.rearm(element, false);
        Ok(())
    }

    /// Sends the packets emitted by `element` over its wires.
    #[inline]
    fn forward(&mut self, element: usize) -> Result<(), SimulationError> {
        if !self.outputs.packets.is_empty() {
            self.forward_packets(element)?;
        }
        if !self.outputs.drops.is_empty() {
            self.report_drops(element);
        }
        Ok(())
    }

    fn forward_packets(&mut self, element: usize) -> Result<(), SimulationError> {
        let mut packets = std::mem::take(&mut self.outputs.packets);
        for (port, packet) in packets.drain(..) {
            self.note(Event::Departure, element, port, &packet);
            let Some(target) = self.topology.next_hop(element, port, &packet) else {
                return Err(SimulationError::OpenOutput {
                    element: self.topology.name(element).to_owned(),
                    port: port.0,
                    flow: packet.flow.0,
                });
            };
            self.ready.push_back(Arrival { sequence: self.sequence, target, packet });
            self.sequence += 1;
        }
        self.outputs.packets = packets; // keeps its memory
        Ok(())
    }

    fn report_drops(&mut self, element: usize) {
        for (reason, packet) in self.outputs.drops.drain(..) {
            if let Some(log) = &mut self.log {
                let record = Record::new(self.now, element, Port(reason as u16), Event::Drop, &packet);
                log.add(record);
            }
            for observer in &mut self.observers {
                observer.discard(self.now, element, reason, &packet);
            }
        }
    }

    #[inline]
    fn rearm(&mut self, element: usize, fired: bool) {
        // a deadline in the past would make time go backwards: it is due now
        let due = self.topology.node(element).next_wake().map(|time| time.max(self.now));
        self.sequence += u64::from(self.deadlines.set(element, due, self.sequence, fired));
    }

    #[inline]
    fn note(&mut self, event: Event, element: usize, port: Port, packet: &Packet) {
        let record = Record::new(self.now, element, port, event, packet);
        if let Some(log) = &mut self.log {
            log.add(record);
        }
        self.digest.add(&record);
        for observer in &mut self.observers {
            match event {
                Event::Arrival => observer.arrival(self.now, element, port, packet),
                Event::Departure => observer.departure(self.now, element, port, packet),
                Event::Drop => unreachable!("drops are reported by `forward`"),
            }
        }
    }

    #[inline]
    fn count(&mut self, element: usize) -> Result<(), SimulationError> {
        self.events += 1;
        self.events_now += 1;
        if self.events_now > self.livelock_events / 2 { self.suspect(element) } else { Ok(()) }
    }

    /// Counts events by element once an instant has become suspiciously long.
    #[cold]
    fn suspect(&mut self, element: usize) -> Result<(), SimulationError> {
        if self.events_now == self.livelock_events / 2 + 1 {
            self.suspects = vec![0; self.topology.len()];
        }
        self.suspects[element] += 1;
        if self.events_now < self.livelock_events {
            return Ok(());
        }
        let most = (0..self.suspects.len()).max_by_key(|&index| self.suspects[index]).unwrap_or(element);
        Err(SimulationError::Livelock {
            time: self.now,
            events: self.events_now,
            element: self.topology.name(most).to_owned(),
        })
    }
}
