use super::*;
use crate::time::Time;
use proptest::prelude::*;
use std::net::IpAddr;

const ROUTER: (Option<std::net::Ipv4Addr>, Option<std::net::Ipv6Addr>) =
    (Some(std::net::Ipv4Addr::new(10, 77, 0, 1)), Some(std::net::Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1)));

fn ipv4(protocol: u8, flags: u16, data: &[u8]) -> Vec<u8> {
    let length = (20 + data.len()) as u16;
    let mut packet = vec![0x45, 2];
    packet.extend(length.to_be_bytes());
    packet.extend([0x12, 0x34]);
    packet.extend(flags.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 77, 0, 2, 10, 77, 0, 3]);
    let sum = checksum::finish(checksum::sum(&packet));
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(data);
    packet
}

fn ipv6(next: u8, data: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0x10, 0, 0];
    packet.extend((data.len() as u16).to_be_bytes());
    packet.extend([next, 64]);
    for last in [2, 3] {
        packet.extend([0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    packet.extend(data);
    packet
}

/// A SYN with these options, padded to whole words, with its checksum.
fn syn(options: &[u8], six: bool) -> Vec<u8> {
    let mut segment = vec![0xc3, 0x50, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0xff, 0xff, 0, 0, 0, 0];
    segment.extend(options);
    segment.resize(segment.len().next_multiple_of(4), 0);
    segment[12] = ((segment.len() / 4) << 4) as u8;
    let (mut packet, header) = if six { (ipv6(6, &segment), 40) } else { (ipv4(6, 0x4000, &segment), 20) };
    let sum = checksum::finish(tcp_sum(&packet));
    packet[header + 16..header + 18].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn tcp_sum(packet: &[u8]) -> u64 {
    let header = parse(packet).unwrap();
    let segment = &packet[header.payload..header.length];
    checksum::pseudo_header(header.source, header.destination, 6, segment.len()) + checksum::sum(segment)
}

#[test]
fn reads_ipv4() {
    let header = parse(&ipv4(17, 0x4000, &[7; 12])).unwrap();
    assert_eq!(header.source, "10.77.0.2".parse::<IpAddr>().unwrap());
    assert_eq!(header.destination, "10.77.0.3".parse::<IpAddr>().unwrap());
    assert_eq!((header.protocol, header.payload, header.length), (17, 20, 32));
    assert_eq!((header.fragment, header.dont_fragment, header.ecn), (None, true, Ecn::Ect0));
    // offset 185 * 8 bytes, more fragments follow
    let header = parse(&ipv4(17, 0x2000 | 185, &[7; 12])).unwrap();
    assert_eq!(
        header.fragment,
        Some(Fragment { offset: 1480, more: true, identification: 0x1234, protocol: 17 })
    );
    assert!(!header.is_first() && !header.dont_fragment);
}

#[test]
fn reads_ipv6_behind_extension_headers() {
    let header = parse(&ipv6(17, &[7; 12])).unwrap();
    assert_eq!((header.protocol, header.payload, header.length, header.ecn), (17, 40, 52, Ecn::Ect1));
    // hop-by-hop of 8 bytes, destination options of 16, authentication of (4 + 2) * 4, then TCP
    let mut data = vec![60, 0, 0, 0, 0, 0, 0, 0];
    data.extend([51, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    data.extend([6, 4]);
    data.extend([0; 22]);
    data.extend([9; 20]);
    let header = parse(&ipv6(0, &data)).unwrap();
    assert_eq!((header.protocol, header.payload), (6, 40 + 8 + 16 + 24));
    // a fragment that is not the first: nothing after its header is read
    let header = parse(&ipv6(44, &[0, 0, 0, 9, 1, 2, 3, 4, 0xff, 0xff])).unwrap();
    assert_eq!(
        header.fragment,
        Some(Fragment { offset: 8, more: true, identification: 0x0102_0304, protocol: 0 })
    );
    assert_eq!((header.protocol, header.payload), (0, 48));
    // an atomic fragment is a whole packet
    assert_eq!(parse(&ipv6(44, &[17, 0, 0, 0, 1, 2, 3, 4, 5])).unwrap().fragment, None);
}

#[test]
fn what_is_no_packet_is_an_error() {
    assert_eq!(parse(&[]), Err(Malformed::Short));
    assert_eq!(parse(&[0x50; 60]), Err(Malformed::Version(5)));
    for packet in [ipv4(17, 0, &[1; 9]), ipv6(17, &[1; 9])] {
        for length in 0..packet.len() {
            assert_eq!(parse(&packet[..length]), Err(Malformed::Short), "{length}");
        }
    }
    let mut small_header = ipv4(17, 0, &[]);
    small_header[0] = 0x44;
    assert_eq!(parse(&small_header), Err(Malformed::Length));
    assert_eq!(parse(&ipv6(0, &[0])), Err(Malformed::Length));
    assert_eq!(parse(&ipv6(0, &[17, 1, 0, 0, 0, 0, 0, 0])), Err(Malformed::Length), "16 bytes in 8");
    let endless: Vec<u8> = (0..9).flat_map(|_| [0; 8]).collect();
    assert_eq!(parse(&ipv6(0, &endless)), Err(Malformed::Extensions));
}

#[test]
fn the_error_quotes_the_packet_and_tells_the_mtu() {
    let packet = ipv4(17, 0x4000, &[7; 1400]);
    let error = too_big(&packet, 1300, ROUTER).unwrap();
    assert_eq!(error.len(), 576);
    let header = parse(&error).unwrap();
    assert_eq!(header.source, "10.77.0.1".parse::<IpAddr>().unwrap());
    assert_eq!(header.destination, "10.77.0.2".parse::<IpAddr>().unwrap());
    assert_eq!(checksum::finish(checksum::sum(&error[..20])), 0);
    assert_eq!(checksum::finish(checksum::sum(&error[20..])), 0);
    // 1300 = 0x514
    assert_eq!(error[20..28], [3, 4, error[22], error[23], 0, 0, 5, 0x14]);
    assert_eq!(error[28..], packet[..548]);

    let packet = ipv6(17, &[7; 1400]);
    let error = too_big(&packet, 1300, ROUTER).unwrap();
    assert_eq!(error.len(), 1280);
    let header = parse(&error).unwrap();
    assert_eq!((header.protocol, header.destination), (58, "fd77::2".parse::<IpAddr>().unwrap()));
    let pseudo = checksum::pseudo_header(header.source, header.destination, 58, 1240);
    assert_eq!(checksum::finish(pseudo + checksum::sum(&error[40..])), 0);
    assert_eq!(error[40..42], [2, 0]);
    assert_eq!(error[44..48], [0, 0, 5, 0x14]);
    assert_eq!(error[48..], packet[..1232]);
    // a host ignores less than 1280 = 0x500
    assert_eq!(too_big(&packet, 1000, ROUTER).unwrap()[44..48], [0, 0, 5, 0]);
}

#[test]
fn a_segment_that_has_no_way_is_tried_again_soon() {
    // ports, sequence numbers, header of 20 bytes, flags, window, checksum, urgent pointer, data
    let segment = |flags: u8, data: usize| {
        [&[0, 80, 0, 81, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, flags, 1, 0, 0, 0, 0, 0][..], &vec![7; data]].concat()
    };
    let (ack, fin, syn, rst) = (0x10, 1, 2, 4);
    let packet = ipv4(6, 0x4000, &segment(ack, 100));
    let error = no_way(&packet, ROUTER).unwrap();
    // network unreachable, with the bytes that identify the segment
    assert_eq!(error[20..28], [3, 0, error[22], error[23], 0, 0, 0, 0]);
    assert_eq!(checksum::finish(checksum::sum(&error[20..])), 0);
    assert_eq!(error[28..], packet);
    let error = no_way(&ipv6(6, &segment(ack, 100)), ROUTER).unwrap();
    assert_eq!((error[40..42].to_vec(), error[44..48].to_vec()), (vec![1, 0], vec![0; 4]));
    for (flags, data, told) in [
        (ack, 0, false),
        (ack | fin, 0, true),
        (syn, 0, false),
        (syn | ack, 0, false),
        (syn, 100, false),
        (rst | ack, 100, false),
    ] {
        assert_eq!(no_way(&ipv4(6, 0, &segment(flags, data)), ROUTER).is_some(), told, "{flags} {data}");
    }
    assert_eq!(no_way(&ipv4(17, 0, &[7; 100]), ROUTER), None, "UDP");
    assert_eq!(no_way(&ipv4(6, 0x2000, &[7; 12]), ROUTER), None, "a short fragment");
}

#[test]
fn no_error_about_errors_fragments_multicast_and_nobody() {
    let with = |at: usize, bytes: &[u8]| {
        let mut packet = ipv4(17, 0x4000, &[7; 1400]);
        packet[at..at + bytes.len()].copy_from_slice(bytes);
        too_big(&packet, 1300, ROUTER)
    };
    assert!(with(0, &[]).is_some());
    assert_eq!(with(12, &[0; 4]), None, "from nobody");
    assert_eq!(with(16, &[224, 0, 0, 1]), None, "to many");
    assert_eq!(with(6, &[0, 1]), None, "a later fragment");
    assert_eq!(too_big(&ipv4(1, 0x4000, &[3; 1400]), 1300, ROUTER), None, "an error");
    assert!(too_big(&ipv4(1, 0x4000, &[8; 1400]), 1300, ROUTER).is_some(), "a ping");
    assert_eq!(too_big(&ipv6(58, &[2; 1400]), 1300, ROUTER), None);
    assert!(too_big(&ipv6(58, &[128; 1400]), 1300, ROUTER).is_some());
    assert_eq!(too_big(&ipv6(17, &[7; 1400]), 1300, (ROUTER.0, None)), None, "no address to send it from");
}

#[test]
fn errors_are_limited() {
    let mut budget = IcmpRateLimiter::new(Time::ZERO);
    let sent = |budget: &mut IcmpRateLimiter, at: u64| {
        (0..1000).filter(|_| budget.take(Time::from_nanos(at))).count()
    };
    assert_eq!(sent(&mut budget, 0), 50);
    // one per millisecond, and the remainder counts later: 10.5 ms, then 0.5 ms
    assert_eq!(sent(&mut budget, 10_500_000), 10);
    assert_eq!(sent(&mut budget, 11_000_000), 1);
    assert_eq!(sent(&mut budget, 60_000_000_000), 50);
}

#[test]
fn a_packet_is_divided_as_rfc_791_says() {
    // 3000 bytes of data and MTU 1300: 1280 bytes fit (160 * 8), so 1280, 1280, 440
    let data: Vec<u8> = (0..3000).map(|byte| byte as u8).collect();
    let pieces = fragment(&ipv4(17, 0, &data), 1300).unwrap();
    let places: Vec<_> = pieces
        .iter()
        .map(|piece| {
            let header = parse(piece).unwrap();
            assert_eq!(checksum::finish(checksum::sum(&piece[..20])), 0);
            let fragment = header.fragment.unwrap();
            assert_eq!(fragment.identification, 0x1234);
            (fragment.offset, fragment.more, header.length)
        })
        .collect();
    assert_eq!(places, [(0, true, 1300), (1280, true, 1300), (2560, false, 460)]);
    let joined: Vec<u8> = pieces.iter().flat_map(|piece| piece[20..].to_vec()).collect();
    assert_eq!(joined, data);
    assert_eq!(fragment(&ipv4(17, 0x4000, &data), 1300), None, "DF");
    assert_eq!(fragment(&ipv6(17, &data), 1300), None);
    // a fragment itself, with offset 8150 x 8 = 65 200 (0x1fd6): 3000 bytes more end beyond 65 515, where 13
    // bits of offset would wrap; 312 do not
    let mut last = ipv4(17, 0x1fd6, &data);
    assert_eq!(fragment(&last, 1300), None);
    last.truncate(20 + 312);
    last[2..4].copy_from_slice(&332_u16.to_be_bytes());
    assert_eq!(fragment(&last, 300).unwrap().len(), 2, "280 and 32 bytes");
    assert_eq!(fragment(&ipv4(17, 0, &[]), 1300), None, "nothing to divide");
}

#[test]
fn a_syn_announces_what_fits() {
    for six in [false, true] {
        let header = if six { 40 } else { 20 };
        // MTU 1400 less 20 or 40 bytes of IP and 20 of TCP
        let most = 1400 - header as u16 - 20;
        // the value begins at an even offset, and at an odd one after one byte of "no operation"
        for options in [&[2, 4, 5, 0xb4][..], &[1, 2, 4, 5, 0xb4], &[1, 1, 4, 2, 8, 2, 2, 4, 5, 0xb4]] {
            let mut packet = syn(options, six);
            assert_eq!(checksum::finish(tcp_sum(&packet)), 0);
            assert!(clamp_mss(&mut packet, 1400), "{options:?}");
            assert_eq!(checksum::finish(tcp_sum(&packet)), 0, "the checksum stays right");
            let at = header + 20 + options.len() - 2;
            assert_eq!(packet[at..at + 2], most.to_be_bytes());
            assert!(!clamp_mss(&mut packet, 1400), "only once");
        }
        let mut small = syn(&[2, 4, 2, 24], six);
        assert!(!clamp_mss(&mut small, 1400), "536 is small enough");
        let mut ack = syn(&[2, 4, 5, 0xb4], six);
        ack[header + 13] = 0x10;
        assert!(!clamp_mss(&mut ack, 1400), "not a SYN");
    }
}

#[test]
fn prefixes_are_read_and_compared() {
    let prefix = |text: &str| text.parse::<IpPrefix>();
    let (wide, narrow) = (prefix("10.77.0.0/16").unwrap(), prefix("10.77.3.0/24").unwrap());
    assert!(wide.overlaps(narrow) && narrow.overlaps(wide));
    assert!(!narrow.overlaps(prefix("10.77.4.0/24").unwrap()));
    assert!(!prefix("0.0.0.0/0").unwrap().overlaps(prefix("::/0").unwrap()));
    assert!(prefix("::/0").unwrap().contains("fd77::1".parse().unwrap()));
    assert!(!narrow.contains("fd77::1".parse().unwrap()));
    assert_eq!(narrow.nth(255), Some("10.77.3.255".parse().unwrap()));
    assert_eq!(narrow.nth(256), None);
    assert_eq!(IpPrefix::host("10.0.0.1".parse().unwrap()).nth(1), None);
    assert_eq!(prefix("fd77::/64").unwrap().nth(2), Some("fd77::2".parse().unwrap()));
    for wrong in ["10.0.0.0", "10.0.0.0/", "10.0.0/8", "10.0.0.0/-1", "10.0.0.0/+8", "x/8"] {
        assert!(matches!(prefix(wrong), Err(PrefixError::Form(_))), "{wrong}");
    }
    assert!(prefix("10.0.0.0/33").unwrap_err().to_string().contains("at most /32"));
    assert!(prefix("fd77::/300").unwrap_err().to_string().contains("at most /128"));
    assert!(prefix("10.77.0.5/24").unwrap_err().to_string().starts_with("expected `10.77.0.0/24`"));
}

/// Bytes that resemble a packet often enough to pass the first checks.
fn packets() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..200);
    let protocol = prop::sample::select(vec![0u8, 1, 6, 17, 43, 44, 51, 58, 60]);
    prop_oneof![
        bytes.clone(),
        (bytes.clone(), protocol.clone(), any::<u16>())
            .prop_map(|(data, next, flags)| ipv4(next, flags, &data)),
        (bytes.clone(), protocol).prop_map(|(data, next)| ipv6(next, &data)),
        (prop::collection::vec(any::<u8>(), 0..40), any::<bool>())
            .prop_map(|(options, six)| syn(&options, six)),
    ]
}

proptest! {
    #[test]
    fn no_bytes_make_anything_panic(mut packet in packets(), mtu in any::<u16>()) {
        if let Ok(header) = parse(&packet) {
            prop_assert!(header.payload <= header.length && header.length <= packet.len());
        }
        let _ = no_way(&packet, ROUTER);
        if let Some(error) = too_big(&packet, mtu, ROUTER) {
            let header = parse(&error).unwrap();
            prop_assert_eq!(header.length, error.len());
            prop_assert_eq!(header.destination, parse(&packet).unwrap().source);
            // no error is sent about an error
            prop_assert_eq!(too_big(&error, 0, ROUTER), None);
        }
        if let Some(pieces) = fragment(&packet, mtu) {
            let header = parse(&packet).unwrap();
            let data: Vec<u8> = pieces.iter().flat_map(|piece| piece[header.payload..].to_vec()).collect();
            prop_assert_eq!(&data[..], &packet[header.payload..header.length]);
            prop_assert!(pieces.iter().all(|piece| piece.len() <= usize::from(mtu)));
        }
        let before = packet.clone();
        if clamp_mss(&mut packet, mtu) {
            // changing the value and the checksum preserves the sum
            prop_assert_eq!(checksum::finish(tcp_sum(&packet)), checksum::finish(tcp_sum(&before)));
        } else {
            prop_assert_eq!(packet, before);
        }
    }

    #[test]
    fn a_prefix_is_read_as_it_is_printed(bits in any::<u128>(), length in 0u8..=128) {
        let six = IpPrefix::around(IpAddr::V6(bits.into()), length);
        prop_assert_eq!(six.to_string().parse(), Ok(six));
        let four = IpPrefix::around(IpAddr::V4((bits as u32).into()), length / 4);
        prop_assert_eq!(four.to_string().parse(), Ok(four));
        prop_assert!(six.contains(IpAddr::V6(bits.into())) && four.contains(IpAddr::V4((bits as u32).into())));
    }
}

#[test]
fn another_ecn_field_keeps_the_checksum_right() {
    for mut packet in [ipv4(17, 0x4000, &[7; 12]), ipv6(17, &[7; 12])] {
        let before = packet.clone();
        let original = parse(&before).unwrap().ecn;
        for field in [Ecn::Ce, Ecn::Ect1, Ecn::Ect0, Ecn::NotEct, original] {
            set_ecn(&mut packet, field);
            let header = parse(&packet).unwrap();
            assert_eq!(header.ecn, field);
            if header.source.is_ipv4() {
                assert_eq!(checksum::finish(checksum::sum(&packet[..IPV4_HEADER])), 0);
            }
        }
        assert_eq!(packet, before, "nothing else changes");
    }
}

/// The fields that a truncated header contains are read; `parse` accepts whole packets only.
#[test]
fn reads_what_is_left_of_a_packet() {
    // destination options of 16 bytes, then UDP
    let mut data = vec![17, 1];
    data.extend([0; 14]);
    data.extend([7; 12]);
    let packet = ipv6(60, &data);
    for length in 0..packet.len() {
        let (left, short) = (&packet[..length], Err(Malformed::Short));
        assert_eq!(parse(left), short, "{length}");
        match read(left) {
            Err(error) => assert!(error == Malformed::Short && length < IPV6_HEADER, "{length}"),
            Ok((header, fault)) if length < 42 => {
                assert_eq!((header.protocol, header.payload), (60, 40));
                assert_eq!(fault, Some(Malformed::Length));
            }
            Ok((header, fault)) => {
                assert_eq!((header.protocol, header.payload, fault), (17, 56, None), "{length}");
            }
        }
    }
    assert_eq!(read(&packet).map(|(header, _)| header), parse(&packet));
}

#[test]
fn sum_of_rfc_1071_section_3() {
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(!checksum::finish(checksum::sum(&bytes)), 0xddf2);
    let odd = !checksum::finish(checksum::sum(&bytes[..7]));
    assert_eq!(odd, 0xddf2 - 0xf7, "an odd byte is the high half of a word");
}

/// RFC 6040, figure 4: rows are the inner field, columns the outer one, both in the order of the figure.
#[test]
fn the_field_behind_a_tunnel_is_that_of_rfc_6040() {
    use Ecn::{Ce, Ect0, Ect1, NotEct};
    let fields = [NotEct, Ect0, Ect1, Ce];
    let left = fields.map(|inner| fields.map(|outer| inner.decapsulated(outer)));
    let figure = [
        [Some(NotEct), Some(NotEct), Some(NotEct), None],
        [Some(Ect0), Some(Ect0), Some(Ect1), Some(Ce)],
        [Some(Ect1), Some(Ect1), Some(Ect1), Some(Ce)],
        [Some(Ce), Some(Ce), Some(Ce), Some(Ce)],
    ];
    assert_eq!(left, figure);
}
