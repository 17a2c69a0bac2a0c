//! Sizes of inner packets that the paths carry.

use quiclab_carrier::PathMtu;
use quiclab_core::ip::SMALLEST_IPV6_MTU;

/// Sizes of inner packets, from the known MTUs of the paths. None exceeds an inner MTU below 1280 bytes (IPv4 only).
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketSizes {
    /// Longest packet that passes in one datagram on every path.
    pub(super) whole: u16,
    /// Longest packet for which that is certain, and at least 1280 bytes: such packets always pass, in fragments if necessary.
    pub(super) certain: u16,
    /// Whether no path searches any more.
    pub(super) is_final: bool,
}

impl PacketSizes {
    /// Sizes for the paths that carry data; `before` if there are none.
    pub(super) fn of_paths(paths: impl Iterator<Item = PathMtu>, added: u16, mtu: u16, before: Self) -> Self {
        let (mut whole, mut certain, mut is_final) = (None::<u16>, None::<u16>, true);
        for path in paths {
            let size = path.payload.saturating_sub(added);
            whole = Some(whole.map_or(size, |least| least.min(size)));
            is_final &= path.is_final;
            if path.is_final {
                certain = Some(certain.map_or(size, |least| least.min(size)));
            }
        }
        let Some(whole) = whole else { return before };
        let certain = certain.map_or(mtu, |size| size.max(SMALLEST_IPV6_MTU).min(mtu));
        Self { whole: whole.min(mtu), certain, is_final }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(paths: &[(u16, bool)], added: u16, mtu: u16) -> (u16, u16) {
        let paths = paths.iter().map(|&(payload, is_final)| PathMtu {
            bytes: payload + 67,
            searching: !is_final,
            payload,
            is_final,
        });
        let before = PacketSizes { whole: 1000, certain: 1280, is_final: false };
        let sizes = PacketSizes::of_paths(paths, added, mtu, before);
        (sizes.whole, sizes.certain)
    }

    #[test]
    fn sizes_are_those_of_the_smallest_path_and_senders_are_told_what_is_final() {
        assert_eq!(sizes(&[(1433, true), (1340, true)], 0, 1400), (1340, 1340));
        assert_eq!(sizes(&[(1433, true), (1340, true)], 3, 1400), (1337, 1337), "with a number");
        assert_eq!(sizes(&[(1433, true)], 0, 1400), (1400, 1400), "the MTU inside");
        // a search in progress: SYNs are clamped to the size that passes now, senders get no errors
        assert_eq!(sizes(&[(1433, true), (1160, false)], 0, 1400), (1160, 1400));
        assert_eq!(sizes(&[(1160, false)], 0, 1400), (1160, 1400));
        // 1280 bytes always pass
        assert_eq!(sizes(&[(1210, true)], 0, 1400), (1210, 1280));
        assert_eq!(sizes(&[(1210, true)], 0, 600), (600, 600), "IPv4 alone");
        assert_eq!(sizes(&[], 0, 1400), (1000, 1280), "as before");
    }
}
