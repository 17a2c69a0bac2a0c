//! Workloads on quinn and noq, which are the applications of lab-quic on real streams and datagrams: on a link without
//! losses that is never full, their times follow from the network.

use super::common::run_text;
use quiclab_sim::RunOutput;
use std::borrow::Cow;
use std::collections::BTreeMap;

const NETWORK: &str = r#"
version = 1
name = "workloads"
duration = "60 s"
links.down = { rate = "10 Mbit/s", delay = "18 ms", queue = { kind = "drop_tail", packets = 10000 } }
links.up = { rate = "10 Mbit/s", delay = "18 ms" }
[flows.f]
stack = "lab-quic"
down = ["down"]
up = ["up"]
"#;

const RTT_MS: f64 = 36.0;
const BITS_PER_MS: f64 = 10_000.0;
/// A packet with headers and an ACK.
const PACKET_MS: f64 = 1300.0 * 8.0 / BITS_PER_MS;
/// Timers of tokio, on which the libraries run, are late by less than this.
const LATE_MS: f64 = 2.0;
const STACKS: [&str; 3] = ["lab-quic", "quinn", "noq"];

fn workload(stack: &str, workload: &str) -> RunOutput {
    let output = run_text(NETWORK, &[("flows.f.stack", stack), ("flows.f.workload", workload)], 7);
    let flow = &output.result.flows["f"];
    assert!(!flow.failed, "{stack}: {:?}", flow.failure);
    output
}

fn receiver(output: &RunOutput) -> &BTreeMap<Cow<'static, str>, f64> {
    &output.result.flows["f"].receiver
}

/// A request and a response of a packet each: a round trip, and their serialisation on the links.
#[test]
fn a_response_takes_a_round_trip() {
    for stack in STACKS {
        let output = workload(
            stack,
            r#"{ kind = "request_response", count = 10, response = "900 B", pause = "50 ms" }"#,
        );
        let values = receiver(&output);
        assert_eq!(values["responses"], 10.0, "{stack}");
        for name in ["response_time_ms_min", "response_time_ms_max"] {
            let time = values[name];
            assert!((RTT_MS..RTT_MS + 2.0 * PACKET_MS + LATE_MS).contains(&time), "{stack}: {name} {time}");
        }
    }
}

/// 250 datagrams of 1000 B a second, a fifth of the rate: none waits for another.
#[test]
fn datagrams_arrive_after_the_delay_of_the_link() {
    for stack in STACKS {
        let output = workload(
            stack,
            r#"{ kind = "datagrams", rate = "2 Mbit/s", size = "1000 B", duration = "2 s" }"#,
        );
        let values = receiver(&output);
        assert_eq!((values["datagrams_received"], values["lost_datagrams"]), (500.0, 0.0), "{stack}");
        let (least, most) = (values["one_way_delay_ms_min"], values["one_way_delay_ms_mean"]);
        assert!(least >= 18.8 && most < 18.0 + PACKET_MS + 0.5, "{stack}: {least} to {most} ms");
    }
}

#[test]
fn probes_return_after_a_round_trip() {
    for stack in STACKS {
        let output = workload(stack, r#"{ kind = "ping", count = 20, interval = "50 ms" }"#);
        let values = receiver(&output);
        assert_eq!(values["lost_datagrams"], 0.0, "{stack}");
        let (least, most) = (values["rtt_ms_min"], values["rtt_ms_max"]);
        assert!(least > RTT_MS && most < RTT_MS + 2.0 * PACKET_MS, "{stack}: {least} to {most} ms");
    }
}

/// 2 Mbit/s in 30 frames per second: a mean frame of 8333 B takes 6.7 ms on the link, a key frame five times as large
/// 33 ms.
#[test]
fn frames_take_the_delay_and_their_time_on_the_link() {
    for stack in STACKS {
        let output = workload(
            stack,
            r#"{ kind = "live", rate = "2 Mbit/s", deadline = "150 ms", duration = "4 s", key_frame_ratio = 1, size_variation_percent = 0 }"#,
        );
        let values = receiver(&output);
        assert_eq!((values["complete_frames"], values["late_frames"]), (120.0, 0.0), "{stack}");
        let frame_ms = 18.0 + 8333.0 * 8.0 / BITS_PER_MS;
        let median = values["frame_delay_ms_p50"];
        // headers of the packets are a tenth, and pacing spreads a frame by less than a fifth of the RTT
        assert!((frame_ms..frame_ms * 1.1 + 0.2 * RTT_MS).contains(&median), "{stack}: {median} ms");
    }
}

/// Bursts of all stacks are alike: the same think times, and a burst takes a round trip and its time on the link, and
/// at most the additional time of a pacer at 1.25 initial windows of 12 kB in a round trip.
#[test]
fn bursts_come_after_the_same_think_times() {
    let responses = STACKS.map(|stack| {
        let output = workload(
            stack,
            r#"{ kind = "on_off", burst = "9 kB", think_time = "200 ms", duration = "10 s" }"#,
        );
        let values = receiver(&output);
        let burst_ms = RTT_MS + 9000.0 * 8.0 / BITS_PER_MS;
        let median = values["response_time_ms_p50"];
        let paced_ms = 9000.0 / (1.25 * 12_000.0) * RTT_MS;
        assert!((burst_ms..burst_ms + paced_ms + LATE_MS).contains(&median), "{stack}: {median} ms");
        values["responses"]
    });
    // a cycle is 200 ms of thought and 43 to 65 ms of network: some 40 in 10 s; of so many, the standard deviation is
    // 13 %, and stacks, which think alike, differ by at most the 22 ms in each cycle
    assert!(responses.iter().all(|count| (24.0..57.0).contains(count)), "{responses:?}");
    let most = responses.iter().copied().fold(0.0, f64::max);
    assert!(responses.iter().all(|count| *count >= most * 243.0 / 265.0 - 2.0), "{responses:?}");
}

/// A datagram that the path cannot carry fails the flow, and the message states the maximum.
#[test]
fn a_datagram_that_is_too_large_is_named() {
    for stack in ["quinn", "noq"] {
        let sets = [
            ("flows.f.stack", stack),
            (
                "flows.f.workload",
                r#"{ kind = "datagrams", rate = "2 Mbit/s", size = "1300 B", duration = "1 s" }"#,
            ),
        ];
        let output = run_text(NETWORK, &sets, 7);
        let flow = &output.result.flows["f"];
        let reason = flow.failure.as_deref().unwrap_or_default();
        assert!(
            flow.failed
                && reason.contains("workload: expected datagrams of at most 11")
                && reason.contains("got 1300 B"),
            "{stack}: {reason}"
        );
    }
}
