//! The carrier of a session, with bytes counted by path.

use quiclab_carrier::SessionCarrier;
use quiclab_core::scheduler::PathState;
use quiclab_core::tunnel::{Carrier, TunnelPayload};
use quiclab_core::{Metrics, Packet, Time};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathCounts {
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// The carrier, with bytes counted by path. Its packets are left to [`TunnelEndpoint::transmit`], which returns several
/// datagrams together.
pub(super) struct CountingCarrier<'a> {
    pub(super) carrier: SessionCarrier<'a>,
    pub(super) paths: &'a mut Vec<PathCounts>,
    /// Whether it currently accepts no packets.
    pub(super) is_held: bool,
}

impl CountingCarrier<'_> {
    fn counts(&mut self, path: usize) -> &mut PathCounts {
        if self.paths.len() <= path {
            self.paths.resize(path + 1, PathCounts::default());
        }
        &mut self.paths[path]
    }
}

impl Carrier for CountingCarrier<'_> {
    fn paths(&self) -> usize {
        self.carrier.paths()
    }
    fn state(&self, now: Time, path: usize) -> PathState {
        let state = self.carrier.state(now, path);
        if self.is_held { PathState { usable: false, has_room: false, ..state } } else { state }
    }
    fn largest_datagram(&self, path: usize) -> Option<u16> {
        self.carrier.largest_datagram(path)
    }
    fn send(&mut self, now: Time, path: usize, cargo: TunnelPayload) -> Result<(), TunnelPayload> {
        if self.is_held {
            return Err(cargo);
        }
        let bytes = cargo.length() as u64;
        self.carrier.send(now, path, cargo)?;
        self.counts(path).sent += bytes;
        Ok(())
    }
    fn set_backlogged(&mut self, backlogged: bool) {
        self.carrier.set_backlogged(backlogged && !self.is_held);
    }
    fn receive(&mut self, now: Time, path: usize, packet: Box<Packet>) {
        self.carrier.receive(now, path, packet);
    }
    fn delivered(&mut self) -> Option<(usize, TunnelPayload)> {
        let (path, cargo) = self.carrier.delivered()?;
        self.counts(path).received += cargo.length() as u64;
        Some((path, cargo))
    }
    fn transmit(&mut self, _now: Time) -> Option<(usize, Box<Packet>)> {
        None
    }
    fn wake(&mut self, now: Time) {
        self.carrier.wake(now);
    }
    fn next_wake(&self) -> Option<Time> {
        self.carrier.next_wake()
    }
    fn failure(&self) -> Option<&str> {
        self.carrier.failure()
    }
    fn statistics(&self, out: &mut Metrics) {
        self.carrier.statistics(out);
    }
}
