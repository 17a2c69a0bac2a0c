use super::*;
use proptest::prelude::*;

fn any_fragment() -> impl Strategy<Value = (u32, u8, u8, Vec<u8>)> {
    let content = proptest::collection::vec(any::<u8>(), 1..300);
    (any::<u32>(), 2..=MAX_FRAGMENTS as u8, content).prop_flat_map(|(number, count, content)| {
        (0..count).prop_map(move |index| (number, index, count, content.clone()))
    })
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let message = proptest::collection::vec(any::<u8>(), 0..300).prop_map(Bytes::from);
    prop_oneof![
        (any::<Token>(), any::<u8>(), any::<u16>()).prop_map(|(token, path, payload)| Frame::Hello {
            token,
            path,
            payload
        }),
        any::<Token>().prop_map(|token| Frame::Welcome { token }),
        (any::<u64>(), message).prop_map(|(number, message)| Frame::Message { number, message }),
        any::<u64>().prop_map(|next| Frame::Received { next }),
        (any::<u32>(), any::<u8>()).prop_map(|(id, path)| Frame::Path { id, path }),
    ]
}

proptest! {
    #[test]
    fn frames_come_back_one_by_one(frames in proptest::collection::vec(any_frame(), 0..8), cut in 0..100_usize) {
        let mut bytes = BytesMut::new();
        frames.iter().for_each(|frame| frame.encode(&mut bytes));
        let mut rest = &bytes[..];
        for expected in &frames {
            let (found, taken) = frame(rest).unwrap().expect("it is complete");
            prop_assert_eq!(&found, expected);
            // no prefix is a frame, and none is an error
            let shorter = taken * cut / 100;
            prop_assert_eq!(frame(&rest[..shorter]), Ok(None));
            rest = &rest[taken..];
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn any_bytes_are_a_frame_an_error_or_wait(bytes in proptest::collection::vec(any::<u8>(), 0..200), small in any::<bool>()) {
        let mut bytes = bytes;
        if small && bytes.len() > 4 {
            bytes[..3].fill(0); // otherwise the length is nearly always too large
        }
        if let Ok(Some((found, taken))) = frame(&bytes) {
            prop_assert!(taken <= bytes.len());
            let mut again = BytesMut::new();
            found.encode(&mut again);
            prop_assert_eq!(&again[..], &bytes[..taken], "one encoding for each frame");
        }
        if bytes.len() > 4 {
            let length = u32::from_be_bytes(bytes[..4].try_into().unwrap()) as usize;
            // the reader never waits for more than the longest frame
            prop_assert!(frame(&bytes).is_err() || length <= MAX_FRAME_LENGTH);
        }
    }

    #[test]
    fn fragments_come_back_and_anything_else_is_none(
        (number, index, count, content) in any_fragment(),
        bytes in proptest::collection::vec(any::<u8>(), 0..20),
        kind in 0..4_u8,
    ) {
        let sent = encode_fragment(number, index, count, &content);
        prop_assert_eq!(sent.len(), FRAGMENT_OVERHEAD + content.len());
        let content = Bytes::from(content);
        prop_assert_eq!(fragment(&sent), Some(Fragment { number, index, count, content }));
        prop_assert_eq!(datagram(&sent), None);
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        let bytes = Bytes::from(bytes);
        if let Some(found) = fragment(&bytes) {
            prop_assert!(found.index < found.count && (2..=16).contains(&found.count) && !found.content.is_empty());
            prop_assert_eq!(encode_fragment(found.number, found.index, found.count, &found.content), bytes);
        }
    }

    #[test]
    fn any_datagram_is_cargo_or_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..100), kind in 0..3_u8, zeros in any::<bool>()) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        if zeros && bytes.len() > 9 {
            bytes[9..].fill(0);
        }
        let bytes = Bytes::from(bytes);
        if let Some(cargo) = datagram(&bytes) {
            prop_assert_eq!(encode_datagram(&cargo, &mut PacketMemory::default()), bytes);
        }
    }

    #[test]
    fn cargo_comes_back(number in any::<u64>(), length in 8..1500_u16, bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        for cargo in [TunnelPayload::Reference { number, length }, TunnelPayload::Bytes(Bytes::from(bytes))] {
            let datagram_bytes = encode_datagram(&cargo, &mut PacketMemory::default());
            prop_assert_eq!(datagram_bytes.len(), cargo.length() + 1, "a packet and a parcel take the same room");
            prop_assert_eq!(datagram(&datagram_bytes), Some(cargo));
        }
    }
}

#[test]
fn frames_by_hand() {
    let hello = |magic: &[u8; 4], extra: usize| {
        let body = [&[1][..], magic, &[7; 16], &[3], &[4, 0xB0], &vec![0; extra]].concat();
        [&u32::try_from(body.len()).unwrap().to_be_bytes()[..], &body].concat()
    };
    let good = Frame::Hello { token: [7; 16], path: 3, payload: 1200 };
    assert_eq!(frame(&hello(b"QLT2", 0)), Ok(Some((good, 4 + 1 + 4 + 16 + 1 + 2))));
    assert_eq!(frame(&hello(b"QLT1", 0)), Err(WireError::Content(1)));
    assert_eq!(frame(&hello(b"QLT2", 1)), Err(WireError::Content(1)));
    assert_eq!(frame(&[0, 0, 0, 0]), Err(WireError::Length(0)));
    assert_eq!(frame(&[0, 1, 0, 9, 3]), Ok(None), "1 + 8 + 65 536 bytes, the longest");
    assert_eq!(frame(&[0, 1, 0, 10, 3]), Err(WireError::Length(65_546)));
    assert_eq!(frame(&[0, 0, 0, 1, 9]), Err(WireError::Kind(9)));
    assert_eq!(frame(&[0, 0, 1, 0, 2]), Err(WireError::Content(2)), "256 bytes of Welcome");
    assert_eq!(frame(&[0, 0, 0, 5, 3, 0, 0, 0, 0]), Err(WireError::Content(3)), "no number");
}

#[test]
fn datagrams_by_hand() {
    let parse = |bytes: &[u8]| datagram(&Bytes::copy_from_slice(bytes));
    assert_eq!(parse(&[]), None);
    assert_eq!(parse(&[0]), Some(TunnelPayload::Bytes(Bytes::new())));
    assert_eq!(parse(&[0, 0x45, 1]), Some(TunnelPayload::Bytes(Bytes::from_static(&[0x45, 1]))));
    assert_eq!(
        parse(&[1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0]),
        Some(TunnelPayload::Reference { number: 258, length: 10 })
    );
    assert_eq!(parse(&[1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 1]), None, "padding is zero");
    assert_eq!(parse(&[1, 0, 0, 0, 0, 0, 0, 1]), None);
    assert_eq!(parse(&[2, 0]), None);
}
