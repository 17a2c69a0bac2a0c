//! Arriving connections: one end of a flow whose connections begin over time, as one endpoint.
//!
//! An end of a connection is created on arrival and dropped when both ends are at rest, so that memory is proportional
//! to the number of open connections. Connections share the flow's routes and its host, if it has one: one machine with
//! all clients, and one with all servers. They differ in the client's address and port, which identify the connection
//! of a packet for queues and for this endpoint.
//!
//! | | real users | here |
//! | --- | --- | --- |
//! | an end at rest | keeps TIME-WAIT, or its QUIC state, for a time | is dropped as soon as its peer is at rest as well |
//! | packets for it | are answered (RST, stateless reset) | are read and answered with nothing |
//! | saved metrics, 0-RTT tickets | pass from connection to connection | each connection begins without them |
//! | a user whose download is slow | may leave | waits |

mod completion;
mod ends;
mod ports;

pub(crate) use completion::COMPLETIONS;
pub use completion::Completion;
pub(crate) use ends::Schedule;

use crate::deadlines::Deadlines;
use ends::{End, Place};
use quiclab_core::{
    Counters, Element, Endpoint, EndpointIdentity, Metrics, Outputs, Packet, Port, Progress, Role, Time,
};
use quiclab_transport::options::{EndpointConfig, Workload};
use quiclab_transport::{EndpointRequest, NativeStack};
use std::sync::Arc;

quiclab_core::metrics! {
    /// Connections at one end of a flow with arrivals.
    pub static ARRIVALS: ArrivalsMetrics = Flow, "either end of a flow with `arrivals`" {
        /// Connections that are open.
        open_connections: Gauge, Both;
        /// Maximum number of open connections.
        most_open_connections: Maximum, End;
    }
}

/// Configuration common to all connections of an end.
pub(crate) struct Common {
    /// Identity of the flow's end.
    pub(crate) identity: EndpointIdentity,
    /// Stack of the connections.
    pub(crate) stack: &'static dyn NativeStack,
    /// Resolved options of the stack.
    pub(crate) config: EndpointConfig,
    /// Length of a client's request, and the size of downloads if the arrivals do not state it.
    pub(crate) workload: Workload,
    /// Seed of the run.
    pub(crate) seed: u64,
}

impl Common {
    /// Creates the end of connection `number`.
    fn build(&self, number: u32, schedule: &Schedule) -> Result<Box<dyn Endpoint>, quiclab_core::Problem> {
        let arrival = schedule.arrivals[number as usize];
        let mut workload = self.workload.clone();
        if let (Workload::Download { size, .. }, Some(drawn)) = (&mut workload, arrival.size) {
            *size = Some(drawn);
        }
        let identity = EndpointIdentity {
            name: format!("{}.{number}", self.identity.name),
            tuple: ports::tuple(&self.identity, number),
            ..self.identity.clone()
        };
        self.stack.build(EndpointRequest::new(identity, &self.config, &workload, arrival.at, self.seed))
    }
}

/// See the module documentation.
pub(crate) struct Arriving {
    common: Common,
    schedule: Arc<Schedule>,
    /// The client's next arrival.
    next: usize,
    /// State of each connection, by its number.
    places: Vec<Place>,
    ends: Vec<Option<End>>,
    /// Indices of `ends` that are free.
    free: Vec<usize>,
    deadlines: Deadlines,
    sequence: u64,
    next_packet: u64,
    /// Totals of dropped ends, and of packets that arrived for them.
    counters: Counters,
    metrics: Metrics,
    completions: Vec<Completion>,
    progress: Progress,
    /// Number of connections that are complete or have failed.
    over: usize,
    most_open: usize,
}

impl Arriving {
    /// Creates an end of the flow.
    ///
    /// # Errors
    /// If the stack rejects an option, or keeps metrics for later connections.
    pub(crate) fn new(common: Common, schedule: Arc<Schedule>) -> Result<Self, quiclab_core::Problem> {
        let count = schedule.arrivals.len();
        if count > 0 && common.build(0, &schedule)?.warm_start().is_some() {
            return Err(quiclab_core::Problem::conflict("tcp.metrics", "saved metrics", "none")
                .because("connections of `arrivals` begin without"));
        }
        Ok(Self {
            next: 0,
            places: vec![Place::Before; count],
            ends: Vec::new(),
            free: Vec::new(),
            deadlines: Deadlines::new(1),
            sequence: 0,
            next_packet: common.identity.first_packet_id(),
            counters: Counters::default(),
            metrics: Metrics::default(),
            completions: Vec::new(),
            progress: Progress { finished: (count == 0).then_some(Time::ZERO), ..Progress::default() },
            over: 0,
            most_open: 0,
            common,
            schedule,
        })
    }

    /// The downloads that clients have begun, in the order of arrival; empty at the servers.
    pub(crate) fn completions(&mut self) -> Vec<Completion> {
        self.completions.clone()
    }

    fn is_client(&self) -> bool {
        self.common.identity.role == Role::Client
    }

    /// Creates the end of connection `number`; returns its index in `ends`.
    fn open(&mut self, number: u32) -> usize {
        let endpoint = self.common.build(number, &self.schedule).expect("the first one was built, too");
        let index = self.free.pop().unwrap_or_else(|| {
            self.ends.push(None);
            if self.ends.len() > self.deadlines.capacity() {
                self.deadlines.double();
            }
            self.ends.len() - 1
        });
        self.ends[index] = Some(End { number, endpoint, seen: Progress::default() });
        self.places[number as usize] = Place::Open(index);
        self.most_open = self.most_open.max(self.ends.len() - self.free.len());
        index
    }

