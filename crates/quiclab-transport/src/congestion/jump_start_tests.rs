use super::super::newreno::NewReno;
use super::super::{CongestionEvent, Controller, Flavour, WindowSettings};
use super::*;

const MSS: u64 = 1000;

fn start(rtt: Option<Duration>) -> NewReno {
    let settings = WindowSettings {
        flavour: Flavour::Quic,
        initial_window: 10 * MSS,
        mss: MSS,
        emulated_connections: 1,
    };
    NewReno::new(&settings, Box::new(JumpStart::new(100 * MSS, rtt, 10 * MSS)))
}

fn ack(packets: u64, acked: u64, in_flight: u64, next: u64) -> Ack {
    let rtt = Some(Duration::from_millis(100));
    Ack {
        acked_bytes: packets * MSS,
        acked_packets: packets as u32,
        rtt,
        prior_in_flight: (in_flight + packets) * MSS,
        in_flight: in_flight * MSS,
        acked_position: acked,
        next_position: next,
        may_grow: true,
        cwnd_limited: true,
        ..Ack::default()
    }
}

fn lost(position: u64) -> LostPacket {
    LostPacket { bytes: MSS, position, ..LostPacket::default() }
}

/// 100 packets of 1000 bytes in 100 ms are 8 Mbit/s.
#[test]
fn the_window_jumps_with_the_first_rtt() {
    let paced = Some(DataRate::from_bits_per_second(8_000_000));
    let reno = start(Some(Duration::from_millis(100)));
    assert_eq!((reno.window(), reno.pacing_rate()), (100 * MSS, paced));
    let mut reno = start(None);
    assert_eq!((reno.window(), reno.pacing_rate()), (10 * MSS, None));
    reno.on_ack(&ack(2, 2, 0, 2)); // of the handshake
    assert_eq!((reno.window(), reno.pacing_rate()), (100 * MSS, paced));
}

#[test]
fn the_first_packet_acknowledged_leaves_what_was_in_flight() {
    let mut reno = start(None);
    reno.on_ack(&ack(2, 2, 0, 2));
    reno.on_ack(&ack(1, 3, 59, 62));
    assert_eq!((reno.window(), reno.pacing_rate(), reno.ssthresh()), (60 * MSS, None, None));
    reno.on_ack(&ack(10, 13, 50, 63));
    assert_eq!(reno.window(), 70 * MSS);
}

/// 20 packets of the jump have arrived when a loss is detected: the window is half of them, plus half of each
/// further one until the last is acknowledged.
#[test]
fn after_a_loss_the_window_follows_what_is_delivered() {
    let mut reno = start(None);
    reno.on_ack(&ack(2, 2, 0, 2));
    reno.on_ack(&ack(20, 22, 80, 102));
    assert_eq!(reno.window(), 100 * MSS);
    reno.on_packet_lost(&lost(25));
    reno.on_congestion(&CongestionEvent { next_position: 102, ..CongestionEvent::default() });
    assert_eq!((reno.window(), reno.owns_recovery()), (10 * MSS, true));
    reno.on_ack(&ack(10, 40, 60, 102));
    assert_eq!(reno.window(), 15 * MSS);
    reno.on_ack(&ack(10, 102, 0, 102));
    assert_eq!((reno.ssthresh(), reno.owns_recovery()), (Some(20 * MSS), false));
}

#[test]
fn a_loss_before_anything_is_acknowledged_leaves_the_initial_window_times_beta() {
    let mut reno = start(None);
    reno.on_ack(&ack(2, 2, 0, 2));
    reno.on_packet_lost(&lost(3));
    reno.on_congestion(&CongestionEvent { next_position: 50, ..CongestionEvent::default() });
    assert_eq!(reno.window(), 5 * MSS);
}

#[test]
fn the_loss_of_a_later_packet_is_an_ordinary_one() {
    let mut reno = start(None);
    reno.on_ack(&ack(2, 2, 0, 2));
    reno.on_ack(&ack(1, 3, 59, 62));
    reno.on_packet_lost(&lost(70));
    reno.on_congestion(&CongestionEvent { next_position: 90, ..CongestionEvent::default() });
    assert_eq!((reno.window(), reno.owns_recovery()), (30 * MSS, false));
}
