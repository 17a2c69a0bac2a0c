//! Who is let in.

use crate::KINDS;
use crate::network::*;
use crate::throughput::window;
use quiclab_stacks::carrier::TunnelEvent;

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
