//! The configuration of a router in tunnel/docs/router.md: hosts behind a client reach the Internet beyond the server.

use super::SECOND;
use super::lab::{Lab, until};
use std::net::UdpSocket;

const PAGE: &str = include_str!("../../../../docs/router.md");

/// Line of the page that begins with a name and `=`, without its comment and with names of the lab.
fn line(name: &str) -> String {
    let mut lines = PAGE.lines().filter(|line| line.starts_with(&format!("{name} = ")));
    let line = lines.next().unwrap_or_else(|| panic!("the page has no {name}"));
    let line = line.split('#').next().unwrap().trim_end();
    line.replace("lan0", "lan").replace("192.168.5.0/24", "10.9.0.0/24").replace("fd88::/64", "fd09::/64")
}

/// Starts an echo at a host of the Internet, which returns the source address of requests.
fn tell(lab: &Lab, address: &'static str) {
    let socket = lab.socket('l', address);
    std::thread::spawn(move || {
        while let Ok((_, from)) = socket.recv_from(&mut [0; 8]) {
            let _ = socket.send_to(from.ip().to_string().as_bytes(), from);
        }
    });
}

/// Answer of an echo to a host of the router's network.
fn told(lab: &Lab, address: &'static str) -> Option<String> {
    let task = move || {
        let socket = UdpSocket::bind(if address.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" }).unwrap();
        socket.set_read_timeout(Some(SECOND / 5)).unwrap();
        socket.send_to(b"who?", address).ok()?;
        let mut buffer = [0; 64];
        let size = socket.recv(&mut buffer).ok()?;
        Some(String::from_utf8_lossy(&buffer[..size]).into_owned())
    };
    lab.within('d', task).join().unwrap()
}

#[test]
fn hosts_behind_a_router_reach_the_internet_through_the_tunnel() {
    let Some(mut lab) = Lab::new() else { return };
    // the Internet beyond the server, which has no route back, and a host behind the router
    lab.add_host('l', 's', "eth0", 5);
    lab.add_host('d', 'c', "lan", 9);
    lab.ip('d', "route add default via 10.9.0.1");
    lab.ip('d', "-6 route add default via fd09::1");
    let (_, forwarding) = PAGE.split_once("\nsysctl -w ").expect("the page has the command");
    let settings: Vec<_> = forwarding.lines().next().unwrap().split(' ').collect();
    assert_eq!(lab.run('c', &[&["sysctl", "-q", "-w"][..], &settings].concat()).0, Some(0));
    lab.edit("client.toml", "version = 1", &format!("version = 1\n{}", line("trusted_interfaces")));
    lab.edit("client.toml", "[client]", &format!("[client]\n{}", line("networks")));
    // the routes of the page, except for the lab's other networks
    lab.edit("client.toml", "\"10.99.0.0/16\"", "\"10.5.0.0/16\", \"fd05::/64\"");
    lab.edit("server.toml", "forward = true", "forward = true\nmasquerade = true");
    lab.start_both();
    // networks added by a reload are also translated
    lab.edit("server.toml", "name = \"laptop\"", &format!("name = \"laptop\"\n{}", line("networks")));
    assert_eq!(lab.reload('s').0, Some(0));
    for (address, seen) in [("10.5.0.2:9", "10.5.0.1"), ("[fd05::2]:9", "fd05::1")] {
        tell(&lab, address);
        until("an answer from outside", || told(&lab, address).is_some_and(|told| told == seen));
    }
    // and addresses inside
    lab.echo('s', "10.77.0.1:7");
    until("an answer from the server", || told(&lab, "10.77.0.1:7").is_some());
}
