//! Events: changes of links during a run, at a time or in response to a flow.
//!
//! Changes of a link over time that are independent of flows are in its `conditions`; an event has a cause, which a run
//! checks after each event at an endpoint (quiclab-sim/src/reactions.rs).

use super::Scenario;
use quiclab_core::link::{LinkChange, LinkConfig, Loss, Rate};
use quiclab_core::problem::{ensure, name_of, quoted};
use quiclab_core::{
    ByteCount, DataRate, Duration, FieldPath, Probability, Problem, ProblemKind, StackAbilities, limits,
};
use quiclab_transport::options::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change of links that a cause brings about; not in the warm-up run before a warm start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Event")]
pub struct NetworkEvent {
    /// Cause.
    pub when: Cause,
    /// Links that change.
    #[schemars(transform = limits::not_empty())]
    pub links: Vec<String>,
    /// New rate. Needs a constant `rate` of the links, and `conditions` that set neither rate nor outages. Not with
    /// `rate_factor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::above("0 bit/s"))]
    pub rate: Option<DataRate>,
    /// Factor by which the rate changes: 0.9 for 10 % less. Needs what `rate` needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::above(0.0).to(1000.0))]
    pub rate_factor: Option<f64>,
    /// New mean of the one-way delay. Not with `added_delay`, or with `every` of the delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Time that is added to the mean of the one-way delay. Not with `every` of the delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::above("0 s"))]
    pub added_delay: Option<Duration>,
    /// New loss probability of each packet; 1 is a black hole. Needs links whose `loss` is independent or not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
    /// Whether the links are up: while down, nothing is transmitted, and packets wait. Needs what `rate` needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
    /// Time after which the change ends (default: never).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::above("0 s"))]
    pub duration: Option<Duration>,
}

/// Cause of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Cause {
    /// A time.
    #[schemars(title = "AtTime")]
    Time {
        /// Time from the start of the run.
        at: Duration,
    },
    /// The sender of a flow enters a state; with several paths, that of the first one.
    #[schemars(title = "AtState")]
    State {
        /// Flow. Without `arrivals`, and not a page with `resources`.
        flow: String,
        /// State that it reports: a phase of its congestion control, as in time series, or `recovery` when a recovery period
        /// of the transport begins.
        #[schemars(transform = limits::not_empty())]
        state: String,
        /// Number of the entry that is the cause, counted from 1 (default: each one). The state in which a flow starts is
        /// not entered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::at_least(1))]
        occurrence: Option<u64>,
    },
    /// A flow has delivered a size to its application.
    #[schemars(title = "AtDelivered")]
    Delivered {
        /// Flow.
        flow: String,
        /// Size.
        #[schemars(transform = limits::at_least("1 B"))]
        size: ByteCount,
    },
}

impl Cause {
    /// The observed flow; `None` for a time.
    #[must_use]
    pub fn flow(&self) -> Option<&str> {
        match self {
            Self::Time { .. } => None,
            Self::State { flow, .. } | Self::Delivered { flow, .. } => Some(flow),
        }
    }
}

impl NetworkEvent {
    /// Change of each of the links.
    #[must_use]
    pub const fn change(&self) -> LinkChange {
        let Self { rate, rate_factor, delay, added_delay, loss, up, .. } = *self;
        LinkChange { rate, rate_factor, delay, added_delay, loss, up }
    }

    /// Checks the event; `abilities` are those of the senders, in the order of the flows. Paths of problems are those
    /// below the event.
    pub(super) fn check(&self, scenario: &Scenario, abilities: &[StackAbilities]) -> Result<(), Problem> {
        self.check_cause(scenario, abilities).map_err(|problem| problem.below(&"when".into()))?;
        ensure(self.change() != LinkChange::default(), || {
            let expected = "one of `rate`, `rate_factor`, `delay`, `added_delay`, `loss` and `up`";
            Problem::new(ProblemKind::MissingField, "", expected).because("the event changes nothing")
        })?;
        let both = |one: bool, other: bool, field: &str, instead: &str| {
            ensure(!(one && other), || {
                Problem::new(ProblemKind::Conflict, field, "no value").because(format!("`{instead}` is set"))
            })
        };
        both(self.rate.is_some(), self.rate_factor.is_some(), "rate_factor", "rate")?;
        both(self.delay.is_some(), self.added_delay.is_some(), "added_delay", "delay")?;
        for (index, name) in self.links.iter().enumerate() {
            let path = FieldPath::from("links").child(index);
            ensure(!self.links[..index].contains(name), || {
                Problem::conflict(path.clone(), quoted(name), "each link at most once")
            })?;
            let link = scenario.links.get(name).ok_or_else(|| {
                Problem::unknown(path.clone(), name, scenario.links.keys()).because("no such link")
            })?;
            self.check_link(name, link)?;
        }
        Ok(())
    }

