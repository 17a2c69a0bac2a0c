//! Tests of the paths of one connection.

use super::super::event::{SessionId, TunnelEvent};
use super::super::liveness::MIN_SILENCE;
use super::super::testing::Pair;
use super::OPENING;
use quiclab_core::tunnel::CarrierKind;
use quiclab_core::{Duration, FiveTuple, Protocol, Role};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// Addresses as for sockets of two interfaces: the kernel chooses the address, and only the port differs.
#[test]
fn two_paths_to_one_server_leave_by_their_own_sockets() {
    for any in ["0.0.0.0", "[::]"] {
        let mut pair = Pair::new(|config| config.kind = CarrierKind::Multipath);
        let server: SocketAddr =
            if any == "[::]" { "[2001:db8::1]:4433" } else { "192.0.2.1:4433" }.parse().unwrap();
        let local = |port: u16| -> SocketAddr { format!("{any}:{port}").parse().unwrap() };
        let session = pair.client.connect(pair.now, &[(local(1001), server), (local(1002), server)]).unwrap();
        pair.run(Duration::from_millis(500));
        assert_eq!(pair.client.connections_of(session), 1, "one connection has both");
        let used: Vec<_> = (0..2).map(|path| pair.client.addresses(session, path)).collect();
        assert_eq!(used, [1001, 1002].map(|port| Some((local(port), server))));
        // packets of both paths in some seconds: a keep-alive every second
        let mut sources = BTreeSet::new();
        for _ in 0..30 {
            pair.run(Duration::from_millis(95));
            pair.now = pair.client.next_wake().unwrap().max(pair.now);
            pair.client.wake(pair.now);
            for sent in Pair::sent(&mut pair.client, pair.now) {
                sources.insert(sent.packet.tuple.source());
                pair.server.receive(pair.now, sent.packet);
            }
        }
        assert_eq!(sources, [local(1001), local(1002)].into());
    }
}

/// Change of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Its interface has no address: no packet passes in either direction, and the client is not informed.
    Gone(usize),
    /// It has a new socket, as after each change of an address.
    Moved(usize),
}

/// A client with a socket for each of two paths, each to an address of its own of the server.
struct Moving {
    pair: Pair,
    session: SessionId,
    /// Current sockets; `None` if there is none.
    sockets: [Option<SocketAddr>; 2],
    next_port: u16,
    closed: usize,
}

impl Moving {
    /// Creates a client whose first sockets have these addresses; later ones have the unspecified address.
    fn new(addresses: [IpAddr; 2], mtu_discovery: bool) -> Self {
        let mut pair = Pair::new(|config| {
            config.kind = CarrierKind::Multipath;
            config.mtu_discovery = mtu_discovery;
        });
        let paths = [0, 1].map(|path| {
            let server = SocketAddr::from(([10, 1, path as u8, 1], 4433));
            (SocketAddr::new(addresses[path], 1000 + path as u16), server)
        });
        let session = pair.client.connect(pair.now, &paths).unwrap();
        Self { pair, session, sockets: paths.map(|(local, _)| Some(local)), next_port: 1002, closed: 0 }
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Gone(path) => self.sockets[path] = None,
            Change::Moved(path) => {
                let local = SocketAddr::from(([0, 0, 0, 0], self.next_port));
                self.sockets[path] = Some(local);
                self.pair.client.rebind_path(self.pair.now, self.session, path, local).unwrap();
                self.next_port += 1;
            }
        }
    }

    /// Runs for `length`; packets to and from a former socket are lost.
    fn run(&mut self, length: Duration) {
        let sockets = self.sockets;
        self.pair.run_over(length, |from, mut packet| {
            let (source, destination) = (packet.tuple.source(), packet.tuple.destination());
            let (port, server) = match from {
                Role::Client => (source.port(), destination),
                Role::Server => (destination.port(), source),
            };
            let IpAddr::V4(address) = server.ip() else { return None };
            let path = address.octets()[2];
            let socket = sockets[usize::from(path)].filter(|socket| socket.port() == port)?;
            packet.tuple = match from {
                Role::Client => FiveTuple::new(Protocol::Udp, ([10, 1, path, 2], port).into(), server),
                Role::Server => FiveTuple::new(Protocol::Udp, server, socket),
            };
            Some(packet)
        });
        let is_close = |event: &TunnelEvent| matches!(event, TunnelEvent::SessionClosed { .. });
        self.closed += std::iter::from_fn(|| self.pair.client.poll_event()).filter(is_close).count();
        while self.pair.server.poll_event().is_some() {}
    }

    /// Whether both ends use all paths that have a socket, in one connection.
    fn is_whole(&self) -> bool {
        let now = self.pair.now;
        [&self.pair.client, &self.pair.server].iter().all(|end| {
            end.sessions().first().is_some_and(|session| {
                let mut paths = (0..2).filter(|path| self.sockets[*path].is_some());
                end.connections_of(*session) == 1
                    && paths.all(|path| end.path_state(now, *session, path).usable)
            })
        })
    }
}

