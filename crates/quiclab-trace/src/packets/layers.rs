//! Dissection of a frame down to its TCP or UDP packet: link header, tags, labels, tunnels, header by header.
//!
//! | file | headers |
//! | --- | --- |
//! | `link.rs` | link types |
//! | `layer.rs` | none: a frame, its layers by name |
//! | `layers.rs` | Ethernet, VLAN tags, LLC/SNAP, PPP, Cisco HDLC, MPLS, pseudo-wires |
//! | `tunnel.rs` | tunnels in IP and UDP |
//! | `ip.rs` | IP, TCP, UDP |
//!
//! The innermost IP packet with TCP or UDP counts; if UDP on the port of a tunnel contains no packet, the UDP
//! packet itself counts. At most [`HEADERS_MAX`] headers are parsed: eight tunnels of Ethernet in UDP.

use super::ip::{self, Datagram};
use super::layer::{CUT, Frame, Kind, LABELS_MAX, Layer, NOT_IP, Problem, Rest, Trail, is_carried};
use super::{link, tunnel};

/// Maximum number of headers in front of TCP or UDP.
pub(super) const HEADERS_MAX: usize = 32;
const TOO_DEEP: Problem = "packet with more than 32 headers around it";

/// Finds the innermost packet of TCP or UDP in a frame of `original` bytes.
pub(super) fn innermost<'a>(frame: &Frame<'a>, original: usize) -> Result<(Datagram<'a>, Trail), Problem> {
    let mut outer = None;
    let truncated = frame.data.len() < original;
    follow(frame, original, &mut outer)
        .or_else(|problem| outer.filter(|_| !truncated || problem != CUT).ok_or(problem))
}

/// Continues [`innermost`]; `outer` is the last UDP packet that looks like a tunnel and whose content has not been found yet,
/// with the trail up to it.
fn follow<'a>(
    frame: &Frame<'a>,
    original: usize,
    outer: &mut Option<(Datagram<'a>, Trail)>,
) -> Result<(Datagram<'a>, Trail), Problem> {
    let mut trail = Trail::of(frame);
    let rest = Rest { bytes: frame.data, length: original };
    let (mut layer, mut rest) = link::first(frame.link, rest, &mut trail)?;
    for _ in 0..HEADERS_MAX {
        (layer, rest) = match layer {
            Layer::Ethernet => {
                trail.saw(rest.bytes.get(..12).ok_or(CUT)?);
                ethernet(rest.half(12)?, rest.skip(14)?)
            }
            Layer::Ethertype(kind) => {
                if is_carried(kind) {
                    *outer = None;
                }
                ethertype(kind, rest, &mut trail)?
            }
            Layer::Llc => llc(rest)?,
            Layer::Ppp => ppp(rest)?,
            Layer::Hdlc => match rest.byte(0)? {
                0xff => (Layer::Ppp, rest),
                _ => (Layer::Ethertype(rest.half(2)?), rest.skip(4)?),
            },
            Layer::Mpls => mpls(rest, &mut trail)?,
            Layer::Ip => {
                let packet = ip::packet(rest)?;
                *outer = None;
                if trail.network_bytes == 0 {
                    trail.network_bytes = packet.length;
                }
                trail.missing += packet.length.saturating_sub(rest.length);
                match tunnel::of_ip(&packet, &mut trail)? {
                    Some(next) => next,
                    None => {
                        let datagram = ip::datagram(&packet)?;
                        let mut until = trail;
                        until.saw(&[datagram.hops]);
                        match tunnel::of_udp(&datagram, &mut trail) {
                            Some(next) => {
                                *outer = Some((datagram, until));
                                next
                            }
                            None => return Ok((datagram, until)),
                        }
                    }
                }
            }
        };
    }
    Err(TOO_DEEP)
}

/// Layer after a field of Ethernet that is a type, or a length in front of IEEE 802.2.
pub(super) fn ethernet(kind: u16, rest: Rest<'_>) -> (Layer, Rest<'_>) {
    if kind <= 1500 {
        // bytes after the length are padding
        let length = rest.length.min(usize::from(kind));
        (Layer::Llc, Rest { bytes: &rest.bytes[..rest.bytes.len().min(length)], length })
    } else {
        (Layer::Ethertype(kind), rest)
    }
}

