//! Nothing leaves outside the tunnel that should not: seen at the other end of the uplinks.

use super::lab::{Lab, until};
use super::sniffer::Sniffer;
use super::{IPV4, SECOND};
use std::net::UdpSocket;

/// Addresses that only the default routes of the uplinks lead to.
const OUTSIDE: [&str; 2] = ["198.51.100.7:5353", "[2001:db8:99::7]:5353"];

/// The uplinks carry both families, with default routes.
fn give_default_routes(lab: &Lab) {
    for uplink in 1..=2 {
        lab.ip('c', &format!("addr add fd01:{uplink}::2/64 dev c{uplink} nodad"));
        lab.ip('s', &format!("addr add fd01:{uplink}::1/64 dev s{uplink} nodad"));
        lab.ip('c', &format!("route add default via 10.1.{uplink}.1 dev c{uplink} metric {uplink}0"));
        lab.ip('c', &format!("-6 route add default via fd01:{uplink}::1 dev c{uplink} metric 200{uplink}"));
    }
}

/// Sends a datagram from the client to `address`, by way of `device` if there is one; whether the kernel took it.
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
        until("it leaves without a tunnel", 5 * SECOND, || {
            sniffer.seen().contains(&format!("udp {destination}"))
        });
        lab.start_both();
        let sniffer = Sniffer::start(&lab);
        assert!(!send(&lab, destination, None), "the sender is told");
        sniffer.settle(&lab);
        assert!(sniffer.leaked().is_empty(), "{:?}", sniffer.leaked());
        let log = lab.log("client");
        assert_eq!(log.matches("these routes are unreachable").count(), 1, "{log}");
        // a second session makes neither a second warning nor a second route
        lab.kill('s');
        until("the session has ended", 40 * SECOND, || !lab.is_open());
        lab.start('s');
        until("a second session", 15 * SECOND, || lab.is_open());
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
    lab.echo(IPV4);
    lab.kill('c');
    assert!(!send(&lab, OUTSIDE[1], None));
    lab.clean('c');
    assert_eq!(lab.ip('c', "-6 route show"), before);
    assert!(send(&lab, OUTSIDE[1], None));
}
