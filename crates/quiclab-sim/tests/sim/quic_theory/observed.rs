//! Observations of a whole connection, from which qlog is generated: bytes that can be parsed, and the same
//! packets at both ends except those lost on the path.

use super::common::ONE_FLOW;
use crate::whole_runs::{load, native, run_scenario};
use quiclab_core::quic::{Frame, Frames};
use quiclab_core::{PacketSpace, RecoveryState, Time, TransportEvent, TransportObserver};
use quiclab_sim::BuildOptions;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Packet number space, and number.
type Number = (u8, u64);

/// Events observed at an end.
#[derive(Default)]
struct Log {
    /// Header and payload of each packet.
    sent: BTreeMap<Number, (Vec<u8>, Vec<u8>)>,
    received: BTreeMap<Number, (Vec<u8>, Vec<u8>)>,
    lost: BTreeSet<Number>,
    acked_packets: u64,
    states: Vec<RecoveryState>,
    last: Time,
}

struct Observer(Arc<Mutex<Log>>);

/// 0-RTT and 1-RTT packets share one space.
const fn space(space: PacketSpace) -> u8 {
    match space {
        PacketSpace::Initial => 0,
        PacketSpace::Handshake => 1,
        PacketSpace::ZeroRtt | PacketSpace::OneRtt => 2,
    }
}

impl TransportObserver for Observer {
    fn observe(&mut self, now: Time, event: &TransportEvent<'_>) {
        let mut log = self.0.lock().expect("no panic before");
        assert!(log.last <= now, "time goes on");
        log.last = now;
        match *event {
            TransportEvent::PacketSent { space: of, number, header, payload, .. } => {
                let packet = (header.to_vec(), payload.to_vec());
                assert!(
                    log.sent.insert((space(of), number), packet).is_none(),
                    "{of:?} {number} is sent twice"
                );
            }
            TransportEvent::PacketReceived { space: of, number, header, payload, .. } => {
                let packet = (header.to_vec(), payload.to_vec());
                let before = log.received.insert((space(of), number), packet);
                assert!(before.is_none(), "{of:?} {number} is taken twice");
            }
            TransportEvent::PacketsLost { space: of, numbers, .. } => {
                for number in numbers {
                    assert!(log.lost.insert((space(of), *number)), "{of:?} {number} is lost twice");
                }
            }
            TransportEvent::AckReceived { packets, .. } => log.acked_packets += u64::from(packets),
            TransportEvent::Recovery(state) => log.states.push(state),
            TransportEvent::Secret(_) => {}
        }
    }
}

/// Runs a download of 100 kB with these packets of the server lost; returns the logs of server and client.
fn run_logged(lost: &str, more: &[(&str, &str)]) -> [Log; 2] {
    let logs = [Arc::default(), Arc::default()];
    let observer = |identity: &quiclab_core::EndpointIdentity| {
        let log: &Arc<Mutex<Log>> = &logs[usize::from(identity.role == quiclab_core::Role::Client)];
        Some(Box::new(Observer(log.clone())) as Box<dyn TransportObserver>)
    };
    let loss = format!(r#"{{ kind = "listed", packets = [{lost}] }}"#);
    let mut sets = vec![
        ("flows.f.workload.size", "100 kB"),
        ("links.down.loss", loss.as_str()),
        // the last acknowledgements also arrive
        ("until", "duration_over"),
        ("duration", "5 s"),
    ];
    sets.extend(more);
    let scenario = load(ONE_FLOW, &sets).expect("the scenario is valid");
    let build = BuildOptions { transport_observer: &observer, ..native(Path::new(".")) };
    let output = run_scenario(&scenario, 7, build);
    assert!(output.result.flows["f"].completed);
    logs.map(|log| std::mem::take(&mut *log.lock().expect("no panic before")))
}

fn frames(payload: &[u8]) -> Vec<Frame<'_>> {
    let frames: Result<Vec<_>, _> = Frames::new(payload).collect();
    frames.unwrap_or_else(|error| panic!("{error} in {payload:02x?}"))
}

/// Bytes of stream 0 without a gap from the start.
fn covered(packets: &BTreeMap<Number, (Vec<u8>, Vec<u8>)>) -> u64 {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for (_, payload) in packets.values() {
        for frame in frames(payload) {
            if let Frame::Stream { stream_id: 0, offset, data, .. } = frame {
                ranges.push((offset, offset + data.len() as u64));
            }
        }
    }
    ranges.sort_unstable();
    ranges.into_iter().fold(0, |end, (start, stop)| if start <= end { end.max(stop) } else { end })
}

/// Packet 0 and 1 are the server's first flight, 20 to 45 are data.
#[test]
fn what_is_sent_and_not_lost_arrives_as_it_was() {
    for (lost, count) in [("1000000", 0), ("20, 21, 30, 45", 4), ("0, 1, 25", 3)] {
        let [server, client] = run_logged(lost, &[]);
        for (from, to) in [(&server, &client), (&client, &server)] {
            for (number, packet) in &to.received {
                assert_eq!(from.sent.get(number), Some(packet), "{number:?} arrives as it was sent");
            }
            for (_, payload) in from.sent.values() {
                assert!(!frames(payload).is_empty());
            }
            assert!(from.lost.iter().all(|number| from.sent.contains_key(number)), "lost were sent before");
        }
        // except for packets that arrive after the client has closed, with the last missing byte
        let last = client.received.keys().max().expect("something arrives");
        let missing =
            server.sent.keys().filter(|number| !client.received.contains_key(number) && *number < last);
        let missing: BTreeSet<_> = missing.copied().collect();
        // the datagrams of the first flight have two packets
        assert!(missing.len() >= count, "{missing:?}");
        // the keys of the others are discarded
        let data = |numbers: &BTreeSet<Number>| -> Vec<Number> {
            numbers.iter().filter(|number| number.0 == 2).copied().collect()
        };
        assert_eq!(data(&server.lost), data(&missing), "each is noticed, and none is spurious");
        assert_eq!((covered(&server.sent), covered(&client.received)), (100_000, 100_000));
    }
}

#[test]
fn states_are_told_when_they_change() {
    let [server, _] = run_logged("20, 21", &[]);
    assert!(server.states.windows(2).all(|pair| pair[0] != pair[1]));
    let last = server.states.last().expect("there are some");
    // the first window of 12 000 B has grown by the acknowledged bytes, and two losses of one window reduce
    // it once
    assert_eq!((last.lost_packets, last.congestion_events, last.spurious_losses), (2, 1, Some(0)));
    assert_eq!(last.min_rtt_ns, Some(100_000_000));
    let eliciting = server.sent.values().filter(|(_, payload)| {
        frames(payload).iter().any(|frame| {
            !matches!(frame, Frame::Ack(_) | Frame::Padding { .. } | Frame::ConnectionClose { .. })
        })
    });
    // the client closes with the last byte, instead of an acknowledgement of it
    assert_eq!(server.acked_packets, eliciting.count() as u64 - 2 - 1);
}

/// Google QUIC has other frames, which this parser cannot read; lengths and identity hold nevertheless.
#[test]
fn gquic_is_observed_with_its_own_bytes() {
    let version =
        [("flows.f.sender.quic.version", "gquic-37"), ("flows.f.receiver.quic.version", "gquic-37")];
    let [server, client] = run_logged("10, 20", &version);
    for (from, to) in [(&server, &client), (&client, &server)] {
        assert!(!to.received.is_empty());
        for (number, packet) in &to.received {
            assert_eq!(from.sent.get(number), Some(packet), "{number:?} arrives as it was sent");
        }
    }
}
