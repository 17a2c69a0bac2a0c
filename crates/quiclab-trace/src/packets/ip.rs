//! IP, UDP and TCP headers as they are in captures: after RFC 791, RFC 8200 section 4, RFC 768, RFC 9293 section 3.1.
//!
//! | differs from `quiclab_core::ip` | why |
//! | --- | --- |
//! | fewer bytes may be there than the header says | a snap length cut them off |
//! | a length of 0 means: to the end of the frame | segments that an offload has still to divide, also beyond 64 KiB |
//!
//! Checksums are not verified: they are often not computed yet where a sender captures.

use super::link::Passed;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// More extension headers than any host sends.
const EXTENSIONS_MAX: usize = 8;
const UDP_HEADER_BYTES: usize = 8;
const TCP_HEADER_BYTES: usize = 20;

/// Why a packet is passed over, in words for [`super::Problems`].
pub(super) type Problem = &'static str;
const CUT: Problem = "packet cut off within its headers";
const LENGTHS: Problem = "IP packet whose lengths contradict each other";

impl From<Passed> for Problem {
    fn from(passed: Passed) -> Self {
        match passed {
            Passed::Link => "link type not supported",
            Passed::NotIp => "frame of another protocol than IP",
            Passed::Cut => CUT,
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
    six: bool,
    protocol: u8,
    source: [u8; 16],
    destination: [u8; 16],
    /// Bytes on the wire.
    length: usize,
    captured: &'a [u8],
}

/// Reads an IP packet of which `packet` was captured and which had `original` bytes on the wire, or less (padding).
pub(super) fn datagram(packet: &[u8], original: usize) -> Result<Datagram<'_>, Problem> {
    let carried = match packet.first().ok_or(CUT)? >> 4 {
        4 => ipv4(packet, original)?,
        6 => ipv6(packet, original)?,
        _ => return Err("frame of another protocol than IP"),
    };
    let Carried { six, protocol, length, captured, .. } = carried;
    let port = |at: usize| captured.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]])).ok_or(CUT);
    let least = match protocol {
        TCP => TCP_HEADER_BYTES,
        UDP => UDP_HEADER_BYTES,
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
        _ => UDP_HEADER_BYTES,
    };
    if header > length || header < least {
        return Err(LENGTHS);
    }
    let mut payload_bytes = length - header;
    if protocol == UDP {
        match usize::from(port(4)?) {
            0 => {}
            length if length < UDP_HEADER_BYTES || length - UDP_HEADER_BYTES > payload_bytes => {
                return Err(LENGTHS);
            }
            length => payload_bytes = length - UDP_HEADER_BYTES,
        }
    }
    let (header, payload) = captured.split_at(header.min(captured.len()));
    Ok(Datagram {
        six,
        tcp: protocol == TCP,
        source: End { address: carried.source, port: port(0)? },
        destination: End { address: carried.destination, port: port(2)? },
        payload_bytes,
        header,
        payload: &payload[..payload.len().min(payload_bytes)],
    })
}

fn ipv4(packet: &[u8], original: usize) -> Result<Carried<'_>, Problem> {
    let fixed: &[u8; 20] = packet.first_chunk().ok_or(CUT)?;
    let header = usize::from(fixed[0] & 15) * 4;
    let length = match usize::from(u16::from_be_bytes([fixed[2], fixed[3]])) {
        0 => original,
        length => length,
    };
    if header < 20 || length < header || length > original {
        return Err(LENGTHS);
    }
    // "more fragments", or an offset
    if u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0 {
        return Err("IP fragment");
    }
    let address = |at: usize| {
        let mut address = [0; 16];
        address[12..].copy_from_slice(&fixed[at..at + 4]);
        address
    };
    Ok(Carried {
        six: false,
        protocol: fixed[9],
        source: address(12),
        destination: address(16),
        length: length - header,
        captured: packet[..packet.len().min(length)].get(header..).ok_or(CUT)?,
    })
}

fn ipv6(packet: &[u8], original: usize) -> Result<Carried<'_>, Problem> {
    let fixed: &[u8; 40] = packet.first_chunk().ok_or(CUT)?;
    let length = match usize::from(u16::from_be_bytes([fixed[4], fixed[5]])) {
        0 => original,
        length => 40 + length,
    };
    if length > original {
        return Err(LENGTHS);
    }
    let packet = &packet[..packet.len().min(length)];
    let address = |at: usize| <[u8; 16]>::try_from(&fixed[at..at + 16]).expect("sixteen bytes");
    let (mut protocol, mut at) = (fixed[6], 40);
    for _ in 0..EXTENSIONS_MAX {
        let byte = |offset: usize| packet.get(at + offset).copied().ok_or(CUT);
        let skipped = match protocol {
            // hop-by-hop options, routing, destination options, mobility: units of 8 bytes after the first
            0 | 43 | 60 | 135 => usize::from(byte(1)?) * 8 + 8,
            // authentication: units of 4 bytes, less 2 (RFC 4302 section 2.2)
            51 => usize::from(byte(1)?) * 4 + 8,
            // an "atomic" fragment is whole (RFC 6946)
            44 if u16::from_be_bytes([byte(2)?, byte(3)?]) & 0xfff9 == 0 => 8,
            44 => return Err("IP fragment"),
            _ => {
                let (source, destination) = (address(8), address(24));
                let captured = packet.get(at..).ok_or(CUT)?;
                let length = length.checked_sub(at).ok_or(LENGTHS)?;
                return Ok(Carried { six: true, protocol, source, destination, length, captured });
            }
        };
        protocol = byte(0)?;
        at += skipped;
    }
    Err("IP packet with more than 8 extension headers")
}
