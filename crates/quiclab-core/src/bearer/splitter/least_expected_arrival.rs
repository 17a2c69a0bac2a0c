//! Each packet takes the link on which it is expected to arrive first.
//!
//! The expected delay is (backlog + packet) / rate + base delay, with rate and base delay from reports
//! ([`LinkEstimate`]). The backlog is what was sent and not yet reported as transmitted or lost, drained at
//! that rate since the last report. Of equal links the first is taken. Thus packets are expected to arrive in
//! the order of their numbers, and receiving ends wait little.
//!
//! The idea is that of Earliest Delivery Path First (Chebrolu and Rao, "Bandwidth aggregation for
//! real-time applications in heterogeneous wireless networks", IEEE Trans. Mobile Computing 5(4),
//! 2006, section 4), which knows the bandwidths; here they are measured.
//!
//! A link with a low estimate would get nothing and never be measured again: one that has had no packet for
//! `probe_interval` gets the next.

use super::super::MAX_LINKS;
use super::super::link_estimate::LinkEstimate;
use crate::time::{Duration, Time};
use crate::units::ByteCount;

/// See the module documentation.
#[derive(Debug)]
pub(in crate::bearer) struct LeastExpectedArrival {
    probe_interval: Duration,
    links: [Backlog; MAX_LINKS],
}

/// Assumed backlog of a link at a given time.
#[derive(Clone, Copy, Debug, Default)]
struct Backlog {
    bytes: ByteCount,
    at: Time,
    last_sent: Time,
}

impl LeastExpectedArrival {
    pub(in crate::bearer) fn new(probe_interval: Duration) -> Self {
        Self { probe_interval, links: [Backlog::default(); MAX_LINKS] }
    }

    /// The link of a packet of `size`.
    pub(in crate::bearer) fn next(&self, now: Time, size: ByteCount, links: &[LinkEstimate]) -> usize {
        let silent = |backlog: &Backlog| now.since(backlog.last_sent) >= self.probe_interval;
        if let Some(link) = self.links[..links.len()].iter().position(silent) {
            return link;
        }
        let arrival = |link: usize| {
            let known = &links[link];
            let waiting = self.links[link].drained(now, known).time_of(known, size);
            (waiting + known.base_delay(), link)
        };
        (0..links.len()).map(arrival).min().map_or(0, |(_, link)| link)
    }

    /// Handles the sending of a packet of `size` to `link`.
    pub(in crate::bearer) fn on_sent(
        &mut self,
        now: Time,
        link: usize,
        size: ByteCount,
        known: &LinkEstimate,
    ) {
        let drained = self.links[link].drained(now, known);
        self.links[link] = Backlog { bytes: drained.bytes + size, at: now, last_sent: now };
    }

    /// Handles a report of `link`.
    pub(in crate::bearer) fn on_report(&mut self, now: Time, link: usize, known: &LinkEstimate) {
        let measured = Backlog {
            bytes: known.unreported(),
            at: known.last.measured,
            last_sent: self.links[link].last_sent,
        };
        self.links[link] = measured.drained(now, known);
    }
}

impl Backlog {
    fn drained(self, now: Time, known: &LinkEstimate) -> Self {
        let left = self.bytes.saturating_sub(known.rate().bytes_in(now.since(self.at)));
        Self { bytes: left, at: now, ..self }
    }

    /// Time to transmit the backlog and a packet of `size`.
    fn time_of(self, known: &LinkEstimate, size: ByteCount) -> Duration {
        known.rate().time_for(self.bytes + size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::DataRate;

    const SIZE: ByteCount = ByteCount::from_bytes(1000);

    fn known(mbps: u64) -> LinkEstimate {
        LinkEstimate::new(DataRate::from_mbps(mbps), Duration::from_millis(100))
    }

    fn burst(links: &[LinkEstimate], now: Time, packets: usize) -> Vec<usize> {
        let mut splitter = LeastExpectedArrival::new(Duration::from_secs(1));
        let mut send = |_| {
            let link = splitter.next(now, SIZE, links);
            splitter.on_sent(now, link, SIZE, &links[link]);
            link
        };
        (0..packets).map(&mut send).collect()
    }

    /// At 24 and 8 Mbit/s a packet takes 1/3 ms and 1 ms.
    #[test]
    fn a_burst_arrives_in_order() {
        let links = [known(24), known(8)];
        assert_eq!(burst(&links, Time::ZERO, 8), [0, 0, 0, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn a_backlog_drains_at_the_rate() {
        let links = [known(8), known(8)];
        let mut splitter = LeastExpectedArrival::new(Duration::from_secs(1));
        for _ in 0..3 {
            splitter.on_sent(Time::ZERO, 0, SIZE, &links[0]);
        }
        splitter.on_sent(Time::ZERO, 1, SIZE + SIZE, &links[1]);
        assert_eq!(splitter.next(Time::ZERO, SIZE, &links), 1);
        let later = Time::ZERO + Duration::from_millis(3);
        assert_eq!(splitter.next(later, SIZE, &links), 0, "both are empty");
    }

    #[test]
    fn a_silent_link_is_probed() {
        let links = [known(100), known(1)];
        let mut splitter = LeastExpectedArrival::new(Duration::from_secs(1));
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut taken = Vec::new();
        for ms in (0..3000).step_by(100) {
            let link = splitter.next(at(ms), SIZE, &links);
            splitter.on_sent(at(ms), link, SIZE, &links[link]);
            taken.push(link);
        }
        assert_eq!(taken.iter().filter(|&&link| link == 1).count(), 2);
    }
}
