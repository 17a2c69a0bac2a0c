//! Costs of a host: socket receive buffer, CPU time of the process, late timers.
//!
//! A [`Host`] is an endpoint that contains an endpoint. It models one process with its own CPU, whose loop
//! performs one task at a time, in this order whenever the CPU is free:
//!
//! 1. *Send* what the endpoint has emitted: calls of up to `send_batch` packets that take `send_call`
//!    and `send_datagram` for each packet. The packets of a call leave together when it ends, in the
//!    order of emission.
//! 2. *Compute* the pending work of the application: requests of a browser that reads the packets of its page
//!    itself.
//! 3. *Fire* the endpoint's timer, if its deadline and a slack have passed. The slack is drawn once
//!    for each deadline that differs from the one before. With `timer_resolution`, a process that goes to sleep wakes after a
//!    multiple of it.
//! 4. *Read* datagrams from the receive buffer: a call of up to `receive_batch` datagrams takes
//!    `receive_call` and `receive_datagram` for each. Their memory is released when the call starts; the
//!    endpoint receives them when it ends.
//!
//! A waiting process wakes `wake_up` after a datagram has arrived, or with its timer, and reads the datagrams
//! received until then.
//!
//! | | an application under Linux | here |
//! | --- | --- | --- |
//! | receive buffer | see `receive_buffer` | the rule of UDP, also for TCP endpoints |
//! | timers and reads that are due together | the order of its event loop | the timer first, then a read, so neither starves the other |
//! | protocol processing in the kernel, other processes | compete for the CPU | cost nothing |
//! | send buffer | may block the sender | unlimited |
//!
//! A host without costs (the default) only forwards calls: no queue, no draw.

mod config;
mod receive_buffer;

pub use config::{HostConfig, MemoryReturn};

use crate::counters::{Count, Counters};
use crate::element::{DropReason, Element, Outputs, Port};
use crate::endpoint::{Endpoint, Progress};
use crate::link::DelayModel;
use crate::metric::Metrics;
use crate::packet::Packet;
use crate::page::PageClient;
use crate::random::RandomStream;
use crate::recovery::RecoveryState;
use crate::time::{Duration, Time};
use crate::warm_start::WarmStart;
use receive_buffer::ReceiveBuffer;
use std::collections::VecDeque;

crate::metrics! {
    /// Socket and CPU of an endpoint.
    pub static HOST: HostMetrics = Flow, "endpoint with a host" {
        /// Datagrams dropped at the socket.
        receive_buffer_drops: Counter, End;
        /// Maximum memory charged to the socket.
        longest_receive_buffer_bytes: Maximum, End;
        /// Maximum number of datagrams in the socket.
        longest_receive_buffer_packets: Maximum, End;
        /// CPU time used.
        cpu_busy_ms: Counter, End;
        /// Memory charged to the socket.
        receive_buffer_bytes: Gauge, Series;
    }
}

/// An endpoint on a host with costs: see the module documentation.
pub struct Host {
    config: crate::host::HostConfig,
    endpoint: Box<dyn Endpoint>,
    /// Whether the host has no costs, so that all calls go directly to the endpoint.
    transparent: bool,
    slack: DelayModel,
    wake_up: DelayModel,
    receive_buffer: ReceiveBuffer,
    work: Work,
    /// Datagrams of the receiving call in progress.
    reading: Vec<Box<Packet>>,
    /// Inputs at which the datagrams in `reading` and `receive_buffer` arrived, in this order.
    ports: VecDeque<Port>,
    /// End of the preparation of the next request for an object of a page.
    occupied: Time,
    /// Packets emitted by the endpoint that have not left, oldest first.
    sending: VecDeque<(Port, Box<Packet>)>,
    /// Last deadline of the endpoint.
    deadline: Option<Time>,
    /// The same with its slack, which is drawn for each new deadline.
    due: Option<Time>,
    /// Time at which the process wakes for it.
    fires: Option<Time>,
    /// Output buffer of the endpoint, reused for all calls.
    emitted: Outputs,
    /// CPU time of all tasks begun.
    busy: Duration,
    received: Count,
    sent: Count,
    dropped: Count,
    /// Packets in `receive_buffer`, `reading` and `sending`.
    held: Count,
}

/// Task of the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Idle,
    /// A datagram has arrived, and the process is not running yet.
    WakeUp {
        until: Time,
    },
    /// A receiving call; its datagrams are in `reading`.
    Read {
        until: Time,
    },
    /// A sending call of the first packets of `sending`.
    Send {
        until: Time,
        packets: usize,
    },
    /// The application computes.
    Compute {
        until: Time,
    },
}

