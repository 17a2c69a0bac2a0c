//! Every option has its effect.

use crate::STACKS;
use crate::network::{Fate, Network, Setup};
use quiclab_core::{ByteCount, Direction, Duration, Metrics, Time};
use quiclab_transport::options::{AckFrequency, CongestionControl};
use std::sync::{Arc, Mutex};

/// Samples of a value of the server after each event.
pub fn samples(network: &mut Network, name: &'static str) -> Arc<Mutex<Vec<(Time, f64)>>> {
    let samples = Arc::new(Mutex::new(Vec::new()));
    let record = samples.clone();
    network.watch = Box::new(move |now, server| {
        let mut metrics = Metrics::default();
        server.sample(now, &mut metrics);
        if let Some(value) = metrics.get(name) {
            record.lock().unwrap().push((now, value));
        }
    });
    samples
}

fn largest(samples: &Mutex<Vec<(Time, f64)>>) -> f64 {
    samples.lock().unwrap().iter().map(|(_, value)| *value).fold(0.0, f64::max)
}

#[test]
fn packet_threshold_decides_whether_reordering_is_loss() {
    for stack in STACKS {
        let lost = |threshold| {
            // Every 50th full datagram is overtaken by those of the next millisecond: slow start
            // sends bursts of ten, so by more than 3 and, at this rate, fewer than 200.
            let late = Duration::from_millis(2);
            let mut setup = Setup::new(stack, 1_000_000).late(late, |index| index % 50 == 49);
            setup.server.packet_threshold = threshold;
            let mut network = setup.network();
            network.run();
            assert_eq!(network.client.progress().delivered_bytes, 1_000_000);
            network.server_statistic("lost_packets")
        };
        assert!(lost(None) >= 5.0, "{stack}: {}", lost(None));
        assert_eq!(lost(Some(200)), 0.0, "{stack}");
    }
}

#[test]
fn time_threshold_decides_whether_delay_is_loss() {
    for stack in STACKS {
        let lost = |threshold| {
            // 0.75 RTT late: later than 1.125 RTT after sending, not than 3 RTT
            let late = Duration::from_millis(15);
            let mut setup = Setup::new(stack, 500_000).late(late, |index| index == 100);
            setup.server.time_threshold = threshold;
            setup.server.packet_threshold = Some(1_000_000);
            let mut network = setup.network();
            network.run();
            network.server_statistic("lost_packets")
        };
        assert_eq!((lost(None), lost(Some(3.0))), (1.0, 0.0), "{stack}");
    }
}

#[test]
fn ack_frequency_changes_the_number_of_acknowledgements() {
    for stack in STACKS {
        let acknowledgements = |threshold: Option<u32>| {
            let mut setup = Setup::new(stack, 3_000_000);
            setup.server.ack_frequency = threshold.map(|ack_eliciting_threshold| AckFrequency {
                ack_eliciting_threshold,
                max_ack_delay: None,
                reordering_threshold: 2,
            });
            let mut network = setup.network();
            network.run();
            (network.sent(Direction::Up).count(), network.sent(Direction::Down).count())
        };
        let (usual, data) = acknowledgements(None);
        let (few, _) = acknowledgements(Some(19));
        // one ACK for two packets, or for 20; a fifth more for the handshake, delayed ACKs at the
        // end of each flight, and window updates
        assert!(usual * 2 > data, "{stack}: {usual} for {data}");
        assert!(few * 8 < usual, "{stack}: {few} instead of {usual}");
    }
}

#[test]
fn initial_window_decides_the_first_flight() {
    for stack in STACKS {
        for window in [12_000, 60_000] {
            let mut setup = Setup::new(stack, 1_000_000);
            setup.server.initial_window = Some(ByteCount::from_bytes(window));
            let mut network = setup.network();
            let in_flight = samples(&mut network, "in_flight_bytes");
            network.run();
            // the request arrives after 1.5 RTT, the acknowledgement of the first data one RTT later; pacing
            // spreads the window over 0.8 RTT; noq's pacer waits for whole bursts, and tokio's timers are up
            // to 2 ms late, so that a large window is not filled in that time
            let first_flight = |(time, _): &&(Time, f64)| *time < Time::from_nanos(50_000_000);
            let most =
                in_flight.lock().unwrap().iter().filter(first_flight).map(|(_, v)| *v).fold(0.0, f64::max);
            let window = window as f64;
            let least = if stack == "noq" { window.min(24_000.0) } else { window } - 2.0 * 1200.0;
            assert!(most <= window && most >= least, "{stack}: {most} of {window}");
        }
    }
}

