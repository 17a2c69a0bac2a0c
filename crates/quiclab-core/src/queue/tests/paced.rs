//! A discipline that spaces departures, first in, first out: for tests of callers, which must dequeue again
//! for packets that a discipline holds back.

use super::*;
use crate::problem::Problem;
use crate::queue::options::{Capacity, QueueOptions};
use crate::queue::waiting::WaitingItems;
use crate::queue::{Outcome, TcQueue};
use crate::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First in, first out, and never two packets within a gap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Paced {
    /// Time between two packets.
    pub gap: Duration,
}

impl QueueOptions for Paced {
    fn capacity(&self) -> Capacity {
        Capacity::default()
    }

    fn tc(&self) -> Result<TcQueue, Problem> {
        Err(Problem::conflict("kind", "paced", "a discipline that is not for tests only"))
    }

    fn examples() -> Vec<Self> {
        vec![Self { gap: Duration::from_millis(3) }]
    }
}

#[derive(Debug)]
pub(in crate::queue) struct PacedQueue<T> {
    gap: Duration,
    /// Earliest time of the next departure.
    next: Time,
    line: WaitingItems<T>,
}

impl<T: Item> PacedQueue<T> {
    pub(in crate::queue) fn new(config: &Paced, _: RandomStream) -> Self {
        Self { gap: config.gap, next: Time::ZERO, line: WaitingItems::default() }
    }
}

impl<T: Item> QueueDiscipline<T> for PacedQueue<T> {
    fn enqueue(
        &mut self,
        item: T,
        _: Arrival<impl FnOnce() -> DataRate>,
        exits: &mut Exits<'_, impl FnMut(T, DropReason)>,
    ) {
        self.line.push(exits.now, item);
    }

    fn dequeue(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) -> Option<T> {
        if exits.now < self.next {
            return None;
        }
        let head = self.line.pop()?;
        self.next = exits.now + self.gap;
        exits.left(QueueIndex(0), head.arrived, Outcome::Served);
        Some(head.item)
    }

    fn next_wake(&self) -> Option<Time> {
        (self.line.backlog().packets > 0).then_some(self.next)
    }

    fn waiting(&self) -> Backlog {
        self.line.backlog()
    }
}
