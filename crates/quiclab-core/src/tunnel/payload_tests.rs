//! Packets as payloads of datagrams, and back.

use super::*;
use crate::ByteCount;

fn model(id: u64) -> Box<Packet> {
    Box::new(Packet { id, size: ByteCount::from_bytes(1400), ..Packet::default() })
}

#[test]
fn a_parcel_is_fetched_once_at_the_other_end_and_only_there() {
    let near = PacketStores::default();
    let (mut near, mut far) =
        (PayloadEncoding::References(near.clone()), PayloadEncoding::References(near.reversed()));
    let loaded: Vec<_> =
        (0..3).map(|id| near.load(model(id), id, Numbering::Plain, Tag::default())).collect();
    assert_eq!(loaded[2], TunnelPayload::Reference { number: 2, length: 1403 });
    let id = |end: &mut PayloadEncoding, index: usize, copies| match end.decode(
        loaded[index].clone(),
        Numbering::Plain,
        copies,
    )? {
        Arrived::Packet(packet, number, _) => Some((packet.id, number)),
        Arrived::Report(_) => None,
    };
    assert_eq!(id(&mut near, 1, false), None, "it did not enter at the other end");
    assert_eq!(id(&mut far, 1, false), Some((1, 1)));
    assert_eq!(id(&mut far, 1, false), None, "it is gone");
    assert_eq!(id(&mut far, 0, true), Some((0, 0)));
    assert_eq!(id(&mut far, 0, true), Some((0, 0)), "a copy");
}

#[test]
fn a_depot_forgets_what_was_lost() {
    let mut depot = PacketStore::default();
    for id in 0..MAX_STORED_PACKETS as u64 + 10 {
        assert_eq!(depot.put(model(id)), id);
    }
    assert_eq!(depot.packets.len(), MAX_STORED_PACKETS);
    assert!(depot.get(9, false).is_none());
    assert_eq!(depot.get(10, false).unwrap().id, 10);
    assert_eq!(depot.first, 11, "what is in front and gone takes no place");
}

#[test]
fn bytes_carry_their_number_and_garbage_is_nothing() {
    let payload = Payload::Ip(BytesMut::from(&[0x45, 0, 0, 20][..]));
    let size = ByteCount::from_bytes(4);
    let packet = Box::new(Packet { size, payload, ..Packet::default() });
    for (numbering, tag, first) in [
        (Numbering::Plain, Tag::default(), 0),
        (Numbering::Tagged, Tag { place: 9, unordered: true, report: false }, 0x64),
    ] {
        let mut encoding = PayloadEncoding::Bytes(PacketMemory::default());
        let loaded = encoding.load(packet.clone(), NUMBERS + 5, numbering, tag);
        assert_eq!(loaded, TunnelPayload::Bytes(Bytes::copy_from_slice(&[first, 0, 5, 0x45, 0, 0, 20])));
        let arrived = encoding.decode(loaded, numbering, false);
        let Some(Arrived::Packet(packet, 5, found)) = arrived else { panic!("{arrived:?}") };
        assert_eq!((packet.size, found), (size, tag));
    }
    for garbage in [&[][..], &[1, 2], &[0xff, 0xff, 0xff, 1]] {
        for numbering in [Numbering::Plain, Numbering::Tagged] {
            let cargo = TunnelPayload::Bytes(Bytes::copy_from_slice(garbage));
            let mut encoding = PayloadEncoding::Bytes(PacketMemory::default());
            assert!(encoding.decode(cargo, numbering, false).is_none(), "{garbage:?}");
        }
    }
}

#[test]
fn a_datagram_moves_to_another_place_with_its_number() {
    let bytes = PayloadEncoding::Bytes(PacketMemory::default());
    for mut encoding in [bytes, PayloadEncoding::References(PacketStores::default())] {
        let payload = Payload::Ip(BytesMut::from(&[0x45; 30][..]));
        let packet = Box::new(Packet { size: ByteCount::from_bytes(30), payload, ..Packet::default() });
        let tag = Tag { place: 3, unordered: true, report: false };
        let before = encoding.load(packet.clone(), 0, Numbering::Tagged, tag);
        let there = encoding.load(packet, 0, Numbering::Tagged, Tag { place: 12, ..tag });
        let after = moved(before, 12 + 15);
        if matches!(encoding, PayloadEncoding::Bytes(_)) {
            assert_eq!(after, there);
        } else {
            let (TunnelPayload::Reference { number, .. }, TunnelPayload::Reference { number: other, .. }) =
                (after, there)
            else {
                panic!("references")
            };
            assert_eq!(
                (untagged(number), untagged(other).1),
                ((0, Tag { place: 12, ..tag }), untagged(number).1)
            );
        }
    }
}
