//! Cost of a run in events of the event loop, which is a count and not a time: linear in the bytes sent, zero for idle
//! flows; and many flows at once.

use super::common::*;
use quiclab_sim::EndedBy;

/// A fixed window of three times the capacity of the link, without losses: packets follow each other at the rate of the
/// link from the first window on. While the receive window grows, by two segments for each, segments are acknowledged
/// without a timer (Linux `tcp_grow_window`), which is an event less: 1 MiB is open after 350 of 7000.
fn events_of(size: &str) -> f64 {
    let output = run_one(&[
        ("until", "workloads_done"),
        ("flows.f.workload.size", size),
        ("flows.f.sender.congestion_control", "fixed"),
        ("flows.f.sender.initial_window", "144800 B"),
        ("links.down.rate", "20 Mbit/s"),
        ("flows.f.receiver.tcp.receive_buffer", "1 MiB"),
        ("flows.f.receiver.tcp.max_receive_buffer", "1 MiB"),
    ]);
    assert_eq!(output.result.run.ended_by, EndedBy::WorkloadsDone);
    output.result.run.events as f64
}

#[test]
fn four_times_the_bytes_are_four_times_the_events() {
    let ratio = events_of("40 MB") / events_of("10 MB");
    assert!((3.8..=4.2).contains(&ratio), "{ratio}");
}

/// The same with losses and a window that changes: no step iterates over old state.
#[test]
fn four_times_the_bytes_are_four_times_the_events_with_losses() {
    let events = |size: &str| {
        let output = run_one(&[
            ("until", "workloads_done"),
            ("flows.f.workload.size", size),
            ("links.down.loss", "1 %"),
        ]);
        output.result.run.events as f64
    };
    let ratio = events("40 MB") / events("10 MB");
    // a little less than four: superlinear cost would exceed the upper bound
    assert!((3.7..=4.2).contains(&ratio), "{ratio}");
}

/// After an answer nothing is outstanding: no retransmission timer runs (RFC 6298 section 5.2), and a delayed
/// acknowledgement leaves within 200 ms. So a longer pause has no events, whatever its length. (All are longer than an
/// RTO, too, after which the window would restart without the options of [`ONE_FLOW`].)
#[test]
fn a_pause_has_no_events() {
    let events = |pause: &str| {
        let workload =
            format!(r#"{{ kind = "request_response", count = 4, response = "100 kB", pause = "{pause}" }}"#);
        let output =
            run_one(&[("until", "workloads_done"), ("duration", "3600 s"), ("flows.f.workload", &workload)]);
        assert_eq!(output.result.run.ended_by, EndedBy::WorkloadsDone);
        assert!(output.result.flows["f"].completed);
        output.result.run.events
    };
    let short = events("2 s");
    assert_eq!(events("20 s"), short);
    assert_eq!(events("200 s"), short);
}

/// A link of 1 Gbit/s, 50 ms and a queue of about a bandwidth-delay product: 8 packets for each flow, which suffices
/// for fast recovery.
fn thousand_flows(seed: u64) -> quiclab_sim::RunOutput {
    let mut text = String::from(
        r#"
version = 1
name = "a thousand flows"
duration = "3 s"
until = "duration_over"
links.down = { rate = "1 Gbit/s", delay = "25 ms", queue = { kind = "drop_tail", packets = 4167 } }
links.up = { delay = "25 ms" }
"#,
    );
    for flow in 0..1000 {
        // they start within a round trip
        text += &format!(
            r#"
[flows.f{flow}]
stack = "lab-tcp"
down = ["down"]
up = ["up"]
start = "{} us"
workload = {{ kind = "download", size = "1 GB" }}
"#,
            flow * 50
        );
    }
    run_text(&text, &[], seed)
}

#[test]
fn a_thousand_flows_share_a_link_and_repeat_exactly() {
    let output = thousand_flows(1);
    let flows = &output.result.flows;
    assert!(flows.values().all(|flow| !flow.failed && flow.delivered_bytes > 0));
    let delivered = flows.values().map(|flow| flow.delivered_bytes).sum::<u64>() as f64;
    let most = 1e9 / 8.0 * 3.0 * PAYLOAD / PACKET;
    // 75 ms for handshake and request of the first flow, 25 ms in transit; from there on 200 packets per millisecond
    // arrive at a link of 83, and a synchronous cut to 0.7 of link and queue exceeds the link alone: it is never idle
    // (drops occur before it). At the end all windows, 100 ms of the link together, may wait behind gaps
    let begin = 0.1;
    let end = 0.1;
    let share = delivered / most;
    assert!(share <= 1.0 - begin / 3.0, "{share}");
    assert!(share >= 1.0 - (begin + end) / 3.0, "{share}");
    let again = thousand_flows(1);
    assert_eq!(again.result.digest, output.result.digest);
    assert_eq!(again.result.run.events, output.result.run.events);
}
