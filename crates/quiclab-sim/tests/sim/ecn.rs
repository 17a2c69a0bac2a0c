//! Explicit congestion notification in whole runs: marks in place of losses, and the response of DCTCP to them.

use crate::whole_runs::{load, run_text};
use quiclab_sim::RunOutput;

const SCENARIO: &str = r#"
version = 1
name = "ecn"
duration = "30 s"
until = "duration_over"
links.down = { rate = "100 Mbit/s", delay = "5 ms", queue = { kind = "codel", ecn = true, packets = 10000 } }
links.up = { delay = "5 ms" }
[flows.f]
stack = "lab-tcp"
down = ["down"]
up = ["up"]
workload = { kind = "download", size = "1000 GB" }
"#;
const TCP: [(&str, &str); 4] = [
    ("flows.f.sender.congestion_control", "newreno"),
    ("flows.f.sender.tcp.ecn", "classic"),
    ("flows.f.receiver.tcp.ecn", "classic"),
    ("flows.f.sender.tcp.max_send_buffer", "64 MiB"),
];
const ACCURATE: [(&str, &str); 4] = [
    ("flows.f.sender.congestion_control", "newreno"),
    ("flows.f.sender.tcp.ecn", "accurate"),
    ("flows.f.receiver.tcp.ecn", "accurate"),
    ("flows.f.sender.tcp.max_send_buffer", "64 MiB"),
];
const QUIC: [(&str, &str); 3] = [
    ("flows.f.stack", "lab-quic"),
    ("flows.f.sender.congestion_control", "newreno"),
    ("flows.f.sender.quic.ecn", "true"),
];

fn sender(output: &RunOutput, name: &str) -> f64 {
    output.result.flows["f"].sender[name]
}

fn link(output: &RunOutput, name: &str) -> f64 {
    output.result.elements["down"].statistics[name]
}

/// CoDel marks, nothing is lost, and every mark that is detected in a separate round trip reduces the window.
#[test]
fn marks_reduce_the_window_and_nothing_is_lost() {
    for sets in [&TCP[..], &ACCURATE[..], &QUIC[..]] {
        let output = run_text(SCENARIO, sets, 1);
        let (marks, events) = (link(&output, "ce_marks"), sender(&output, "congestion_events"));
        assert!(events > 5.0 && events <= marks, "{events} of {marks}");
        assert_eq!((sender(&output, "lost_packets"), link(&output, "codel_drops")), (0.0, 0.0));
        // CoDel's target is 5 ms; the mean of a sawtooth is at least a quarter of it
        assert!(link(&output, "queue_sojourn_ms") < 10.0);
        assert!(sender(&output, "marked_packets") > 0.0);
    }
}

/// Without ECN on one side the same queue drops.
#[test]
fn without_ecn_the_queue_drops() {
    for sets in [&[("flows.f.sender.tcp.ecn", "classic")][..], &[("flows.f.stack", "lab-quic")]] {
        let output = run_text(SCENARIO, sets, 1);
        assert_eq!(link(&output, "ce_marks"), 0.0);
        assert!(link(&output, "codel_drops") > 0.0 && sender(&output, "lost_packets") > 0.0);
    }
}

