//! Format of numbers and reports, which both ends must share, with the names of tunnel/docs/protocol.md, and
//! examples: a test compares the document.

use super::number::{NUMBER, NUMBER_BITS, Tag};
use super::payload::with_header;
use super::repair::MAX_AGAIN;
use super::report::{MAX_REPORTED, Report};
use crate::packet_memory::PacketMemory;

/// Names and values.
#[must_use]
pub fn constants() -> Vec<(&'static str, String)> {
    vec![
        ("header of a numbered packet", format!("{NUMBER} bytes")),
        ("bits of a number", NUMBER_BITS.to_string()),
        ("values of a place", Tag::PLACES.to_string()),
        ("numbers that a report covers, at most", MAX_REPORTED.to_string()),
        ("times that a packet is sent again, at most", MAX_AGAIN.to_string()),
    ]
}

/// Names and bytes, without the preceding kind byte.
#[must_use]
pub fn examples() -> Vec<(&'static str, Vec<u8>)> {
    let tag = Tag { report: false, unordered: true, place: 14 };
    let report = Report { last: 0x1_0203, start: 0x1_01ff, missing: vec![0, 3] };
    let tagged = Tag { report: true, ..Tag::default() };
    vec![
        (
            "number 65535, unordered, place 14",
            with_header(0xffff, tag, b"", &mut PacketMemory::default()).to_vec(),
        ),
        (
            "report: last 66051, first 66047, missing 66047 and 66050",
            with_header(0, tagged, &report.encode(), &mut PacketMemory::default()).to_vec(),
        ),
    ]
}
