//! Datagrams of strangers: random, replayed, changed, and handshakes that are never completed.

use crate::KINDS;
use crate::network::*;
use crate::throughput::window;
use bytes::BytesMut;
use quiclab_core::tunnel::CarrierKind;
use quiclab_core::{FiveTuple, Packet, Payload, Protocol, RandomStream, Role};
use quiclab_stacks::carrier::{Randomness, TunnelEndpoint, TunnelEndpointConfig, TunnelEvent};

fn packet(from: &str, bytes: &[u8]) -> Packet {
    Packet {
        tuple: FiveTuple::new(Protocol::Udp, from.parse().unwrap(), server_address(0)),
        payload: Payload::Bytes(BytesMut::from(bytes)),
        ..Packet::default()
    }
}

#[test]
fn a_flood_of_random_and_replayed_datagrams_changes_nothing() {
    for kind in KINDS {
        let link = Link::mbps(20, 10, 50);
        let mut network = Setup::new(kind, window(62_500), &[link, link]).network();
        network.log = Some(Vec::new());
        network.establish();
        network.ends[SERVER].backlog = u64::MAX;
        network.ends[CLIENT].backlog = u64::MAX;
        network.run_until(at(1500));
        let recorded = network.log.take().unwrap();
        let mut random = RandomStream::new(1, "flood");
        let start = network.now;
        // 100 000 in a second
        for step in 0..1000 {
            for _ in 0..100 {
                let mut bytes = match random.bits() % 4 {
                    0 => {
                        let mut bytes = vec![0; 1 + random.bits() as usize % 1400];
                        random.fill(&mut bytes);
                        bytes
                    }
                    _ => recorded[random.bits() as usize % recorded.len()].2.clone(),
                };
                if random.bits().is_multiple_of(3) {
                    let index = random.bits() as usize % bytes.len();
                    bytes[index] ^= 1 << (random.bits() % 8);
                }
                let from =
                    ["198.51.100.9:1000", "10.3.0.1:4433", "10.3.1.1:4433"][random.bits() as usize % 3];
                let now = network.now;
                network.ends[SERVER].endpoint.receive(now, packet(from, &bytes));
            }
            // answers to strangers are on no path: they are not sent on
            let now = network.now;
            let mut answers = Vec::new();
            while let Some(outgoing) = network.ends[SERVER].endpoint.transmit(now) {
                answers.push(outgoing);
            }
            assert!(answers.len() < 400, "{}", answers.len());
            network.run_until(start + ms(step + 1));
            let connections = network.ends[SERVER].endpoint.connections();
            assert!(connections <= 2 + 64, "{kind:?}: {connections} connections");
        }
        let flooded = network.now;
        network.run_until(flooded + ms(6000));
        for who in [CLIENT, SERVER] {
            let rates = network.goodput(who, flooded + ms(2000), flooded + ms(6000));
            println!("{kind:?}, to {who}: {rates:.2?}");
            assert!(rates.iter().all(|rate| *rate > 15.0), "{kind:?}, to {who}: {rates:?}");
            let closed = |event: &TunnelEvent| matches!(event, TunnelEvent::SessionClosed { .. });
            assert!(!network.ends[who].events.iter().any(|(_, event)| closed(event)), "{kind:?}");
        }
        // the half-open ones are forgotten
        network.run_until(flooded + ms(12_000));
        let kept = if kind == CarrierKind::Connections { 2 } else { 1 };
        assert_eq!(network.ends[SERVER].endpoint.connections(), kept, "{kind:?}");
        let refused = network.ends[SERVER]
            .events
            .iter()
            .filter(|(_, event)| matches!(event, TunnelEvent::Refused { .. }));
        assert!(refused.count() <= 10 * 13, "at most ten per second");
    }
}

#[test]
fn handshakes_that_are_never_completed_do_not_shut_others_out() {
    let link = Link::mbps(20, 10, 50);
    let mut network = Setup::new(CarrierKind::Connections, window(62_500), &[link, link]).network();
    network.establish();
    let mut most = 0;
    let mut retries = 0;
    for number in 0..2000_u64 {
        // a stranger with a key that is not known sends its first packet from a forged address
        let config = TunnelEndpointConfig::new(
            Role::Client,
            key(9),
            vec![key(2).public()],
            Randomness::Seeded(number),
        );
        let mut stranger = TunnelEndpoint::new(config).unwrap();
        let now = network.now;
        let from = format!("198.51.{}.{}:999", number / 250, number % 250);
        stranger.connect(now, &[(from.parse().unwrap(), server_address(0))]).unwrap();
        let first = stranger.transmit(now).unwrap().packet;
        network.ends[SERVER].endpoint.receive(now, first);
        while let Some(outgoing) = network.ends[SERVER].endpoint.transmit(now) {
            let Payload::Bytes(bytes) = &outgoing.packet.payload else { panic!() };
            retries += usize::from(bytes[0] & 0xF0 == 0xF0); // RFC 9000 section 17.2.5, the fixed bit set
        }
        most = most.max(network.ends[SERVER].endpoint.connections());
        if number == 1000 {
            // somebody who is known still comes in: a new session replaces the old one
            let mut client = Setup::new(CarrierKind::Connections, window(62_500), &[link, link]).network();
            std::mem::swap(&mut client.ends[SERVER], &mut network.ends[SERVER]);
            client.forget_flying(network.now);
            client.ends[CLIENT].endpoint.wake(network.now);
            client.pump(CLIENT);
            client.run_until(network.now + ms(2000));
            let opened = |event: &TunnelEvent| matches!(event, TunnelEvent::SessionOpened { .. });
            assert!(
                client.ends[CLIENT].events.iter().any(|(_, event)| opened(event)),
                "{:?}",
                client.ends[CLIENT].events
            );
            std::mem::swap(&mut client.ends[SERVER], &mut network.ends[SERVER]);
        }
    }
    println!("at most {most} connections, {retries} retries");
    assert!(most <= 2 + 17, "{most} connections"); // a quarter of 64 and one
    // virtual time stands still: 32 for each of eight networks, and the others get no answer
    assert_eq!(retries, 8 * 32);
}

#[test]
fn a_handshake_without_a_loss_needs_no_more_than_the_client_has_sent() {
    for kind in KINDS {
        for mtu_discovery in [false, true] {
            let link = Link::mbps(20, 10, 50);
            let mut setup = Setup::new(kind, window(62_500), &[link, link]);
            setup.mtu_discovery = mtu_discovery;
            let mut network = setup.network();
            network.establish();
            let strangers = network.ends[SERVER].endpoint.strangers();
            assert_eq!(strangers, Default::default(), "{kind:?}, MTU discovery {mtu_discovery}");
        }
    }
}
