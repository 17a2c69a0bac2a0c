//! A one-way link: policer, then loss, then queue, then serialisation at the rate, then propagation delay. Its
//! conditions may change over time (`conditions`); aggregation and retransmission follow the serialisation.
//!
//! The model is two nested Linux `netem` queueing disciplines, the outer one with rate, limit and loss, the inner one
//! with the delay (the usual emulation of an access link).
//!
//! | | netem | here |
//! | --- | --- | --- |
//! | loss | at enqueue, before the limit is checked | same |
//! | limit | waiting and in service; from Linux 6.12 on also packets in the inner discipline | waiting and in service |
//! | rate | end of serialisation fixed at enqueue, each packet rounded down to 1 ns | begun when the packet before has left, rounded up; `rate_at`: a rate that changes can be that at enqueue, too |
//! | overhead | the Ethernet header (14 B) counts | `overhead_per_packet`, and `framing` |
//! | delay | limited number of packets in flight | `limit_packets` of the delay, without it unlimited |
//! | packet above the MTU | refused before the queueing discipline | `mtu`: see `framing` |
//! | jitter | packets overtake each other | only with `reorder` |
//! | delay changed while packets wait | they keep their times, so later ones overtake | the same with `every` |
//! | policer | none; `act_police` as a filter in front of it | `policer`: first of all, see `token_bucket` |
//! | ECN field | unchanged | `ecn_rewrites` |
//! | prescribed reordering | none | `holds`: packets by number, see `hold` |
//! | slots | `slot` | `aggregation` |
//!
//! At equal times departures precede arrivals: a packet that arrives in the nanosecond in which the serialisation of
//! another one ends finds its slot free, whichever of the two calls the driver makes first. A driver that is late (in
//! real time) loses no capacity: overdue events are processed with the times at which they were due.

mod aggregation;
mod capacity;
mod changes;
mod conditions;
mod config;
mod construct;
mod delay;
mod departures;
mod feedback;
mod flight;
mod framing;
mod hold;
mod loss;
mod queue;
mod rate;
mod retransmission;
mod token_bucket;
mod totals;
mod trace;

#[cfg(test)]
mod tests;

pub use aggregation::AggregationConfig;
pub use changes::{LinkChange, LinkState};
pub use conditions::Conditions;
pub use config::{
    AboveMtu, ConditionRow, ConditionsConfig, Delay, Distribution, EcnRewrite, FeedbackConfig, Framing,
    FramingKind, Hold, LinkConfig, Loss, Policer, Rate, RateAt, ShapedRate, TraceEnd, TraceFormat, WhileDown,
};
pub use construct::LinkInputs;
pub use framing::WireFormat;
pub use retransmission::RetransmissionConfig;
pub use trace::{Trace, TraceError};

use crate::counters::Counters;
use crate::element::{DropReason, Element, Outputs, Port};
use crate::metric::Metrics;
use crate::packet::Packet;
use crate::queue::{Backlog, Discipline, Item};
use crate::time::{Duration, Time};
use crate::units::ByteCount;
use aggregation::Aggregation;
use changes::Changes;
use conditions::ConditionCursor;
pub(crate) use delay::DelayModel;
pub use delay::draw as draw_delay;
use flight::Flight;
use hold::HoldList;
use loss::LossModel;
use queue::Queued;
use rate::Serialiser;
use retransmission::Retransmission;
use token_bucket::TokenBucket;
pub(crate) use totals::LINK;
use totals::LinkCounters;

/// Output of the reports of a link with feedback.
pub const FEEDBACK_OUTPUT: Port = Port(1);

/// A one-way link with input 0, output 0 and, with feedback, output 1: see the module documentation.
#[derive(Debug)]
pub struct Link {
    loss: LossModel,
    wire: WireFormat,
    ecn_rewrites: Box<[EcnRewrite]>,
    /// `None` if every packet conforms.
    policer: Option<TokenBucket>,
    queue: Discipline<Queued>,
    serialiser: Serialiser,
    /// `None` while the serialiser is idle.
    in_service: Option<InService>,
    delay: DelayModel,
    /// Lower bound of the delay of packets after their serialisation.
    shortest_delay: Duration,
    /// `None` if any number of packets may be in flight.
    delay_limit: Option<u64>,
    flight: Flight,
    /// `None` if the conditions do not change.
    conditions: Option<Box<ConditionCursor>>,
    /// `None` if no event changes the link during the run.
    changes: Option<Box<Changes>>,
    /// `None` if each packet leaves by itself.
    aggregation: Option<Aggregation>,
    /// `None` if no transmission fails.
    retransmission: Option<Box<Retransmission>>,
    /// Packets held back at the end of the link; `None` if the scenario holds none.
    holding: Option<Box<HoldList>>,
    totals: LinkCounters,
    /// Drops that occurred in a query of the link; the next call reports them.
    settled: Outputs,
}

