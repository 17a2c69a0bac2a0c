//! Queues of flows that are served in turn by bytes, newly busy ones first (deficit round robin of RFC 8290
//! section 4.2, as in `fq_codel_dequeue` and `fq_pie_qdisc_dequeue` of Linux).

use super::QueueIndex;
use crate::units::ByteCount;
use std::collections::VecDeque;

/// State of a queue in the rounds.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Bytes that it may still send in this turn; below 0 after a packet that exceeded the remainder.
    credits: i64,
    /// Whether it is on one of the lists.
    listed: bool,
}

/// Order of service. A non-empty queue is on one of the lists; an empty one may be.
#[derive(Debug)]
pub(super) struct Rounds {
    quantum: i64,
    places: Vec<Place>,
    /// Newly busy queues, in their order of service.
    new: VecDeque<QueueIndex>,
    /// Other queues that are or were non-empty, in their order of service.
    old: VecDeque<QueueIndex>,
}

/// The turn of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) queue: QueueIndex,
    is_new: bool,
}

impl Rounds {
    /// Creates rounds of `queues` queues that may each send `quantum` in a turn.
    pub(super) fn new(queues: u32, quantum: ByteCount) -> Self {
        Self {
            quantum: quantum.bytes() as i64,
            places: vec![Place::default(); queues as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
        }
    }

    /// Queue of a flow with this hash: the hash as a fraction of 2^32, times the number of queues
    /// (`reciprocal_scale`).
    pub(super) fn queue_of(&self, hash: u64) -> QueueIndex {
        QueueIndex((((hash & 0xffff_ffff) * self.places.len() as u64) >> 32) as u32)
    }

    /// Handles an arrival in a queue.
    pub(super) fn arrived(&mut self, queue: QueueIndex) {
        let place = &mut self.places[queue.0 as usize];
        if !place.listed {
            *place = Place { credits: self.quantum, listed: true };
            self.new.push_back(queue);
        }
    }

    /// The queue whose turn it is; `None` if all are empty.
    pub(super) fn turn(&mut self) -> Option<Turn> {
        loop {
            let turn = match self.new.front() {
                Some(queue) => Turn { queue: *queue, is_new: true },
                None => Turn { queue: *self.old.front()?, is_new: false },
            };
            let place = &mut self.places[turn.queue.0 as usize];
            if place.credits > 0 {
                return Some(turn);
            }
            place.credits += self.quantum;
            self.unlist(turn);
            self.old.push_back(turn.queue);
        }
    }

    /// Records that the queue has sent `bytes`.
    pub(super) fn served(&mut self, turn: Turn, bytes: ByteCount) {
        self.places[turn.queue.0 as usize].credits -= bytes.bytes() as i64;
    }

    /// Records that the queue was empty.
    pub(super) fn was_empty(&mut self, turn: Turn) {
        self.unlist(turn);
        if turn.is_new && !self.old.is_empty() {
            // otherwise a flow that becomes busy again and again would starve the old ones
            self.old.push_back(turn.queue);
        } else {
            self.places[turn.queue.0 as usize].listed = false;
        }
    }

    /// Queues on the lists; all others are empty.
    pub(super) fn listed(&self) -> impl Iterator<Item = QueueIndex> + '_ {
        self.new.iter().chain(&self.old).copied()
    }

    fn unlist(&mut self, turn: Turn) {
        let list = if turn.is_new { &mut self.new } else { &mut self.old };
        list.pop_front();
    }
}
