//! Two endpoints for tests of internal state; datagrams take 5 ms each way.

use super::config::{PathConfig, TunnelEndpointConfig};
use super::event::{Outgoing, SessionId, TunnelEvent};
use super::keys::{KnownPeers, SecretKey};
use super::randomness::Randomness;
use super::tunnel_endpoint::TunnelEndpoint;
use quiclab_core::{ByteCount, Duration, Packet, Role, Time};
use quiclab_transport::options::CongestionControl;
use std::net::SocketAddr;

const DELAY: Duration = Duration::from_millis(5);

pub(super) fn key(number: u8) -> SecretKey {
    SecretKey::from_bytes([number; 32])
}

pub(super) fn peers(keys: &[&[u8]]) -> KnownPeers {
    KnownPeers::new(keys.iter().map(|keys| keys.iter().map(|number| key(*number).public())))
}

/// Local and remote address of a client's path.
pub(super) fn addresses(path: u8) -> (SocketAddr, SocketAddr) {
    (([10, 0, path, 2], 1000).into(), ([10, 0, path, 1], 4433).into())
}

/// A client with key 1 and a server with key 2, which know each other, and a window of 62500 bytes.
pub(super) struct Pair {
    pub(super) client: TunnelEndpoint,
    pub(super) server: TunnelEndpoint,
    pub(super) now: Time,
}

impl Pair {
    pub(super) fn new(change: impl Fn(&mut TunnelEndpointConfig)) -> Self {
        let end = |role, own, other: &[u8]| {
            let mut config =
                TunnelEndpointConfig::new(role, key(own), peers(&[other]), Randomness::Seeded(own.into()));
            let window = Some(ByteCount::from_bytes(62_500));
            let congestion_control = CongestionControl::Fixed;
            config.paths = vec![PathConfig { congestion_control, window, ..PathConfig::default() }];
            change(&mut config);
            TunnelEndpoint::new(config).expect("the configuration is right")
        };
        let (client, server) = (end(Role::Client, 1, &[2]), end(Role::Server, 2, &[1]));
        Self { client, server, now: Time::ZERO }
    }

    /// Opens the session at both ends; returns its numbers.
    pub(super) fn establish(&mut self) -> (SessionId, SessionId) {
        let session = self.client.connect(self.now, &[addresses(0)]).expect("the addresses are right");
        self.run(Duration::from_millis(500));
        let opened = |event| match event {
            TunnelEvent::SessionOpened { session, .. } => Some(session),
            _ => None,
        };
        let other = std::iter::from_fn(|| self.server.poll_event()).find_map(opened);
        (session, other.expect("the server has a session"))
    }

    /// Datagrams that an end has to send.
    pub(super) fn sent(end: &mut TunnelEndpoint, now: Time) -> Vec<Outgoing> {
        std::iter::from_fn(|| end.transmit(now)).collect()
    }

    /// Runs for `length`.
    pub(super) fn run(&mut self, length: Duration) {
        self.run_over(length, |_, packet| Some(packet));
    }

    /// Runs over a network that modifies or drops packets at their arrival, given the role of their sender.
    pub(super) fn run_over(&mut self, length: Duration, network: impl Fn(Role, Packet) -> Option<Packet>) {
        let end = self.now + length;
        loop {
            let (now, Self { client, server, .. }) = (self.now, &mut *self);
            let under_way = [Self::sent(client, now), Self::sent(server, now)];
            let wakes = [client.next_wake(), server.next_wake()];
            let next = match under_way.iter().all(Vec::is_empty) {
                false => now + DELAY,
                true => wakes.into_iter().flatten().min().unwrap_or(end).max(now),
            };
            self.now = next.min(end);
            let [of_client, of_server] = under_way;
            let arrive = |from, sent: Outgoing| network(from, sent.packet);
            for packet in of_client.into_iter().filter_map(|sent| arrive(Role::Client, sent)) {
                self.server.receive(self.now, packet);
            }
            for packet in of_server.into_iter().filter_map(|sent| arrive(Role::Server, sent)) {
                self.client.receive(self.now, packet);
            }
            if next > end {
                return;
            }
            self.client.wake(self.now);
            self.server.wake(self.now);
        }
    }
}
