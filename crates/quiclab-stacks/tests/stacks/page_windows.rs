//! Pages on quinn and noq within the limits of streams and of flow control.

use crate::STACKS;
use crate::network::Network;
use crate::page::{loaded, page, setup};
use quiclab_core::{ByteCount, Duration, Time};
use quiclab_transport::options::{ObjectKind, Workload};

/// Time from the start to the last byte.
fn load_time(network: &Network) -> Duration {
    network.client.progress().finished.unwrap().since(Time::ZERO)
}

/// Both libraries allow a peer 100 streams of each direction. A stream is free when its end is acknowledged.
#[test]
fn requests_beyond_the_limit_of_streams_wait() {
    for stack in STACKS {
        let mut network = setup(stack, stack, page(&[(350, 1_000, ObjectKind::Image)])).network();
        network.run();
        let requests = loaded(&network);
        let mut most = 0;
        for at in requests.iter().map(|request| request.asked.unwrap()) {
            let open = |request: &&quiclab_core::RequestTimes| {
                request.asked <= Some(at) && request.complete > Some(at)
            };
            most = most.max(requests.iter().filter(open).count());
        }
        assert!((50..=100).contains(&most), "{stack}: {most} at a time");
        // one was used by the HTML; credit for further streams is returned in lots of at least an eighth of the limit
        let waited = requests[1..].iter().filter(|request| request.asked > request.wanted).count();
        assert_eq!(waited, 350 - 99, "{stack}");
    }
}

/// A window of 20 kB for each stream and of 40 kB for all gives at most a window each round trip of 20 ms: at least 10
/// round trips of a response of 200 kB, of 4 of them at least 20.
#[test]
fn responses_stay_within_the_windows_of_the_client() {
    for stack in STACKS {
        for (count, round_trips) in [(1, 10), (4, 20)] {
            let mut setup = setup(stack, stack, page(&[(count, 200_000, ObjectKind::Image)]));
            setup.client.stream_receive_window = Some(ByteCount::from_bytes(20_000));
            setup.client.connection_receive_window = Some(ByteCount::from_bytes(40_000));
            let mut network = setup.network();
            network.run();
            loaded(&network);
            let least = Duration::from_millis(20 * (round_trips + 1));
            // credit is granted for no less than an eighth of a window, up to two milliseconds late because
            // of timers
            let most = Duration::from_millis(50) + Duration::from_millis(22 * round_trips) * 8 / 7 * 2;
            let taken = load_time(&network);
            assert!((least..most).contains(&taken), "{stack}, {count}: {taken:?} of {least:?} to {most:?}");
        }
    }
}

/// A send window of 20 kB is less than any response here: writes wait for acknowledgements.
#[test]
fn responses_wait_for_the_send_window_of_the_server() {
    for stack in STACKS {
        let objects = [(3, 100_000, ObjectKind::Image), (2, 50_000, ObjectKind::Style)];
        let mut setup = setup(stack, stack, page(&objects)).random_loss(0.01, 1);
        setup.server.send_window = Some(ByteCount::from_bytes(20_000));
        let mut network = setup.network();
        network.run();
        loaded(&network);
        // 400 kB in windows of 20 kB, each acknowledged after a round trip
        assert!(load_time(&network) >= Duration::from_millis(20 * 20), "{stack}");
    }
}

#[test]
fn a_page_with_many_small_objects_and_round_robin_is_complete() {
    for stack in STACKS {
        let mut workload = page(&[(120, 2_000, ObjectKind::Image), (30, 3_000, ObjectKind::Script)]);
        if let Workload::Page { priorities, .. } = &mut workload {
            *priorities = quiclab_transport::options::Priorities::RoundRobin;
        }
        let mut network = setup(stack, stack, workload).bottleneck(20, 50).random_loss(0.02, 5).network();
        network.run();
        assert_eq!(loaded(&network).len(), 151, "{stack}");
    }
}
