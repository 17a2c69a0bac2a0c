//! Computations of lab-quic that a function replaces: each changes the packets sent, as computed by hand.
//!
//! The round trip is 20 ms; datagrams have 1200 bytes, the initial window ten of them (profile `rfc9002`);
//! there is no pacing unless stated.

mod network;

use network::{CLIENT, Case, RTT, SERVER, hook, input, replaced};
use quiclab_core::quic::QuicFrame;
use quiclab_core::{Duration, Time};
use quiclab_transport::operations::{Anchor, Operation};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A window of 2400 bytes permits two datagrams of 1200: two in each round trip. The native one permits ten.
#[test]
fn a_window_of_two_datagrams_lets_two_leave_in_each_round_trip() {
    let case = Case::download("20 kB");
    assert_eq!(case.run_plain().bursts()[0].1, 10);
    let after = hook(Operation::CongestionWindow, Anchor::After, |inputs, _| {
        assert_eq!(input(inputs, "datagram_bytes"), 1200.0);
        Some(2400.0)
    });
    let world = case.run(SERVER, vec![after]);
    assert!(world.is_complete());
    let bursts = world.bursts();
    assert!(bursts.len() >= 8, "20 kB are 17 datagrams or more: {bursts:?}");
    assert!(bursts[..bursts.len() - 1].iter().all(|(_, datagrams)| *datagrams == 2), "{bursts:?}");
    assert!(bursts.windows(2).all(|pair| pair[1].0.since(pair[0].0) == RTT), "{bursts:?}");
}

/// 1200 bytes at 1.2 Mbit/s take 8 ms; ten datagrams in flight last for four round trips, so that only the pacer
/// counts.
#[test]
fn the_pacer_takes_the_rate_of_a_function() {
    let mut case = Case::download("20 kB");
    case.options = json!({ "stack": "lab-quic", "pacing": { "kind": "even", "factor": 1.25 } });
    let gaps = |world: &network::World| -> Vec<Duration> {
        world.bursts().windows(2).map(|pair| pair[1].0.since(pair[0].0)).collect()
    };
    assert!(gaps(&case.run_plain()).iter().all(|gap| *gap < ms(8)));
    let paced = case.run(SERVER, replaced(Operation::PacingRate, 1.2e6));
    assert!(paced.is_complete());
    let gaps = gaps(&paced);
    assert!(gaps.len() >= 15 && gaps.iter().all(|gap| *gap == ms(8)), "{gaps:?}");
}

/// The third datagram of ten is 2 ms late: seven later ones are acknowledged first, and it is declared lost by
/// the threshold of 3; the time threshold of 9/8 x 20 ms = 22.5 ms is not reached.
#[test]
fn with_a_packet_threshold_of_1000_nothing_late_is_lost() {
    let mut case = Case::download("12 kB");
    case.fate = |number| Some(if number == 2 { ms(2) } else { Duration::ZERO });
    let mut plain = case.run_plain();
    assert_eq!((plain.metric(SERVER, "lost_packets"), plain.metric(SERVER, "spurious_losses")), (1.0, 1.0));
    let mut patient = case.run(SERVER, replaced(Operation::PacketThreshold, 1000.0));
    assert!(patient.is_complete());
    assert_eq!(patient.metric(SERVER, "lost_packets"), 0.0);
}

/// The result of a function is not an input of the next call: the option is 3.
#[test]
fn a_packet_threshold_of_a_function_does_not_feed_back() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let notes = seen.clone();
    let double = hook(Operation::PacketThreshold, Anchor::After, move |inputs, result| {
        notes.lock().unwrap().insert(input(inputs, "packet_threshold") as u64);
        result.map(|result| 2.0 * result)
    });
    Case::download("50 kB").run(SERVER, vec![double]);
    assert_eq!(seen.lock().unwrap().iter().copied().collect::<Vec<_>>(), [3]);
}

/// All packets of the server are lost: a probe every 50 ms, without the backoff that is native.
#[test]
fn a_constant_probe_timeout_has_no_backoff() {
    let mut case = Case::download("3 kB");
    (case.fate, case.until) = (|_| None, ms(1000));
    let gaps = |world: &network::World| -> Vec<Duration> {
        world.bursts().windows(2).map(|pair| pair[1].0.since(pair[0].0)).collect()
    };
    let native = gaps(&case.run_plain());
    assert!(native.len() >= 3 && native.windows(2).all(|pair| pair[1] > pair[0]), "{native:?}");
    let gaps = gaps(&case.run(SERVER, replaced(Operation::ProbeTimeout, 50.0)));
    assert!(gaps.len() >= 15 && gaps.iter().all(|gap| *gap == ms(50)), "{gaps:?}");
}

