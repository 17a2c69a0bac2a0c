//! Links behave as in the scenario with every emulation: measured from packets that pass them.

mod common;

use common::{Directory, impossible, job, program, run};
use serde_json::{Value, json};

/// Fifteen bursts of 200 datagrams, of which 60 fit in the queue; it is empty before the next burst.
const BURSTS: &str = "import socket, sys, time
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(15):
    for _ in range(200):
        end.sendto(bytes(1000), (sys.argv[1], 9))
    time.sleep(0.1)";

/// Measured values of the link `up` of 10 Mbit/s with 60 places.
fn achieved(emulation: &str, delay: Option<&str>) -> Value {
    let mut job = job(program(&["sleep", "1000"]), program(&["python3", "-c", BURSTS, "{server_address}"]));
    job["emulation"] = json!(emulation);
    let queue = json!({ "kind": "drop_tail", "packets": 60 });
    job["scenario"]["links"] = json!({ "down": {}, "up": { "rate": "10 Mbit/s", "queue": queue } });
    if let Some(delay) = delay {
        job["scenario"]["links"]["up"]["delay"] = json!(delay);
    }
    let directory = Directory::with(&job);
    let done = run(&directory.0);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let result = directory.result();
    assert_eq!(result["run"]["emulation"], emulation);
    let dropped = result["elements"]["up"]["dropped"]["packets"].as_u64().unwrap();
    let sent = result["elements"]["up"]["sent"]["packets"].as_u64().unwrap();
    assert!(dropped > 0 && sent > 500, "{dropped} dropped, {sent} sent");
    result["run"]["kernel"]["links"]["up"]["achieved"].clone()
}

/// Within the tolerances of the check itself, with a margin for a shared machine.
fn assert_near(achieved: &Value, figure: &str, wanted: f64, tolerance: f64) {
    let value = achieved[figure].as_f64().unwrap_or_else(|| panic!("{figure}: {achieved}"));
    assert!((value - wanted).abs() <= tolerance, "{figure} is {value} instead of {wanted}");
}

#[test]
fn elements_have_their_rate_delay_and_places() {
    if impossible() {
        return;
    }
    let achieved = achieved("engine", Some("15 ms"));
    assert_near(&achieved, "rate_mbps", 10.0, 0.5);
    assert_near(&achieved, "queue_packets", 60.0, 0.0);
    assert_near(&achieved, "delay_ms", 15.0, 3.0);
}

/// Without delay every kernel can do it: with netem if available, otherwise with tbf.
#[test]
fn queueing_disciplines_have_their_rate_and_places() {
    if impossible() {
        return;
    }
    let achieved = achieved("netem", None);
    assert_near(&achieved, "rate_mbps", 10.0, 0.5);
    assert_near(&achieved, "queue_packets", 60.0, 3.0);
}