/// The packet in serialisation.
#[derive(Debug)]
struct InService {
    packet: Box<Packet>,
    wire_size: ByteCount,
    start: Time,
    /// Departure of the last bit; `None` if never, because the trace ends before.
    end: Option<Time>,
}

impl Link {
    /// Waiting and in service.
    fn backlog(&self) -> Backlog {
        let waiting = self.queue.waiting();
        self.in_service.iter().fold(waiting, |backlog, service| backlog.with(service.wire_size))
    }

    /// Ends all serialisations that are due at `now`, each followed by the next one.
    fn serialise_until(&mut self, now: Time, out: &mut Outputs) {
        let due = |service: &mut InService| service.end.is_some_and(|end| end <= now);
        loop {
            while let Some(service) = self.in_service.take_if(due) {
                let end = service.end.expect("only services with an end are due");
                self.totals.service_ended(end.since(service.start));
                if let Some(feedback) = &mut self.totals.feedback {
                    feedback.transmitted(&service.packet);
                }
                self.depart(end, service.packet, out);
                self.serve_next(end, out);
            }
            let Some(held_until) = self.held_until().filter(|until| *until <= now) else { return };
            self.serve_next(held_until, out);
        }
    }

    /// Handles the transmission of `packet`, completed at `end`.
    fn depart(&mut self, end: Time, packet: Box<Packet>, out: &mut Outputs) {
        self.follow(end);
        if self.conditions.as_ref().is_some_and(|conditions| !conditions.now().arrives) {
            return self.totals.discard(DropReason::LinkDown, packet, out);
        }
        if self.delay_limit.is_some_and(|limit| !self.flight.has_room(end, limit)) {
            return self.totals.discard(DropReason::DelayFull, packet, out);
        }
        let mut left = self.aggregation.as_ref().map_or(end, |aggregation| aggregation.leaves(end));
        if let Some(retransmission) = &mut self.retransmission {
            let Some(added) = retransmission.draw() else {
                return self.totals.discard(DropReason::Loss, packet, out);
            };
            left += added;
        }
        self.flight.push(left + self.delay.draw(end), packet);
    }

    /// Advances to the conditions at `at`.
    fn follow(&mut self, at: Time) {
        if self.conditions.as_mut().is_some_and(|conditions| conditions.advance(at)) {
            self.apply_conditions();
        }
    }

    fn apply_conditions(&mut self) {
        let conditions = self.conditions.as_ref().map(|conditions| conditions.now());
        let changed = self.changes.as_ref().map(|changes| changes.over(conditions));
        if let Some(now) = changed.as_ref().or(conditions) {
            self.loss.set(now.loss);
            self.delay.set(now.delay, now.deviation);
        }
    }

    /// Applies `change` at `now`, or ends the change with this number, and returns the resulting state. The driver
    /// wakes the link afterwards.
    ///
    /// # Panics
    /// If the link was not built with changes.
    pub fn change(&mut self, now: Time, number: u64, change: Option<LinkChange>) -> LinkState {
        // as with conditions, a packet whose serialisation ends at this instant is transmitted under the new ones
        self.settle(Time::from_nanos(now.as_nanos().saturating_sub(1)));
        self.follow(now);
        let conditions = self.conditions.as_ref().map(|conditions| conditions.now());
        let changes = self.changes.as_mut().expect("a link that changes is built to");
        let before = changes.state(conditions).rate;
        changes.set(number, change);
        let after = changes.state(conditions);
        if let (Serialiser::Constant(rate), Some(before), Some(new)) =
            (&mut self.serialiser, before, after.rate)
            && before != new
        {
            *rate = new;
            if let Some(service) = &mut self.in_service {
                service.end = changes.finish(now, service, before, new);
            }
        }
        self.apply_conditions();
        self.shortest_delay = self.shortest_delay_from_now();
        after
    }

