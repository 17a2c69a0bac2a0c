//! Downloads are complete, exact and as fast as the network allows; failures are reported.

use crate::STACKS;
use crate::network::{Fate, Setup, config, statistic};
use quiclab_core::{ByteCount, DataRate, Direction, Duration, Ecn, Time};
use quiclab_transport::options::{CongestionControl, Workload};

#[test]
fn every_pair_of_stacks_completes_a_download_exactly() {
    for (server, client) in [("quinn", "quinn"), ("noq", "noq"), ("quinn", "noq"), ("noq", "quinn")] {
        for control in [CongestionControl::Newreno, CongestionControl::Cubic] {
            let mut setup = Setup::new(server, 1_000_000);
            setup.client = config(client);
            setup.server.congestion_control = Some(control);
            setup.start = Time::from_nanos(5_000_000);
            let mut network = setup.network();
            assert_eq!(network.client.next_wake(), Some(Time::from_nanos(5_000_000)));
            network.run();
            let progress = network.client.progress();
            assert_eq!(progress.delivered_bytes, 1_000_000, "{server} to {client}");
            assert_eq!((progress.started, progress.failed), (Some(Time::from_nanos(5_000_000)), false));
            // handshake and request take a round trip each
            assert!(progress.finished.unwrap() >= Time::from_nanos(45_000_000));

            // the client has closed the connection: after at most three PTO (RFC 9000 section 10.2)
            // at each end no timer is left; a PTO here is below RTT + 4 x RTT + 25 ms
            let closed = network.now;
            network.drain();
            assert!(network.now <= closed + Duration::from_millis(3 * (20 + 80 + 25) + 20));
            assert!(network.server.progress().finished.is_some());
            assert!(!network.server.progress().failed, "{:?}", network.server.failure());
        }
    }
}

#[test]
fn random_loss_costs_time_but_no_byte() {
    for stack in STACKS {
        for seed in 0..5 {
            let mut network = Setup::new(stack, 1_000_000).random_loss(0.1, seed).network();
            network.run();
            network.assert_complete_despite_losses(1_000_000, &format!("{stack}, seed {seed}"));
        }
    }
}

#[test]
fn a_pipe_is_filled() {
    let (rate, queue_packets, bytes) = (DataRate::from_mbps(20), 100, 10_000_000);
    let round_trip = Duration::from_millis(20);
    for stack in STACKS {
        for control in [CongestionControl::Newreno, CongestionControl::Cubic] {
            let mut setup = Setup::new(stack, bytes);
            setup.server.congestion_control = Some(control);
            (setup.rate, setup.queue_packets) = (Some(rate), queue_packets);
            let mut network = setup.network();
            network.run();
            let taken = network.client.progress().finished.unwrap().since(Time::ZERO);
            // At least: handshake and request, a round trip each, and the bytes at the link's rate.
            let least = round_trip * 2 + rate.time_for(ByteCount::from_bytes(bytes));
            assert!(taken > least, "{stack} {control:?}");
            // At most: also 1228 bytes on the wire for each 1140 of data (1200 less at most 60 of
            // headers, frame and tag); three round trips (12 kB doubled to the 50 kB of the pipe) of
            // slow start; and the packets lost when slow start overshoots, no more than pipe and
            // queue hold, sent twice. The queue is twice the pipe, so halving does not empty it.
            let wire = rate.time_for(ByteCount::from_bytes(bytes * 1228 / 1140));
            let pipe_packets = rate.bytes_in(round_trip).bytes() / 1228;
            let overshoot =
                rate.time_for(ByteCount::from_bytes(1228 * (pipe_packets + queue_packets as u64)));
            let most = round_trip * 5 + wire + overshoot;
            assert!(taken < most, "{stack} {control:?}: {taken:?} of {most:?}");
        }
    }
}

#[test]
fn a_download_of_a_duration_ends_then() {
    for stack in STACKS {
        let mut setup = Setup::new(stack, 1);
        let duration = Duration::from_millis(1500);
        setup.start = Time::from_nanos(200_000_000);
        setup.workload =
            Workload::Download { size: None, duration: Some(duration), request: ByteCount::from_bytes(100) };
        let rate = DataRate::from_mbps(20);
        (setup.rate, setup.queue_packets) = (Some(rate), 100);
        let mut network = setup.network();
        network.run();
        let progress = network.client.progress();
        let (end, finished) = (Time::from_nanos(1_700_000_000), progress.finished.unwrap());
        // the last byte passes a queue of at most 100 packets and the link
        let queue = rate.time_for(ByteCount::from_bytes(100 * 1228));
        assert!(finished > end && finished <= end + queue + Duration::from_millis(11), "{stack}: {finished}");
        // at most the rate of the link, and at least half of it
        let most = rate.bytes_in(duration).bytes();
        assert!(
            (most / 2..most).contains(&progress.delivered_bytes),
            "{stack}: {}",
            progress.delivered_bytes
        );
        network.drain();
        assert!(!network.server.progress().failed);
    }
}

#[test]
fn a_dead_network_fails_the_download() {
    for stack in STACKS {
        let mut setup = Setup::new(stack, 1_000_000);
        setup.hook = Box::new(|_, index, _| Fate { lost: index >= 20, ..Fate::default() });
        let mut network = setup.network();
        network.drain();
        for end in [&network.client, &network.server] {
            assert!(end.progress().failed && end.progress().finished.is_none());
            assert_eq!(end.failure(), Some("timed out"), "{stack}");
        }
        // the idle timeout of both stacks is 30 s; each packet sent after silence restarts it once
        assert!(
            network.now > Time::from_nanos(30_000_000_000) && network.now < Time::from_nanos(61_000_000_000)
        );
    }
}

#[test]
fn congestion_experienced_reduces_the_window_without_a_loss() {
    for stack in STACKS {
        let mut setup = Setup::new(stack, 500_000);
        setup.hook = Box::new(|direction, index, _| Fate {
            congestion_experienced: direction == Direction::Down && index == 100,
            ..Fate::default()
        });
        let mut network = setup.network();
        network.run();
        assert!(network.sent(Direction::Down).all(|sent| sent.ecn == Ecn::Ect0));
        assert_eq!(network.server_statistic("lost_packets"), 0.0, "{stack}");
        assert_eq!(network.server_statistic("congestion_events"), 1.0, "{stack}");
    }
}

#[test]
fn packets_have_unique_identities_and_statistics_agree() {
    for stack in STACKS {
        let mut network = Setup::new(stack, 300_000).random_loss(0.02, 1).network();
        network.run();
        let mut ids: Vec<u64> = network.sent.iter().map(|sent| sent.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), network.sent.len());
        // datagrams are fewer than packets by those coalesced in the handshake, at most 4
        let datagrams = network.sent(Direction::Down).count() as f64;
        let packets = network.server_statistic("packets_sent");
        assert!((datagrams..=datagrams + 4.0).contains(&packets), "{stack}: {packets} in {datagrams}");
        let rtt = network.server_statistic("min_rtt_ms");
        assert!((20.0..20.1).contains(&rtt), "{stack}: {rtt} ms over two links of 10 ms");
        assert!(network.server_statistic("srtt_ms") >= rtt);
        assert!(statistic(&mut *network.client, network.now, "ack_frames_sent") > 0.0);
    }
}
