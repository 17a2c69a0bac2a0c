//! Order of packets that leave a tunnel: the resequencer of split bearers, with one timer per gap, so that no packet
//! waits longer than the bound, even if a failed path loses one packet after another.

use super::number::{NUMBER, NUMBER_BITS};
use super::report::{self, Report};
use crate::bearer::{BearerConfig, Reordering, ReorderingTimer};
use crate::bearer::{BearerReceiver, MAX_LINKS};
use crate::element::{Element, Outputs, Port};
use crate::metric::Metrics;
use crate::packet::Packet;
use crate::time::{Duration, Time};
use crate::units::ByteCount;

/// Restores the order of packet numbers; a missing one is awaited no longer than a bound, from the arrival of a later
/// one.
pub(super) struct Resequencer {
    receiver: BearerReceiver,
    outputs: Outputs,
}

impl Resequencer {
    pub(super) fn new(bound: Duration) -> Self {
        let reordering = Reordering {
            timer: ReorderingTimer::Fixed(bound),
            sequence_bits: NUMBER_BITS,
            ..Reordering::default()
        };
        let links = (0..MAX_LINKS).map(|link| link.to_string()).collect();
        let receiver = BearerReceiver::new(&BearerConfig { reordering, ..BearerConfig::over(links) })
            .with_timer_for_each_gap();
        Self { receiver, outputs: Outputs::default() }
    }

    pub(super) fn receive(
        &mut self,
        now: Time,
        path: usize,
        number: u32,
        mut packet: Box<Packet>,
        delivered: &mut Vec<Box<Packet>>,
    ) {
        packet.sequence = number;
        packet.encapsulation += ByteCount::from_bytes(NUMBER as u64);
        self.receiver.receive(now, Port((path % MAX_LINKS) as u16), packet, &mut self.outputs);
        self.deliver(delivered);
    }

    /// Handles the arrival of the packet of `number`, which is dropped here: later packets do not wait for it.
    pub(super) fn pass_over(&mut self, now: Time, number: u32, delivered: &mut Vec<Box<Packet>>) {
        self.receiver.pass_over(now, number, &mut self.outputs);
        self.deliver(delivered);
    }

    /// Handles the arrival of the packet of `number`, which does not wait for earlier ones. Returns whether it is the
    /// first arrival.
    pub(super) fn came_unordered(
        &mut self,
        now: Time,
        number: u32,
        delivered: &mut Vec<Box<Packet>>,
    ) -> bool {
        let first = self.receiver.came_unordered(now, number, &mut self.outputs);
        self.deliver(delivered);
        first
    }

    /// Report of missing packets for the path on which `last` arrived last.
    pub(super) fn report(&self, last: u32) -> Option<Report> {
        let (first, next) = self.receiver.awaited();
        report::report(last, first, next, |number| self.receiver.is_missing(number))
    }

    pub(super) fn wake(&mut self, now: Time, delivered: &mut Vec<Box<Packet>>) {
        // several gaps may be given up together
        while self.next_wake().is_some_and(|due| due <= now) {
            self.receiver.wake(now, &mut self.outputs);
        }
        self.deliver(delivered);
    }

    fn deliver(&mut self, delivered: &mut Vec<Box<Packet>>) {
        delivered.extend(self.outputs.packets.drain(..).map(|(_, packet)| packet));
        self.outputs.drops.clear();
    }

    pub(super) fn next_wake(&self) -> Option<Time> {
        self.receiver.next_wake()
    }

    pub(super) fn statistics(&mut self, now: Time, out: &mut Metrics) {
        self.receiver.statistics(now, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const BOUND: u64 = 200;

    /// Runs arrivals of numbers at times in ms; returns the numbers that leave, each with its time in ms.
    fn run(arrivals: &BTreeMap<u64, u32>) -> Vec<(u32, u64)> {
        let mut resequencer = Resequencer::new(Duration::from_millis(BOUND));
        let (mut left, mut delivered) = (Vec::new(), Vec::new());
        let end = arrivals.keys().next_back().map_or(0, |last| last + 2 * BOUND);
        for ms in 0..=end {
            if let Some(number) = arrivals.get(&ms) {
                let packet = Packet { id: u64::from(*number), ..Packet::default() };
                resequencer.receive(at(ms), 0, *number, Box::new(packet), &mut delivered);
            }
            resequencer.wake(at(ms), &mut delivered);
            left.extend(delivered.drain(..).map(|packet| (u32::try_from(packet.id).unwrap(), ms)));
        }
        left
    }

    /// A failed path loses 0 and then 2, while another one delivers the rest.
    #[test]
    fn losses_one_after_another_delay_nothing_by_more_than_the_bound() {
        let arrivals = BTreeMap::from([(0, 1), (20, 3), (40, 4), (210, 5)]);
        assert_eq!(run(&arrivals), [(1, 200), (3, 220), (4, 220), (5, 220)]);
    }

    #[test]
    fn gaps_that_are_seen_at_once_are_given_up_at_once() {
        let mut resequencer = Resequencer::new(Duration::from_millis(BOUND));
        let mut delivered = Vec::new();
        for number in [1, 3, 5] {
            resequencer.receive(at(0), 0, number, Box::default(), &mut delivered);
        }
        resequencer.wake(at(BOUND), &mut delivered);
        assert_eq!(delivered.len(), 3);
        assert_eq!(resequencer.next_wake(), None);
    }

    proptest! {
        /// A number is given up a bound after a later one has arrived; a packet leaves when all earlier ones have
        /// arrived or are given up.
        #[test]
        fn each_packet_leaves_when_no_number_before_it_is_waited_for(
            delays in prop::collection::vec((1u64..4, prop::option::weighted(0.9, 0u64..500)), 1..150),
        ) {
            let (mut sent, mut arrivals) = (0, BTreeMap::new());
            for (number, (pause, delay)) in (0..).zip(delays) {
                sent += pause;
                if let Some(delay) = delay {
                    arrivals.entry(sent + delay).or_insert(number);
                }
            }
            let came: BTreeMap<u32, u64> = arrivals.iter().map(|(ms, number)| (*number, *ms)).collect();
            let given_up = |number: u32| came.range(number + 1..).map(|(_, ms)| ms + BOUND).min().unwrap_or(u64::MAX);
            let mut turn = 0;
            let mut expected = Vec::new();
            for number in 0..came.keys().next_back().map_or(0, |last| last + 1) {
                let arrival = came.get(&number).copied().unwrap_or(u64::MAX);
                // one that arrives at the instant at which it is given up is still in time
                turn = turn.max(arrival.min(given_up(number)));
                if arrival <= given_up(number) {
                    expected.push((number, turn));
                }
            }
            prop_assert_eq!(run(&arrivals), expected);
        }
    }
}
