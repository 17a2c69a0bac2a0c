//! CONNECT-IP: arbitrary input from an unknown peer on the streams of HTTP/3 and in its datagrams.

use super::{bytes, mutate};
use bolero::{TypeGenerator, produce};
use bytes::{Bytes, BytesMut};
use quiclab_connect_ip::capsule::{self, Capsule, CapsuleAddress, none};
use quiclab_connect_ip::http3::{Http3, Http3Event, data};
use quiclab_connect_ip::message::Target;
use quiclab_connect_ip::ranges::{networks_of, ranges_of};
use quiclab_connect_ip::records::{Record, Records};
use quiclab_connect_ip::{Http3Error, huffman, qpack, varint};
use quiclab_core::Role;
use quiclab_core::ip::IpPrefix;
use quiclab_fuzz::target;

type Changes = Vec<(u16, u8, u8)>;

#[test]
fn integers() {
    target(2000, bytes(12), |bytes| {
        let Some((value, length)) = varint::read(bytes) else {
            return assert!(bytes.len() < 8);
        };
        assert!(length <= bytes.len() && value <= varint::MAX_VARINT);
        let mut out = BytesMut::new();
        varint::write(&mut out, value);
        assert!(out.len() <= length && varint::read(&out) == Some((value, out.len())));
    });
}

#[test]
fn strings_of_huffman_codes() {
    target(2000, produce::<(Vec<u8>, u8)>(), |(coded, most)| {
        if let Some(text) = huffman::decode(coded, usize::from(*most)) {
            // a code has 5 to 30 bits, and the padding at most 7
            let bits = coded.len() * 8;
            assert!(
                text.len() <= usize::from(*most) && text.len() * 5 <= bits && bits <= text.len() * 30 + 7
            );
        }
    });
}

#[test]
fn field_sections() {
    target(3000, produce::<(Vec<u8>, Changes)>(), |(any, changes)| {
        let long = "x".repeat(300);
        let fields = [
            (":method", "CONNECT"),
            (":protocol", "connect-ip"),
            (":path", "/"),
            ("name", &long),
            ("age", "0"),
        ];
        let good = qpack::encode(&fields);
        assert_eq!(qpack::decode(&good).map(|read| read.len()), Ok(fields.len()));
        let behind = [&[0, 0][..], any].concat();
        for section in [any.clone(), behind, mutate(good.to_vec(), &changes[..changes.len().min(3)])] {
            if let Ok(read) = qpack::decode(&section) {
                let size: usize = read.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
                assert!(size <= qpack::MAX_SECTION_BYTES);
            }
        }
    });
}

fn capsules() -> Vec<Capsule> {
    let address = |request, text: &str| CapsuleAddress { request, prefix: text.parse().unwrap() };
    let networks: Vec<IpPrefix> =
        ["10.0.0.0/8", "192.0.2.0/25", "fd77::/64"].iter().map(|text| text.parse().unwrap()).collect();
    vec![
        Capsule::AddressRequest(vec![CapsuleAddress { request: 1, prefix: none(false) }]),
        Capsule::AddressAssign(vec![address(1, "10.77.0.2/32"), address(0, "fd77::2/128")]),
        Capsule::RouteAdvertisement(ranges_of(&networks)),
        Capsule::Datagram(Bytes::from_static(b"\0packet")),
    ]
}

#[test]
fn content_of_capsules() {
    target(3000, produce::<(u8, Vec<u8>, Changes)>(), |(kind, any, changes)| {
        let mut good = BytesMut::new();
        let all = capsules();
        all[usize::from(*kind) % all.len()].encode(&mut good);
        let changed = mutate(good.to_vec(), &changes[..changes.len().min(3)]);
        let mut records = Records::default();
        records.push(&changed);
        let read = match records.next(capsule::rule) {
            Ok(Some(Record { kind, content })) => capsule::parse(kind, &content).ok(),
            _ => None,
        };
        let other = capsule::parse(u64::from(kind % 5), &Bytes::copy_from_slice(any)).ok();
        for capsule in read.into_iter().chain(other) {
            let mut out = BytesMut::new();
            capsule.encode(&mut out);
            let mut records = Records::default();
            records.push(&out);
            let Ok(Some(Record { kind, content })) = records.next(capsule::rule) else {
                panic!("what was read can be written: {capsule:?}")
            };
            if let Capsule::RouteAdvertisement(ranges) = &capsule {
                let networks = networks_of(ranges, 256);
                assert!(networks.len() <= 256);
                let inside = |network: &IpPrefix| {
                    ranges.iter().any(|range| {
                        let [(start, end)] =
                            ranges_of(&[*network]).iter().map(|own| (own.start, own.end)).collect::<Vec<_>>()
                                [..]
                        else {
                            return false;
                        };
                        range.start <= start && end <= range.end
                    })
                };
                assert!(networks.iter().all(inside), "{ranges:?} {networks:?}");
            }
            assert_eq!(capsule::parse(kind, &content), Ok(capsule));
        }
    });
}

