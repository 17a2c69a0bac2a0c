//! Tests of the paths of one connection.

use super::super::event::{SessionId, TunnelEvent};
use super::super::testing::Pair;
use quiclab_core::tunnel::CarrierKind;
use quiclab_core::{Duration, FiveTuple, Protocol, Role};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// As the sockets of two interfaces have them: the kernel chooses the address, and the port is what differs.
#[test]
fn two_paths_to_one_server_leave_by_their_own_sockets() {
    for any in ["0.0.0.0", "[::]"] {
        let mut pair = Pair::new(|config| config.kind = CarrierKind::Multipath);
        let server: SocketAddr =
            if any == "[::]" { "[2001:db8::1]:4433" } else { "192.0.2.1:4433" }.parse().unwrap();
        let local = |port: u16| -> SocketAddr { format!("{any}:{port}").parse().unwrap() };
        let session =
            pair.client.connect(pair.now, &[(local(1001), server), (local(1002), server)]).unwrap();
        pair.run(Duration::from_millis(500));
        assert_eq!(pair.client.connections_of(session), 1, "one connection has both");
        let used: Vec<_> = (0..2).map(|path| pair.client.addresses(session, path)).collect();
        assert_eq!(used, [1001, 1002].map(|port| Some((local(port), server))));
        // what both paths say in some seconds: a keep-alive each second
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

/// What happens to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Its interface has no address: nothing goes either way, and the client is not told.
    Gone(usize),
    /// It has a new socket, as after each change of an address.
    Moved(usize),
}

/// A client whose paths have sockets of the unspecified address, each of them to a server of its own address.
struct Moving {
    pair: Pair,
    session: SessionId,
    /// Ports of the sockets of now; `None`: there is none.
    ports: [Option<u16>; 2],
    next_port: u16,
    closed: usize,
}

impl Moving {
    fn new(mtu_discovery: bool) -> Self {
        let mut pair = Pair::new(|config| {
            config.kind = CarrierKind::Multipath;
            config.mtu_discovery = mtu_discovery;
        });
        let paths = [0, 1].map(|path| (Self::local(1000 + path), Self::server(path.into())));
        let session = pair.client.connect(pair.now, &paths).unwrap();
        Self { pair, session, ports: [Some(1000), Some(1001)], next_port: 1002, closed: 0 }
    }

    fn local(port: u16) -> SocketAddr {
        ([0, 0, 0, 0], port).into()
    }

    fn server(path: usize) -> SocketAddr {
        ([10, 1, path as u8, 1], 4433).into()
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Gone(path) => self.ports[path] = None,
            Change::Moved(path) => {
                self.ports[path] = Some(self.next_port);
                let local = Self::local(self.next_port);
                self.pair.client.rebind_path(self.pair.now, self.session, path, local).unwrap();
                self.next_port += 1;
            }
        }
    }

    fn run(&mut self, length: Duration) {
        let ports = self.ports;
        self.pair.run_over(length, |from, mut packet| {
            let tuple = packet.tuple;
            let (inside, server) = match from {
                Role::Client => (tuple.source(), tuple.destination()),
                Role::Server => (tuple.destination(), tuple.source()),
            };
            let path = usize::from(match server.ip() {
                IpAddr::V4(address) => address.octets()[2],
                IpAddr::V6(_) => return None,
            });
            if ports[path] != Some(inside.port()) {
                return None;
            }
            let outside = SocketAddr::from(([10, 1, path as u8, 2], inside.port()));
            packet.tuple = match from {
                Role::Client => FiveTuple::new(Protocol::Udp, outside, server),
                Role::Server => FiveTuple::new(Protocol::Udp, server, Self::local(inside.port())),
            };
            Some(packet)
        });
        let closed = |event: &TunnelEvent| matches!(event, TunnelEvent::SessionClosed { .. });
        self.closed += std::iter::from_fn(|| self.pair.client.poll_event()).filter(closed).count();
        while self.pair.server.poll_event().is_some() {}
    }

    /// Whether both ends use a path.
    fn is_up(&self, path: usize) -> bool {
        [&self.pair.client, &self.pair.server].iter().all(|end| {
            end.sessions().first().is_some_and(|session| {
                end.connections_of(*session) == 1 && end.path_state(self.pair.now, *session, path).usable
            })
        })
    }
}

