//! Paths that carry less than their configured MTU: a router between the ends drops longer packets, and reports to the
//! sender, or does so silently.

use super::lab::{Lab, PROGRAM, succeed, until};
use super::{SECOND, flow, more};
use crate::faults::one_path;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Bytes of a transfer, in each direction.
const TRANSFER: usize = 5_000_000;
/// Maximum time of a transfer: the networks are as fast as the processors, a longer one waits for timeouts.
const LONGEST: Duration = Duration::from_secs(15);

/// A path in the status of an end.
fn path(lab: &Lab, host: char, index: usize) -> Value {
    lab.status(host)["sessions"][0]["paths"][index].clone()
}

/// Waits until these ends know the MTU of the path within the step of the search; returns the elapsed time.
fn until_found(lab: &Lab, hosts: &[char], index: usize, mtu: u64) -> Duration {
    let took = until(&format!("an MTU of {mtu}"), || {
        hosts.iter().all(|host| {
            let path = path(lab, *host, index);
            let found = path["mtu_bytes"].as_u64().unwrap_or_default();
            // the last step of the search is shorter than 8 bytes
            path["mtu_search"] == "complete" && (mtu - 8..=mtu).contains(&found)
        })
    });
    assert!(took < LONGEST, "an MTU of {mtu} is found in {took:?}");
    took
}

/// Sends bytes through the tunnel and waits until they are echoed.
pub fn transfer(lab: &Lab, address: &'static str) -> Duration {
    let listener = lab.listener('s', address);
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(LONGEST)).unwrap();
        let mut bytes = vec![0; TRANSFER];
        stream.read_exact(&mut bytes).unwrap();
        stream.write_all(&bytes).unwrap();
    });
    let client = lab.within('c', move || {
        let to: SocketAddr = address.parse().unwrap();
        let start = Instant::now();
        let mut stream = TcpStream::connect_timeout(&to, LONGEST).unwrap();
        stream.set_read_timeout(Some(LONGEST)).unwrap();
        let mut bytes: Vec<u8> = (0..TRANSFER).map(|byte| (byte % 251) as u8).collect();
        stream.write_all(&bytes).unwrap();
        bytes.fill(0);
        stream.read_exact(&mut bytes).unwrap();
        assert!(bytes.iter().enumerate().all(|(at, byte)| *byte == (at % 251) as u8));
        start.elapsed()
    });
    let took = client.join().unwrap();
    server.join().unwrap();
    took
}

/// Checks TCP of both families from the start on, over one path that carries `mtu` bytes.
fn carries_tcp(mtu: u16, icmp: bool, outside: &str) {
    let Some(mut lab) = Lab::new() else { return };
    lab.route(icmp);
    lab.limit(mtu);
    lab.edit("client.toml", "10.4.3.1:4433", outside);
    lab.edit(
        "server.toml",
        "0.0.0.0:4433",
        &outside.replace("fd04:3::1", "::").replace("10.4.3.1", "0.0.0.0"),
    );
    one_path(&lab);
    lab.start('s');
    lab.start('c');
    until("session", || lab.is_open() && lab.paths_up() == 1);
    for address in ["10.77.0.1:11", "[fd77::1]:11"] {
        let took = transfer(&lab, address);
        eprintln!("MTU {mtu}, ICMP {icmp}: {TRANSFER} bytes to {address} and back in {took:?}");
        assert!(took < LONGEST, "{took:?}");
    }
    let took = until_found(&lab, &['c', 's'], 0, mtu.into());
    eprintln!("MTU {mtu} known {took:?} later: {}", path(&lab, 'c', 0));
    let table = succeed(PROGRAM, &["status", "--interface", &lab.device('c')]);
    let found = path(&lab, 'c', 0)["mtu_bytes"].to_string();
    let line = table.lines().find(|line| line.contains("dsl")).unwrap_or_default();
    assert!(line.contains(&found) && line.contains("complete"), "{table}");
}

#[test]
fn a_path_that_carries_1400_bytes_and_tells_nobody() {
    carries_tcp(1400, false, "10.4.3.1:4433");
}

#[test]
fn a_path_that_carries_1400_bytes_and_tells_the_sender() {
    carries_tcp(1400, true, "10.4.3.1:4433");
}

#[test]
fn a_path_that_carries_the_least_that_is_possible() {
    carries_tcp(1280, false, "10.4.3.1:4433");
}

#[test]
fn a_path_of_ipv6_that_carries_1400_bytes() {
    carries_tcp(1400, false, "[fd04:3::1]:4433");
}

/// Checks a flow over paths of which the first carries less from some time on.
fn shrinks_under_load(icmp: bool, paths: usize) {
    let Some(mut lab) = Lab::new() else { return };
    lab.route(icmp);
    if paths == 1 {
        one_path(&lab);
    }
    lab.start('s');
    lab.start('c');
    until("session", || lab.is_open() && lab.paths_up() == paths);
    until_found(&lab, &['c', 's'], 0, 1500);
    let (arrived, stop) = flow(&lab);
    more(&arrived, 5_000_000, "load");
    lab.limit(1300);
    let start = Instant::now();
    // more than the bytes in transit, which still arrive
    let took = more(&arrived, 8_000_000, "throughput after the change");
    assert!(took < LONGEST, "ICMP {icmp}, {paths} paths: 8 MB in {took:?} after the change");
    let took = until_found(&lab, &['c'], 0, 1300);
    eprintln!("known {took:?} later, {:?} after the change", start.elapsed());
    let took = more(&arrived, 2_000_000, "throughput with the new MTU");
    assert!(took < LONGEST, "then 2 MB in {took:?}; {}", lab.status('c')["sessions"][0]["values"]);
    if paths == 2 {
        let took = until_found(&lab, &['c', 's'], 1, 1500);
        assert!(took < SECOND, "the other path's is as before: {took:?}");
    }
    stop.store(true, Ordering::Relaxed);
    if paths == 1 {
        // the server has sent no long packets, and has no reason to: the client has clamped its segments
        let took = transfer(&lab, "10.77.0.1:11");
        eprintln!("{TRANSFER} bytes and back in {took:?}");
    }
    // a busy machine may consider a path dead for a moment; in virtual time none is (`quiclab-stacks/tests/carrier/mtu.rs`)
    until("paths", || lab.paths_up() == paths);
}

#[test]
fn a_path_shrinks_under_load_and_tells_nobody() {
    shrinks_under_load(false, 1);
}

#[test]
fn a_path_shrinks_under_load_and_tells_the_sender() {
    shrinks_under_load(true, 1);
}

#[test]
fn one_of_two_paths_shrinks_under_load() {
    shrinks_under_load(false, 2);
}

#[test]
fn the_device_of_a_path_shrinks_under_load() {
    let Some(mut lab) = Lab::new() else { return };
    one_path(&lab);
    lab.start('s');
    lab.start('c');
    until("session", || lab.is_open() && lab.paths_up() == 1);
    until_found(&lab, &['c'], 0, 1500);
    let (arrived, stop) = flow(&lab);
    more(&arrived, 5_000_000, "load");
    // the kernel refuses longer datagrams, several at a time
    lab.ip('c', "link set c1 mtu 1300");
    until_found(&lab, &['c'], 0, 1300);
    let took = more(&arrived, 2_000_000, "throughput with the new MTU");
    assert!(took < LONGEST, "2 MB in {took:?}; {}", lab.status('c')["values"]);
    stop.store(true, Ordering::Relaxed);
    assert_eq!(lab.paths_up(), 1);
}
