//! Changes of a link during a run, which its driver makes: those of the events of a scenario.
//!
//! A change applies to what holds when it is made: the options of the link, its conditions over time, and the changes before it that
//! have not ended. When a change ends, what remains is applied again, in the same order: two overlapping changes can end in any
//! order.
//!
//! | | meaning |
//! | --- | --- |
//! | rate | that of serialisation, also of the packet in service: what has not left leaves at the new rate |
//! | delay | that of packets whose serialisation ends from then on, as with `conditions` |
//! | loss | probability with which an arriving packet never reaches the queue |
//! | up | while down, the rate is 0: a serialisation pauses, and packets wait |

use super::InService;
use super::capacity::{UNITS_PER_BYTE, nanos_for};
use super::conditions::Condition;
use crate::time::{Duration, Time};
use crate::units::{DataRate, Probability};

/// A change of a link; what is `None` stays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkChange {
    /// The rate becomes this one.
    pub rate: Option<DataRate>,
    /// The rate is multiplied, and rounded to whole bit/s.
    pub rate_factor: Option<f64>,
    /// The mean of the one-way delay becomes this one.
    pub delay: Option<Duration>,
    /// Is added to the mean of the one-way delay.
    pub added_delay: Option<Duration>,
    /// The loss probability becomes this one.
    pub loss: Option<Probability>,
    /// Whether the link is up from then on.
    pub up: Option<bool>,
}

/// What holds at a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkState {
    /// Rate of serialisation, 0 while the link is down; `None`: not a constant one.
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

/// The changes of a link that hold.
#[derive(Debug)]
pub(super) struct Changes {
    /// The rate of the options, if it is constant.
    rate: Option<DataRate>,
    /// Delay and loss of the options.
    options: Condition,
    /// With the number of each, in the order in which they were made.
    made: Vec<(u64, LinkChange)>,
    /// What of the packet in service has not left at an instant; `None`: its rate has not changed.
    rest: Option<Rest>,
}

/// What of a packet has not left, in (bit/s x ns).
#[derive(Clone, Copy, Debug)]
struct Rest {
    packet: u64,
    at: Time,
    units: u128,
}

impl Changes {
    /// None yet.
    pub(super) const fn new(rate: Option<DataRate>, options: Condition) -> Self {
        Self { rate, options, made: Vec::new(), rest: None }
    }

    /// Makes `change`, or ends that with this number.
    pub(super) fn set(&mut self, number: u64, change: Option<LinkChange>) {
        match change {
            Some(change) => self.made.push((number, change)),
            None => self.made.retain(|(made, _)| *made != number),
        }
    }

    /// What holds; `conditions` are those over time, if the link has some.
    pub(super) fn state(&self, conditions: Option<&Condition>) -> LinkState {
        let Condition { delay, loss, arrives, .. } = *conditions.unwrap_or(&self.options);
        let mut state = LinkState { rate: self.rate, delay, loss, up: arrives };
        self.made.iter().for_each(|(_, change)| change.apply(&mut state));
        if !state.up {
            state.rate = state.rate.map(|_| DataRate::default());
        }
        state
    }

    /// Delay and loss that hold.
    pub(super) fn over(&self, conditions: Option<&Condition>) -> Condition {
        let LinkState { delay, loss, .. } = self.state(conditions);
        Condition { delay, loss, ..*conditions.unwrap_or(&self.options) }
    }

    /// When the packet in service has left whose rate changes at `now` from `before` to `after`; `None`: not at this rate.
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