    fn check_cause(&self, scenario: &Scenario, abilities: &[StackAbilities]) -> Result<(), Problem> {
        let Some(name) = self.when.flow() else { return Ok(()) };
        let Some((index, (_, flow))) =
            scenario.flows.iter().enumerate().find(|(_, (known, _))| *known == name)
        else {
            return Err(Problem::unknown("flow", name, scenario.flows.keys()).because("no such flow"));
        };
        let Cause::State { state, .. } = &self.when else { return Ok(()) };
        let several = if flow.arrivals.is_some() {
            Some("it has `arrivals`")
        } else if matches!(&flow.workload, Workload::Page { resources, .. } if !resources.is_empty()) {
            Some("its page has `resources`")
        } else {
            None
        };
        if let Some(reason) = several {
            return Err(Problem::conflict("flow", quoted(name), "a flow with one connection").because(reason));
        }
        let states = &abilities[index].states;
        let stack = flow.inherited(&flow.sender).stack.unwrap_or_default();
        ensure(!states.is_empty(), || {
            let reason = format!("its stack, `{stack}`, reports no states");
            Problem::conflict("flow", quoted(name), "a flow whose sender reports its state").because(reason)
        })?;
        ensure(states.contains(&state.as_str()), || {
            let reason = format!("the congestion control of flow `{name}` has no such state");
            Problem::unknown("state", state, states.iter()).because(reason)
        })
    }

    fn check_link(&self, name: &str, link: &LinkConfig) -> Result<(), Problem> {
        if let Some((field, value)) = self.rate_field() {
            ensure(matches!(link.rate, Some(Rate::Constant(_))), || {
                Problem::conflict(field, &value, "links with a constant rate")
                    .because(format!("`links.{name}.rate` is not constant"))
            })?;
            let conditions = link.conditions.as_ref();
            let sets = conditions.is_some_and(|conditions| {
                conditions.file.is_some()
                    || conditions.rows.iter().any(|row| row.rate.is_some() || row.up.is_some())
            });
            ensure(!sets, || {
                Problem::conflict(field, &value, "links whose conditions set neither rate nor outages")
                    .because(format!("`links.{name}.conditions` has them"))
            })?;
        }
        let delayed = self.delay.map(|delay| ("delay", delay));
        let delayed = delayed.or(self.added_delay.map(|delay| ("added_delay", delay)));
        if let Some((field, delay)) = delayed.filter(|_| link.delay.every.is_some()) {
            let expected = "links whose delay is drawn for each packet";
            return Err(Problem::conflict(field, quoted(delay), expected)
                .because(format!("`links.{name}.delay.every` is set")));
        }
        match (self.loss, &link.loss) {
            (Some(loss), Some(process)) if !matches!(process, Loss::Independent { .. }) => {
                let reason = format!("`links.{name}.loss` has the kind \"{}\"", name_of(process));
                Err(Problem::conflict("loss", loss, "links with independent losses").because(reason))
            }
            _ => Ok(()),
        }
    }

    /// The field that requires a constant rate, with its value.
    fn rate_field(&self) -> Option<(&'static str, String)> {
        let rate = self.rate.map(|rate| ("rate", quoted(rate)));
        let factor = self.rate_factor.map(|factor| ("rate_factor", factor.to_string()));
        rate.or(factor).or(self.up.map(|up| ("up", up.to_string())))
    }
}