/// All sequences of so many changes.
fn sequences(length: usize) -> Vec<Vec<Change>> {
    let all = [Change::Gone(0), Change::Gone(1), Change::Moved(0), Change::Moved(1)];
    let mut found = vec![Vec::new()];
    for _ in 0..length {
        let longer = |before: Vec<Change>| all.map(|change| [before.clone(), vec![change]].concat());
        found = found.into_iter().flat_map(longer).collect();
    }
    found
}

#[test]
fn explore() {
    let (mut bad, mut closed, mut total) = (0, 0, 0);
    let mut worst = Duration::ZERO;
    for mtu_discovery in [false, true] {
        let starts: Vec<u64> = std::env::var("STARTS").map_or(vec![2000], |text| text.split(',').map(|word| word.parse().unwrap()).collect());
        for start in starts {
            for gap in [0, 2, 6, 20, 100] {
                for length in 1..=4 {
                    for mut changes in sequences(length) {
                        for path in 0..2 {
                            let last = changes.iter().rfind(|change| matches!(change, Change::Gone(p) | Change::Moved(p) if *p == path));
                            if matches!(last, Some(Change::Gone(_))) && std::env::var("STAY").is_err() {
                                changes.push(Change::Moved(path));
                            }
                        }
                        total += 1;
                        let mut moving = Moving::new(mtu_discovery);
                        moving.run(Duration::from_millis(start));
                        for change in &changes {
                            moving.change(*change);
                            moving.run(Duration::from_millis(gap));
                        }
                        let mut took = Duration::ZERO;
                        let there: Vec<usize> = (0..2).filter(|path| moving.ports[*path].is_some()).collect();
                        while !there.iter().all(|path| moving.is_up(*path)) && took < Duration::from_secs(30) {
                            moving.run(Duration::from_millis(100));
                            took += Duration::from_millis(100);
                        }
                        worst = worst.max(took);
                        if took >= Duration::from_secs(5) {
                            bad += 1;
                            if bad < 40 { eprintln!("{took} mtu {mtu_discovery} start {start} gap {gap} {changes:?} closed {}", moving.closed); }
                        }
                        if start >= 2000 && moving.closed > 0 {
                            closed += 1;
                            if closed < 40 { eprintln!("closed: {took} mtu {mtu_discovery} start {start} gap {gap} {changes:?} {}", moving.closed); }
                        }
                    }
                }
            }
        }
    }
    eprintln!("{bad} late, {closed} closed of {total}; worst {worst}");
}

#[test]
fn debug_one() {
    let start: u64 = std::env::var("START").unwrap().parse().unwrap();
    let gap: u64 = std::env::var("GAP").unwrap().parse().unwrap();
    let mut moving = Moving::new(false);
    moving.run(Duration::from_millis(start));
    for word in std::env::var("CHANGES").unwrap().split(',') {
        let path = word[1..].parse().unwrap();
        moving.change(if word.starts_with('G') { Change::Gone(path) } else { Change::Moved(path) });
        moving.run(Duration::from_millis(gap));
    }
    for _ in 0..4 {
        moving.run(Duration::from_millis(400));
        for (name, end) in [("client", &mut moving.pair.client), ("server", &mut moving.pair.server)] {
            eprintln!("{name}");
            for (id, session) in &end.sessions {
                eprintln!("  {id:?} open {} multipath {} asking {:?} token {} timer {:?}", session.open, session.multipath, session.asking, session.token.is_some(), session.timer);
                for slot in &session.slots {
                    eprintln!("    slot {:?} {:?} {:?} up {} retry {}", slot.local, slot.remote, slot.connection, slot.up, slot.retry_at);
                }
            }
            for (key, conn) in &mut end.connections {
                eprintln!("  {key:?} bound {} over {} connected {} multi {} names {:?} validated {:?} quic {:?}", conn.bound, conn.over, conn.connected, conn.is_multipath(), conn.names, conn.validated, conn.quic.paths());
                let stats = conn.quic.stats();
                eprintln!("    tx {:?}\n    rx {:?}", stats.frame_tx, stats.frame_rx);
                for track in &conn.tracks {
                    eprintln!("    {:?} slot {:?} est {} alive {} {} {} {:?}", track.id, track.slot, track.established, track.liveness.is_alive(), track.local, track.remote, conn.quic.path_stats(track.id).map(|s| (s.udp_tx, s.udp_rx)));
                }
            }
        }
    }
}
