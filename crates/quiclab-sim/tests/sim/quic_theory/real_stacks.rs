//! A page over HTTP/3 on quinn and noq compared with the same page on lab-quic, on a link without losses.
//!
//! Browser, web server and mapping of HTTP/3 are the same; the layers below differ. With a window that holds the whole
//! page, a load takes a round trip for the handshake, one for the HTML, one for the objects, the think times, and the
//! bytes at the rate of the link.

use super::common::run_text;
use quiclab_sim::RunOutput;

/// The page of scenarios/page_http2.toml: 495 kB with its HTML. Datagrams of 1200 B, in a queue that drops nothing.
const PAGE: &str = r#"
version = 1
name = "page"
duration = "60 s"
links.down = { rate = "10 Mbit/s", delay = "18 ms", queue = { kind = "drop_tail", packets = 10000 } }
links.up = { rate = "10 Mbit/s", delay = "18 ms" }
record.requests = true
[flows.f]
stack = "lab-quic"
down = ["down"]
up = ["up"]
sender = { datagram_size = "1200 B", congestion_control = "newreno" }
receiver = { datagram_size = "1200 B" }
[flows.f.workload]
kind = "page"
html = "5 kB"
html_think_time = "10 ms"
think_time = "1 ms"
objects = [
    { count = 1, size = "30 kB", kind = "style" },
    { count = 1, size = "60 kB", kind = "script" },
    { count = 20, size = "20 kB", kind = "image" },
]
"#;

const RATE_BITS_PER_MS: f64 = 10_000.0;
const RTT_MS: f64 = 36.0;
const BYTES: f64 = 495_000.0;
/// Timers of tokio, on which the libraries run, are late by less than this.
const LATE_MS: f64 = 2.0;

fn load(stack: &str, sets: &[(&str, &str)]) -> RunOutput {
    let sets = [&[("flows.f.stack", stack)], sets].concat();
    let output = run_text(PAGE, &sets, 7);
    let flow = &output.result.flows["f"];
    assert!(!flow.failed, "{stack}: {:?}", flow.failure);
    assert_eq!(flow.receiver["objects"], 22.0, "{stack}");
    output
}

fn load_ms(output: &RunOutput) -> f64 {
    output.result.flows["f"].receiver["page_load_ms"]
}

/// The same time as on lab-quic up to the bytes of headers, which differ by less than 2 % of a datagram (24 B), and the
/// timers of three round trips. Also no less than the network permits, and no more than that with 1228 B on the wire
/// for at least 1150 of a stream, header sections and frames (208 B for each of 23 responses) and a handshake of four
/// datagrams.
#[test]
fn with_a_wide_window_a_page_takes_as_long_as_on_lab_quic() {
    let wide = [("flows.f.sender.initial_window", "2 MB")];
    let model = load_ms(&load("lab-quic", &wide));
    let least = 3.0 * RTT_MS + 10.0 + 1.0 + BYTES * 8.0 / RATE_BITS_PER_MS;
    for stack in ["quinn", "noq"] {
        let real = load_ms(&load(stack, &wide));
        let wire = (BYTES + 23.0 * 208.0) * 1228.0 / 1150.0 + 4.0 * 1228.0;
        let most = least + (wire - BYTES) * 8.0 / RATE_BITS_PER_MS + 3.0 * LATE_MS;
        assert!((least..most).contains(&real), "{stack}: {real} ms of {least} to {most}");
        assert!(
            (real - model).abs() < 0.02 * model + 3.0 * LATE_MS,
            "{stack}: {real} ms, lab-quic {model} ms"
        );
    }
}

/// From slow start on, compared with lab-quic with the profile of quinn: they differ by at most a tenth.
#[test]
fn from_slow_start_on_a_page_takes_about_as_long_as_with_the_profile_of_quinn() {
    let profile = [("flows.f.sender.profile", "quinn"), ("flows.f.receiver.profile", "quinn")];
    let model = load_ms(&load("lab-quic", &profile));
    for stack in ["quinn", "noq"] {
        let real = load_ms(&load(stack, &[]));
        assert!((real / model - 1.0).abs() < 0.1, "{stack}: {real} ms, lab-quic {model} ms");
    }
}

/// The requests are in the result as those of lab-quic, each with its times: in the order of the page, all complete.
#[test]
fn requests_are_recorded_and_the_same_seed_gives_the_same_run() {
    let loss = [("links.down.loss", "3 %")];
    let resources = |output: &RunOutput| -> Vec<_> {
        let of_flow = &output.requests[0].1;
        of_flow.iter().map(|request| (request.resource, request.origin, request.size)).collect()
    };
    let model = resources(&load("lab-quic", &loss));
    for stack in ["quinn", "noq"] {
        let [output, again] = [load(stack, &loss), load(stack, &loss)];
        assert!(output.result.elements["down"].counters.dropped.packets > 0, "{stack}");
        assert_eq!(resources(&output), model, "{stack}");
        let requests = &output.requests[0].1;
        assert!(requests.iter().map(|request| request.asked.expect("asked for")).is_sorted(), "{stack}");
        assert!(requests.iter().all(|request| request.asked < request.complete), "{stack}");
        assert_eq!(
            (&output.result.digest, &output.requests),
            (&again.result.digest, &again.requests),
            "{stack}"
        );
    }
}
