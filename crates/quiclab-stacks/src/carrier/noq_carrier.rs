//! A hub with one session between fixed addresses: the noq carriers in a simulation.

use super::config::{CarrierKind, PathConfig};
use super::hub::Hub;
use quiclab_core::scheduler::PathState;
use quiclab_core::tunnel::{Cargo, Carrier};
use quiclab_core::{Duration, Metrics, Packet, Role, Time};

/// What a [`NoqCarrier`] is made from.
#[derive(Clone, Debug)]
pub struct CarrierSetup {
    /// Which end.
    pub role: Role,
    /// Which QUIC.
    pub kind: CarrierKind,
    /// One for each path.
    pub paths: Vec<PathConfig>,
    /// When the client connects.
    pub start: Time,
    /// A session ends when nothing was heard on any path for that long.
    pub idle_timeout: Duration,
    /// Each path is asked for a sign of life that often while it is silent.
    pub keep_alive: Duration,
    /// Seed of the run; both ends draw from streams of their own.
    pub seed: u64,
    /// Name of this end, which names its streams.
    pub name: String,
}

/// One end of a tunnel with fixed addresses: path `i` is from 10.3.`i`.1 (client) to 10.4.`i`.1 (server).
pub struct NoqCarrier {
    hub: Hub,
}

impl NoqCarrier {
    /// One end.
    ///
    /// # Panics
    /// If there is no path or an MTU is too small.
    #[must_use]
    pub fn new(setup: CarrierSetup) -> Self {
        todo!("{setup:?}")
    }
}

impl Carrier for NoqCarrier {
    fn paths(&self) -> usize {
        let _ = &self.hub;
        todo!()
    }
    fn state(&self, _now: Time, _path: usize) -> PathState {
        todo!()
    }
    fn largest_datagram(&self, _path: usize) -> Option<u16> {
        todo!()
    }
    fn send(&mut self, _now: Time, _path: usize, _cargo: Cargo) -> Result<(), Cargo> {
        todo!()
    }
    fn set_backlogged(&mut self, _backlogged: bool) {
        todo!()
    }
    fn receive(&mut self, _now: Time, _path: usize, _packet: Packet) {
        todo!()
    }
    fn delivered(&mut self) -> Option<(usize, Cargo)> {
        todo!()
    }
    fn transmit(&mut self, _now: Time) -> Option<(usize, Packet)> {
        todo!()
    }
    fn wake(&mut self, _now: Time) {
        todo!()
    }
    fn next_wake(&self) -> Option<Time> {
        todo!()
    }
    fn failure(&self) -> Option<&str> {
        todo!()
    }
    fn statistics(&self, _out: &mut Metrics) {
        todo!()
    }
}
