//! Plugins: their effect, their printed form, and the rejection of each invalid one.

use super::bad_input::{Case, compare};
use super::{load, some_stacks};
use crate::{PluginEnds, Scenario, built_in_plugins};
use quiclab_core::ProblemKind::{
    self, Conflict, MissingField, OutOfRange, UnknownField, UnknownName, Unsupported, WrongType,
};
use quiclab_core::{Anchor, Operation, Role};
use quiclab_transport::options::{CongestionControl, Pacing};

/// A valid scenario; each case introduces one error.
const RIGHT: &str = r#"version = 1
name = "n"
duration = "10 s"
[links.a]
[links.b]
[plugins.mine]
description = "One of each kind."
ends = "sender"
exchanges = [
    { operation = "pacing", replace = { kind = "even" } },
    { operation = "compute.rtt_sample", before = "m:see" },
    { operation = "compute.congestion_window", after = "m:halve" },
]
[plugins.reno]
exchanges = [{ operation = "congestion_control", replace = "newreno" }]
[flows.f]
stack = "noq"
plugins = ["mine", "no-slow-start-exit"]
sender.initial_window = "20 kB"
down = ["a"]
up = ["b"]
workload = { kind = "download", size = "1 kB" }
"#;

/// Path and kind of the problem with `text` after `sets`, and its reason.
fn problem(text: &str, sets: &[(&str, &str)]) -> Option<(String, ProblemKind, String)> {
    let problem = load(text, sets).err()?.problem;
    Some((problem.path.to_string(), problem.kind, problem.reason.unwrap_or_default()))
}

#[test]
fn parts_are_set_at_the_ends_that_the_plugin_changes() {
    let scenario = load(RIGHT, &[("flows.f.plugins.2", "reno")]).unwrap();
    let flow = &scenario.flows["f"];
    let sender = scenario.endpoint(flow, Role::Server);
    let receiver = scenario.endpoint(flow, Role::Client);
    assert_eq!(sender.pacing, Some(Pacing::Even { factor: 1.25 }));
    assert_eq!(receiver.pacing, None, "`mine` changes the sender alone");
    for end in [&sender, &receiver] {
        assert_eq!(end.congestion_control, Some(CongestionControl::Newreno), "`reno` changes both");
        assert_eq!(end.stack.as_deref(), Some("noq"));
    }
    assert_eq!(sender.initial_window.unwrap().bytes(), 20_000, "the end's own options stay");
    assert_eq!(flow.sender.pacing, None, "the scenario keeps what was written");
}

#[test]
fn values_that_json_does_not_have_are_refused_at_any_depth() {
    for value in ["nan", "inf", "1979-05-27", "99999999999999999999"] {
        let text = RIGHT.replace("{ kind = \"even\" }", &format!("{{ kind = \"even\", factor = {value} }}"));
        let (path, kind, _) = problem(&text, &[]).expect(value);
        let expected = if value.len() > 10 { ProblemKind::Syntax } else { ProblemKind::WrongType };
        assert!(kind == expected || kind == ProblemKind::WrongType, "{value}: {kind:?}");
        assert!(
            kind == ProblemKind::Syntax || path == "plugins.mine.exchanges.0.replace.factor",
            "{value}: {path}"
        );
    }
}

#[test]
fn computations_are_listed_in_the_order_of_flow_and_manifest() {
    let scenario = load(RIGHT, &[]).unwrap();
    let flow = &scenario.flows["f"];
    let found = scenario.computations(flow, Role::Server);
    let found: Vec<_> =
        found.iter().map(|it| (&*it.plugin, it.operation, it.anchor, &*it.function)).collect();
    assert_eq!(
        found,
        [
            ("mine", Operation::RttSample, Anchor::Before, "m:see"),
            ("mine", Operation::CongestionWindow, Anchor::After, "m:halve")
        ]
    );
    assert!(scenario.computations(flow, Role::Client).is_empty());
}

#[test]
fn a_resolved_scenario_holds_the_manifests_it_uses_and_is_stable() {
    let resolved = load(RIGHT, &[]).unwrap().resolved();
    assert_eq!(resolved.plugins.keys().collect::<Vec<_>>(), ["mine", "no-slow-start-exit", "reno"]);
    assert_eq!(resolved.plugins["no-slow-start-exit"], built_in_plugins()["no-slow-start-exit"]);
    assert_eq!(resolved.plugins["reno"].ends, PluginEnds::Both);
    assert_eq!(resolved.resolved(), resolved);
    let printed = resolved.to_toml().unwrap();
    let again = load(&printed, &[]).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(again, resolved, "{printed}");
    assert_eq!(again.to_toml().unwrap(), printed);
    for part in ["[plugins.mine]", "[plugins.no-slow-start-exit]", "ends = \"both\"", "ends = \"sender\""] {
        assert!(printed.contains(part), "{part} is visible in\n{printed}");
    }
    let json = serde_json::to_string(&resolved).unwrap();
    assert_eq!(Scenario::from_json(&json).unwrap(), resolved);
    // a new list leaves no effect of the former one
    let other = load(&printed, &[("flows.f.plugins", "[]")]).unwrap();
    assert_eq!(other.endpoint(&other.flows["f"], Role::Server).pacing, None);
}

