//! Calls that a controller receives, recorded by one that does nothing else.

use super::*;
use quiclab_core::DataRate;
use quiclab_transport::congestion::Phase;

#[derive(Default)]
struct Told {
    acks: Vec<Ack>,
    congestion: Vec<CongestionEvent>,
    timeouts: Vec<bool>,
    recovery_ends: usize,
    sent: Vec<(u64, u64)>,
}

struct Recorder(Arc<Mutex<Told>>);

impl Recorder {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap()
    }
}

impl Controller for Recorder {
    fn on_sent(&mut self, _: Time, bytes: u64, in_flight: u64) {
        self.told().sent.push((bytes, in_flight));
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.told().acks.push(ack.clone());
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.told().congestion.push(*event);
    }
    fn on_recovery_end(&mut self, _: Time) {
        self.told().recovery_ends += 1;
    }
    fn on_timeout(&mut self, _: &CongestionEvent, cut: bool) {
        self.told().timeouts.push(cut);
    }
    fn on_spurious(&mut self, _: Time) {}
    fn window(&self) -> u64 {
        12_000
    }
    fn ssthresh(&self) -> Option<u64> {
        None
    }
    fn phase(&self) -> Phase {
        Phase::Fixed
    }
}

/// A connection in which every packet has 1000 bytes; times in milliseconds.
struct Connection {
    lab: LabControllerState,
    told: Arc<Mutex<Told>>,
}

impl Connection {
    fn new() -> Self {
        let told = Arc::default();
        Self { lab: LabControllerState::new(Box::new(Recorder(Arc::clone(&told)))), told }
    }

    fn at(&self, ms: u64) -> Instant {
        self.lab.clock.instant(Time::from_nanos(ms * 1_000_000))
    }

    fn send(&mut self, ms: u64, packets: usize) {
        for _ in 0..packets {
            self.lab.on_sent(self.at(ms), 1000);
        }
    }

    /// Acknowledges a packet sent at each of `sent`; `in_flight` bytes remain.
    fn ack(&mut self, ms: u64, sent: &[u64], in_flight: u64) -> Ack {
        for sent in sent {
            self.lab.on_ack(self.at(ms), self.at(*sent), 1000, std::time::Duration::from_millis(99));
        }
        self.lab.on_end_acks(self.at(ms), in_flight, false);
        self.told.lock().unwrap().acks.last().unwrap().clone()
    }

    fn lose(&mut self, ms: u64, sent: u64, packets: u64, persistent: bool) {
        self.lab.on_congestion(self.at(ms), self.at(sent), persistent, packets * 1000);
    }
}

#[test]
fn a_batch_of_acknowledgements_is_one_ack() {
    let mut connection = Connection::new();
    connection.send(0, 4);
    connection.send(10, 2);
    assert_eq!(connection.told.lock().unwrap().sent[..3], [(1000, 0), (1000, 1000), (1000, 2000)]);
    let ack = connection.ack(100, &[0, 0, 0, 0], 2000);
    assert_eq!(
        (ack.acked_bytes, ack.acked_packets, ack.prior_in_flight, ack.in_flight),
        (4000, 4, 6000, 2000)
    );
    assert_eq!((ack.acked_position, ack.next_position), (4, 6));
    let rtt = Some(Duration::from_millis(100));
    // the stack's smoothed RTT is undefined before its first sample (RFC 9002 section 5.3)
    assert_eq!((ack.rtt, ack.srtt, ack.min_rtt), (rtt, rtt, rtt));
    assert!(ack.cwnd_limited && ack.may_grow);
    let rate = ack.rate.unwrap();
    // 4000 B since the start, in the longer of the send interval (0) and the ACK interval (100 ms)
    assert_eq!((rate.delivered, rate.interval), (4000, rtt));
    assert_eq!(rate.rate(), Some(DataRate::from_bits_per_second(320_000)));

    let ack = connection.ack(105, &[10, 10], 0);
    assert_eq!((ack.acked_bytes, ack.acked_position, ack.next_position), (2000, 6, 6));
    assert_eq!((ack.rtt, ack.min_rtt), (Some(Duration::from_millis(95)), Some(Duration::from_millis(95))));
    assert_eq!(ack.srtt, Some(Duration::from_millis(99)));
    assert!(connection.lab.sent.is_empty());
}

