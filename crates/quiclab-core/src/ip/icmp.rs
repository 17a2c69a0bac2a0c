//! Errors to senders, and their rate limit: for a packet that is too big, ICMP "fragmentation needed and DF set" with
//! the MTU (RFC 792, RFC 1191 section 4) and ICMPv6 "packet too big" (RFC 4443 section 3.2); for a TCP segment without
//! a route at present, "network unreachable" and "no route to destination" (RFC 4443 section 3.1), after which TCP
//! retries soon (RFC 6069).
//!
//! | | here | Linux |
//! | --- | --- | --- |
//! | length of the error | 576 bytes (RFC 1812 section 4.3.2.3), 1280 (RFC 4443 section 2.4 c) | the same |
//! | rate | token bucket: 1000 in a second, 50 at one time | `icmp_msgs_per_sec`, `icmp_msgs_burst`: the same; and one per target |
//! | MTU to IPv6 | at least 1280: a host ignores less (RFC 8201 section 4) | as it is |

use super::checksum;
use super::header::{IpHeader, SMALLEST_IPV6_MTU, parse};
use super::length::{ICMP_HEADER, IPV4_HEADER, IPV6_HEADER};
use super::segment::{SegmentKind, segment_kind};
use crate::time::{Duration, Time};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// RFC 1812 section 4.3.2.3: as much of the packet as fits in 576 bytes.
const MAX_ICMP: usize = 576;
const LARGEST_ICMPV6: usize = SMALLEST_IPV6_MTU as usize;

/// Source addresses of errors; without an address of a family no errors are sent in it.
type Router = (Option<Ipv4Addr>, Option<Ipv6Addr>);

/// Error that asks the sender of `packet` to send at most `mtu` bytes; `None` where the RFCs forbid it: for invalid
/// packets, errors, all fragments but the first, multicast, broadcast and sources that are not one host (RFC 1812
/// section 4.3.2.7; RFC 4443 section 2.4 e, with its exception for multicast).
#[must_use]
pub fn too_big(packet: &[u8], mtu: u16, router: Router) -> Option<Vec<u8>> {
    // the MTU of the next hop is in the last 16 bits (RFC 1191 section 4)
    error(packet, [(3, 4, mtu.into()), (2, 0, mtu.max(SMALLEST_IPV6_MTU).into())], router)
}

/// Error that reports to the sender of a TCP segment that its destination is unreachable at present; `None` as for
/// [`too_big`], and for other protocols, pure acknowledgements, SYN and RST: an established connection retries after
/// the same time instead of twice that (RFC 6069), where others would be given up.
#[must_use]
pub fn no_way(packet: &[u8], router: Router) -> Option<Vec<u8>> {
    if segment_kind(packet) != Some(SegmentKind::Data) {
        return None;
    }
    error(packet, [(3, 0, 0), (1, 0, 0)], router)
}

/// Type, code and the four bytes behind the checksum.
type Kind = (u8, u8, u32);

/// Builds the error for ICMP or ICMPv6 from `kinds`.
fn error(packet: &[u8], kinds: [Kind; 2], router: Router) -> Option<Vec<u8>> {
    let header = parse(packet).ok()?;
    let packet = &packet[..header.length];
    if !header.is_first() || is_error(&header, packet) {
        return None;
    }
    match (header.source, header.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let nobody = |address: Ipv4Addr| address.is_multicast() || address.is_broadcast();
            if source.is_unspecified() || nobody(source) || nobody(destination) || source.octets()[0] >= 240 {
                return None;
            }
            Some(icmp(router.0?, source, packet, kinds[0]))
        }
        (IpAddr::V6(source), IpAddr::V6(_)) => {
            if source.is_unspecified() || source.is_multicast() {
                return None;
            }
            Some(icmpv6(router.1?, source, packet, kinds[1]))
        }
        _ => unreachable!("both addresses are of one family"),
    }
}

