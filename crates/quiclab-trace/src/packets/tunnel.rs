//! Tunnels: packets that IP and UDP carry.
//!
//! | | header | recognised by |
//! | --- | --- | --- |
//! | IP in IP | RFC 2003, 2473, 4213 | protocols 4 and 41 |
//! | GRE, with checksum, key, number; of PPTP | RFC 2784, 2890, 2637 | protocol 47; UDP port 4754 (RFC 8086) |
//! | ERSPAN I, II, III | draft-foschiano-erspan | types 88be and 22eb in GRE |
//! | EtherIP; Ethernet | RFC 3378; RFC 8986 | protocols 97 and 143 |
//! | MPLS | RFC 4023, 7510 | protocol 137, UDP port 6635 |
//! | VXLAN, VXLAN-GPE | RFC 7348, draft-ietf-nvo3-vxlan-gpe | UDP ports 4789 and 8472, 4790 |
//! | GENEVE | RFC 8926 | UDP port 6081 |
//! | GTP-U | 3GPP TS 29.281 | UDP port 2152 |
//! | L2TP | RFC 2661 | UDP port 1701 |
//! | LISP | RFC 9300 | UDP port 4341 |
//! | TZSP | as Wireshark reads it | UDP port 37008 |
//! | Teredo | RFC 4380 | UDP port 3544 |
//!
//! A port alone is no proof: if the header is not that of its tunnel, or the content cannot be read, the packet is UDP, and
//! [`unread`] names it.

use super::ip::{self, Datagram, Packet};
use super::layer::{Kind, LABELS_MAX, Layer, Problem, Rest, Trail, is_carried};

type Next<'a> = (Layer, Rest<'a>);

/// Content of an IP packet that is neither TCP nor UDP.
pub(super) fn of_ip<'a>(packet: &Packet<'a>, trail: &mut Trail) -> Result<Option<Next<'a>>, Problem> {
    let rest = packet.body;
    Ok(Some(match packet.protocol {
        ip::TCP | ip::UDP => return Ok(None),
        4 | 41 => {
            trail.through(Kind::IpInIp);
            (Layer::Ip, rest)
        }
        47 => gre(rest, trail)?,
        97 => {
            trail.through(Kind::EtherIp);
            (Layer::Ethernet, rest.skip(2)?)
        }
        137 => (Layer::Mpls, rest),
        143 => {
            trail.through(Kind::EtherIp);
            (Layer::Ethernet, rest)
        }
        33 => return Err("IP packet of DCCP, not read"),
        50 => return Err("IP packet of ESP (IPsec), which is not decrypted"),
        108 => return Err("compressed IP packet (RFC 3173), not read"),
        115 => return Err("IP packet of L2TPv3, not read"),
        132 => return Err("IP packet of SCTP, not read"),
        136 => return Err("IP packet of UDP-Lite, not read"),
        _ => return Err("IP packet of another protocol than TCP and UDP"),
    }))
}

/// Flags and version, type, then the fields that the flags announce.
fn gre<'a>(rest: Rest<'a>, trail: &mut Trail) -> Result<Next<'a>, Problem> {
    let (flags, kind) = (rest.half(0)?, rest.half(2)?);
    let set = |bit: u16| usize::from(flags & bit != 0) * 4;
    // routing (RFC 1701) has a list of its own and is unused
    if flags & 0x4000 != 0 || flags & 7 > 1 {
        return Err("GRE packet of another version or with routing");
    }
    let acknowledgement = if flags & 7 == 1 { set(0x80) } else { 0 };
    trail.through(Kind::Gre);
    let rest = rest.skip(4 + set(0x8000) + set(0x2000) + set(0x1000) + acknowledgement)?;
    Ok(match kind {
        // number: type II, which has a header
        0x88be if flags & 0x1000 != 0 => (erspan(trail), rest.skip(8)?),
        0x88be => (erspan(trail), rest),
        0x22eb => {
            // P, five bits with the type of the frame (2 is IP), hardware, direction, granularity, and whether a header
            // of the platform follows
            let fields = rest.half(10)?;
            let ethernet = erspan(trail);
            let inside = if fields >> 10 & 0x1f == 2 { Layer::Ip } else { ethernet };
            (inside, rest.skip(12 + usize::from(fields & 1) * 8)?)
        }
        // WCCP: with a redirect header of 4 bytes, or as in its first version without
        0x883e if rest.byte(0)? >> 4 != 4 => (Layer::Ip, rest.skip(4)?),
        0x883e => (Layer::Ip, rest),
        kind => (Layer::Ethertype(kind), rest),
    })
}

