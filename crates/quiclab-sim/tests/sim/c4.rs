//! C4 of both transports in whole runs: alone it uses a link almost without a queue, tolerates jitter, shares
//! with itself and with CUBIC, resumes, and responds to marks (draft-huitema-ccwg-c4-spec, networks of
//! draft-huitema-ccwg-c4-test).

use crate::whole_runs::{load, run_text};
use quiclab_sim::RunOutput;

const SCENARIO: &str = r#"
version = 1
name = "c4"
duration = "30 s"
until = "duration_over"
links.down = { rate = "20 Mbit/s", delay = "40 ms", queue = { kind = "drop_tail", packets = 134 } }
links.up = { delay = "40 ms" }
[flows.f]
stack = "lab-tcp"
sender = { congestion_control = "c4" }
down = ["down"]
up = ["up"]
workload = { kind = "download", duration = "29 s" }
"#;
const TCP: (&str, &str) = ("flows.f.stack", "lab-tcp");
const QUIC: (&str, &str) = ("flows.f.stack", "lab-quic");

fn goodput(output: &RunOutput, flow: &str) -> f64 {
    output.result.flows[flow].goodput_mbps
}

/// "alone": 20 Mbit/s and 80 ms. A cycle sends 15/16, twice 1 and 17/16 of the nominal rate: its mean is 1,
/// and payload is 94 to 96 % of a packet. A probe makes a queue of 1/16 of a round trip, 5 ms, and the margin
/// of the window is 15 ms.
#[test]
fn the_link_is_used_almost_without_a_queue() {
    for stack in [TCP, QUIC] {
        let output = run_text(SCENARIO, &[stack], 1);
        let (rate, srtt) = (goodput(&output, "f"), output.result.flows["f"].sender["srtt_ms"]);
        assert!(rate > 17.0, "{stack:?}: {rate} Mbit/s");
        assert!((80.0..102.0).contains(&srtt), "{stack:?}: {srtt} ms");
    }
}