/// All sequences of up to `longest` changes.
fn sequences(longest: usize) -> Vec<Vec<Change>> {
    let all = [Change::Gone(0), Change::Gone(1), Change::Moved(0), Change::Moved(1)];
    let (mut found, mut last) = (Vec::new(), vec![Vec::new()]);
    for _ in 0..longest {
        let longer = |before: Vec<Change>| all.map(|change| [before.clone(), vec![change]].concat());
        last = last.into_iter().flat_map(longer).collect();
        found.extend(last.clone());
    }
    found
}

/// Checks that after all sequences of changes, at times when the client connects or is connected, the same session uses the
/// available paths again. If it `returns`, removed paths come back; else one path remains absent.
fn paths_are_used_again(returns: bool) {
    let addresses = [[[0, 0, 0, 0]; 2], [[10, 1, 0, 2], [10, 1, 1, 2]]];
    let times = [(25, 6), (25, 100), (2000, 0), (2000, 6), (2000, 20), (2000, 100)];
    for (number, mut changes) in sequences(3).into_iter().enumerate() {
        let is_gone = |path: usize| {
            let of_path =
                |change: &&Change| matches!(change, Change::Gone(of) | Change::Moved(of) if *of == path);
            matches!(changes.iter().rfind(of_path), Some(Change::Gone(_)))
        };
        let gone: Vec<_> = (0..2).filter(|path| is_gone(*path)).collect();
        if !returns && gone.len() != 1 {
            continue;
        }
        changes.extend(gone.into_iter().filter(|_| returns).map(Change::Moved));
        for (start, gap) in times.into_iter().filter(|(start, _)| returns || *start == 2000) {
            let mtu_discovery = number % 2 == 0;
            let mut moving = Moving::new(addresses[number / 2 % 2].map(IpAddr::from), mtu_discovery);
            moving.run(Duration::from_millis(start));
            for change in &changes {
                moving.change(*change);
                moving.run(Duration::from_millis(gap));
            }
            // one attempt to open a path may fail, and silence must be noticed
            let end = moving.pair.now + OPENING + MIN_SILENCE * 3;
            while !moving.is_whole() {
                assert!(
                    moving.pair.now < end,
                    "{start} ms, {gap} ms, {changes:?}, MTU discovery: {mtu_discovery}"
                );
                moving.run(Duration::from_millis(100));
            }
            let was_open = start == 2000;
            assert!(!was_open || moving.closed == 0, "{start} ms, {gap} ms, {changes:?}");
        }
    }
}

#[test]
fn paths_that_move_or_return_are_used_again() {
    paths_are_used_again(true);
}

#[test]
fn a_path_that_moves_is_used_again_without_the_other() {
    paths_are_used_again(false);
}