fn erspan(trail: &mut Trail) -> Layer {
    trail.through(Kind::Erspan);
    Layer::Ethernet
}

/// Content of a UDP packet, if its port and its header are those of a tunnel.
pub(super) fn of_udp<'a>(datagram: &Datagram<'a>, trail: &mut Trail) -> Option<Next<'a>> {
    if datagram.tcp {
        return None;
    }
    let rest = Rest { bytes: datagram.payload, length: datagram.payload_bytes };
    let (from, to) = datagram.ports();
    let (kind, next) = match (from, to) {
        (_, 4789 | 8472) => (Kind::Vxlan, vxlan(rest)?),
        (_, 4790) => (Kind::VxlanGpe, vxlan_gpe(rest)?),
        (_, 6081) => (Kind::Geneve, geneve(rest)?),
        (_, 2152) | (2152, _) => (Kind::GtpU, gtp_u(rest)?),
        (_, 1701) | (1701, _) => (Kind::L2tp, l2tp(rest)?),
        (_, 4341) => (Kind::Lisp, lisp(rest)?),
        (_, 37008) => (Kind::Tzsp, tzsp(rest)?),
        (_, 3544) | (3544, _) => (Kind::Teredo, teredo(rest)?),
        (_, 4754) if rest.half(2).is_ok_and(|kind| kind >= 0x600) => return gre(rest, trail).ok(),
        (_, 6635) => return mpls(rest),
        _ => return None,
    };
    trail.through(kind);
    Some(next)
}

