//! A modelled TCP segment: its header as values, its payload as a length.
//!
//! Sequence numbers are positions in the stream and do not wrap (the wire's are the lowest 32
//! bits); the SYN has position 0, so the first byte of data has 1 (RFC 9293 section 3.4).

use crate::accecn::AccEcnOption;
use crate::ip::TCP_HEADER;
use crate::record::Record;

/// A TCP segment (RFC 9293 section 3.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte, of SYN, or of FIN if there is no data.
    pub sequence: u64,
    /// Next sequence number expected from the peer; meaningless without [`Flags::ACK`].
    pub acknowledgement: u64,
    /// Receive window in bytes, after scaling.
    pub window: u32,
    /// TSval of the timestamps option in milliseconds (RFC 7323 section 3.2); meaningless where the
    /// connection has no timestamps.
    pub timestamp: u32,
    /// TSecr of the timestamps option; 0 without ACK.
    pub timestamp_echo: u32,
    /// Payload in bytes.
    pub length: u16,
    /// Control bits.
    pub flags: Flags,
    /// Whether it was sent before; not on the wire, for observers of a run.
    pub retransmission: bool,
    /// Options other than timestamps, or contents of the payload; boxed, because most segments have neither.
    pub options: Option<Box<SegmentOptions>>,
}

/// Options of a segment other than timestamps, and contents of its payload. A segment with data never has SACK blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentOptions {
    /// Options of a SYN.
    Syn {
        /// Maximum segment size in bytes (RFC 9293 section 3.7.1).
        mss: u16,
        /// Shift count of the window (RFC 7323 section 2.2); `None` without window scaling.
        window_scale: Option<u8>,
        /// SACK-permitted (RFC 2018 section 2).
        sack: bool,
        /// Timestamps option (RFC 7323 section 3.2).
        timestamps: bool,
        /// AccECN option with its initial values, in a SYN-ACK (RFC 9768 section 3.2.3.2.1).
        accecn: bool,
    },
    /// Selective acknowledgements, the first block that of the latest arrival, or a duplicate (RFC 2018 section 4, RFC
    /// 2883).
    Sack(SackBlocks),
    /// No option: the records of the application that begin in the payload, in order.
    Records(Vec<Record>),
    /// The AccECN option, with the other contents.
    AccEcn {
        /// The option.
        option: AccEcnOption,
        /// Selective acknowledgements; empty without such an option.
        sack: SackBlocks,
        /// Records that begin in the payload.
        records: Vec<Record>,
    },
}

/// Blocks of a SACK option: at most four fit into the option space, three with timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u64, u64); 4],
    length: u8,
}

impl SackBlocks {
    /// Adds a block `start..end` of sequence numbers.
    ///
    /// # Panics
    /// If there are four already.
    pub fn push(&mut self, start: u64, end: u64) {
        self.blocks[usize::from(self.length)] = (start, end);
        self.length += 1;
    }
    /// Keeps the first `most` blocks.
    pub fn truncate(&mut self, most: usize) {
        self.length = self.length.min(u8::try_from(most).unwrap_or(u8::MAX));
    }
    /// The blocks as (start, end), end exclusive.
    #[must_use]
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.blocks[..usize::from(self.length)]
    }
}