/// A queue that marks above K = 20 packets, as a switch does: it oscillates between K + 1 and K + 1 - A packets with an
/// amplitude of A = sqrt(2 (C RTT + K)) / 2 (Alizadeh et al., "Data Center TCP", SIGCOMM 2010, section 3.3: one flow),
/// which is 7 packets here, while Reno needs the product of bandwidth and delay. The link is always busy.
#[test]
fn dctcp_keeps_the_queue_near_its_threshold() {
    let packet = 1500.0 * 8.0 / 100e6 * 1e3; // ms
    let threshold = 20.0 * packet;
    let amplitude = (2.0 * (10.0 / packet + 20.0_f64)).sqrt() / 2.0 * packet;
    let threshold_text = format!("{} us", (threshold * 1e3) as u64);
    // CoDel's own marks follow waits of more than 1 s: never
    let queue = [
        ("links.down.queue.ce_threshold", &*threshold_text),
        ("links.down.queue.target", "1 s"),
        ("links.down.queue.interval", "10 s"),
    ];
    let tcp = [
        ("flows.f.sender.congestion_control", "dctcp"),
        ("flows.f.receiver.tcp.ecn", "dctcp"),
        ("flows.f.sender.tcp.max_send_buffer", "64 MiB"),
        // single segments: bursts would lengthen the queue
        ("flows.f.sender.tcp.gso_segments", "1"),
    ];
    let accurate = [&tcp[..], &ACCURATE[1..3]].concat();
    let quic = [
        ("flows.f.stack", "lab-quic"),
        ("flows.f.sender.congestion_control", "dctcp"),
        ("flows.f.sender.datagram_size", "1472 B"),
    ];
    // RFC 8257 section 3.1: the same threshold in bytes, as RED without an average
    let red =
        "{ kind = 'red', ecn = true, min_threshold = '30 kB', max_threshold = '30 kB', weight_exponent = 0 }";
    let step = [("links.down.queue", red)];
    for sets in [&queue[..], &step]
        .into_iter()
        .flat_map(|queue| [&tcp[..], &accurate, &quic].map(|flow| [queue, flow]))
    {
        let output = run_text(SCENARIO, &sets.concat(), 1);
        let sojourn = link(&output, "queue_sojourn_ms");
        let sent = output.result.elements["down"].counters.sent.bytes;
        let busy = sent as f64 * 8.0 / (100e6 * 30.0);
        assert!(
            (threshold - amplitude - packet..=threshold + 2.0 * packet).contains(&sojourn),
            "{sojourn} ms, K is {threshold} ms, A {amplitude} ms"
        );
        assert!(busy > 0.99, "{busy}");
        assert_eq!(sender(&output, "lost_packets"), 0.0);
    }
}

/// RFC 9000 section 13.4.2: a path that clears the field is detected by its counts, and no packet is ECN-capable any
/// more. TCP does not detect it, and nothing is marked.
#[test]
fn a_path_that_clears_the_field_ends_ecn() {
    let cleared = [("links.down.ecn_rewrites", "[{ to = 'not_ect' }]")];
    for sets in [&TCP[..], &QUIC[..]] {
        let output = run_text(SCENARIO, &[&cleared[..], sets].concat(), 1);
        assert_eq!((link(&output, "ce_marks"), sender(&output, "marked_packets")), (0.0, 0.0));
        assert!(link(&output, "codel_drops") > 0.0 && sender(&output, "lost_packets") > 0.0);
    }
}

#[test]
fn a_control_that_counts_marks_needs_a_receiver_that_does() {
    for (sets, path) in [
        (&[("flows.f.sender.congestion_control", "dctcp")][..], "flows.f.receiver.tcp.ecn"),
        (
            &[("flows.f.sender.congestion_control", "dctcp"), ("flows.f.receiver.tcp.ecn", "classic")],
            "flows.f.receiver.tcp.ecn",
        ),
        // neither of the two counting feedbacks understands the other
        (
            &[("flows.f.sender.congestion_control", "dctcp"), ("flows.f.receiver.tcp.ecn", "accurate")],
            "flows.f.receiver.tcp.ecn",
        ),
        (
            &[
                ("flows.f.sender.congestion_control", "prague"),
                ("flows.f.sender.tcp.ecn", "accurate"),
                ("flows.f.receiver.tcp.ecn", "dctcp"),
            ],
            "flows.f.receiver.tcp.ecn",
        ),
        (
            &[("flows.f.sender.tcp.ecn", "accurate"), ("flows.f.receiver.tcp.ecn", "dctcp")],
            "the sender counts marks by `tcp.ecn = \"accurate\"`; the receiver must have the same",
        ),
        // RFC 8511 requires marks, and a window of one connection
        (&[("flows.f.sender.ecn_beta", "0.8")], "flows.f.sender.ecn_beta"),
        (&[("flows.f.stack", "lab-quic"), ("flows.f.sender.ecn_beta", "0.8")], "flows.f.sender.ecn_beta"),
        (
            &[
                ("flows.f.sender.congestion_control", "bbr-linux"),
                ("flows.f.sender.tcp.ecn", "classic"),
                ("flows.f.sender.ecn_beta", "0.8"),
            ],
            "flows.f.sender.ecn_beta",
        ),
        (
            &[("flows.f.sender.tcp.ecn", "classic"), ("flows.f.sender.ecn_beta", "1.0")],
            "flows.f.sender.ecn_beta",
        ),
        (&[("flows.f.stack", "quinn"), ("flows.f.sender.ecn_beta", "0.8")], "flows.f.sender.ecn_beta"),
        (
            &[("flows.f.sender.congestion_control", "dctcp"), ("flows.f.sender.tcp.ecn", "classic")],
            "flows.f.sender.tcp.ecn",
        ),
        (
            &[
                ("flows.f.stack", "lab-quic"),
                ("flows.f.sender.congestion_control", "dctcp"),
                ("flows.f.sender.quic.ecn", "false"),
            ],
            "flows.f.sender.quic.ecn",
        ),
    ] {
        let error = load(SCENARIO, sets).expect_err("it is to be refused").to_string();
        assert!(error.contains(path), "{error}");
    }
}