/// Whether a packet is an ICMP error, or cannot be distinguished from one.
fn is_error(header: &IpHeader, packet: &[u8]) -> bool {
    let kind = packet.get(header.payload);
    match header.protocol {
        // unreachable, source quench, redirect, time exceeded, parameter problem
        ICMP => kind.is_none_or(|kind| matches!(kind, 3 | 4 | 5 | 11 | 12)),
        // errors have the upper bit 0 (RFC 4443 section 2.1); redirect is 137
        ICMPV6 => kind.is_none_or(|&kind| kind < 128 || kind == 137),
        _ => false,
    }
}

fn icmp(router: Ipv4Addr, to: Ipv4Addr, packet: &[u8], kind: Kind) -> Vec<u8> {
    let quoted = &packet[..packet.len().min(MAX_ICMP - IPV4_HEADER - ICMP_HEADER)];
    let length = (IPV4_HEADER + ICMP_HEADER + quoted.len()) as u16;
    let mut error = Vec::with_capacity(usize::from(length));
    // precedence "internetwork control" (RFC 1812 section 4.3.2.5)
    error.extend([0x45, 0xc0]);
    error.extend(length.to_be_bytes());
    error.extend([0, 0, 0x40, 0, 64, ICMP, 0, 0]);
    error.extend(router.octets());
    error.extend(to.octets());
    let sum = checksum::finish(checksum::sum(&error));
    error[10..12].copy_from_slice(&sum.to_be_bytes());
    let (kind, code, rest) = kind;
    error.extend([kind, code, 0, 0]);
    error.extend(rest.to_be_bytes());
    error.extend(quoted);
    let sum = checksum::finish(checksum::sum(&error[IPV4_HEADER..]));
    error[22..24].copy_from_slice(&sum.to_be_bytes());
    error
}

fn icmpv6(router: Ipv6Addr, to: Ipv6Addr, packet: &[u8], (kind, code, rest): Kind) -> Vec<u8> {
    let quoted = &packet[..packet.len().min(LARGEST_ICMPV6 - IPV6_HEADER - ICMP_HEADER)];
    let length = ICMP_HEADER + quoted.len();
    let mut error = Vec::with_capacity(IPV6_HEADER + length);
    error.extend([0x60, 0, 0, 0]);
    error.extend((length as u16).to_be_bytes());
    error.extend([ICMPV6, 64]);
    error.extend(router.octets());
    error.extend(to.octets());
    error.extend([kind, code, 0, 0]);
    error.extend(rest.to_be_bytes());
    error.extend(quoted);
    let pseudo = checksum::pseudo_header(router.into(), to.into(), ICMPV6, length);
    let sum = checksum::finish(pseudo + checksum::sum(&error[IPV6_HEADER..]));
    error[42..44].copy_from_slice(&sum.to_be_bytes());
    error
}

/// Rate limit of errors: a token bucket (RFC 4443 section 2.4 f, RFC 1812 section 4.3.2.8).
#[derive(Clone, Copy, Debug)]
pub struct IcmpRateLimiter {
    /// Accumulated time; one error costs [`Self::INTERVAL`].
    saved: Duration,
    at: Time,
}

impl IcmpRateLimiter {
    /// Mean time between errors.
    pub const INTERVAL: Duration = Duration::from_millis(1);
    /// Maximum burst of errors.
    pub const BURST: u64 = 50;

    /// Creates a full bucket.
    #[must_use]
    pub fn new(now: Time) -> Self {
        Self { saved: Self::INTERVAL * Self::BURST, at: now }
    }

    /// Whether one more error may be sent now; if so, it is counted as sent.
    pub fn take(&mut self, now: Time) -> bool {
        self.saved = (self.saved + now.since(self.at)).min(Self::INTERVAL * Self::BURST);
        self.at = self.at.max(now);
        if self.saved < Self::INTERVAL {
            return false;
        }
        self.saved = self.saved - Self::INTERVAL;
        true
    }
}