/// Control bits of a segment, each at its position in the header except AE, which would need a ninth bit: it has that
/// of URG, which no segment sets.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No bit set.
    pub const NONE: Self = Self(0x00);
    /// Last segment of the sender.
    pub const FIN: Self = Self(0x01);
    /// Initiates the connection.
    pub const SYN: Self = Self(0x02);
    /// Aborts the connection.
    pub const RST: Self = Self(0x04);
    /// End of a write of the application.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// ECN echo (RFC 3168 section 6.1).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168 section 6.1).
    pub const CWR: Self = Self(0x80);
    /// Accurate ECN (RFC 9768 section 3.1.1).
    pub const AE: Self = Self(0x20);

    /// The union of both sets of bits.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// The control bits as in the header (RFC 9293 section 3.1), with AE at bit 8 (RFC 9768 section 3.2.2, figure 3).
    #[must_use]
    pub const fn header_bits(self) -> u16 {
        (self.0 & !Self::AE.0) as u16 | (((self.0 & Self::AE.0) as u16) << 3)
    }
    /// The three bits AE, CWR and ECE as a number, AE the highest: the ACE field (RFC 9768 section 3.2.2).
    #[must_use]
    pub const fn ace(self) -> u8 {
        (self.has(Self::AE) as u8) << 2 | (self.has(Self::CWR) as u8) << 1 | self.has(Self::ECE) as u8
    }
    /// The bits AE, CWR and ECE that are the lowest three of `ace`.
    #[must_use]
    pub fn of_ace(ace: u8) -> Self {
        let none_or = |bit: u8, flag: Self| if ace & bit == 0 { 0 } else { flag.0 };
        Self(none_or(4, Self::AE) | none_or(2, Self::CWR) | none_or(1, Self::ECE))
    }
}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = [
            ("SYN", Self::SYN),
            ("ACK", Self::ACK),
            ("FIN", Self::FIN),
            ("RST", Self::RST),
            ("PSH", Self::PSH),
            ("ECE", Self::ECE),
            ("CWR", Self::CWR),
            ("AE", Self::AE),
        ];
        let set: Vec<_> = names.iter().filter(|(_, flag)| self.has(*flag)).map(|(name, _)| *name).collect();
        write!(f, "{}", if set.is_empty() { "-".to_owned() } else { set.join("|") })
    }
}

/// Timestamps option with two NOPs in front (RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;
/// Two NOPs, kind and length in front of the blocks of a SACK option.
const SACK_HEAD: u64 = 4;
/// Bytes of a block.
const SACK_BLOCK: u64 = 8;

impl Segment {
    /// Length of the TCP header in bytes, with options padded as in Linux.
    #[must_use]
    pub fn header_bytes(&self, timestamps: bool) -> u64 {
        let stamps = if timestamps { TIMESTAMPS } else { 0 };
        let options = match self.options.as_deref() {
            None | Some(SegmentOptions::Records(_)) => stamps,
            Some(SegmentOptions::Sack(blocks)) => {
                stamps + SACK_HEAD + SACK_BLOCK * blocks.as_slice().len() as u64
            }
            Some(SegmentOptions::AccEcn { option, sack, .. }) => {
                let blocks = sack.as_slice().len() as u64;
                let sack = if blocks > 0 { SACK_HEAD + SACK_BLOCK * blocks } else { 0 };
                stamps + sack + option.length(blocks > 0)
            }
            Some(SegmentOptions::Syn { window_scale, sack, timestamps, accecn, .. }) => {
                // MSS 4, window scale 3 + 1, SACK-permitted in the padding of the timestamps or with two NOPs
                let scale = if window_scale.is_some() { 4 } else { 0 };
                let rest = match (timestamps, sack) {
                    (true, _) => TIMESTAMPS,
                    (false, true) => 4,
                    (false, false) => 0,
                };
                4 + scale + rest + if *accecn { AccEcnOption::INITIAL.length(false) } else { 0 }
            }
        };
        TCP_HEADER as u64 + options
    }

