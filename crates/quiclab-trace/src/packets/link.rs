//! Link types: position of the first header after those of the capture itself (tcpdump.org/linktypes.html).

use super::layer::{CUT, Layer, NOT_IP, Problem, Rest, Trail};

pub(super) const ETHERNET: u16 = 1;
const NULL: u16 = 0;
const PPP: u16 = 9;
/// Numbers for RAW that BSDs write to files in place of the registered one.
const RAW_BSD: [u16; 2] = [12, 14];
const PPP_HDLC: u16 = 50;
const PPP_ETHER: u16 = 51;
const ATM_RFC1483: u16 = 100;
const RAW: u16 = 101;
const C_HDLC: u16 = 104;
const LOOP: u16 = 108;
const LINUX_SLL: u16 = 113;
const APPLE_IP_OVER_IEEE1394: u16 = 138;
const PPP_WITH_DIR: u16 = 204;
const MPLS: u16 = 219;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const PKTAP: u16 = 258;
const LINUX_SLL2: u16 = 276;

/// Address families of IP in the kernels that capture with link type NULL: IPv4; IPv6 of Linux, Windows, NetBSD and
/// OpenBSD, FreeBSD, Darwin.
const FAMILIES: [u32; 6] = [2, 10, 23, 24, 28, 30];
/// "LINUX_SLL": types of devices whose frames have another protocol field (packet(7), `if_arp.h`).
const ARPHRD_NETLINK: u16 = 824;
const ARPHRD_IPGRE: u16 = 778;
const LINK_TYPE: Problem = "link type not supported";

/// Layer and position of the first header of a frame.
pub(super) fn first<'a>(link: u16, rest: Rest<'a>, trail: &mut Trail) -> Result<(Layer, Rest<'a>), Problem> {
    Ok(match link {
        ETHERNET => (Layer::Ethernet, rest),
        // type of packet, of device, length of address, address, protocol
        LINUX_SLL => {
            trail.saw(rest.bytes.get(..14).ok_or(CUT)?);
            cooked(rest.half(14)?, rest.half(2)?, rest.skip(16)?)?
        }
        // protocol, 0, interface, type of device, of packet, length of address, address
        LINUX_SLL2 => {
            trail.saw(rest.bytes.get(4..20).ok_or(CUT)?);
            cooked(rest.half(0)?, rest.half(8)?, rest.skip(20)?)?
        }
        PPP => (Layer::Ppp, rest),
        PPP_HDLC | C_HDLC => (Layer::Hdlc, rest),
        PPP_ETHER => (Layer::Ethertype(0x8864), rest),
        PPP_WITH_DIR => {
            trail.saw(&[rest.byte(0)?]);
            (Layer::Ppp, rest.skip(1)?)
        }
        MPLS => (Layer::Mpls, rest),
        ATM_RFC1483 => (Layer::Llc, rest),
        APPLE_IP_OVER_IEEE1394 => (Layer::Ethertype(rest.half(16)?), rest.skip(18)?),
        // "in host byte order of the machine on which the capture is done", of LOOP in network byte order
        NULL | LOOP => {
            let word: [u8; 4] = *rest.bytes.first_chunk().ok_or(CUT)?;
            let families = [u32::from_be_bytes(word), u32::from_le_bytes(word)];
            if !families.iter().any(|family| FAMILIES.contains(family)) {
                return Err(NOT_IP);
            }
            (Layer::Ip, rest.skip(4)?)
        }
        PKTAP => return pktap(rest, trail),
        _ if is_raw(link) => (Layer::Ip, rest),
        _ => return Err(LINK_TYPE),
    })
}

fn is_raw(link: u16) -> bool {
    matches!(link, RAW | IPV4 | IPV6) || RAW_BSD.contains(&link)
}

fn cooked(protocol: u16, device: u16, rest: Rest<'_>) -> Result<(Layer, Rest<'_>), Problem> {
    match (device, protocol) {
        (ARPHRD_NETLINK, _) => Err(NOT_IP),
        // the type in the GRE header, which the kernel has removed
        (ARPHRD_IPGRE, kind) => Ok((Layer::Ethertype(kind), rest)),
        // 1 is IPX in IEEE 802.3, 4 is IEEE 802.2
        (_, 4) => Ok((Layer::Llc, rest)),
        (_, kind) => Ok((Layer::Ethertype(kind), rest)),
    }
}

