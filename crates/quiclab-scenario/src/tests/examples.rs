//! The scenarios of the repository load, and their printed form loads back.

use super::{examples, load, some_stacks};
use crate::Scenario;
use quiclab_core::ByteCount;
use quiclab_core::Duration;
use quiclab_core::bearer::BearerMode;

#[test]
fn examples_load_and_print_what_loads_back() {
    let examples = examples();
    assert!(examples.len() >= 8);
    for (name, text) in examples {
        let scenario = load(&text, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        let printed = scenario.to_toml().unwrap();
        let again = load(&printed, &[]).unwrap_or_else(|error| panic!("{name}: {error}\n{printed}"));
        assert_eq!(again, scenario.resolved(), "{name}");
        assert_eq!(again.to_toml().unwrap(), printed, "{name}: printing a resolved scenario changes nothing");
    }
}

#[test]
fn the_template_loads() {
    let scenario = load(Scenario::template(), &[]).unwrap();
    assert!(!scenario.links.is_empty() && !scenario.flows.is_empty());
}

#[test]
fn every_part_of_the_template_that_is_commented_out_loads() {
    let parts = ["# [bearers.dc]", "# links =", "# batch_packets", "# shares", "# mode", "# reordering"];
    let parts = [&parts[..], &["# [taps.before]", "# keep_packets"]].concat();
    let mut text =
        Scenario::template().replace("[links.up1]", "[links.down2]\nrate = \"1 Mbit/s\"\n[links.up1]");
    for part in parts {
        assert!(text.contains(part), "{part}");
        text = text.replace(part, &part[2..]);
    }
    let text = text.replace("down = [\"down1\"]", "down = [\"before\", \"dc\"]");
    assert_eq!(load(&text, &[]).unwrap().bearers["dc"].links.len(), 2);
}

#[test]
fn resolving_fills_in_what_is_inherited() {
    let text = r#"
        version = 1
        name = "n"
        links = { a = {}, b = {}, c = {} }
        bearers = { split = { links = ["a", "b"] }, both = { links = ["a", "b"], mode = "duplicate" } }
        [flows.f]
        stack = "quinn"
        sender.stack = "noq"
        down = ["split"]
        up = ["both", "c"]
        workload = { kind = "download", size = "1 kB" }
    "#;
    let scenario = load(text, &[]).unwrap().resolved();
    let flow = &scenario.flows["f"];
    assert_eq!(flow.sender.stack.as_deref(), Some("noq"), "the end wins");
    assert_eq!(flow.receiver.stack.as_deref(), Some("quinn"));
    assert_eq!(flow.stack, None, "the flow has no stack of its own then");
    let same = load(&text.replace("\"noq\"", "\"quinn\""), &[]).unwrap().resolved().flows["f"].clone();
    assert_eq!((same.stack.as_deref(), same.sender.stack, same.receiver.stack), (Some("quinn"), None, None));
    assert_eq!(scenario.bearers["split"].shares, [1, 1]);
    assert_eq!(scenario.bearers["both"].mode, BearerMode::Duplicate);
    assert!(scenario.bearers["both"].shares.is_empty(), "copies have no shares");
    assert_eq!(scenario.resolved(), scenario);
    assert!(scenario.validate(&some_stacks).is_ok());
    let printed = scenario.to_toml().unwrap();
    for default in ["batch_packets = 100", "duration = \"60 min\"", "packets = 1000", "request = \"100 B\""] {
        assert!(printed.contains(default), "{default} is visible in\n{printed}");
    }
}

#[test]
fn set_changes_creates_and_appends() {
    let (_, text) = examples().into_iter().find(|(name, _)| name == "dual_connectivity.toml").unwrap();
    let scenario = load(
        &text,
        &[
            ("bearers.dc.batch_packets", "200"),
            ("bearers.dc.links.2", "up1"),
            ("bearers.dc.shares", "[3, 1, 2]"),
            ("bearers.dc.shares.0", "4"),
            ("links.down1.loss", "0.1 %"),
            ("links.down2.loss", "\"0.2 %\""),
            ("links.up1.delay.mean", "20 ms"),
            ("links.up2.rate", "1 Mbit/s"),
            ("hosts.large_buffer", "{ receive_buffer = \"1 MB\" }"),
            ("flows.dc.up.0", "up2"),
            ("record.qlog", "true"),
        ],
    )
    .unwrap();
    let bearer = &scenario.bearers["dc"];
    assert_eq!((bearer.batch_packets, &bearer.shares[..]), (200, &[4, 1, 2][..]));
    assert_eq!(bearer.links, ["down1", "down2", "up1"]);
    let printed = scenario.to_toml().unwrap();
    assert!(printed.contains("probability = 0.001") && printed.contains("probability = 0.002"), "{printed}");
    assert_eq!(scenario.links["up1"].delay.mean, Duration::from_millis(20));
    assert_eq!(scenario.links["up1"].delay.deviation, Duration::from_millis(1), "kept");
    assert_eq!(scenario.hosts["large_buffer"].receive_buffer, Some(ByteCount::from_bytes(1_000_000)));
    assert_eq!(scenario.flows["dc"].up, ["up2"]);
    assert!(scenario.record.qlog);
}

#[test]
fn json_gives_the_same_scenario() {
    for (name, text) in examples() {
        let scenario = load(&text, &[]).unwrap();
        let json = serde_json::to_string(&scenario).unwrap();
        assert_eq!(Scenario::from_json(&json).unwrap(), scenario, "{name}");
    }
    let flow = r#"{ "f": { "stack": null, "workload": { "kind": "download", "size": "1 B" } } }"#;
    let nulls =
        format!(r#"{{ "version": 1, "name": "n", "description": null, "links": null, "flows": {flow} }}"#);
    assert_eq!(Scenario::from_json(&nulls).unwrap().description, "");
}
