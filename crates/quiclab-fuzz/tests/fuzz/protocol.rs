//! The VPN's own messages, and requests on its sockets.

use super::{bytes, mutate};
use bolero::produce;
use quiclab_core::ip::SMALLEST_IPV6_MTU;
use quiclab_fuzz::target;
use quiclab_tunnel::protocol::{Assigned, Assignment, MAX_ROUTES, Message, parse};
use quiclab_tunnel::requests::{Parsed, Request, parse_control, parse_http};

fn assignment() -> Message {
    let assigned = |address: &str, network: &str, server: &str| Assigned {
        address: address.parse().unwrap(),
        network: network.parse().unwrap(),
        server: Some(server.parse().unwrap()),
    };
    Message::Assignment(Assignment {
        mtu: 1400,
        addresses: vec![
            assigned("10.77.0.2", "10.77.0.0/24", "10.77.0.1"),
            assigned("fd77::2", "fd77::/64", "fd77::1"),
        ],
        routes: vec!["192.168.0.0/16".parse().unwrap(), "::/0".parse().unwrap()],
    })
}

/// Invariants of every accepted message.
fn check(bytes: &[u8]) {
    let Ok(message) = parse(bytes) else { return };
    assert_eq!(message.encode(), bytes, "one encoding for each message");
    match message {
        Message::Assignment(Assignment { mtu, addresses, routes }) => {
            assert!((1..=2).contains(&addresses.len()) && routes.len() <= MAX_ROUTES);
            let six = addresses.iter().any(|assigned| assigned.address.is_ipv6());
            assert!(mtu >= if six { SMALLEST_IPV6_MTU } else { 576 });
            for Assigned { address, network, server } in addresses {
                let server = server.expect("the protocol tells it");
                assert!(network.contains(address) && network.contains(server) && address != server);
                assert!(!address.is_multicast() && !address.is_loopback() && !address.is_unspecified());
            }
        }
        Message::Refusal(text) => assert!(text.len() <= 200 && !text.contains(char::is_control)),
        Message::Hello { ipv4, ipv6, .. } => assert!(ipv4 || ipv6),
    }
}

#[test]
fn messages_of_anything() {
    target(3000, bytes(300), |bytes| {
        check(bytes);
        let head = [&[1, 1 + bytes.len() as u8 % 3][..], bytes].concat();
        check(&head);
    });
}

#[test]
fn messages_with_mistakes() {
    target(3000, produce::<(u8, Vec<(u16, u8, u8)>)>(), |(kind, changes)| {
        let message = match kind % 4 {
            0 => Message::Hello { ipv4: true, ipv6: kind & 4 == 0, numbered: kind & 8 == 0 },
            1 => Message::Refusal("the pool is used up: \u{e4}".to_owned()),
            _ => assignment(),
        };
        let good = message.encode();
        assert_eq!(parse(&good), Ok(message));
        check(&mutate(good, &changes[..changes.len().min(3)]));
    });
}

#[test]
fn requests() {
    const GOOD: [&[u8]; 4] = [
        b"status\n",
        b"down\n",
        b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /metrics HTTP/1.0\r\n\r\n",
    ];
    target(3000, produce::<(u8, Vec<(u16, u8, u8)>, Vec<u8>)>(), |(which, changes, rest)| {
        let good = GOOD[usize::from(*which) % GOOD.len()].to_vec();
        let bytes = mutate(good, &changes[..changes.len().min(2)]);
        for bytes in [&bytes, rest] {
            let (control, http) = (parse_control(bytes), parse_http(bytes));
            assert_eq!(control == Parsed::More, !bytes.contains(&b'\n'));
            assert_eq!(control == Parsed::Request(Request::Status), bytes.starts_with(b"status\n"));
            assert_eq!(control == Parsed::Request(Request::Down), bytes.starts_with(b"down\n"));
            assert_eq!(control == Parsed::Request(Request::Stop), bytes.starts_with(b"stop\n"));
            assert_eq!(control == Parsed::Request(Request::Reload), bytes.starts_with(b"reload\n"));
            assert_ne!(control, Parsed::Request(Request::Metrics));
            assert!(
                matches!(http, Parsed::More | Parsed::Refused(_) | Parsed::Request(Request::Metrics)),
                "HTTP ends nothing"
            );
            assert!(http != Parsed::Request(Request::Metrics) || bytes.starts_with(b"GET /metrics HTTP/1."));
            if let Parsed::Refused(code) = http {
                assert!(matches!(code, 400 | 404 | 405));
            }
            // an answer does not change when more arrives
            let longer = [&bytes[..], rest].concat();
            assert!(control == Parsed::More || parse_control(&longer) == control);
            assert!(http == Parsed::More || parse_http(&longer) == http);
        }
    });
}