/// A timeout of 1 ms is shorter than the round trip: many probes, but time advances, and all data arrive.
#[test]
fn the_shortest_probe_timeout_does_not_stop_time() {
    for end in [SERVER, CLIENT] {
        assert!(Case::download("20 kB").run(end, replaced(Operation::ProbeTimeout, 1.0)).is_complete());
    }
}

/// Ack-eliciting 1-RTT packets of the server, and the client's 1-RTT ACK frames, each with the time of its
/// datagram.
fn acknowledgements(world: &network::World) -> (Vec<Time>, Vec<Time>) {
    let mut all = (Vec::new(), Vec::new());
    for sent in &world.sent {
        let acks = sent.frames().filter(|frame| matches!(frame, QuicFrame::Ack(_))).count();
        if sent.end == SERVER && sent.frames().count() > acks {
            all.0.push(sent.time);
        } else if sent.end == CLIENT && acks > 0 {
            all.1.push(sent.time);
        }
    }
    all
}

/// Natively every second packet is acknowledged. The response to the last one is CONNECTION_CLOSE.
#[test]
fn without_a_delay_each_packet_is_acknowledged() {
    let case = Case::download("50 kB");
    let (asking, acks) = acknowledgements(&case.run_plain());
    assert!(acks.len() * 3 < asking.len() * 2, "{} for {}", acks.len(), asking.len());
    let (asking, acks) = acknowledgements(&case.run(CLIENT, replaced(Operation::AckDelay, 0.0)));
    assert_eq!(acks.len(), asking.len() - 1);
    assert!(asking.iter().zip(&acks).all(|(sent, acked)| acked.since(*sent) == RTT / 2));
}

/// The first burst of data, of ten datagrams, is acknowledged once, 5 ms after its first datagram arrived.
#[test]
fn an_acknowledgement_leaves_after_the_delay_of_a_function() {
    let unacknowledged = Arc::new(Mutex::new(0.0));
    let largest = unacknowledged.clone();
    let delay = hook(Operation::AckDelay, Anchor::After, move |inputs, _| {
        let mut largest = largest.lock().unwrap();
        *largest = input(inputs, "unacknowledged").max(*largest);
        Some(5.0)
    });
    let world = Case::download("50 kB").run(CLIENT, vec![delay]);
    let first = world.bursts()[0].0;
    let (_, acks) = acknowledgements(&world);
    let after: Vec<_> = acks.iter().filter(|time| **time > first).map(|time| time.since(first)).collect();
    assert_eq!(after[0], ms(15), "{after:?}");
    assert!(*unacknowledged.lock().unwrap() >= 9.0);
}

/// Every sample is 100 ms: so is the mean.
#[test]
fn rtt_samples_of_a_function_are_those_that_count() {
    let case = Case::download("50 kB");
    let near = (case.run_plain().metric(SERVER, "srtt_ms"), RTT.as_ms_f64());
    assert!((near.0 - near.1).abs() < 1.0, "{near:?}");
    let mut world = case.run(SERVER, replaced(Operation::RttSample, 100.0));
    assert_eq!((world.metric(SERVER, "srtt_ms"), world.metric(SERVER, "min_rtt_ms")), (100.0, 100.0));
}

/// Datagrams of 1000 bytes at 4 Mbit/s are one in 2 ms. A window of one packet permits one in 20 ms.
#[test]
fn datagrams_that_may_leave_leave_when_they_are_sent() {
    let workload = json!({ "kind": "datagrams", "rate": "4 Mbit/s", "size": "1 kB", "duration": "400 ms" });
    let case = Case::new(workload);
    let waits = |may_leave: Option<f64>| -> Vec<Duration> {
        let mut hooks = replaced(Operation::CongestionWindow, 1200.0);
        hooks.extend(may_leave.into_iter().flat_map(|may| replaced(Operation::DatagramMayLeave, may)));
        let world = case.run(SERVER, hooks);
        let of = |sent: &network::Sent| {
            let time = sent.time;
            let of_frame = move |frame: &QuicFrame| match frame {
                QuicFrame::Datagram { sent, .. } => Some(time.since(*sent)),
                _ => None,
            };
            sent.frames().filter_map(of_frame).collect::<Vec<_>>()
        };
        world.sent.iter().filter(|sent| sent.end == SERVER).flat_map(of).collect()
    };
    for held in [None, Some(0.0)] {
        assert!(waits(held).iter().filter(|wait| **wait > ms(100)).count() > 10, "{held:?}");
    }
    let free = waits(Some(1.0));
    assert_eq!((free.len(), free.iter().max()), (200, Some(&Duration::ZERO)));
}

fn on_two_paths(size: &str) -> Case {
    let mut case = Case::download(size);
    case.paths = 2;
    case.options["quic"] = json!({ "path_scheduler": "round_robin" });
    case
}