#[test]
fn a_late_packet_gives_no_rtt_sample() {
    let mut connection = Connection::new();
    connection.send(0, 1);
    connection.send(10, 1);
    assert_eq!(connection.ack(60, &[10], 1000).rtt, Some(Duration::from_millis(50)));
    // packet 0 after packet 1: not the largest newly acknowledged (RFC 9002 section 5.1)
    let ack = connection.ack(70, &[0], 0);
    assert_eq!((ack.rtt, ack.acked_position), (None, 2));
}

#[test]
fn losses_of_one_round_trip_are_one_recovery_period() {
    let mut connection = Connection::new();
    connection.send(0, 5);
    connection.send(10, 5);
    connection.ack(100, &[0, 0, 0], 7000);
    connection.lose(100, 0, 2, false); // starts a period at 100 ms
    connection.send(101, 3);
    connection.lose(110, 10, 1, false); // sent before it: the same period
    {
        let told = connection.told.lock().unwrap();
        assert_eq!(told.congestion.len(), 1);
        let event = told.congestion[0];
        assert_eq!((event.in_flight, event.next_position, event.ecn), (5000, 10, false));
    }
    // lost bytes are reported with the next ACK, once; the window does not change
    let ack = connection.ack(111, &[10], 6000);
    assert_eq!((ack.lost_bytes, ack.may_grow, ack.phase), (3000, false, RecoveryPhase::Recovery));
    assert_eq!(connection.told.lock().unwrap().recovery_ends, 0);
    // a packet sent after the period started ends it (section 7.3.2)
    let ack = connection.ack(201, &[101], 5000);
    assert_eq!((ack.lost_bytes, ack.may_grow, ack.phase), (0, true, RecoveryPhase::Open));
    assert_eq!(connection.told.lock().unwrap().recovery_ends, 1);
    connection.lose(202, 101, 1, false);
    assert_eq!(connection.told.lock().unwrap().congestion.len(), 2);
}

#[test]
fn persistent_congestion_is_a_timeout_that_cuts_once() {
    let mut connection = Connection::new();
    connection.send(0, 4);
    connection.lose(500, 0, 1, true);
    connection.lose(510, 0, 1, true); // within the recovery period
    let told = connection.told.lock().unwrap();
    assert_eq!((&told.timeouts[..], told.congestion.len()), (&[true, false][..], 0));
}

#[test]
fn a_mark_is_not_a_loss() {
    let mut connection = Connection::new();
    connection.send(0, 2);
    connection.lose(100, 0, 0, false);
    let event = connection.told.lock().unwrap().congestion[0];
    assert_eq!((event.ecn, event.in_flight), (true, 2000));
    assert_eq!(connection.ack(101, &[0, 0], 0).lost_bytes, 0);
}

#[test]
fn what_is_remembered_is_no_more_than_what_is_in_flight() {
    let mut connection = Connection::new();
    for round in 0..1000 {
        let ms = 10 * round;
        connection.send(ms, 4);
        match round % 3 {
            0 => drop(connection.ack(ms + 5, &[ms; 4], 0)),
            1 => {
                connection.ack(ms + 5, &[ms; 3], 1000);
                connection.lose(ms + 6, ms, 1, false);
            }
            // the stack has forgotten all of them, as with the keys of the handshake
            _ => connection.lab.on_end_acks(connection.at(ms + 5), 0, false),
        }
        assert_eq!((connection.lab.sent.len(), connection.lab.tracked), (0, 0), "round {round}");
    }
}
