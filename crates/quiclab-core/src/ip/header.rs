//! Headers of IPv4 (RFC 791) and IPv6 with its extension headers (RFC 8200 section 4).
//!
//! [`parse`] is for packets that must be whole; [`read`] is for those that may be truncated, such as captured ones, and
//! for inspection of packets that nothing depends on.
//!
//! | | here | Linux |
//! | --- | --- | --- |
//! | options of IPv4 | skipped, not read | read |
//! | extension headers of IPv6 | up to 8, then "malformed" | no limit by default |
//! | header checksum of IPv4 | not verified: packets come from a kernel, or from one through the tunnel's encryption | verified |

use super::length::{IPV4_HEADER, IPV6_HEADER};
use super::tuple::Ecn;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use thiserror::Error;

/// Packet size that every link must carry whole (RFC 8200 section 5).
pub const SMALLEST_IPV6_MTU: u16 = 1280;
/// Maximum number of extension headers; no host sends more.
const MAX_EXTENSIONS: usize = 8;

/// Fields of an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// Protocol above IP and its extension headers (IANA number).
    pub protocol: u8,
    /// Offset of the payload of that protocol; in a fragment that is not the first, offset of its data.
    pub payload: usize,
    /// Length of the packet according to its header; bytes behind it do not belong to it.
    pub length: usize,
    /// Position of a fragment; `None` if the packet is whole.
    pub fragment: Option<Fragment>,
    /// Whether a router must not divide it: the DF bit of IPv4; always in IPv6.
    pub dont_fragment: bool,
    /// ECN field.
    pub ecn: Ecn,
}

/// Position of a fragment in its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Offset of its data in bytes.
    pub offset: usize,
    /// Whether more fragments follow.
    pub more: bool,
    /// Identification, the same in all fragments of a packet.
    pub identification: u32,
    /// Protocol, as far as every fragment contains it: in IPv6 the next header of the fragment header.
    pub protocol: u8,
}

/// Reason why bytes are not an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// Shorter than its header or than the length in its header.
    #[error("the packet is truncated")]
    Short,
    /// Version neither 4 nor 6.
    #[error("expected IP version 4 or 6, got {0}")]
    Version(u8),
    /// A length in the header contradicts another one.
    #[error("the lengths in the header contradict each other")]
    Length,
    /// More extension headers than the maximum.
    #[error("there are more than {MAX_EXTENSIONS} extension headers")]
    Extensions,
}

impl IpHeader {
    /// Whether it contains the first byte of the protocol above, and thus its ports or type.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.fragment.is_none_or(|fragment| fragment.offset == 0)
    }
}

/// Reads the header of a packet.
///
/// # Errors
/// If `packet` does not begin with a whole IP packet.
pub fn parse(packet: &[u8]) -> Result<IpHeader, Malformed> {
    let (header, fault) = read(packet)?;
    if packet.len() < header.length {
        return Err(Malformed::Short);
    }
    if header.length < header.payload {
        return Err(Malformed::Length);
    }
    fault.map_or(Ok(header), Err)
}

/// Reads the header of a packet that may be truncated: its fields unchanged, lengths not checked, so that the payload
/// may begin behind its end. The second value is the reason why the header or its extensions are unreliable; the
/// protocol is then that of the first extension header that was not read.
///
/// # Errors
/// If the fixed part of a header is incomplete.
pub fn read(packet: &[u8]) -> Result<(IpHeader, Option<Malformed>), Malformed> {
    match packet.first().ok_or(Malformed::Short)? >> 4 {
        4 => ipv4(packet),
        6 => ipv6(packet),
        version => Err(Malformed::Version(version)),
    }
}

fn ipv4(packet: &[u8]) -> Result<(IpHeader, Option<Malformed>), Malformed> {
    let fixed: &[u8; IPV4_HEADER] = packet.first_chunk().ok_or(Malformed::Short)?;
    let flags = u16::from_be_bytes([fixed[6], fixed[7]]);
    let (more, offset) = (flags & 0x2000 != 0, usize::from(flags & 0x1fff) * 8);
    let identification = u32::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let payload = usize::from(fixed[0] & 15) * 4;
    let header = IpHeader {
        source: Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15]).into(),
        destination: Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]).into(),
        protocol: fixed[9],
        payload,
        length: usize::from(u16::from_be_bytes([fixed[2], fixed[3]])),
        fragment: (more || offset > 0).then_some(Fragment {
            offset,
            more,
            identification,
            protocol: fixed[9],
        }),
        dont_fragment: flags & 0x4000 != 0,
        ecn: Ecn::from_codepoint(fixed[1]),
    };
    Ok((header, (payload < IPV4_HEADER).then_some(Malformed::Length)))
}

fn ipv6(packet: &[u8]) -> Result<(IpHeader, Option<Malformed>), Malformed> {
    let fixed: &[u8; IPV6_HEADER] = packet.first_chunk().ok_or(Malformed::Short)?;
    let address = |at: usize| -> IpAddr {
        let octets: [u8; 16] = fixed[at..at + 16].try_into().expect("sixteen octets");
        Ipv6Addr::from(octets).into()
    };
    let mut header = IpHeader {
        source: address(8),
        destination: address(24),
        protocol: fixed[6],
        payload: IPV6_HEADER,
        length: IPV6_HEADER + usize::from(u16::from_be_bytes([fixed[4], fixed[5]])),
        fragment: None,
        dont_fragment: true,
        ecn: Ecn::from_codepoint(fixed[0] << 4 | fixed[1] >> 4),
    };
    for _ in 0..MAX_EXTENSIONS {
        let rest = packet.get(header.payload..).unwrap_or_default();
        let skipped = match (header.protocol, rest) {
            // hop-by-hop options, routing, destination options (RFC 8200), mobility (RFC 6275), HIP (RFC 7401), Shim6
            // (RFC 5533): in units of 8 bytes after the first ones
            (0 | 43 | 60 | 135 | 139 | 140, &[_, length, ..]) => usize::from(length) * 8 + 8,
            // authentication: in units of 4 bytes, less 2 (RFC 4302 section 2.2)
            (51, &[_, length, ..]) => usize::from(length) * 4 + 8,
            (44, &[protocol, _, a, b, c, d, e, f, ..]) => {
                let place = u16::from_be_bytes([a, b]);
                let fragment = Fragment {
                    offset: usize::from(place & 0xfff8),
                    more: place & 1 != 0,
                    identification: u32::from_be_bytes([c, d, e, f]),
                    protocol,
                };
                // an "atomic" fragment is whole (RFC 6946)
                header.fragment = (fragment.more || fragment.offset > 0).then_some(fragment);
                8
            }
            (0 | 43 | 44 | 51 | 60 | 135 | 139 | 140, _) => return Ok((header, Some(Malformed::Length))),
            _ => return Ok((header, None)),
        };
        header.protocol = rest[0];
        header.payload += skipped;
        if !header.is_first() {
            return Ok((header, None));
        }
    }
    Ok((header, Some(Malformed::Extensions)))
}