/// Bytes that an endpoint receives on its streams, and their division.
#[derive(Clone, Debug, TypeGenerator)]
struct Streams {
    client: bool,
    control: Changes,
    request: Changes,
    other: Vec<u8>,
    request_first: bool,
    ends: bool,
    pieces: Vec<u8>,
}

fn target_of() -> Target {
    Target { authority: "vpn.example".to_owned(), path: "/".to_owned() }
}

/// Bytes of both streams as the peer may send them.
fn sent(streams: &Streams) -> [(bool, Vec<u8>); 3] {
    let role = if streams.client { Role::Server } else { Role::Client };
    let mut peer = Http3::new(role, target_of());
    let control = peer.control().to_vec();
    let mut request = if streams.client {
        let mut server = Http3::new(Role::Server, target_of());
        server.answer(200, &mut Vec::new()).expect("nothing was read").to_vec()
    } else {
        peer.ask(0).to_vec()
    };
    capsules().iter().for_each(|capsule| request.extend_from_slice(&data(capsule)));
    let few = |changes: &Changes| changes[..changes.len().min(3)].to_vec();
    let control = mutate(control, &few(&streams.control));
    let request = mutate(request, &few(&streams.request));
    [(true, control), (false, request), (true, streams.other.clone())]
}

/// Feeds an endpoint, each stream in pieces of these lengths; returns its events up to the first error.
fn feed(streams: &Streams, pieces: &[u8]) -> (Vec<Http3Event>, Option<Http3Error>) {
    let role = if streams.client { Role::Client } else { Role::Server };
    let mut end = Http3::new(role, target_of());
    let mut all = Vec::new();
    if streams.client {
        let _ = end.ask(0);
    }
    let mut order = sent(streams);
    if streams.request_first {
        order.swap(0, 1);
    }
    let mut lengths = pieces.iter().map(|length| usize::from(*length).max(1)).cycle();
    for (number, (uni, content)) in order.iter().enumerate() {
        let mut rest = &content[..];
        loop {
            let length =
                if pieces.is_empty() { rest.len() } else { lengths.next().unwrap_or(1).min(rest.len()) };
            let (piece, later) = rest.split_at(length);
            rest = later;
            let last = rest.is_empty() && streams.ends;
            let mut out = Vec::new();
            let mut result = if *uni {
                end.receive_uni(3 + 4 * number as u64, piece, last, &mut out)
            } else {
                end.receive_request(0, piece, last, &mut out)
            };
            if let Some(Http3Event::Request(asked)) = out.last().cloned() {
                let status = asked.err().unwrap_or(200);
                result = result.and(end.answer(status, &mut out).map(drop));
                assert_eq!(end.datagram_header().is_empty(), status != 200 || !end.takes(0));
            }
            all.append(&mut out);
            if let Err(error) = result {
                return (all, Some(error));
            }
            if rest.is_empty() {
                break;
            }
        }
    }
    (all, None)
}

#[test]
fn streams_of_anything_in_pieces() {
    target(2000, produce::<Streams>(), |streams| {
        let whole = feed(streams, &[]);
        for pieces in [&[1][..], &streams.pieces] {
            let other = feed(streams, pieces);
            // an error ends the connection, whatever precedes it in the same piece
            assert_eq!(other.1.is_some(), whole.1.is_some(), "{pieces:?}: {other:?} {whole:?}");
            assert!(other.1.is_some() || other == whole, "{pieces:?}: {other:?} {whole:?}");
        }
        if streams.control.is_empty()
            && streams.request.is_empty()
            && streams.other.is_empty()
            && !streams.ends
        {
            assert!(whole.1.is_none() && whole.0.len() >= capsules().len(), "{whole:?}");
        }
    });
}

#[test]
fn datagrams_of_anything() {
    target(2000, bytes(40), |bytes| {
        let mut server = Http3::new(Role::Server, target_of());
        let mut client = Http3::new(Role::Client, target_of());
        let mut out = Vec::new();
        server.receive_uni(2, &client.control(), false, &mut out).expect("its settings are right");
        let asked = client.ask(0);
        server.receive_request(0, &asked, false, &mut out).expect("its request is right");
        server.answer(200, &mut out).expect("nothing follows");
        let datagram = Bytes::copy_from_slice(bytes);
        if let Ok(Some(packet)) = server.packet(&datagram) {
            // both integers are 0, in 1 to 8 bytes each
            assert!(bytes.ends_with(&packet) && (2..=16).contains(&(bytes.len() - packet.len())));
        }
        let own = [&server.datagram_header()[..], bytes].concat();
        assert_eq!(server.packet(&own.into()), Ok(Some(datagram)));
    });
}