impl Host {
    /// Creates the element `name` of the run with `seed`: `endpoint` on a host of this kind. Batches of 0 are
    /// treated as 1.
    #[must_use]
    pub fn new(config: &crate::host::HostConfig, seed: u64, name: &str, endpoint: Box<dyn Endpoint>) -> Self {
        let mut host = Self {
            transparent: is_free(config) && !endpoint.page_client().is_some_and(PageClient::reads_packets),
            endpoint,
            slack: DelayModel::new(&config.timer_slack, RandomStream::new(seed, &format!("{name}.host"))),
            wake_up: DelayModel::new(&config.wake_up, RandomStream::new(seed, &format!("{name}.host.wake"))),
            receive_buffer: ReceiveBuffer::new(config.receive_buffer, config.truesize, config.memory_return),
            work: Work::Idle,
            reading: Vec::new(),
            ports: VecDeque::new(),
            occupied: Time::ZERO,
            sending: VecDeque::new(),
            deadline: None,
            due: None,
            fires: None,
            emitted: Outputs::default(),
            busy: Duration::ZERO,
            received: Count::default(),
            sent: Count::default(),
            dropped: Count::default(),
            held: Count::default(),
            config: config.clone(),
        };
        host.note_deadline();
        host.sleep(Time::ZERO);
        host
    }

    /// Starts one task after another until the CPU is busy or no task is left. The timer fires at most once,
    /// and only if `may_fire`: detecting an endpoint whose deadline does not advance is up to the driver.
    fn run(&mut self, now: Time, mut may_fire: bool, out: &mut Outputs) {
        loop {
            match self.work {
                Work::Read { until } | Work::Send { until, .. } | Work::Compute { until } if now < until => {
                    return;
                }
                // a timer also wakes the process
                Work::WakeUp { until }
                    if now < until && !(may_fire && self.fires.is_some_and(|fires| fires <= now)) =>
                {
                    return;
                }
                Work::Read { .. } => self.end_read(now, out),
                Work::Send { packets, .. } => self.end_send(packets, out),
                Work::Idle | Work::WakeUp { .. } | Work::Compute { .. } => {}
            }
            self.work = Work::Idle;
            if !self.sending.is_empty() {
                self.begin_send(now);
            } else if self.occupied > now {
                self.busy += self.occupied.since(now);
                self.work = Work::Compute { until: self.occupied };
            } else if may_fire && self.fires.is_some_and(|fires| fires <= now) {
                may_fire = false;
                self.endpoint.wake(now, &mut self.emitted);
                self.collect(out);
            } else if !self.receive_buffer.is_empty() {
                self.begin_read(now);
            } else {
                return self.sleep(now);
            }
        }
    }

    /// Rounds the wait for the timer up, as the process has nothing else to do.
    fn sleep(&mut self, now: Time) {
        let resolution = self.config.timer_resolution.as_nanos();
        if resolution > 0 {
            let wait = |due: Time| due.since(now).as_nanos().div_ceil(resolution) * resolution;
            self.fires = self.due.map(|due| now + Duration::from_nanos(wait(due)));
        }
    }

    fn begin_read(&mut self, now: Time) {
        let batch = self.config.receive_batch.max(1) as usize;
        self.reading.extend(std::iter::from_fn(|| self.receive_buffer.pop()).take(batch));
        let cost = self.config.receive_call + self.config.receive_datagram * self.reading.len() as u64;
        self.busy += cost;
        self.work = Work::Read { until: now + cost };
    }

    fn end_read(&mut self, now: Time, out: &mut Outputs) {
        for datagram in self.reading.drain(..) {
            self.held.remove(datagram.size);
            let port = self.ports.pop_front().expect("each datagram came at a port");
            self.endpoint.receive(now, port, datagram, &mut self.emitted);
        }
        self.collect(out);
    }

    fn begin_send(&mut self, now: Time) {
        let packets = self.sending.len().min(self.config.send_batch.max(1) as usize);
        let cost = self.config.send_call + self.config.send_datagram * packets as u64;
        self.busy += cost;
        self.work = Work::Send { until: now + cost, packets };
    }

    fn end_send(&mut self, packets: usize, out: &mut Outputs) {
        for (port, packet) in self.sending.drain(..packets) {
            self.held.remove(packet.size);
            self.sent.add(packet.size);
            out.send(port, packet);
        }
    }

    /// Collects the output of the endpoint and its deadline.
    fn collect(&mut self, out: &mut Outputs) {
        for (port, packet) in self.emitted.packets.drain(..) {
            self.held.add(packet.size);
            self.sending.push_back((port, packet));
        }
        out.drops.append(&mut self.emitted.drops);
        if let Some(page) = self.endpoint.page_client() {
            self.occupied = page.occupied_until();
        }
        self.note_deadline();
    }

