//! Order of what leaves a tunnel: the resequencer of split bearers, with a bounded wait.

use super::number::{NUMBER, NUMBER_BITS};
use super::report::{self, Report};
use crate::bearer::{BearerConfig, Reordering, ReorderingTimer};
use crate::bearer::{BearerReceiver, MAX_LINKS};
use crate::element::{Element, Metrics, Outputs, Port};
use crate::packet::Packet;
use crate::time::{Duration, Time};
use crate::units::ByteCount;

/// Puts packets in the order of their numbers; a missing one is waited for no longer than a bound, counted as
/// t-Reordering is.
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
        let receiver = BearerReceiver::new(&BearerConfig { reordering, ..BearerConfig::over(links) });
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

    /// The packet of `number` has arrived and is dropped here: what follows does not wait for it.
    pub(super) fn pass_over(&mut self, now: Time, number: u32, delivered: &mut Vec<Box<Packet>>) {
        self.receiver.pass_over(now, number, &mut self.outputs);
        self.deliver(delivered);
    }

    /// The packet of `number` has arrived and does not wait for those before it. Returns whether it came for the first time.
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

    /// What is missing, for the path on which `last` came last.
    pub(super) fn report(&self, last: u32) -> Option<Report> {
        let (first, next) = self.receiver.awaited();
        report::report(last, first, next, |number| self.receiver.is_missing(number))
    }

    pub(super) fn wake(&mut self, now: Time, delivered: &mut Vec<Box<Packet>>) {
        if self.next_wake().is_some_and(|due| due <= now) {
            self.receiver.wake(now, &mut self.outputs);
            self.deliver(delivered);
        }
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
