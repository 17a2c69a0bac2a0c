//! Checks of tunnels that depend on several fields.

use super::load;
use quiclab_core::problem::ProblemKind::{self, Conflict, OutOfRange};

/// A valid scenario with a tunnel over two paths.
const RIGHT: &str = r#"version = 1
name = "n"
duration = "10 s"
[links.a]
[links.b]
[links.c]
[links.d]
[links.e]
[links.f]
[tunnels.vpn]
stack = "noq"
scheduler = "round_robin"
queue = { kind = "drop_tail", packets = 10 }
paths = [{ down = ["a"], up = ["b"] }, { down = ["c"], up = ["d"] }]
[flows.main]
stack = "quinn"
down = ["e", "vpn"]
up = ["vpn", "f"]
workload = { kind = "download", size = "1 kB" }
"#;

#[test]
fn schedulers_and_queues_of_tunnels_are_checked() {
    load(RIGHT, &[]).unwrap();
    let scheduler = |table: &str| RIGHT.replace("\"round_robin\"", table);
    let cases: [(String, &str, ProblemKind); 8] = [
        (
            scheduler("{ kind = \"weighted_round_robin\", weights = [0, 1] }"),
            "scheduler.weights.0",
            OutOfRange,
        ),
        (scheduler("{ kind = \"weighted_round_robin\", weights = [1] }"), "scheduler.weights", Conflict),
        (scheduler("{ kind = \"cheapest_first\", order = [1, 1] }"), "scheduler.order", Conflict),
        (scheduler("{ kind = \"cheapest_first\", order = [2] }"), "scheduler.order", Conflict),
        (scheduler("\"redundant\""), "scheduler", Conflict),
        (RIGHT.replace("packets = 10", "time = \"10 ms\""), "queue.time", Conflict),
        (RIGHT.replace("packets = 10", "packets = 10, time = \"10 ms\""), "queue.time", Conflict),
        (
            RIGHT.replace("packets = 10", "packets = 10, ack_filter = \"conservative\""),
            "queue.ack_filter",
            Conflict,
        ),
    ];
    for (text, path, kind) in cases {
        let problem = load(&text, &[]).expect_err(path).problem;
        assert_eq!((problem.path.to_string(), problem.kind), (format!("tunnels.vpn.{path}"), kind));
    }
}

#[test]
fn a_route_passes_a_tunnel_once_by_any_of_its_names() {
    let problem =
        load(&RIGHT.replace("\"e\", \"vpn\"]", "\"e\", \"vpn\", \"vpn.client\"]"), &[]).unwrap_err().problem;
    assert_eq!((problem.path.to_string().as_str(), problem.kind), ("flows.main.down.2", Conflict));
}
