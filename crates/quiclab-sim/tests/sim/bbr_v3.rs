//! BBR version 3 of both transports in whole runs: it uses the link without a queue, tolerates losses below 2 %, and
//! leaves capacity to CUBIC (draft-ietf-ccwg-bbr-06 sections 3.1 and 5.3).

use crate::whole_runs::run_text;
use quiclab_sim::RunOutput;

const SCENARIO: &str = r#"
version = 1
name = "bbr"
duration = "30 s"
until = "duration_over"
links.down = { rate = "50 Mbit/s", delay = "20 ms", queue = { kind = "drop_tail", packets = 166 } }
links.up = { delay = "20 ms" }
[flows.f]
stack = "lab-tcp"
sender = { congestion_control = "bbr-v3" }
down = ["down"]
up = ["up"]
workload = { kind = "download", duration = "29 s" }
"#;
const TCP: (&str, &str) = ("flows.f.stack", "lab-tcp");
const QUIC: (&str, &str) = ("flows.f.stack", "lab-quic");

fn goodput(output: &RunOutput, flow: &str) -> f64 {
    output.result.flows[flow].goodput_mbps
}

/// 50 Mbit/s and 40 ms are 167 packets; a queue of that length would be 40 ms. Payload is 96 % of a packet; PROBE_RTT
/// costs 2 % and the pacer 1 %.
#[test]
fn the_link_is_used_without_a_queue() {
    for stack in [TCP, QUIC] {
        let output = run_text(SCENARIO, &[stack], 1);
        let (rate, srtt) = (goodput(&output, "f"), output.result.flows["f"].sender["srtt_ms"]);
        assert!(rate > 45.0, "{stack:?}: {rate} Mbit/s");
        assert!((40.0..50.0).contains(&srtt), "{stack:?}: {srtt} ms");
    }
}

/// 1 % of random loss is below the threshold of a probe; while cruising it lowers the short-term bounds until the next
/// one. CUBIC has only a small share of the link then.
#[test]
fn losses_below_the_threshold_cost_little() {
    let loss = ("links.down.loss", "0.01");
    for stack in [TCP, QUIC] {
        let rate = goodput(&run_text(SCENARIO, &[stack, loss], 1), "f");
        assert!(rate > 30.0, "{stack:?}: {rate} Mbit/s");
    }
    let cubic = [TCP, loss, ("flows.f.sender.congestion_control", "cubic")];
    let rate = goodput(&run_text(SCENARIO, &cubic, 1), "f");
    assert!(rate < 10.0, "{rate} Mbit/s");
}

/// With CUBIC in a queue of a BDP neither starves.
#[test]
fn cubic_and_bbr_share_a_link() {
    let text = format!(
        "{SCENARIO}\n[flows.cubic]\nstack = \"lab-tcp\"\ndown = [\"down\"]\nup = [\"up\"]\n\
         workload = {{ kind = \"download\", duration = \"29 s\" }}\n"
    );
    for stack in [TCP, QUIC] {
        let output = run_text(&text, &[stack], 1);
        let (bbr, cubic) = (goodput(&output, "f"), goodput(&output, "cubic"));
        let share = bbr / (bbr + cubic);
        assert!((0.2..=0.8).contains(&share), "{stack:?}: {bbr} and {cubic} Mbit/s");
    }
}

/// The pacer of quinn does not follow the rate of the control, that of noq does: results contain a warning.
#[test]
fn a_stack_that_ignores_the_rate_is_named() {
    let warned = |stack: &str, control: &str| {
        let sets = [
            ("flows.f.stack", stack),
            ("flows.f.sender.congestion_control", control),
            ("flows.f.sender.controller", "quiclab"),
            ("flows.f.workload", r#"{ kind = "download", size = "100 kB" }"#),
            ("until", "workloads_done"),
        ];
        run_text(SCENARIO, &sets, 1).result.warnings
    };
    let warning = "sender of flow `f`: quinn ignores the rate that `bbr-v3` asks for: it paces at 1.25 windows per smoothed RTT";
    assert_eq!(warned("quinn", "bbr-v3"), [warning]);
    assert_eq!(warned("quinn", "cubic"), [""; 0]);
    assert_eq!(warned("noq", "bbr-v3"), [""; 0]);
}
