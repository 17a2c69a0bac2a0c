//! Scenarios that name a network.

use super::load;
use quiclab_core::link::Rate;
use quiclab_core::queue::QueueConfig;
use quiclab_core::{DataRate, Duration};

/// A network of the tests.
pub(super) const NETWORK: &str = r#"
description = "two links"
[sources]
rate = "assumed"
[links.down]
rate = "10 Mbit/s"
queue = { kind = "drop_tail", packets = 10 }
delay = { mean = "5 ms", deviation = "1 ms", distribution = "uniform" }
[links.up]
rate = "1 Mbit/s"
"#;

/// A flow over it; `links` is the text of the scenario itself.
fn scenario(links: &str) -> String {
    format!(
        r#"
        version = 1
        name = "n"
        network = "test.toml"
        {links}
        [flows.f]
        stack = "quinn"
        down = ["down"]
        up = ["up"]
        workload = {{ kind = "download", size = "1 kB" }}
        "#
    )
}

fn mbps(rate: u64) -> Option<Rate> {
    Some(Rate::Constant(DataRate::from_mbps(rate)))
}

#[test]
fn links_are_those_of_the_network_except_for_fields_of_the_scenario() {
    let own =
        "[links.down]\nqueue = { kind = \"drop_tail\", bytes = \"3 kB\" }\n[links.up]\nrate = \"2 Mbit/s\"";
    let found = load(&scenario(own), &[("links.down.delay.mean", "7 ms")]).unwrap();
    assert_eq!(found.network, None);
    let down = &found.links["down"];
    assert_eq!((&down.rate, &found.links["up"].rate), (&mbps(10), &mbps(2)));
    // a field is replaced as a whole; `--set` has the highest precedence
    let QueueConfig::DropTail(queue) = &down.queue else { panic!("{:?}", down.queue) };
    assert_eq!(queue.packets, None);
    assert_eq!((down.delay.mean, down.delay.deviation), (Duration::from_millis(7), Duration::from_millis(1)));
    // the printed form is complete
    let printed = found.to_toml().unwrap();
    assert_eq!(load(&printed, &[]).unwrap(), found.resolved());
}

#[test]
fn the_network_can_be_set_and_other_links_stay() {
    let text = scenario("").replace("network = \"test.toml\"", "");
    assert!(load(&text, &[]).is_err(), "the links are missing");
    assert_eq!(load(&text, &[("network", "test.toml")]).unwrap().links.len(), 2);
    let more = scenario("[links.more]").replace("up = [\"up\"]", "up = [\"more\", \"up\"]");
    assert_eq!(load(&more, &[]).unwrap().links.len(), 3);
}

#[test]
fn errors_are_those_of_the_file_in_which_something_is_wrong() {
    let text = scenario("").replace("test.toml", "paths/wifi-bda");
    let error = load(&text, &[]).unwrap_err().to_string();
    let expected =
        "network: expected \"paths/wifi-bad\", got \"paths/wifi-bda\"; did you mean `paths/wifi-bad`?";
    assert!(error.ends_with(expected), "{error}");
    let text = scenario("").replace("\"test.toml\"", "3");
    let error = load(&text, &[]).unwrap_err().to_string();
    assert!(error.contains("network: expected ") && error.contains("got 3"), "{error}");
}

/// A route that omits an element may be intended; a name on the command line that does not exist is an error.
#[test]
fn what_no_route_uses_is_a_note_and_with_set_an_error() {
    let unused = load(&scenario("[links.other]\nrate = \"1 Mbit/s\""), &[]).unwrap().unused();
    let [note] = &unused[..] else { panic!("{unused:?}") };
    assert!(note.starts_with("links.other is not used by any flow"), "{note}");
    assert_eq!(load(&scenario(""), &[]).unwrap().unused(), [""; 0]);
    let error = load(&scenario(""), &[("links.other.rate", "1 Mbit/s")]).unwrap_err().to_string();
    assert!(error.contains("--set: links.other: not used by any flow"), "{error}");
}