    /// Calls an end, and records its new state.
    fn act(
        &mut self,
        now: Time,
        index: usize,
        out: &mut Outputs,
        act: impl FnOnce(&mut dyn Endpoint, &mut Outputs),
    ) {
        let before = out.packets.len();
        let end = self.ends[index].as_mut().expect("it is open");
        act(end.endpoint.as_mut(), out);
        for (_, packet) in &mut out.packets[before..] {
            packet.id = self.next_packet;
            self.next_packet += 1;
        }
        let (number, wake, progress) = (end.number, end.endpoint.next_wake(), end.endpoint.progress());
        let was_over = is_over(&end.seen);
        self.progress.delivered_bytes += progress.delivered_bytes - end.seen.delivered_bytes;
        end.seen = progress;
        self.deadlines.set(index, wake, self.sequence, true);
        self.sequence += 1;
        if is_over(&progress) && !was_over {
            self.finish(now, number, &progress);
        }
        // a server waits for its client, which determines when the transfer is over
        let at_rest = wake.is_none() && (is_over(&progress) || !self.is_client());
        if self.schedule.rests(number, self.common.identity.role, at_rest) {
            self.close(number);
        }
        self.close_rested();
    }

    /// Drops the ends whose peers are also at rest.
    fn close_rested(&mut self) {
        for number in self.schedule.take_closed(self.common.identity.role) {
            self.close(number);
        }
    }

    fn finish(&mut self, now: Time, number: u32, progress: &Progress) {
        self.over += 1;
        if self.is_client() {
            self.completions[number as usize].end(progress);
        }
        if self.over == self.schedule.arrivals.len() {
            self.progress.finished = Some(now);
        }
    }

    /// Drops an end and keeps its totals.
    fn close(&mut self, number: u32) {
        let Place::Open(index) = self.places[number as usize] else { return };
        let mut end = self.ends[index].take().expect("it is open");
        self.deadlines.set(index, None, 0, false);
        self.places[number as usize] = Place::Closed;
        self.free.push(index);
        self.counters += end.endpoint.counters();
        let mut metrics = Metrics::default();
        end.endpoint.statistics(Time::ZERO, &mut metrics);
        self.metrics.add(&metrics);
    }

    /// Sums of the totals of all connections, and number of open ones.
    fn report(&mut self, out: &mut Metrics, report: impl Fn(&mut dyn Endpoint, &mut Metrics)) {
        self.close_rested();
        let mut sums = self.metrics.clone();
        let mut values = Metrics::default();
        for end in self.ends.iter_mut().flatten() {
            values.clear();
            report(end.endpoint.as_mut(), &mut values);
            sums.add(&values);
        }
        out.append(sums);
        out.count(&ARRIVALS.open_connections, (self.ends.len() - self.free.len()) as u64);
    }
}

fn is_over(progress: &Progress) -> bool {
    progress.finished.is_some() || progress.failed
}

impl Element for Arriving {
    fn receive(&mut self, now: Time, port: Port, packet: Box<Packet>, out: &mut Outputs) {
        let number = ports::number(&self.common.identity, &packet.tuple);
        let place = number.and_then(|number| self.places.get(number as usize).copied());
        let index = match (place, number) {
            (Some(Place::Open(index)), _) => index,
            (Some(Place::Before), Some(number)) if !self.is_client() => {
                self.progress.started.get_or_insert(now);
                self.open(number)
            }
            // for a closed connection, or misrouted background traffic
            _ => {
                self.counters.received.add(packet.size);
                self.counters.consumed.add(packet.size);
                return;
            }
        };
        self.act(now, index, out, |endpoint, out| endpoint.receive(now, port, packet, out));
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        // ends that are due again at this instant follow after the other elements
        let until = (now, self.sequence);
        while let Some((key, index)) = self.deadlines.first().filter(|(key, _)| *key < until) {
            debug_assert!(key.0 <= now);
            self.act(now, index, out, |endpoint, out| endpoint.wake(now, out));
        }
        while self.is_client()
            && self.schedule.arrivals.get(self.next).is_some_and(|arrival| arrival.at <= now)
        {
            let number = self.next as u32;
            self.next += 1;
            self.progress.started.get_or_insert(now);
            let arrival = self.schedule.arrivals[number as usize];
            self.completions.push(Completion::begin(number, &arrival, &self.common.workload));
            let index = self.open(number);
            self.act(now, index, out, |endpoint, out| endpoint.wake(now, out));
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let arrival = self.schedule.arrivals.get(self.next).filter(|_| self.is_client());
        let deadline = self.deadlines.first().map(|((time, _), _)| time);
        deadline.into_iter().chain(arrival.map(|arrival| arrival.at)).min()
    }

    fn counters(&self) -> Counters {
        let mut sum = self.counters;
        self.ends.iter().flatten().for_each(|end| sum += end.endpoint.counters());
        sum
    }

    fn statistics(&mut self, now: Time, out: &mut Metrics) {
        self.report(out, |endpoint, out| endpoint.statistics(now, out));
        out.count(&ARRIVALS.most_open_connections, self.most_open as u64);
        if self.is_client() {
            completion::report(&self.completions, out);
        }
    }

    fn sample(&mut self, now: Time, out: &mut Metrics) {
        self.report(out, |endpoint, out| endpoint.sample(now, out));
        out.retain_series();
    }
}

impl Endpoint for Arriving {
    fn progress(&self) -> Progress {
        self.progress
    }
}
