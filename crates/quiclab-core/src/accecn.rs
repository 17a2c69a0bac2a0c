//! The AccECN option of TCP: payload bytes by the ECN field of their packets (RFC 9768 section 3.2.3).
//!
//! | | RFC 9768 | Linux | here |
//! | --- | --- | --- | --- |
//! | kind | 172 (Order 0: ECT(0), CE, ECT(1)) or 174 (Order 1: ECT(1), CE, ECT(0)) | sends Order 1 | as Linux |
//! | fields | unchanged ones at the end may be left out (table 5) | as many as fit | as Linux |
//! | padding | | a NOP; with SACK the two NOPs in front of it hold the end of the option | as Linux |

/// Bits of a counter on the wire.
const COUNTER_BITS: u32 = 24;
/// Kind and length, and one field, in bytes.
const BASE: u64 = 2;
const FIELD: u64 = 3;

/// An AccECN option of Order 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcnOption {
    /// Bytes that arrived with ECT(1), CE and ECT(0), in this order; initial values included, modulo 2^24.
    pub counters: [u32; 3],
    /// Number of counters on the wire: 0 to 3.
    pub fields: u8,
}

impl AccEcnOption {
    /// Option kind of Order 1.
    pub const KIND: u8 = 174;
    /// Initial values: 0 only for CE, so that clearing is visible (section 3.2.1).
    pub const INITIAL: Self = Self { counters: [1, 0, 1], fields: 3 };

    /// The option with `fields` fields for byte counts since the start of the connection.
    #[must_use]
    pub fn of_bytes(bytes: [u64; 3], fields: u8) -> Self {
        let mut counters = Self::INITIAL.counters;
        for (counter, bytes) in counters.iter_mut().zip(bytes) {
            *counter = (*counter + bytes as u32) & mask();
        }
        Self { counters, fields }
    }

    /// The fields that are present, without the initial values.
    pub fn bytes(&self) -> impl Iterator<Item = u32> {
        let initial = Self::INITIAL.counters.into_iter();
        let since = |(counter, initial): (u32, u32)| counter.wrapping_sub(initial) & mask();
        self.counters.into_iter().zip(initial).map(since).take(usize::from(self.fields))
    }

    /// Bytes that the option adds to a header, padding included; `before_sack`: a SACK option follows.
    #[must_use]
    pub const fn length(&self, before_sack: bool) -> u64 {
        let bytes = BASE + FIELD * self.fields as u64;
        // the two NOPs of SACK absorb the remainder of a word, if it is at most two bytes
        if before_sack && bytes % 4 <= 2 { bytes - bytes % 4 } else { bytes.next_multiple_of(4) }
    }

    /// Length field of the option in bytes.
    #[must_use]
    pub const fn option_length(&self) -> u8 {
        BASE as u8 + FIELD as u8 * self.fields
    }
}

/// Change of a counter from `known` to the lowest 24 bits `received`; negative if it decreased
/// (`tcp_update_ecn_bytes`).
#[must_use]
pub const fn counter_difference(received: u32, known: u64) -> i32 {
    let delta = received.wrapping_sub(known as u32) << (u32::BITS - COUNTER_BITS);
    delta as i32 >> (u32::BITS - COUNTER_BITS)
}

const fn mask() -> u32 {
    (1 << COUNTER_BITS) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 3.2.1, and RFC 9768 appendix A.1: the lowest 24 bits.
    #[test]
    fn counters_wrap_and_move_both_ways() {
        let option = AccEcnOption::of_bytes([0, 1448, (1 << 24) + 9], 3);
        assert_eq!(option.counters, [1, 1448, 10]);
        assert_eq!(option.bytes().collect::<Vec<_>>(), [0, 1448, 9]);
        assert_eq!(AccEcnOption { fields: 1, ..option }.bytes().collect::<Vec<_>>(), [0]);
        assert_eq!(counter_difference(9, (1 << 24) - 1), 10);
        assert_eq!(counter_difference(4, 1 << 24), 4);
        assert_eq!(counter_difference(0xff_ffff, 1 << 24), -1);
        assert_eq!(AccEcnOption::of_bytes([u64::from(mask()), 0, 0], 3).counters[0], 0);
    }
}