#[test]
fn a_manifest_of_the_scenario_goes_before_a_built_in_one_of_its_name() {
    let own = "[plugins.no-slow-start-exit]\nexchanges = [{ operation = \"time_threshold\", replace = 2 }]\n";
    let scenario = load(&RIGHT.replace("[flows.f]", &format!("{own}[flows.f]")), &[]).unwrap();
    let sender = scenario.endpoint(&scenario.flows["f"], Role::Server);
    assert_eq!((sender.time_threshold, sender.slow_start_exit), (Some(2.0), None));
    assert_eq!(scenario.resolved(), scenario);
}

#[test]
fn an_option_that_says_the_same_is_no_contradiction() {
    let same = [("flows.f.sender.pacing", r#"{ kind = "even", factor = 1.25 }"#)];
    assert_eq!(problem(RIGHT, &same), None);
    let twice =
        "[plugins.again]\nexchanges = [{ operation = \"pacing\", replace = { kind = \"even\" } }]\n[flows.f]";
    let text = RIGHT.replace("[flows.f]", twice);
    assert_eq!(problem(&text, &[("flows.f.plugins.2", "again")]), None);
}

#[test]
fn every_built_in_plugin_is_valid_and_says_what_it_does() {
    assert!(built_in_plugins().len() >= 9);
    for (name, plugin) in built_in_plugins() {
        assert!(plugin.description.ends_with('.'), "{name}");
        let plugins = format!("[{name:?}]");
        let text = RIGHT.replace("plugins = [\"mine\", \"no-slow-start-exit\"]", "plugins = []");
        let scenario =
            load(&text, &[("flows.f.plugins", &plugins)]).unwrap_or_else(|error| panic!("{error}"));
        let resolved = scenario.resolved();
        assert!(resolved.validate(&some_stacks).is_ok(), "as a manifest of the scenario: {name}");
        let flow = &scenario.flows["f"];
        assert_ne!(
            scenario.endpoint(flow, Role::Server),
            flow.inherited(&flow.sender),
            "{name} changes something"
        );
    }
}

#[rustfmt::skip] // one case a line
const CASES: &[Case] = &[
    (r#"operation = "compute.rtt_sample""#, r#"operation = "compute.rtt_sampel""#, 11, "plugins.mine.exchanges.1.operation", UnknownName),
    (r#"operation = "pacing""#, r#"operation = "moon""#, 10, "plugins.mine.exchanges.0.operation", UnknownName),
    (r#"operation = "pacing""#, r#"operation = "stack""#, 10, "plugins.mine.exchanges.0.operation", UnknownName),
    (r#"operation = "pacing""#, r#"operation = "tcp""#, 10, "plugins.mine.exchanges.0.operation", UnknownName),
    (r#"operation = "pacing", "#, "", 10, "plugins.mine.exchanges.0.operation", MissingField),
    (r#"replace = { kind = "even" }"#, r#"replace = { kind = "evn" }"#, 10, "plugins.mine.exchanges.0.replace.kind", UnknownName),
    (r#"replace = { kind = "even" }"#, r#"replace = { kind = "even", factr = 1 }"#, 10, "plugins.mine.exchanges.0.replace.factr", UnknownField),
    (r#"replace = { kind = "even" }"#, "replace = 3", 10, "plugins.mine.exchanges.0.replace", WrongType),
    (r#"replace = { kind = "even" }"#, "replace = nan", 10, "plugins.mine.exchanges.0.replace", WrongType),
    (r#"replace = { kind = "even" }"#, r#"replace = { kind = "even", factor = 0 }"#, 10, "plugins.mine.exchanges.0.replace.factor", OutOfRange),
    (r#"replace = { kind = "even" }"#, r#"before = "m:f""#, 10, "plugins.mine.exchanges.0.before", Conflict),
    (r#"replace = { kind = "even" }"#, r#"after = "m:f""#, 10, "plugins.mine.exchanges.0.after", Conflict),
    (r#"before = "m:see""#, r#"before = "m:see", after = "m:see""#, 11, "plugins.mine.exchanges.1", Conflict),
    (r#", before = "m:see""#, "", 11, "plugins.mine.exchanges.1", Conflict),
    (r#"before = "m:see""#, r#"before = " ""#, 11, "plugins.mine.exchanges.1.before", Conflict),
    (r#"before = "m:see""#, "before = 3", 11, "plugins.mine.exchanges.1.before", WrongType),
    (r#"before = "m:see""#, "replace = 3", 11, "plugins.mine.exchanges.1.replace", Conflict),
    (r#"before = "m:see""#, "around = 3", 11, "plugins.mine.exchanges.1.around", UnknownField),
    (r#"operation = "compute.rtt_sample", before = "m:see""#, r#"operation = "pacing", replace = { kind = "none" }"#, 11, "plugins.mine.exchanges.1.operation", Conflict),
    (r#"exchanges = [{ operation = "congestion_control", replace = "newreno" }]"#, "exchanges = []", 15, "plugins.reno.exchanges", OutOfRange),
    (r#"exchanges = [{ operation = "congestion_control", replace = "newreno" }]"#, "", 14, "plugins.reno.exchanges", MissingField),
    (r#"replace = "newreno""#, r#"replace = "reno""#, 15, "plugins.reno.exchanges.0.replace", UnknownName),
    (r#"ends = "sender""#, r#"ends = "server""#, 8, "plugins.mine.ends", UnknownName),
    ("[plugins.reno]", "[plugins.\"re no\"]", 14, r#"plugins."re no""#, OutOfRange),
    (r#""no-slow-start-exit""#, r#""no-slow-start""#, 18, "flows.f.plugins.1", UnknownName),
    (r#""no-slow-start-exit""#, r#""adaptiv-treshold""#, 18, "flows.f.plugins.1", UnknownName),
    (r#""no-slow-start-exit""#, r#""mine""#, 18, "flows.f.plugins.1", Conflict),
    (r#"sender.initial_window = "20 kB""#, r#"sender.pacing = { kind = "none" }"#, 18, "flows.f.plugins.0", Conflict),
    (r#""no-slow-start-exit""#, r#""no-pacing""#, 18, "flows.f.plugins.1", Conflict),
    (r#"stack = "noq""#, r#"stack = "quinn""#, 18, "flows.f.plugins.0", Conflict),
    (r#"plugins = ["mine", "no-slow-start-exit"]"#, "plugins = [\"adaptive-threshold\"]\nsender.stack = \"lab-tcp\"", 18, "flows.f.plugins.0", Unsupported),
];

#[test]
fn each_wrong_plugin_is_found() {
    compare(RIGHT, CASES);
    assert_eq!(problem(RIGHT, &[("flows.f.sender.congestion_control", "bbr-linux")]), None);
}

#[test]
fn two_plugins_do_not_replace_one_computation() {
    let two = "[plugins.x]\nexchanges = [{ operation = \"compute.path\", replace = \"m:x\" }]\n\
               [plugins.y]\nexchanges = [{ operation = \"compute.path\", replace = \"m:x\" }]\n[flows.f]";
    let text = RIGHT.replace("[flows.f]", two);
    assert_eq!(problem(&text, &[("flows.f.plugins", r#"["x"]"#)]), None);
    let reason = "it replaces `compute.path` of the sender, and `x` also replaces it";
    assert_eq!(
        problem(&text, &[("flows.f.plugins", r#"["x", "y"]"#)]),
        Some(("flows.f.plugins.1".to_owned(), Conflict, reason.to_owned()))
    );
    // at different ends they do not conflict
    let sets =
        [("flows.f.plugins", r#"["x", "y"]"#), ("plugins.x.ends", "receiver"), ("plugins.y.ends", "sender")];
    assert_eq!(problem(&text, &sets), None);
}

#[test]
fn what_goes_wrong_with_an_option_that_a_plugin_has_set_names_the_plugin() {
    let sets = [("flows.f.plugins", r#"["no-pacing"]"#), ("flows.f.sender.congestion_control", "bbr-linux")];
    let reason = "it sets `pacing` of the sender to { kind = \"none\" }: \
                  congestion control `bbr-linux` controls its rate by pacing";
    assert_eq!(problem(RIGHT, &sets), Some(("flows.f.plugins.0".to_owned(), Conflict, reason.to_owned())));
}

#[test]
fn a_token_bucket_must_hold_the_packets_that_a_plugin_makes_larger() {
    let large =
        "[plugins.large]\nexchanges = [{ operation = \"datagram_size\", replace = \"1400 B\" }]\n[flows.f]";
    let text = RIGHT.replace("[flows.f]", large).replace(
        "[links.a]",
        "[links.a]\nrate = { kind = \"token_bucket\", rate = \"1 Mbit/s\", burst = \"1427 B\" }",
    );
    assert_eq!(problem(&text, &[]), None);
    // 1400 B, 20 B of IPv4 (RFC 791), 8 B of UDP (RFC 768)
    let found = load(&text, &[("flows.f.plugins", r#"["large"]"#)]).unwrap_err().problem;
    assert_eq!(found.path.to_string(), "links.a.rate.burst");
    assert_eq!(found.expected, "a size of at least \"1428 B\"");
}
