//! Connections of a server that are not bound to a session yet, by source prefix: their limits, and the clients that must
//! prove their address first.
//!
//! | an Initial packet | accepted | else |
//! | --- | --- | --- |
//! | with an unvalidated address | 4 connections of its prefix, a quarter of all | Retry (RFC 9000 section 8.1.2): 4096 in a second, and beyond that 32 for each prefix |
//! | with a token of a Retry packet | a quarter of all for its prefix, all together | no answer |
//!
//! A host can send from any address of its own prefix, so prefixes are counted: /24 of IPv4, and /56 of IPv6, which one customer
//! has (RFC 6177). Hosts of one prefix share its limits. Retry needs no memory at the server, and is shorter than any Initial
//! packet: a tenth.
//!
//! An attacker that forges addresses of a prefix gets no further, because Retry packets go to the owners of the addresses. A
//! client in the prefix also gets one, and is accepted with the token, unless thousands of packets are forged per second.
//! Then the 32 per prefix are for clients of the other prefixes.

use quiclab_core::{Duration, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Number of connections of a prefix above which the addresses in it must be validated.
pub(crate) const UNVALIDATED_PER_PREFIX: usize = 4;
/// Maximum number of Retry packets in [`PERIOD`]. Each takes one key derivation and one sealed token; this number of them is
/// about 5 Mbit/s.
const RETRIES: u32 = 4096;
/// Maximum number of further Retry packets for a prefix in [`PERIOD`].
const RETRIES_PER_PREFIX: u32 = 32;
const PERIOD: Duration = Duration::from_secs(1);
/// Maximum number of prefixes whose Retry packets are counted. Above it, they are sent without a limit: otherwise an attacker
/// that forges this many prefixes would lock out others.
const MAX_COUNTED_PREFIXES: usize = 4096;

/// Addresses that are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SourcePrefix {
    /// The first 24 bits.
    Four([u8; 3]),
    /// The first 56 bits.
    Six([u8; 7]),
}

impl SourcePrefix {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let [a, b, c, _] = address.octets();
                Self::Four([a, b, c])
            }
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, ..] = address.octets();
                Self::Six([a, b, c, d, e, f, g])
            }
        }
    }
}

/// Decision about an Initial packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Accept,
    Retry,
    Ignore,
}

/// Retry packets since the start of a period.
#[derive(Clone, Copy, Debug)]
struct Retries {
    start: Time,
    count: u32,
}

impl Retries {
    fn new(start: Time) -> Self {
        Self { start, count: 0 }
    }

    /// Counts a packet; returns whether it is within `most`.
    fn take(&mut self, now: Time, most: u32) -> bool {
        if self.is_over(now) {
            *self = Self::new(now);
        }
        let fits = self.count < most;
        self.count += u32::from(fits);
        fits
    }

    fn is_over(&self, now: Time) -> bool {
        now.since(self.start) >= PERIOD
    }
}

/// Unbound connections, and the Retry packets of the last second.
#[derive(Debug)]
pub(crate) struct HalfOpen {
    most: usize,
    total: usize,
    /// Number of connections by prefix.
    connections: BTreeMap<SourcePrefix, usize>,
    /// Start of a period and Retry packets in it for all prefixes.
    shared: Retries,
    /// Further Retry packets by prefix; entries whose period is over are removed when there are too many.
    retries: BTreeMap<SourcePrefix, Retries>,
    /// Time of the last removal.
    swept: Time,
}

