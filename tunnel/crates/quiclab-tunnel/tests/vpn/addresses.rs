//! Inner addresses of the client that change during a session, because the server assigns others.

use super::lab::{Lab, until};
use super::leaks::give_default_routes;
use super::sniffer::Sniffer;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Destinations of both families, of the client's routes.
const OF_ROUTES: [&str; 2] = ["10.99.1.1:5353", "[fd99::1]:5353"];
/// Destinations in its networks.
const OF_NETWORKS: [&str; 2] = ["10.77.0.200:5353", "[fd77::200]:5353"];

/// Sends datagrams to all of these continuously, until it is stopped.
fn send_to_all(
    lab: &Lab,
    stop: &Arc<AtomicBool>,
    destinations: Vec<&'static str>,
) -> std::thread::JoinHandle<u64> {
    let stop = stop.clone();
    lab.within('c', move || {
        let (ipv4, ipv6) = (UdpSocket::bind("0.0.0.0:0").unwrap(), UdpSocket::bind("[::]:0").unwrap());
        let mut sent = 0;
        while !stop.load(Ordering::Relaxed) {
            for to in &destinations {
                let socket = if to.starts_with('[') { &ipv6 } else { &ipv4 };
                // an error means an unreachable destination or a full queue
                sent += u64::from(socket.send_to(b"secret", to).is_ok());
            }
        }
        sent
    })
}

