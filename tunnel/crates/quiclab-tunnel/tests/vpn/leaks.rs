//! No packet leaves outside the tunnel by mistake, observed at the remote end of the uplinks.

use super::lab::{self, Lab, until};
use super::sniffer::Sniffer;
use super::{IPV4, SECOND};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Addresses that only the default routes of the uplinks lead to.
const OUTSIDE: [&str; 2] = ["198.51.100.7:5353", "[2001:db8:99::7]:5353"];

/// Adds both families and default routes to the uplinks.
pub(super) fn give_default_routes(lab: &Lab) {
    for uplink in 1..=2 {
        lab.ip('c', &format!("addr add fd01:{uplink}::2/64 dev c{uplink} nodad"));
        lab.ip('s', &format!("addr add fd01:{uplink}::1/64 dev s{uplink} nodad"));
        lab.ip('c', &format!("route add default via 10.1.{uplink}.1 dev c{uplink} metric {uplink}0"));
        lab.ip('c', &format!("-6 route add default via fd01:{uplink}::1 dev c{uplink} metric 200{uplink}"));
    }
}

/// Sends a datagram from the client to `address`, through `device` if given; whether the kernel accepted it.
fn send(lab: &Lab, address: &'static str, device: Option<&'static str>) -> bool {
    let task = move || {
        let any = if address.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
        let socket = UdpSocket::bind(any).unwrap();
        if let Some(device) = device {
            socket2::SockRef::from(&socket).bind_device(Some(device.as_bytes())).unwrap();
        }
        socket.send_to(b"secret", address).is_ok()
    };
    lab.within('c', task).join().unwrap()
}

#[test]
fn a_family_without_an_address_does_not_leave_in_clear() {
    for (pool, route, destination) in [
        ("pool_ipv6 = \"fd77::/64\"\n", "::/0", OUTSIDE[1]),
        ("pool_ipv4 = \"10.77.0.0/24\"\n", "0.0.0.0/0", OUTSIDE[0]),
    ] {
        let Some(mut lab) = Lab::new() else { return };
        give_default_routes(&lab);
        lab.edit("server.toml", pool, "");
        lab.edit("client.toml", "\"10.99.0.0/16\"", &format!("\"10.99.0.0/16\", \"{route}\""));
        let routes = |lab: &Lab| (lab.ip('c', "route show"), lab.ip('c', "-6 route show"));
        let before = routes(&lab);
        let sniffer = Sniffer::start(&lab);
        assert!(send(&lab, destination, None));
        until("it leaves without a tunnel", || sniffer.seen().contains(&format!("udp {destination}")));
        lab.start_both();
        let sniffer = Sniffer::start(&lab);
        assert!(!send(&lab, destination, None), "the sender is told");
        sniffer.settle(&lab);
        assert!(sniffer.leaked().is_empty(), "{:?}", sniffer.leaked());
        let log = lab.log("client");
        assert_eq!(log.matches("these routes are unreachable").count(), 1, "{log}");
        // a second session causes neither a second warning nor a second route
        lab.kill('s');
        lab.start('s');
        until("a second session", || lab.log("client").matches("addresses set").count() == 2);
        assert_eq!(lab.log("client").matches("these routes are unreachable").count(), 1);
        lab.down('c');
        assert_eq!(routes(&lab), before);
    }
}

#[test]
fn unreachable_routes_of_a_killed_client_stay_until_down() {
    let Some(mut lab) = Lab::new() else { return };
    give_default_routes(&lab);
    lab.edit("server.toml", "pool_ipv6 = \"fd77::/64\"\n", "");
    lab.edit("client.toml", "\"10.99.0.0/16\"", "\"::/0\"");
    let before = lab.ip('c', "-6 route show");
    lab.start_both();
    lab.echo('s', IPV4);
    lab.kill('c');
    assert!(!send(&lab, OUTSIDE[1], None));
    lab.clean('c');
    assert_eq!(lab.ip('c', "-6 route show"), before);
    assert!(send(&lab, OUTSIDE[1], None));
}

