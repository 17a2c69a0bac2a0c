//! Flows whose connections arrive over time: their number, their completion times, and that no state of them remains.

use crate::whole_runs::run_text;
use quiclab_sim::{Completion, RunOutput};
use std::collections::BTreeSet;

const WEB: &str = r#"
version = 1
name = "web"
duration = "100 s"
links.down = { rate = "100 Mbit/s", delay = "10 ms", queue = { kind = "drop_tail", packets = 1000 } }
links.up = { rate = "100 Mbit/s", delay = "10 ms" }
[flows.web]
stack = "lab-tcp"
down = ["down"]
up = ["up"]
start = "1 s"
workload = { kind = "download" }
arrivals = { kind = "poisson", interval = "20 ms", duration = "4 s", sizes = { kind = "exponential", mean = "20 kB" } }
"#;

fn completions(output: &RunOutput) -> &[Completion] {
    &output.completions[0].1
}

fn receiver(output: &RunOutput, name: &str) -> f64 {
    output.result.flows["web"].receiver[name]
}

/// On every stack all downloads complete, their bytes are those drawn, and both ends are closed.
#[test]
fn all_connections_complete_on_every_stack() {
    let mut drawn = None;
    for stack in ["lab-tcp", "lab-quic", "quinn", "noq"] {
        let output = run_text(WEB, &[("flows.web.stack", stack)], 1);
        let done = completions(&output);
        // 200 expected: 5 standard deviations are 70
        assert!((130..270).contains(&done.len()), "{stack}: {}", done.len());
        assert!(done.iter().all(|it| it.finish.is_some() && !it.failed), "{stack}");
        let arrivals: Vec<_> = done.iter().map(|it| (it.number, it.start, it.size)).collect();
        assert_eq!(*drawn.get_or_insert(arrivals.clone()), arrivals, "{stack}: the same connections on all");
        let bytes: u64 = done.iter().map(|it| it.size.bytes()).sum();
        assert_eq!(output.result.flows["web"].delivered_bytes, bytes, "{stack}");
        assert_eq!(receiver(&output, "connections"), done.len() as f64);
        assert!(receiver(&output, "most_open_connections") < 100.0, "{stack}: closed ends are dropped");
        assert_eq!(output.result.warnings, [""; 0], "{stack}");
    }
}

/// Ends are dropped when both are at rest: after a quiet time none remains, but their totals do.
#[test]
fn nothing_is_left_of_closed_connections() {
    for stack in ["lab-tcp", "lab-quic", "quinn", "noq"] {
        let sets = [("flows.web.stack", stack), ("until", "duration_over")];
        let output = run_text(WEB, &sets, 1);
        let sender = &output.result.flows["web"].sender;
        assert_eq!(
            (receiver(&output, "open_connections"), sender["open_connections"]),
            (0.0, 0.0),
            "{stack}"
        );
        let sent = |element: &str| output.result.elements[element].counters.sent;
        assert_eq!(sent("web.sender"), output.result.elements["down"].counters.received, "{stack}");
        assert!(sender["packets_sent"] >= sent("web.sender").packets as f64, "{stack}");
    }
}

