//! Plugins: what they set, what is printed of them, and how each wrong one is refused.

use super::{load, some_stacks};
use crate::{PluginEnds, Scenario, built_in_plugins};
use quiclab_core::Role;
use quiclab_core::{Anchor, Operation};
use quiclab_transport::options::{CongestionControl, Pacing};

/// A right scenario; each case makes one thing wrong.
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

fn sentence(text: &str, sets: &[(&str, &str)]) -> String {
    load(text, sets).map_or_else(|error| error.to_string(), |_| "loads".to_owned())
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
    // another list leaves nothing of the one before
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
    assert_eq!(sentence(RIGHT, &same), "loads");
    let twice =
        "[plugins.again]\nexchanges = [{ operation = \"pacing\", replace = { kind = \"even\" } }]\n[flows.f]";
    let text = RIGHT.replace("[flows.f]", twice);
    assert_eq!(sentence(&text, &[("flows.f.plugins.2", "again")]), "loads");
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
const CASES: &[(&str, &str, &str)] = &[
    (r#"operation = "compute.rtt_sample""#, r#"operation = "compute.rtt_sampel""#, "s.toml:11: plugins.mine.exchanges.1.operation = \"compute.rtt_sampel\": no such operation (the nearest is `compute.rtt_sample`), allowed is `ack_frequency`, "),
    (r#"operation = "pacing""#, r#"operation = "moon""#, "s.toml:10: plugins.mine.exchanges.0.operation = \"moon\": no such operation, allowed is `ack_frequency`, `congestion_control`, "),
    (r#"operation = "pacing""#, r#"operation = "stack""#, "s.toml:10: plugins.mine.exchanges.0.operation = \"stack\": no such operation, allowed is "),
    (r#"operation = "pacing""#, r#"operation = "tcp""#, "s.toml:10: plugins.mine.exchanges.0.operation = \"tcp\": no such operation (the nearest is `tls`), allowed is "),
    (r#"operation = "pacing", "#, "", "s.toml:10: plugins.mine.exchanges.0.operation: missing, allowed is a text"),
    (r#"replace = { kind = "even" }"#, r#"replace = { kind = "evn" }"#, "s.toml:10: plugins.mine.exchanges.0.replace.kind = \"evn\": it is none of the option `pacing`, allowed is `none`, `leaky_bucket`, `even`, "),
    (r#"replace = { kind = "even" }"#, r#"replace = { kind = "even", factr = 1 }"#, "s.toml:10: plugins.mine.exchanges.0.replace.factr = 1: it is none of the option `pacing`: unknown field, allowed is `factor`"),
    (r#"replace = { kind = "even" }"#, "replace = 3", "s.toml:10: plugins.mine.exchanges.0.replace = 3: it is none of the option `pacing`, allowed is a table"),
    (r#"replace = { kind = "even" }"#, "replace = nan", "s.toml:10: plugins.mine.exchanges.0.replace = NaN: it is none of the option `pacing`, allowed is a value of this option"),
    (r#"replace = { kind = "even" }"#, r#"replace = { kind = "even", factor = 0 }"#, "s.toml:18: flows.f.plugins.0 = \"mine\": it sets `pacing` of the sender to { factor = 0.0, kind = \"even\" }, allowed is 0.01 to 10"),
    (r#"replace = { kind = "even" }"#, r#"before = "m:f""#, "s.toml:10: plugins.mine.exchanges.0.before = \"m:f\": `pacing` is an option, no computation, allowed is `replace`, with a value of `pacing`"),
    (r#"replace = { kind = "even" }"#, r#"after = "m:f""#, "s.toml:10: plugins.mine.exchanges.0.after = \"m:f\": `pacing` is an option, no computation, allowed is `replace`, with a value of `pacing`"),
    (r#"before = "m:see""#, r#"before = "m:see", after = "m:see""#, "s.toml:11: plugins.mine.exchanges.1: several, allowed is one of `replace`, `before` and `after`, in an exchange"),
    (r#", before = "m:see""#, "", "s.toml:11: plugins.mine.exchanges.1: nothing to exchange it for, allowed is one of `replace`, `before` and `after`, in an exchange"),
    (r#"before = "m:see""#, r#"before = " ""#, "s.toml:11: plugins.mine.exchanges.1.before = \" \": allowed is the name of a function, such as `my_functions:threshold`"),
    (r#"before = "m:see""#, "before = 3", "s.toml:11: plugins.mine.exchanges.1.before = 3: allowed is a text"),
    (r#"before = "m:see""#, "replace = 3", "s.toml:11: plugins.mine.exchanges.1.replace = 3: allowed is the name of a function, such as `my_functions:threshold`"),
    (r#"before = "m:see""#, "around = 3", "s.toml:11: plugins.mine.exchanges.1.around = 3: unknown field, allowed is `operation`, `replace`, `before` or `after`"),
    (r#"operation = "compute.rtt_sample", before = "m:see""#, r#"operation = "pacing", replace = { kind = "none" }"#, "s.toml:11: plugins.mine.exchanges.1.operation = \"pacing\": the plugin replaces it twice, allowed is to replace it once"),
    (r#"exchanges = [{ operation = "congestion_control", replace = "newreno" }]"#, "exchanges = []", "s.toml:15: plugins.reno.exchanges = []: it exchanges nothing, allowed is one exchange or more"),
    (r#"exchanges = [{ operation = "congestion_control", replace = "newreno" }]"#, "", "s.toml:14: plugins.reno.exchanges: missing, allowed is "),
    (r#"replace = "newreno""#, r#"replace = "reno""#, "s.toml:15: plugins.reno.exchanges.0.replace = \"reno\": it is none of the option `congestion_control`, allowed is `newreno`, `cubic`, "),
    (r#"ends = "sender""#, r#"ends = "server""#, "s.toml:8: plugins.mine.ends = \"server\": allowed is `both`, `sender` or `receiver`"),
    ("[plugins.reno]", "[plugins.\"re no\"]", "s.toml:14: plugins.\"re no\": name not allowed, allowed is a name of letters, digits, `_` and `-`"),
    (r#""no-slow-start-exit""#, r#""no-slow-start""#, "s.toml:18: flows.f.plugins.1 = \"no-slow-start\": no such plugin, allowed is `ack-every-packet`, `adaptive-threshold`, "),
    (r#""no-slow-start-exit""#, r#""adaptiv-treshold""#, "s.toml:18: flows.f.plugins.1 = \"adaptiv-treshold\": no such plugin (the nearest is `adaptive-threshold`), allowed is "),
    (r#""no-slow-start-exit""#, r#""mine""#, "s.toml:18: flows.f.plugins.1 = \"mine\": named twice, allowed is each plugin once"),
    (r#"sender.initial_window = "20 kB""#, r#"sender.pacing = { kind = "none" }"#, "s.toml:18: flows.f.plugins.0 = \"mine\": it sets `pacing` of the sender to { factor = 1.25, kind = \"even\" }, and the sender itself sets { kind = \"none\" }, allowed is the plugin or the option"),
    (r#""no-slow-start-exit""#, r#""no-pacing""#, "s.toml:18: flows.f.plugins.1 = \"no-pacing\": it sets `pacing` of the sender to { kind = \"none\" }, and `mine` sets it to { factor = 1.25, kind = \"even\" }, allowed is one of the two"),
    (r#"stack = "noq""#, r#"stack = "quinn""#, "s.toml:18: flows.f.plugins.0 = \"mine\": it exchanges `compute.rtt_sample` of the sender, which stack `quinn` does not have, allowed is a plugin of options alone, or without this end (`ends`): `quinn` has no computation to exchange"),
    (r#"plugins = ["mine", "no-slow-start-exit"]"#, "plugins = [\"adaptive-threshold\"]\nsender.stack = \"lab-tcp\"", "s.toml:18: flows.f.plugins.0 = \"adaptive-threshold\": it sets `packet_threshold` of the sender to 3, allowed is nothing"),
    (r#"sender.initial_window = "20 kB""#, r#"sender.congestion_control = "bbr-linux""#, "loads"),
];

#[test]
fn each_wrong_plugin_has_its_sentence() {
    assert_eq!(sentence(RIGHT, &[]), "loads");
    let mut wrong = Vec::new();
    for (from, to, expected) in CASES {
        assert_eq!(RIGHT.matches(from).count(), 1, "{from:?} marks one place");
        let found = sentence(&RIGHT.replace(from, to), &[]);
        let fits = if expected.ends_with(' ') { found.starts_with(expected) } else { found == *expected };
        if !fits {
            wrong.push(format!("{from} -> {to}\n  expected: {expected}\n  found:    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn two_plugins_do_not_replace_one_computation() {
    let two = "[plugins.x]\nexchanges = [{ operation = \"compute.path\", replace = \"m:x\" }]\n\
               [plugins.y]\nexchanges = [{ operation = \"compute.path\", replace = \"m:x\" }]\n[flows.f]";
    let text = RIGHT.replace("[flows.f]", two);
    assert_eq!(sentence(&text, &[("flows.f.plugins", r#"["x"]"#)]), "loads");
    assert_eq!(
        sentence(&text, &[("flows.f.plugins", r#"["x", "y"]"#)]),
        "s.toml:--set: flows.f.plugins.1 = \"y\": it replaces `compute.path` of the sender, and `x` does, too, \
         allowed is one of the two"
    );
    // at different ends they do not meet
    let sets =
        [("flows.f.plugins", r#"["x", "y"]"#), ("plugins.x.ends", "receiver"), ("plugins.y.ends", "sender")];
    assert_eq!(sentence(&text, &sets), "loads");
}

#[test]
fn what_goes_wrong_with_an_option_that_a_plugin_has_set_names_the_plugin() {
    let sets = [("flows.f.plugins", r#"["no-pacing"]"#), ("flows.f.sender.congestion_control", "bbr-linux")];
    assert_eq!(
        sentence(RIGHT, &sets),
        "s.toml:--set: flows.f.plugins.0 = \"no-pacing\": it sets `pacing` of the sender to { kind = \"none\" }: \
         `bbr-linux` controls its rate by pacing, allowed is another kind, or to leave it out"
    );
}

#[test]
fn a_token_bucket_must_hold_the_packets_that_a_plugin_makes_larger() {
    let large =
        "[plugins.large]\nexchanges = [{ operation = \"datagram_size\", replace = \"1400 B\" }]\n[flows.f]";
    let text = RIGHT.replace("[flows.f]", large).replace(
        "[links.a]",
        "[links.a]\nrate = { kind = \"token_bucket\", rate = \"1 Mbit/s\", burst = \"1427 B\" }",
    );
    assert_eq!(sentence(&text, &[]), "loads");
    // 1400 B, 20 B of IPv4 (RFC 791), 8 B of UDP (RFC 768)
    let found = sentence(&text, &[("flows.f.plugins", r#"["large"]"#)]);
    assert!(found.ends_with("flow `f` sends packets of 1428 B, allowed is at least 1428 B"), "{found}");
}
