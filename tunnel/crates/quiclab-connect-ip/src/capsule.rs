//! The capsules of CONNECT-IP (RFC 9484 section 4.7), and DATAGRAM (RFC 9297 section 3.5).
//!
//! The parser fails closed: a field out of range, missing or extra bytes, unsorted address ranges, and too many entries
//! make a capsule an error, which ends the request (RFC 9484 sections 4.7.1 to 4.7.3).

use super::records::{self, Rule};
use super::varint::{self, Fields};
use bytes::{BufMut, Bytes, BytesMut};
use quiclab_core::ip::IpPrefix;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Type of DATAGRAM.
const DATAGRAM: u64 = 0;
const ADDRESS_ASSIGN: u64 = 1;
const ADDRESS_REQUEST: u64 = 2;
const ROUTE_ADVERTISEMENT: u64 = 3;
/// Maximum length of a capsule: 1024 ranges of IPv6, or an HTTP Datagram with an IP packet of any length.
pub const MAX_CAPSULE_BYTES: usize = 1 << 16;
/// Maximum number of addresses in a capsule.
pub const MAX_ADDRESSES: usize = 64;
/// Maximum number of address ranges in a capsule.
pub const MAX_RANGES: usize = 1024;

/// A capsule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capsule {
    /// All addresses that the peer may use from now on.
    AddressAssign(Vec<CapsuleAddress>),
    /// Addresses that this end requests; at least one.
    AddressRequest(Vec<CapsuleAddress>),
    /// All destinations that may be used from now on, in order and without overlaps.
    RouteAdvertisement(Vec<AddressRange>),
    /// An HTTP Datagram on the stream.
    Datagram(Bytes),
}

/// An address or a network, and the request that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapsuleAddress {
    /// Number of the request; 0 in an assignment without a request.
    pub request: u64,
    /// The network; in a request all of its bits may be 0, and in an assignment that means a refusal.
    pub prefix: IpPrefix,
}

impl CapsuleAddress {
    /// Whether it assigns no address: an address of zeros with the longest prefix (RFC 9484 section 4.7.1).
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.prefix == none(self.prefix.is_ipv4())
    }
}

/// Address that means none, or any.
#[must_use]
pub fn none(ipv4: bool) -> IpPrefix {
    IpPrefix::host(if ipv4 { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() })
}

/// Destinations from `start` to `end`, both inclusive and of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    /// The first.
    pub start: IpAddr,
    /// The last.
    pub end: IpAddr,
    /// Number of the protocol in the header of IP; 0: any.
    pub protocol: u8,
}

/// Error of the content of a capsule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a malformed capsule of type {0}")]
pub struct CapsuleError(pub u64);

/// Rule for a capsule of this type: unknown ones are ignored (RFC 9297 section 3.2).
#[must_use]
pub fn rule(kind: u64) -> Rule {
    match kind {
        DATAGRAM | ADDRESS_ASSIGN | ADDRESS_REQUEST | ROUTE_ADVERTISEMENT => Rule::Whole(MAX_CAPSULE_BYTES),
        _ => Rule::Skip,
    }
}

/// Parses a capsule of a type that [`rule`] knows.
///
/// # Errors
/// If its content is malformed.
pub fn parse(kind: u64, content: &Bytes) -> Result<Capsule, CapsuleError> {
    let error = CapsuleError(kind);
    let mut fields = Fields(content);
    match kind {
        DATAGRAM => Ok(Capsule::Datagram(content.clone())),
        ADDRESS_ASSIGN => addresses(&mut fields).map(Capsule::AddressAssign).ok_or(error),
        ADDRESS_REQUEST => {
            let wanted = addresses(&mut fields).ok_or(error)?;
            // section 4.7.2: one or more, each with a number that is not 0
            let valid = !wanted.is_empty() && wanted.iter().all(|address| address.request != 0);
            valid.then_some(Capsule::AddressRequest(wanted)).ok_or(error)
        }
        ROUTE_ADVERTISEMENT => ranges(&mut fields).map(Capsule::RouteAdvertisement).ok_or(error),
        _ => Err(error),
    }
}

fn addresses(fields: &mut Fields<'_>) -> Option<Vec<CapsuleAddress>> {
    let mut all = Vec::new();
    while !fields.0.is_empty() {
        let request = fields.varint()?;
        let ipv4 = family(fields)?;
        let address = address(fields, ipv4)?;
        let length = fields.byte().filter(|length| *length <= if ipv4 { 32 } else { 128 })?;
        let prefix = IpPrefix::around(address, length);
        if prefix.network() != address || all.len() == MAX_ADDRESSES {
            return None;
        }
        all.push(CapsuleAddress { request, prefix });
    }
    Some(all)
}

fn ranges(fields: &mut Fields<'_>) -> Option<Vec<AddressRange>> {
    let mut all: Vec<AddressRange> = Vec::new();
    while !fields.0.is_empty() {
        let ipv4 = family(fields)?;
        let (start, end) = (address(fields, ipv4)?, address(fields, ipv4)?);
        let range = AddressRange { start, end, protocol: fields.byte()? };
        // section 4.7.3: by version, then by protocol, then by address, without overlaps
        let follows = all.last().is_none_or(|last| {
            let (before, after) = (last.start.is_ipv6(), start.is_ipv6());
            (before, last.protocol) < (after, range.protocol)
                || (before, last.protocol) == (after, range.protocol) && last.end < start
        });
        if start > end || !follows || all.len() == MAX_RANGES {
            return None;
        }
        all.push(range);
    }
    Some(all)
}

fn family(fields: &mut Fields<'_>) -> Option<bool> {
    match fields.byte()? {
        4 => Some(true),
        6 => Some(false),
        _ => None,
    }
}

fn address(fields: &mut Fields<'_>, ipv4: bool) -> Option<IpAddr> {
    if ipv4 {
        let octets: [u8; 4] = fields.take(4)?.try_into().ok()?;
        return Some(octets.into());
    }
    let octets: [u8; 16] = fields.take(16)?.try_into().ok()?;
    Some(octets.into())
}

impl Capsule {
    /// Appends the capsule to `out`.
    pub fn encode(&self, out: &mut BytesMut) {
        let mut content = BytesMut::new();
        let kind = match self {
            Self::AddressAssign(addresses) => {
                addresses.iter().for_each(|address| put_address(&mut content, address));
                ADDRESS_ASSIGN
            }
            Self::AddressRequest(addresses) => {
                addresses.iter().for_each(|address| put_address(&mut content, address));
                ADDRESS_REQUEST
            }
            Self::RouteAdvertisement(ranges) => {
                for range in ranges {
                    content.put_u8(if range.start.is_ipv4() { 4 } else { 6 });
                    put_octets(&mut content, range.start);
                    put_octets(&mut content, range.end);
                    content.put_u8(range.protocol);
                }
                ROUTE_ADVERTISEMENT
            }
            Self::Datagram(bytes) => {
                content.put_slice(bytes);
                DATAGRAM
            }
        };
        records::write(out, kind, &content);
    }
}

fn put_address(out: &mut BytesMut, address: &CapsuleAddress) {
    varint::write(out, address.request);
    out.put_u8(if address.prefix.is_ipv4() { 4 } else { 6 });
    put_octets(out, address.prefix.network());
    out.put_u8(address.prefix.length());
}

fn put_octets(out: &mut BytesMut, address: IpAddr) {
    match address {
        IpAddr::V4(address) => out.put_slice(&address.octets()),
        IpAddr::V6(address) => out.put_slice(&address.octets()),
    }
}

#[cfg(test)]
#[path = "capsule_tests.rs"]
mod tests;
