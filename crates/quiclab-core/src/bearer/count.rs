//! Sequence numbers and COUNT (TS 38.323 sections 5.2.2.1, 6.2.2, 6.3.2, 6.3.5, 7.1 and 7.2).
//!
//! COUNT numbers the packets of a bearer from 0. A packet carries only its lowest bits, the sequence number;
//! the receiver infers the rest, the hyper frame number (HFN), as the value that brings COUNT closest to
//! RX_DELIV: into RX_DELIV - Window_Size to RX_DELIV + Window_Size - 1, where Window_Size is half of the
//! sequence space.
//!
//! | | TS 38.323 | here |
//! | --- | --- | --- |
//! | COUNT after 2^32 - 1 | "does not wrap around" (6.3.5): the network renews the keys first | continues: COUNT has 64 bits. Without ciphering nothing depends on its length, and HFN is never sent |
//! | HFN(RX_DELIV) - 1 where HFN is 0 | not mentioned | there is no such packet: it counts as late |

use crate::units::ByteCount;

/// Length of a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SequenceBits(u8);

impl SequenceBits {
    /// 12 or 18 bits as in the standard, or 16 as in the published testbed.
    pub(super) fn new(bits: u8) -> Self {
        assert!(
            matches!(bits, 12 | 16 | 18),
            "a valid bearer has sequence numbers of 12, 16 or 18 bits, got {bits}"
        );
        Self(bits)
    }

    /// Window_Size (section 7.2): half of the sequence space.
    pub(super) const fn window(self) -> u64 {
        1 << (self.0 - 1)
    }

    /// Overhead of the number in a packet: a data PDU header with the D/C bit, reserved bits and 12 or 18
    /// bits of number (section 6.2.2), or the testbed's trailer of 16 bits.
    pub(super) const fn encapsulation(self) -> ByteCount {
        ByteCount::from_bytes(if self.0 == 18 { 3 } else { 2 })
    }

    /// The sequence number of `count`: TX_NEXT modulo 2^bits (section 5.2.1).
    pub(super) const fn sequence(self, count: u64) -> u32 {
        (count & (2 * self.window() - 1)) as u32
    }

    /// RCVD_COUNT of a packet numbered `sequence` (section 5.2.2.1); `None` if it would lie before
    /// the first COUNT.
    pub(super) const fn received_count(self, sequence: u32, rx_deliv: u64) -> Option<u64> {
        let (sequence, window) = (sequence as u64, self.window());
        let (hfn, low) = (rx_deliv >> self.0, self.sequence(rx_deliv) as u64);
        let received_hfn = if sequence + window < low {
            hfn + 1
        } else if sequence >= low + window {
            match hfn.checked_sub(1) {
                Some(hfn) => hfn,
                None => return None,
            }
        } else {
            hfn
        };
        Some((received_hfn << self.0) | sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits(bits: u8) -> SequenceBits {
        SequenceBits::new(bits)
    }

    #[test]
    fn encapsulation_and_window_of_each_length() {
        for (length, bytes, window) in [(12, 2, 2048), (16, 2, 32_768), (18, 3, 131_072)] {
            assert_eq!(bits(length).encapsulation(), ByteCount::from_bytes(bytes));
            assert_eq!(bits(length).window(), window);
        }
    }

    /// Section 5.2.2.1 with 12 bits (Window_Size 2048), computed by hand.
    #[test]
    fn hyper_frame_numbers_by_hand() {
        let count = |sequence, rx_deliv| bits(12).received_count(sequence, rx_deliv);
        // HFN 1, low part 0: 2047 is the farthest ahead, 2048 the farthest behind
        assert_eq!(count(2047, 4096), Some(4096 + 2047));
        assert_eq!(count(2048, 4096), Some(2048));
        // HFN 1, low part 4095: the next number is 0 of HFN 2; 2046 is 2047 ahead, 2047 is 2048 behind
        assert_eq!(count(0, 8191), Some(8192));
        assert_eq!(count(2046, 8191), Some(8192 + 2046));
        assert_eq!(count(2047, 8191), Some(4096 + 2047));
    }

    #[test]
    fn nothing_comes_before_the_first_count() {
        let count = |sequence, rx_deliv| bits(12).received_count(sequence, rx_deliv);
        assert_eq!(count(2047, 0), Some(2047));
        assert_eq!(count(2048, 0), None);
        assert_eq!(count(4095, 10), None);
        assert_eq!(count(2058, 10), None);
        assert_eq!(count(2057, 10), Some(2057));
    }

    #[test]
    fn count_goes_on_beyond_32_bits() {
        let last = u64::from(u32::MAX);
        for length in [12, 16, 18] {
            assert_eq!(bits(length).sequence(last + 1), 0);
            assert_eq!(bits(length).received_count(0, last), Some(last + 1));
            assert_eq!(bits(length).received_count(bits(length).sequence(last), last + 1), Some(last));
        }
    }

    proptest! {
        /// The definition without HFN: the only COUNT with this sequence number within half of the space
        /// around RX_DELIV, found by exhaustive search.
        #[test]
        fn is_the_only_candidate_in_the_window(
            length in prop::sample::select(vec![12u8, 16, 18]),
            base in prop::sample::select(vec![0u64, 4096, 1 << 18, (1 << 32) - 5000, 1 << 32]),
            offset in 0u64..10_000,
            distance in -131_072i64..131_072,
        ) {
            let (bits, rx_deliv) = (bits(length), base + offset);
            let window = bits.window() as i64;
            let distance = distance.rem_euclid(2 * window) - window;
            let count = rx_deliv.checked_add_signed(distance);
            let sequence = (rx_deliv as i64 + distance).rem_euclid(2 * window) as u32;
            prop_assert_eq!(bits.received_count(sequence, rx_deliv), count);
            if let Some(count) = count {
                prop_assert_eq!(bits.sequence(count), sequence);
            }
        }
    }
}
