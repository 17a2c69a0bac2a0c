//! Changes of a link during a run, made by its driver: those of the events of a scenario.
//!
//! A change applies to the current state: the options of the link, its conditions over time, and the changes
//! before it that have not ended. When a change ends, the remaining ones are applied again, in the same
//! order: two overlapping changes can end in any order.
//!
//! | | meaning |
//! | --- | --- |
//! | rate | that of serialisation, also of the packet in service: its remaining bits leave at the new rate |
//! | delay | that of packets whose serialisation ends from then on, as with `conditions` |
//! | loss | probability with which an arriving packet never reaches the queue |
//! | up | while down, the rate is 0: a serialisation pauses, and packets wait |

use super::InService;
use super::capacity::{UNITS_PER_BYTE, nanos_for};
use super::conditions::Condition;
use crate::time::{Duration, Time};
use crate::units::{DataRate, Probability};

/// A change of a link; fields that are `None` stay unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkChange {
    /// New rate.
    pub rate: Option<DataRate>,
    /// Factor of the rate, rounded to whole bit/s.
    pub rate_factor: Option<f64>,
    /// New mean of the one-way delay.
    pub delay: Option<Duration>,
    /// Added to the mean of the one-way delay.
    pub added_delay: Option<Duration>,
    /// New loss probability.
    pub loss: Option<Probability>,
    /// Whether the link is up from then on.
    pub up: Option<bool>,
}

/// Present state of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkState {
    /// Rate of serialisation, 0 while the link is down; `None` if it is not constant.
    pub rate: Option<DataRate>,
    /// Mean of the one-way delay.
    pub delay: Duration,
    /// Loss probability of a packet; 0 where losses are not independent.
    pub loss: Probability,
    /// Whether the link is up.
    pub up: bool,
}

impl LinkChange {
    fn apply(&self, state: &mut LinkState) {
        if let Some(rate) = &mut state.rate {
            *rate = self.rate.unwrap_or(*rate);
            if let Some(factor) = self.rate_factor {
                // a statistic of the scenario, not a time: rounded to the nearest bit/s
                let scaled = libm::round(rate.bits_per_second() as f64 * factor);
                *rate = DataRate::from_bits_per_second(scaled as u64);
            }
        }
        state.delay = self.delay.unwrap_or(state.delay) + self.added_delay.unwrap_or_default();
        state.loss = self.loss.unwrap_or(state.loss);
        state.up = self.up.unwrap_or(state.up);
    }
}

/// Active changes of a link.
#[derive(Debug)]
pub(super) struct Changes {
    /// The rate of the options, if it is constant.
    rate: Option<DataRate>,
    /// Delay and loss of the options.
    options: Condition,
    /// Changes with their numbers, in the order in which they were made.
    made: Vec<(u64, LinkChange)>,
    /// Remainder of the packet in service at an instant; `None` if its rate has not changed.
    rest: Option<Rest>,
}

/// Remainder of a packet, in (bit/s x ns).
#[derive(Clone, Copy, Debug)]
struct Rest {
    packet: u64,
    at: Time,
    units: u128,
}

impl Changes {
    /// Creates a state without changes.
    pub(super) const fn new(rate: Option<DataRate>, options: Condition) -> Self {
        Self { rate, options, made: Vec::new(), rest: None }
    }

    /// Makes `change`, or ends the change with this number.
    pub(super) fn set(&mut self, number: u64, change: Option<LinkChange>) {
        match change {
            Some(change) => self.made.push((number, change)),
            None => self.made.retain(|(made, _)| *made != number),
        }
    }

    /// The present state; `conditions` are those over time, if the link has some.
    pub(super) fn state(&self, conditions: Option<&Condition>) -> LinkState {
        let Condition { delay, loss, arrives, .. } = *conditions.unwrap_or(&self.options);
        let mut state = LinkState { rate: self.rate, delay, loss, up: arrives };
        self.made.iter().for_each(|(_, change)| change.apply(&mut state));
        if !state.up {
            state.rate = state.rate.map(|_| DataRate::default());
        }
        state
    }

    /// Present delay and loss.
    pub(super) fn over(&self, conditions: Option<&Condition>) -> Condition {
        let LinkState { delay, loss, .. } = self.state(conditions);
        Condition { delay, loss, ..*conditions.unwrap_or(&self.options) }
    }

    /// End of the packet in service, whose rate changes at `now` from `before` to `after`; `None` if it does
    /// not end at this rate.
    pub(super) fn finish(
        &mut self,
        now: Time,
        service: &InService,
        before: DataRate,
        after: DataRate,
    ) -> Option<Time> {
        let rest = self.rest.filter(|rest| rest.packet == service.packet.id && rest.at >= service.start);
        let whole = u128::from(service.wire_size.bytes()) * UNITS_PER_BYTE;
        let (since, units) = rest.map_or((service.start, whole), |rest| (rest.at, rest.units));
        let left = u128::from(before.bits_per_second()) * u128::from(now.since(since).as_nanos());
        let units = units.saturating_sub(left);
        self.rest = Some(Rest { packet: service.packet.id, at: now, units });
        let rate = after.bits_per_second();
        let nanos = if rate == 0 { return None } else { u64::try_from(nanos_for(units, rate)).ok()? };
        Some(now + Duration::from_nanos(nanos))
    }
}
