//! The same seed produces the same bytes.

use crate::KINDS;
use crate::network::*;
use crate::throughput::control;
use quiclab_carrier::{CarrierSetup, NoqCarrier, PathConfig};
use quiclab_core::tunnel::{Carrier, CarrierKind, TunnelPayload};
use quiclab_core::{Payload, Role, Time};
use quiclab_transport::options::CongestionControl;

fn run(kind: CarrierKind, seed: u64) -> Vec<(Time, usize, Vec<u8>)> {
    let links = [Link { loss: 0.01, ..Link::mbps(20, 10, 50) }, Link::mbps(10, 20, 30)];
    let mut setup = Setup::new(kind, control(CongestionControl::BbrLinux), &links);
    setup.seed = seed;
    let mut network = setup.network();
    network.log = Some(Vec::new());
    network.establish();
    network.ends.iter_mut().for_each(|end| end.backlog = u64::MAX);
    network.run_until(at(2500));
    network.switch(1, false);
    network.run_until(at(4000));
    network.log.take().unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for kind in KINDS {
        let first = run(kind, 1);
        assert!(first.len() > 5000, "{}", first.len());
        assert!(first == run(kind, 1), "{kind:?}: two runs with one seed differ");
        assert!(first != run(kind, 2), "{kind:?}: the seed changes nothing");
    }
}

#[test]
fn carriers_between_fixed_addresses() {
    for kind in KINDS {
        let end = |role, name: &str| {
            NoqCarrier::new(CarrierSetup {
                role,
                kind,
                paths: vec![PathConfig { mtu: 1400, ..PathConfig::default() }, PathConfig::default()],
                start: at(5),
                idle_timeout: ms(30_000),
                keep_alive: ms(1000),
                seed: 3,
                name: name.to_owned(),
            })
        };
        let mut ends = [end(Role::Client, "client"), end(Role::Server, "server")];
        let mut flying: Vec<(Time, usize, usize, Box<quiclab_core::Packet>)> = Vec::new();
        let (mut now, mut sent, mut arrived, mut sizes) = (Time::ZERO, 0, Vec::new(), Vec::new());
        while now < at(2000) {
            for who in 0..2 {
                flying.sort_by_key(|(time, ..)| *time);
                while flying.first().is_some_and(|(time, to, ..)| *time <= now && *to == who) {
                    let (_, to, path, packet) = flying.remove(0);
                    ends[to].receive(now, path, packet);
                }
                let carrier = &mut ends[who];
                if carrier.next_wake().is_some_and(|wake| wake <= now) {
                    carrier.wake(now);
                }
                while let Some((path, cargo)) = carrier.delivered() {
                    arrived.push((path, cargo));
                }
                let path = sent % 2;
                if who == 1 && now > at(1000) && carrier.state(now, path).is_open() {
                    let length = carrier.largest_datagram(path).unwrap();
                    assert_eq!(
                        carrier.send(now, path, TunnelPayload::Reference { number: 0, length: length + 1 }),
                        Err(TunnelPayload::Reference { number: 0, length: length + 1 }),
                        "it is too large"
                    );
                    carrier
                        .send(now, path, TunnelPayload::Reference { number: sent as u64, length })
                        .unwrap();
                    sent += 1;
                    sizes.push((path, length));
                }
                while let Some((path, packet)) = carrier.transmit(now) {
                    let Payload::Bytes(bytes) = &packet.payload else { panic!() };
                    assert_eq!(packet.size.bytes(), bytes.len() as u64 + 28);
                    assert!(packet.size.bytes() <= if path == 0 { 1400 } else { 1500 });
                    flying.push((now + ms(10), 1 - who, path, packet));
                }
            }
            now += ms(1);
        }
        assert!(sent > 800 && arrived.len() > 800, "{kind:?}: {sent} sent, {} arrived", arrived.len());
        for (index, (path, cargo)) in arrived.iter().enumerate() {
            let (expected, length) = sizes[index];
            assert_eq!(
                (*path, cargo.clone()),
                (expected, TunnelPayload::Reference { number: index as u64, length })
            );
        }
        // 1400 - 28 - 1 (flags) - 8 (identifier) - 4 (packet number) - 16 (tag) - 9 (frame, at most) - 1
        // (tunnel)
        let largest: Vec<u16> = (0..2).map(|path| ends[1].largest_datagram(path).unwrap()).collect();
        println!("{kind:?}: largest {largest:?}");
        assert_eq!(largest, if kind == CarrierKind::Connections { [1333, 1433] } else { [1333, 1333] });
    }
}