/// Sends all that may leave by mistake: both families, TCP and UDP, with and without a socket bound to an uplink,
/// multicast, and datagrams of another program to the server of the tunnel.
fn provoke(lab: &Lab) {
    for device in [None, Some("c1"), Some("c2")] {
        for address in OUTSIDE {
            send(lab, address, device);
        }
        send(lab, "224.0.0.251:5353", device);
        send(lab, "239.255.255.250:1900", device);
        send(lab, "10.1.1.1:53", device);
        let connect = move || {
            let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
            if let Some(device) = device {
                socket.bind_device(Some(device.as_bytes())).unwrap();
            }
            let to: std::net::SocketAddr = "198.51.100.7:443".parse().unwrap();
            socket.set_nonblocking(true).unwrap();
            let _ = socket.connect(&to.into());
        };
        lab.within('c', connect).join().unwrap();
    }
}

/// Provokes leaks, and asserts that there is none.
fn assert_no_leak(lab: &Lab, sniffer: &Sniffer, when: &str) {
    provoke(lab);
    sniffer.settle(lab);
    let leaked = sniffer.leaked();
    assert!(leaked.is_empty(), "{when}: {leaked:?}");
    assert!(
        !send(lab, "10.1.1.1:4433", Some("c1")),
        "{when}: another program's datagram passes for the tunnel's"
    );
}

fn ruleset(lab: &Lab) -> String {
    lab.run('c', &["nft", "list", "ruleset"]).1
}

