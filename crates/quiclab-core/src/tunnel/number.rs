//! The header of a numbered datagram: 18 bits of number, and a tag of six bits above them.

/// Length in bytes of the number in front of the IP packet, for resequencing at the receiving end: 18 bits,
/// as in PDCP (TS 38.323 section 6.2.2).
pub(super) const NUMBER: usize = 3;
/// Number space of the resequencer.
pub(super) const NUMBER_BITS: u8 = 18;
pub(super) const NUMBERS: u64 = 1 << NUMBER_BITS;

/// Whether datagrams have a number, and a [`Tag`] in the bits above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbering {
    Off,
    Plain,
    Tagged,
}

impl Numbering {
    /// Length in bytes of the header in front of a packet.
    pub(super) const fn length(self) -> usize {
        if matches!(self, Self::Off) { 0 } else { NUMBER }
    }
}

/// The six bits above a number, in the first byte of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tag {
    /// Whether the datagram is a report, see `repair`.
    pub(super) report: bool,
    /// Whether the packet is delivered on arrival.
    pub(super) unordered: bool,
    /// Position of the packet among those on its path, modulo [`Tag::PLACES`].
    pub(super) place: u8,
}

impl Tag {
    /// Number of values of `place`: not 16, the number of datagrams that leave together and may be lost
    /// together.
    pub(super) const PLACES: u8 = 15;

    /// The value of `place` for a position.
    pub(super) const fn place_of(place: u64) -> u8 {
        (place % Self::PLACES as u64) as u8
    }

    /// Whether a packet with this position follows directly on one with `before`.
    pub(super) const fn follows(self, before: u8) -> bool {
        self.place == (before + 1) % Self::PLACES
    }

    pub(super) const fn bits(self) -> u8 {
        (self.report as u8) << 7 | (self.unordered as u8) << 6 | (self.place & 0xf) << 2
    }

    pub(super) const fn of_bits(bits: u8) -> Self {
        Self { report: bits & 0x80 != 0, unordered: bits & 0x40 != 0, place: bits >> 2 & 0xf }
    }
}

/// The number that is below `next` and has the lowest 18 bits of `low`, if there is one.
pub(super) fn nearest(low: u32, next: u64) -> Option<u64> {
    let newest = next.checked_sub(1)?;
    let back = newest.wrapping_sub(u64::from(low)) & (NUMBERS - 1);
    newest.checked_sub(back)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_last_one_with_its_bits() {
        assert_eq!(nearest(5, 6), Some(5));
        assert_eq!(nearest(6, 6), None, "it has not been sent");
        assert_eq!(nearest(5, NUMBERS + 6), Some(NUMBERS + 5));
        assert_eq!(nearest(7, NUMBERS + 6), Some(7));
        assert_eq!(nearest(0, 0), None);
    }
}
