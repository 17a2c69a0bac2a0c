//! Validation of the second path, and acknowledgements on each.

use super::common::*;
use quiclab_core::{Duration, Time};

/// Datagrams that validate a path are padded to 1200 B (RFC 9000 section 8.2).
const FULL: u64 = 1228;

const SLOWER: [(&str, &str); 2] = [("links.down2.delay", "30 ms"), ("links.back2.delay", "30 ms")];

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn the_second_path_opens_when_a_challenge_has_passed_it() {
    let output = run_two(&SLOWER);
    let complete = output.result.flows["f"].receiver["handshake_complete_ms"];
    let up = passed(&output, "up2");
    assert_eq!((up[0].time.as_ms_f64(), up[0].size.bytes()), (complete, FULL), "PATH_CHALLENGE");
    // the link up delays by 30 ms and has no other effect
    let down = passed(&output, "in2");
    assert_eq!((down[0].time, down[0].size.bytes()), (up[0].time + ms(30), FULL), "PATH_RESPONSE");
    assert!(down[1].time >= down[0].time && down.len() > 1000, "data follow");
    // the client learns of it a round trip and 1228 B at 20 Mbit/s (491.2 us) after its challenge
    let out = passed(&output, "out2");
    assert_eq!(out[0].time, up[0].time + ms(60) + Duration::from_nanos(491_200));
}

/// The first probe timeout of a path without RTT sample is 3 times the 333 ms of RFC 9002, plus the 25 ms of
/// max_ack_delay: 1024 ms. A round trip follows, or none.
#[test]
fn a_lost_challenge_is_repeated() {
    let output = run_two(&[("links.back2.loss", &listed(0..1))]);
    let up = passed(&output, "up2");
    let down = passed(&output, "in2");
    assert_eq!(down[0].time, up[1].time + ms(10));
    let waited = up[1].time.since(up[0].time);
    assert_eq!(waited, ms(1024));
}

/// The challenge is acknowledged but not answered: the client sends it again.
#[test]
fn a_lost_response_is_asked_for_again() {
    let output = run_two(&[
        ("links.down2.loss", &listed(0..1)),
        (
            "flows.f.workload",
            r#"{ kind = "datagrams", rate = "1 Mbit/s", size = "500 B", duration = "3 s" }"#,
        ),
        ("flows.f.sender.quic.path_scheduler", "round_robin"),
    ]);
    let challenges = passed(&output, "up2").into_iter().filter(|record| record.size.bytes() == FULL);
    assert_eq!(challenges.count(), 2);
    let responses = passed(&output, "in2").into_iter().filter(|record| record.size.bytes() == FULL);
    assert_eq!(responses.count(), 2);
}

/// Every second packet is acknowledged, on the path on which it arrived.
#[test]
fn each_path_carries_its_own_acknowledgements() {
    let output = run_two(&[]);
    let end = Time::ZERO + Duration::from_secs(10);
    for (down, up) in [("out1", "up1"), ("out2", "up2")] {
        let packets = passed(&output, down).into_iter().filter(|record| record.time < end).count();
        let acks = passed(&output, up).into_iter().filter(|record| record.time < end).count();
        assert!(packets > 10_000, "{packets}");
        // each gap left by a loss is acknowledged immediately (RFC 9000 section 13.2.1): more than half,
        // never more than all
        assert!(acks >= packets / 2 - 2 && acks <= packets + 10, "{down}: {acks} for {packets}");
    }
}