#[test]
fn nothing_leaves_outside_a_tunnel_with_a_kill_switch() {
    let Some(mut lab) = Lab::new() else { return };
    give_default_routes(&lab);
    // a host behind the client, as behind a router
    lab.add_host('l', 'c', "lan", 9);
    lab.ip('l', "route add default via 10.9.0.1");
    lab.set_sysctl('c', "net/ipv4/ip_forward", "1");
    lab.edit("client.toml", "[client]", "[client]\nkill_switch = true");
    lab.edit("client.toml", "\"10.99.0.0/16\"", "\"0.0.0.0/0\", \"::/0\"");
    let state = |lab: &Lab| {
        (lab.ip('c', "route show"), lab.ip('c', "-6 route show"), lab.ip('c', "rule show"), ruleset(lab))
    };
    let before = state(&lab);
    let without = Sniffer::start(&lab);
    provoke(&lab);
    for address in OUTSIDE {
        until("it leaves without a tunnel", || without.seen().contains(&format!("udp {address}")));
    }
    lab.start('c');
    until("the client is up", || lab.status('c')["role"] == "client");
    let sniffer = Sniffer::start(&lab);
    let (stop, stopped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    // without a pause, so that a moment without the kill switch is detected
    for (host, device) in [('c', Some("c1")), ('c', None), ('l', None)] {
        let (stop, stopped) = (stop.clone(), stopped.clone());
        drop(lab.within(host, move || {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            if let Some(device) = device {
                socket2::SockRef::from(&socket).bind_device(Some(str::as_bytes(device))).unwrap();
            }
            while !stop.load(Ordering::Relaxed) {
                let _ = socket.send_to(b"secret", "198.51.100.8:53");
                std::thread::park_timeout(SECOND / 2000);
            }
            stopped.fetch_add(1, Ordering::Relaxed);
        }));
    }
    assert_no_leak(&lab, &sniffer, "before the session");
    lab.start('s');
    until("session with two paths", || lab.is_open() && lab.paths_up() == 2);
    lab.echo('s', IPV4);
    until("an answer through the tunnel", || lab.ping(IPV4, SECOND).is_some());
    assert_no_leak(&lab, &sniffer, "during the session");
    lab.kill('s');
    assert_no_leak(&lab, &sniffer, "after the death of the server");
    lab.kill('c');
    assert_no_leak(&lab, &sniffer, "after the death of the client");
    lab.start('s');
    lab.start('c');
    until("a second session", || lab.is_open() && lab.paths_up() == 2);
    assert_no_leak(&lab, &sniffer, "during the second session");
    assert!(lab.terminate('c').success(), "{}", lab.log("client"));
    assert!(lab.log("client").contains("the kill switch stays"));
    assert_no_leak(&lab, &sniffer, "after SIGTERM");
    // the command of a service manager after each end
    lab.start('c');
    until("the client is up again", || lab.status('c')["role"] == "client");
    lab.kill('c');
    let device = lab.device('c');
    let down = lab.run('c', &[lab::PROGRAM, "down", "--keep-kill-switch", "--interface", &device]);
    assert_eq!(down.0, Some(0), "{}", down.1);
    assert_no_leak(&lab, &sniffer, "after down --keep-kill-switch");
    stop.store(true, Ordering::Relaxed);
    until("the senders have ended", || stopped.load(Ordering::Relaxed) == 3);
    sniffer.settle(&lab);
    assert!(sniffer.leaked().is_empty(), "{:?}", sniffer.leaked());
    let said = lab.clean('c');
    assert!(said.ends_with("kill switch removed\n"), "{said}");
    assert_eq!(state(&lab), before);
    provoke(&lab);
    until("it leaves again", || sniffer.seen().contains(&format!("udp {}", OUTSIDE[0])));
    // a running tunnel removes its kill switch
    lab.start('c');
    until("the client is up once more", || lab.status('c')["role"] == "client");
    assert!(!send(&lab, OUTSIDE[0], Some("c1")));
    lab.down('c');
    assert_eq!(state(&lab), before);
    assert!(!std::path::Path::new("/run/quiclab-tunnel").join(lab.device('c')).exists());
}

#[test]
fn a_kill_switch_leaves_the_destinations_that_it_allows() {
    let Some(mut lab) = Lab::new() else { return };
    give_default_routes(&lab);
    let options =
        "[client]\nkill_switch = true\nallow_outside = [\"198.51.100.0/24\", \"2001:db8:99::7/128\"]";
    lab.edit("client.toml", "[client]", options);
    lab.start('c');
    until("the client is up", || lab.status('c')["role"] == "client");
    let sniffer = Sniffer::start(&lab);
    for address in OUTSIDE {
        assert!(send(&lab, address, None), "{address}");
    }
    for address in ["198.51.101.7:53", "[2001:db8:99::8]:53"] {
        assert!(!send(&lab, address, None), "{address}");
    }
    sniffer.settle(&lab);
    let expected = OUTSIDE.map(|address| format!("udp {address}"));
    assert!(sniffer.leaked().iter().all(|packet| expected.contains(packet)), "{:?}", sniffer.leaked());
    lab.down('c');
}

#[test]
fn packets_that_are_routed_again_do_not_leak() {
    let Some(mut lab) = Lab::new() else { return };
    give_default_routes(&lab);
    if !lab.has_nft() {
        return;
    }
    lab.edit("client.toml", "[client]", "[client]\nkill_switch = true");
    lab.edit("client.toml", "\"10.99.0.0/16\"", "\"0.0.0.0/0\", \"::/0\"");
    for (family, gateway) in [("-4", "10.1.1.1"), ("-6", "fd01:1::1")] {
        lab.ip('c', &format!("{family} rule add fwmark 7 lookup 77"));
        lab.ip('c', &format!("{family} route add default via {gateway} dev c1 table 77"));
    }
    let rules = "table inet again {
        chain marks { type route hook output priority -150; udp dport 5353 meta mark set 7; }
        chain translates { type nat hook output priority -100; udp dport 5354 dnat ip to 10.1.2.1:5355; }
    }";
    assert_eq!(lab.run('c', &["nft", rules]), (Some(0), String::new()));
    // the mark leads to uplink 1, the other destination to uplink 2
    let [marked, translated] = [&OUTSIDE[..], &["198.51.100.7:5354"]];
    let seen_as = ["udp 198.51.100.7:5353", "udp [2001:db8:99::7]:5353", "udp 10.1.2.1:5355"];
    let without = Sniffer::start(&lab);
    for address in marked.iter().chain(translated) {
        assert!(send(&lab, address, None));
    }
    until("it leaves without a tunnel", || seen_as.iter().all(|packet| without.seen().contains(*packet)));
    lab.start_both();
    let sniffer = Sniffer::start(&lab);
    for address in marked.iter().chain(translated) {
        assert!(!send(&lab, address, None), "{address}: the sender is told");
    }
    sniffer.settle(&lab);
    assert!(sniffer.leaked().is_empty(), "{:?}", sniffer.leaked());
    lab.echo('s', IPV4);
    until("an answer through the tunnel", || lab.ping(IPV4, SECOND).is_some());
    lab.down('c');
}

