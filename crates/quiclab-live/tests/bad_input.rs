//! Errors are reported in one sentence.

mod common;

use common::{Directory, PROGRAM, impossible, job, program, run};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

fn sentence(done: &Output) -> String {
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(said.lines().count(), 1, "{said}");
    said.trim().strip_prefix("quiclab-live: ").unwrap_or_else(|| panic!("{said}")).to_owned()
}

fn refused(job: &Value) -> String {
    sentence(&run(&Directory::with(job).0))
}

fn quiet() -> Value {
    program(&["sleep", "1000"])
}

#[test]
fn a_job_that_is_none() {
    let missing = sentence(&run(Path::new("/nonexistent")));
    assert!(missing.starts_with("cannot read the job /nonexistent/job.json: No such file"), "{missing}");
    let directory = Directory::new();
    std::fs::write(directory.0.join("job.json"), "{").unwrap();
    assert!(sentence(&run(&directory.0)).contains("job.json is not valid: EOF while parsing"));
    let mut other = job(quiet(), quiet());
    other["schema"] = json!("quiclab.job/9");
    assert!(refused(&other).ends_with("schema: expected \"quiclab.job/1\", got \"quiclab.job/9\""));
    let mut unknown = job(quiet(), quiet());
    unknown["colour"] = json!("red");
    assert!(refused(&unknown).contains("unknown field `colour`"));
}

#[test]
fn a_scenario_that_is_none_and_a_flow_that_is_not_in_it() {
    if impossible() {
        return;
    }
    let mut wrong = job(quiet(), quiet());
    wrong["scenario"]["links"]["down"]["rate"] = json!("fast");
    let said = refused(&wrong);
    assert!(said.starts_with("the job's scenario: ") && said.contains("links.down.rate"), "{said}");
    let mut other = job(quiet(), quiet());
    other["flows"]["second"] = json!({ "server": null, "client": quiet() });
    assert_eq!(refused(&other), "the job's flows.second: the scenario has no such flow");
}

#[test]
fn a_machine_without_what_is_needed() {
    if impossible() {
        return;
    }
    let directory = Directory::with(&job(quiet(), quiet()));
    let run = |command: &mut Command| sentence(&command.output().unwrap());
    let no_ip = run(Command::new(PROGRAM).arg("run").arg(&directory.0).env("PATH", "/nonexistent"));
    assert_eq!(
        no_ip,
        "the host of `main.sender` cannot be set up: the program `ip` is missing; install iproute2"
    );
    // read-only, because a privileged process would create the missing node
    let hidden = "mount -o ro -t tmpfs none /dev/net && exec \"$@\"";
    let no_tun = run(Command::new("unshare")
        .args(["--mount", "sh", "-c", hidden, "sh", PROGRAM, "run"])
        .arg(&directory.0));
    assert!(no_tun.contains("/dev/net/tun is missing: load the kernel module `tun`"), "{no_tun}");
    if Command::new("setpriv").arg("--version").output().is_ok() {
        let powerless = ["--bounding-set=-all", "--inh-caps=-all", PROGRAM, "run"];
        let said = run(Command::new("setpriv").args(powerless).arg(&directory.0));
        assert!(said.starts_with("no namespaces (Operation not permitted"), "{said}");
        assert!(said.contains("run as root"), "{said}");
    }
}

#[test]
fn a_server_that_does_not_come_up() {
    if impossible() {
        return;
    }
    let server = |command: &[&str], ready: Value| {
        let mut server = program(command);
        server["ready"] = ready;
        server["ready_timeout"] = json!("200 ms");
        refused(&job(server, quiet()))
    };
    let port = json!({ "kind": "port", "protocol": "tcp", "port": 5201 });
    let none = server(&["quiclab-no-such-program"], json!({ "kind": "started" }));
    assert!(
        none.starts_with("main.sender: `quiclab-no-such-program` cannot be started: No such file"),
        "{none}"
    );
    assert!(server(&[], json!({ "kind": "started" })).contains("the command is empty"));
    let taken = server(&["sh", "-c", "echo port 5201 is in use >&2; exit 3"], port.clone());
    assert!(
        taken.contains("ended (exit status: 3) before it was ready; its last words: port 5201 is in use"),
        "{taken}"
    );
    let hangs = server(&["sleep", "1000"], port);
    assert_eq!(
        hangs,
        "main.sender: `sleep 1000` was not ready after 200 ms: nothing is bound to TCP port 5201; it said nothing"
    );
    let silent = server(&["sleep", "1000"], json!({ "kind": "output", "text": "listening" }));
    assert!(silent.ends_with("it has not printed `listening`; it said nothing"), "{silent}");
}

#[test]
fn programs_that_fail_are_results() {
    if impossible() {
        return;
    }
    let failure = |server: Value, client: Value| {
        let mut job = job(server, client);
        job["scenario"]["duration"] = json!("5 s");
        let directory = Directory::with(&job);
        let done = run(&directory.0);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let result = directory.result();
        assert!(result["flows"]["main"]["failed"] == true, "{result}");
        result["flows"]["main"]["failure"].as_str().unwrap().to_owned()
    };
    let client = failure(quiet(), program(&["sh", "-c", "echo no route >&2; exit 7"]));
    assert!(client.contains("ended with exit code 7; its last words: no route"), "{client}");
    let server = failure(program(&["sh", "-c", "echo out of memory; exit 9"]), quiet());
    assert!(server.contains("ended with exit code 9; its last words: out of memory"), "{server}");
    // a client that hangs is stopped with the duration, which is not a failure
    let mut hangs = job(quiet(), quiet());
    hangs["scenario"]["duration"] = json!("300 ms");
    let directory = Directory::with(&hangs);
    assert!(run(&directory.0).status.success());
    let result = directory.result();
    assert_eq!(result["run"]["ended_by"], "duration_over");
    assert_eq!(result["warnings"], json!(["flow `main` was not done when the duration was over"]));
}
