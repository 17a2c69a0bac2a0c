//! IP, UDP and TCP headers in captures, after RFC 791, RFC 8200 section 4, RFC 768, RFC 9293 section 3.1.
//!
//! | differs from `quiclab_core::ip::parse` | why |
//! | --- | --- |
//! | fewer bytes may be present than the header specifies | truncation by a snap length |
//! | a length of 0 means: to the end of the frame | segments before segmentation offload, also beyond 64 KiB |
//!
//! Checksums are not verified: in captures at a sender they are often not computed yet.

use super::layer::{CUT, NOT_IP, Problem, Rest};
use quiclab_core::ip::{IPV4_HEADER, IPV6_HEADER, Malformed, TCP_HEADER, UDP_HEADER, read};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
/// IP Authentication Header (RFC 4302).
const AH: u8 = 51;

const LENGTHS: Problem = "IP packet whose lengths contradict each other";

/// One end of a packet; IPv4 addresses are the last four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct End {
    address: [u8; 16],
    port: u16,
}

impl End {
    pub(super) fn address(&self) -> &[u8; 16] {
        &self.address
    }

    pub(super) fn socket(self, six: bool) -> SocketAddr {
        let [.., a, b, c, d] = self.address;
        let address =
            if six { IpAddr::from(Ipv6Addr::from(self.address)) } else { IpAddr::from([a, b, c, d]) };
        SocketAddr::new(address, self.port)
    }
}

/// A packet of TCP or UDP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Datagram<'a> {
    pub(super) six: bool,
    pub(super) tcp: bool,
    pub(super) source: End,
    pub(super) destination: End,
    /// Bytes above the TCP or UDP header on the wire.
    pub(super) payload_bytes: usize,
    /// TCP or UDP header and the bytes after it, as far as they were captured.
    pub(super) header: &'a [u8],
    pub(super) payload: &'a [u8],
    /// Bytes of the IP packet; its identification, or 0; its TTL or hop limit.
    pub(super) packet_bytes: usize,
    pub(super) identification: u16,
    pub(super) hops: u8,
}

impl Datagram<'_> {
    /// Ports of source and destination.
    pub(super) fn ports(&self) -> (u16, u16) {
        (self.source.port, self.destination.port)
    }
}

/// An IP packet that is not a fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    source: IpAddr,
    destination: IpAddr,
    /// Protocol above the header and its extensions.
    pub(super) protocol: u8,
    pub(super) body: Rest<'a>,
    /// Bytes of the packet according to its header: more than the frame has, if the file specifies too short a length.
    pub(super) length: usize,
    identification: u16,
    hops: u8,
}

/// Reads an IP packet; `rest` may end before its end (a snap length) or after it (padding).
pub(super) fn packet(rest: Rest<'_>) -> Result<Packet<'_>, Problem> {
    let (header, fault) = read(rest.bytes).map_err(|error| match error {
        Malformed::Version(_) => NOT_IP,
        _ => CUT,
    })?;
    let six = header.source.is_ipv6();
    let none = if six { IPV6_HEADER } else { 0 };
    let length = if header.length == none { rest.length } else { header.length };
    if header.payload < IPV4_HEADER || length < header.payload {
        return Err(LENGTHS);
    }
    if header.fragment.is_some() {
        return Err("IP fragment");
    }
    match fault {
        None => {}
        Some(Malformed::Extensions) => return Err("IP packet with more than 8 extension headers"),
        Some(_) => return Err(CUT),
    }
    let captured = &rest.bytes[..rest.bytes.len().min(length)];
    let mut body = Rest { bytes: captured, length }.skip(header.payload)?;
    let mut protocol = header.protocol;
    if protocol == AH && !six {
        protocol = body.byte(0)?;
        body = body.skip(usize::from(body.byte(1)?) * 4 + 8)?;
    }
    let (identification, hops) = match *rest.bytes {
        [_, _, _, _, high, low, _, _, hops, ..] if !six => (u16::from_be_bytes([high, low]), hops),
        [_, _, _, _, _, _, _, hops, ..] => (0, hops),
        _ => return Err(CUT),
    };
    let (source, destination) = (header.source, header.destination);
    Ok(Packet { source, destination, protocol, body, length, identification, hops })
}

/// Whether bytes of unknown content look like an IP packet: version and lengths are consistent.
pub(super) fn plausible(rest: Rest<'_>) -> bool {
    let Ok((header, _)) = read(rest.bytes) else { return false };
    header.payload >= IPV4_HEADER
        && header.length >= header.payload.min(IPV6_HEADER)
        && header.length <= rest.length
}

/// Reads the TCP or UDP packet in an IP packet.
pub(super) fn datagram<'a>(ip: &Packet<'a>) -> Result<Datagram<'a>, Problem> {
    let &Packet { protocol, body: Rest { bytes: captured, length }, .. } = ip;
    let port = |at: usize| ip.body.half(at);
    let least = if protocol == TCP { TCP_HEADER } else { UDP_HEADER };
    if length < least {
        return Err(LENGTHS);
    }
    let header = match protocol {
        TCP => {
            // sequence numbers, offset, flags and window; the rest may be missing
            let offset = captured.get(..16).ok_or(CUT)?[12];
            usize::from(offset >> 4) * 4
        }
        _ => UDP_HEADER,
    };
    if header > length || header < least {
        return Err(LENGTHS);
    }
    let mut payload_bytes = length - header;
    if protocol == UDP {
        match usize::from(port(4)?) {
            0 => {}
            length if length < UDP_HEADER || length - UDP_HEADER > payload_bytes => {
                return Err(LENGTHS);
            }
            length => payload_bytes = length - UDP_HEADER,
        }
    }
    let (header, payload) = captured.split_at(header.min(captured.len()));
    Ok(Datagram {
        six: ip.source.is_ipv6(),
        tcp: protocol == TCP,
        source: End { address: octets(ip.source), port: port(0)? },
        destination: End { address: octets(ip.destination), port: port(2)? },
        payload_bytes,
        header,
        payload: &payload[..payload.len().min(payload_bytes)],
        packet_bytes: ip.length,
        identification: ip.identification,
        hops: ip.hops,
    })
}

/// The octets of an address; those of IPv4 are the last four.
fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()).to_be_bytes(),
        IpAddr::V6(address) => address.octets(),
    }
}
