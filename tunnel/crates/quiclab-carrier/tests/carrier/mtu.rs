//! Paths that carry less than their configured MTU, from the start or from some time on, and losses that look like this.

use crate::KINDS;
use crate::network::*;
use crate::throughput::window;
use quiclab_carrier::{PathMtu, TunnelEvent};
use quiclab_core::Time;
use quiclab_core::tunnel::CarrierKind;

/// Two paths of 20 Mbit/s with discovery, of which the first carries packets of `mtu` bytes and takes `delay_ms` each way.
fn two(kind: CarrierKind, mtu: u16, delay_ms: u64, segments: usize) -> Network {
    let link = Link::mbps(20, delay_ms, 50);
    let links = [Link { mtu, ..link }, Link::mbps(20, 10, 50)];
    // 20 Mbit/s for 1.25 times the round trip
    let path = window((delay_ms + 5) * 2 * 2500 * 5 / 4);
    let setup = Setup { mtu_discovery: true, segments, ..Setup::new(kind, path, &links) };
    let mut network = setup.network();
    network.establish();
    network
}

fn mtu(network: &Network, who: usize, path: usize) -> PathMtu {
    let end = &network.ends[who];
    end.endpoint.path_mtu(end.session.unwrap(), path).expect("it carries data")
}

/// Runs until the search of an end has ended; returns the MTU that it has found.
fn found(network: &mut Network, who: usize, path: usize, latest: Time) -> u16 {
    while mtu(network, who, path).searching {
        assert!(network.now < latest, "{:?} at {}", mtu(network, who, path), network.now);
        network.run_until(network.now + ms(10));
    }
    mtu(network, who, path).bytes
}

fn downs(network: &Network) -> usize {
    let down = |(_, event): &&(Time, TunnelEvent)| matches!(event, TunnelEvent::PathDown { .. });
    network.ends.iter().flat_map(|end| &end.events).filter(down).count()
}

#[test]
fn the_mtu_of_each_path_is_found_and_an_idle_path_stays_up() {
    for kind in KINDS {
        for (carries, delay_ms) in [(1500, 10), (1400, 1), (1400, 50), (1280, 10), (1280, 300)] {
            let mut network = two(kind, carries, delay_ms, 1);
            // seven steps from 1200 to 1472 bytes, each with three probes of which each is lost after three round trips
            let latest = network.now + ms(200 + (7 * 3 * 3) * 2 * delay_ms.max(10));
            for who in [CLIENT, SERVER] {
                for (path, carries) in [(0, carries), (1, 1500)] {
                    let found = found(&mut network, who, path, latest);
                    assert!((carries - 8..=carries).contains(&found), "{kind:?}, {carries}: {found}");
                }
            }
            println!("{kind:?}, {carries} bytes, {delay_ms} ms: known at {}", network.now);
            network.run_until(network.now + ms(10_000));
            assert_eq!(downs(&network), 0, "{kind:?}, {carries}, {delay_ms}");
        }
    }
}

#[test]
fn datagrams_pass_in_fragments_before_the_mtu_is_known() {
    for (kind, segments) in [(KINDS[0], 1), (KINDS[0], 16), (KINDS[1], 1)] {
        // permanently too long for a datagram of the first path, which is reported to the next layer
        let mut network = two(kind, 1400, 10, segments);
        let (number, path) = (20, 0);
        assert!(mtu(&network, CLIENT, path).searching, "a search takes longer than establishing");
        network.ends[CLIENT].schedule = Schedule::Only(path);
        network.ends[CLIENT].backlog = number;
        network.pump(CLIENT);
        network.run_until(network.now + ms(60));
        let arrived = network.ends[SERVER].arrived.len() as u64;
        assert!(arrived > 0 && network.ends[CLIENT].backlog < number);
        let latest = network.now + ms(5000);
        found(&mut network, CLIENT, path, latest);
        let left = number - network.ends[CLIENT].backlog;
        network.run_until(network.now + ms(100));
        assert_eq!(network.ends[SERVER].arrived.len() as u64, left, "all that have left have arrived");
        let session = network.ends[CLIENT].session.unwrap();
        assert_eq!(network.ends[CLIENT].endpoint.fragmented(session).0, left);
        network.assert_exact();
    }
}

#[test]
fn a_path_that_shrinks_carries_on_and_the_other_is_unaffected() {
    for (kind, delay_ms) in [(KINDS[0], 10), (KINDS[0], 50), (KINDS[1], 10)] {
        let mut network = two(kind, 1500, delay_ms, 1);
        found(&mut network, SERVER, 0, at(5000));
        found(&mut network, SERVER, 1, at(5000));
        network.ends[SERVER].backlog = u64::MAX;
        network.pump(SERVER);
        network.run_until(at(6500));
        network.links[0].iter_mut().for_each(|link| link.mtu = 1440);
        // four bursts of losses, each found by a probe timeout of about three round trips and its acknowledgement
        let latest = at(6500) + ms(500 + 4 * 4 * 2 * delay_ms);
        while mtu(&network, SERVER, 0).bytes == 1500 {
            network.run_until(network.now + ms(1));
            assert!(network.now < latest, "no black hole");
        }
        let noticed = network.now;
        network.run_until(noticed + ms(2 * delay_ms + 100));
        let again = network.ends[CLIENT].arrived.iter().find(|(time, path, _)| *path == 0 && *time > noticed);
        println!(
            "{kind:?}, {delay_ms} ms: shrinks at 6.5 s, noticed at {noticed}, again at {}",
            again.unwrap().0
        );
        let known = found(&mut network, SERVER, 0, at(14_000));
        assert!((1432..=1440).contains(&known), "{known}");
        println!("known at {}", network.now);
        assert_eq!(downs(&network), 0);
        if kind == CarrierKind::Connections {
            for second in 6..network.now.as_nanos() / 1_000_000_000 {
                let rate = network.goodput(CLIENT, at(second * 1000), at(second * 1000 + 1000))[1];
                assert!(rate > 17.0, "the other path: {rate} Mbit/s in second {second}");
            }
            assert_eq!(mtu(&network, SERVER, 1).bytes, 1500);
        }
        network.assert_exact();
    }
}

#[test]
fn losses_are_no_black_hole_for_long() {
    for loss in [0.02, 0.2] {
        let mut network = two(KINDS[0], 1500, 10, 1);
        network.ends[SERVER].backlog = u64::MAX;
        network.pump(SERVER);
        network.run_until(at(2000));
        network.links[0].iter_mut().for_each(|link| link.loss = loss);
        // and outages longer than a probe timeout, as many as a black hole takes, with losses in between
        for outage in 0..8 {
            network.switch(0, false);
            network.run_until(at(2000 + outage * 500 + 200));
            network.switch(0, true);
            network.run_until(at(2000 + outage * 500 + 500));
        }
        let alarms = mtu(&network, SERVER, 0);
        println!("{loss}: {alarms:?} at {}", network.now);
        network.links[0].iter_mut().for_each(|link| link.loss = 0.0);
        let begin = network.now;
        network.run_until(begin + ms(2500));
        let known = found(&mut network, SERVER, 0, begin + ms(2500));
        assert!(known >= 1492, "{known}");
        let session = network.ends[SERVER].session.unwrap();
        println!(
            "{:?} fragmented of {}",
            network.ends[SERVER].endpoint.fragmented(session),
            network.ends[SERVER].left.len()
        );
        assert_eq!(network.statistic(SERVER, "datagrams_misplaced"), 0.0);
    }
}
