//! Log of all acknowledgements that arrived in a run, for `record.acks`.

use quiclab_core::{EndpointIdentity, Role, Time};
use std::sync::{Arc, Mutex};

/// One acknowledgement: see `quiclab_core::TransportEvent::AckReceived`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckRecord {
    pub(crate) time: Time,
    /// Number of the flow.
    pub(crate) flow: u32,
    /// Endpoint at which it arrived.
    pub(crate) role: Role,
    pub(crate) packets: u32,
    pub(crate) covered: u32,
    pub(crate) bytes: u64,
}

/// Log of all endpoints of a run, in the order of events. A run has one thread: the lock is never contended.
#[derive(Clone, Default)]
pub(crate) struct AckLog(Arc<Mutex<Vec<AckRecord>>>);

impl AckLog {
    /// Observer that adds the acknowledgements of this endpoint.
    pub(crate) fn endpoint(&self, identity: &EndpointIdentity) -> EndpointAcks {
        EndpointAcks { log: self.clone(), flow: identity.flow.0, role: identity.role }
    }

    /// Takes the recorded acknowledgements; the log is empty afterwards.
    pub(crate) fn take(&self) -> Vec<AckRecord> {
        std::mem::take(&mut self.0.lock().expect("no holder panics"))
    }
}

/// Adds the acknowledgements of one endpoint.
pub(crate) struct EndpointAcks {
    log: AckLog,
    flow: u32,
    role: Role,
}

impl EndpointAcks {
    pub(crate) fn add(&self, time: Time, packets: u32, covered: u32, bytes: u64) {
        let record = AckRecord { time, flow: self.flow, role: self.role, packets, covered, bytes };
        self.log.0.lock().expect("no holder panics").push(record);
    }
}
