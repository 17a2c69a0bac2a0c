//! IP packets: lengths of headers, and real packets as a router sees them: parsing of their headers, and the few
//! changes that it may make.
//!
//! All functions here are for untrusted bytes: each accepts any input and neither panics nor reads past its end.
//!
//! | file | after |
//! | --- | --- |
//! | `length.rs` | RFC 791, RFC 8200, RFC 768, RFC 9293 |
//! | `header.rs` | RFC 791, RFC 8200 section 4 (extension headers) |
//! | `icmp.rs` | RFC 1191 section 4, RFC 1812 section 4.3.2, RFC 4443 sections 2.4, 3.1 and 3.2, RFC 6069, RFC 8201 |
//! | `fragment.rs` | RFC 791 section 3.2 |
//! | `mss.rs` | RFC 9293 section 3.7.1, RFC 6691 |
//! | `segment.rs` | RFC 9293 section 3.1 |
//! | `checksum.rs` | RFC 1071, RFC 1624 |
//! | `mark.rs` | RFC 3168 |
//! | `prefix.rs` | RFC 4632, RFC 4291 section 2.3 |

pub mod checksum;
mod fragment;
mod header;
mod icmp;
mod length;
mod mark;
mod mss;
mod prefix;
mod segment;
mod tuple;

#[cfg(test)]
mod tests;

pub use fragment::fragment;
pub use header::{Fragment, IpHeader, Malformed, SMALLEST_IPV6_MTU, parse, read};
pub use icmp::{IcmpRateLimiter, no_way, too_big};
pub use length::{ICMP_HEADER, IPV4_HEADER, IPV6_HEADER, TCP_HEADER, UDP_HEADER, headers};
pub use mark::set_ecn;
pub use mss::clamp_mss;
pub use prefix::{IpPrefix, PrefixError};
pub use segment::{SegmentKind, segment_kind};
pub use tuple::{Ecn, FiveTuple, Protocol};