#[test]
fn windows_limit_what_is_in_flight() {
    type Set = fn(&mut Setup, ByteCount);
    let limits: [(&str, Set); 3] = [
        ("stream_receive_window", |setup, window| setup.client.stream_receive_window = Some(window)),
        ("connection_receive_window", |setup, window| setup.client.connection_receive_window = Some(window)),
        ("send_window", |setup, window| setup.server.send_window = Some(window)),
    ];
    for stack in STACKS {
        for (name, set) in limits {
            let mut setup = Setup::new(stack, 2_000_000);
            set(&mut setup, ByteCount::from_bytes(50_000));
            let mut network = setup.network();
            let in_flight = samples(&mut network, "in_flight_bytes");
            network.run();
            let progress = network.client.progress();
            assert_eq!(progress.delivered_bytes, 2_000_000, "{stack} {name}: {:?}", network.client.failure());
            let taken = progress.finished.unwrap().as_ms_f64();
            // 50 kB of data and at most 60 bytes of headers for each 1140 of it
            let most = 50_000.0 * 1200.0 / 1140.0 + 1200.0;
            assert!(largest(&in_flight) <= most, "{stack} {name}: {}", largest(&in_flight));
            assert!(largest(&in_flight) >= 25_000.0, "{stack} {name}: {}", largest(&in_flight));
            // 40 windows, each of which takes a round trip of 20 ms
            assert!(taken >= 40.0 * 20.0, "{stack} {name}: {taken} ms");
        }
    }
}

#[test]
fn initial_rtt_sets_the_first_timeout() {
    for stack in STACKS {
        for (initial_rtt, timeout) in [(None, 999), (Some(100), 300)] {
            let mut setup = Setup::new(stack, 1_000);
            setup.client.initial_rtt = initial_rtt.map(Duration::from_millis);
            setup.hook = Box::new(|direction, index, _| Fate {
                lost: direction == Direction::Up && index == 0,
                ..Fate::default()
            });
            let mut network = setup.network();
            network.run();
            // RFC 9002 sections 6.2.1 and 6.2.2: RTT + 4 x RTT / 2
            let second = network.sent(Direction::Up).nth(1).unwrap();
            assert_eq!(second.time, Time::ZERO + Duration::from_millis(timeout), "{stack}");
        }
    }
}

#[test]
fn datagram_size_is_that_of_full_datagrams() {
    for stack in STACKS {
        for size in [1200, 1280, 1452, 9000] {
            let mut setup = Setup::new(stack, 1_000_000);
            setup.server.datagram_size = Some(ByteCount::from_bytes(size));
            let mut network = setup.network();
            network.run();
            let full =
                network.sent(Direction::Down).filter(|sent| sent.size.bytes() == size + 28).count() as u64;
            assert_eq!(network.sent(Direction::Down).map(|sent| sent.size.bytes()).max(), Some(size + 28));
            assert!(full >= 1_000_000 / size, "{stack}: {full} of {size}");
            assert_eq!(
                network.sent(Direction::Up).map(|sent| sent.size.bytes()).max(),
                Some(1228),
                "{stack}"
            );
        }
    }
}

#[test]
fn congestion_control_decides_the_reduction() {
    for stack in STACKS {
        // RFC 9002 section 7.3.2: one half; RFC 9438 section 4.6: 0.7
        for (control, factor) in
            [(Some(CongestionControl::Newreno), 0.5), (Some(CongestionControl::Cubic), 0.7), (None, 0.7)]
        {
            let mut setup = Setup::new(stack, 500_000);
            setup.server.congestion_control = control;
            setup.hook = Box::new(|direction, index, _| Fate {
                lost: direction == Direction::Down && index == 60,
                ..Fate::default()
            });
            let mut network = setup.network();
            let windows = samples(&mut network, "cwnd_bytes");
            network.run();
            let windows = windows.lock().unwrap();
            let (before, after) = windows
                .windows(2)
                .map(|pair| (pair[0].1, pair[1].1))
                .find(|(before, after)| after < before)
                .expect("a loss reduces the window");
            // the ACK that shows the loss may have enlarged the window by three packets first
            let expected = factor * before..=factor * (before + 3.0 * 1200.0);
            assert!(expected.contains(&(after + 1.0)), "{stack} {control:?}: {before} to {after}");
        }
    }
}
