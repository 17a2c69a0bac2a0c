//! `quiclab_core::ip` and the keys of flows: packets from the device or from a peer's datagrams.

use super::packets::{Made, folded, pseudo, words};
use super::{bytes, mutate};
use bolero::produce;
use quiclab_core::ip::{IpHeader, clamp_mss, fragment, parse, too_big};
use quiclab_core::queue::FlowKey;
use quiclab_core::{FiveTuple, Protocol};
use quiclab_fuzz::target;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

const ROUTER: (Option<Ipv4Addr>, Option<Ipv6Addr>) =
    (Some(Ipv4Addr::new(10, 9, 9, 9)), Some(Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 9)));

/// A packet and its corruption, none in half of the cases.
type Spoilt = (Made, Option<Vec<(u16, u8, u8)>>);

fn packet((made, changes): &Spoilt) -> Vec<u8> {
    mutate(made.bytes(), changes.as_deref().map_or(&[], |changes| &changes[..changes.len().min(4)]))
}

fn check_header(packet: &[u8]) -> Option<IpHeader> {
    let header = parse(packet).ok()?;
    assert!(header.payload >= 20 && header.payload <= header.length && header.length <= packet.len());
    assert_eq!(parse(&packet[..header.length]), Ok(header), "what is behind it does not count");
    assert!(parse(&packet[..header.length - 1]).is_err(), "a packet that is cut is none");
    assert_eq!(header.source.is_ipv4(), header.destination.is_ipv4());
    assert!(header.source.is_ipv4() || header.dont_fragment);
    assert!(header.fragment.is_none_or(|part| part.offset % 8 == 0 && part.offset <= 65_528));
    Some(header)
}

#[test]
fn headers_of_anything() {
    target(3000, bytes(200), |packet| {
        let _ = check_header(packet);
    });
}

#[test]
fn headers_of_packets() {
    target(2000, produce::<Spoilt>(), |input| {
        let header = check_header(&packet(input));
        let (made, changes) = input;
        assert!(
            changes.is_some() || header.is_some_and(|header| header.protocol == made.number()),
            "{header:?}"
        );
    });
}

#[test]
fn fragments_make_the_packet_again() {
    target(2000, produce::<(Spoilt, u16)>(), |(input, mtu)| {
        let (packet, mtu) = (packet(input), mtu % 2000);
        let Some(pieces) = fragment(&packet, mtu) else { return };
        let whole = parse(&packet).expect("only packets are divided");
        assert!(!whole.dont_fragment && !pieces.is_empty());
        let begin = whole.fragment.map_or(0, |part| part.offset);
        let mut data = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            let header = parse(piece).expect("a fragment is a packet");
            assert!(piece.len() <= usize::from(mtu) && header.length == piece.len());
            assert_eq!(folded(words(&piece[..header.payload])), 0xffff, "checksum of the header");
            let (offset, more) = header.fragment.map_or((0, false), |part| (part.offset, part.more));
            assert_eq!(offset, begin + data.len());
            assert_eq!(more, index + 1 < pieces.len() || whole.fragment.is_some_and(|part| part.more));
            assert_eq!((header.source, header.protocol), (whole.source, whole.protocol));
            data.extend_from_slice(&piece[header.payload..]);
            if pieces.len() > 1 {
                assert_eq!(FlowKey::of_ip(piece), FlowKey::of_ip(&pieces[0]), "all are one flow");
            }
        }
        assert_eq!(data, packet[whole.payload..whole.length]);
    });
}

