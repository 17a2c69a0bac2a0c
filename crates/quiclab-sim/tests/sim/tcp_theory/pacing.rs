//! Spacing of packets behind the sender, for each kind of pacing.
//!
//! The window is fixed at W = 44 packets (the 64 KiB that Linux announces at first) and the round trip is 44 ms. A link
//! of 10 Gbit/s adds microseconds to it; 1 % is allowed for that. So the rates are known: f W / RTT.

use super::common::*;
use quiclab_core::{Duration, Time};

const WINDOW: u32 = 44;
/// An unpaced window each round trip, in packets per second.
const RATE: f64 = 1000.0;
const RTT: f64 = 0.044;

/// Departures of full segments in a second, in seconds.
fn departures_with(pacing: &str, more: &[(&str, &str)]) -> Vec<Time> {
    let mut sets = vec![
        ("duration", "1 s"),
        ("links.down.rate", "10 Gbit/s"),
        ("links.down.delay", "22 ms"),
        ("links.up.delay", "22 ms"),
        ("flows.f.sender.congestion_control", "fixed"),
        ("flows.f.sender.initial_window", "63712 B"),
        ("flows.f.sender.pacing", pacing),
    ];
    sets.extend(more);
    let times = departures(&run_one(&sets), 1000);
    // the first leaves after 66 ms; a paced window takes at most a round trip and the delay added by pacing
    assert!(times.len() > 600, "{} packets are not enough to say anything", times.len());
    times
}

fn gaps(times: &[Time]) -> Vec<Duration> {
    times.windows(2).map(|pair| pair[1].since(pair[0])).collect()
}

/// Times and sizes of groups of packets that leave at one instant.
fn bursts(times: &[Time]) -> Vec<(Time, u32)> {
    let mut bursts: Vec<(Time, u32)> = Vec::new();
    for &time in times {
        match bursts.last_mut() {
            Some((at, count)) if *at == time => *count += 1,
            _ => bursts.push((time, 1)),
        }
    }
    bursts
}

/// Departures before the first acknowledgement: one window.
fn first_window(times: &[Time]) -> &[Time] {
    &times[..WINDOW as usize]
}