/// A download of 10 segments takes the handshake, the request, and the time of the packets at the bottleneck.
#[test]
fn a_short_download_alone_takes_two_round_trips() {
    let sets = [
        ("flows.web.arrivals", r#"{ kind = "regular", interval = "1 s", duration = "3 s" }"#),
        ("flows.web.workload.size", "14480 B"),
    ];
    let output = run_text(WEB, &sets, 1);
    let times: Vec<f64> = completions(&output).iter().map(|it| it.time().unwrap().as_ms_f64()).collect();
    // 10 packets of 1500 B at 100 Mbit/s after a SYN-ACK of 60 B; SYN and request of 40 to 160 B
    let serial = (10.0 * 1500.0 + 60.0) * 8.0 / 100e6 * 1e3;
    assert_eq!(times.len(), 3);
    assert!(times.iter().all(|time| *time > 40.0 + serial && *time < 40.0 + serial + 0.1), "{times:?}");
}

/// Packets have unique identifiers, whichever connection sends them, and queues distinguish their connections.
#[test]
fn packets_of_all_connections_are_told_apart() {
    let output = run_text(WEB, &[("record.packets", "true"), ("flows.web.arrivals.duration", "1 s")], 1);
    let sent = output.packets.iter().filter(|record| {
        let element = &output.element_names[record.element as usize];
        element.starts_with("web.") && record.event == quiclab_sim::Event::Departure
    });
    let ids: Vec<u64> = sent.map(|record| record.packet).collect();
    let distinct: BTreeSet<u64> = ids.iter().copied().collect();
    assert!(ids.len() > 1000 && distinct.len() == ids.len(), "{} of {}", distinct.len(), ids.len());
}

/// Equal seeds give equal runs, different seeds different ones.
#[test]
fn a_run_is_a_function_of_its_seed() {
    let [first, again, other] = [1, 1, 2].map(|seed| run_text(WEB, &[], seed).result.digest);
    assert_eq!(first, again);
    assert_ne!(first, other);
}

/// A download that fails is counted and dropped: its server never answers, or receives nothing.
#[test]
fn connections_that_fail_are_counted_and_dropped() {
    for (stack, loss) in
        [("lab-tcp", "links.down.loss"), ("lab-tcp", "links.up.loss"), ("lab-quic", "links.up.loss")]
    {
        let sets = [
            ("flows.web.stack", stack),
            ("duration", "4000 s"),
            ("until", "duration_over"),
            (loss, "100 %"),
            ("flows.web.arrivals.duration", "100 ms"),
        ];
        let output = run_text(WEB, &sets, 1);
        let (all, failed) = (receiver(&output, "connections"), receiver(&output, "failed_connections"));
        assert!(all > 0.0 && failed == all, "{stack}, {loss}: {failed} of {all}");
        assert_eq!(receiver(&output, "open_connections"), 0.0, "{stack}, {loss}");
        assert_eq!(output.result.warnings, [format!("{failed} of {all} connections of flow `web` failed")]);
    }
}

/// A process without an arrival in its time is complete immediately.
#[test]
fn a_flow_may_have_no_arrival() {
    let output = run_text(WEB, &[("flows.web.arrivals.duration", "1 ns")], 1);
    assert_eq!(output.result.warnings, ["no connection of flow `web` arrived"]);
    assert!(output.result.flows["web"].completed);
}

/// A fair queue in front of a bottleneck, at a short round-trip time, approximates processor sharing (M/G/1-PS,
/// Kleinrock 1976 section 4.4): a download of size x takes x / (C (1 - load)) on average, whatever the distribution of
/// sizes. 6000 downloads; the standard error of their mean is 3 to 4 %, as loads of different seeds differ.
#[test]
fn completion_times_are_those_of_processor_sharing() {
    let text = r#"
version = 1
name = "processor sharing"
duration = "2000 s"
links.down = { rate = "10 Mbit/s", delay = "100 us", queue = { kind = "fq_codel", packets = 10000 } }
links.up = { delay = "100 us" }
[flows.web]
stack = "lab-tcp"
down = ["down"]
up = ["up"]
workload = { kind = "download" }
arrivals = { kind = "poisson", interval = "160 ms", duration = "1000 s" }
"#;
    for sizes in [
        r#"{ kind = "exponential", mean = "100 kB" }"#,
        r#"{ kind = "pareto", minimum = "40 kB", maximum = "10 MB", shape = 1.7 }"#,
    ] {
        let output = run_text(text, &[("flows.web.arrivals.sizes", sizes)], 1);
        let done = completions(&output);
        // payload of 1448 B in packets of 1500 B
        let alone = |it: &Completion| it.size.bytes() as f64 * 1500.0 / 1448.0 * 8.0 / 10e6 * 1e3;
        let load = done.iter().map(alone).sum::<f64>() / 1e6;
        let (mut shared, mut taken) = (0.0, 0.0);
        for it in done.iter().filter(|it| it.size.bytes() > 50_000) {
            shared += alone(it) / (1.0 - load);
            taken += it.time().unwrap().as_ms_f64();
        }
        assert!((taken / shared - 1.0).abs() < 0.12, "{sizes}: {}", taken / shared);
    }
}
