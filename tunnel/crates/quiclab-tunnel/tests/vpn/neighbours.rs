//! Other hosts without a key: on the network of an uplink, and on a network of a server. None of them reaches an address inside.

use super::lab::{Lab, until};
use super::{IPV4, SECOND};
use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};

/// Addresses inside of the server and of the client, in both families.
const OF_SERVER: [&str; 2] = ["10.77.0.1:99", "[fd77::1]:99"];
const OF_CLIENT: [&str; 2] = ["10.77.0.10:99", "[fd77::10]:99"];

/// Texts that have arrived at an end, each once.
type Heard = Arc<Mutex<BTreeSet<String>>>;

fn listen(lab: &Lab, host: char, addresses: [&'static str; 2]) -> Heard {
    let heard: Heard = Arc::default();
    for address in addresses {
        let (socket, heard) = (lab.socket(host, address), heard.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 64];
            while let Ok(size) = socket.recv(&mut buffer) {
                heard.lock().unwrap().insert(String::from_utf8_lossy(&buffer[..size]).into_owned());
            }
        });
    }
    heard
}

/// Sends a text with its sender and destination.
fn knock(lab: &Lab, host: char, from: &str, to: &'static str) {
    let any = if to.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
    let (from, text) = (if from.is_empty() { any } else { from }.to_owned(), format!("{host} {to}"));
    let task = move || UdpSocket::bind(from).unwrap().send_to(text.as_bytes(), to).unwrap();
    lab.within(host, task).join().unwrap();
}

/// A host `l` next to the server and a host `d` next to the client, both of which have routes to addresses
/// inside; both ends forward, and neither filters sources, as loose filters do not.
fn neighbourhood() -> Option<Lab> {
    let lab = Lab::new()?;
    for (host, to, device, network) in [('l', 's', "eth0", 5), ('d', 'c', "lan", 9)] {
        lab.add_host(host, to, device, network);
        lab.ip(host, &format!("route add 10.77.0.0/24 via 10.{network}.0.1"));
        lab.ip(host, &format!("-6 route add fd77::/64 via fd{network:02}::1"));
    }
    for host in ['s', 'c'] {
        lab.set_sysctl(host, "net/ipv4/ip_forward", "1");
        lab.set_sysctl(host, "net/ipv6/conf/all/forwarding", "1");
        lab.set_sysctl(host, "net/ipv4/conf/all/rp_filter", "0");
    }
    lab.edit(
        "server.toml",
        "name = \"laptop\"",
        "name = \"laptop\"\nipv4 = \"10.77.0.10\"\nipv6 = \"fd77::10\"",
    );
    Some(lab)
}

/// Sends all attempts of both neighbours; returns those that arrive before later packets of the ends themselves.
fn tried(lab: &Lab) -> BTreeSet<String> {
    let (at_server, at_client) = (listen(lab, 's', OF_SERVER), listen(lab, 'c', OF_CLIENT));
    for to in [OF_SERVER, OF_CLIENT].concat() {
        knock(lab, 'l', "", to);
        knock(lab, 'd', "", to);
    }
    // a packet with the client's own address, which a filter of sources for IPv6 does not know
    lab.ip('d', "addr add fd77::10/128 dev lo nodad");
    knock(lab, 'd', "[fd77::10]:0", OF_SERVER[1]);
    for (host, heard, to) in [('c', &at_server, OF_SERVER), ('s', &at_client, OF_CLIENT)] {
        for to in to {
            until("the ends reach each other", || {
                knock(lab, host, "", to);
                heard.lock().unwrap().contains(&format!("{host} {to}"))
            });
        }
    }
    let all = [at_server, at_client].map(|heard| heard.lock().unwrap().clone());
    all.into_iter().flatten().filter(|text| text.starts_with(['l', 'd'])).collect()
}

fn start(lab: &mut Lab) {
    lab.start_both();
    lab.echo('s', IPV4);
    until("an answer", || lab.ping(IPV4, SECOND).is_some());
    until("the addresses of IPv6", || {
        [('s', "[fd77::1]:0"), ('c', "[fd77::10]:0")].iter().all(|(host, address)| {
            lab.within(*host, move || UdpSocket::bind(*address).is_ok()).join().unwrap()
        })
    });
}

#[test]
fn neighbours_without_a_key_reach_no_address_inside() {
    let Some(mut lab) = neighbourhood() else { return };
    let tables = |lab: &Lab| ['s', 'c'].map(|host| lab.run(host, &["nft", "list", "tables"]));
    let before = tables(&lab);
    start(&mut lab);
    assert_eq!(tried(&lab), BTreeSet::new());
    lab.down('c');
    lab.down('s');
    assert_eq!(tables(&lab), before, "what `up` has set is gone");
}

#[test]
fn neighbours_on_an_interface_that_is_trusted_reach_them() {
    let Some(mut lab) = neighbourhood() else { return };
    lab.edit("server.toml", "version = 1", "version = 1\ntrusted_interfaces = [\"eth0\"]");
    lab.edit("client.toml", "version = 1", "version = 1\ntrusted_interfaces = [\"lan\"]");
    start(&mut lab);
    // the client itself drops packets into the tunnel from addresses that are not its own
    let expected = [('l', OF_SERVER), ('l', OF_CLIENT), ('d', OF_CLIENT)];
    let mut expected: BTreeSet<_> =
        expected.iter().flat_map(|(host, all)| all.map(|to| format!("{host} {to}"))).collect();
    // a trusted host may also forge
    expected.insert(format!("d {}", OF_SERVER[1]));
    assert_eq!(tried(&lab), expected);
}

