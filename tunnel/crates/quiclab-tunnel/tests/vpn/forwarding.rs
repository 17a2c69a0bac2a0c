//! A server that forwards: addresses and routes of its own uplink by router advertisement stay, and clients reach
//! the Internet.

use super::SECOND;
use super::lab::{self, Lab, until};
use quiclab_core::ip::IpPrefix;
use quiclab_tunnel::system::Firewall;
use std::net::{Ipv6Addr, SocketAddrV6, UdpSocket};

/// A router at the other end of the server's uplink 1 advertises itself and fd05::/64 (RFC 4861 section 4.2).
fn advertise(lab: &Lab) {
    let index = lab.ip('c', "-o link show dev c1").split(':').next().unwrap().parse().unwrap();
    lab.within('c', move || {
        let socket =
            socket2::Socket::new(socket2::Domain::IPV6, socket2::Type::RAW, Some(socket2::Protocol::ICMPV6))
                .unwrap();
        socket.set_multicast_hops_v6(255).unwrap();
        let prefix: Ipv6Addr = "fd05::".parse().unwrap();
        let header = [134, 0, 0, 0, 64, 0, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0];
        let information = [3, 4, 64, 0xc0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let message = [&header[..], &information, &prefix.octets()].concat();
        let all_nodes: Ipv6Addr = "ff02::1".parse().unwrap();
        // the link-local address may not be usable yet
        let _ = socket.send_to(&message, &SocketAddrV6::new(all_nodes, 0, 0, index).into());
    })
    .join()
    .unwrap();
}

const ACCEPT: &str = "net/ipv6/conf/s1/accept_ra";

#[test]
fn what_came_by_router_advertisement_stays() {
    let Some(mut lab) = Lab::new() else { return };
    // neither restored values nor those of individual interfaces are the defaults
    lab.set_sysctl('s', "net/ipv4/conf/all/accept_redirects", "0");
    lab.set_sysctl('s', "net/ipv4/conf/s2/forwarding", "1");
    lab.set_sysctl('s', "net/ipv6/conf/s2/forwarding", "1");
    // otherwise its neighbour advertisements lack the Router flag
    lab.set_sysctl('c', "net/ipv6/conf/all/forwarding", "1");
    let has = |lab: &Lab| {
        (
            lab.ip('s', "-6 route show default").contains("proto ra"),
            lab.ip('s', "-6 addr show dev s1").contains("inet6 fd05:"),
        )
    };
    until("the address by router advertisement", || {
        advertise(&lab);
        has(&lab) == (true, true)
    });
    let names = [
        ACCEPT,
        "net/ipv6/conf/s2/accept_ra",
        "net/ipv4/conf/all/accept_redirects",
        "net/ipv4/ip_forward",
        "net/ipv4/conf/s1/forwarding",
        "net/ipv4/conf/s2/forwarding",
        "net/ipv4/conf/default/forwarding",
        "net/ipv6/conf/all/forwarding",
        "net/ipv6/conf/s1/forwarding",
        "net/ipv6/conf/s2/forwarding",
        "net/ipv6/conf/default/forwarding",
    ];
    let values = |lab: &Lab| names.map(|name| lab.sysctl('s', name));
    let before = values(&lab);
    assert_eq!(before[0], "1");
    for killed in [false, true] {
        lab.start('s');
        until("the server is up", || lab.status('s')["role"] == "server");
        assert_eq!(lab.sysctl('s', "net/ipv6/conf/all/forwarding"), "1");
        assert_eq!((lab.sysctl('s', ACCEPT).as_str(), has(&lab)), ("2", (true, true)));
        if killed {
            lab.kill('s');
            lab.clean('s');
        } else {
            lab.down('s');
        }
        assert_eq!(values(&lab), before);
        assert_eq!(has(&lab), (true, true));
    }
}

/// Address of the client as seen by the Internet behind the server's `eth0`, which has no route to the pools.
fn seen_outside(lab: &Lab, ipv4: bool) -> String {
    let (address, any) = if ipv4 { ("10.5.0.2:9", "0.0.0.0:0") } else { ("[fd05::2]:9", "[::]:0") };
    let socket = lab.socket('l', address);
    let seen = std::thread::spawn(move || {
        let mut buffer = [0; 16];
        let (size, from) = socket.recv_from(&mut buffer).unwrap();
        socket.send_to(&buffer[..size], from).unwrap();
        from.ip().to_string()
    });
    let asking = move || {
        let socket = UdpSocket::bind(any).unwrap();
        socket.set_read_timeout(Some(SECOND / 5)).unwrap();
        socket.connect(address).unwrap();
        let _ = socket.send(b"hello");
        socket.recv(&mut [0; 16]).is_ok()
    };
    until("an answer from outside", || lab.within('c', asking).join().unwrap());
    seen.join().unwrap()
}

fn with_internet() -> Option<Lab> {
    let lab = Lab::new()?;
    lab.add_host('l', 's', "eth0", 5);
    lab.edit("client.toml", "\"10.99.0.0/16\"", "\"10.5.0.0/16\", \"fd05::/64\"");
    Some(lab)
}

#[test]
fn addresses_are_translated_until_the_end() {
    let Some(mut lab) = with_internet() else { return };
    lab.edit("server.toml", "forward = true", "forward = true\nmasquerade = true");
    let before = lab.run('s', &["nft", "list", "ruleset"]);
    for killed in [true, false] {
        lab.start_both();
        assert_eq!([true, false].map(|ipv4| seen_outside(&lab, ipv4)), ["10.5.0.1", "fd05::1"]);
        lab.down('c');
        if killed {
            lab.kill('s');
            // as in the unit: address translation is no kill switch
            let down = [lab::PROGRAM, "down", "--keep-kill-switch", "--interface", &lab.device('s')];
            assert_eq!(lab.run('s', &down).0, Some(0));
        } else {
            lab.down('s');
        }
        assert_eq!(lab.run('s', &["nft", "list", "ruleset"]), before);
    }
}

/// `count` non-adjacent networks, as a list of TOML.
fn many(ipv4: u8, ipv6: u16, count: u16) -> String {
    let of_number = |number: u16| {
        let (high, low) = (number / 256, number % 256);
        [format!("\"172.{}.{low}.0/25\"", u16::from(ipv4) + high), format!("\"{ipv6:x}:{number:x}::/33\"")]
    };
    (0..count / 2).flat_map(of_number).collect::<Vec<_>>().join(", ")
}

/// With a rule for each network, the answers would not fit in the buffer of a socket.
#[test]
fn a_thousand_networks_behind_clients_are_translated() {
    let Some(mut lab) = with_internet() else { return };
    lab.edit("server.toml", "forward = true", "forward = true\nmasquerade = true");
    let (first, second) = (many(16, 0xfd90, 1000), many(20, 0xfd91, 1000));
    lab.edit("server.toml", "name = \"laptop\"", &format!("name = \"laptop\"\nnetworks = [{first}]"));
    lab.start_both();
    assert_eq!([true, false].map(|ipv4| seen_outside(&lab, ipv4)), ["10.5.0.1", "fd05::1"]);
    lab.edit("server.toml", &first, &second);
    assert_eq!(lab.reload('s').0, Some(0));
    until("another session", || lab.has_session('s') && lab.paths_up() == 2);
    assert_eq!([true, false].map(|ipv4| seen_outside(&lab, ipv4)), ["10.5.0.1", "fd05::1"]);
    if lab.has_nft() {
        let table = |table: &str| lab.run('s', &["nft", "list", "table", "inet", table]).1;
        let [inside, nat] = ["inside", "nat"].map(|of| table(&format!("{of}_quiclab_{}", lab.device('s'))));
        assert!(inside.matches("drop").count() < 16, "{inside}");
        assert_eq!(nat.matches("masquerade").count(), 2, "{nat}");
        for table in [inside, nat] {
            assert!(table.contains("172.20.7.0/25") && !table.contains("172.16.7.0/25"), "{table}");
        }
    }
    lab.down('s');
}

/// A transaction is one datagram, which is longer than sockets send by default.
#[test]
fn a_table_may_be_longer_than_the_buffer_of_a_socket() {
    let Some(lab) = Lab::new() else { return };
    let task = || {
        let network = |number: u128| IpPrefix::around(Ipv6Addr::from_bits(number << 65).into(), 64);
        let networks: Vec<_> = (0..20_000).map(network).collect();
        let mut firewall = Firewall::translation("test").unwrap();
        firewall.masquerade("test", &networks).unwrap();
        // in place of the first one
        firewall.masquerade("test", &networks[1..]).unwrap();
        assert!(firewall.remove().unwrap());
    };
    lab.within('s', task).join().unwrap();
}

#[test]
fn the_commands_of_the_documentation_translate_addresses() {
    let Some(mut lab) = with_internet() else { return };
    if !lab.has_nft() {
        return;
    }
    let documentation = include_str!("../../../../docs/tunnel.md");
    let commands: Vec<_> = documentation.lines().filter(|line| line.starts_with("nft add ")).collect();
    assert!(commands.len() >= 4, "table, chain, and a rule for each family: {commands:?}");
    for command in commands {
        let (code, said) = lab.run('s', &["sh", "-c", command]);
        assert_eq!(code, Some(0), "{command}: {said}");
    }
    lab.start_both();
    assert_eq!([true, false].map(|ipv4| seen_outside(&lab, ipv4)), ["10.5.0.1", "fd05::1"]);
    lab.run('s', &[lab::PROGRAM, "down", "--interface", &lab.device('s')]);
}

#[test]
fn a_strict_filter_of_sources_is_told_and_a_loose_one_is_enough() {
    let Some(mut lab) = Lab::new() else { return };
    for (name, value) in [("all", "1"), ("c1", "0"), ("c2", "2")] {
        lab.set_sysctl('c', &format!("net/ipv4/conf/{name}/rp_filter"), value);
    }
    // all traffic goes through the tunnel, that to the server's addresses too
    lab.edit("client.toml", "routes = [\"10.99.0.0/16\"]", "routes = [\"0.0.0.0/0\"]");
    for server in ["10.1.1.1", "10.1.2.1"] {
        lab.edit("client.toml", &format!("{server}:4433"), "10.9.9.9:4433");
    }
    lab.ip('s', "addr add 10.9.9.9/32 dev lo");
    lab.ip('c', "route add default via 10.1.1.1 dev c1");
    lab.ip('c', "route add default via 10.1.2.1 dev c2 metric 9");
    lab.start('s');
    lab.start('c');
    let down = |name: &str| {
        let paths = lab.status('c')["sessions"][0]["paths"].as_array().cloned().unwrap_or_default();
        paths.iter().any(|path| path["name"] == name && path["up"] == false)
    };
    until("the session", || lab.is_open());
    // packets on c1 are dropped when the routes lead through the tunnel; c2 continues
    until("the filtered path is down", || down("dsl"));
    assert!(lab.is_open() && !down("lte"));
    let warnings = |interface: &str| {
        let log = lab.log("client");
        log.lines().filter(|line| line.contains("rp_filter is strict") && line.contains(interface)).count()
    };
    assert_eq!((warnings("\"c1\""), warnings("\"c2\"")), (1, 0), "{}", lab.log("client"));
    assert_eq!(lab.sysctl('c', "net/ipv4/conf/c1/rp_filter"), "0");
    lab.set_sysctl('c', "net/ipv4/conf/c1/rp_filter", "2");
    until("both paths", || lab.paths_up() == 2);
}