const DUALPI2: &str = r#"
version = 1
name = "l4s"
duration = "40 s"
until = "duration_over"
links.down = { rate = "40 Mbit/s", overhead_per_packet = "14 B", delay = "10 ms", queue = { kind = "dualpi2" } }
links.up = { delay = "10 ms" }
[flows.f]
stack = "lab-tcp"
sender = { congestion_control = "prague" }
receiver = { tcp = { ecn = "dctcp" } }
down = ["down"]
up = ["up"]
workload = { kind = "download", duration = "38 s" }
[flows.classic]
stack = "lab-tcp"
sender = { congestion_control = "cubic" }
down = ["down"]
up = ["up"]
workload = { kind = "download", duration = "38 s" }
"#;

/// RFC 9332 section 2.1: the coupling makes rates of scalable and classic flows about equal, here within a factor of
/// 2.5 as their RTTs differ by the classic queue, whose target is 15 ms; packets of the low-latency queue wait for less
/// than 1 ms and none of them is lost. The ECN field that Prague sets selects the queue.
#[test]
fn prague_waits_less_than_a_millisecond_beside_cubic() {
    let quic = [("flows.f.stack", "lab-quic"), ("flows.f.receiver", "{}")];
    let accurate = [("flows.f.sender.tcp.ecn", "accurate"), ("flows.f.receiver.tcp.ecn", "accurate")];
    for sets in [&[][..], &accurate[..], &quic[..]] {
        for delay in ["2.5 ms", "10 ms", "40 ms"] {
            let delays = [("links.down.delay", delay), ("links.up.delay", delay)];
            let output = run_text(DUALPI2, &[sets, &delays[..]].concat(), 1);
            let goodput = |flow: &str| output.result.flows[flow].delivered_bytes as f64;
            let ratio = goodput("f") / goodput("classic");
            assert!((0.4..2.5).contains(&ratio), "{delay}: {ratio}");
            let busy = (goodput("f") + goodput("classic")) * 8.0 / (40e6 * 38.0);
            assert!(busy > 0.9, "{delay}: {busy}");
            assert!(link(&output, "low_latency_sojourn_ms") < 0.6, "{delay}");
            assert!((5.0..20.0).contains(&link(&output, "classic_sojourn_ms")), "{delay}");
            assert!(
                link(&output, "low_latency_ce_marks") > 100.0 && link(&output, "classic_ce_marks") == 0.0
            );
            assert_eq!(sender(&output, "lost_packets"), 0.0, "{delay}");
        }
    }
}