#[test]
fn hosts_beside_a_server_answer_what_clients_ask() {
    let Some(mut lab) = neighbourhood() else { return };
    lab.edit("client.toml", "\"10.99.0.0/16\"", "\"10.5.0.0/16\", \"fd05::/64\"");
    start(&mut lab);
    for address in ["10.5.0.2:7", "[fd05::2]:7"] {
        lab.echo('l', address);
        until("an answer", || lab.ping(address, SECOND).is_some());
    }
}

/// Forwarding may be enabled by the administrator while the tunnel is up.
#[test]
fn hosts_beside_a_server_answer_where_forwarding_begins_later() {
    let Some(mut lab) = neighbourhood() else { return };
    let switches = ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"];
    lab.edit("server.toml", "forward = true", "forward = false");
    lab.edit("client.toml", "\"10.99.0.0/16\"", "\"10.5.0.0/16\", \"fd05::/64\"");
    switches.iter().for_each(|switch| lab.set_sysctl('s', switch, "0"));
    start(&mut lab);
    switches.iter().for_each(|switch| lab.set_sysctl('s', switch, "1"));
    for address in ["10.5.0.2:7", "[fd05::2]:7"] {
        lab.echo('l', address);
        until("an answer", || lab.ping(address, SECOND).is_some());
    }
}

/// Destinations that a server reaches by a more specific route, such as the networks of its own interfaces, are not part of
/// a network behind a client.
#[test]
fn a_wide_network_behind_a_client_leaves_those_of_interfaces_outside() {
    let Some(mut lab) = neighbourhood() else { return };
    const OUTSIDE: [&str; 2] = ["10.5.0.1:99", "[fd05::1]:99"];
    const FORGED: [&str; 2] = ["10.5.0.1:98", "[fd05::1]:98"];
    lab.set_sysctl('s', "net/ipv4/conf/eth0/rp_filter", "0");
    lab.ip('l', "addr add 10.20.0.9/32 dev lo");
    lab.ip('l', "addr add fd06::9/128 dev lo nodad");
    start(&mut lab);
    let (heard, forged) = (listen(&lab, 's', OUTSIDE), listen(&lab, 's', FORGED));
    // both uplinks are in it
    let networks = "name = \"laptop\"\nnetworks = [\"10.0.0.0/10\", \"fd00::/10\"]";
    lab.edit("server.toml", "name = \"laptop\"", networks);
    for again in [false, true] {
        if again {
            lab.down('s');
            lab.start('s');
        } else {
            assert_eq!(lab.reload('s').0, Some(0));
        }
        until("a session with the networks", || lab.has_session('s') && lab.paths_up() == 2);
        heard.lock().unwrap().clear();
        knock(&lab, 'l', "10.20.0.9:0", FORGED[0]);
        knock(&lab, 'l', "[fd06::9]:0", FORGED[1]);
        for to in OUTSIDE {
            until("the neighbour reaches the server", || {
                knock(&lab, 'l', "", to);
                heard.lock().unwrap().contains(&format!("l {to}"))
            });
        }
        assert_eq!(*forged.lock().unwrap(), BTreeSet::new());
    }
}

/// Networks behind clients are inside as well, also those added by a reload.
#[test]
fn neighbours_reach_no_network_behind_a_client() {
    let Some(mut lab) = neighbourhood() else { return };
    const BEHIND: [&str; 2] = ["10.88.0.1:99", "[fd88::1]:99"];
    for (address, family, network, number) in
        [("10.88.0.1/32", "-4", "10.88.0.0/16", 5), ("fd88::1/128", "-6", "fd88::/64", 5)]
    {
        lab.ip('c', &format!("addr add {address} dev lo nodad"));
        let gateway = if family == "-4" { format!("10.{number}.0.1") } else { format!("fd{number:02}::1") };
        lab.ip('l', &format!("{family} route add {network} via {gateway}"));
    }
    lab.edit("client.toml", "[client]", "[client]\nnetworks = [\"10.88.0.0/16\", \"fd88::/64\"]");
    start(&mut lab);
    lab.edit(
        "server.toml",
        "name = \"laptop\"",
        "name = \"laptop\"\nnetworks = [\"10.88.0.0/16\", \"fd88::/64\"]",
    );
    assert_eq!(lab.reload('s').0, Some(0));
    until("a session with the networks", || lab.is_open() && lab.paths_up() == 2);
    let heard = listen(&lab, 'c', BEHIND);
    BEHIND.into_iter().for_each(|to| knock(&lab, 'l', "", to));
    for to in BEHIND {
        let from = if to.starts_with('[') { "[fd77::1]:0" } else { "10.77.0.1:0" };
        until("the server reaches it", || {
            knock(&lab, 's', from, to);
            heard.lock().unwrap().contains(&format!("s {to}"))
        });
    }
    assert!(heard.lock().unwrap().iter().all(|text| text.starts_with('s')), "{heard:?}");
}

/// A server routes no more through the tunnel than the client permits.
#[test]
fn a_wide_network_of_the_server_needs_the_consent_of_the_client() {
    let Some(mut lab) = Lab::new() else { return };
    lab.edit("server.toml", "10.77.0.0/24", "8.0.0.0/8");
    lab.start('s');
    let before = lab.ip('c', "route show");
    lab.start('c');
    assert_eq!(lab.wait('c').code(), Some(1), "{}", lab.log("client"));
    assert!(
        lab.log("client").contains("the server assigns 8.0.0.0/8, which is no range"),
        "{}",
        lab.log("client")
    );
    assert_eq!(lab.ip('c', "route show"), before);
    lab.edit("client.toml", "\"10.99.0.0/16\"", "\"8.0.0.0/8\"");
    lab.start('c');
    until("a session", || lab.is_open());
}
