//! Where the IP packet begins in a frame, by link type (tcpdump.org/linktypes.html).

pub(super) const NULL: u16 = 0;
pub(super) const ETHERNET: u16 = 1;
/// What BSDs write for RAW: their own numbers, which got into files.
pub(super) const RAW_BSD: [u16; 2] = [12, 14];
pub(super) const RAW: u16 = 101;
pub(super) const LOOP: u16 = 108;
pub(super) const LINUX_SLL: u16 = 113;
pub(super) const IPV4: u16 = 228;
pub(super) const IPV6: u16 = 229;
pub(super) const LINUX_SLL2: u16 = 276;

/// Tags of IEEE 802.1Q and 802.1ad, and what was used for the outer one before.
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// More tags than any network has.
const VLAN_TAGS_MAX: usize = 4;
const ETHERTYPES: [u16; 2] = [0x0800, 0x86dd];
/// Address families of IP in the kernels that capture with link type NULL: IPv4; IPv6 of Linux, NetBSD, FreeBSD, Darwin.
const FAMILIES: [u32; 5] = [2, 10, 24, 28, 30];

/// Why a frame is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkipReason {
    /// The link type is another.
    Link,
    /// It has something else than IP.
    NotIp,
    /// Less than the headers was captured.
    Cut,
}

/// Offset of the IP packet in `frame`.
pub(super) fn network(link: u16, frame: &[u8]) -> Result<usize, SkipReason> {
    let half =
        |at: usize| frame.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]])).ok_or(SkipReason::Cut);
    match link {
        ETHERNET => ethertype(half(12)?, 14, half),
        LINUX_SLL => ethertype(half(14)?, 16, half),
        LINUX_SLL2 => ethertype(half(0)?, 20, half),
        RAW | IPV4 | IPV6 => Ok(0),
        _ if RAW_BSD.contains(&link) => Ok(0),
        // "in host byte order of the machine on which the capture is done", of LOOP in network byte order
        NULL | LOOP => {
            let word: [u8; 4] = *frame.first_chunk().ok_or(SkipReason::Cut)?;
            let families = [u32::from_be_bytes(word), u32::from_le_bytes(word)];
            if families.iter().any(|family| FAMILIES.contains(family)) {
                Ok(4)
            } else {
                Err(SkipReason::NotIp)
            }
        }
        _ => Err(SkipReason::Link),
    }
}

fn ethertype(
    mut kind: u16,
    mut at: usize,
    half: impl Fn(usize) -> Result<u16, SkipReason>,
) -> Result<usize, SkipReason> {
    for _ in 0..VLAN_TAGS_MAX {
        if !VLAN.contains(&kind) {
            break;
        }
        kind = half(at + 2)?;
        at += 4;
    }
    if ETHERTYPES.contains(&kind) { Ok(at) } else { Err(SkipReason::NotIp) }
}

/// What a user should know of the sizes of frames with this link type.
pub(super) fn link_type_note(link: u16) -> Option<&'static str> {
    match link {
        LINUX_SLL | LINUX_SLL2 => Some(
            "frames have a header that the kernel made in place of that of their link (Linux cooked capture): \
             sizes count its 16 or 20 bytes",
        ),
        NULL | LOOP => Some("frames have no header but an address family of 4 bytes, which sizes count"),
        RAW | IPV4 | IPV6 => Some("frames have no link header: sizes are those of IP packets"),
        _ if RAW_BSD.contains(&link) => Some("frames have no link header: sizes are those of IP packets"),
        _ => None,
    }
}
