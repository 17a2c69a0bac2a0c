//! Flows on several paths that cannot run are refused by name.

use super::common::*;

fn refusal(sets: &[(&str, &str)]) -> String {
    load(TWO_PATHS, sets).expect_err("it is refused").to_string()
}

#[test]
fn stacks_with_one_path_are_refused_by_name() {
    let allowed =
        "expected no further paths, or the stack `lab-quic` with `quic.version = \"v1\"` at both ends";
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