/// "bad Wi-Fi": 10 Mbit/s, 2 ms, and an average jitter of 7 ms in both directions; a queue of 100 ms. 10 MB
/// take 8 s at least. The window of BBR follows the minimum RTT, that of C4 the maximum, so that C4 waits
/// less for its window (draft-huitema-ccwg-c4-design, "Chaotic jitter and rate control").
#[test]
fn jitter_costs_less_than_with_bbr() {
    let link = r#"{ rate = "10 Mbit/s", queue = { kind = "drop_tail", bytes = "125 kB" }, delay = { mean = "1 ms", deviation = "7 ms", distribution = "wifi" } }"#;
    let time = |control: &str| -> f64 {
        let times = (1..=4).map(|seed| {
            let sets = [
                QUIC,
                ("links.down", link),
                ("links.up", link),
                ("flows.f.sender.congestion_control", control),
                ("flows.f.workload", r#"{ kind = "download", size = "10 MB" }"#),
                ("duration", "60 s"),
                ("until", "workloads_done"),
            ];
            run_text(SCENARIO, &sets, seed).result.flows["f"].finish_s.expect("it is complete")
        });
        times.sum::<f64>() / 4.0
    };
    let (c4, bbr) = (time("c4"), time("bbr-v3"));
    assert!((8.0..16.0).contains(&c4), "{c4} s");
    assert!(c4 < 0.9 * bbr, "{c4} s, BBR {bbr} s");
}

/// "satellite": 100 MB over 250 Mbit/s and 600 ms with the state of an earlier connection, in at most 7.4 s;
/// at the full rate they take 3.3 s, and another two round trips pass before the first byte arrives.
#[test]
fn what_an_earlier_connection_has_found_is_used() {
    let sets = [
        QUIC,
        (
            "links.down",
            r#"{ rate = "250 Mbit/s", delay = "300 ms", queue = { kind = "drop_tail", bytes = "18750 kB" } }"#,
        ),
        ("links.up", r#"{ delay = "300 ms" }"#),
        ("flows.f.sender.saved_path", r#"{ window = "18750 kB", rtt = "600.123 ms" }"#),
        ("flows.f.receiver", r#"{ stream_receive_window = "64 MiB", connection_receive_window = "64 MiB" }"#),
        ("flows.f.workload", r#"{ kind = "download", size = "100 MB" }"#),
        ("until", "workloads_done"),
    ];
    let time = run_text(SCENARIO, &sets, 1).result.flows["f"].finish_s.expect("it is complete");
    assert!((4.4..=7.4).contains(&time), "{time} s");
}

/// Flows of C4 that start a second apart: the sensitivity makes the faster one yield first (section 5.1).
#[test]
fn flows_of_c4_share_a_link() {
    let text = format!(
        "{SCENARIO}\n[flows.g]\nstart = \"1 s\"\nstack = \"lab-tcp\"\nsender = {{ congestion_control = \"c4\" }}\ndown = [\"down\"]\n\
         up = [\"up\"]\nworkload = {{ kind = \"download\", duration = \"28 s\" }}\n"
    );
    for (stack, other) in [(TCP, "lab-tcp"), (QUIC, "lab-quic")] {
        let output = run_text(&text, &[stack, ("flows.g.stack", other)], 1);
        let (first, second) = (goodput(&output, "f"), goodput(&output, "g"));
        let share = first / (first + second);
        assert!((0.3..=0.7).contains(&share), "{stack:?}: {first} and {second} Mbit/s");
    }
}

/// Behind DualPI2, ECT(1) selects the low-latency queue, which marks above 1 ms, and CUBIC has a share of the
/// link. The pacer of Linux sends the quantum of the draft, 4 ms of data (section 4.1), in a burst, the end
/// of which waits for more than that step: C4 has less over TCP, and over QUIC with that pacer.
#[test]
fn marks_keep_the_queue_of_l4s_short() {
    let text = format!(
        "{SCENARIO}\n[flows.cubic]\nstack = \"lab-tcp\"\ndown = [\"down\"]\nup = [\"up\"]\n\
         workload = {{ kind = \"download\", duration = \"29 s\" }}\n"
    );
    for (stack, ecn) in [(QUIC, "{ quic = { ecn = true } }"), (TCP, "{ tcp = { ecn = \"dctcp\" } }")] {
        let options = format!("{{ congestion_control = \"c4\", {}", &ecn[1..]);
        let receiver = if stack == TCP { ecn } else { "{}" };
        let sets = [
            stack,
            ("flows.f.sender", options.as_str()),
            ("flows.f.receiver", receiver),
            ("links.down.queue", r#"{ kind = "dualpi2" }"#),
        ];
        let output = run_text(&text, &sets, 1);
        let (rate, cubic) = (goodput(&output, "f"), goodput(&output, "cubic"));
        let least = if stack == QUIC { 4.0 } else { 1.0 };
        assert!(rate > least && cubic > 2.0, "{stack:?}: {rate} and {cubic} Mbit/s");
        let sojourn = output.result.elements["down"].statistics["low_latency_sojourn_ms"];
        assert!(sojourn < 1.0, "{stack:?}: {sojourn} ms");
    }
}

#[test]
fn stacks_and_options_that_do_not_go_with_it_are_named() {
    let problem = |sets: &[(&str, &str)]| load(SCENARIO, sets).expect_err("it is to be rejected").to_string();
    let quinn = problem(&[("flows.f.stack", "quinn")]);
    assert!(
        quinn.contains("quinn does not tell its congestion control how many packets were marked"),
        "{quinn}"
    );
    let classic = problem(&[("flows.f.sender.tcp", r#"{ ecn = "classic" }"#)]);
    assert!(classic.contains(r#""off", "dctcp" or "accurate""#), "{classic}");
    let silent = problem(&[
        ("flows.f.sender.tcp", r#"{ ecn = "dctcp" }"#),
        ("flows.f.receiver.tcp", r#"{ ecn = "classic" }"#),
    ]);
    assert!(silent.contains("flows.f.receiver.tcp.ecn"), "{silent}");
    let unpaced = problem(&[("flows.f.sender.pacing", r#"{ kind = "none" }"#)]);
    assert!(unpaced.contains("congestion control `c4` controls its rate by pacing"), "{unpaced}");
}
