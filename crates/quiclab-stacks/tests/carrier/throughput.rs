//! How much the carriers carry, and where.

use crate::KINDS;
use crate::network::*;
use quiclab_core::ByteCount;
use quiclab_stacks::carrier::{CarrierKind, PathControl};

/// 20 Mbit/s and an RTT of 20 ms: 50 000 bytes.
const BDP: u64 = 50_000;

fn window(bytes: u64) -> PathControl {
    PathControl::Static(ByteCount::from_bytes(bytes))
}

#[test]
fn two_paths_carry_what_they_can() {
    for kind in KINDS {
        for control in [
            window(BDP * 5 / 4),
            PathControl::NewReno,
            PathControl::Cubic,
            PathControl::Bbr,
            PathControl::Coupled,
        ] {
            let link = Link::mbps(20, 10, 50);
            let mut network = Setup::new(kind, control, &[link, link]).network();
            network.establish();
            network.ends[SERVER].backlog = u64::MAX;
            let start = network.now;
            network.pump(SERVER);
            network.run_until(start + ms(10_000));
            let goodput = network.goodput(CLIENT, start + ms(2000), start + ms(10_000));
            println!("{kind:?} {control:?} {goodput:?} of 40");
            network.assert_exact();
        }
    }
    let _ = CarrierKind::PerPath;
}
