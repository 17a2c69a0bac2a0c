//! The Internet checksum: whole (RFC 1071) and after a change of two bytes (RFC 1624).

use std::net::IpAddr;

/// Sum of 16-bit words, not folded; an odd last byte counts as the upper half of a word (RFC 1071 section 1).
pub(super) fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |&byte| u64::from(byte) << 8);
    words.fold(last, |sum, word| sum + u64::from(u16::from_be_bytes([word[0], word[1]])))
}

/// The checksum of a sum: folded and complemented.
pub(super) fn finish(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Sum of the pseudo-header of IPv6 (RFC 8200 section 8.1), or of IPv4 (RFC 9293 section 3.1): the two differ in widths
/// only, not in what is added.
pub(super) fn pseudo_header(source: IpAddr, destination: IpAddr, protocol: u8, length: usize) -> u64 {
    let address = |address: IpAddr| match address {
        IpAddr::V4(address) => sum(&address.octets()),
        IpAddr::V6(address) => sum(&address.octets()),
    };
    address(source) + address(destination) + u64::from(protocol) + length as u64
}

/// The checksum after `before` was replaced by `after`; both begin at an even place of what is summed.
///
/// RFC 1624 section 3, equation 3: HC' = ~(~HC + ~m + m').
pub(super) fn replaced(checksum: u16, before: &[u8], after: &[u8]) -> u16 {
    debug_assert!(before.len() == after.len() && before.len().is_multiple_of(2));
    let complement: u64 =
        before.chunks_exact(2).map(|word| u64::from(!u16::from_be_bytes([word[0], word[1]]))).sum();
    finish(u64::from(!checksum) + complement + sum(after))
}
