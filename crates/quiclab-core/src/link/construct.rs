//! Construction of a link from its options.

use super::aggregation::Aggregation;
use super::changes::Changes;
use super::conditions::{Condition, ConditionCursor, Conditions};
use super::delay::DelayModel;
use super::departures::FixedDepartures;
use super::feedback::Feedback;
use super::flight::Flight;
use super::framing::WireFormat;
use super::hold::HoldList;
use super::loss::LossModel;
use super::rate::Serialiser;
use super::retransmission::Retransmission;
use super::token_bucket::TokenBucket;
use super::totals::LINK;
use super::totals::LinkCounters;
use super::trace::{Trace, TraceCursor};
use super::{Link, LinkConfig, Policer, Rate, RateAt, ShapedRate};
use crate::element::{DropReason, Outputs};
use crate::queue::Discipline;
use crate::random::RandomStream;

/// Parsed files of a link.
#[derive(Clone, Debug, Default)]
pub struct LinkInputs {
    /// Trace of the rate, if the rate has the kind `trace`.
    pub trace: Option<Trace>,
    /// Conditions over time, if the link has some.
    pub conditions: Option<Conditions>,
    /// Whether the driver changes the link during the run ([`Link::change`]).
    pub changes: bool,
}

impl Link {
    /// Creates the link of a valid `config`, with its `inputs`. `name` names its random streams,
    /// `<name>.loss`, `<name>.delay`, `<name>.aggregation`, `<name>.retransmission`, `<name>.queue` and
    /// `<name>.feedback` (the numbers of reports).
    ///
    /// # Panics
    /// If a trace is given for another kind of rate, or none for this kind; likewise for conditions.
    #[must_use]
    pub fn new(config: &LinkConfig, inputs: LinkInputs, seed: u64, name: &str) -> Self {
        let LinkInputs { trace, conditions, changes } = inputs;
        assert_eq!(
            config.conditions.is_some(),
            conditions.is_some(),
            "{name}: conditions are given if and only if it has some"
        );
        let stream = |part: &str| RandomStream::new(seed, &format!("{name}.{part}"));
        let mut delay = DelayModel::new(&config.delay, stream("delay"));
        let mut shortest_delay = delay.shortest();
        let mut reorders = config.delay.reorder && !delay.is_constant();
        let mut loss = LossModel::new(config.loss.as_ref(), stream("loss"));
        if let Some(conditions) = &conditions {
            if conditions.lossy {
                loss = LossModel::following(stream("loss"));
            }
            if conditions.delayed {
                delay.follow(config.delay.distribution);
                let shortest = conditions.rows().iter().map(|row| {
                    delay.set(row.delay, row.deviation);
                    delay.shortest()
                });
                shortest_delay = shortest.min().unwrap_or_default();
                reorders = config.delay.reorder;
            }
        }
        if changes && config.loss.is_none() {
            loss = LossModel::following(stream("loss"));
        }
        reorders |= config.delay.reorder && config.retransmission.is_some();
        let feedback = config.feedback.map(|config| {
            // above the numbers of all endpoints, and distinct from those of other links
            let first_id = 1 << 63 | stream("feedback").bits() & !0xffff_ffff;
            Box::new(Feedback::new(config, first_id))
        });
        let further = [
            (config.policer.is_some(), (DropReason::Policed, &LINK.dropped_policed_packets)),
            (conditions.is_some(), (DropReason::LinkDown, &LINK.dropped_link_down_packets)),
            (config.delay.limit_packets.is_some(), (DropReason::DelayFull, &LINK.dropped_delay_full_packets)),
        ];
        let further = further.into_iter().filter(|(has, _)| *has).map(|(_, reason)| reason);
        let rates = conditions.as_ref().and_then(|conditions| conditions.rates.clone());
        let mut link = Self {
            loss,
            wire: WireFormat::of(config),
            delay_limit: config.delay.limit_packets,
            ecn_rewrites: config.ecn_rewrites.clone().into(),
            policer: config.policer.map(|Policer { rate, burst }| TokenBucket::new(rate, burst)),
            queue: Discipline::new(&config.queue, stream("queue")),
            serialiser: serialiser(config, trace, rates, name),
            in_service: None,
            flight: Flight::new(reorders),
            aggregation: config.aggregation.map(|it| Aggregation::new(it, stream("aggregation"))),
            retransmission: config
                .retransmission
                .map(|it| Box::new(Retransmission::new(it, stream("retransmission")))),
            holding: HoldList::new(&config.holds),
            shortest_delay,
            delay,
            totals: LinkCounters::new(feedback, further),
            settled: Outputs::default(),
            changes: changes.then(|| {
                let rate = match config.rate {
                    Some(Rate::Constant(rate)) => Some(rate),
                    _ => None,
                };
                Box::new(Changes::new(rate, Condition::of(config)))
            }),
            conditions: conditions.map(|conditions| Box::new(ConditionCursor::new(conditions))),
        };
        link.apply_conditions();
        link
    }
}

/// The serialiser; `rates` are those of the conditions of a link with a constant rate.
fn serialiser(config: &LinkConfig, trace: Option<Trace>, rates: Option<Trace>, name: &str) -> Serialiser {
    match (&config.rate, trace) {
        (None, None) => Serialiser::Unlimited,
        (Some(Rate::Constant(rate)), None) => match rates {
            None => Serialiser::Constant(*rate),
            Some(rates) => Serialiser::Trace(TraceCursor::new(&rates)),
        },
        (Some(Rate::Shaped(ShapedRate::TokenBucket { rate, burst })), None) => {
            Serialiser::TokenBucket(TokenBucket::new(*rate, *burst))
        }
        (Some(Rate::Shaped(ShapedRate::Trace { rate_at, .. })), Some(trace)) => {
            let trace = TraceCursor::new(&trace);
            match rate_at {
                RateAt::Dequeue => Serialiser::Trace(trace),
                RateAt::Enqueue => Serialiser::Fixed(FixedDepartures::new(trace)),
            }
        }
        (_, trace) => {
            panic!("{name}: a trace is given if and only if its rate is one: {}", trace.is_some())
        }
    }
}
