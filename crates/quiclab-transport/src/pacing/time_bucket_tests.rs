//! Tests of [`TimeBucket`].

use super::super::LeakyBucket;
use super::super::testing::{MSS, greedy, input, ms};
use super::*;
use quiclab_core::Duration;

/// Pacer of aioquic: 16 packets, a quarter of the window.
fn aioquic() -> TimeBucket {
    TimeBucket::new(1.0, 16, 0.25)
}

fn nanos(times: &[Time]) -> Vec<u64> {
    times.iter().map(|time| time.as_nanos()).collect()
}

#[test]
fn before_the_first_rtt_sample_nothing_is_paced() {
    let mut pacer = aioquic();
    pacer.update(Time::ZERO, &PacingInput { srtt: None, ..input(12_000, 100) });
    let sent = greedy(&mut pacer, Time::ZERO, MSS, 50);
    assert_eq!((sent[49], pacer.rate()), (Time::ZERO, None));
}

/// 11 000 bytes in 100 ms: a packet of 1200 bytes costs 10.909 ms, a burst of 2750 is 25 ms long. After the
/// first two 3.18 ms remain, which pay for the third. After each deadline, rounded up, less than a nanosecond
/// is left: it pays for another packet. aioquic's own class releases at the same times.
#[test]
fn packets_leave_in_pairs() {
    let mut pacer = aioquic();
    pacer.update(Time::ZERO, &input(11_000, 100));
    let sent = greedy(&mut pacer, Time::ZERO, MSS, 9);
    let pairs = [0, 0, 0, 10_909_091, 10_909_091, 21_818_182, 21_818_182, 32_727_273, 32_727_273];
    assert_eq!(nanos(&sent), pairs);
    // 2750 bytes are not enough for the third packet; each of the others waits for its own bytes
    let mut leaky = LeakyBucket::new(1.0, 16).with_burst(Some(0.25), None);
    leaky.update(Time::ZERO, &input(11_000, 100));
    let sent = greedy(&mut leaky, Time::ZERO, MSS, 5);
    assert_eq!(nanos(&sent), [0, 0, 7_727_273, 18_636_364, 29_545_455]); // (3600 - 2750) / 110 000, ...
}

/// 12 000 bytes in 100 ms cost 10 ms exactly: there is no remainder.
#[test]
fn an_exact_deadline_pays_for_one() {
    let mut pacer = aioquic();
    pacer.update(Time::ZERO, &input(12_000, 100));
    let sent = greedy(&mut pacer, Time::ZERO, MSS, 6);
    assert_eq!(sent, [0, 0, 0, 10, 20, 30].map(ms));
}

/// The bucket is empty and the deadline 10 ms away; a microsecond later a packet may be sent, and one more 10
/// ms later.
#[test]
fn who_asks_early_finds_enough() {
    let mut pacer = aioquic();
    pacer.update(Time::ZERO, &input(12_000, 100));
    greedy(&mut pacer, Time::ZERO, MSS, 3);
    let soon = Time::from_nanos(1000);
    assert_eq!(pacer.release(Time::ZERO, MSS), ms(10));
    assert_eq!(pacer.release(soon, MSS), soon);
    pacer.on_sent(soon, MSS);
    assert_eq!(pacer.release(soon, MSS), soon + Duration::from_millis(10));
}

/// 25 ms are left; at a tenth of the RTT a burst is 2.5 ms long and a packet costs 1 ms. Back at 100 ms, the 2.5 ms
/// are still worth a packet. A packet of any size costs the same.
#[test]
fn a_change_of_rate_keeps_the_time() {
    let mut pacer = aioquic();
    pacer.update(Time::ZERO, &input(12_000, 100));
    pacer.update(Time::ZERO, &input(12_000, 10));
    pacer.update(Time::ZERO, &input(12_000, 100));
    assert_eq!(greedy(&mut pacer, Time::ZERO, 40, 3), [0, 10, 20].map(ms));
}

/// With a window of 2 packets, a burst is still of two. With 1000 packets it is of 16, not of 250; the 17th
/// costs the remaining 0.
#[test]
fn a_burst_has_2_to_16_packets() {
    for (packets, burst) in [(2, 2), (4, 2), (12, 3), (64, 16), (1000, 16)] {
        let mut pacer = aioquic();
        pacer.update(Time::ZERO, &input(packets * MSS, 100));
        let sent = greedy(&mut pacer, Time::ZERO, MSS, 20);
        let at_once = sent.iter().filter(|time| **time == Time::ZERO).count();
        // the cost is rounded down to a picosecond: the remainder of an inexact division is one packet more
        let exact = 100_000_000_000 % packets == 0;
        assert_eq!(at_once, burst + usize::from(!exact), "{packets}");
    }
}

#[test]
fn a_packet_costs_a_microsecond_to_a_second() {
    for (window, srtt_ms, cost_ns) in [(1_000_000_000_000, 1, 1000), (1, 100, 1_000_000_000)] {
        let mut pacer = aioquic();
        pacer.update(Time::ZERO, &input(window, srtt_ms));
        greedy(&mut pacer, Time::ZERO, MSS, 1);
        let bucket = pacer.bucket.unwrap();
        assert_eq!(bucket.cost, cost_ns * NANOSECOND);
    }
}

/// The same ACKs, windows and RTTs, drawn by the generator of the C standard's example, in aioquic's own class: packets
/// sent at each of the first 24 ACKs and deadlines, and at 400 in all.
#[test]
fn it_releases_what_aioquic_does() {
    let first = [
        (1, [6, 2, 1, 2, 2, 1, 2, 1, 1, 2, 2, 1, 1, 2, 2, 2, 1, 2, 1, 2, 1, 2, 1, 2], 595),
        (2, [3, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 2, 2, 1, 2, 2, 1, 2, 1, 2, 2, 1, 2], 600),
    ];
    for (seed, first, all) in first {
        let sent = replay(seed, 400);
        assert_eq!(sent[..24], first, "seed {seed}");
        assert_eq!(sent.iter().sum::<u32>(), all, "seed {seed}");
    }
}

fn replay(seed: u64, events: usize) -> Vec<u32> {
    let mut state = seed;
    let mut draw = || {
        state = (state * 1_103_515_245 + 12_345) % (1 << 31);
        state >> 16
    };
    let mut pacer = aioquic();
    let (mut ack, mut deadline) = (Time::from_nanos(1_000_000_000), Time::MAX);
    let event = |index| {
        let now = ack.min(deadline);
        if ack <= deadline {
            let (window, srtt_us) = (12_800 + draw() % 100_000, 20_000 + draw() % 20_000);
            if index % 3 == 0 {
                let srtt = Some(Duration::from_micros(srtt_us));
                pacer.update(now, &PacingInput { srtt, mss: 1280, ..input(window, 0) });
            }
            ack = now + Duration::from_micros(200 + draw() % 3000);
        }
        let mut sent = 0;
        while sent < 20 && pacer.release(now, 1280) == now {
            pacer.on_sent(now, 1280);
            sent += 1;
        }
        let next = pacer.release(now, 1280);
        deadline = if next > now { next } else { Time::MAX };
        sent
    };
    (0..events).map(event).collect()
}
