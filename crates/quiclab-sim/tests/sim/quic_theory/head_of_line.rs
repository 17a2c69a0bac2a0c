//! Head-of-line blocking: data held back by a single lost packet (RFC 9000 section 2, RFC 9308 section 4.1; Langley et
//! al., "The QUIC Transport Protocol", SIGCOMM 2017, section 3.3).
//!
//! Three images of the same length, in turn, over a link of 100 Mbit/s: 3 x 15 kB need less than 4 ms there, much less
//! than the round trip of 100 ms. So everything has been sent when the loss is detected, windows limit nothing (TCP's
//! receiver announces 64 KiB at first), and a retransmission delays no other data. Packets are lost behind the link, so
//! that the arrival times of the others do not change.

use super::common::*;
use crate::tcp_theory::common as tcp_common;
use quiclab_sim::RunOutput;

const PAGE: &str = r#"{ kind = "page", html = "1 kB", objects = [{ count = 3, size = "15 kB" }], priorities = "round_robin" }"#;

fn run_page(stack: &[(&str, &str)], lost: &str) -> RunOutput {
    let loss = format!(r#"{{ kind = "listed", packets = [{lost}] }}"#);
    let mut sets = vec![
        ("flows.f.workload", PAGE),
        ("links.down.rate", "100 Mbit/s"),
        ("links.down.queue", r#"{ kind = "drop_tail", packets = 10000 }"#),
        ("links.lossy.loss", loss.as_str()),
        ("flows.f.down", r#"["tap", "down", "lossy"]"#),
        ("flows.f.sender.congestion_control", "fixed"),
        ("flows.f.sender.initial_window", "1 MB"),
    ];
    sets.extend(stack);
    run_one(&sets)
}

/// Times of the three objects from their requests in ns, ascending.
fn times(output: &RunOutput) -> [u64; 3] {
    let of = |name| (client(output, name) * 1e6).round() as u64;
    let (least, most) = (of("object_ms_min"), of("object_ms_max"));
    let sum = (client(output, "object_ms_mean") * 3e6).round() as u64;
    [least, sum - least - most, most]
}

/// Packets in the middle of the objects: neither those of the handshake and the HTML, nor the last of a stream.
/// 45 kB are at least 30 packets.
fn in_the_middle(output: &RunOutput) -> std::ops::Range<u64> {
    let packets = output.result.elements["down"].counters.received.packets;
    packets - 25..packets - 10
}

const MS: u64 = 1_000_000;
const RTT: u64 = 100 * MS;

/// The streams without data in the lost packet finish at the same time to the nanosecond. Its own waits: the loss is
/// detected when a packet three later is acknowledged, a round trip after that was sent, and the retransmission then
/// takes half of one; so it finishes two round trips after its request, plus the 4 ms in which everything is sent.
#[test]
fn over_quic_only_the_stream_of_the_lost_packet_waits() {
    let whole = run_page(&[], "1000000");
    let expected = times(&whole);
    assert!(expected[2] < RTT + 4 * MS, "{expected:?}");
    let mut held_back = [0; 3];
    for lost in in_the_middle(&whole) {
        let output = run_page(&[], &lost.to_string());
        assert_eq!(output.result.elements["lossy"].counters.dropped.packets, 1);
        let found = times(&output);
        let waits: Vec<usize> = (0..3).filter(|&index| !found[..2].contains(&expected[index])).collect();
        assert_eq!(waits.len(), 1, "packet {lost}: {found:?}, without a loss {expected:?}");
        held_back[waits[0]] += 1;
        assert!((2 * RTT..2 * RTT + 5 * MS).contains(&found[2]), "packet {lost}: {found:?}");
    }
    assert!(held_back.iter().all(|count| *count >= 4), "each stream in its turn: {held_back:?}");
}

/// All three streams have data behind the gap, which are not readable before it is filled: a round trip after it is
/// detected, which takes another one.
#[test]
fn over_tcp_every_stream_waits_for_the_lost_segment() {
    let tcp = [
        ("flows.f.stack", "lab-tcp"),
        ("flows.f.sender.profile", "linux-7"),
        ("flows.f.sender.pacing.kind", "none"),
        ("flows.f.sender.tcp", r#"{ max_send_buffer = "4 MiB" }"#),
        (
            "flows.f.receiver",
            r#"{ profile = "linux-7", tcp = { receive_buffer = "4 MiB", max_receive_buffer = "4 MiB" } }"#,
        ),
        ("flows.f.sender.http2.frame_size", "1 kB"),
    ];
    let whole = run_page(&tcp, "1000000");
    let expected = times(&whole);
    assert!(expected[2] < RTT + 4 * MS, "{expected:?}");
    for lost in in_the_middle(&whole) {
        let output = run_page(&tcp, &lost.to_string());
        assert_eq!(output.result.elements["lossy"].counters.dropped.packets, 1);
        let found = times(&output);
        assert!((2 * RTT..2 * RTT + 5 * MS).contains(&found[0]), "packet {lost}: {found:?}");
        assert!((2 * RTT..2 * RTT + 5 * MS).contains(&found[2]), "packet {lost}: {found:?}");
    }
    assert_eq!(tcp_common::sender(&whole, "lost_packets"), 0.0);
}
