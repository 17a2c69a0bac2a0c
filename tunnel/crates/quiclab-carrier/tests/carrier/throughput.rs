//! Throughput of the carriers, by path.

use crate::KINDS;
use crate::network::*;
use quiclab_carrier::PathConfig;
use quiclab_core::ByteCount;
use quiclab_transport::options::CongestionControl;

/// 20 Mbit/s and an RTT of 20 ms: 50 000 bytes.
const BDP: u64 = 50_000;
/// Parcels in megabits per second that 20 Mbit/s carry at most. A parcel of 1400 bytes is in a packet of 20 (IPv4) +
/// 8 (UDP) + 9 (QUIC: flags, connection identifier) + 2 (packet number, usually) + 3 (frame) + 1 (tunnel) + 1400 +
/// 16 (tag) = 1459 bytes.
const CEILING: f64 = 20.0 * 1400.0 / 1459.0;

/// A path with this congestion control.
pub fn control(congestion_control: CongestionControl) -> PathConfig {
    PathConfig { congestion_control, ..PathConfig::default() }
}

/// A path whose window never changes.
pub fn window(bytes: u64) -> PathConfig {
    PathConfig { window: Some(ByteCount::from_bytes(bytes)), ..control(CongestionControl::Fixed) }
}

/// Goodput by path in each direction that is saturated, in the 6 s after the first 2 s.
fn saturate(network: &mut Network, who: &[usize]) -> Vec<Vec<f64>> {
    network.establish();
    let start = network.now;
    for &who in who {
        network.ends[who].backlog = u64::MAX;
        network.pump(who);
    }
    network.run_until(start + ms(8000));
    network.assert_exact();
    who.iter().map(|who| network.goodput(1 - who, start + ms(2000), start + ms(8000))).collect()
}

#[test]
fn two_paths_carry_what_they_can() {
    for kind in KINDS {
        for config in [
            window(BDP * 5 / 4),
            control(CongestionControl::Newreno),
            control(CongestionControl::Cubic),
            control(CongestionControl::BbrLinux),
            control(CongestionControl::Lia),
        ] {
            let link = Link::mbps(20, 10, 50);
            let goodput = saturate(&mut Setup::new(kind, config, &[link, link]).network(), &[SERVER]);
            for (path, rate) in goodput[0].iter().enumerate() {
                println!("{kind:?} {config:?} path {path}: {rate:.2} of {CEILING:.2} Mbit/s");
                assert!(*rate <= CEILING * 1.002, "{kind:?} {config:?}: {rate}");
                assert!(*rate >= CEILING * 0.95, "{kind:?} {config:?}: {rate}");
            }
        }
    }
}

#[test]
fn a_window_below_the_bandwidth_delay_product_is_the_limit() {
    for kind in KINDS {
        let link = Link::mbps(20, 10, 50);
        let goodput = saturate(&mut Setup::new(kind, window(BDP / 2), &[link, link]).network(), &[SERVER]);
        for rate in &goodput[0] {
            // half a window in flight, full packets only: 25 000 / 1459 are 17 packets in an RTT of 20.6 ms
            let limit = 17.0 * 1400.0 * 8.0 / 20_600.0;
            println!("{kind:?}: {rate:.2} of {limit:.2}");
            assert!((0.9 * limit..1.02 * limit).contains(rate), "{kind:?}: {rate}, {limit}");
        }
    }
}

#[test]
fn both_directions_saturated_do_not_collapse() {
    for kind in KINDS {
        for (windows, least) in [(BDP, 0.7), (BDP * 5 / 4, 0.8)] {
            let link = Link::mbps(20, 10, 50);
            let mut network = Setup::new(kind, window(windows), &[link, link]).network();
            let goodput = saturate(&mut network, &[CLIENT, SERVER]);
            println!("{kind:?}, {windows} B: {goodput:.2?}");
            for rate in goodput.iter().flatten() {
                // acknowledgements share the links, and wait in their queues behind full packets: the RTT grows by
                // up to a third. A collapse would be at 0.3.
                assert!(*rate >= CEILING * least, "{kind:?}, {windows} B: {goodput:?}");
            }
        }
    }
}

#[test]
fn each_parcel_leaves_on_its_path() {
    for kind in KINDS {
        for schedule in [Schedule::Strict, Schedule::Only(0), Schedule::Only(1)] {
            for both in [false, true] {
                let links = [Link { loss: 0.02, ..Link::mbps(20, 10, 50) }, Link::mbps(10, 25, 30)];
                let mut network = Setup::new(kind, control(CongestionControl::Cubic), &links).network();
                network.ends.iter_mut().for_each(|end| end.schedule = schedule);
                let who = if both { &[SERVER, CLIENT][..] } else { &[SERVER][..] };
                println!("{kind:?} {schedule:?} both {both}");
                saturate(&mut network, who);
                for &who in who {
                    let left = &network.ends[who].left;
                    assert!(left.len() > 500, "{kind:?} {schedule:?}: {}", left.len());
                    let expected = |index: usize| match schedule {
                        Schedule::Only(path) => path,
                        _ => (index + left[0]) % 2,
                    };
                    assert!(left.iter().enumerate().all(|(index, path)| *path == expected(index)));
                }
            }
        }
    }
}

#[test]
fn batches_leave_together_and_on_their_path() {
    for kind in KINDS {
        let link = Link::mbps(200, 5, 1000);
        let mut setup = Setup::new(kind, window(400_000), &[link, link]);
        setup.segments = 8;
        let mut network = setup.network();
        network.ends.iter_mut().for_each(|end| end.batch = 3);
        let goodput = saturate(&mut network, &[SERVER]);
        let segments = &network.ends[SERVER].segments;
        let batches = segments.iter().filter(|segments| **segments > 1).count();
        let most = segments.iter().max();
        println!("{kind:?}: {goodput:.1?}, {batches} of {} batches, at most {most:?}", segments.len());
        assert!(batches * 4 > segments.len(), "{kind:?}: {batches} of {}", segments.len());
        assert!(goodput[0].iter().all(|rate| *rate > CEILING * 10.0 * 0.9), "{kind:?}: {goodput:?}");
    }
}