#[test]
fn errors_quote_the_packet_and_go_to_its_sender() {
    target(2000, produce::<(Spoilt, u16)>(), |(input, mtu)| {
        let packet = packet(input);
        let Some(error) = too_big(&packet, *mtu, ROUTER) else { return };
        let (of, header) = (parse(&packet).unwrap(), parse(&error).expect("an error is a packet"));
        assert_eq!((header.destination, header.length), (of.source, error.len()));
        let (protocol, most, said) = match ROUTER {
            (Some(four), _) if header.source == four => {
                assert_eq!(folded(words(&error[..20])), 0xffff);
                assert_eq!(folded(words(&error[20..])), 0xffff);
                (1, 576, u32::from(u16::from_be_bytes([error[26], error[27]])))
            }
            _ => {
                let sum = pseudo(&error, 58, error.len() - 40) + words(&error[40..]);
                assert_eq!(folded(sum), 0xffff);
                (58, 1280, u32::from_be_bytes(error[44..48].try_into().unwrap()))
            }
        };
        assert_eq!(header.protocol, protocol);
        assert_eq!(said, u32::from(if protocol == 1 { *mtu } else { 1280.max(*mtu) }));
        let quoted = &error[header.payload + 8..];
        assert!(error.len() <= most && packet.starts_with(quoted) && quoted.len() <= of.length);
        assert!(error.len() == most || quoted.len() == of.length, "as much as fits");
        assert_eq!(too_big(&error, *mtu, ROUTER), None, "no error about an error");
    });
}

#[test]
fn a_clamped_syn_is_right() {
    target(3000, produce::<(Spoilt, u16)>(), |(input, mtu)| {
        let (before, mtu) = (packet(input), mtu % 2000);
        let mut after = before.clone();
        let changed = clamp_mss(&mut after, mtu);
        assert_eq!(changed, before != after);
        assert!(!clamp_mss(&mut after.clone(), mtu), "once is enough");
        let (made, changes) = input;
        if changes.is_none() && made.number() == 6 && !changed {
            let header = parse(&before).unwrap();
            let least = if made.six { 60 } else { 40 };
            let fits = mtu < least || made.mss.is_none_or(|(_, mss)| mss <= mtu - least);
            assert!(fits || made.flags & 2 == 0 || !header.is_first(), "an announcement was overlooked");
        }
        if !changed {
            return;
        }
        let header = parse(&after).unwrap();
        assert_eq!(parse(&before), Ok(header));
        let differs = before.iter().zip(&after).filter(|(one, other)| one != other).count();
        assert!(differs <= 4, "{differs} bytes: size and checksum have four");
        let right = |packet: &[u8]| {
            let segment = &packet[header.payload..header.length];
            folded(pseudo(packet, 6, segment.len()) + words(segment)) == 0xffff
        };
        assert_eq!(right(&before), right(&after), "the checksum is as right as it was");
        assert!(changes.is_some() || right(&after));
    });
}

#[test]
fn keys_of_anything() {
    target(3000, bytes(120), |packet| {
        let key = FlowKey::of_ip(packet);
        assert_eq!((key, key.hash(1)), (FlowKey::of_ip(packet), FlowKey::of_ip(packet).hash(1)));
        if packet.first().is_none_or(|first| !matches!(first >> 4, 4 | 6)) {
            assert_eq!(key, FlowKey::default());
        }
    });
}

#[test]
fn keys_of_packets_are_those_of_their_ports() {
    target(2000, produce::<Spoilt>(), |input| {
        let packet = packet(input);
        let Ok(header) = parse(&packet) else { return };
        let protocol = match header.protocol {
            6 => Protocol::Tcp,
            17 => Protocol::Udp,
            _ => return,
        };
        let Some(&[a, b, c, d]) = packet[header.payload..header.length].first_chunk() else { return };
        let end = |address, high, low| SocketAddr::new(address, u16::from_be_bytes([high, low]));
        let tuple = FiveTuple::new(protocol, end(header.source, a, b), end(header.destination, c, d));
        let key = FlowKey::of_ip(&packet);
        assert_eq!(key == tuple.into(), header.fragment.is_none());
        // the layers above do not count
        let mut other = packet.clone();
        other[header.payload + 4..].fill(0xa5);
        assert_eq!(FlowKey::of_ip(&other), key);
    });
}
