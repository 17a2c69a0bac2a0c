//! The MTU of a path: Datagram Packetization Layer PMTU Discovery (RFC 8899) by noq, and what can be seen of it.
//!
//! noq sends the probes (`connection/mtud.rs`): PING and padding, a binary search, a probe is lost if its third copy is. It does
//! not tell its state; a controller sees packets longer than the MTU that it was told, which are the probes, and each change.
//!
//! | RFC 8899 | here |
//! | --- | --- |
//! | BASE_PLPMTU, MIN_PLPMTU | 1200 bytes of UDP payload, as RFC 9000 section 14.3 wants; validated by the handshake |
//! | MAX_PLPMTU | what the path is configured with, or less if the peer takes less |
//! | MAX_PROBES | 3 (noq) |
//! | PMTU_RAISE_TIMER | 600 s, the recommended value |
//! | black hole | four bursts of losses whose packets were all longer than those acknowledged since (noq): back to the base. The next search begins after a second; noq's default of a minute would be what congestion costs that looks like a black hole |
//! | ICMP messages | not used (section 3, item 6: optional); the sockets ignore what the kernel makes of them. An attacker off the path cannot lower an MTU |
//! | loss of a probe | no congestion (RFC 9000 section 14.4), and not reported to the controller: [`MtuSearch::forget_probe`] |

use super::wire::{DATAGRAM_OVERHEAD, FRAGMENT_OVERHEAD, MAX_FRAGMENTS};
use noq_proto::MtuDiscoveryConfig;
use std::time::Duration;

/// Smallest UDP payload of QUIC (RFC 9000 section 14).
pub(crate) const MIN_UDP_PAYLOAD: u16 = 1200;
/// What always fits the datagrams of a path whose MTU is discovered, in fragments where need be: a packet of 1280 bytes, the
/// smallest MTU of IPv6 (RFC 8200 section 5; RFC 9484 section 7 wants it of a tunnel), and what the tunnel adds to it.
const MIN_PAYLOAD: u16 = 1280 + 8;
pub(crate) const RAISE_TIMER: Duration = Duration::from_secs(600);
const BLACK_HOLE_COOLDOWN: Duration = Duration::from_secs(1);
/// The search ends when the next step is shorter than this: less than one percent of a packet.
pub(crate) const MIN_STEP: u16 = 8;

/// noq's search for UDP payloads of up to `largest` bytes.
pub(crate) fn search(largest: u16) -> MtuDiscoveryConfig {
    let mut config = MtuDiscoveryConfig::default();
    config
        .upper_bound(largest)
        .interval(RAISE_TIMER)
        .black_hole_cooldown(BLACK_HOLE_COOLDOWN)
        .minimum_change(MIN_STEP);
    config
}

/// The MTU of a path as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtu {
    /// Longest IP packet that is known to pass, header included, in bytes.
    pub bytes: u16,
    /// Whether a longer one may turn out to pass soon: from the start, and after a black hole, until a search has ended.
    pub searching: bool,
    /// Longest tunnel payload in one datagram, in bytes. With several paths in one connection, that of the smallest.
    pub payload: u16,
    /// Whether no search goes on that may change `payload`.
    pub is_final: bool,
}

/// Longest tunnel payload that a path takes, in fragments where need be, if a datagram carries `payload` bytes. While the
/// search lasts, all that fragments can carry: the sender of a packet should not be told of an MTU that is not final.
pub(crate) fn largest_cargo(payload: u16, searching: bool) -> u16 {
    let fragments = payload.saturating_sub((FRAGMENT_OVERHEAD - DATAGRAM_OVERHEAD) as u16);
    let most = (usize::from(fragments) * MAX_FRAGMENTS).saturating_sub(DATAGRAM_OVERHEAD);
    payload.max(if searching { most.try_into().unwrap_or(u16::MAX) } else { MIN_PAYLOAD })
}

/// A search as the controller of a path sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MtuSearch {
    enabled: bool,
    /// UDP payload.
    current: u16,
    searching: bool,
    /// Since it began, a probe was sent.
    begun: bool,
    /// Bytes of the probe in flight.
    probe: Option<u16>,
}

impl MtuSearch {
    pub(crate) fn new(current: u16, enabled: bool) -> Self {
        Self { enabled, current, searching: enabled, begun: false, probe: None }
    }

    pub(crate) fn current(&self) -> u16 {
        self.current
    }

    pub(crate) fn is_searching(&self) -> bool {
        self.searching
    }

    /// A probe is in flight.
    pub(crate) fn has_probe(&self) -> bool {
        self.probe.is_some()
    }

    /// A packet is sent. Returns the bytes of an earlier probe that is lost: noq has one at a time.
    pub(crate) fn on_sent(&mut self, bytes: u16) -> u64 {
        if !self.enabled || bytes <= self.current {
            return 0;
        }
        self.begun = true;
        self.probe.replace(bytes).map_or(0, u64::from)
    }

    /// noq has found another MTU.
    pub(crate) fn on_update(&mut self, mtu: u16) {
        if mtu < self.current {
            // a black hole; what becomes of a probe is told as of any packet
            (self.searching, self.begun) = (self.enabled, false);
        }
        (self.current, self.probe) = (mtu, None);
    }

    /// The probe in flight is lost: returns its bytes.
    pub(crate) fn forget_probe(&mut self) -> u64 {
        self.probe.take().map_or(0, u64::from)
    }

    /// QUIC has nothing to send: without a probe in flight, the search has ended.
    pub(crate) fn pause(&mut self) {
        if self.begun && self.probe.is_none() {
            self.searching = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_ends_without_a_probe_under_way_and_begins_again_below() {
        let mut search = MtuSearch::new(1200, true);
        search.pause();
        assert!(search.is_searching(), "it has not begun: the path is being validated");
        assert_eq!((search.on_sent(1200), search.has_probe()), (0, false));
        assert_eq!((search.on_sent(1336), search.has_probe()), (0, true));
        search.pause();
        assert!(search.is_searching(), "a probe is in flight");
        search.on_update(1336);
        assert_eq!(search.on_sent(1400), 0);
        assert_eq!(search.on_sent(1400), 1400, "the second copy: the first is lost");
        assert_eq!((search.forget_probe(), search.forget_probe()), (1400, 0));
        search.pause();
        assert_eq!((search.is_searching(), search.current()), (false, 1336));
        // after ten minutes, another try: what was found holds meanwhile
        search.on_sent(1400);
        assert!(!search.is_searching());
        search.on_update(1400);
        search.on_update(1200);
        search.pause();
        assert_eq!((search.is_searching(), search.current()), (true, 1200), "a black hole");
    }

    #[test]
    fn without_discovery_nothing_is_a_probe() {
        let mut search = MtuSearch::new(1000, false);
        assert_eq!((search.on_sent(1472), search.has_probe(), search.is_searching()), (0, false, false));
        search.on_update(900);
        assert!(!search.is_searching());
    }

    #[test]
    fn a_packet_of_1280_bytes_always_fits() {
        assert_eq!(largest_cargo(1160, false), 1288);
        assert_eq!(largest_cargo(1400, false), 1400);
        // 16 fragments of 1160 - 6 bytes, less the byte that the whole datagram begins with
        assert_eq!(largest_cargo(1160, true), 16 * 1154 - 1);
        assert_eq!(largest_cargo(8900, true), u16::MAX);
    }
}