#[test]
fn without_pacing_a_window_leaves_at_once() {
    let times = departures_with(r#"{ kind = "none" }"#, &[]);
    assert_eq!(bursts(&times)[0].1, WINDOW);
    assert!(burst(&times, 1.25 * RATE) >= f64::from(WINDOW));
}

/// RFC 9002 section 7.7: in any time t, at most the burst and N cwnd / srtt t leave.
#[test]
fn a_leaky_bucket_never_lets_more_than_its_burst_exceed_the_rate() {
    for size in [1_u32, 10, 32] {
        let times = departures_with(
            &format!(r#"{{ kind = "leaky_bucket", factor = 1.25, burst_packets = {size} }}"#),
            &[],
        );
        let most = burst(&times, 1.25 * RATE);
        // the bucket is full at the start and a window empties it: the bound is reached
        let size = f64::from(size);
        assert!(most <= size + 0.01 && most >= size - 0.01 * f64::from(WINDOW), "{most} of {size}");
    }
}

#[test]
fn even_pacing_never_lets_two_packets_leave_within_an_interval() {
    let times = departures_with(r#"{ kind = "even", factor = 1.25 }"#, &[]);
    let interval = RTT / 1.25 / f64::from(WINDOW);
    let least = gaps(&times).into_iter().min().unwrap().as_secs_f64();
    assert!((interval..=1.01 * interval).contains(&least), "{least} s of {interval} s");
    // and a window without other limits uses each interval
    let first = gaps(first_window(&times)).into_iter().max().unwrap().as_secs_f64();
    assert!(first <= 1.01 * interval, "{first}");
}

/// 1.25 packets are added to the bucket each millisecond. The first burst empties the bucket of 10; from there on a
/// burst each millisecond contains one packet or two, 1.25 on average; two quanta are never longer than needed.
#[test]
fn quantum_pacing_sends_bursts_a_millisecond_apart() {
    let times =
        departures_with(r#"{ kind = "quantum", factor = 1.25, burst_packets = 10, quantum = "1 ms" }"#, &[]);
    let bursts = bursts(first_window(&times));
    assert_eq!(bursts[0].1, 10);
    let start = bursts[0].0;
    for (number, &(time, count)) in bursts.iter().enumerate() {
        assert_eq!(time, start + ms(number as u64), "burst {number}");
        assert!(number == 0 || count <= 2, "{count} packets at once");
    }
    // 34 packets at 1.25 per millisecond: 27.2 ms, the last one within a quantum
    assert!((27..=28).contains(&(bursts.len() - 1)), "{}", bursts.len());
    // later, ACKs release the contents of the bucket, and nothing exceeds the rate and 10 packets
    assert!(burst(&times, 1.25 * RATE) <= 10.01);
}

/// The rate is 2 W / RTT in slow start, which a fixed window without threshold never leaves: 2.9 MB/s, of which 2^-10 s
/// is worth 1.95 segments: two, the minimum. Ten segments are not paced; after them a chunk leaves when the time of the
/// previous one, two segments at the rate, has elapsed.
#[test]
fn linux_pacing_sends_chunks_of_two_segments() {
    let times = departures_with(r#"{ kind = "linux" }"#, &[("flows.f.sender.tcp.gso_segments", "45")]);
    let bursts = bursts(first_window(&times));
    let chunk = 2.0 / (2.0 * RATE);
    let mut sent = bursts[0].1;
    assert!(sent >= 10);
    for pair in bursts.windows(2) {
        let gap = pair[1].0.since(pair[0].0).as_secs_f64();
        sent += pair[1].1;
        // the window may end with half a chunk
        assert!(pair[1].1 == 2 || sent == WINDOW, "{} segments", pair[1].1);
        // lateness would shorten it, but there is none
        assert!(gap <= 1.01 * chunk, "{gap} s");
    }
    // the first gap is that after the last unpaced segment
    let least = bursts[1..].windows(2).map(|pair| pair[1].0.since(pair[0].0)).min().unwrap().as_secs_f64();
    assert!(least >= chunk, "{least} of {chunk}");
}

/// fq also holds bursts: with segmentation offload, which TCP always has, they are those of Linux' own pacing. Packets
/// that wait in it leave 10 us later (its timer's slack).
#[test]
fn fq_and_linux_pacing_release_the_same_bursts() {
    let [fq, linux] = ["fq", "linux"].map(|kind| departures_with(&format!(r#"{{ kind = "{kind}" }}"#), &[]));
    let (fq, linux) = (first_window(&fq), first_window(&linux));
    let late: Vec<_> = fq.iter().zip(linux).map(|(fq, linux)| fq.since(*linux).as_nanos()).collect();
    assert_eq!(late[..10], [0; 10]);
    assert!(late[10..].iter().all(|late| *late == 10_000), "{late:?}");
}

#[test]
fn without_offload_fq_sends_single_segments_at_the_rate() {
    let single = ("flows.f.sender.tcp.gso_segments", "1");
    let times = departures_with(r#"{ kind = "fq" }"#, &[single]);
    let first = first_window(&times);
    // the tenth is the first followed by a wait
    assert_eq!(bursts(first)[0].1, 10);
    let interval = 1.0 / (2.0 * RATE);
    for gap in gaps(&first[10..]) {
        let gap = gap.as_secs_f64();
        assert!((interval..=1.01 * interval).contains(&gap), "{gap} s of {interval} s");
    }
    // with a limit: SO_MAX_PACING_RATE of 500 packets per second
    let limit = format!("{} bit/s", (500.0 * PAYLOAD * 8.0) as u64);
    let output = run_one(&[
        ("duration", "1 s"),
        ("links.down.rate", "10 Gbit/s"),
        ("flows.f.sender.congestion_control", "fixed"),
        ("flows.f.sender.initial_window", "63712 B"),
        ("flows.f.sender.pacing", &format!(r#"{{ kind = "fq", max_rate = "{limit}" }}"#)),
        single,
    ]);
    let times = departures(&output, 1000);
    assert_eq!(gaps(&times[10..]).into_iter().min(), Some(ms(2)));
    assert_eq!(gaps(&times[10..]).into_iter().max(), Some(ms(2)));
}
