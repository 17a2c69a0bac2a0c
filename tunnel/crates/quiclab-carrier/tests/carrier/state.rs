//! State of a path that the scheduler receives.

use crate::KINDS;
use crate::network::*;
use crate::throughput::{control, window};
use quiclab_core::scheduler::PathState;
use quiclab_core::tunnel::{Carrier, CarrierKind};
use quiclab_core::{ByteCount, DataRate};
use quiclab_transport::options::CongestionControl;

/// 20 Mbit/s and an RTT of 20 ms: 50 kB.
const LINK: (u64, u64) = (20, 10);

fn state(network: &mut Network, path: usize) -> PathState {
    let now = network.now;
    let end = &mut network.ends[SERVER];
    end.endpoint.carrier(end.session.unwrap()).unwrap().state(now, path)
}

#[test]
fn a_path_is_described_by_what_it_does() {
    let (rate, delay) = LINK;
    for kind in KINDS {
        // a queue of 125 kB, so that the window of CUBIC fills the path
        let links = [Link::mbps(rate, delay, 100), Link::mbps(rate, 2 * delay, 100)];
        let mut network = Setup::new(kind, control(CongestionControl::Cubic), &links).network();
        network.establish();
        let quiet = state(&mut network, 0);
        assert!(quiet.usable && quiet.has_room && quiet.is_open(), "{quiet:?}");
        assert_eq!((quiet.rate, quiet.in_flight), (None, ByteCount::ZERO), "{kind:?}");
        network.ends[SERVER].backlog = u64::MAX;
        network.pump(SERVER);
        network.run_until(network.now + ms(10_000));
        // one connection is acknowledged on its lowest path
        let back = if kind == CarrierKind::Multipath { delay } else { 2 * delay };
        for (path, round_trip) in [(0, 2 * delay), (1, 2 * delay + back)] {
            let state = state(&mut network, path);
            assert!(state.usable, "{state:?}");
            // a packet of 1500 bytes takes 0.6 ms, its acknowledgement less
            assert!(
                (ms(round_trip)..ms(round_trip + 1)).contains(&state.min_rtt),
                "{kind:?}, {path}: {state:?}"
            );
            assert!(state.srtt > state.min_rtt && state.srtt < ms(round_trip + 61), "a queue: {state:?}");
            let mbps = state.rate.map_or(0.0, DataRate::as_mbps_f64);
            assert!((0.9 * rate as f64..1.05 * rate as f64).contains(&mbps), "{kind:?}, {path}: {state:?}");
            let product = rate * 1_000_000 / 8 * round_trip / 1000;
            assert!(state.in_flight.bytes() > product && state.in_flight <= state.window, "{state:?}");
            assert!((1400..=1472).contains(&state.largest.bytes()), "{state:?}");
        }
        network.switch(0, false);
        network.run_until(network.now + ms(3000));
        let dead = state(&mut network, 0);
        assert!(!dead.usable && !dead.is_open() && state(&mut network, 1).usable, "{kind:?}: {dead:?}");
    }
}

/// A window of 1.25 times the product of rate and delay has a queue of 5 ms, and probes of BBR for bandwidth have one
/// briefly. Half the product has none, and its rate is that of the window, minus the time of a packet.
#[test]
fn a_queue_or_a_full_window_tells_the_rate_whatever_the_control() {
    let (rate, full, half) = (LINK.0 as f64, 0.9..1.05, 0.42..0.5);
    let bbr = control(CongestionControl::BbrLinux);
    for (config, told) in [(window(62_500), full.clone()), (window(25_000), half), (bbr, full)] {
        for kind in KINDS {
            let mut network = Setup::new(kind, config, &[Link::mbps(LINK.0, LINK.1, 100)]).network();
            network.establish();
            network.ends[SERVER].backlog = u64::MAX;
            network.pump(SERVER);
            network.run_until(network.now + ms(5000));
            let state = state(&mut network, 0);
            let found = state.rate.map(|found| found.as_mbps_f64() / rate);
            assert!(found.is_some_and(|found| told.contains(&found)), "{kind:?}: {state:?}");
        }
    }
}
