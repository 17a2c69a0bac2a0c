//! A stack that requests an immediate wake-up again and again.

use super::*;
use crate::library::{Connection, Event, Read, Snapshot, StreamDirection};
use quiclab_core::{FiveTuple, FlowId, Protocol};
use quiclab_transport::build_on_streams;
use quiclab_transport::options::{QuicVersion, Workload};
use std::time::Instant;

/// Requests the instant at which it connected, indefinitely.
#[derive(Default)]
struct Stuck {
    connected: Option<Instant>,
    wakes: u32,
    /// Number of wakes after which it sends a byte; 0: never.
    send_every: u32,
    /// Whether it reads datagrams, and the number received at each call of `transmit`.
    reads: bool,
    received: usize,
    asked: Vec<usize>,
}

impl Connection for Stuck {
    type Stream = ();
    type Moment = Instant;
    fn id((): ()) -> u64 {
        0
    }
    fn open(&mut self, _direction: StreamDirection) -> Option<()> {
        None
    }
    fn accept(&mut self, _direction: StreamDirection) -> Option<()> {
        None
    }
    fn write(&mut self, (): (), _data: Bytes) -> usize {
        0
    }
    fn finish(&mut self, (): ()) {}
    fn reset(&mut self, (): ()) {}
    fn set_priority(&mut self, (): (), _priority: i32) {}
    fn send_datagram(&mut self, _data: Bytes) -> Result<(), usize> {
        Ok(())
    }
    fn waiting_datagrams(&mut self) -> u64 {
        0
    }
    fn receive_datagram(&mut self) -> Option<Bytes> {
        None
    }
    fn read(&mut self, (): (), _chunk: impl FnMut(&[u8])) -> Read {
        Read::default()
    }
    fn close(&mut self, _now: Instant) {}
    fn recovery(&mut self) -> RecoveryState {
        RecoveryState::default()
    }
}

impl Stack for Stuck {
    const NAME: &'static str = "stuck";
    fn connect(&mut self, now: Instant) {
        self.connected = Some(now);
    }
    fn receive(
        &mut self,
        _now: Instant,
        _path: u8,
        _ecn: Ecn,
        _datagram: BytesMut,
        _answer: &mut Vec<u8>,
    ) -> bool {
        assert!(self.reads, "a stack that was given up is not called");
        self.received += 1;
        false
    }
    fn deadline(&mut self) -> Option<Instant> {
        self.connected
    }
    fn wake(&mut self, _now: Instant) {
        self.wakes += 1;
    }
    fn transmit(&mut self, _now: Instant, datagram: &mut Vec<u8>) -> Option<(Ecn, u8)> {
        self.asked.push(self.received);
        if self.send_every == 0 || self.wakes < self.send_every {
            return None;
        }
        self.wakes = 0;
        datagram.push(0);
        Some((Ecn::NotEct, 0))
    }
    fn poll(&mut self) -> Option<Event<()>> {
        None
    }
    fn is_handshaking(&self) -> bool {
        false
    }
    fn snapshot(&mut self) -> Snapshot {
        Snapshot::default()
    }
}

fn client(stack: Stuck) -> QuicEndpoint<Stuck> {
    let identity = EndpointIdentity {
        name: "flow.receiver".to_owned(),
        flow: FlowId(0),
        role: Role::Client,
        tuple: FiveTuple::new(Protocol::Udp, "10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap()),
        paths: 1,
    };
    let size = Some(ByteCount::from_bytes(1));
    let workload = Workload::Download { size, duration: None, request: ByteCount::from_bytes(1) };
    let application = build_on_streams(&identity, &workload, (Time::ZERO, 1), QuicVersion::V1).unwrap();
    let application = OnStreams::new(Role::Client, application, 1);
    QuicEndpoint::new(&identity, stack, application, Time::ZERO, RandomStream::new(1, "tls"), None)
}

/// Wakes `endpoint` up to `times` times, as long as it requests it; returns the number of wakes and the time
/// of the last one.
fn run(endpoint: &mut QuicEndpoint<Stuck>, times: u32, out: &mut Outputs) -> (u32, Time) {
    let mut last = Time::ZERO;
    for count in 0..times {
        let Some(now) = endpoint.next_wake() else { return (count, last) };
        endpoint.wake(now, out);
        last = now;
    }
    (times, last)
}

#[test]
fn a_stack_that_is_stuck_fails_its_connection() {
    let mut endpoint = client(Stuck::default());
    let mut out = Outputs::default();
    // the first two wakes are at time 0 (it connects, its timer fires), each next one a step later
    let last = Time::ZERO + MIN_TIMER_STEP * u64::from(MAX_RETRIES - 2);
    assert_eq!(run(&mut endpoint, 2 * MAX_RETRIES, &mut out), (MAX_RETRIES, last));
    assert!(endpoint.progress().failed);
    assert_eq!(
        endpoint.failure().unwrap(),
        format!(
            "stuck is stuck at {last}: 100000 times in a row it wanted to be woken at once and did nothing"
        )
    );
    let packet = Packet {
        size: ByteCount::from_bytes(29),
        payload: Payload::Bytes(BytesMut::zeroed(1)),
        ..Packet::default()
    };
    endpoint.receive(last, Port(0), Box::new(packet), &mut out);
    assert_eq!(endpoint.counters().consumed.packets, 1, "taken and ignored");
    assert_eq!(endpoint.next_wake(), None);
}

#[test]
fn a_stack_that_sends_now_and_then_is_not_stuck() {
    let mut endpoint = client(Stuck { send_every: MAX_RETRIES - 1, ..Stuck::default() });
    let times = 3 * MAX_RETRIES;
    assert_eq!(run(&mut endpoint, times, &mut Outputs::default()).0, times);
    assert!(!endpoint.progress().failed);
    assert_eq!(endpoint.counters().sent.packets, 3);
}

#[test]
fn what_arrives_together_is_acknowledged_together() {
    let mut endpoint = client(Stuck { reads: true, ..Stuck::default() });
    let now = Time::ZERO + Duration::from_millis(3);
    let mut out = Outputs::default();
    for _ in 0..3 {
        let payload = Payload::Bytes(BytesMut::zeroed(1));
        let packet = Packet { size: ByteCount::from_bytes(29), payload, ..Packet::default() };
        endpoint.receive(now, Port(0), Box::new(packet), &mut out);
    }
    assert_eq!(endpoint.next_wake(), Some(now));
    endpoint.wake(now, &mut out);
    assert_eq!(endpoint.stack.asked, [3]);
}

#[test]
fn timers_of_tokio_are_late_by_up_to_two_milliseconds() {
    let wakes = |now, deadline| tokio_wakes(Time::from_nanos(now), Time::from_nanos(deadline)).as_nanos();
    // the tick at 2 ms, slept for from the tick before
    assert_eq!(wakes(1_000_000, 1_200_000), 2_000_000);
    // the tick at 2 ms; 1.7 ms are slept as two
    assert_eq!(wakes(300_000, 1_200_000), 2_300_000);
    assert_eq!(wakes(300_000, 2_000_000), 2_300_000);
    // already due at the tick that is now
    assert_eq!(wakes(5_000_000, 5_000_000), 5_000_000);
}
