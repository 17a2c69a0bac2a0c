//! Length of a packet on the wire of a link: overhead, framing, fragments.
//!
//! After CAKE (`cake_calc_overhead` in net/sched/sch_cake.c of Linux; man tc-cake, "Overhead compensation") and
//! tc-stab: the overhead is added to the IP packet, the sum is at least `mpu`, and the result is framed.
//!
//! | framing | bytes on the wire of a packet of n bytes | |
//! | --- | --- | --- |
//! | none | n | |
//! | atm | 53 x (n / 48, rounded up) | AAL5 fills whole cells of 48 bytes, each with a header of 5 |
//! | ptm | n + (n / 64, rounded up) | 64b/65b encoding of VDSL2 (IEEE 802.3 clause 61.3) |
//!
//! | | tc-stab, CAKE | here |
//! | --- | --- | --- |
//! | length before the overhead | tc-stab: with the Ethernet header; CAKE: the IP packet | the IP packet, with the header of a bearer |
//! | the result counts for | rate of the shaper, and its quantum | all that counts bytes in a link: serialisation, token bucket, policer, limits and quanta of the queue |
//!
//! A link with an `mtu` that fragments packets sends each fragment with its own IPv4 header (RFC 791 section 3.2: all
//! but the last contain a multiple of 8 bytes). A fragmented packet is one entry of the queue, and is lost with any of
//! its fragments.

use super::LinkConfig;
use super::config::{AboveMtu, Framing, FramingKind};
use crate::ip::IPV4_HEADER;
use crate::packet::Packet;
use crate::units::ByteCount;

/// Header of a fragment.
const HEADER: u64 = IPV4_HEADER as u64;

impl Framing {
    /// Bytes on the wire of `length` bytes.
    fn framed(self, length: u64) -> u64 {
        let length = length.saturating_add_signed(self.overhead_bytes.into()).max(self.mpu.bytes());
        match self.kind {
            FramingKind::None => length,
            FramingKind::Atm => length.div_ceil(48) * 53,
            FramingKind::Ptm => length + length.div_ceil(64),
        }
    }
}

/// The part of a link's options that determines lengths on the wire.
#[derive(Clone, Copy, Debug)]
pub struct WireFormat {
    overhead: ByteCount,
    /// `None` if a packet is sent as it is.
    framing: Option<Framing>,
    mtu: Option<ByteCount>,
    above_mtu: AboveMtu,
}

impl WireFormat {
    /// Wire format of a link.
    #[must_use]
    pub fn of(config: &LinkConfig) -> Self {
        let LinkConfig { overhead_per_packet: overhead, framing, mtu, above_mtu, .. } = *config;
        Self { overhead, framing, mtu, above_mtu }
    }

    /// Whether the link refuses an IP packet of `size`.
    #[inline]
    pub(super) fn refuses(&self, size: ByteCount) -> bool {
        self.above_mtu == AboveMtu::Drop && self.mtu.is_some_and(|mtu| size > mtu)
    }

    /// Number of fragments of an IP packet of `size`; 1 if it is not fragmented.
    #[inline]
    pub(super) fn fragments(&self, size: ByteCount) -> u64 {
        match self.mtu {
            Some(mtu) if size > mtu && self.above_mtu == AboveMtu::Fragment => {
                (size.bytes() - HEADER).div_ceil(fragment_payload(mtu))
            }
            _ => 1,
        }
    }

    /// Bytes on the wire of `packet`.
    #[inline]
    pub(super) fn length(&self, packet: &Packet) -> ByteCount {
        self.length_of(packet.size, packet.encapsulation)
    }

    /// Bytes on the wire of an IP packet of `size` with other headers before it.
    #[must_use]
    pub fn length_of(&self, size: ByteCount, headers: ByteCount) -> ByteCount {
        let added = headers + self.overhead;
        match (self.framing, self.fragments(size)) {
            (None, 1) => size + added,
            (framing, fragments) => {
                let framing = framing.unwrap_or_default();
                let framed = |size: u64| framing.framed(size + added.bytes());
                let whole = self.mtu.map_or(0, fragment_payload);
                let cut = (fragments - 1) * whole;
                let full = if fragments > 1 { framed(HEADER + whole) } else { 0 };
                ByteCount::from_bytes((fragments - 1) * full + framed(size.bytes() - cut))
            }
        }
    }
}

