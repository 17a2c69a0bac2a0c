//! Counts of the receiving half (RFC 9768 section 3.2; `tcp_ecn_received_counters`,
//! `tcp_options_fit_accecn`).

use super::INITIAL;
use quiclab_core::{AccEcnOption, Ecn, Flags, SackBlocks};

/// Number of unreported marks from which an acknowledgement is not delayed (`TCP_ACCECN_ACE_MAX_DELTA`).
const MAX_PENDING: u32 = 6;
/// Maximum bytes of options (RFC 9293 section 3.1), and bytes of the timestamps option and of SACK before its
/// blocks.
const OPTION_SPACE: u64 = 40;
const TIMESTAMPS: u64 = 12;
const SACK_HEAD: u64 = 4;
const SACK_BLOCK: u64 = 8;
/// Minimum number of SACK blocks that the option does not displace (section 3.2.3.3: "MUST give precedence to
/// the SACK option" with two).
const MIN_BLOCKS: usize = 2;

/// Counts of received packets and bytes by ECN field.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Received {
    /// Number of packets with marks plus the initial value.
    marked: u64,
    /// Payload of packets with ECT(1), CE and ECT(0), in bytes.
    bytes: [u64; 3],
    /// Number of packets with marks since the last segment that reported them.
    pending: u32,
    /// Field of the last packet.
    last: Ecn,
    /// Number of fields that the next option must have to cover changes since the last one.
    required: u8,
}

impl Received {
    /// Makes the counts of a connection whose SYN or SYN-ACK arrived with the field `last`, `marked` if that
    /// counts as a mark.
    pub(in crate::tcp) fn new(last: Ecn, marked: bool) -> Self {
        Self { marked: INITIAL + u64::from(marked), bytes: [0; 3], pending: 0, last, required: 0 }
    }

    /// Adds a packet with `field` and `payload` bytes. Returns whether its field differs from the last one,
    /// which must be acknowledged at once.
    pub(in crate::tcp) fn on_packet(&mut self, field: Ecn, payload: u64) -> bool {
        let index = match field {
            Ecn::NotEct => None,
            Ecn::Ect1 => Some(0),
            Ecn::Ce => Some(1),
            Ecn::Ect0 => Some(2),
        };
        if field == Ecn::Ce {
            self.marked += 1;
            self.pending += 1;
        }
        if let Some(index) = index.filter(|_| payload > 0) {
            self.bytes[index] += payload;
            self.required = self.required.max(index as u8 + 1);
        }
        std::mem::replace(&mut self.last, field) != field
    }

    /// Whether an acknowledgement must not be delayed because the count of marks would wrap.
    pub(in crate::tcp) const fn is_urgent(&self) -> bool {
        self.pending >= MAX_PENDING
    }

    /// Takes the ACE field of a segment that is sent now.
    pub(in crate::tcp) fn tell(&mut self) -> Flags {
        self.pending = 0;
        Flags::of_ace(self.marked as u8)
    }

    /// Takes the option of a segment that is sent now with `sack` blocks, of which some may be omitted to
    /// make room; `None`: it does not fit.
    pub(in crate::tcp) fn option(&mut self, timestamps: bool, sack: &mut SackBlocks) -> Option<AccEcnOption> {
        let (fields, blocks) = fit(self.required, sack.as_slice().len(), timestamps)?;
        sack.truncate(blocks);
        self.required = 0;
        Some(AccEcnOption::of_bytes(self.bytes, fields))
    }
}

