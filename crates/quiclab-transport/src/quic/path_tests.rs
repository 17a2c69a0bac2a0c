//! Effects of profiles on a path: whether the pacer counts packets, and the meaning of a probe timeout.

use super::*;
use crate::quic::config::{Fixed, test_config};

fn ms(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// Path with a window of 10 datagrams, a bucket of one, and an RTT of 100 ms: a datagram each 10 ms.
fn path(paces_packets: bool) -> Path {
    let fixed = Fixed { paces_packets, ..Fixed::DEFAULTS };
    let config = Config { pacing: Pacing::leaky_bucket(1.0, 1), fixed, ..test_config() };
    let mut path = Path::new(&config, 0, RandomStream::new(1, "path"));
    path.rtt.on_sample(Time::ZERO, Duration::from_millis(100), Duration::ZERO, None);
    path.update_pacer(Time::ZERO, &mut Operations::default());
    path
}

#[test]
fn where_the_pacer_counts_packets_an_acknowledgement_costs_a_full_one() {
    for (paces_packets, wait) in [(false, 0), (true, 10)] {
        let mut path = path(paces_packets);
        assert_eq!(path.release(ms(1)), ms(1));
        path.on_sent_unlimited(ms(1));
        assert_eq!(path.release(ms(1)), ms(1 + wait), "{paces_packets}");
    }
}

#[test]
fn where_the_pacer_counts_packets_a_short_one_costs_as_much() {
    for (paces_packets, wait_us) in [(false, 833), (true, 10_000)] {
        let mut path = path(paces_packets);
        path.on_sent(ms(1), 100);
        let wait = path.release(ms(1)).since(ms(1)).as_nanos() / 1000;
        assert!(wait.abs_diff(wait_us) <= 1, "{paces_packets}: {wait} us");
    }
}

#[test]
fn a_probe_timeout_that_is_congestion_reduces_the_window_once_in_a_recovery_period() {
    let (mut path, mut none) = (path(true), Operations::default());
    let before = path.native_window();
    path.on_probe_timeout(ms(200), &mut none);
    let reduced = path.native_window();
    assert!(reduced < before, "{reduced} of {before}");
    path.on_probe_timeout(ms(400), &mut none);
    path.on_congestion(ms(450), ms(150), false);
    assert_eq!((path.native_window(), path.congestion_events), (reduced, 1), "sent before the timeout");
    assert!(path.is_before_recovery(ms(150)) && !path.is_before_recovery(ms(250)));
}