/// A stack of labels, on IP or on another layer that `layers.rs` recognises.
fn mpls(rest: Rest<'_>) -> Option<Next<'_>> {
    let is_last = |label: &usize| rest.byte(label * 4 + 2).is_ok_and(|byte| byte & 1 == 1);
    let inside = rest.skip((0..LABELS_MAX).find(is_last)? * 4 + 4).ok()?;
    let is_ip = matches!(inside.byte(0).ok()? >> 4, 4 | 6);
    // the address in a frame of Ethernet may look like the beginning of IP
    let is_ethernet = || inside.half(12).is_ok_and(is_carried);
    (!is_ip || ip::plausible(inside) || is_ethernet()).then_some((Layer::Mpls, rest))
}

/// Flags, of which only "I" is set, and 24 bits of 0; network, and 8 bits of 0. Of version 2 of a draft: a group.
fn vxlan(rest: Rest<'_>) -> Option<Next<'_>> {
    let reserved = rest.byte(7).ok()?;
    let flags = rest.byte(0).ok()?;
    (flags & 0x08 != 0 && flags & 0x77 == 0 && reserved == 0).then_some(())?;
    Some((Layer::Ethernet, rest.skip(8).ok()?))
}

/// Header as in [`vxlan`], with "P" and the next protocol.
fn vxlan_gpe(rest: Rest<'_>) -> Option<Next<'_>> {
    let (flags, next) = (rest.byte(0).ok()?, rest.byte(3).ok()?);
    (flags & 0x0c == 0x0c && flags & 0x30 == 0).then_some(())?;
    let layer = match next {
        1 | 2 => Layer::Ip,
        3 => Layer::Ethernet,
        5 => Layer::Mpls,
        _ => return None,
    };
    Some((layer, rest.skip(8).ok()?))
}

/// Version 0 and length of options, flags, type, network.
fn geneve(rest: Rest<'_>) -> Option<Next<'_>> {
    let (first, kind) = (rest.byte(0).ok()?, rest.half(2).ok()?);
    (first >> 6 == 0 && kind >= 0x600).then_some(())?;
    Some((Layer::Ethertype(kind), rest.skip(8 + usize::from(first & 0x3f) * 4).ok()?))
}

/// Version 1, protocol GTP, message G-PDU, length after the first 8 bytes; then the fields that three flags announce
/// (section 5.1), with headers, each of a length in units of 4 bytes and with the type of the next at its end (section
/// 5.2.1).
fn gtp_u(rest: Rest<'_>) -> Option<Next<'_>> {
    let (flags, length) = (rest.byte(0).ok()?, usize::from(rest.half(2).ok()?));
    (flags & 0xf0 == 0x30 && rest.byte(1).ok()? == 255 && 8 + length <= rest.length).then_some(())?;
    let mut inside = rest.skip(8).ok()?;
    if flags & 7 != 0 {
        let mut next = if flags & 4 != 0 { inside.byte(3).ok()? } else { 0 };
        inside = inside.skip(4).ok()?;
        for _ in 0..8 {
            if next == 0 {
                break;
            }
            let bytes = usize::from(inside.byte(0).ok()?) * 4;
            next = inside.byte(bytes.checked_sub(1)?).ok()?;
            inside = inside.skip(bytes).ok()?;
        }
    }
    matches!(inside.byte(0).ok()? >> 4, 4 | 6).then_some((Layer::Ip, inside))
}

/// Version 2, data: length, tunnel and session, numbers, offset (section 3.1).
fn l2tp(rest: Rest<'_>) -> Option<Next<'_>> {
    let flags = rest.half(0).ok()?;
    (flags & 0x800f == 2).then_some(())?;
    let set = |bit: u16, bytes: usize| if flags & bit != 0 { bytes } else { 0 };
    let before = 2 + set(0x4000, 2) + 4 + set(0x0800, 4);
    let offset = if flags & 0x0200 != 0 { 2 + usize::from(rest.half(before).ok()?) } else { 0 };
    Some((Layer::Ppp, rest.skip(before + offset).ok()?))
}

/// Eight bytes, most bits of which are arbitrary.
fn lisp(rest: Rest<'_>) -> Option<Next<'_>> {
    let inside = rest.skip(8).ok()?;
    ip::plausible(inside).then_some((Layer::Ip, inside))
}

/// Version 1, type of packet 0 or 1, encapsulated protocol 1 (Ethernet); tags up to one of type 1.
fn tzsp(rest: Rest<'_>) -> Option<Next<'_>> {
    (rest.byte(0).ok()? == 1 && rest.byte(1).ok()? < 2 && rest.half(2).ok()? == 1).then_some(())?;
    let mut at = 4;
    for _ in 0..64 {
        match rest.byte(at).ok()? {
            1 => return Some((Layer::Ethernet, rest.skip(at + 1).ok()?)),
            0 => at += 1,
            _ => at += 2 + usize::from(rest.byte(at + 1).ok()?),
        }
    }
    None
}

/// IPv6, after origin and authentication indications (RFC 4380 section 5.1.1).
fn teredo(mut rest: Rest<'_>) -> Option<Next<'_>> {
    if rest.half(0).ok()? == 1 {
        let (client, value) = (usize::from(rest.byte(2).ok()?), usize::from(rest.byte(3).ok()?));
        rest = rest.skip(4 + client + value + 9).ok()?;
    }
    if rest.half(0).ok()? == 0 {
        rest = rest.skip(8).ok()?;
    }
    (rest.byte(0).ok()? >> 4 == 6 && ip::plausible(rest)).then_some((Layer::Ip, rest))
}

/// Port and name of a tunnel whose content is not read: encrypted, or with a header of another protocol.
pub(super) fn unread(datagram: &Datagram<'_>) -> Option<(u16, &'static str)> {
    const PORTS: [(u16, &str); 17] = [
        (500, "IKE (IPsec)"),
        (1194, "OpenVPN"),
        (1701, "L2TP"),
        (2152, "GTP-U"),
        (3544, "Teredo"),
        (4341, "LISP"),
        (4500, "IPsec in UDP"),
        (4754, "GRE in UDP"),
        (4789, "VXLAN"),
        (4790, "VXLAN-GPE"),
        (5247, "CAPWAP"),
        (6080, "GUE"),
        (6081, "GENEVE"),
        (6635, "MPLS in UDP"),
        (8472, "VXLAN"),
        (37008, "TZSP"),
        (51820, "WireGuard"),
    ];
    let (from, to) = datagram.ports();
    let found = PORTS.iter().find(|(port, _)| *port == to || *port == from)?;
    // the ephemeral ports of other flows may have these numbers
    let right = match found.0 {
        1194 => matches!(datagram.payload, [first, ..] if (1..=11).contains(&(first >> 3))),
        51820 => matches!(datagram.payload, [1..=4, 0, 0, 0, ..]),
        37008 => to == 37008,
        _ => true,
    };
    right.then_some(*found)
}
