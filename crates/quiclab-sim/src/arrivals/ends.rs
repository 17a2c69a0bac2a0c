//! State shared by both ends of a flow with arrivals: the connections, and which are closed.

use quiclab_core::{Endpoint, Progress, Role};
use quiclab_scenario::Arrival;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An end of a connection.
pub(super) struct End {
    pub(super) number: u32,
    pub(super) endpoint: Box<dyn Endpoint>,
    /// Progress after the last call.
    pub(super) seen: Progress,
}

/// State of an end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The end has not arrived yet.
    Before,
    /// The end is open, at this index.
    Open(usize),
    /// The end was dropped.
    Closed,
}

/// The connections of a flow.
pub(crate) struct Schedule {
    /// Connections in the order of arrival.
    pub(crate) arrivals: Vec<Arrival>,
    rest: Mutex<Rest>,
}

/// Ends at rest: they have no deadline, and the transfer of the client is over.
struct Rest {
    /// States by number of the connection, then by role; an end that does not exist is at rest.
    ends: Vec<[bool; 2]>,
    /// Connections to drop at the next call of the end, by role.
    closed: [Vec<u32>; 2],
}

impl Schedule {
    pub(crate) fn new(arrivals: Vec<Arrival>) -> Self {
        let rest = Rest { ends: vec![[true; 2]; arrivals.len()], closed: Default::default() };
        Self { arrivals, rest: Mutex::new(rest) }
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        // a run has one thread; a panic ends it
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records whether an end is at rest; returns whether both are, so that it can be dropped.
    pub(super) fn rests(&self, number: u32, role: Role, at_rest: bool) -> bool {
        let mut rest = self.rest();
        let (this, peer) = (role as usize, 1 - role as usize);
        rest.ends[number as usize][this] = at_rest;
        let both = rest.ends[number as usize] == [true; 2];
        if both {
            rest.closed[peer].push(number);
        }
        both
    }

    /// Connections that have become droppable since the last call.
    pub(super) fn take_closed(&self, role: Role) -> Vec<u32> {
        std::mem::take(&mut self.rest().closed[role as usize])
    }
}
