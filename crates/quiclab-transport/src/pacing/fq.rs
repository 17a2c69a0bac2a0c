//! Pacing by the fq queueing discipline of the sender's host (net/sched/sch_fq.c): each packet is stamped
//! with its earliest departure time and fq holds it until then.
//!
//! | Aspect | Here | Linux |
//! | --- | --- | --- |
//! | unit | unit that the sender hands over: a burst (TCP), a datagram (QUIC) | the skb |
//! | `quantum` (2 MTU) | not used: with departure times the credit of a flow only decides the turns of flows, and a host has one flow here | the same since 4.20; before, and for packets without departure times, it releases packets in pairs: `fq_flow` |
//! | against `linux` | for TCP the departures are the same, but waiting bursts were handed over before, with the window of that time; for QUIC no chunks | the timer of fq has a slack of 10 us |
//! | waiting data | TCP hands bursts over before (`tcp/sender/host_queue.rs`); a QUIC sender queries again at the departure | the packet is in the queue: window and rate are those of the moment it was queued |
//! | `initial_quantum` (10 MTU) | not modelled | frees a new flow's first bytes only where packets have no departure time (UDP with `SO_MAX_PACING_RATE`); TCP's are stamped (since 4.20; before: `fq_flow`) |
//! | `maxrate` | as `SO_MAX_PACING_RATE`: counts bytes of the sender | counts bytes on the wire, at dequeue |
//! | horizon | none | packets stamped 10 s ahead are dropped |

use super::departure::DepartureClock;
use super::{Pacer, PacingInput};
use quiclab_core::{DataRate, Time};

/// Pacer with a departure time for each packet.
#[derive(Clone, Debug)]
pub struct Fq {
    max_rate: Option<DataRate>,
    departures: DepartureClock,
}

impl Fq {
    /// Makes the pacer; `max_rate` is `SO_MAX_PACING_RATE`, or `maxrate` of the queueing discipline.
    #[must_use]
    pub fn new(max_rate: Option<DataRate>) -> Self {
        Self { max_rate, departures: DepartureClock::default() }
    }
}

impl Pacer for Fq {
    fn update(&mut self, _now: Time, input: &PacingInput) {
        self.departures.update(input, self.max_rate);
    }

    fn release(&self, now: Time, _bytes: u64) -> Time {
        if self.departures.rate.is_none() { now } else { now.max(self.departures.next()) }
    }

    fn on_sent(&mut self, now: Time, bytes: u64) {
        self.departures.charge(self.departures.stamp(now), bytes, bytes);
    }

    fn rate(&self) -> Option<DataRate> {
        self.departures.rate
    }

    fn paces_bursts(&self) -> bool {
        true
    }

    fn next_departure(&self) -> Option<Time> {
        self.departures.rate.map(|_| self.departures.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::testing::{MSS, greedy, input, ms};

    /// 9.6 Mbit/s: a packet takes 1 ms.
    fn paced(mut pacer: impl Pacer) -> impl Pacer {
        let rate = Some(DataRate::from_bits_per_second(9_600_000));
        pacer.update(Time::ZERO, &PacingInput { rate, ..input(12_000, 100) });
        pacer
    }

    #[test]
    fn after_ten_packets_each_has_its_own_departure() {
        let sent = greedy(&mut paced(Fq::new(None)), Time::ZERO, MSS, 13);
        let expected = [[0; 10].as_slice(), &[1, 2, 3]].concat();
        assert_eq!(sent, expected.into_iter().map(ms).collect::<Vec<_>>());
    }

    #[test]
    fn a_pause_gives_a_packet_and_half_a_wait() {
        let mut pacer = paced(Fq::new(None));
        greedy(&mut pacer, Time::ZERO, MSS, 12);
        let sent = greedy(&mut pacer, ms(500), MSS, 3);
        let half = quiclab_core::Duration::from_micros(500);
        assert_eq!(sent, [ms(500), ms(500) + half, ms(501) + half]);
    }
}