    /// Sequence number after this segment: SYN and FIN count one each.
    #[must_use]
    pub fn end(&self) -> u64 {
        let control = u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN));
        self.sequence + u64::from(self.length) + control
    }

    /// Records that begin in the payload, as set by the application; empty without any.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        match self.options.as_deref() {
            Some(SegmentOptions::Records(records) | SegmentOptions::AccEcn { records, .. }) => records,
            _ => &[],
        }
    }

    /// Sets the records that begin in the payload.
    pub fn set_records(&mut self, said: Vec<Record>) {
        match self.options.as_deref_mut() {
            Some(SegmentOptions::AccEcn { records, .. }) => *records = said,
            _ => self.options = Some(Box::new(SegmentOptions::Records(said))),
        }
    }

    /// Removes and returns [`Segment::records`].
    #[must_use]
    pub fn take_records(&mut self) -> Vec<Record> {
        match self.options.as_deref_mut() {
            Some(SegmentOptions::Records(records) | SegmentOptions::AccEcn { records, .. }) => {
                std::mem::take(records)
            }
            _ => Vec::new(),
        }
    }

    /// The selective acknowledgements; empty without any.
    #[must_use]
    pub fn sack(&self) -> &[(u64, u64)] {
        match self.options.as_deref() {
            Some(SegmentOptions::Sack(blocks) | SegmentOptions::AccEcn { sack: blocks, .. }) => {
                blocks.as_slice()
            }
            _ => &[],
        }
    }

    /// The AccECN option, if there is one; not that of a SYN-ACK.
    #[must_use]
    pub fn accecn(&self) -> Option<AccEcnOption> {
        match self.options.as_deref() {
            Some(&SegmentOptions::AccEcn { option, .. }) => Some(option),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(options: Option<SegmentOptions>) -> Segment {
        Segment { sequence: 1, flags: Flags::ACK, options: options.map(Box::new), ..Segment::default() }
    }

    /// Lengths that tcpdump shows on Linux: 20 and 32 bytes, 40 for a SYN, 44 with one block, 60 with three.
    #[test]
    fn headers_are_as_long_as_those_of_linux() {
        assert_eq!(segment(None).header_bytes(false), 20);
        assert_eq!(segment(None).header_bytes(true), 32);
        let syn = SegmentOptions::Syn {
            mss: 1460,
            window_scale: Some(7),
            sack: true,
            timestamps: true,
            accecn: false,
        };
        assert_eq!(segment(Some(syn)).header_bytes(false), 40);
        let plain = SegmentOptions::Syn {
            mss: 1460,
            window_scale: None,
            sack: false,
            timestamps: false,
            accecn: false,
        };
        assert_eq!(segment(Some(plain)).header_bytes(false), 24);
        let mut blocks = SackBlocks::default();
        blocks.push(10, 20);
        assert_eq!(segment(Some(SegmentOptions::Sack(blocks))).header_bytes(true), 44);
        blocks.push(30, 40);
        blocks.push(50, 60);
        assert_eq!(segment(Some(SegmentOptions::Sack(blocks))).header_bytes(true), 60);
        blocks.push(70, 80);
        assert_eq!(segment(Some(SegmentOptions::Sack(blocks))).header_bytes(false), 56);
        assert_eq!(blocks.as_slice(), [(10, 20), (30, 40), (50, 60), (70, 80)]);
    }

    /// 11 bytes and a NOP; if SACK follows, its two NOPs can be the end of a shorter option (`tcp_options_write`).
    #[test]
    fn the_accecn_option_takes_the_place_of_padding() {
        let length = |fields, blocks: u64| {
            let mut sack = SackBlocks::default();
            (0..blocks).for_each(|block| sack.push(block, block + 1));
            let option = AccEcnOption { fields, ..AccEcnOption::INITIAL };
            segment(Some(SegmentOptions::AccEcn { option, sack, records: Vec::new() })).header_bytes(true)
                - 32
        };
        assert_eq!([3, 2, 1, 0].map(|fields| length(fields, 0)), [12, 8, 8, 4]);
        assert_eq!([3, 2, 1, 0].map(|fields| length(fields, 1)), [12, 8, 4, 0].map(|option| 12 + option));
        let syn = SegmentOptions::Syn {
            mss: 1460,
            window_scale: Some(7),
            sack: true,
            timestamps: true,
            accecn: true,
        };
        assert_eq!(segment(Some(syn)).header_bytes(false), 52);
    }

    #[test]
    fn control_bits_have_their_places_in_the_header() {
        let all = [Flags::FIN, Flags::SYN, Flags::RST, Flags::PSH, Flags::ACK, Flags::ECE, Flags::CWR];
        let bits = all.map(Flags::header_bits);
        assert_eq!(bits, [0x01, 0x02, 0x04, 0x08, 0x10, 0x40, 0x80]);
        // RFC 9768, figure 3: the three bits before URG
        assert_eq!(Flags::AE.with(Flags::ACK).header_bits(), 0x110);
        for ace in 0..8 {
            let flags = Flags::ACK.with(Flags::of_ace(ace));
            assert_eq!((flags.ace(), flags.header_bits()), (ace, 0x10 | u16::from(ace) << 6));
        }
        let both = Flags::SYN.with(Flags::ACK);
        assert!(both.has(Flags::SYN) && both.has(Flags::ACK) && !both.has(Flags::FIN));
        assert_eq!((Flags::NONE.header_bits(), format!("{both:?}")), (0, "SYN|ACK".to_owned()));
    }

    #[test]
    fn syn_and_fin_take_a_sequence_number_each() {
        let mut data = Segment { length: 1448, ..segment(None) };
        assert_eq!(data.end(), 1449);
        data.flags = Flags::FIN.with(Flags::ACK);
        assert_eq!(data.end(), 1450);
    }
}
