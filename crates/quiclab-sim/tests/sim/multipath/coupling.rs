//! Coupled congestion control beside flows on one path: the goals of RFC 6356 section 1.
//!
//! Each of two links carries two competing NewReno flows and one path of the flow `f`. In equilibrium the windows of a
//! NewReno flow and of the uncoupled path of `f` are the same on a link, so `f` gets two thirds of a link in total,
//! twice the share of a competitor. Goal 2 of the RFC, "a multipath flow should not take more capacity from any of the
//! resources shared by its different paths than if it were a single flow using only one of these paths", has here, with
//! two equally congested links, goal 1 as its counterpart, "at least as well as a single path flow would on the best of
//! the paths": `f` gets the share of a competitor. The ratios 2 and 1 are distinguished at their geometric mean, the
//! mean over seeds; the lower bound is its inverse.

use super::common::*;

const SHARED: &str = r#"
version = 1
name = "coupling"
duration = "30 s"
until = "duration_over"
links.down1 = { rate = "20 Mbit/s", delay = { mean = "10 ms", deviation = "0.2 ms", distribution = "normal" }, queue = { kind = "drop_tail", packets = 60 } }
links.down2 = { rate = "20 Mbit/s", delay = { mean = "10 ms", deviation = "0.2 ms", distribution = "normal" }, queue = { kind = "drop_tail", packets = 60 } }
links.back1 = { delay = "10 ms" }
links.back2 = { delay = "10 ms" }
[flows.f]
stack = "lab-quic"
down = ["down1"]
up = ["back1"]
paths = [{ down = ["down2"], up = ["back2"] }]
workload = { kind = "download", duration = "30 s" }
"#;

/// The competitors: name, link and start.
const COMPETITORS: [(&str, u32, &str); 4] =
    [("a1", 1, "100 ms"), ("a2", 1, "300 ms"), ("b1", 2, "200 ms"), ("b2", 2, "400 ms")];

/// [`SHARED`] with the competitors.
fn shared() -> String {
    let competitors = COMPETITORS.map(|(name, link, start)| {
        format!(
            r#"
[flows.{name}]
stack = "lab-quic"
down = ["down{link}"]
up = ["back{link}"]
start = "{start}"
workload = {{ kind = "download", duration = "30 s" }}
"#
        )
    });
    [SHARED, &competitors.concat()].concat()
}

const SEEDS: u64 = 4;

/// Goodput of `f` over the mean of its competitors', as the mean over seeds.
fn ratio(control: &str) -> f64 {
    let mut sets: Vec<(String, &str)> = Vec::new();
    for flow in std::iter::once("f").chain(COMPETITORS.map(|(name, ..)| name)) {
        sets.push((format!("flows.{flow}.sender.profile"), "rfc9002"));
        sets.push((format!("flows.{flow}.receiver.profile"), "rfc9002"));
    }
    sets.push(("flows.f.sender.congestion_control".into(), control));
    let sets: Vec<_> = sets.iter().map(|(path, value)| (path.as_str(), *value)).collect();
    let of_seed = |seed| {
        let flows = run_text(&shared(), &sets, seed).result.flows;
        let others: f64 = COMPETITORS.iter().map(|(name, ..)| flows[*name].goodput_mbps).sum();
        flows["f"].goodput_mbps / (others / 4.0)
    };
    let mean = (1..=SEEDS).map(of_seed).sum::<f64>() / SEEDS as f64;
    println!("{control}: {mean:.3}");
    mean
}

/// Both paths of `f` and one competitor behind one bottleneck, with a separate link for each path before it.
const ONE_BOTTLENECK: &str = r#"
version = 1
name = "one bottleneck"
duration = "30 s"
until = "duration_over"
links.near1 = { rate = "100 Mbit/s" }
links.near2 = { rate = "100 Mbit/s" }
links.bottleneck = { rate = "20 Mbit/s", delay = { mean = "10 ms", deviation = "0.2 ms", distribution = "normal" }, queue = { kind = "drop_tail", packets = 60 } }
links.back = { delay = "10 ms" }
[flows.f]
stack = "lab-quic"
down = ["near1", "bottleneck"]
up = ["back"]
paths = [{ down = ["near2", "bottleneck"], up = ["back"] }]
workload = { kind = "download", duration = "30 s" }
[flows.a]
stack = "lab-quic"
down = ["bottleneck"]
up = ["back"]
start = "200 ms"
workload = { kind = "download", duration = "30 s" }
"#;

/// Goodput of `f` over that of its competitor behind one bottleneck, the mean over seeds.
fn ratio_at_one_bottleneck(control: &str) -> f64 {
    let sets = [
        ("flows.f.sender.profile", "rfc9002"),
        ("flows.f.receiver.profile", "rfc9002"),
        ("flows.a.sender.profile", "rfc9002"),
        ("flows.a.receiver.profile", "rfc9002"),
        ("flows.f.sender.congestion_control", control),
    ];
    let of_seed = |seed| {
        let flows = run_text(ONE_BOTTLENECK, &sets, seed).result.flows;
        flows["f"].goodput_mbps / flows["a"].goodput_mbps
    };
    let mean = (1..=SEEDS).map(of_seed).sum::<f64>() / SEEDS as f64;
    println!("one bottleneck, {control}: {mean:.3}");
    mean
}

/// Goal 2 in its exact form: the paths share the bottleneck, so that without coupling `f` is two flows.
#[test]
fn coupled_paths_take_one_share_of_a_shared_bottleneck() {
    let uncoupled = ratio_at_one_bottleneck("newreno");
    assert!(uncoupled > MIDDLE, "{uncoupled}");
    for control in ["lia", "olia", "balia"] {
        let ratio = ratio_at_one_bottleneck(control);
        assert!((1.0 / MIDDLE..MIDDLE).contains(&ratio), "{control}: {ratio}");
    }
}

const MIDDLE: f64 = std::f64::consts::SQRT_2;

#[test]
fn uncoupled_paths_take_twice_a_share() {
    let ratio = ratio("newreno");
    assert!(ratio > MIDDLE, "{ratio}");
}

#[test]
fn coupled_paths_together_take_one_share() {
    for control in ["lia", "olia", "balia"] {
        let ratio = ratio(control);
        assert!((1.0 / MIDDLE..MIDDLE).contains(&ratio), "{control}: {ratio}");
    }
}

/// With one path all three are NewReno, except for fractions of a packet that NewReno rounds off: 2 % of a full link.
#[test]
fn coupled_control_on_one_path_is_newreno() {
    let single = r#"
version = 1
name = "one path"
duration = "10 s"
links.down = { rate = "20 Mbit/s", delay = "10 ms", queue = { kind = "drop_tail", packets = 20 } }
links.back = { delay = "10 ms" }
[flows.f]
stack = "lab-quic"
down = ["down"]
up = ["back"]
sender = { profile = "rfc9002" }
receiver = { profile = "rfc9002" }
workload = { kind = "download", duration = "10 s" }
"#;
    let goodput = |control| {
        let sets = [("flows.f.sender.congestion_control", control)];
        run_text(single, &sets, 1).result.flows["f"].goodput_mbps
    };
    let newreno = goodput("newreno");
    for control in ["lia", "olia", "balia"] {
        let coupled = goodput(control);
        assert!((coupled / newreno - 1.0).abs() < 0.02, "{control}: {coupled}, newreno {newreno}");
    }
}
