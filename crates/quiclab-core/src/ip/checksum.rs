//! The Internet checksum: whole (RFC 1071) and after a change of two bytes (RFC 1624).

use std::net::IpAddr;

/// Sum of 16-bit words, not folded; an odd last byte counts as the upper half of a word (RFC 1071 section 1).
///
/// Four bytes at a time: 2^16 is 1 modulo 2^16 - 1, so the upper halves may be folded at the end.
#[must_use]
pub fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    words.iter().chain([&last]).map(|word| u64::from(u32::from_be_bytes(*word))).sum()
}

/// The checksum of a sum: folded and complemented.
#[must_use]
pub fn finish(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Sum of the pseudo-header of IPv6 (RFC 8200 section 8.1), or of IPv4 (RFC 9293 section 3.1): the two differ
/// only in field widths, not in the sum.
#[must_use]
pub fn pseudo_header(source: IpAddr, destination: IpAddr, protocol: u8, length: usize) -> u64 {
    let address = |address: IpAddr| match address {
        IpAddr::V4(address) => sum(&address.octets()),
        IpAddr::V6(address) => sum(&address.octets()),
    };
    address(source) + address(destination) + u64::from(protocol) + length as u64
}

/// The checksum after `before` was replaced by `after`; both begin at an even offset of the summed bytes.
///
/// RFC 1624 section 3, equation 3: HC' = ~(~HC + ~m + m').
pub(super) fn replaced(checksum: u16, before: &[u8], after: &[u8]) -> u16 {
    debug_assert!(before.len() == after.len() && before.len().is_multiple_of(2));
    let complement: u64 =
        before.chunks_exact(2).map(|word| u64::from(!u16::from_be_bytes([word[0], word[1]]))).sum();
    finish(u64::from(!checksum) + complement + sum(after))
}