    fn note_deadline(&mut self) {
        let deadline = self.endpoint.next_wake();
        if deadline == self.deadline {
            return;
        }
        self.deadline = deadline;
        self.due = deadline.map(|deadline| deadline + self.slack.draw(deadline));
        self.fires = self.due;
    }

    /// CPU time of the work done until `now`.
    fn cpu_busy(&self, now: Time) -> Duration {
        match self.work {
            Work::Idle | Work::WakeUp { .. } => self.busy,
            Work::Read { until } | Work::Send { until, .. } | Work::Compute { until } => {
                self.busy.saturating_sub(until.since(now))
            }
        }
    }
}

/// Whether a host neither takes time nor delays timers; its receive buffer never fills then.
fn is_free(config: &crate::host::HostConfig) -> bool {
    let crate::host::HostConfig { receive_call, receive_datagram, send_call, send_datagram, .. } = *config;
    let costs = [receive_call, receive_datagram, send_call, send_datagram];
    let exact = |delay: &crate::link::Delay| {
        delay.mean == Duration::ZERO
            && (delay.deviation == Duration::ZERO
                || delay.distribution == crate::link::Distribution::Constant)
    };
    costs == [Duration::ZERO; 4]
        && config.timer_resolution == Duration::ZERO
        && exact(&config.timer_slack)
        && exact(&config.wake_up)
}

impl Element for Host {
    fn receive(&mut self, now: Time, port: Port, packet: Box<Packet>, out: &mut Outputs) {
        if self.transparent {
            return self.endpoint.receive(now, port, packet, out);
        }
        let size = packet.size;
        self.received.add(size);
        if self.receive_buffer.is_full() {
            self.dropped.add(size);
            return out.discard(DropReason::ReceiveBufferFull, packet);
        }
        self.held.add(size);
        self.ports.push_back(port);
        self.receive_buffer.push(packet);
        if self.work == Work::Idle {
            self.work = Work::WakeUp { until: now + self.wake_up.draw(now) };
            self.emitted.record_drops = out.record_drops;
            self.run(now, false, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        if self.transparent {
            return self.endpoint.wake(now, out);
        }
        self.emitted.record_drops = out.record_drops;
        self.run(now, true, out);
    }

    fn next_wake(&self) -> Option<Time> {
        match self.work {
            _ if self.transparent => self.endpoint.next_wake(),
            Work::Idle => self.fires,
            Work::WakeUp { until } => Some(self.fires.map_or(until, |fires| fires.min(until))),
            Work::Read { until } | Work::Send { until, .. } | Work::Compute { until } => Some(until),
        }
    }

    fn counters(&self) -> Counters {
        let endpoint = self.endpoint.counters();
        if self.transparent {
            return endpoint;
        }
        let sum = |mut one: Count, other: Count| {
            one += other;
            one
        };
        Counters {
            received: self.received,
            created: endpoint.created,
            sent: self.sent,
            dropped: sum(self.dropped, endpoint.dropped),
            consumed: endpoint.consumed,
            held: sum(self.held, endpoint.held),
        }
    }

    fn statistics(&mut self, now: Time, out: &mut Metrics) {
        out.count(&HOST.receive_buffer_drops, self.dropped.packets);
        out.count(&HOST.longest_receive_buffer_bytes, self.receive_buffer.longest_bytes().bytes());
        out.count(&HOST.longest_receive_buffer_packets, self.receive_buffer.longest_packets());
        out.set(&HOST.cpu_busy_ms, self.cpu_busy(now).as_ms_f64());
        self.endpoint.statistics(now, out);
    }

    fn sample(&mut self, now: Time, out: &mut Metrics) {
        out.count(&HOST.receive_buffer_bytes, self.receive_buffer.charged().bytes());
        self.endpoint.sample(now, out);
    }

    fn inside(&mut self) -> Option<&mut dyn Element> {
        Some(self.endpoint.as_mut())
    }
}

impl Endpoint for Host {
    fn failure(&self) -> Option<&str> {
        self.endpoint.failure()
    }

    fn warning(&self) -> Option<String> {
        self.endpoint.warning()
    }

    fn recovery(&mut self) -> Option<RecoveryState> {
        self.endpoint.recovery()
    }

    fn page_client(&self) -> Option<&dyn PageClient> {
        self.endpoint.page_client()
    }

    fn warm_start(&mut self) -> Option<&mut dyn WarmStart> {
        self.endpoint.warm_start()
    }

    fn progress(&self) -> Progress {
        self.endpoint.progress()
    }
}

#[cfg(test)]
mod tests;