fn ethertype<'a>(kind: u16, rest: Rest<'a>, trail: &mut Trail) -> Result<(Layer, Rest<'a>), Problem> {
    Ok(match kind {
        0x0800 | 0x86dd => (Layer::Ip, rest),
        // tags of IEEE 802.1Q and 802.1ad, and earlier values for the outer one
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
            trail.saw(&(rest.half(0)? & 0x0fff).to_be_bytes());
            ethernet(rest.half(2)?, rest.skip(4)?)
        }
        0x8847 | 0x8848 => (Layer::Mpls, rest),
        // version 1, type 1, code 0, session, length (RFC 2516 section 4)
        0x8864 => {
            trail.through(Kind::Pppoe);
            (Layer::Ppp, rest.skip(6)?)
        }
        // I-TAG of IEEE 802.1ah: flags and service, then the customer's frame
        0x88e7 => {
            trail.through(Kind::Pbb);
            (Layer::Ethernet, rest.skip(4)?)
        }
        // transparent Ethernet bridging, PPP: in GRE and GENEVE
        0x6558 => (Layer::Ethernet, rest),
        0x880b => (Layer::Ppp, rest),
        // tags of Cisco (VN-Tag) and of IEEE 802.1BR: 4 and 6 bytes, then a type
        0x8926 => ethernet(rest.half(4)?, rest.skip(6)?),
        0x893f => ethernet(rest.half(6)?, rest.skip(8)?),
        0x88e5 => return Err("frame of MACsec, which is not decrypted"),
        _ => return Err(NOT_IP),
    })
}

fn llc(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Problem> {
    match *rest.bytes {
        [0xaa, 0xaa, 3, 0, 0, 0, ..] => Ok((Layer::Ethertype(rest.half(6)?), rest.skip(8)?)),
        [0xaa, 0xaa, 3, ..] if rest.bytes.len() < 8 => Err(CUT),
        // Novell's IPX is the most frequent user of ff; 06 is IP (RFC 1042)
        [6, 6, 3, ..] => Ok((Layer::Ip, rest.skip(3)?)),
        [] => Err(CUT),
        _ => Err(NOT_IP),
    }
}

/// "Address-and-Control-Field-Compression" and "Protocol-Field-Compression" (RFC 1661 section 6.5 and 6.6): an odd first
/// byte is the whole protocol field.
fn ppp(rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Problem> {
    let rest = if rest.bytes.starts_with(&[0xff, 3]) { rest.skip(2)? } else { rest };
    let first = rest.byte(0)?;
    let (protocol, rest) =
        if first & 1 == 1 { (u16::from(first), rest.skip(1)?) } else { (rest.half(0)?, rest.skip(2)?) };
    match protocol {
        0x0021 | 0x0057 => Ok((Layer::Ip, rest)),
        0x0281 | 0x0283 => Ok((Layer::Mpls, rest)),
        0x002d | 0x002f => Err("PPP frame with a compressed TCP header (RFC 1144), not read"),
        0x00fd | 0x00fb => Err("compressed PPP frame (RFC 1962), not read"),
        0x0053 | 0x0055 => Err("encrypted PPP frame (RFC 1968), not read"),
        0x003d => Err("fragment of multilink PPP (RFC 1990), not read"),
        _ => Err(NOT_IP),
    }
}

/// Labels do not identify their payload; its first four bits do, if it is IP or has a control word (RFC 4928 section
/// 3, RFC 4385 section 3). Where these could also belong to an Ethernet address, lengths and types decide.
fn mpls<'a>(mut rest: Rest<'a>, trail: &mut Trail) -> Result<(Layer, Rest<'a>), Problem> {
    trail.through(Kind::Mpls);
    for _ in 0..LABELS_MAX {
        let bottom = rest.byte(2)? & 1 == 1;
        rest = rest.skip(4)?;
        if bottom {
            let ethernet = |rest: Rest<'_>| rest.half(12).is_ok_and(is_carried);
            return match rest.byte(0)? >> 4 {
                4 | 6 if ip::plausible(rest) || !ethernet(rest) => Ok((Layer::Ip, rest)),
                1 if !ethernet(rest) => Err("MPLS packet of an associated channel (RFC 5586)"),
                0 if !ethernet(rest) || rest.skip(4).is_ok_and(ethernet) => {
                    trail.through(Kind::PseudoWire);
                    Ok((Layer::Ethernet, rest.skip(4)?))
                }
                _ if ethernet(rest) => {
                    trail.through(Kind::PseudoWire);
                    Ok((Layer::Ethernet, rest))
                }
                _ => Err("MPLS packet of another protocol than IP and Ethernet"),
            };
        }
    }
    Err("MPLS packet with more than 16 labels")
}
