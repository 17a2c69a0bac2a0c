//! Several clients at one server.

use super::lab::{CLIENTS, Lab, PROGRAM, end, succeed, until};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

/// Rates of the links of the first five, in Mbit/s.
const RATES: [u32; 5] = [4, 6, 8, 10, 12];
/// Minimum share of a link's rate that is inner TCP payload: 1348 of 1400 bytes, which are 1490 on the link; minus the slow
/// start and acknowledgements of the other direction. Of the rest, as much again may be lost to drops.
pub(super) const MIN_SHARE: f64 = 0.7;

/// Adds as many of the hosts [`CLIENTS`] as there are rates, each with a key of its own that the server knows by the host's
/// letter, and with an uplink of its own that carries its rate in each direction.
pub(super) fn add_clients(lab: &Lab, rates: &[u32]) {
    let mut peers = String::new();
    for ((number, host), rate) in (10..).zip(CLIENTS).zip(rates) {
        let device = format!("s{host}");
        lab.add_host(host, 's', &device, number);
        for (host, device) in [(host, "eth0"), ('s', device.as_str())] {
            // the maximum burst of the carrier, and 50 ms
            let limit = format!("tbf rate {rate}mbit burst 64kb latency 50ms");
            let name = lab.host(host);
            let add = ["-n", &name, "qdisc", "add", "dev", device, "root"];
            succeed("tc", &[&add[..], &limit.split(' ').collect::<Vec<_>>()].concat());
        }
        let key = lab.directory.join(format!("{}.key", end(host)));
        let public = succeed(PROGRAM, &["keygen", key.to_str().unwrap()]);
        peers += &format!("[[server.peers]]\nname = \"{host}\"\npublic_key = \"{}\"\n", public.trim());
        let text = format!(
            "version = 1\nkey_file = \"{end}.key\"\ninterface = \"{device}\"\nuser = \"nobody\"\n[client]\nserver_key = \"{}\"\n[[client.paths]]\nname = \"line\"\ninterface = \"eth0\"\nserver = \"10.{number}.0.1:4433\"\n",
            lab.keys[0],
            end = end(host),
            device = lab.device(host),
        );
        std::fs::write(lab.directory.join(format!("{}.toml", end(host))), text).unwrap();
    }
    let server = lab.directory.join("server.toml");
    let text = std::fs::read_to_string(&server).unwrap();
    std::fs::write(server, text + &peers).unwrap();
}

/// The server's view of each client: seconds of its clock, and bytes received.
fn received(status: &Value) -> (f64, BTreeMap<String, f64>) {
    let sessions = status["sessions"].as_array().unwrap();
    let bytes = sessions.iter().map(|session| {
        let paths = session["paths"].as_array().unwrap();
        let sum = paths.iter().map(|path| path["received_bytes"].as_f64().unwrap()).sum();
        (session["name"].as_str().unwrap().to_owned(), sum)
    });
    (status["uptime_seconds"].as_f64().unwrap(), bytes.collect())
}

/// Whether a datagram from one host to an address inside is answered.
fn answers(lab: &Lab, from: char, to: String) -> bool {
    let task = move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let mut buffer = [0; 16];
        socket.send_to(b"hello", to).is_ok() && socket.recv_from(&mut buffer).is_ok()
    };
    lab.within(from, task).join().unwrap()
}

#[test]
fn five_clients_have_their_own_addresses_and_the_rates_of_their_lines() {
    let Some(mut lab) = Lab::new() else { return };
    let (clients, _) = CLIENTS.split_first_chunk::<5>().unwrap();
    add_clients(&lab, &RATES);
    lab.start('s');
    clients.iter().for_each(|host| lab.start(*host));
    for host in *clients {
        until("a session", || lab.has_session(host));
    }
    let status = lab.status('s');
    let sessions = status["sessions"].as_array().unwrap();
    let addresses: BTreeSet<_> = sessions.iter().map(|session| session["addresses"].to_string()).collect();
    let keys: BTreeSet<_> = sessions.iter().map(|session| session["public_key"].to_string()).collect();
    assert_eq!((sessions.len(), addresses.len(), keys.len()), (5, 5, 5), "{addresses:?} {keys:?}");
    // all upload at once
    let listener = lab.listener('s', "10.77.0.1:9");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
            });
        }
    });
    for host in clients {
        drop(lab.within(*host, || {
            let mut stream = TcpStream::connect("10.77.0.1:9").unwrap();
            while stream.write_all(&[7; 1 << 16]).is_ok() {}
        }));
    }
    // bytes of one second of its link each, so that slow start is over
    let done = |from: &BTreeMap<String, f64>, seconds: f64, now: &BTreeMap<String, f64>| {
        let lines = clients.iter().zip(RATES);
        lines.into_iter().all(|(host, rate)| {
            let host = host.to_string();
            now[&host] - from[&host] > seconds * f64::from(rate) * 1e6 / 8.0 * MIN_SHARE
        })
    };
    let (_, start) = received(&status);
    until("all have begun", || done(&start, 1.0, &received(&lab.status('s')).1));
    let (began, before) = received(&lab.status('s'));
    until("three seconds' worth of each line", || done(&before, 3.0, &received(&lab.status('s')).1));
    let (ended, after) = received(&lab.status('s'));
    for (host, line) in clients.iter().map(ToString::to_string).zip(RATES) {
        let rate = (after[&host] - before[&host]) * 8e-6 / (ended - began);
        eprintln!("client {host} on {line} Mbit/s: {rate:.1} Mbit/s inside");
        // each has its share; the rate also depends on the machine, and does not exceed that of its link
        assert!(rate / f64::from(line) < 1.02, "{host}: {rate} of {line}");
    }
}

#[test]
fn clients_reach_each_other_unless_they_are_isolated() {
    let Some(mut lab) = Lab::new() else { return };
    add_clients(&lab, &[100; 2]);
    lab.start('s');
    let [near, far] = ['e', 'f'];
    [near, far].into_iter().for_each(|host| lab.start(host));
    let address = |host: char| {
        until("a session", || lab.has_session(host));
        let status = lab.status(host);
        format!("{}:7", status["sessions"][0]["addresses"][0].as_str().unwrap())
    };
    let [_, to] = [near, far].map(address);
    lab.echo(far, to.clone());
    lab.echo('s', "10.77.0.1:7");
    let server = || "10.77.0.1:7".to_owned();
    until("an answer of the server", || answers(&lab, near, server()));
    // `forward` is set in the laboratory
    until("an answer of the other client", || answers(&lab, near, to.clone()));
    lab.edit("server.toml", "forward = true", "forward = true\nisolate_clients = true");
    let (code, said) = lab.reload('s');
    assert_eq!((code, said.as_str()), (Some(0), "configuration reloaded: 3 peers, 0 sessions closed\n"));
    assert!(!answers(&lab, near, to.clone()), "the other client");
    assert!(answers(&lab, near, server()));
    let dropped = lab.status('s')["values"]["isolated_packets_total"].as_f64().unwrap();
    assert!(dropped >= 1.0, "{dropped}");
    assert!(lab.metrics().contains(&format!("\nquiclab_tunnel_isolated_packets_total {dropped}\n")));
    lab.edit("server.toml", "isolate_clients = true", "isolate_clients = false");
    assert_eq!(lab.reload('s').0, Some(0));
    assert!(answers(&lab, near, to));
}