/// Header of Apple's pktap: its length and the link type after it, little-endian (XNU, `bsd/net/pktap.h`).
fn pktap<'a>(rest: Rest<'a>, trail: &mut Trail) -> Result<(Layer, Rest<'a>), Problem> {
    let word = |at: usize| rest.bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let (length, link) = (word(0).ok_or(CUT)?, word(8).ok_or(CUT)?);
    match u16::try_from(link) {
        // the name of the interface
        Ok(link) if link != PKTAP && length >= 36 => {
            trail.saw(rest.bytes.get(12..36).ok_or(CUT)?);
            first(link, rest.skip(length as usize)?, trail)
        }
        _ => Err(LINK_TYPE),
    }
}

/// Note for the user on frames with this link type: their sizes, or that they are not read.
pub(super) fn note(link: u16) -> Option<String> {
    Some(match link {
        ETHERNET => return None,
        LINUX_SLL | LINUX_SLL2 => {
            "frames have a header that the kernel made in place of that of their link (Linux \
             cooked capture): sizes count its 16 or 20 bytes"
                .to_owned()
        }
        NULL | LOOP => "frames have no header but an address family of 4 bytes, which sizes count".to_owned(),
        PPP | PPP_HDLC | PPP_WITH_DIR | C_HDLC => {
            "frames have a header of PPP or HDLC of 1 to 5 bytes, which sizes count".to_owned()
        }
        PPP_ETHER | MPLS | ATM_RFC1483 | APPLE_IP_OVER_IEEE1394 | PKTAP => {
            "frames have no header of Ethernet, but others, which sizes count".to_owned()
        }
        _ if is_raw(link) => "frames have no link header: sizes are those of IP packets".to_owned(),
        _ => format!(
            "frames of link type {link}{} are not read; read are Ethernet, Linux cooked capture (SLL, SLL2), raw IP, \
             BSD loopback, PPP, HDLC, MPLS, ATM (RFC 1483), IP over FireWire and pktap",
            name(link).map(|name| format!(" ({name})")).unwrap_or_default()
        ),
    })
}

/// Names of link types that are not read.
fn name(link: u16) -> Option<&'static str> {
    Some(match link {
        3 => "AX.25",
        6 => "Token Ring",
        7 => "ARCNET",
        8 => "SLIP",
        10 => "FDDI",
        105 => "IEEE 802.11",
        107 => "Frame Relay",
        109 => "OpenBSD enc",
        117 => "OpenBSD pflog",
        119 => "IEEE 802.11 with Prism header",
        122 => "IP over Fibre Channel",
        123 => "SunATM",
        127 => "IEEE 802.11 with radiotap header",
        129 => "Linux ARCNET",
        143 => "DOCSIS",
        147..=162 => "private use",
        163 => "IEEE 802.11 with AVS header",
        165 => "BACnet",
        166 => "pppd with direction",
        187 | 201 | 251 | 254 | 255 => "Bluetooth",
        189 | 220 | 249 => "USB",
        192 => "PPI",
        195 | 230 | 283 => "IEEE 802.15.4",
        197 => "ERF",
        199 => "IPMB",
        203 => "LAPD",
        209 => "IPMB over Linux",
        225 | 227 => "CAN",
        239 => "NFLOG",
        241 => "Juniper",
        247 => "InfiniBand",
        252 => "Wireshark upper PDU",
        253 => "Netlink",
        272 => "nRF sniffer",
        274 => "IEEE 802.3br mPackets",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{name, note};

    #[test]
    fn each_link_type_that_is_not_read_is_named() {
        assert!(
            note(127)
                .unwrap()
                .starts_with("frames of link type 127 (IEEE 802.11 with radiotap header) are not")
        );
        assert!(note(65_000).unwrap().starts_with("frames of link type 65000 are not read"));
        assert_eq!((note(1), name(1)), (None, None));
    }
}
