//! The maximum segment size that TCP announces in a SYN, lowered to fit a tunnel (RFC 9293 section 3.7.1).
//!
//! The value counts the payload only, without options of IP and TCP (RFC 6691 section 2). As the Linux target `TCPMSS
//! --set-mss`, it is only ever lowered; a missing announcement is not added.

use super::checksum;
use super::header::parse;
use super::length::{IPV4_HEADER, IPV6_HEADER, TCP_HEADER};
use std::net::IpAddr;

const TCP: u8 = 6;
const SYN: u8 = 2;

/// Lowers the announced size in a SYN so that packets have at most `mtu` bytes; true if the packet was changed.
pub fn clamp_mss(packet: &mut [u8], mtu: u16) -> bool {
    let Ok(header) = parse(packet) else { return false };
    if header.protocol != TCP || !header.is_first() {
        return false;
    }
    let ip = match header.source {
        IpAddr::V4(_) => IPV4_HEADER,
        IpAddr::V6(_) => IPV6_HEADER,
    };
    let Some(most) = mtu.checked_sub((ip + TCP_HEADER) as u16) else { return false };
    let Some(segment) = packet.get_mut(header.payload..header.length) else { return false };
    if segment.len() < TCP_HEADER || segment[13] & SYN == 0 {
        return false;
    }
    let end = usize::from(segment[12] >> 4) * 4;
    let Some(at) = segment.get(TCP_HEADER..end).and_then(announcement) else { return false };
    let at = TCP_HEADER + at;
    if u16::from_be_bytes([segment[at], segment[at + 1]]) <= most {
        return false;
    }
    // whole words of the summed bytes: the value may begin in the middle of one
    let words = at & !1..(at + 3) & !1;
    let mut before = [0; 4];
    let before = &mut before[..words.len()];
    before.copy_from_slice(&segment[words.clone()]);
    segment[at..at + 2].copy_from_slice(&most.to_be_bytes());
    let sum = u16::from_be_bytes([segment[16], segment[17]]);
    let sum = checksum::replaced(sum, before, &segment[words]);
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    true
}

/// Offset of the value of the option "maximum segment size" in `options`.
fn announcement(options: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match *options.get(at)? {
            0 => return None,
            1 => at += 1,
            kind => {
                let length = usize::from(*options.get(at + 1)?);
                if kind == 2 {
                    return (length == 4 && at + 4 <= options.len()).then_some(at + 2);
                }
                // length below the minimum: not an option (RFC 9293 section 3.1, MUST-7)
                at += (length >= 2).then_some(length)?;
            }
        }
    }
}
