//! Selection of the refused connections that are logged: a client that is not accepted retries indefinitely.

use quiclab_carrier::RefusalReason;
use quiclab_core::{Duration, Time};
use std::mem::{Discriminant, discriminant};
use std::net::{IpAddr, SocketAddr};

/// Delay after the first refusal of a host for one kind of reason; it doubles each time, up to [`LONGEST`].
const FIRST: Duration = Duration::from_secs(10);
/// See [`FIRST`].
const LONGEST: Duration = Duration::from_secs(640);
/// Maximum number of hosts, or kinds of reason of a host, beyond which the least recently refused is discarded.
const MAX_SERIES: usize = 64;

/// Refusals of one host for one kind of reason: the key, or the message of the peer, may differ each time.
#[derive(Debug)]
struct Series {
    from: IpAddr,
    kind: Discriminant<RefusalReason>,
    /// Time from which the next one is logged.
    next: Time,
    wait: Duration,
    /// Number of refusals since the last one that was logged.
    since: u64,
}

/// Refusals that were logged, the least recent first.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<Series>);

impl Refusals {
    /// Counts a refusal. Returns the number of refusals that it represents, if it is to be logged.
    pub(super) fn count(&mut self, now: Time, from: SocketAddr, reason: &RefusalReason) -> Option<u64> {
        let kind = discriminant(reason);
        let known = self.0.iter().position(|series| series.from == from.ip() && series.kind == kind);
        if let Some(known) = known {
            let mut series = self.0.remove(known);
            series.since += 1;
            let logged = (now >= series.next).then(|| {
                series.wait = LONGEST.min(series.wait * 2);
                series.next = now + series.wait;
                std::mem::take(&mut series.since)
            });
            self.0.push(series);
            return logged;
        }
        if self.0.len() >= MAX_SERIES {
            self.0.remove(0);
        }
        self.0.push(Series { from: from.ip(), kind, next: now + FIRST, wait: FIRST, since: 0 });
        Some(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_tries_again_is_logged_at_increasing_intervals() {
        let mut refusals = Refusals::default();
        let (one, reason) = ("192.0.2.1:1".parse().unwrap(), RefusalReason::OwnKeyUnknown);
        let logged: Vec<_> = (0..200)
            .filter_map(|second| {
                let now = Time::ZERO + Duration::from_secs(second);
                refusals.count(now, one, &reason).map(|count| (second, count))
            })
            .collect();
        assert_eq!(logged, [(0, 1), (10, 10), (30, 20), (70, 40), (150, 80)]);
    }

    #[test]
    fn another_host_and_another_kind_of_reason_are_logged() {
        let mut refusals = Refusals::default();
        let address = |host: u8, port| SocketAddr::from(([192, 0, 2, host], port));
        let mut count = |host, port, reason| refusals.count(Time::ZERO, address(host, port), &reason);
        assert_eq!(count(1, 1, RefusalReason::OwnKeyUnknown), Some(1));
        assert_eq!(count(1, 2, RefusalReason::OwnKeyUnknown), None, "another port of the same host");
        assert_eq!(count(2, 1, RefusalReason::OwnKeyUnknown), Some(1));
        assert_eq!(count(1, 1, RefusalReason::Other("one".into())), Some(1));
        assert_eq!(count(1, 1, RefusalReason::Other("another".into())), None, "words of the other end");
    }

    #[test]
    fn memory_is_bounded() {
        let mut refusals = Refusals::default();
        for host in 0..1000_u16 {
            let from = SocketAddr::from(([10, 0, (host >> 8) as u8, host as u8], 1));
            refusals.count(Time::ZERO, from, &RefusalReason::OwnKeyUnknown);
        }
        assert_eq!(refusals.0.len(), MAX_SERIES);
    }

    #[test]
    fn who_goes_on_is_not_forgotten_for_those_who_came_once() {
        let mut refusals = Refusals::default();
        let (one, reason) = ("192.0.2.1:1".parse().unwrap(), RefusalReason::OwnKeyUnknown);
        let mut logged = 0;
        for host in 0..200_u8 {
            logged += u64::from(refusals.count(Time::ZERO, one, &reason).is_some());
            refusals.count(Time::ZERO, SocketAddr::from(([10, 0, 0, host], 1)), &reason);
        }
        assert_eq!(logged, 1);
    }
}