/// Fields of the option and SACK blocks of a segment, of at least `required` fields and at most `blocks` blocks.
fn fit(required: u8, blocks: usize, timestamps: bool) -> Option<(u8, usize)> {
    let fits = |fields: u8, blocks: usize| {
        let stamps = if timestamps { TIMESTAMPS } else { 0 };
        let sack = if blocks > 0 { SACK_HEAD + SACK_BLOCK * blocks as u64 } else { 0 };
        stamps + sack + AccEcnOption { fields, ..AccEcnOption::INITIAL }.length(blocks > 0) <= OPTION_SPACE
    };
    // a block is omitted only for fields that have changed
    let least = if required > 0 { blocks.min(MIN_BLOCKS) } else { blocks };
    (least..=blocks).rev().find_map(|blocks| {
        (required..=3).rev().find(|fields| fits(*fields, blocks)).map(|fields| (fields, blocks))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(count: u64) -> SackBlocks {
        let mut sack = SackBlocks::default();
        (0..count).for_each(|block| sack.push(10 * block, 10 * block + 5));
        sack
    }

    /// Section 3.2.1: r.cep = 5, and three bits of it.
    #[test]
    fn marks_are_counted_in_three_bits() {
        let mut received = Received::new(Ecn::NotEct, false);
        assert_eq!(received.tell().ace(), 5);
        assert!(received.on_packet(Ecn::Ect0, 1000));
        assert!(!received.on_packet(Ecn::Ect0, 1000));
        assert!(received.on_packet(Ecn::Ce, 1000), "change-triggered");
        assert!(!received.on_packet(Ecn::Ce, 0), "pure acknowledgements count");
        assert_eq!(received.tell().ace(), 7);
        received.on_packet(Ecn::Ce, 500);
        assert_eq!(received.tell().ace(), 0);
        let option = received.option(true, &mut SackBlocks::default()).unwrap();
        assert_eq!(option.bytes().collect::<Vec<_>>(), [0, 1500, 2000]);
        assert_eq!(Received::new(Ecn::Ce, true).tell().ace(), 6);
    }

    #[test]
    fn many_marks_do_not_wait() {
        let mut received = Received::new(Ecn::Ect0, false);
        let urgent: Vec<_> = (0..7)
            .map(|_| {
                received.on_packet(Ecn::Ce, 0);
                received.is_urgent()
            })
            .collect();
        assert_eq!(urgent, [false, false, false, false, false, true, true]);
        received.tell();
        assert!(!received.is_urgent());
    }

    /// 40 bytes less 12 of timestamps, and 4 + 8 n of SACK. All fields are 12 bytes; beside SACK two are 8, one 4, none 0.
    #[test]
    fn the_option_takes_the_room_that_is_left() {
        let with = |required, blocks| fit(required, blocks, true);
        assert_eq!(with(3, 0), Some((3, 0)));
        assert_eq!(with(3, 1), Some((3, 1)), "24 of 28");
        assert_eq!(with(2, 2), Some((2, 2)), "28 of 28");
        assert_eq!(with(3, 2), None, "ECT(0) has changed, and no block may go");
        // three blocks fill the space: the empty option takes the place of two NOPs, or a block makes room
        assert_eq!(with(0, 3), Some((0, 3)));
        assert_eq!(with(2, 3), Some((2, 2)));
        assert_eq!(with(1, 3), Some((2, 2)));
        assert_eq!(with(3, 3), None);
        // without timestamps 40 bytes: four blocks leave 4, three 12
        assert_eq!(fit(1, 4, false), Some((1, 4)));
        assert_eq!(fit(3, 4, false), Some((3, 3)));
        assert_eq!(fit(0, 4, false), Some((1, 4)));
    }

    #[test]
    fn what_is_not_told_stays_required() {
        let mut received = Received::new(Ecn::NotEct, false);
        received.on_packet(Ecn::Ect0, 100);
        assert_eq!(received.option(true, &mut blocks(2)), None);
        received.on_packet(Ecn::Ect1, 100);
        assert_eq!(received.option(true, &mut blocks(2)), None);
        assert_eq!(received.option(true, &mut blocks(1)).unwrap().fields, 3);
        let mut sack = blocks(3);
        received.on_packet(Ecn::Ce, 100);
        assert_eq!(received.option(true, &mut sack).unwrap().fields, 2);
        assert_eq!(sack.as_slice(), blocks(2).as_slice(), "the last block goes");
    }
}
