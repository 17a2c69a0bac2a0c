//! Queues and policers of whole runs compared with theory: drops of RED at a given load, throughput of a policer.

use crate::whole_runs::{load, run_text};
use quiclab_sim::RunOutput;

/// Datagrams of 1000 bytes with all headers, at a constant rate.
const DATAGRAMS: &str = r#"
version = 1
name = "queues"
duration = "300 s"
until = "duration_over"
links.down = { rate = "20 Mbit/s" }
links.up = {}
[flows.f]
stack = "lab-udp"
down = ["down"]
up = ["up"]
workload = { kind = "datagrams", rate = "20 Mbit/s", size = "972 B", duration = "299 s" }
"#;
const PACKET_BYTES: f64 = 1000.0;

fn link(output: &RunOutput, name: &str) -> f64 {
    output.result.elements["down"].statistics[name]
}

/// The load always exceeds the link: the queue settles where RED drops the excess. Drops are spaced uniformly from 1 to
/// 1 / p, where p is the probability at the average backlog (Floyd and Jacobson 1993, section 7), so that of all
/// packets 2 / (1 + 1 / p) are dropped.
#[test]
fn the_average_backlog_is_that_at_which_red_drops_the_excess() {
    let [min, max, max_probability] = [30e3, 90e3, 0.02];
    for load_mbps in [20.1, 20.2, 20.4] {
        let rate = format!("{} bit/s", (load_mbps * 1e6 * 972.0 / PACKET_BYTES) as u64);
        let sets = [
            ("links.down.queue", "{ kind = 'red', weight_exponent = 9 }"),
            ("flows.f.workload.rate", &*rate),
        ];
        let output = run_text(DATAGRAMS, &sets, 1);
        let dropped = 1.0 - 20.0 / load_mbps;
        let probability = dropped / (2.0 - dropped);
        let backlog = min + (max - min) * probability / max_probability;
        let found = link(&output, "queue_sojourn_ms") / 1e3 * 20e6 / 8.0;
        // the excess of at least 12.5 kB/s takes up to 4 s of 300 to fill the queue
        assert!((found - backlog).abs() < 0.04 * backlog, "{load_mbps}: {found} for {backlog} bytes");
        let arrived = output.result.elements["down"].counters.received.packets as f64;
        let share = link(&output, "red_drops") / arrived;
        // packets that initially fill the queue are not dropped
        assert!((share - dropped).abs() < 0.05 * dropped, "{load_mbps}: {share} for {dropped}");
        assert_eq!((link(&output, "red_forced_drops"), link(&output, "overflow_drops")), (0.0, 0.0));
    }
}

/// A policer passes its burst and its rate, exactly for an open loop.
#[test]
fn a_policer_passes_its_burst_and_its_rate() {
    let sets = [
        ("links.down.rate", "100 Mbit/s"),
        ("links.down.policer", "{ rate = '8 Mbit/s', burst = '50 kB' }"),
        ("duration", "10 s"),
        ("flows.f.workload.duration", "10 s"),
    ];
    let output = run_text(DATAGRAMS, &sets, 1);
    let counters = &output.result.elements["down"].counters;
    let passed = (counters.received.bytes - counters.dropped.bytes) as f64;
    let expected = 50e3 + 1e6 * 10.0;
    assert!((passed - expected).abs() <= 2.0 * PACKET_BYTES, "{passed} for {expected}");
    assert_eq!(link(&output, "dropped_policed_packets"), counters.dropped.packets as f64);
    // the burst leaves at the rate of the link, and the queue is one packet of the load that is faster than tokens
    assert!(link(&output, "queueing_longest_ms") < 0.1);
}

/// Closed loops stay below it, and reach most of it.
#[test]
fn tcp_gets_the_rate_of_a_policer_and_no_more() {
    for control in ["cubic", "bbr-linux", "bbr-v3"] {
        let sets = [
            (
                "links.down",
                "{ rate = '50 Mbit/s', delay = '10 ms', policer = { rate = '8 Mbit/s', burst = '50 kB' } }",
            ),
            ("links.up.delay", "10 ms"),
            ("duration", "30 s"),
            ("flows.f.stack", "lab-tcp"),
            ("flows.f.workload", "{ kind = 'download', duration = '30 s' }"),
            ("flows.f.sender.congestion_control", control),
        ];
        let output = run_text(DATAGRAMS, &sets, 1);
        let sent = output.result.elements["down"].counters.sent.bytes as f64;
        let bound = 50e3 + 1e6 * 30.0;
        assert!(sent <= bound && sent > 0.8 * bound, "{control}: {sent} of {bound}");
        assert!(link(&output, "dropped_policed_packets") > 0.0);
    }
}

/// Connections between the same machines, one with two paths and a page of two servers, differ in the client's port.
#[test]
fn connections_between_two_machines_have_queues_of_their_own() {
    let flow = |name: &str, rest: &str| {
        format!(
            "[flows.{name}]\nstack = 'lab-quic'\nsender_machine = 's'\nreceiver_machine = 'c'\n\
             down = ['down']\nup = ['up']\n{rest}\n"
        )
    };
    let download = "workload = { kind = 'download', size = '100 kB' }";
    let two_paths = format!("paths = [{{ down = ['other'], up = ['other_up'] }}]\n{download}");
    let page = "workload = { kind = 'page', html = '10 kB', resources = [{ size = '10 kB', origin = 1 }] }";
    let with = |flows: &[String]| {
        let network = "version = 1\nname = 'machines'\nduration = '5 s'\n[links]\n\
                       down = { rate = '20 Mbit/s', queue = { kind = 'cake' } }\nup = {}\n\
                       other = { rate = '20 Mbit/s', queue = { kind = 'cake' } }\nother_up = {}\n";
        run_text(&format!("{network}{}", flows.concat()), &[], 1)
    };
    let queues = |output: &RunOutput, link: &str| output.result.elements[link].statistics["queues_used"];
    // the first path of `b` does not have the port of the second one of `a`, which has the same link
    let shared = format!("paths = [{{ down = ['down'], up = ['up'] }}]\n{download}");
    let output = with(&[flow("a", &shared), flow("b", &two_paths)]);
    assert_eq!((queues(&output, "down"), queues(&output, "other")), (3.0, 1.0));
    let output = with(&[flow("a", page), flow("b", &two_paths)]);
    assert_eq!((queues(&output, "down"), queues(&output, "other")), (3.0, 1.0));
}

#[test]
fn a_machine_has_ports_for_its_clients() {
    let resources = |origin: u32| format!("resources = [{{ size = '1 kB', origin = {origin} }}]");
    let text = |last: u32| {
        let network = "version = 1\nname = 'ports'\nduration = '1 s'\nlinks.down = {}\nlinks.up = {}\n";
        // 60 pages of 256 servers have 15,360 of 15,536 ports
        let flow = |number: u32| {
            let origin = if number == 60 { last } else { 255 };
            format!(
                "[flows.f{number:02}]\nstack = 'lab-quic'\nreceiver_machine = 'c'\ndown = ['down']\nup = ['up']\n\
                 workload = {{ kind = 'page', html = '1 kB', {} }}\n",
                resources(origin)
            )
        };
        format!("{network}{}", (0..61).map(flow).collect::<String>())
    };
    load(&text(175), &[]).expect("176 ports are left");
    let problem = load(&text(176), &[]).expect_err("177 ports").problem;
    assert_eq!(
        problem.to_string(),
        "flows.f60.receiver_machine: expected another machine, got \"c\"; a machine has 15536 ports, one for each path of \
         each connection of the clients on it"
    );
}