/// Ten datagrams of each path may be in flight: 5 kB never fill the window of path 0.
#[test]
fn a_function_chooses_the_path() {
    let paths = |world: &network::World| -> BTreeSet<usize> { world.data().map(|sent| sent.path).collect() };
    let case = on_two_paths("200 kB");
    assert_eq!(paths(&case.run_plain()), BTreeSet::from([0, 1]));
    let case = on_two_paths("5 kB");
    let world = case.run(SERVER, replaced(Operation::Path, 0.0));
    assert!(world.is_complete());
    assert_eq!(paths(&world), BTreeSet::from([0]));
}

#[test]
fn a_path_that_is_not_there_fails_the_connection_once() {
    let calls = Arc::new(Mutex::new(0));
    let count = calls.clone();
    let seven = hook(Operation::Path, Anchor::Replace, move |inputs, _| {
        assert_eq!((input(inputs, "paths"), input(inputs, "previous")), (2.0, -1.0));
        *count.lock().unwrap() += 1;
        Some(7.0)
    });
    let world = on_two_paths("5 kB").run(SERVER, vec![seven]);
    assert_eq!(
        world.ends[SERVER].failure(),
        Some("plugin `mine`: `m:f` in place of `compute.path` returned 7; expected a path with room: 0 now")
    );
    assert_eq!(world.ends[CLIENT].failure(), Some("closed by the peer with error 0x1"));
    assert_eq!(*calls.lock().unwrap(), 1);
}

/// Page of three objects that are requested together.
fn page() -> Case {
    Case::new(json!({
        "kind": "page", "html": "2 kB", "objects": [{ "count": 3, "size": "30 kB" }], "priorities": "round_robin",
    }))
}

/// Bidirectional streams of a world in the order of their last frames.
fn order(world: &network::World) -> Vec<u64> {
    let ends = |sent: &network::Sent| {
        let ended = sent.streams().filter(|(id, _, _, fin)| *fin && id % 4 == 0);
        ended.map(|(id, ..)| id).collect::<Vec<_>>()
    };
    world.data().flat_map(ends).collect()
}

/// Stream 0 is the HTML. Natively the objects send in turn; with the highest first they end in the opposite
/// order of their identifiers.
#[test]
fn a_function_chooses_the_stream() {
    let case = page();
    assert_ne!(order(&case.run_plain()), [0, 12, 8, 4]);
    let highest = hook(Operation::Stream, Anchor::Replace, |inputs, _| Some(input(inputs, "highest")));
    let world = case.run(SERVER, vec![highest]);
    assert!(world.is_complete());
    assert_eq!(order(&world), [0, 12, 8, 4]);
}

#[test]
fn a_stream_with_nothing_to_send_is_refused() {
    let world = page().run(SERVER, replaced(Operation::Stream, 4000.0));
    assert_eq!(
        world.ends[SERVER].failure(),
        Some(
            "plugin `mine`: `m:f` in place of `compute.stream` returned 4000; expected a stream with \
             something to send now"
        )
    );
}

/// All operations with functions that return no result: the same datagrams are sent at the same times. Each
/// is called with the inputs of its description.
#[test]
fn functions_that_answer_nothing_change_nothing() {
    let called = Arc::new(Mutex::new(BTreeMap::new()));
    let cases = [
        on_two_paths("200 kB"),
        page(),
        Case { fate: |number| (number % 7 != 3).then_some(ms(number % 5)), ..Case::download("300 kB") },
        Case::new(json!({ "kind": "datagrams", "rate": "8 Mbit/s", "size": "1 kB", "duration": "100 ms" })),
        Case { options: json!({ "stack": "lab-quic" }), ..Case::download("300 kB") },
    ];
    for case in &cases {
        let plain = case.run_plain();
        for end in [SERVER, CLIENT] {
            let watch = |operation: Operation| {
                let called = called.clone();
                hook(operation, Anchor::After, move |inputs, result| {
                    let names = inputs.iter().map(|(name, _)| *name);
                    assert!(names.eq(operation.info().inputs.iter().map(|(name, _)| *name)));
                    assert!(operation.info().allows(result.unwrap()), "{operation}: {result:?}");
                    *called.lock().unwrap().entry(operation).or_insert(0) += 1;
                    None
                })
            };
            let watched = case.run(end, Operation::ALL.iter().copied().map(watch).collect());
            let line = |sent: &network::Sent| format!("{sent:?}");
            let (left, right): (Vec<_>, Vec<_>) =
                (plain.sent.iter().map(line).collect(), watched.sent.iter().map(line).collect());
            if let Some(index) = (0..left.len()).find(|&index| left.get(index) != right.get(index)) {
                panic!("{end}: {:?} is {}, was {}", case.workload, right[index], left[index]);
            }
            assert_eq!(left.len(), right.len());
        }
    }
    let called = called.lock().unwrap();
    assert!(Operation::ALL.iter().all(|operation| called.contains_key(operation)), "{called:?}");
}
