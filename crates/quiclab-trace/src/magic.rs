//! File formats by the first bytes of files.

/// Number of bytes at the beginning of a file that identify its format.
pub(crate) const HEAD_BYTES: u64 = 16;
/// Type of a pcapng section header block, which is the same in both byte orders.
pub(crate) const SECTION_HEADER: u32 = 0x0a0d_0d0a;

/// Layout of the records of a pcap file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PcapLayout {
    pub(crate) big_endian: bool,
    pub(crate) nanoseconds: bool,
    /// Length of the header of a record.
    pub(crate) record_bytes: usize,
}

/// Layout of a pcap file by its first four bytes; `None` if they are not those of pcap.
pub(crate) fn pcap_layout(magic: [u8; 4]) -> Option<PcapLayout> {
    let known = |number: u32| match number {
        0xa1b2_c3d4 => Some((false, 16)),
        0xa1b2_3c4d => Some((true, 16)),
        0xa1b2_cd34 => Some((false, 24)),
        _ => None,
    };
    let big = known(u32::from_be_bytes(magic)).map(|found| (true, found));
    let found = big.or_else(|| known(u32::from_le_bytes(magic)).map(|found| (false, found)));
    found.map(|(big_endian, (nanoseconds, record_bytes))| PcapLayout {
        big_endian,
        nanoseconds,
        record_bytes,
    })
}

/// Whether a file is pcapng, by its first bytes.
pub(crate) fn is_pcapng(head: &[u8]) -> bool {
    head.starts_with(&SECTION_HEADER.to_be_bytes())
}

/// Whether a file is a capture, by its first bytes.
pub(crate) fn is_capture(head: &[u8]) -> bool {
    is_pcapng(head) || head.first_chunk().is_some_and(|&magic| pcap_layout(magic).is_some())
}
