//! IP, UDP and TCP headers as they are in captures: after RFC 791, RFC 8200 section 4, RFC 768, RFC 9293 section 3.1.
//!
//! | differs from `quiclab_core::ip::parse` | why |
//! | --- | --- |
//! | fewer bytes may be there than the header says | a snap length cut them off |
//! | a length of 0 means: to the end of the frame | segments that an offload has still to divide, also beyond 64 KiB |
//!
//! Checksums are not verified: they are often not computed yet where a sender captures.

use super::link::SkipReason;
use quiclab_core::ip::{IPV4_HEADER, IPV6_HEADER, IpHeader, Malformed, TCP_HEADER, UDP_HEADER, read};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Why a packet is passed over, in words for [`super::Problems`].
pub(super) type Problem = &'static str;
const CUT: Problem = "packet truncated within its headers";
const LENGTHS: Problem = "IP packet whose lengths contradict each other";

impl From<SkipReason> for Problem {
    fn from(passed: SkipReason) -> Self {
        match passed {
            SkipReason::Link => "link type not supported",
            SkipReason::NotIp => "frame of another protocol than IP",
            SkipReason::Cut => CUT,
        }
    }
}

/// One end of a packet; IPv4 addresses are the last four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct End {
    address: [u8; 16],
    port: u16,
}

impl End {
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
    /// The whole TCP or UDP header, as far as it was captured, and what was captured behind it.
    pub(super) header: &'a [u8],
    pub(super) payload: &'a [u8],
}

/// What lies above IP.
struct Carried<'a> {
    header: IpHeader,
    /// Bytes on the wire.
    length: usize,
    captured: &'a [u8],
}

/// Reads an IP packet of which `packet` was captured and which had `original` bytes on the wire, or less (padding).
pub(super) fn datagram(packet: &[u8], original: usize) -> Result<Datagram<'_>, Problem> {
    let Carried { header: ip, length, captured } = carried(packet, original)?;
    let port = |at: usize| captured.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]])).ok_or(CUT);
    let protocol = ip.protocol;
    let least = match protocol {
        TCP => TCP_HEADER,
        UDP => UDP_HEADER,
        _ => return Err("IP packet of another protocol than TCP and UDP"),
    };
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
    })
}

/// What lies above the IP header of a packet and its extension headers.
fn carried(packet: &[u8], original: usize) -> Result<Carried<'_>, Problem> {
    let (header, fault) = read(packet).map_err(|error| match error {
        Malformed::Version(_) => "frame of another protocol than IP",
        _ => CUT,
    })?;
    let none = if header.source.is_ipv6() { IPV6_HEADER } else { 0 };
    let length = if header.length == none { original } else { header.length };
    if header.payload < IPV4_HEADER || length < header.payload || length > original {
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
    let captured = packet[..packet.len().min(length)].get(header.payload..).ok_or(CUT)?;
    Ok(Carried { length: length - header.payload, header, captured })
}

/// The octets of an address; those of IPv4 are the last four.
fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()).to_be_bytes(),
        IpAddr::V6(address) => address.octets(),
    }
}
