//! quinn and noq with the congestion control of quiclab's transports.

use crate::network::{Fate, Setup, config};
use crate::options::samples;
use crate::{STACKS, validate};
use quiclab_core::{ByteCount, Direction};
use quiclab_transport::congestion::Family;
use quiclab_transport::options::{CongestionControl, Controller, SlowStartExit};

#[test]
fn every_control_completes_downloads_despite_losses() {
    for stack in STACKS {
        // the stacks do not report the number of marked packets
        let told = |control: &&CongestionControl| !control.family().counts_marks();
        for &control in CongestionControl::ALL.iter().filter(told) {
            let mut setup = Setup::new(stack, 1_000_000).random_loss(0.02, 7).bottleneck(20, 100);
            setup.server.controller = Some(Controller::Quiclab);
            setup.server.congestion_control = Some(control);
            let mut network = setup.network();
            network.run();
            network.assert_complete_despite_losses(1_000_000, &format!("{stack} {control:?}"));
            // a window of two datagrams (RFC 9002 section 7.2), or 12 000 B, at the RTT of a full queue
            assert!(network.server_statistic("cwnd_bytes") >= 2.0 * 1200.0);
        }
    }
}

#[test]
fn a_fixed_window_is_filled_and_never_exceeded() {
    for stack in STACKS {
        let run = |value| {
            let mut setup = Setup::new(stack, 1_000_000);
            setup.server.congestion_control = Some(CongestionControl::Fixed);
            setup.server.initial_window = Some(ByteCount::from_bytes(30_000));
            // the sixtieth datagram of each hundred after the handshake
            setup.hook = Box::new(|direction, index, _| Fate {
                lost: direction == Direction::Down && index % 100 == 60,
                ..Fate::default()
            });
            let mut network = setup.network();
            let samples = samples(&mut network, value);
            network.run();
            assert_eq!(network.client.progress().delivered_bytes, 1_000_000);
            assert!(network.server_statistic("congestion_events") > 0.0);
            let samples = samples.lock().unwrap();
            samples.iter().map(|(_, value)| *value).collect::<Vec<_>>()
        };
        let most = run("in_flight_bytes").into_iter().fold(0.0, f64::max);
        // filled until another datagram does not fit; noq's pacer is late by two more (`tokio_wakes`)
        let missing = if stack == "noq" { 4.0 } else { 2.0 };
        assert!((30_000.0 - missing * 1200.0..=30_000.0).contains(&most), "{stack}: {most}");
        // 0 until the server has its connection
        assert!(run("cwnd_bytes").into_iter().all(|window| window == 30_000.0 || window == 0.0), "{stack}");
        assert!(run("ssthresh_bytes").is_empty(), "{stack}: a fixed window has no threshold");
    }
}

#[test]
fn a_loss_cuts_the_window_once_and_threshold_and_counter_agree() {
    for stack in STACKS {
        // RFC 9002 section 7.3.2: one half; Chromium's N = 2: (2 - 1 + 0.7) / 2
        for (connections, factor) in [(1, 0.5), (2, 0.85)] {
            let run = |value| {
                let mut setup = Setup::new(stack, 300_000);
                setup.server.controller = Some(Controller::Quiclab);
                setup.server.congestion_control = Some(CongestionControl::Newreno);
                setup.server.emulated_connections = Some(connections);
                // three losses of one flight
                setup.hook = Box::new(|direction, index, _| Fate {
                    lost: direction == Direction::Down && [60, 62, 64].contains(&index),
                    ..Fate::default()
                });
                let mut network = setup.network();
                let samples = samples(&mut network, value);
                network.run();
                assert_eq!(network.server_statistic("lost_packets"), 3.0, "{stack}");
                assert_eq!(network.server_statistic("congestion_events"), 1.0, "{stack}");
                let samples = samples.lock().unwrap();
                samples.iter().map(|(_, value)| *value).collect::<Vec<_>>()
            };
            let windows = run("cwnd_bytes");
            let cuts: Vec<_> = windows.windows(2).filter(|pair| pair[1] < pair[0]).collect();
            assert_eq!(cuts.len(), 1, "{stack}: one reduction per round trip");
            let (before, after) = (cuts[0][0], cuts[0][1]);
            // the ACK that shows the loss may have enlarged the window by three packets first
            let expected = factor * before..=factor * (before + 3.0 * 1200.0);
            assert!(expected.contains(&(after + 1.0)), "{stack} {connections}: {before} to {after}");
            assert_eq!(run("ssthresh_bytes")[0], after, "{stack}");
        }
    }
}

