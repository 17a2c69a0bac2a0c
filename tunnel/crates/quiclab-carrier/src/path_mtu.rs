//! The MTU of a path: Datagram Packetization Layer PMTU Discovery (RFC 8899) by noq, as far as it is observable.
//!
//! noq sends the probes (`connection/mtud.rs`): PING and padding, in a binary search; a size fails if its third probe is lost.
//! It does not report its state; a controller observes packets longer than the MTU reported to it, which are the probes, and
//! each change.
//!
//! | RFC 8899 | here |
//! | --- | --- |
//! | BASE_PLPMTU, MIN_PLPMTU | 1200 bytes of UDP payload, as RFC 9000 section 14.3 requires; validated by the handshake |
//! | MAX_PLPMTU | the configured MTU of the path, or less if the peer accepts less |
//! | MAX_PROBES | 3 (noq) |
//! | PMTU_RAISE_TIMER | 600 s, the recommended value |
//! | black hole | four bursts of losses whose packets were all longer than those acknowledged since (noq): back to the base. The next search begins after a second; with noq's default, congestion that looks like a black hole would cost a minute |
//! | ICMP messages | not used (section 3, item 6: optional); the sockets ignore their effect in the kernel. An off-path attacker cannot lower an MTU |
//! | loss of a probe | does not count as congestion (RFC 9000 section 14.4), and is not reported to the controller: [`MtuSearch::forget_probe`] |

use super::wire::{DATAGRAM_OVERHEAD, FRAGMENT_OVERHEAD, MAX_FRAGMENTS};
use noq_proto::MtuDiscoveryConfig;
use std::time::Duration;

/// Smallest UDP payload of QUIC (RFC 9000 section 14).
pub(crate) const MIN_UDP_PAYLOAD: u16 = 1200;
/// Tunnel payload that always fits the datagrams of a path whose MTU is discovered, in fragments if necessary: a packet of
/// 1280 bytes, the minimum MTU of IPv6 (RFC 8200 section 5; RFC 9484 section 7 requires it of a tunnel), and the bytes that
/// the tunnel adds.
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

/// Known MTU of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtu {
    /// Longest IP packet that is known to fit the path, header included, in bytes.
    pub bytes: u16,
    /// Whether a longer one may soon be found to fit: from the start, and after a black hole, until a search has ended.
    pub searching: bool,
    /// Longest tunnel payload in one datagram, in bytes. With several paths in one connection, that of the path with
    /// the smallest MTU.
    pub payload: u16,
    /// Whether no search is in progress that may change `payload`.
    pub is_final: bool,
}

/// Longest tunnel payload that a path carries, in fragments if necessary, if a datagram carries `payload` bytes. During
/// the search, the maximum that fragments can carry: the sender of a packet should not learn an MTU that is not final.
pub(crate) fn largest_cargo(payload: u16, searching: bool) -> u16 {
    let fragments = payload.saturating_sub((FRAGMENT_OVERHEAD - DATAGRAM_OVERHEAD) as u16);
    let most = (usize::from(fragments) * MAX_FRAGMENTS).saturating_sub(DATAGRAM_OVERHEAD);
    payload.max(if searching { most.try_into().unwrap_or(u16::MAX) } else { MIN_PAYLOAD })
}

/// State of a search as observed by the controller of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MtuSearch {
    enabled: bool,
    /// Current UDP payload.
    current: u16,
    searching: bool,
    /// Whether a probe was sent since the search began.
    begun: bool,
    /// Size of the probe in flight in bytes.
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

    /// Whether a probe is in flight.
    pub(crate) fn has_probe(&self) -> bool {
        self.probe.is_some()
    }

    /// Records a sent packet. Returns the bytes of an earlier probe, which is lost: noq has one at a time.
    pub(crate) fn on_sent(&mut self, bytes: u16) -> u64 {
        if !self.enabled || bytes <= self.current {
            return 0;
        }
        self.begun = true;
        self.probe.replace(bytes).map_or(0, u64::from)
    }

    /// Records that noq has found another MTU.
    pub(crate) fn on_update(&mut self, mtu: u16) {
        if mtu < self.current {
            // a black hole; the fate of a probe is reported as that of any packet
            (self.searching, self.begun) = (self.enabled, false);
        }
        (self.current, self.probe) = (mtu, None);
    }

    /// Removes the probe in flight, which is lost; returns its bytes.
    pub(crate) fn forget_probe(&mut self) -> u64 {
        self.probe.take().map_or(0, u64::from)
    }

    /// Records that QUIC has nothing to send: without a probe in flight, the search has ended.
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
        // after ten minutes, another try: the known MTU applies meanwhile
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
        // 16 fragments of 1160 - 6 bytes, minus the first byte of the whole datagram
        assert_eq!(largest_cargo(1160, true), 16 * 1154 - 1);
        assert_eq!(largest_cargo(8900, true), u16::MAX);
    }
}
