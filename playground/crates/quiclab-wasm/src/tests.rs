//! The interface, natively: answers equal those of the engine, and nothing that a host passes is trusted.

use crate::{MAX_BUFFERS, quiclab_allocate, quiclab_answer, quiclab_answer_length, quiclab_call};
use serde_json::{Value, json};

const SCENARIO: &str = r#"
version = 1
name = "test"
duration = "4 s"
links.down = { rate = "8 Mbit/s", delay = "10 ms", loss = 0.01, queue = { kind = "drop_tail", packets = 20 } }
links.up = { delay = "10 ms" }
flows.a = { stack = "lab-tcp", down = ["down"], up = ["up"], workload = { kind = "download", size = "1 MB" } }
record = { series_interval = "100 ms", packets = true }
"#;

/// Calls through the memory that the module gives out, as a host does.
#[expect(unsafe_code, reason = "a host writes into the module's memory")]
fn call(request: &str) -> Value {
    let address = quiclab_allocate(request.len());
    assert_ne!(address, 0);
    unsafe { std::ptr::copy_nonoverlapping(request.as_ptr(), address as *mut u8, request.len()) };
    answer(quiclab_call(address, request.len()))
}

#[expect(unsafe_code, reason = "a host reads the module's memory")]
fn answer(length: usize) -> Value {
    assert_eq!(length, quiclab_answer_length());
    let bytes = unsafe { std::slice::from_raw_parts(quiclab_answer() as *const u8, length) };
    serde_json::from_slice(bytes).expect("answers are JSON")
}

fn ok(request: &Value) -> Value {
    let answer = call(&request.to_string());
    assert!(answer.get("error").is_none(), "{answer}");
    answer["ok"].clone()
}

fn message(request: &Value) -> String {
    call(&request.to_string())["error"]["message"].as_str().expect("an error").to_owned()
}

fn start(text: &str) -> Value {
    json!({ "start": { "scenario": { "text": text, "format": "toml" }, "seed": 7 } })
}

/// Runs in parts of `part_ms`; returns result, and numbers of samples and packets.
fn run_in_parts(part_ms: u64) -> (Value, usize, usize) {
    let run = ok(&start(SCENARIO))["run"].clone();
    let (mut samples, mut packets) = (0, 0);
    for part in 1.. {
        let answer = ok(&json!({ "advance": { "run": run, "until_ns": part * part_ms * 1_000_000 } }));
        samples += answer["series"]["value"].as_array().expect("a column").len();
        packets += answer["packets"]["time_ns"].as_array().expect("a column").len();
        if !answer["ended_by"].is_null() {
            break;
        }
    }
    (ok(&json!({ "finish": { "run": run } })), samples, packets)
}

#[test]
fn parts_change_nothing() {
    let whole = run_in_parts(1_000_000);
    assert_eq!(whole.0["run"]["ended_by"], "workloads_done");
    assert_eq!(whole.0["flows"]["a"]["delivered_bytes"], 1_000_000);
    assert!(whole.1 > 0 && whole.2 > 0);
    assert_eq!(run_in_parts(30), whole);
}

#[test]
fn a_network_is_a_text_of_the_host() {
    let text = r#"
version = 1
name = "test"
network = "paths/own"
duration = "1 s"
flows.a = { stack = "lab-quic", down = ["down"], up = ["up"], workload = { kind = "download", duration = "1 s" } }
"#;
    let own = "description = \"own\"\nlinks.down.rate = \"1 Mbit/s\"\nlinks.up.rate = \"1 Mbit/s\"";
    let mut request = start(text);
    let absent = message(&request);
    assert!(absent.contains("paths/own"), "{absent}");
    request["start"]["scenario"]["networks"] = json!({ "paths/own": own });
    assert_eq!(ok(&request)["scenario"]["links"]["down"]["rate"], "1 Mbit/s");
}

#[test]
fn a_wrong_scenario_is_refused_with_its_place() {
    let answer = call(&start(&SCENARIO.replace("\"10 ms\"", "\"10 parsec\"")).to_string());
    assert_eq!(answer["error"]["path"], "links.down.delay");
    assert_eq!(answer["error"]["line"], 5);
}

#[test]
fn requests_are_checked() {
    for wrong in [json!({}), json!({ "launch": {} }), json!({ "catalogue": { "extra": 1 } }), json!(null)] {
        assert!(message(&wrong).starts_with("request: "), "{wrong}");
    }
    for request in ["finish", "discard"] {
        assert!(message(&json!({ request: { "run": 99 } })).contains("got 99"));
    }
    assert!(call("\u{0}")["error"]["message"].is_string());
}

#[test]
fn only_memory_given_out_is_read() {
    assert_eq!(quiclab_allocate(0), 0);
    assert_eq!(quiclab_allocate(usize::MAX), 0);
    let refused = |address, length| answer(quiclab_call(address, length))["error"]["message"].to_string();
    assert!(refused(0, 1).contains("quiclab_allocate"));
    let address = quiclab_allocate(8);
    assert!(refused(address + 1, 1).contains("quiclab_allocate"));
    assert!(refused(address, 9).contains("at most 8 B"));
    // taken by the first call that may read it
    assert!(refused(address, 8).starts_with("\"request: "));
    assert!(refused(address, 8).contains("quiclab_allocate"));
    let given: Vec<usize> = (0..=MAX_BUFFERS).map(|_| quiclab_allocate(1)).collect();
    assert_eq!(given.iter().filter(|address| **address == 0).count(), 1);
}

#[test]
fn runs_are_limited_and_a_discarded_one_makes_room() {
    let runs: Vec<Value> = (0..8).map(|_| ok(&start(SCENARIO))["run"].clone()).collect();
    assert!(message(&start(SCENARIO)).contains("at most 8"));
    ok(&json!({ "discard": { "run": runs[3] } }));
    ok(&start(SCENARIO));
}

#[test]
fn toml_runs_again_with_the_same_digest() {
    let toml = ok(&json!({ "toml": { "text": SCENARIO, "format": "toml" } }));
    let digest = |text: &str| {
        let run = ok(&start(text))["run"].clone();
        ok(&json!({ "advance": { "run": run, "until_ns": 4_000_000_000_u64 } }));
        ok(&json!({ "finish": { "run": run } }))["digest"].clone()
    };
    assert_eq!(digest(toml.as_str().expect("text")), digest(SCENARIO));
}

#[test]
fn the_catalogue_names_what_scenarios_use() {
    let catalogue = ok(&json!({ "catalogue": {} }));
    let stacks: Vec<_> = catalogue["stacks"].as_array().expect("a list").iter().collect();
    assert!(stacks.iter().any(|stack| stack["name"] == "lab-tcp"));
    assert!(catalogue["schema"]["properties"]["links"].is_object());
}
