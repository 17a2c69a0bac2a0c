//! Lengths of headers in bytes.

use super::tuple::{FiveTuple, Protocol};
use crate::units::ByteCount;

/// IPv4 without options (RFC 791 section 3.1).
pub const IPV4_HEADER: usize = 20;
/// IPv6 without extension headers (RFC 8200 section 3).
pub const IPV6_HEADER: usize = 40;
/// UDP (RFC 768).
pub const UDP_HEADER: usize = 8;
/// ICMP and ICMPv6, echoes and errors (RFC 792, RFC 4443).
pub const ICMP_HEADER: usize = 8;
/// TCP without options (RFC 9293 section 3.1).
pub const TCP_HEADER: usize = 20;

/// Length of the IP header and that of UDP or ICMP. The length of a TCP header varies: see
/// [`Segment::header_bytes`](crate::Segment).
#[must_use]
pub fn headers(tuple: FiveTuple) -> ByteCount {
    let ip = if tuple.source().is_ipv4() { IPV4_HEADER } else { IPV6_HEADER };
    let above = match tuple.protocol() {
        Protocol::Udp => UDP_HEADER,
        Protocol::Icmp => ICMP_HEADER,
        Protocol::Tcp => 0,
    };
    ByteCount::from_bytes((ip + above) as u64)
}
