//! Queue of a flow and host to which it counts: set-associative hashing (`cake_hash` of Linux).
//!
//! A hash selects a set of eight queues and the first one to try. A flow keeps the queue with its tag; a new
//! flow takes a free queue of the set. Only when all eight are in use do flows share one, so that with as
//! many flows as 1/8 of the queues collisions are rare, where plain hashing has many (Høiland-Jørgensen, Täht
//! and Morton 2018, section III-B).

use super::flow::{CakeFlow, Set};
use crate::random::RandomStream;

/// Queues, and entries in each table of hosts.
pub(super) const QUEUES: usize = 1024;
const WAYS: usize = 8;

/// Hosts on one side of flows, with the number of flows that each has in the bulk rotation.
#[derive(Debug)]
pub(super) struct Hosts {
    tags: Vec<u32>,
    bulk: Vec<u16>,
}

impl Hosts {
    pub(super) fn new() -> Self {
        Self { tags: vec![0; QUEUES], bulk: vec![0; QUEUES] }
    }

    /// The entry of the host with this hash: its own, else one without bulk flows, else the last one tried.
    fn entry(&mut self, hash: u32) -> u16 {
        let mut ways = Ways::of(hash);
        let entry = ways.clone().find(|entry| self.tags[*entry] == hash);
        let entry = entry.or_else(|| ways.clone().find(|entry| self.bulk[*entry] == 0));
        let entry = entry.unwrap_or_else(|| ways.next().expect("a set has ways"));
        self.tags[entry] = hash;
        entry as u16
    }

    pub(super) fn bulk(&self, entry: u16) -> u16 {
        self.bulk[usize::from(entry)]
    }

    pub(super) fn add(&mut self, entry: u16) {
        let bulk = &mut self.bulk[usize::from(entry)];
        *bulk = (*bulk + 1).min(QUEUES as u16);
    }

    pub(super) fn remove(&mut self, entry: u16) {
        let bulk = &mut self.bulk[usize::from(entry)];
        *bulk = bulk.saturating_sub(1);
    }
}

/// The entries of a set, from the one selected by the hash on.
#[derive(Clone, Debug)]
struct Ways {
    outer: usize,
    inner: usize,
    tried: usize,
}

impl Ways {
    const fn of(hash: u32) -> Self {
        let reduced = hash as usize % QUEUES;
        let inner = reduced % WAYS;
        Self { outer: reduced - inner, inner, tried: 0 }
    }
}

impl Iterator for Ways {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        (self.tried < WAYS).then(|| {
            let way = (self.inner + self.tried) % WAYS;
            self.tried += 1;
            self.outer + way
        })
    }
}

/// Hashes of a packet: of its flow, of its source and of its destination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashes {
    pub(super) flow: u32,
    pub(super) source: u32,
    pub(super) destination: u32,
}

/// Tags of the queues, and the hosts.
#[derive(Debug)]
pub(super) struct Places {
    tags: Vec<u32>,
    pub(super) sources: Hosts,
    pub(super) destinations: Hosts,
    /// Flows that had to share a queue.
    pub(super) collisions: u64,
}

impl Places {
    pub(super) fn new() -> Self {
        Self { tags: vec![0; QUEUES], sources: Hosts::new(), destinations: Hosts::new(), collisions: 0 }
    }

    /// The queue of a packet; when a flow takes a queue, its hosts are stored in it.
    pub(super) fn queue<T>(&mut self, hashes: Hashes, flows: &mut [CakeFlow<T>]) -> usize {
        let mut ways = Ways::of(hashes.flow);
        if let Some(own) = ways.clone().find(|queue| self.tags[*queue] == hashes.flow) {
            if flows[own].set == Set::None {
                self.take(own, hashes, flows);
            }
            return own;
        }
        let free = ways.clone().find(|queue| flows[*queue].set == Set::None);
        let queue = free.unwrap_or_else(|| {
            self.collisions += 1;
            ways.next().expect("a set has ways")
        });
        if free.is_none() {
            self.leave_bulk(&flows[queue]);
        }
        self.take(queue, hashes, flows);
        queue
    }

    fn take<T>(&mut self, queue: usize, hashes: Hashes, flows: &mut [CakeFlow<T>]) {
        self.tags[queue] = hashes.flow;
        let flow = &mut flows[queue];
        flow.source = self.sources.entry(hashes.source);
        flow.destination = self.destinations.entry(hashes.destination);
        if flow.set == Set::Bulk {
            self.sources.add(flow.source);
            self.destinations.add(flow.destination);
        }
    }

    /// Counts `flow` as a bulk flow of its hosts.
    pub(super) fn enter_bulk<T>(&mut self, flow: &CakeFlow<T>) {
        self.sources.add(flow.source);
        self.destinations.add(flow.destination);
    }

    /// Removes `flow` from the bulk flows of its hosts, if it is in the bulk rotation.
    pub(super) fn leave_bulk<T>(&mut self, flow: &CakeFlow<T>) {
        if flow.set == Set::Bulk {
            self.sources.remove(flow.source);
            self.destinations.remove(flow.destination);
        }
    }

    /// Bulk flows of the host that has more of them, at least 1: the divisor of the quantum of `flow`.
    pub(super) fn load<T>(&self, flow: &CakeFlow<T>) -> u16 {
        self.sources.bulk(flow.source).max(self.destinations.bulk(flow.destination)).max(1)
    }

    /// `quantum` over the load of its hosts, rounded at random, so that rounding errors do not accumulate.
    pub(super) fn quantum<T>(&self, quantum: u64, flow: &CakeFlow<T>, random: &mut RandomStream) -> i64 {
        let share = u64::from(u16::MAX / self.load(flow));
        ((quantum * share + (random.bits() & 0xffff)) >> 16) as i64
    }
}