/// RFC 9768: the sender learns of every mark, with and without the option, also of those on acknowledgements and if a
/// third of these is lost. The echo of RFC 3168 attributes marks to everything that an acknowledgement covers.
#[test]
fn accurate_ecn_counts_every_mark() {
    let ended = [("flows.f.workload.size", "40 MB"), ("duration", "30 s")];
    let marks = |sets: &[(&str, &str)]| {
        // with this seed no SYN is lost
        let output = run_text(SCENARIO, &[&ended[..], sets].concat(), 2);
        assert!(output.result.flows["f"].completed);
        (sender(&output, "marked_packets"), link(&output, "ce_marks"))
    };
    let step =
        "{ kind = 'red', ecn = true, min_threshold = '30 kB', max_threshold = '30 kB', weight_exponent = 0 }";
    let dctcp = [
        ("flows.f.sender.congestion_control", "dctcp"),
        ("flows.f.sender.tcp.ecn", "accurate"),
        ("flows.f.receiver.tcp.ecn", "accurate"),
        ("links.down.queue", step),
    ];
    let (counted, marked) = marks(&dctcp);
    assert!(marked > 100.0);
    assert_eq!(counted, marked);
    let thinned = [&dctcp[..], &[("links.up.loss", "{ kind = 'independent', probability = 0.3 }")]].concat();
    let (counted, marked) = marks(&thinned);
    // an acknowledgement of eight marks or more is interpreted as the safest likely case
    assert!((marked..1.02 * marked).contains(&counted), "{counted} of {marked}");
    let (counted, marked) = marks(&ACCURATE);
    assert_eq!(counted, marked);
    let (counted, marked) = marks(&TCP);
    assert!(counted > 2.0 * marked, "{counted} of {marked}");
}

/// RFC 8511: with a short queue that marks above K packets, the window of NewReno grows by a packet in each round trip
/// from a share β of B + K to B + K, where B is the product of bandwidth and delay. A round trip takes max(B, W) packet
/// times and delivers W packets.
#[test]
fn smaller_reductions_for_marks_keep_a_short_queue_busy() {
    let (product, threshold) = (100e6 * 0.010 / 12_000.0, 5.0);
    let theory = |beta: f64| {
        let most = product + threshold;
        let windows = (0..).map(|round| beta * most + f64::from(round)).take_while(|window| *window <= most);
        let (brought, took) =
            windows.fold((0.0, 0.0), |(brought, took), w| (brought + w, took + f64::max(w, product)));
        brought / took
    };
    let step = "{ kind = 'red', ecn = true, min_threshold = '7500 B', max_threshold = '7500 B', weight_exponent = 0 }";
    let common = [("links.down.queue", step), ("duration", "60 s")];
    // PRR leaves less in flight than the new window: the difference is a burst, which marks in such a short queue
    let single = [("flows.f.sender.tcp.gso_segments", "1"), ("flows.f.sender.tcp.rate_reduction", "none")];
    let tcp = [&TCP[..], &single].concat();
    let quic = [&QUIC[..], &[("flows.f.sender.datagram_size", "1472 B")]].concat();
    for sets in [tcp, quic] {
        let busy = |beta: Option<&'static str>| {
            let beta: Vec<_> = beta.map(|beta| ("flows.f.sender.ecn_beta", beta)).into_iter().collect();
            let output = run_text(SCENARIO, &[&common[..], &sets, &beta].concat(), 1);
            assert_eq!(sender(&output, "lost_packets"), 0.0);
            output.result.elements["down"].counters.sent.bytes as f64 * 8.0 / (100e6 * 60.0)
        };
        for (beta, part) in [(None, 0.5), (Some("0.8"), 0.8), (Some("0.9"), 0.9)] {
            let (found, expected) = (busy(beta), theory(part));
            assert!((expected - 0.03..expected).contains(&found), "{part}: {found}, in theory {expected}");
        }
    }
}

const TUNNEL: &str = r#"
version = 1
name = "tunnel_ecn"
duration = "20 s"
until = "duration_over"
links.down = { rate = "20 Mbit/s", delay = "10 ms", queue = { kind = "codel", ecn = true, packets = 1000 } }
links.up = { delay = "10 ms" }
[tunnels.vpn]
stack = "lab-quic"
queue = { kind = "drop_tail", packets = 1000 }
windows = ["4 MB"]
paths = [{ down = ["down"], up = ["up"] }]
server = { congestion_control = "fixed", quic = { ecn = true } }
client = { congestion_control = "fixed", quic = { ecn = true } }
[flows.f]
stack = "lab-tcp"
sender = { congestion_control = "newreno", tcp = { ecn = "accurate", mss = "1348 B" } }
receiver = { tcp = { ecn = "accurate" } }
start = "1 s"
down = ["vpn"]
up = ["vpn"]
workload = { kind = "download", duration = "18 s" }
"#;

