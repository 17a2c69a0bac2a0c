//! Flows on several paths that cannot run are rejected, with the name of the field.

use super::common::*;

fn refusal(sets: &[(&str, &str)]) -> String {
    load(TWO_PATHS, sets).expect_err("it is refused").to_string()
}

#[test]
fn stacks_with_one_path_are_refused_by_name() {
    let allowed = "expected no further paths, or the stack `lab-quic` with `quic.version = \"v1\"`, or `noq` with \
                   `multipath`, at both ends";
    for stack in ["quinn", "noq", "lab-tcp"] {
        let error =
            refusal(&[("flows.f.stack", stack), ("flows.f.sender", "{}"), ("flows.f.receiver", "{}")]);
        assert!(error.contains("flows.f.paths") && error.contains(&format!("`{stack}`")), "{error}");
        assert!(error.contains(allowed), "{error}");
    }
    let datagrams = r#"{ kind = "datagrams", rate = "1 Mbit/s", size = "500 B", duration = "3 s" }"#;
    let error = refusal(&[
        ("flows.f.stack", "lab-udp"),
        ("flows.f.sender", "{}"),
        ("flows.f.receiver", "{}"),
        ("flows.f.workload", datagrams),
    ]);
    assert!(error.contains("`lab-udp`") && error.contains(allowed), "{error}");
    let error = refusal(&[("flows.f.receiver", r#"{ stack = "quinn" }"#)]);
    assert!(error.contains("the receiver (`quinn`"), "{error}");
}

#[test]
fn google_quic_has_one_path() {
    let gquic = [("flows.f.sender.quic.version", "gquic-37"), ("flows.f.receiver.quic.version", "gquic-37")];
    let error = refusal(&gquic);
    assert!(error.contains("flows.f.paths") && error.contains("the sender (`lab-quic`"), "{error}");
}

#[test]
fn more_paths_than_eight_are_refused() {
    let further = [r#"{ down = ["down2"], up = ["back2"] }"#; 8].join(", ");
    let error = refusal(&[("flows.f.paths", &format!("[{further}]"))]);
    assert!(error.contains("flows.f.paths: expected 0 to 7 entries"), "{error}");
}

#[test]
fn schedulers_speak_of_the_paths_that_there_are() {
    let refused = |scheduler: &str| refusal(&[("flows.f.sender.quic.path_scheduler", scheduler)]);
    let error = refused(r#"{ kind = "weighted_round_robin", weights = [1, 2, 3] }"#);
    assert!(error.contains("path_scheduler.weights") && error.contains("each of the 2 paths"), "{error}");
    let error = refused(r#"{ kind = "cheapest_first", order = [2] }"#);
    assert!(error.contains("path_scheduler.order") && error.contains("from 0 to 1"), "{error}");
    let error = refused("redundant");
    assert!(
        error.contains("path_scheduler") && error.contains("a connection sends each packet once"),
        "{error}"
    );
}

const BOTH: [(&str, &str); 2] = [("flows.f.sender.multipath", "{}"), ("flows.f.receiver.multipath", "{}")];

#[test]
fn what_a_client_does_with_its_paths_needs_management() {
    let backup = r#"[{ down = ["down2"], up = ["back2"], status = "backup" }]"#;
    let later = r#"[{ down = ["down2"], up = ["back2"], start = "1 s" }]"#;
    let change = r#"[{ at = "1 s", path = 0, action = "backup" }]"#;
    for (field, value, named) in [
        ("flows.f.paths", backup, "flows.f.paths.0.status"),
        ("flows.f.paths", later, "flows.f.paths.0.start"),
        ("flows.f.path_changes", change, "flows.f.path_changes"),
        ("flows.f.abandon_when_down", "true", "flows.f.abandon_when_down"),
    ] {
        let error = refusal(&[(field, value)]);
        assert!(error.contains(named) && error.contains("both ends need `multipath`"), "{error}");
    }
    for (end, other) in [("sender", "receiver"), ("receiver", "sender")] {
        let error = refusal(&[(&format!("flows.f.{end}.multipath"), "{}")]);
        assert!(error.contains(&format!("flows.f.{other}.multipath")), "{error}");
        assert!(error.contains(&format!("the {end} has `multipath`, which needs both ends")), "{error}");
    }
}

#[test]
fn plans_that_cannot_be_followed_are_refused() {
    let abandon = |path: u8, at: &str| format!(r#"{{ at = "{at}", path = {path}, action = "abandon" }}"#);
    let later = r#"[{ down = ["down2"], up = ["back2"], start = "5 s" },
        { down = ["down2"], up = ["back2"], start = "4 s" }]"#;
    let late = r#"[{ down = ["down2"], up = ["back2"], start = "5 s" }]"#;
    let both = format!("[{}, {}]", abandon(0, "1 s"), abandon(1, "2 s"));
    let twice = format!("[{}, {}]", abandon(0, "1 s"), abandon(0, "2 s"));
    let early = format!("[{}]", abandon(0, "1 s"));
    let unknown = format!("[{}]", abandon(2, "1 s"));
    for (sets, named, said) in [
        (vec![("flows.f.path_changes", &*both)], "path_changes.1.action", "no path is left at \"2 s\""),
        (vec![("flows.f.path_changes", &*twice)], "path_changes.1.path", "path 0 is abandoned at \"1 s\""),
        (vec![("flows.f.path_changes", &*unknown)], "path_changes.0.path", "a path from 0 to 1"),
        (
            vec![("flows.f.paths", late), ("flows.f.path_changes", &*early)],
            "path_changes.0.action",
            "no path is left at \"1 s\"",
        ),
        (vec![("flows.f.paths", later)], "paths.1.start", "at least \"5 s\""),
        (
            vec![("flows.f.receiver.multipath", "{ initial_max_path_id = 0 }")],
            "receiver.multipath.initial_max_path_id",
            "at least 1",
        ),
        (
            vec![("flows.f.sender.multipath", r#"{ idle_timeout = "1 s", keep_alive = "1 s" }"#)],
            "sender.multipath.keep_alive",
            "less than `multipath.idle_timeout`",
        ),
        (
            vec![("flows.f.sender.quic", r#"{ connection_id = "0 B" }"#)],
            "quic.connection_id",
            "tells the path",
        ),
    ] {
        let error = refusal(&[&BOTH, &sets[..]].concat());
        assert!(error.contains(named) && error.contains(said), "{error}");
    }
}

/// A client that abandons paths because links go down behaves as one with the same `path_changes`.
#[test]
fn outages_that_cannot_be_reported_are_refused() {
    let refused = |sets: &[(&str, &str)]| {
        let reported = [("flows.f.abandon_when_down", "true")];
        let scenario =
            load(TWO_PATHS, &[&BOTH, &reported[..], sets].concat()).expect("it is valid by itself");
        let built = quiclab_sim::build(&scenario, 1, &native(std::path::Path::new(".")));
        built.err().expect("it is refused").to_string()
    };
    let down =
        r#"{ at_end = "hold", while_down = "lose", rows = [{ at = "0 s" }, { at = "2 s", up = false }] }"#;
    let error = refused(&[]);
    assert!(
        error.contains("flows.f.abandon_when_down") && error.contains("no link that its routes name"),
        "{error}"
    );
    let error = refused(&[("links.down1.conditions", down), ("links.down2.conditions", down)]);
    assert!(error.contains("abandon_when_down") && error.contains("no path is left at \"2 s\""), "{error}");
    let later = r#"[{ at = "3 s", path = 0, action = "backup" }]"#;
    let error = refused(&[("links.down1.conditions", down), ("flows.f.path_changes", later)]);
    assert!(error.contains("path_changes.0.path") && error.contains("is abandoned at \"2 s\""), "{error}");
}
