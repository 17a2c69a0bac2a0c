use super::*;

fn prefix(text: &str) -> IpPrefix {
    text.parse().unwrap()
}

fn range(start: &str, end: &str, protocol: u8) -> AddressRange {
    AddressRange { start: start.parse().unwrap(), end: end.parse().unwrap(), protocol }
}

/// Type and content of an encoded capsule.
fn content(capsule: &Capsule) -> (u64, Bytes) {
    let mut out = BytesMut::new();
    capsule.encode(&mut out);
    let (kind, first) = varint::read(&out).unwrap();
    let (length, second) = varint::read(&out[first..]).unwrap();
    assert_eq!(out.len(), first + second + length as usize);
    (kind, out.split_off(first + second).freeze())
}

#[test]
fn capsules_are_read_as_they_were_written() {
    for capsule in [
        Capsule::AddressAssign(Vec::new()),
        Capsule::AddressAssign(vec![
            CapsuleAddress { request: 1, prefix: prefix("10.77.0.2/32") },
            CapsuleAddress { request: 70, prefix: prefix("fd77::/64") },
        ]),
        Capsule::AddressRequest(vec![CapsuleAddress { request: 1, prefix: none(true) }]),
        Capsule::RouteAdvertisement(vec![
            range("10.0.0.0", "10.0.0.255", 0),
            range("10.0.1.0", "10.0.1.0", 0),
            range("0.0.0.0", "255.255.255.255", 17),
            range("::", "ffff::", 0),
        ]),
        Capsule::Datagram(Bytes::from_static(b"\0packet")),
    ] {
        let (kind, content) = content(&capsule);
        assert_eq!(parse(kind, &content), Ok(capsule));
    }
    // by hand: type 1, length 7, request 0, IPv4, 192.0.2.1/32
    let mut out = BytesMut::new();
    Capsule::AddressAssign(vec![CapsuleAddress { request: 0, prefix: prefix("192.0.2.1/32") }])
        .encode(&mut out);
    assert_eq!(&out[..], [1, 7, 0, 4, 192, 0, 2, 1, 32]);
}

#[test]
fn refusals_are_addresses_of_zeros() {
    let address = |text: &str| CapsuleAddress { request: 1, prefix: prefix(text) };
    assert!(address("0.0.0.0/32").is_refusal() && address("::/128").is_refusal());
    assert!(!address("0.0.0.0/0").is_refusal() && !address("10.0.0.1/32").is_refusal());
}

#[test]
fn anything_else_is_an_error() {
    let good = [0, 4, 192, 0, 2, 0, 24];
    let assign = |bytes: &[u8]| parse(1, &Bytes::copy_from_slice(bytes)).is_ok();
    assert!(assign(&good) && assign(&[]));
    for length in 1..good.len() {
        assert!(!assign(&good[..length]), "{length}");
    }
    assert!(!assign(&[0, 5, 192, 0, 2, 0, 24]), "a family");
    assert!(!assign(&[0, 4, 192, 0, 2, 1, 24]), "bits behind the prefix");
    assert!(!assign(&[0, 4, 192, 0, 2, 0, 33]), "a length");
    assert!(!assign(&good.repeat(MAX_ADDRESSES + 1)) && assign(&good.repeat(MAX_ADDRESSES)));
    let request = |bytes: &[u8]| parse(2, &Bytes::copy_from_slice(bytes)).is_ok();
    assert!(request(&[1, 4, 0, 0, 0, 0, 32]));
    assert!(!request(&[]) && !request(&good), "nothing asked for, and without a number");
    assert_eq!(parse(4, &Bytes::new()), Err(CapsuleError(4)));
}

#[test]
fn ranges_are_in_order_and_do_not_overlap() {
    let routes = |ranges: &[AddressRange]| {
        let (kind, content) = content(&Capsule::RouteAdvertisement(ranges.to_vec()));
        parse(kind, &content).is_ok()
    };
    let (first, second) = (range("10.0.0.0", "10.0.0.9", 0), range("10.0.0.10", "10.0.0.19", 0));
    assert!(routes(&[first, second]));
    assert!(!routes(&[second, first]) && !routes(&[first, first]));
    assert!(!routes(&[range("10.0.0.0", "10.0.0.10", 0), second]), "one address in both");
    assert!(!routes(&[range("10.0.0.2", "10.0.0.1", 0)]), "backwards");
    let six = range("::", "::1", 0);
    assert!(routes(&[first, six]) && !routes(&[six, first]));
    assert!(routes(&[second, range("10.0.0.0", "10.0.0.9", 6)]), "by protocol first");
    assert!(!routes(&[range("10.0.0.0", "10.0.0.9", 6), second]));
}