/// RFC 6040: marks of the link reach the sender through the tunnel, and the queue stays short. Otherwise only the
/// carrier sees them; its window is fixed, so that drops of the link, whose queue is full, limit the sender.
#[test]
fn marks_reach_what_is_inside_a_tunnel() {
    let run = |sets: &[(&str, &str)]| {
        let output = run_text(TUNNEL, sets, 1);
        assert!(link(&output, "ce_marks") > 0.0);
        let (marked, lost) = (sender(&output, "marked_packets"), sender(&output, "lost_packets"));
        (marked, lost, link(&output, "queue_sojourn_ms"))
    };
    let propagated = [("tunnels.vpn.ecn", "propagated")];
    let (marked, lost, sojourn) = run(&propagated);
    assert!(marked > 0.0 && lost == 0.0 && sojourn < 10.0, "{marked} {lost} {sojourn}");
    let (marked, lost, sojourn) = run(&[]);
    assert!(marked == 0.0 && lost > 0.0 && sojourn > 20.0, "{marked} {lost} {sojourn}");
    // packets that are not ECN-capable are not marked in transit, so none is dropped at the end of the tunnel
    let plain = [("flows.f.sender.tcp.ecn", "off"), ("tunnels.vpn.ecn", "propagated")];
    let output = run_text(TUNNEL, &plain, 1);
    assert!(link(&output, "codel_drops") > 0.0);
    assert_eq!(output.result.elements["vpn.client"].statistics["marked_drops"], 0.0);
}

#[test]
fn marks_are_passed_on_only_by_a_carrier_that_can() {
    for sets in [
        &[
            ("tunnels.vpn.stack", "noq"),
            ("tunnels.vpn.server", "{}"),
            ("tunnels.vpn.client", "{}"),
            ("tunnels.vpn.windows", "[]"),
        ][..],
        &[("tunnels.vpn.server.quic.ecn", "false")],
        &[("tunnels.vpn.pipeline", "{ kind = 'pquic' }")],
    ] {
        let sets = [&[("tunnels.vpn.ecn", "propagated")], sets].concat();
        let error = load(TUNNEL, &sets).expect_err("it is to be refused").to_string();
        assert!(error.contains("tunnels.vpn.ecn") && error.contains("separate"), "{error}");
    }
}

/// quinn and noq send ECT(0) and learn of CE from their peer: their own congestion control reduces its window for
/// marks, and nothing is lost. If a router clears the field they detect it, and the queue drops.
#[test]
fn real_stacks_react_to_marks() {
    for stack in ["quinn", "noq"] {
        let sets = [
            ("flows.f.stack", stack),
            ("flows.f.sender.congestion_control", "newreno"),
            ("links.down.rate", "20 Mbit/s"),
            ("duration", "15 s"),
        ];
        let output = run_text(SCENARIO, &sets, 1);
        let (marks, events) = (link(&output, "ce_marks"), sender(&output, "congestion_events"));
        assert!(events > 2.0 && events <= marks, "{stack}: {events} of {marks}");
        assert_eq!((sender(&output, "lost_packets"), link(&output, "codel_drops")), (0.0, 0.0), "{stack}");
        assert!(link(&output, "queue_sojourn_ms") < 20.0, "{stack}");
        let cleared = [&sets[..], &[("links.down.ecn_rewrites", "[{ to = 'not_ect' }]")]].concat();
        let output = run_text(SCENARIO, &cleared, 1);
        assert_eq!(link(&output, "ce_marks"), 0.0, "{stack}");
        assert!(link(&output, "codel_drops") > 0.0 && sender(&output, "lost_packets") > 0.0, "{stack}");
    }
}
