//! Records of pcap files (draft-ietf-opsawg-pcap), in both byte orders.
//!
//! | differs from the draft | why |
//! | --- | --- |
//! | the "modified" format of old Linux libpcap is read: eight more bytes in each record | such files exist |
//! | a record may be longer than the snap length of the header | tools write 0 or wrong values there |
//! | no correction by the time zone, no significant figures | no known program writes values other than 0 |
//!
//! Only its length determines the end of a record: after a wrong length, no further record can be found.

use super::dissect::Dissector;
use super::layer::Frame;
use super::window::{RECORD_BYTES_MAX, ReadStop, Stop, Window};
use crate::magic::PcapLayout;
use std::io::Read;

pub(super) const HEADER_BYTES: usize = 24;

impl PcapLayout {
    fn word(self, bytes: &[u8], at: usize) -> u32 {
        let word = *bytes[at..].first_chunk().expect("the caller has counted");
        if self.big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }
}

/// Reads records to the end of the file, or to where it is truncated. The header has been read.
pub(super) fn read<R: Read>(
    window: &mut Window<'_, R>,
    layout: PcapLayout,
    to: &mut Dissector<'_>,
) -> Result<Option<ReadStop>, Stop> {
    let (link, fcs_bytes) = link_and_fcs(layout.word(window.bytes(0..HEADER_BYTES), 20));
    window.consume(HEADER_BYTES);
    loop {
        let at = window.offset();
        let broken = |why| Ok(Some(ReadStop { at, why }));
        if !window.have(layout.record_bytes)? {
            return if window.held() == 0 { Ok(None) } else { broken("the file ends within a record") };
        }
        let header = window.bytes(0..layout.record_bytes);
        let (seconds, fraction) = (layout.word(header, 0), layout.word(header, 4));
        let (captured, original) = (layout.word(header, 8) as usize, layout.word(header, 12));
        // the modified format has the number of the interface there
        let interface = if layout.record_bytes > 16 { layout.word(header, 16) } else { 0 };
        let end = layout.record_bytes + captured;
        if end > RECORD_BYTES_MAX {
            return broken("the length of a record is beyond 16 MiB");
        }
        if !window.have(end)? {
            return broken("the file ends within a record");
        }
        let unit = if layout.nanoseconds { 1 } else { 1000 };
        to.frame(&Frame {
            at: i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * unit,
            original: original.max(captured as u32),
            fcs_bytes,
            link,
            interface,
            data: window.bytes(layout.record_bytes..end),
        });
        window.consume(end);
    }
}

/// "LinkType and additional information": the type in the lower bits, with bit 26 the words of the FCS in the top four.
fn link_and_fcs(field: u32) -> (u16, u8) {
    let words = if field & 1 << 26 != 0 { (field >> 28) as u8 } else { 0 };
    (field as u16, words * 2)
}