/// Counts its arrivals at the server, which has the first of these addresses.
fn count_arrivals(lab: &Lab) -> Arc<AtomicU64> {
    lab.ip('s', "addr add 10.99.1.1/32 dev lo");
    let (socket, arrived) = (lab.socket('s', OF_ROUTES[0]), Arc::new(AtomicU64::new(0)));
    let counter = arrived.clone();
    std::thread::spawn(move || {
        while socket.recv(&mut [0; 8]).is_ok() {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    arrived
}

fn addresses(lab: &Lab) -> String {
    lab.ip('c', &format!("addr show dev {}", lab.device('c')))
}

/// A client with default routes outside the tunnel, and routes of both families through it. Without a kill
/// switch, only these keep packets inside.
fn lab() -> Option<Lab> {
    let mut lab = Lab::new()?;
    give_default_routes(&lab);
    lab.edit("client.toml", "\"10.99.0.0/16\"", "\"10.99.0.0/16\", \"fd99::/64\"");
    lab.edit(
        "server.toml",
        "name = \"laptop\"",
        "name = \"laptop\"\nipv4 = \"10.77.0.10\"\nipv6 = \"fd77::10\"",
    );
    lab.start_both();
    Some(lab)
}

#[test]
fn nothing_leaves_in_clear_while_addresses_change() {
    let Some(mut lab) = lab() else { return };
    let (stop, sniffer) = (Arc::default(), Sniffer::start(&lab));
    let arrived = count_arrivals(&lab);
    let sender = send_to_all(&lab, &stop, [OF_ROUTES, OF_NETWORKS].concat());
    let goes_on = || {
        let before = arrived.load(Ordering::Relaxed);
        until("what is sent arrives", || arrived.load(Ordering::Relaxed) > before);
    };
    // other hosts of the same networks
    for number in 11..19 {
        for of in ["10.77.0.", "fd77::"] {
            lab.edit("server.toml", &format!("{of}{}\"", number - 1), &format!("{of}{number}\""));
        }
        assert_eq!(lab.reload('s').0, Some(0));
        until("the next address", || {
            let found = addresses(&lab);
            found.contains(&format!("10.77.0.{number}/24")) && found.contains(&format!("fd77::{number}/64"))
        });
        goes_on();
    }
    // the same hosts of larger and of smaller networks
    for (before, after, address) in [
        ("10.77.0.0/24", "10.77.0.0/16", "10.77.0.18/16"),
        ("10.77.0.0/16", "10.77.0.0/24", "10.77.0.18/24"),
        ("fd77::/64", "fd77::/56", "fd77::18/56"),
        ("fd77::/56", "fd77::/64", "fd77::18/64"),
    ] {
        lab.kill('s');
        lab.edit("server.toml", before, after);
        lab.start('s');
        until("the other network", || addresses(&lab).contains(address));
        goes_on();
    }
    stop.store(true, Ordering::Relaxed);
    let sent = sender.join().unwrap();
    sniffer.settle(&lab);
    assert!(sniffer.leaked().is_empty(), "of {sent} datagrams: {:?}", sniffer.leaked());
    // one address of each family, and two routes: to its network, and that of the client
    let found = addresses(&lab);
    assert!(found.contains("inet 10.77.0.18/24") && found.contains("inet6 fd77::18/64"), "{found}");
    assert_eq!((found.matches("inet ").count(), found.matches("scope global").count()), (1, 2), "{found}");
    let device = lab.device('c');
    for family in ["-4", "-6"] {
        let routes = lab.ip('c', &format!("{family} route show dev {device}"));
        let own = routes.lines().filter(|route| !route.starts_with("fe80:"));
        assert_eq!(own.count(), 2, "{routes}");
    }
}

#[test]
fn nothing_leaves_in_clear_while_a_family_comes_and_goes() {
    let Some(mut lab) = lab() else { return };
    let routes = |lab: &Lab| (lab.ip('c', "route show"), lab.ip('c', "-6 route show"));
    let (stop, sniffer) = (Arc::default(), Sniffer::start(&lab));
    let arrived = count_arrivals(&lab);
    let sender = send_to_all(&lab, &stop, OF_ROUTES.to_vec());
    // without IPv4; without IPv6; without IPv6 because the MTU is too small for it
    for (lines, others, family) in [
        (["pool_ipv4 = \"10.77.0.0/24\"\n", "ipv4 = \"10.77.0.10\"\n"], "", "inet "),
        (["pool_ipv6 = \"fd77::/64\"\n", "ipv6 = \"fd77::10\"\n"], "", "inet6 fd77"),
        (["pool_ipv6 = \"fd77::/64\"\n", "ipv6 = \"fd77::10\"\n"], "mtu = 1000\n", "inet6 fd77"),
    ] {
        let whole = std::fs::read_to_string(lab.directory.join("server.toml")).unwrap();
        let without = lines.iter().fold(whole.clone(), |text, line| text.replace(line, ""));
        let without = without.replace("version = 1\n", &format!("version = 1\n{others}"));
        for _ in 0..3 {
            for (text, is_there) in [(&without, false), (&whole, true)] {
                lab.kill('s');
                std::fs::write(lab.directory.join("server.toml"), text).unwrap();
                lab.start('s');
                until("other families", || addresses(&lab).contains(family) == is_there);
                let before = arrived.load(Ordering::Relaxed);
                let arrives = || arrived.load(Ordering::Relaxed) > before;
                if addresses(&lab).contains("inet ") {
                    until("what is sent arrives", arrives);
                }
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    let sent = sender.join().unwrap();
    sniffer.settle(&lab);
    assert!(sniffer.leaked().is_empty(), "of {sent} datagrams: {:?}", sniffer.leaked());
    until("routes of both families", || {
        let (ipv4, ipv6) = routes(&lab);
        !ipv4.contains("unreachable") && !ipv6.contains("unreachable")
    });
    lab.down('c');
    let (ipv4, ipv6) = routes(&lab);
    assert!(!ipv4.contains("10.99.0.0") && !ipv6.contains("fd99:"), "{ipv4}{ipv6}");
}

/// Routes of the administrator that block packets without the tunnel are replaced by its routes, and restored afterwards.
#[test]
fn a_route_to_nowhere_of_the_administrator_comes_back() {
    let Some(mut lab) = Lab::new() else { return };
    give_default_routes(&lab);
    lab.edit("client.toml", "\"10.99.0.0/16\"", "\"10.99.0.0/16\", \"fd99::/64\"");
    lab.ip('c', "route add blackhole 10.99.0.0/16");
    lab.ip('c', "route add unreachable fd99::/64");
    let routes = |lab: &Lab| (lab.ip('c', "route show"), lab.ip('c', "-6 route show"));
    let before = routes(&lab);
    let arrived = count_arrivals(&lab);
    for ends_by_kill in [false, true] {
        lab.start_both();
        let (stop, count) = (Arc::default(), arrived.load(Ordering::Relaxed));
        let sender = send_to_all(&lab, &stop, OF_ROUTES.to_vec());
        until("what is sent arrives", || arrived.load(Ordering::Relaxed) > count);
        stop.store(true, Ordering::Relaxed);
        sender.join().unwrap();
        if ends_by_kill {
            lab.kill('c');
            lab.clean('c');
        } else {
            lab.down('c');
        }
        assert_eq!(routes(&lab), before, "ended by a kill: {ends_by_kill}");
        lab.kill('s');
    }
}