impl HalfOpen {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            total: 0,
            connections: BTreeMap::new(),
            shared: Retries::new(Time::ZERO),
            retries: BTreeMap::new(),
            swept: Time::ZERO,
        }
    }

    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Decides about an Initial packet from an address in `prefix`, which is `validated` or not. A caller that
    /// accepts it calls [`HalfOpen::opened`].
    pub(crate) fn admit(&mut self, now: Time, prefix: SourcePrefix, validated: bool) -> Admission {
        let of_prefix = self.connections.get(&prefix).copied().unwrap_or(0);
        let quarter = self.most.div_ceil(4);
        let (per_prefix, most) =
            if validated { (quarter, self.most) } else { (quarter.min(UNVALIDATED_PER_PREFIX), quarter) };
        if of_prefix < per_prefix && self.total < most {
            Admission::Accept
        } else if !validated && self.may_retry(now, prefix) {
            Admission::Retry
        } else {
            Admission::Ignore
        }
    }

    fn may_retry(&mut self, now: Time, prefix: SourcePrefix) -> bool {
        if self.shared.take(now, RETRIES) {
            return true;
        }
        if self.retries.len() >= MAX_COUNTED_PREFIXES && !self.retries.contains_key(&prefix) {
            if now.since(self.swept) >= PERIOD {
                self.retries.retain(|_, retries| !retries.is_over(now));
                self.swept = now;
            }
            if self.retries.len() >= MAX_COUNTED_PREFIXES {
                return true;
            }
        }
        self.retries.entry(prefix).or_insert(Retries::new(now)).take(now, RETRIES_PER_PREFIX)
    }

    /// Records the beginning of a connection.
    pub(crate) fn opened(&mut self, prefix: SourcePrefix) {
        self.total += 1;
        *self.connections.entry(prefix).or_default() += 1;
    }

    /// Records that a connection is bound to a session, or discarded.
    pub(crate) fn closed(&mut self, prefix: SourcePrefix) {
        let Some(count) = self.connections.get_mut(&prefix) else { return };
        self.total -= 1;
        *count -= 1;
        if *count == 0 {
            self.connections.remove(&prefix);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(address: &str) -> SourcePrefix {
        SourcePrefix::of(address.parse().unwrap())
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_prefix_is_what_one_customer_has() {
        assert_eq!(prefix("198.51.100.1"), prefix("198.51.100.255"));
        assert_ne!(prefix("198.51.100.1"), prefix("198.51.101.1"));
        assert_eq!(prefix("::ffff:198.51.100.1"), prefix("198.51.100.2"), "IPv4 at a socket of IPv6");
        assert_eq!(prefix("2001:db8:0:1200::1"), prefix("2001:db8:0:12ff::1"));
        assert_ne!(prefix("2001:db8:0:1200::1"), prefix("2001:db8:0:1300::1"));
    }

    /// Opens connections until `prefix` is refused; returns their number.
    fn open(half_open: &mut HalfOpen, prefix: SourcePrefix, validated: bool) -> usize {
        (0..1000)
            .take_while(|_| {
                let accepted = half_open.admit(at(0), prefix, validated) == Admission::Accept;
                if accepted {
                    half_open.opened(prefix);
                }
                accepted
            })
            .count()
    }

    #[test]
    fn one_prefix_leaves_room_for_others() {
        let mut half_open = HalfOpen::new(64);
        let [one, other] = ["198.51.100.1", "203.0.113.1"].map(prefix);
        assert_eq!(open(&mut half_open, one, false), 4);
        assert_eq!(half_open.admit(at(0), one, false), Admission::Retry);
        assert_eq!(open(&mut half_open, one, true), 12, "16 together");
        assert_eq!(half_open.admit(at(0), one, true), Admission::Ignore);
        // 16 are a quarter of all: from now on all must be validated, which the other prefixes can do
        assert_eq!(open(&mut half_open, other, false), 0);
        assert_eq!(half_open.admit(at(0), other, false), Admission::Retry);
        assert_eq!(open(&mut half_open, other, true), 16);
        for number in 0..3 {
            open(&mut half_open, prefix(&format!("192.0.{number}.1")), true);
        }
        assert_eq!(half_open.total(), 64, "all together");
        for _ in 0..16 {
            half_open.closed(one);
        }
        assert_eq!((half_open.total(), half_open.connections.contains_key(&one)), (48, false));
    }

    #[test]
    fn forged_packets_leave_a_retry_for_each_client_of_the_prefix_and_of_others() {
        let mut half_open = HalfOpen::new(4);
        let [one, other] = ["2001:db8::1", "203.0.113.1"].map(prefix);
        half_open.opened(one);
        // `packets` in the second from `from` on, evenly spaced, or all at its end
        let mut count = |from: u64, packets: u64, at_end: bool, prefix| {
            let time = |number| at(from + if at_end { 999 } else { number * 999 / packets });
            let admissions = (0..packets).map(|number| half_open.admit(time(number), prefix, false));
            admissions.filter(|admission| *admission == Admission::Retry).count()
        };
        assert_eq!(count(0, 4000, false, one), 4000, "whoever is among them gets one");
        assert_eq!(count(1000, 20_000, false, one), 4096 + 32);
        assert_eq!(count(1000, 100, true, other), 32, "of the same second");
        assert_eq!(count(3000, 4000, false, one), 4000);
    }

    #[test]
    fn a_client_among_forged_packets_of_its_prefix_gets_in() {
        let mut half_open = HalfOpen::new(64);
        let one = prefix("198.51.100.1");
        // 3000 forged per second; none of them has a token, and connections without an answer end after three seconds
        let mut opened = std::collections::VecDeque::new();
        for number in 0..30_000_u64 {
            let now = number / 3;
            while opened.front().is_some_and(|start| start + 3000 <= now) {
                opened.pop_front();
                half_open.closed(one);
            }
            if half_open.admit(at(now), one, false) == Admission::Accept {
                half_open.opened(one);
                opened.push_back(now);
            }
            if number % 1000 == 999 {
                let first = half_open.admit(at(now), one, false);
                assert_eq!(first, Admission::Retry, "at {now} ms");
                assert_eq!(half_open.admit(at(now), one, true), Admission::Accept, "at {now} ms");
            }
        }
    }

    #[test]
    fn the_table_of_prefixes_is_bounded_and_shuts_nobody_out() {
        let mut half_open = HalfOpen::new(1);
        half_open.opened(prefix("198.51.100.1"));
        for number in 0..100_000_u32 {
            let forged = SourcePrefix::of(IpAddr::from((number << 8).to_be_bytes()));
            // 100,000 per second
            assert_eq!(half_open.admit(at(u64::from(number) / 100), forged, false), Admission::Retry);
        }
        assert!(half_open.retries.len() <= MAX_COUNTED_PREFIXES);
    }
}