    /// Lower bound of the delay of packets that are transmitted from now on.
    fn shortest_delay_from_now(&mut self) -> Duration {
        let Some(changes) = &self.changes else { return self.shortest_delay };
        let rows = self.conditions.iter().flat_map(|conditions| conditions.rows());
        let all = rows.map(|row| changes.over(Some(row))).collect::<Vec<_>>();
        let shortest = all.iter().map(|row| {
            self.delay.set(row.delay, row.deviation);
            self.delay.shortest()
        });
        let shortest = shortest.min();
        self.apply_conditions();
        shortest.unwrap_or_else(|| self.delay.shortest())
    }

    /// Time until which the queue holds back packets from the idle serialiser.
    fn held_until(&self) -> Option<Time> {
        if self.in_service.is_none() { self.queue.next_wake() } else { None }
    }

    /// Completes the serialisations that were due by `now`, for a query of the link. No packet can reach the end of the
    /// link thereby: it would have requested a wake-up.
    fn settle(&mut self, now: Time) {
        let mut settled = std::mem::take(&mut self.settled);
        self.serialise_until(now, &mut settled);
        self.settled = settled;
    }

    /// Reports the drops since the last call.
    fn tell_settled(&mut self, out: &mut Outputs) {
        self.settled.record_drops = out.record_drops;
        out.drops.append(&mut self.settled.drops);
    }

    /// Starts the next packet, if there is one: the serialiser is free at `now`.
    fn serve_next(&mut self, now: Time, out: &mut Outputs) {
        let totals = &mut self.totals;
        let mut discard = |item: Queued, reason| totals.discard(reason, item.packet, out);
        let next = self.queue.dequeue(now, &mut discard);
        if let Some(Queued { packet, wire_size }) = next {
            let end = self.serialiser.finish(now, wire_size);
            self.in_service = Some(InService { packet, wire_size, start: now, end });
        }
    }

    /// Emits the packets that have reached the end of the link by `now`.
    fn deliver_until(&mut self, now: Time, out: &mut Outputs) {
        if self.holding.is_some() {
            return self.hold_and_deliver_until(now, out);
        }
        while let Some(packet) = self.flight.pop_due(now) {
            self.emit(packet, out);
        }
    }

    fn emit(&mut self, packet: Box<Packet>, out: &mut Outputs) {
        self.totals.sent(&packet);
        out.send(Port(0), packet);
    }

    /// Emits the same packets and those that are held, in the order of the times at which they were due, so that a late
    /// driver changes nothing.
    fn hold_and_deliver_until(&mut self, now: Time, out: &mut Outputs) {
        while let Some(holding) = &mut self.holding {
            let arriving = self.flight.next_due().filter(|due| *due <= now);
            let released = holding.next_due().filter(|due| *due <= now);
            if released.is_some_and(|released| arriving.is_none_or(|arriving| released <= arriving)) {
                if let Some(packet) = holding.pop() {
                    self.emit(packet, out);
                }
                continue;
            }
            let Some(at) = arriving else { break };
            let Some(packet) = self.flight.pop_due(at) else { break };
            if let Some(how_long) = holding.holds(packet.id) {
                holding.keep(at, packet, how_long);
            } else {
                holding.passed(at);
                self.emit(packet, out);
            }
        }
    }

    /// Makes the report that is due, and sends the reports whose delay has elapsed.
    fn report(&mut self, now: Time, out: &mut Outputs) {
        let Some(feedback) = &mut self.totals.feedback else { return };
        let counters = &mut self.totals.counters;
        if feedback.is_due(now) {
            // a rate of 0 is a change, and may end: packets that wait for it are reported like moving ones
            let stuck = self.in_service.as_ref().is_some_and(|service| service.end.is_none())
                && !matches!(self.serialiser, Serialiser::Constant(_));
            feedback.measure(now, self.serialiser.rate_at(now), stuck, counters);
        }
        while let Some(report) = feedback.arrives(now) {
            counters.held.remove(report.size);
            counters.sent.add(report.size);
            out.send(FEEDBACK_OUTPUT, report);
        }
    }
}