#[test]
fn the_kill_switch_of_another_name_is_named() {
    let Some(mut lab) = Lab::new() else { return };
    lab.edit("client.toml", "[client]", "[client]\nkill_switch = true");
    lab.start('c');
    until("the client is up", || lab.status('c')["role"] == "client");
    assert!(lab.terminate('c').success());
    let (before, after) = (lab.device('c'), lab.device('d'));
    lab.edit("client.toml", &before, &after);
    let file = lab.file("client.toml");
    let named = format!("the kill switch of the tunnel `{before}` is on: it blocks what this one sends");
    let (code, said) = lab.run('c', &[lab::PROGRAM, "up", "--check", &file]);
    assert!(code == Some(0) && said.contains(&named) && !said.contains(&format!("`{after}`")), "{said}");
    lab.start('c');
    until("it is named in the log", || lab.log("client").contains(&named));
    lab.terminate('c');
    for device in [before, after] {
        let down = [lab::PROGRAM, "down", "--interface", &device];
        assert_eq!(lab.run('c', &down), (Some(0), "kill switch removed\n".to_owned()));
    }
    let (_, said) = lab.run('c', &[lab::PROGRAM, "up", "--check", &file]);
    assert!(!said.contains("kill switch of the tunnel"), "{said}");
}

/// A datagram from port 68 to port 67 is DHCP only if it goes to all servers of the link of an uplink.
#[test]
fn dhcp_leaves_to_the_link_of_an_uplink_only() {
    let Some(mut lab) = Lab::new() else { return };
    give_default_routes(&lab);
    lab.add_host('l', 'c', "lan", 9);
    lab.edit("client.toml", "[client]", "[client]\nkill_switch = true");
    lab.start('c');
    until("the client is up", || lab.status('c')["role"] == "client");
    let sniffer = Sniffer::start(&lab);
    let asks = |from: &'static str, to: String, device: &'static str| {
        let task = move || {
            let from: std::net::SocketAddr = from.parse().unwrap();
            let socket =
                socket2::Socket::new(socket2::Domain::for_address(from), socket2::Type::DGRAM, None).unwrap();
            // a process that another test starts may hold a copy of the previous one
            socket.set_reuse_address(true).unwrap();
            socket.bind_device(Some(device.as_bytes())).unwrap();
            socket.bind(&from.into()).unwrap();
            let socket: UdpSocket = socket.into();
            socket.set_broadcast(true).unwrap();
            socket.send_to(b"secret", to).is_ok()
        };
        lab.within('c', task).join().unwrap()
    };
    let index = |device: &str| {
        let shown = lab.ip('c', &format!("-o link show dev {device}"));
        shown.split(':').next().unwrap().to_owned()
    };
    for device in ["c1", "c2"] {
        let all = format!("[ff02::1:2%{}]:547", index(device));
        assert!(asks("0.0.0.0:68", "255.255.255.255:67".to_owned(), device), "{device}");
        assert!(asks("[::]:546", all, device), "{device}");
        for to in ["198.51.100.7:67", "10.1.1.1:67"] {
            assert!(!asks("0.0.0.0:68", to.to_owned(), device), "{device} {to}");
        }
        assert!(!asks("[::]:546", "[2001:db8:99::7]:547".to_owned(), device), "{device}");
    }
    assert!(!asks("0.0.0.0:68", "255.255.255.255:67".to_owned(), "lan"), "no path has this interface");
    sniffer.settle(&lab);
    let expected = ["udp 255.255.255.255:67", "udp [ff02::1:2]:547"].map(str::to_owned);
    assert_eq!(sniffer.leaked(), expected.into());
    lab.down('c');
}

