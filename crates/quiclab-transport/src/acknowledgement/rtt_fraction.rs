//! Acknowledgement after a fraction of the RTT, or a number of packets: ACK decimation, as in Chromium
//! (`QuicReceivedPacketManager::MaybeUpdateAckTimeout`).
//!
//! | Aspect | Here (`chromium`) | Chromium |
//! | --- | --- | --- |
//! | first 100 packets | every 2, or max_ack_delay | the same (`kMinReceivedBeforeAckDecimation`), by packet number |
//! | after them | every 10, or RTT / 4, at most max_ack_delay | the same (`kMaxRetransmittablePacketsBeforeAck`, 0.25) |
//! | RTT | smoothed; unknown: max_ack_delay | minimum |
//! | minimum delay | 1 ms | `kAlarmGranularity`, 1 ms |
//! | a new gap | the packet after it and the next three at once | the same (`kMaxPacketsAfterNewMissing`, 4) |
//! | a gap is filled | at once | at once if the gap has been reported |
//! | CE mark | at once | at once |

use super::{AckPolicy, Arrival, Pending};
use quiclab_core::{Duration, Time};

/// Policy that waits for a fraction of the RTT.
#[derive(Clone, Debug)]
pub struct RttFraction {
    /// Fraction of the smoothed RTT.
    fraction: f64,
    /// Number of waiting packets that are acknowledged at once.
    packets: u32,
    max_ack_delay: Duration,
    min_ack_delay: Duration,
    /// Packet number from which the above applies; before it, every second packet is acknowledged.
    from_number: u64,
    /// Number of packets acknowledged at once after a new gap.
    after_gap: u32,
    /// Number of these that remain.
    left_after_gap: u32,
    pending: Pending,
}

/// Number of packets before an acknowledgement while decimation does not apply (RFC 9000 section 13.2.2).
const EARLY_PACKETS: u32 = 2;

impl RttFraction {
    /// Acknowledges after `fraction` of the smoothed RTT and at most `max_ack_delay`, or each `packets`-th
    /// packet (0 counts as 1), from the start.
    #[must_use]
    pub fn new(fraction: f64, packets: u32, max_ack_delay: Duration) -> Self {
        Self {
            fraction,
            packets: packets.max(1),
            max_ack_delay,
            min_ack_delay: Duration::ZERO,
            from_number: 0,
            after_gap: 1,
            left_after_gap: 0,
            pending: Pending::default(),
        }
    }

    /// Policy of Chromium's QUIC; its `max_ack_delay` is 25 ms.
    #[must_use]
    pub fn chromium(max_ack_delay: Duration) -> Self {
        Self::new(0.25, 10, max_ack_delay).decimating_from(100)
    }

    /// Starts decimation at packet `number` as in Chromium: after at least 1 ms, and four packets at once
    /// after a new gap.
    #[must_use]
    pub fn decimating_from(self, number: u64) -> Self {
        Self { min_ack_delay: Duration::from_millis(1), from_number: number, after_gap: 4, ..self }
    }

    fn delay(&self, srtt: Option<Duration>) -> Duration {
        let Some(srtt) = srtt else { return self.max_ack_delay };
        let part = Duration::from_nanos_f64(srtt.as_nanos() as f64 * self.fraction);
        part.min(self.max_ack_delay).max(self.min_ack_delay)
    }
}

impl AckPolicy for RttFraction {
    fn on_arrival(&mut self, arrival: &Arrival) {
        let new_gap = arrival.out_of_order && arrival.largest.is_none_or(|l| arrival.number > l);
        if new_gap {
            self.left_after_gap = self.after_gap;
        }
        let after_gap = self.left_after_gap > 0;
        self.left_after_gap = self.left_after_gap.saturating_sub(1);
        let (packets, delay) = if arrival.number >= self.from_number {
            (self.packets, self.delay(arrival.srtt))
        } else {
            (EARLY_PACKETS, self.max_ack_delay)
        };
        let at_once = arrival.out_of_order || after_gap || arrival.ce;
        self.pending.add(arrival.now, packets, delay, at_once);
    }

    fn due(&self) -> Option<Time> {
        self.pending.due
    }

    fn on_ack_sent(&mut self, _now: Time) {
        self.pending = Pending::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acknowledgement::testing::{arrival, ms};

    fn with_rtt(now: u64, number: u64, rtt_ms: u64) -> Arrival {
        Arrival { srtt: Some(Duration::from_millis(rtt_ms)), ..arrival(now, number) }
    }

    fn chromium() -> RttFraction {
        RttFraction::chromium(Duration::from_millis(25))
    }

    fn delay_of(policy: &mut RttFraction, arrival: &Arrival) -> u64 {
        policy.on_arrival(arrival);
        let due = policy.due().expect("a packet has arrived");
        policy.on_ack_sent(due);
        due.since(arrival.now).as_nanos() / 1_000_000
    }

    /// 40 ms / 4 = 10 ms; 400 ms / 4 is more than 25 ms; 2 ms / 4 is less than 1 ms.
    #[test]
    fn the_delay_is_a_fraction_of_the_rtt_within_bounds() {
        let mut policy = chromium();
        assert_eq!(delay_of(&mut policy, &with_rtt(0, 100, 40)), 10);
        assert_eq!(delay_of(&mut policy, &with_rtt(0, 101, 400)), 25);
        assert_eq!(delay_of(&mut policy, &with_rtt(0, 102, 2)), 1);
        assert_eq!(delay_of(&mut policy, &arrival(0, 103)), 25);
    }

    #[test]
    fn every_second_packet_before_the_hundredth_and_every_tenth_after_it() {
        let mut policy = chromium();
        let mut acknowledged = Vec::new();
        for number in 0..140 {
            let now = number / 50; // all within 2 ms: no delay runs out
            policy.on_arrival(&with_rtt(now, number, 400));
            if policy.due() == Some(ms(now)) {
                policy.on_ack_sent(ms(now));
                acknowledged.push(number);
            }
        }
        let expected = (1..100).step_by(2).chain((109..140).step_by(10));
        assert_eq!(acknowledged, expected.collect::<Vec<_>>());
    }

    #[test]
    fn four_packets_after_a_new_gap_are_acknowledged_at_once() {
        let mut policy = chromium();
        let gap = Arrival { out_of_order: true, largest: Some(198), ..with_rtt(0, 200, 40) };
        assert_eq!(delay_of(&mut policy, &gap), 0);
        let delays: Vec<_> = (201..206).map(|n| delay_of(&mut policy, &with_rtt(0, n, 40))).collect();
        assert_eq!(delays, [0, 0, 0, 10, 10]);
        // the packet that fills it: only itself
        let fills = Arrival { out_of_order: true, largest: Some(205), ..with_rtt(0, 199, 40) };
        assert_eq!(delay_of(&mut policy, &fills), 0);
        assert_eq!(delay_of(&mut policy, &with_rtt(0, 206, 40)), 10);
    }

    #[test]
    fn without_decimation_limits_the_fraction_holds_from_the_start() {
        let mut policy = RttFraction::new(0.5, u32::MAX, Duration::from_millis(100));
        assert_eq!(delay_of(&mut policy, &with_rtt(0, 0, 40)), 20);
        assert_eq!(delay_of(&mut policy, &Arrival { ce: true, ..with_rtt(0, 1, 40) }), 0);
    }
}
