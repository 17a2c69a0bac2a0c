//! A tunnel with arbitrary datagrams from its carrier: bytes after a number of 18 bits.

use bolero::{TypeGenerator, produce};
use bytes::Bytes;

use quiclab_core::queue::{HeadDrop, QueueConfig};
use quiclab_core::scheduler::PathSchedulerKind;
use quiclab_core::scheduler::PathState;
use quiclab_core::tunnel::{Carrier, Emitted, Tunnel, TunnelConfig, TunnelPayload};
use quiclab_core::tunnel::{Pipeline, TunnelEcn};
use quiclab_core::{ByteCount, Duration, Metrics, Packet, Payload, RandomStream, Time};
use quiclab_fuzz::target;
use std::collections::VecDeque;

const BOUND: Duration = Duration::from_millis(20);

/// A carrier that delivers given datagrams, and sends nothing.
#[derive(Default)]
struct Bringer(VecDeque<(usize, TunnelPayload)>);

impl Carrier for Bringer {
    fn paths(&self) -> usize {
        2
    }
    fn state(&self, _: Time, _: usize) -> PathState {
        PathState::default()
    }
    fn largest_datagram(&self, _: usize) -> Option<u16> {
        None
    }
    fn send(&mut self, _: Time, _: usize, cargo: TunnelPayload) -> Result<(), TunnelPayload> {
        Err(cargo)
    }
    fn set_backlogged(&mut self, _: bool) {}
    fn receive(&mut self, _: Time, _: usize, _: Box<Packet>) {}
    fn delivered(&mut self) -> Option<(usize, TunnelPayload)> {
        self.0.pop_front()
    }
    fn transmit(&mut self, _: Time) -> Option<(usize, Box<Packet>)> {
        None
    }
    fn wake(&mut self, _: Time) {}
    fn next_wake(&self) -> Option<Time> {
        None
    }
    fn failure(&self) -> Option<&str> {
        None
    }
    fn statistics(&self, _: &mut Metrics) {}
}

/// A datagram, and the time since the previous one.
#[derive(Clone, Debug, TypeGenerator)]
enum Brought {
    /// A number near the previous ones: the sum of all differences.
    Near(u8, u8, Vec<u8>),
    /// Any bytes.
    Bytes(u8, Vec<u8>),
    /// A payload that no peer can send over a carrier of bytes.
    Parcel(u8, u64, u16),
}

#[test]
fn freight_of_anything() {
    target(500, produce::<(bool, Vec<Brought>)>(), |(ordered, all)| {
        let config = TunnelConfig {
            queue: QueueConfig::HeadDrop(HeadDrop { packets: Some(10), bytes: None }),
            scheduler: PathSchedulerKind::RoundRobin,
            pipeline: Pipeline::Direct,
            mtu: ByteCount::from_bytes(1400),
            resequencing: ordered.then_some(BOUND),
            repair: *ordered,
            batch: 1,
            ecn: TunnelEcn::Separate,
            keep_sojourns: 0,
        };
        let mut tunnel = Tunnel::of_bytes(config, RandomStream::new(1, "fuzz"));
        let (mut carrier, mut out, mut now) = (Bringer::default(), Emitted::default(), Time::ZERO);
        let (mut number, mut brought) = (0_u32, Vec::new());
        for one in all {
            let (after, cargo) = match one {
                Brought::Near(after, step, data) => {
                    number = (number + u32::from(step % 5)) % (1 << 18);
                    let bytes = [&number.to_be_bytes()[1..], data].concat();
                    (after, TunnelPayload::Bytes(bytes.into()))
                }
                Brought::Bytes(after, bytes) => (after, TunnelPayload::Bytes(Bytes::copy_from_slice(bytes))),
                Brought::Parcel(after, number, length) => {
                    (after, TunnelPayload::Reference { number: *number, length: *length })
                }
            };
            if let TunnelPayload::Bytes(bytes) = &cargo {
                let header = if *ordered { 3 } else { 0 };
                brought.extend(bytes.get(header..).map(<[u8]>::to_vec));
            }
            now += Duration::from_millis(u64::from(after % 8));
            carrier.0.push_back((usize::from(*after) % 2, cargo));
            tunnel.run(now, &mut carrier, &mut out);
            assert!(tunnel.next_wake().is_none_or(|due| due <= now + BOUND), "nothing waits longer");
        }
        // at the end nothing waits, whatever is missing
        for _ in 0..=all.len() {
            let Some(due) = tunnel.next_wake() else { break };
            now = now.max(due);
            tunnel.run(now, &mut carrier, &mut out);
        }
        assert_eq!(tunnel.next_wake(), None);
        assert!(out.outer.is_empty() && out.dropped.is_empty());
        let mut left = brought;
        for packet in &out.inner {
            let Payload::Ip(bytes) = &packet.payload else {
                panic!("a tunnel of bytes gives bytes: {packet:?}")
            };
            assert_eq!(packet.size.bytes() as usize, bytes.len());
            // each unchanged, and at most as often as it arrived
            let at = left.iter().position(|one| one[..] == bytes[..]).expect("it was brought");
            left.swap_remove(at);
        }
        assert!(*ordered || left.is_empty(), "without order nothing is held back");
    });
}