/// The recipe for the time between the start of the machine and `up`: the table itself, without its owner.
#[test]
fn a_kill_switch_that_another_firewall_sets_is_replaced() {
    let Some(mut lab) = Lab::new() else { return };
    if !lab.has_nft() {
        return;
    }
    give_default_routes(&lab);
    lab.edit("client.toml", "[client]", "[client]\nkill_switch = true");
    lab.start('c');
    until("the client is up", || lab.status('c')["role"] == "client");
    let table = format!("quiclab_{}", lab.device('c'));
    let list = lab.run('c', &["nft", "list", "table", "inet", &table]).1;
    let saved: String =
        list.lines().filter(|line| !line.contains("flags")).map(|line| format!("{line}\n")).collect();
    lab.down('c');
    assert!(send(&lab, OUTSIDE[0], None));
    let file = lab.file("start.nft");
    std::fs::write(&file, saved).unwrap();
    assert_eq!(lab.run('c', &["nft", "-f", &file]), (Some(0), String::new()));
    assert!(!send(&lab, OUTSIDE[0], None));
    lab.start('c');
    until("the client is up again", || lab.status('c')["role"] == "client");
    assert!(!send(&lab, OUTSIDE[0], None));
    lab.down('c');
    assert_eq!(ruleset(&lab), "");
}

#[test]
fn a_kill_switch_that_cannot_be_removed_is_an_error() {
    let Some(mut lab) = Lab::new() else { return };
    if !lab.has_nft() {
        return;
    }
    lab.edit("client.toml", "[client]", "[client]\nkill_switch = true");
    lab.start('c');
    until("the client is up", || lab.status('c')["role"] == "client");
    lab.kill('c');
    let device = lab.device('c');
    let table = format!("quiclab_{device}");
    let down = ["setpriv", "--bounding-set", "-net_admin", lab::PROGRAM, "down", "--interface", &device];
    let (code, said) = lab.run('c', &down);
    assert!(code == Some(1) && said.contains(&table), "{said}");
    assert!(ruleset(&lab).contains(&table));
    lab.clean('c');
    assert_eq!(ruleset(&lab), "");
    // a running one removes it itself, whoever requests it
    lab.start('c');
    until("the client is up again", || lab.status('c')["role"] == "client");
    assert_eq!(lab.run('c', &down), (Some(0), String::new()));
    assert!(lab.wait('c').success());
    assert_eq!(ruleset(&lab), "");
}

#[test]
fn a_kill_switch_is_on_after_every_later_error() {
    let Some(mut lab) = Lab::new() else { return };
    if !lab.has_nft() {
        return;
    }
    lab.edit("client.toml", "[client]", "[client]\nkill_switch = true");
    lab.edit("client.toml", "user = \"nobody\"", "user = \"quiclab-absent\"");
    lab.start('c');
    assert_eq!(lab.wait('c').code(), Some(3), "{}", lab.log("client"));
    assert!(ruleset(&lab).contains(&format!("quiclab_{}", lab.device('c'))));
    lab.clean('c');
    assert_eq!(ruleset(&lab), "");
}
