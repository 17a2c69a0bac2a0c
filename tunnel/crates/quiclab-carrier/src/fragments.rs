//! Fragmentation of datagrams that are too long for their path, in fragments of equal length, and reassembly.
//!
//! Needed during the search for the MTU of a path, and for the packets of 1280 bytes that must always pass (see
//! [`path_mtu`](super::path_mtu)). A fragment is not retransmitted: without it the datagram is lost, like a lost
//! unfragmented one.
//!
//! | bounds | |
//! | --- | --- |
//! | fragments of a datagram | 16 |
//! | incomplete datagrams of a session | 64, and 256 KiB: the oldest is discarded first |
//! | datagram with different lengths of fragments, or another count | dropped |

use super::wire::{self, FRAGMENT_OVERHEAD, Fragment, MAX_FRAGMENTS};
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

pub(crate) const MAX_INCOMPLETE: usize = 64;
pub(crate) const MAX_INCOMPLETE_BYTES: usize = 256 << 10;

/// The fragments of `datagram`, number `number`, each at most `largest` bytes; `None` if there would be too
/// many.
pub(crate) fn divide(datagram: &Bytes, number: u64, largest: u16) -> Option<Vec<Bytes>> {
    let room = usize::from(largest).checked_sub(FRAGMENT_OVERHEAD).filter(|room| *room > 0)?;
    let count = datagram.len().div_ceil(room).max(2);
    // of equal length: several leave together with segmentation offload
    let length = datagram.len().div_ceil(count).max(1);
    let count = u8::try_from(datagram.len().div_ceil(length)).ok()?;
    let fits = (2..=MAX_FRAGMENTS).contains(&usize::from(count));
    let parts = (0_u8..).zip(datagram.chunks(length));
    fits.then(|| {
        parts.map(|(index, part)| wire::encode_fragment(number as u32, index, count, part)).collect()
    })
}

/// A datagram of which some fragments have arrived.
#[derive(Debug)]
struct Incomplete {
    number: u32,
    fragments: Vec<Option<Box<[u8]>>>,
    bytes: usize,
}

/// Fragments of a session that wait for others.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    waiting: VecDeque<Incomplete>,
    bytes: usize,
    /// Number of datagrams that were given up.
    pub(crate) incomplete: u64,
}

impl Reassembly {
    /// Adds a fragment; returns the datagram that it completes.
    pub(crate) fn receive(&mut self, fragment: &Fragment) -> Option<Bytes> {
        let count = usize::from(fragment.count);
        let found = self.waiting.iter().position(|other| other.number == fragment.number);
        let at = found.unwrap_or_else(|| {
            let fragments = vec![None; count];
            self.waiting.push_back(Incomplete { number: fragment.number, fragments, bytes: 0 });
            self.waiting.len() - 1
        });
        let datagram = &mut self.waiting[at];
        // a copy: its receive buffer is not kept
        let content = fragment.content[..].into();
        match datagram.fragments.get_mut(usize::from(fragment.index)) {
            Some(slot @ None) => *slot = Some(content),
            _ => return None,
        }
        datagram.bytes += fragment.content.len();
        self.bytes += fragment.content.len();
        if datagram.fragments.iter().all(Option::is_some) {
            let datagram = self.waiting.remove(at)?;
            self.bytes -= datagram.bytes;
            let mut whole = BytesMut::with_capacity(datagram.bytes);
            datagram.fragments.iter().flatten().for_each(|content| whole.extend_from_slice(content));
            return Some(whole.freeze());
        }
        while self.waiting.len() > MAX_INCOMPLETE || self.bytes > MAX_INCOMPLETE_BYTES {
            let oldest = self.waiting.pop_front()?;
            self.bytes -= oldest.bytes;
            self.incomplete += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fragments(datagram: &Bytes, number: u64, largest: u16) -> Vec<Fragment> {
        let parts = divide(datagram, number, largest).unwrap();
        assert!(parts.iter().all(|part| part.len() <= usize::from(largest)));
        parts.iter().map(|part| wire::fragment(part).unwrap()).collect()
    }

    proptest! {
        #[test]
        fn datagrams_come_back_whatever_the_order(length in 2_usize..9000, largest in 600_u16..1400, turn in 0_usize..16) {
            let datagram: Bytes = (0..length).map(|byte| byte as u8).collect();
            let mut parts = fragments(&datagram, 7, largest);
            let turn = turn % parts.len();
            parts.rotate_left(turn);
            let other = fragments(&datagram, 8, largest);
            let mut reassembly = Reassembly::default();
            let last = parts.pop().unwrap();
            for part in parts.iter().chain(&parts).chain(&other[1..]) {
                prop_assert_eq!(reassembly.receive(part), None);
            }
            prop_assert_eq!(reassembly.receive(&last), Some(datagram.clone()));
            prop_assert_eq!(reassembly.receive(&other[0]), Some(datagram));
            prop_assert_eq!((reassembly.bytes, reassembly.waiting.len(), reassembly.incomplete), (0, 0, 0));
        }
    }

    #[test]
    fn lengths_are_equal_and_counts_bounded() {
        let datagram = Bytes::from(vec![1; 1401]);
        let lengths = |largest| {
            divide(&datagram, 0, largest).map(|parts| parts.iter().map(Bytes::len).collect::<Vec<_>>())
        };
        // 701 and 700 bytes, and 7 of the header
        assert_eq!(lengths(1160), Some(vec![708, 707]));
        // 1401 bytes in parts of 100: 15 of 94, one less in the last... 93.4 rounded up: 94 · 14 = 1316, and 85
        assert_eq!(lengths(107).map(|lengths| (lengths.len(), lengths[0], lengths[14])), Some((15, 101, 92)));
        assert_eq!(lengths(80), None, "20 fragments");
        assert_eq!(lengths(7), None);
    }

    #[test]
    fn what_waits_is_bounded_and_the_oldest_goes_first() {
        let mut reassembly = Reassembly::default();
        let part = |number, bytes| Fragment { number, index: 0, count: 2, content: vec![0; bytes].into() };
        let last = |number| Fragment { number, index: 1, count: 2, content: Bytes::from_static(&[1]) };
        for number in 0..65 {
            assert_eq!(reassembly.receive(&part(number, 10)), None);
        }
        assert_eq!((reassembly.waiting.len(), reassembly.incomplete), (MAX_INCOMPLETE, 1));
        assert_eq!(reassembly.receive(&last(64)).map(|whole| whole.len()), Some(11));
        assert_eq!(reassembly.receive(&last(0)), None, "its first fragment is gone");
        for number in 100..110 {
            assert_eq!(reassembly.receive(&part(number, 60_000)), None);
            assert!(reassembly.bytes <= MAX_INCOMPLETE_BYTES);
        }
        // another count than that of the first fragment
        let mut other = last(109);
        (other.index, other.count) = (2, 3);
        assert_eq!(reassembly.receive(&other), None);
        assert_eq!(reassembly.receive(&last(109)).map(|whole| whole.len()), Some(60_001));
    }
}
