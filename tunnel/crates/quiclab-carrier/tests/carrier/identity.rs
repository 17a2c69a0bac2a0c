//! Acceptance of peers.

use crate::KINDS;
use crate::network::*;
use crate::throughput::window;
use quiclab_carrier::{CloseReason, KnownPeers, TunnelEvent};
use quiclab_core::Time;

fn refusals(end: &End) -> usize {
    end.events.iter().filter(|(_, event)| matches!(event, TunnelEvent::Refused { .. })).count()
}

fn opened(end: &End) -> bool {
    end.events.iter().any(|(_, event)| matches!(event, TunnelEvent::SessionOpened { .. }))
}

#[test]
fn wrong_keys_are_refused_by_both_sides() {
    // (server and the clients it knows), (client and the servers it knows)
    for (server, client) in
        [((2, vec![7]), (1, vec![2])), ((2, vec![1]), (1, vec![7])), ((2, vec![]), (1, vec![]))]
    {
        for kind in KINDS {
            let mut setup = Setup::new(kind, window(62_500), &[Link::mbps(20, 10, 50)]);
            (setup.server_keys, setup.client_keys) = (server.clone(), client.clone());
            let mut network = setup.network();
            network.run_until(at(100));
            assert_eq!(
                network.ends.each_ref().map(refusals),
                [1, 1],
                "{kind:?}: {:?}",
                network.ends[1].events
            );
            network.run_until(at(60_000));
            assert!(!network.ends.iter().any(opened));
            // 0.25, 0.5, 1, 2, 4, 5, 5 ... s apart: about 15 attempts in a minute, one event for each
            let count = network.ends.each_ref().map(refusals);
            assert!((12..=17).contains(&count[SERVER]) && count[CLIENT] == count[SERVER], "{count:?}");
            // the last attempt is over and forgotten before the next
            network.run_until(at(61_500));
            let kept = network.ends.each_ref().map(|end| end.endpoint.connections());
            assert!(kept.iter().all(|kept| *kept <= 1), "{kept:?}");
            println!("{kind:?}: {count:?} refusals, {kept:?} connections kept");
            println!("  {:?}", network.ends[SERVER].events[0].1);
            println!("  {:?}", network.ends[CLIENT].events[0].1);
        }
    }
}

#[test]
fn the_key_of_the_peer_is_told() {
    for kind in KINDS {
        let mut network = Setup::new(kind, window(62_500), &[Link::mbps(20, 10, 50)]).network();
        network.establish();
        for (end, peer) in network.ends.iter().zip([2, 1]) {
            assert_eq!(end.endpoint.peer(end.session.unwrap()), Some(key(peer).public()));
        }
    }
}

/// Peers, each given by the numbers of its keys.
fn peers(numbers: &[&[u8]]) -> KnownPeers {
    KnownPeers::new(numbers.iter().map(|keys| keys.iter().map(|number| key(*number).public())))
}

#[test]
fn a_session_belongs_to_its_peer_whichever_key_it_has_proved() {
    for kind in KINDS {
        for (known, same) in [(&[&[1, 3][..]][..], true), (&[&[1], &[3]], false)] {
            let setup = || Setup::new(kind, window(62_500), &[Link::mbps(20, 10, 50)]);
            let mut network = setup().network();
            network.ends[SERVER].endpoint.set_peers(Time::ZERO, peers(known));
            network.establish();
            let first = network.ends[SERVER].session.unwrap();
            network.ends[SERVER].events.clear();
            // the client stops without closing, and returns with its other key
            let mut client = Setup { client_keys: (3, vec![2]), seed: 2, ..setup() }.network();
            std::mem::swap(&mut client.ends[SERVER], &mut network.ends[SERVER]);
            client.forget_flying(network.now);
            client.ends[CLIENT].endpoint.wake(network.now);
            client.pump(CLIENT);
            client.run_until(network.now + ms(1000));
            let server = &client.ends[SERVER];
            let replaced = |event: &TunnelEvent| {
                *event == TunnelEvent::SessionClosed { session: first, reason: CloseReason::Replaced }
            };
            assert!(opened(server), "{:?}", server.events);
            assert_eq!(server.events.iter().any(|(_, event)| replaced(event)), same, "{:?}", server.events);
            assert_eq!(server.endpoint.sessions().len(), if same { 1 } else { 2 });
        }
    }
}

#[test]
fn a_key_that_is_removed_during_the_handshake_is_not_let_in() {
    for kind in KINDS {
        // 10 ms each way: the server has the first flight of the client at 10, the client that of the server at 20, the server
        // is connected and asked for a session at 30
        for (who, millis) in
            [(SERVER, 5), (SERVER, 15), (SERVER, 25), (CLIENT, 5), (CLIENT, 15), (CLIENT, 35)]
        {
            let mut network = Setup::new(kind, window(62_500), &[Link::mbps(1000, 10, 50)]).network();
            network.run_until(at(millis));
            network.ends[who].endpoint.set_peers(at(millis), peers(&[&[7]]));
            network.pump(who);
            network.run_until(at(200));
            let end = &network.ends[who];
            assert!(!opened(end) && refusals(end) == 1, "{kind:?}, {who} at {millis} ms: {:?}", end.events);
            // known again, it is accepted
            let again = if who == SERVER { 1 } else { 2 };
            network.ends[who].endpoint.set_peers(at(200), peers(&[&[again]]));
            network.run_until(at(5000));
            assert!(network.ends.iter().all(opened), "{kind:?}, {who} at {millis} ms");
        }
    }
}
