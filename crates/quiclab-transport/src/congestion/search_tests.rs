use super::super::slow_start::testing::MSS;
use super::super::{Ack, Flavour, WindowSettings, newreno::NewReno};
use super::*;
use crate::congestion::Controller;

const RTT_US: u64 = 100_000;
/// Duration of a bin in µs: 3.5 RTTs / 10.
const BIN_US: u64 = 35_000;

/// Policy with a sender whose packets are sent and acknowledged at given instants.
struct Sender {
    search: Search,
    window: u64,
}

impl Sender {
    fn new() -> Self {
        Self { search: Search::new(10 * MSS), window: 1000 * MSS }
    }

    fn send(&mut self, packets: u64) {
        (0..packets).for_each(|_| self.search.on_sent(MSS));
    }

    fn ack(&mut self, now_us: u64, rtt_us: u64, packets: u64) -> SlowStartDecision {
        let rtt = Some(Duration::from_micros(rtt_us));
        let ack = Ack {
            now: Time::from_nanos(now_us * 1000),
            acked_bytes: packets * MSS,
            acked_packets: packets as u32,
            rtt,
            ..Ack::default()
        };
        let (window, mss) = (self.window, MSS);
        self.search.on_ack(&SlowStartInput { ack: &ack, rtt, min_rtt: rtt, window, mss, initial: true })
    }
}

/// Numbers of bins and interpolation: an RTT of 100 ms is 2 bins and 85 hundredths. With 1, 2, 3 ... packets sent in
/// successive bins, the window that ended at bin 17 (0 based: 18 bins full, 19 - 2) has bins 8 to 17, the one before it 7
/// to 16: 8 + ... + 17 = 125 and 115 packets; 85 % of the second and 15 % of the first.
#[test]
fn what_was_sent_a_round_trip_before_is_interpolated_between_two_bins() {
    let mut bins = Bins::new(Time::ZERO, Duration::from_micros(RTT_US), 0, 0).unwrap();
    assert_eq!(bins.duration, Duration::from_micros(BIN_US));
    let mut sent = 0;
    for bin in 1..=19_u64 {
        sent += bin * 100;
        assert!(bins.roll(Time::from_nanos(bin * BIN_US * 1000), 0, sent));
    }
    assert_eq!(bins.last, 19);
    assert_eq!(bins.sent_before(Duration::from_micros(RTT_US)), Some(115 * 85 + 125 * 15));
    // too many bins are needed: 15 x 35 ms are 525 ms
    assert_eq!(bins.sent_before(Duration::from_millis(350)), None); // the window would end at bin 9
    assert_eq!(bins.sent_before(Duration::from_millis(525)), None);
}

/// 10 packets in each bin, all of them delivered: nothing is missing. Then a third of them is missing for 8
/// bins of 10: 26.7 % are missing, which is above the threshold; 7 bins are 23.3 %.
#[test]
fn slow_start_ends_when_more_than_26_percent_are_missing() {
    let mut sender = Sender::new();
    let mut bin = 0;
    let mut next = |sender: &mut Sender, acked: u64| {
        bin += 1;
        sender.send(30);
        sender.ack(bin * BIN_US + bin, RTT_US, acked)
    };
    for _ in 0..30 {
        assert_eq!(next(&mut sender, 30), SlowStartDecision::GO_ON);
    }
    for missing in 1..=7 {
        assert_eq!(next(&mut sender, 20), SlowStartDecision::GO_ON, "{missing}");
    }
    // three bins are an initial RTT, rounded up: 60 packets
    assert_eq!(next(&mut sender, 20), SlowStartDecision::LeaveAt(60 * MSS));
}

#[test]
fn the_window_at_the_end_is_an_initial_window_at_least() {
    let mut sender = Sender::new();
    for bin in 1..40 {
        sender.send(3);
        if let SlowStartDecision::LeaveAt(window) = sender.ack(bin * (BIN_US + 1), RTT_US, 1) {
            assert_eq!(window, 10 * MSS);
            return;
        }
    }
    panic!("two thirds are missing");
}

#[test]
fn bins_start_anew_when_more_than_a_window_of_them_is_missed() {
    let mut sender = Sender::new();
    sender.ack(0, RTT_US, 1);
    sender.ack(10 * BIN_US, RTT_US, 1); // ends the bins up to 10
    assert_eq!(sender.search.bins.as_ref().unwrap().last, 10);
    sender.ack(21 * BIN_US, RTT_US, 1); // eleven more
    assert!(sender.search.bins.is_none());
    sender.search.on_timeout(Time::ZERO, 0);
    sender.ack(22 * BIN_US, 2 * RTT_US, 1);
    // the RTT of the new start
    assert_eq!(sender.search.bins.as_ref().unwrap().duration, Duration::from_micros(2 * BIN_US));
}

#[test]
fn the_window_of_a_control_becomes_that_of_the_congestion_point() {
    let settings = WindowSettings {
        flavour: Flavour::Quic,
        initial_window: 10 * MSS,
        mss: MSS,
        emulated_connections: 1,
    };
    let mut reno = NewReno::new(&settings, Box::new(Search::new(10 * MSS)));
    for bin in 1..60_u64 {
        (0..30).for_each(|_| reno.on_sent(Time::ZERO, MSS, 0));
        let rtt = Some(Duration::from_micros(RTT_US));
        reno.on_ack(&Ack {
            now: Time::from_nanos(bin * (BIN_US + 1) * 1000),
            acked_bytes: if bin < 30 { 30 } else { 20 } * MSS,
            acked_packets: 30,
            rtt,
            min_rtt: rtt,
            may_grow: true,
            cwnd_limited: true,
            ..Ack::default()
        });
        if reno.ssthresh().is_some() {
            assert_eq!((bin, reno.ssthresh(), reno.window()), (37, Some(60 * MSS), 60 * MSS));
            return;
        }
    }
    panic!("a third is missing");
}
