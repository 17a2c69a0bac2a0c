//! Packets and events that observers receive.

use crate::STACKS;
use crate::network::{Fate, Network, Setup, statistic};
use quiclab_core::quic::{Frame, Frames};
use quiclab_core::{
    ByteCount, DataRate, Direction, Duration, PacketSpace, Phase, RandomStream, RecoveryState, Time,
    TransportEvent, TransportObserver,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Packet in plaintext: header and payload.
type Plain = (Vec<u8>, Vec<u8>);

/// Observer that records all events.
#[derive(Default)]
struct Log {
    sent: Vec<(PacketSpace, u64, Plain)>,
    received: Vec<(PacketSpace, u64, Plain)>,
    lost: Vec<(Time, PacketSpace, u64)>,
    recovery: Vec<RecoveryState>,
    /// Time, packets, bytes.
    acks: Vec<(Time, u32, u64)>,
    secrets: Vec<String>,
}

#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Log>>);

impl TransportObserver for Recorder {
    fn observe(&mut self, now: Time, event: &TransportEvent<'_>) {
        let mut log = self.0.lock().unwrap();
        match *event {
            TransportEvent::PacketSent { space, number, header, payload, .. } => {
                log.sent.push((space, number, (header.to_vec(), payload.to_vec())));
            }
            TransportEvent::PacketReceived { space, number, header, payload, .. } => {
                log.received.push((space, number, (header.to_vec(), payload.to_vec())));
            }
            TransportEvent::PacketsLost { space, numbers, .. } => {
                log.lost.extend(numbers.iter().map(|&number| (now, space, number)));
            }
            TransportEvent::AckReceived { packets, bytes, .. } => log.acks.push((now, packets, bytes)),
            TransportEvent::Recovery(state) => log.recovery.push(state),
            TransportEvent::Secret(line) => log.secrets.push(line.to_owned()),
        }
    }
}

fn observed(mut setup: Setup) -> (Setup, Recorder, Recorder) {
    let (server, client) = (Recorder::default(), Recorder::default());
    setup.server_observer = Some(Box::new(server.clone()));
    setup.client_observer = Some(Box::new(client.clone()));
    (setup, server, client)
}

#[test]
fn every_packet_is_seen_once_in_order_and_as_it_was_sent() {
    for stack in STACKS {
        let (setup, server, client) = observed(Setup::new(stack, 500_000).random_loss(0.05, 3));
        let mut network = setup.network();
        network.run();
        network.drain();
        let (server, client) = (server.0.lock().unwrap(), client.0.lock().unwrap());
        for (sender, receiver) in [(&server, &client), (&client, &server)] {
            let mut plain = BTreeMap::new();
            let mut last = BTreeMap::new();
            for (space, number, packet) in &sender.sent {
                let previous = last.insert(*space, *number);
                assert!(previous.is_none_or(|previous| previous < *number), "{stack} {space:?} {number}");
                plain.insert((*space, *number), packet);
            }
            assert!(receiver.received.len() > 20);
            for (space, number, packet) in &receiver.received {
                assert_eq!(plain.get(&(*space, *number)), Some(&packet), "{stack} {space:?} {number}");
            }
        }
        // all packets that the stack counts are observed; CONNECTION_CLOSE is not counted
        let counted = network.server_statistic("packets_sent") as usize;
        assert!((counted..=counted + 3).contains(&server.sent.len()), "{stack}: {counted}");
        assert_eq!(server.lost.len() as f64, network.server_statistic("lost_packets"), "{stack}");
        assert!(!server.lost.is_empty());
    }
}

#[test]
fn lost_packets_are_those_the_network_dropped() {
    for stack in STACKS {
        // full 1-RTT datagrams of the server, by their order: single losses, a burst, and the last
        let dropped = [20, 21, 60, 100, 101, 102, 103, 200];
        let mut full = 0;
        let mut setup = Setup::new(stack, 500_000);
        setup.hook = Box::new(move |direction, _, packet| {
            let quiclab_core::Payload::Bytes(bytes) = &packet.payload else { unreachable!() };
            let short_header = bytes[0] & 0x80 == 0;
            if direction != Direction::Down || !short_header || bytes.len() != 1200 {
                return Fate::default();
            }
            full += 1;
            Fate { lost: dropped.contains(&(full - 1)), ..Fate::default() }
        });
        let (setup, server, _) = observed(setup);
        let mut network = setup.network();
        network.run();
        let log = server.0.lock().unwrap();
        // header, payload and the tag of 16 bytes make the datagram
        let numbers: Vec<u64> = log
            .sent
            .iter()
            .filter(|(space, _, (header, payload))| {
                *space == PacketSpace::OneRtt && header.len() + payload.len() + 16 == 1200
            })
            .map(|(_, number, _)| *number)
            .collect();
        let expected: Vec<u64> = dropped.iter().map(|&index| numbers[index]).collect();
        let lost: Vec<u64> = log.lost.iter().map(|(_, _, number)| *number).collect();
        assert_eq!(lost, expected, "{stack}");
        assert!(log.lost.iter().all(|(_, space, _)| *space == PacketSpace::OneRtt));
        assert_eq!(network.server_statistic("lost_packets"), dropped.len() as f64);
    }
}

#[test]
fn losses_are_named_completely_under_loss_and_reordering() {
    for stack in STACKS {
        for seed in 0..10 {
            let mut random = RandomStream::new(seed, "fates");
            let mut setup = Setup::new(stack, 500_000);
            setup.hook = Box::new(move |_, _, _| Fate {
                lost: random.uniform() < 0.08,
                extra_delay: Duration::from_nanos_f64(random.pareto(2.0) * 2e6),
                ..Fate::default()
            });
            let (setup, server, client) = observed(setup);
            let mut network = setup.network();
            network.run();
            network.drain();
            let now = network.now;
            for (log, end) in [(server, &mut network.server), (client, &mut network.client)] {
                let log = log.0.lock().unwrap();
                assert_eq!(
                    log.lost.len() as f64,
                    statistic(&mut **end, now, "lost_packets"),
                    "{stack} {seed}"
                );
                let sent: BTreeSet<_> = log.sent.iter().map(|(space, number, _)| (*space, *number)).collect();
                let lost: BTreeSet<_> = log.lost.iter().map(|(_, space, number)| (*space, *number)).collect();
                assert!(lost.is_subset(&sent) && lost.len() == log.lost.len(), "{stack} {seed}");
            }
        }
    }
}

/// Whether a payload has frames that are ack-eliciting (RFC 9002 section 2).
fn asks(payload: &[u8]) -> bool {
    Frames::new(payload).any(|frame| {
        !matches!(frame.unwrap(), Frame::Ack(_) | Frame::Padding { .. } | Frame::ConnectionClose { .. })
    })
}

#[test]
fn each_acknowledgement_is_told_and_each_packet_acknowledged_once() {
    for stack in STACKS {
        let setup = Setup::new(stack, 1_000_000).random_loss(0.02, 5).bottleneck(20, 50);
        let (setup, server, client) = observed(setup);
        let mut network = setup.network();
        network.run();
        let now = network.now;
        for (log, end) in [(server, &mut network.server), (client, &mut network.client)] {
            let log = log.0.lock().unwrap();
            let mut of_stack = |name| statistic(&mut **end, now, name);
            // the stack's own counts are the reference
            assert_eq!(log.acks.len() as f64, of_stack("ack_frames_received"), "{stack}");
            assert!(log.acks.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{stack}");
            assert!(log.acks.iter().all(|(_, packets, bytes)| (*packets == 0) == (*bytes == 0)), "{stack}");
            let asking: BTreeMap<_, _> = log
                .sent
                .iter()
                .filter(|(_, _, (_, payload))| asks(payload))
                .map(|(space, number, (header, payload))| {
                    ((*space, *number), header.len() + payload.len() + 16)
                })
                .collect();
            let sent: usize = asking.values().sum();
            let acked: u64 = log.acks.iter().map(|(_, _, bytes)| bytes).sum();
            // Packets sent are acknowledged, lost, in flight, or discarded with the keys of the handshake:
            // one flight of each side, at most three datagrams (RFC 9000 section 8.1).
            let rest = sent as f64 - acked as f64 - of_stack("lost_bytes") - of_stack("in_flight_bytes");
            assert!((0.0..=3600.0).contains(&rest), "{stack}: {rest} of {sent} bytes");
            let packets: u64 = log.acks.iter().map(|(_, packets, _)| u64::from(*packets)).sum();
            let lost = log.lost.iter().filter(|(_, space, number)| asking.contains_key(&(*space, *number)));
            let outstanding = asking.len() as f64 - packets as f64 - lost.count() as f64;
            // each has 1200 bytes at most and, for header protection, 21 at least (RFC 9001 section 5.4.2);
            // three of the handshake may be forgotten
            assert!(outstanding * 1200.0 >= of_stack("in_flight_bytes"), "{stack}: {outstanding}");
            assert!(outstanding <= of_stack("in_flight_bytes") / 21.0 + 3.0, "{stack}: {outstanding}");
        }
    }
}

#[test]
fn an_acknowledgement_counts_the_packets_that_it_newly_acknowledges() {
    for stack in STACKS {
        // without losses, the acknowledgements of full datagrams in the middle of the transfer
        let (setup, server, _) = observed(Setup::new(stack, 500_000));
        setup.network().run();
        let log = server.0.lock().unwrap();
        let middle = &log.acks[10..log.acks.len() - 10];
        assert!(middle.len() > 50, "{stack}");
        for &(_, packets, bytes) in middle {
            assert_eq!(bytes, 1200 * u64::from(packets), "{stack}");
        }
        assert!(middle.iter().any(|(_, packets, _)| *packets > 0), "{stack}");
    }
}

/// A download that overflows the queue: the network after it, and the events of the server.
fn congested(stack: &str) -> (Network, Recorder) {
    let (setup, server, _) = observed(Setup::new(stack, 3_000_000).bottleneck(20, 50));
    let mut network = setup.network();
    network.run();
    (network, server)
}

#[test]
fn the_phase_follows_window_and_threshold() {
    for stack in STACKS {
        let (mut network, server) = congested(stack);
        let log = server.0.lock().unwrap();
        assert_eq!(log.recovery[0].phase_name(), Some("slow_start"), "{stack}");
        // the queue overflows: a loss ends slow start, and the window is at the threshold from then on
        let last = log.recovery.last().unwrap();
        assert_eq!(last.phase_name(), Some("congestion_avoidance"), "{stack}");
        assert_eq!(network.server_statistic("phase"), 2.0, "{stack}");
        for state in &log.recovery {
            let slow = state.ssthresh_bytes.is_none_or(|threshold| state.cwnd_bytes < threshold);
            assert_eq!(
                state.phase,
                Some(if slow { Phase::SlowStart } else { Phase::CongestionAvoidance }),
                "{stack}: {state:?}"
            );
            assert_eq!((state.pacing_rate_bps, state.spurious_losses), (None, None), "{stack}");
        }
    }
}

#[test]
fn acknowledgements_that_the_stack_forgets_are_not_named() {
    for stack in STACKS {
        // The client sends no ack-eliciting packet before it has read an eighth of its window, 3.5 MB in 3
        // 000 packets: it sends 1 500 packets by then, of which 1 001 are kept.
        let mut setup = Setup::new(stack, 8_000_000);
        setup.client.stream_receive_window = Some(ByteCount::from_bytes(28_000_000));
        setup.hook = Box::new(|direction, index, _| Fate {
            lost: direction == Direction::Up && index % 7 == 6,
            ..Fate::default()
        });
        let (setup, _, client) = observed(setup);
        let mut network = setup.network();
        network.run();
        let log = client.0.lock().unwrap();
        let lost = statistic(&mut *network.client, network.now, "lost_packets");
        assert_eq!(log.lost.len() as f64, lost, "{stack}");
        assert!(lost > 50.0, "{stack}: {lost}");
    }
}

#[test]
fn recovery_follows_the_window_and_the_bytes_in_flight() {
    for stack in STACKS {
        let (mut network, server) = congested(stack);
        let log = server.0.lock().unwrap();
        let first = log.recovery.first().unwrap();
        assert_eq!((first.cwnd_bytes, first.ssthresh_bytes, first.srtt_ns), (12_000, None, None), "{stack}");
        let reduced =
            log.recovery.windows(2).filter(|pair| pair[1].cwnd_bytes < pair[0].cwnd_bytes).count() as f64;
        let events = network.server_statistic("congestion_events");
        assert!(events >= 1.0 && reduced <= events, "{stack}: {reduced} of {events}");
        for state in &log.recovery {
            // a window reduced by a loss may be below the bytes in flight; a datagram beyond it is never sent
            let largest = log.recovery.iter().map(|state| state.cwnd_bytes).max().unwrap();
            assert!(state.in_flight_bytes.unwrap() <= largest + 1200, "{stack}: {state:?}");
        }
        let busy =
            log.recovery.iter().filter(|state| state.in_flight_bytes.unwrap() > state.cwnd_bytes / 2).count();
        assert!(busy * 2 > log.recovery.len(), "{stack}: in flight is most of the window most of the time");
    }
}

#[test]
fn secrets_are_key_log_lines() {
    for stack in STACKS {
        let (setup, server, client) = observed(Setup::new(stack, 1_000));
        setup.network().run();
        for log in [&server, &client] {
            let log = log.0.lock().unwrap();
            for label in [
                "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
                "SERVER_HANDSHAKE_TRAFFIC_SECRET",
                "CLIENT_TRAFFIC_SECRET_0",
                "SERVER_TRAFFIC_SECRET_0",
            ] {
                let lines: Vec<Vec<&str>> = log
                    .secrets
                    .iter()
                    .map(|line| line.split(' ').collect())
                    .filter(|line: &Vec<&str>| line[0] == label)
                    .collect();
                assert_eq!(lines.len(), 1, "{stack} {label}");
                assert_eq!(
                    (lines[0][1].len(), lines[0][2].len(), lines[0].len()),
                    (64, 64, 3),
                    "{stack} {label}"
                );
            }
        }
        assert_eq!(server.0.lock().unwrap().secrets.len(), client.0.lock().unwrap().secrets.len());
    }
}

#[test]
fn observers_change_nothing() {
    for stack in STACKS {
        let setup = || {
            let mut setup = Setup::new(stack, 1_000_000);
            (setup.rate, setup.queue_packets) = (Some(DataRate::from_mbps(20)), 30);
            setup
        };
        let mut plain = setup().network();
        plain.run();
        let (observed, ..) = observed(setup());
        let mut observed = observed.network();
        observed.run();
        assert!(plain.sent == observed.sent, "{stack}");
    }
}