/// Bytes in a fragment that is not the last.
fn fragment_payload(mtu: ByteCount) -> u64 {
    (mtu.bytes() - HEADER) & !7
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(bytes: u64) -> ByteCount {
        ByteCount::from_bytes(bytes)
    }

    fn length(framing: Framing, size: u64) -> u64 {
        let config = LinkConfig { framing: Some(framing), ..LinkConfig::default() };
        WireFormat::of(&config).length_of(bytes(size), bytes(0)).bytes()
    }

    fn framing(kind: FramingKind, overhead_bytes: i16, mpu: u64) -> Framing {
        Framing { kind, overhead_bytes, mpu: bytes(mpu) }
    }

    /// 31 cells and 2: sch_cake issue 142. An ACK of 40 B with 10 B of PPPoA takes two cells, with 8 B one.
    #[test]
    fn atm_fills_cells() {
        let atm = |size| length(framing(FramingKind::Atm, 0, 0), size);
        assert_eq!([1488, 1489, 62, 48, 49, 1].map(atm), [1643, 1696, 106, 53, 106, 53]);
        assert_eq!(length(framing(FramingKind::Atm, 10, 0), 40), 106);
        assert_eq!(length(framing(FramingKind::Atm, 8, 0), 40), 53);
    }

    /// 64/65: 1500 B are 23.4 blocks.
    #[test]
    fn ptm_adds_a_byte_to_each_block() {
        let ptm = |size| length(framing(FramingKind::Ptm, 0, 0), size);
        assert_eq!([1500, 64, 65, 1].map(ptm), [1524, 65, 67, 2]);
    }

    #[test]
    fn overhead_may_be_negative_and_the_shortest_packet_has_a_length() {
        let none = |overhead, mpu, size| length(framing(FramingKind::None, overhead, mpu), size);
        assert_eq!(none(-14, 0, 1500), 1486);
        assert_eq!((none(18, 64, 40), none(18, 64, 46), none(18, 64, 47)), (64, 64, 65));
        assert_eq!(none(-64, 0, 40), 0);
        // the minimum length is that before the framing
        assert_eq!(length(framing(FramingKind::Atm, 0, 64), 40), 106);
    }

    /// 1500 B over 1280: 1256 B of payload fit in whole blocks of 8, so 1276 B and 244 B.
    #[test]
    fn fragments_have_headers_of_their_own() {
        let mtu = Some(bytes(1280));
        let config = LinkConfig {
            mtu,
            above_mtu: AboveMtu::Fragment,
            overhead_per_packet: bytes(14),
            ..LinkConfig::default()
        };
        let format = WireFormat::of(&config);
        assert_eq!((format.fragments(bytes(1280)), format.fragments(bytes(1281))), (1, 2));
        assert_eq!(format.length_of(bytes(1280), bytes(0)), bytes(1294));
        assert_eq!(format.length_of(bytes(1500), bytes(0)), bytes(1276 + 14 + 244 + 14));
        assert!(!format.refuses(bytes(1500)));
        let refusing = WireFormat::of(&LinkConfig { mtu, ..LinkConfig::default() });
        assert_eq!((refusing.refuses(bytes(1280)), refusing.refuses(bytes(1281))), (false, true));
    }

    proptest! {
        /// The fragments of a packet contain its payload, none exceeds the MTU, and their number is minimal.
        #[test]
        fn fragments_hold_the_packet(size in 21u64..9000, mtu in 68u64..9000) {
            let config = LinkConfig { mtu: Some(bytes(mtu)), above_mtu: AboveMtu::Fragment, ..LinkConfig::default() };
            let format = WireFormat::of(&config);
            let fragments = format.fragments(bytes(size));
            let on_wire = format.length_of(bytes(size), bytes(0)).bytes();
            prop_assert_eq!(on_wire, size + (fragments - 1) * HEADER);
            let last = size - (fragments - 1) * fragment_payload(bytes(mtu));
            prop_assert!(last > HEADER && last <= mtu.max(size), "{}", last);
            if fragments > 1 {
                prop_assert!(last <= mtu);
            }
        }
    }
}
