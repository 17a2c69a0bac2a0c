//! Several paths in one connection are used if both ends offer them; else there is a connection for each path.

use super::network::{CLIENT, Link, Network, SERVER, Setup, at, client_address, ms, server_address};
use super::throughput::window;
use quiclab_carrier::{CloseReason, TunnelEvent};
use quiclab_core::tunnel::CarrierKind::{self, Connections, Multipath};
use std::net::SocketAddr;

fn connections(client: CarrierKind, server: CarrierKind) -> Network {
    let setup = Setup {
        server_kind: Some(server),
        ..Setup::new(client, window(62_500), &[Link::mbps(20, 10, 50), Link::mbps(10, 20, 50)])
    };
    setup.network()
}

#[test]
fn each_end_decides_alone_and_every_pair_carries_on_both_paths() {
    for (client, server, expected) in [
        (Multipath, Multipath, 1),
        (Multipath, Connections, 2),
        (Connections, Multipath, 2),
        (Connections, Connections, 2),
    ] {
        let mut network = connections(client, server);
        network.establish();
        for who in [CLIENT, SERVER] {
            let endpoint = &network.ends[who].endpoint;
            let session = *endpoint.sessions().first().unwrap();
            assert_eq!(endpoint.connections_of(session), expected, "{client:?}, {server:?} at {who}");
            network.ends[who].backlog = u64::MAX;
            network.pump(who);
        }
        network.run_until(at(5000));
        network.assert_exact();
        for who in [CLIENT, SERVER] {
            let rates = network.goodput(who, at(2000), at(5000));
            assert!(rates[0] > 15.0 && rates[1] > 7.5, "{client:?}, {server:?} at {who}: {rates:?}");
        }
    }
}

#[test]
fn a_client_asks_again_when_it_begins_anew() {
    let mut network = connections(Multipath, Connections);
    network.establish();
    for path in [0, 1] {
        network.switch(path, false);
    }
    network.run_until(at(40_000));
    let closed =
        |event: &TunnelEvent| matches!(event, TunnelEvent::SessionClosed { reason: CloseReason::Idle, .. });
    assert!(network.ends[CLIENT].events.iter().any(|(_, event)| closed(event)));
    for path in [0, 1] {
        network.switch(path, true);
    }
    network.ends.iter_mut().for_each(|end| end.events.clear());
    network.establish();
    let endpoint = &network.ends[CLIENT].endpoint;
    assert_eq!(endpoint.connections_of(endpoint.sessions()[0]), 2);
}

#[test]
fn a_path_that_moves_keeps_its_connection_where_each_path_has_one() {
    let mut network = connections(Multipath, Connections);
    network.establish();
    let session = network.ends[CLIENT].session.unwrap();
    let moved = SocketAddr::new(client_address(0).ip(), 9);
    let now = network.now;
    network.ends[CLIENT].endpoint.rebind_path(now, session, 0, moved).unwrap();
    network.pump(CLIENT);
    network.run_until(at(10_000));
    let endpoint = &network.ends[CLIENT].endpoint;
    assert_eq!(endpoint.connections_of(session), 2);
    let down = |event: &TunnelEvent| matches!(event, TunnelEvent::PathDown { .. });
    assert!(!network.ends[CLIENT].events.iter().any(|(_, event)| down(event)));
}

/// Properties of a session, such as the addresses of the tunnel, stay with it after its paths have moved.
#[test]
fn the_session_goes_on_when_all_paths_move_where_each_has_a_connection() {
    let mut network = connections(Multipath, Connections);
    network.establish();
    let sessions = |network: &Network| network.ends.each_ref().map(|end| end.endpoint.sessions());
    let before = sessions(&network);
    network.ends.iter_mut().for_each(|end| end.events.clear());
    let session = network.ends[CLIENT].session.unwrap();
    let moved = |path: usize| SocketAddr::new([10, 3, path as u8, 77].into(), 4433);
    for path in [0, 1] {
        let now = network.now;
        network.ends[CLIENT].endpoint.rebind_path(now, session, path, moved(path)).unwrap();
        network.pump(CLIENT);
        network.run_until(now + ms(1000));
    }
    let now = network.now;
    for who in [CLIENT, SERVER] {
        network.ends[who].backlog = u64::MAX;
        network.pump(who);
    }
    network.run_until(now + ms(3000));
    assert_eq!(sessions(&network), before);
    for who in [CLIENT, SERVER] {
        let end = &network.ends[who];
        assert_eq!(end.endpoint.connections_of(before[who][0]), 2);
        let changed = |event: &TunnelEvent| {
            matches!(event, TunnelEvent::SessionOpened { .. } | TunnelEvent::SessionClosed { .. })
        };
        assert!(!end.events.iter().any(|(_, event)| changed(event)), "{:?}", end.events);
        let rates = network.goodput(who, now + ms(1000), now + ms(3000));
        assert!(rates[0] > 15.0 && rates[1] > 7.5, "to {who}: {rates:?}");
    }
    for path in [0, 1] {
        let addresses = network.ends[SERVER].endpoint.addresses(before[SERVER][0], path);
        assert_eq!(addresses, Some((server_address(path), moved(path))), "path {path} as the server sees it");
    }
}
