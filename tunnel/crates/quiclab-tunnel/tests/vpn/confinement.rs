//! Privileges of the program after setup, and cleanup after a kill.

use super::lab::{Lab, until};
use std::path::Path;

#[test]
fn both_ends_filter_their_system_calls() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start_both();
    for host in ['c', 's'] {
        let process = std::fs::read_to_string(format!("/proc/{}/status", lab.pid(host))).unwrap();
        // 2: a filter (proc_pid_status(5))
        assert!(process.contains("Seccomp:\t2\n") && process.contains("NoNewPrivs:\t1\n"), "{process}");
    }
}

#[test]
fn the_next_start_undoes_what_a_killed_server_has_left() {
    let Some(mut lab) = Lab::new() else { return };
    let names = ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"];
    let values = |lab: &Lab| names.map(|name| lab.sysctl('s', name));
    let before = values(&lab);
    let directory = Path::new("/run/quiclab-tunnel").join(lab.device('s'));
    for _ in 0..2 {
        lab.start('s');
        until("the server is up", || lab.status('s')["role"] == "server");
        assert_eq!(values(&lab), ["1", "1"]);
        lab.kill('s');
        assert!(directory.exists());
    }
    // without forwarding: a setting that is undone is not set again
    lab.edit("server.toml", "forward = true", "forward = false");
    lab.start('s');
    until("the server is up", || lab.status('s')["role"] == "server");
    assert_eq!(values(&lab), before);
    assert!(lab.log("server").contains("undone what an earlier process has left"));
    lab.down('s');
    assert!(!directory.exists());
    assert_eq!(values(&lab), before);
}