impl Element for Link {
    fn receive(&mut self, now: Time, port: Port, mut packet: Box<Packet>, out: &mut Outputs) {
        debug_assert_eq!(port, Port(0), "a link has one input");
        self.tell_settled(out);
        self.serialise_until(now, out);
        self.totals.received(now, &packet);
        if let Some(holding) = &mut self.holding {
            holding.arrives(&packet);
        }
        let is_of = |change: &&EcnRewrite| change.from.is_none_or(|from| from == packet.ecn);
        if let Some(change) = self.ecn_rewrites.iter().find(is_of) {
            packet.ecn = change.to;
        }
        let wire_size = self.wire.length(&packet);
        self.follow(now);
        // drawn, and counted, for each packet: losses do not depend on the policer
        let mut is_lost = self.loss.loses_next();
        for _ in 1..self.wire.fragments(packet.size) {
            is_lost |= self.loss.loses_next();
        }
        if self.wire.refuses(packet.size) {
            self.totals.discard(DropReason::TooLarge, packet, out);
        } else if self.policer.as_mut().is_some_and(|policer| !policer.conforms(now, wire_size)) {
            self.totals.discard(DropReason::Policed, packet, out);
        } else if is_lost {
            self.totals.discard(DropReason::Loss, packet, out);
        } else if matches!(self.serialiser, Serialiser::Unlimited) {
            self.depart(now, packet, out);
        } else if self.serialiser.has_ended(now) {
            self.totals.discard(DropReason::LinkEnded, packet, out);
        } else if wire_size > self.serialiser.largest_packet() {
            self.totals.discard(DropReason::TooLarge, packet, out);
        } else {
            let in_service = self.in_service.as_ref().map(|service| service.wire_size);
            let item = Queued { packet, wire_size };
            let place = self.queue.classify(|| item.key());
            let (serialiser, totals) = (&mut self.serialiser, &mut self.totals);
            let mut refused = false;
            self.queue.enqueue_at(
                now,
                item,
                place,
                in_service,
                || serialiser.rate_at(now),
                &mut |item: Queued, reason| {
                    refused = true;
                    totals.discard(reason, item.packet, out);
                },
            );
            if let (Serialiser::Fixed(departures), false) = (&mut self.serialiser, refused) {
                departures.enqueued(now, wire_size);
            }
            let backlog = self.backlog();
            self.totals.queue_grew(backlog);
            if self.in_service.is_none() {
                self.serve_next(now, out);
                self.serialise_until(now, out);
            }
        }
        self.deliver_until(now, out);
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        self.tell_settled(out);
        self.serialise_until(now, out);
        self.deliver_until(now, out);
        self.report(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        // The end of a serialisation can be postponed until it could become visible at the end of the link: events due
        // in between are completed then, or when a packet arrives, with their own times.
        let end = self.in_service.as_ref().and_then(|service| service.end);
        let packet = match (end.map(|end| end + self.shortest_delay), self.flight.next_due()) {
            (Some(end), Some(due)) => Some(end.min(due)),
            (end, due) => end.or(due),
        };
        let released = self.holding.as_ref().and_then(|holding| holding.next_due());
        let packet = packet.into_iter().chain(released).chain(self.held_until()).min();
        match &self.totals.feedback {
            None => packet,
            Some(feedback) => packet.into_iter().chain(feedback.next_wake()).min(),
        }
    }

    fn counters(&self) -> Counters {
        self.totals.counters
    }

    fn statistics(&mut self, now: Time, out: &mut Metrics) {
        self.settle(now);
        let serving = self.in_service.as_ref().map_or(Duration::ZERO, |service| now.since(service.start));
        self.totals.statistics(now, serving, self.queue.totals(), out);
        self.queue.statistics(out);
    }

    fn sample(&mut self, now: Time, out: &mut Metrics) {
        self.settle(now);
        let backlog = self.backlog();
        out.count(&LINK.queue_packets, backlog.packets);
        out.count(&LINK.queue_bytes, backlog.bytes.bytes());
        self.queue.sample(now, out);
        let reports = self.totals.feedback.as_ref().map_or(0, |feedback| feedback.sent().bytes);
        out.count(&LINK.sent_bytes, self.totals.counters.sent.bytes - reports);
    }
}