#[test]
fn hystart_leaves_slow_start_before_a_loss() {
    for stack in STACKS {
        let lost = |exit| {
            // a pipe of 17 packets at 10 Mbit/s and 20 ms, and a queue that the first overshoot fills
            let mut setup = Setup::new(stack, 1_000_000).bottleneck(10, 60);
            setup.server.slow_start_exit = Some(exit);
            let mut network = setup.network();
            network.run();
            network.server_statistic("lost_packets")
        };
        assert!(lost(SlowStartExit::None) > 0.0, "{stack}");
        assert!(lost(SlowStartExit::HystartPlusPlus) < lost(SlowStartExit::None), "{stack}");
    }
}

#[test]
fn bbr_starts_up_drains_and_probes_and_noq_paces_at_its_rate() {
    for stack in STACKS {
        for &control in CongestionControl::ALL.iter().filter(|control| control.family() == Family::Rate) {
            let run = |value| {
                let mut setup = Setup::new(stack, 4_000_000).bottleneck(20, 200);
                setup.server.congestion_control = Some(control);
                let mut network = setup.network();
                let samples = samples(&mut network, value);
                network.run();
                let samples = samples.lock().unwrap();
                samples.clone()
            };
            let mut phases: Vec<_> = run("phase").into_iter().map(|(_, phase)| phase).collect();
            phases.dedup();
            // 3 startup, 4 drain, 5 probing for bandwidth, 8 or 9 in version 3: `Phase`
            let from = phases.iter().position(|phase| *phase == 3.0).expect("startup comes first");
            assert_eq!(phases[from..from + 2], [3.0, 4.0], "{stack} {control:?}: {phases:?}");
            let probing = if control == CongestionControl::BbrV3 { &[8.0, 9.0][..] } else { &[5.0] };
            assert!(probing.contains(&phases[from + 2]), "{stack} {control:?}: {phases:?}");
            let rates = run("pacing_rate_mbps");
            // quinn's pacer does not follow: its value would be the rate of nothing
            assert_eq!(rates.is_empty(), stack == "quinn", "{stack} {control:?}");
            // once it probes, within its cycle's gains of 3/4 and 5/4 (draft-cardwell-iccrg-bbr-congestion-control-00
            // section 4.3.4.2) of the UDP payload that the link carries: 1200 of 1228 bytes, and a tenth for
            // aggregation
            if let Some((_, last)) = rates.last() {
                let link = 20.0 * 1200.0 / 1228.0;
                assert!(
                    (0.75 * 0.9 * link..=1.25 * 1.1 * link).contains(last),
                    "{stack} {control:?}: {last}"
                );
            }
        }
    }
}

#[test]
fn it_is_used_where_it_is_asked_for_or_needed() {
    for stack in STACKS {
        let cwnds = |controller, connections| {
            let mut setup = Setup::new(stack, 200_000).random_loss(0.02, 3);
            setup.server.congestion_control = Some(CongestionControl::Newreno);
            (setup.server.controller, setup.server.emulated_connections) = (controller, connections);
            let mut network = setup.network();
            let windows = samples(&mut network, "cwnd_bytes");
            network.run();
            let windows = windows.lock().unwrap();
            windows.clone()
        };
        let own = cwnds(None, None);
        assert_eq!(cwnds(Some(Controller::Stack), Some(1)), own, "{stack}");
        assert_ne!(cwnds(None, Some(2)), own, "{stack}: N connections are quiclab's");
        assert_eq!(cwnds(Some(Controller::Quiclab), Some(2)), cwnds(None, Some(2)), "{stack}");
    }
}

#[test]
fn the_stack_alone_is_refused_what_it_does_not_have() {
    for stack in STACKS {
        let sentence = |control, connections, exit| {
            let mut config = config(stack);
            config.controller = Some(Controller::Stack);
            config.congestion_control = control;
            config.emulated_connections = connections;
            config.slow_start_exit = exit;
            validate(&config).err().map(|error| error.to_string())
        };
        assert_eq!(sentence(None, Some(1), Some(SlowStartExit::None)), None);
        let start = "controller: expected \"quiclab\", got \"stack\"; the stack";
        for (found, lacking) in [
            (sentence(Some(CongestionControl::Fixed), None, None), "`fixed`"),
            (sentence(Some(CongestionControl::BbrLinux), None, None), "`bbr-linux`"),
            (sentence(None, Some(2), None), "`emulated_connections`"),
            (sentence(None, None, Some(SlowStartExit::HystartLinux)), "`hystart-linux`"),
        ] {
            assert_eq!(found, Some(format!("{start} `{stack}` does not have its own {lacking}")));
        }
    }
}
