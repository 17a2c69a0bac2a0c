//! Stacks of the kernel lane: programs, described by their adapters.

use crate::error::ScenarioError;
use crate::stacks::is_native;
use pyo3::prelude::*;
use quiclab_core::problem::values;
use quiclab_core::{FieldPath, MarkFeedback, Problem, ProblemKind, StackAbilities, StackProtocol};
use quiclab_scenario::{Flow, Scenario};
use quiclab_transport::options::{EndpointConfig, Workload};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Available programs.
pub(crate) struct Programs(Vec<Program>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    name: String,
    protocol: StackProtocol,
    workloads: Vec<String>,
    /// Whether the program reports the state of its sender at each acknowledgement.
    acknowledgements: bool,
    /// Allowed values by the name of the option, with dots within tables; `None` allows all.
    options: BTreeMap<String, Option<Vec<String>>>,
}

impl Programs {
    pub(crate) fn from_json(json: &str) -> PyResult<Self> {
        serde_json::from_str(json)
            .map(Self)
            .map_err(|error| ScenarioError::new_err(format!("programs: {error}")))
    }

    /// Validates the options of an endpoint for its program; returns the program's abilities.
    pub(crate) fn validate(&self, config: &EndpointConfig) -> Result<StackAbilities, Problem> {
        let name = config.stack.as_deref().unwrap_or_default();
        let program = self.0.iter().find(|program| program.name == name).ok_or_else(|| self.unknown(name))?;
        for (name, value) in config.set_options() {
            match value.as_object() {
                Some(table) => table
                    .iter()
                    .try_for_each(|(inner, value)| program.check(&format!("{name}.{inner}"), value))?,
                None => program.check(&name, &value)?,
            }
        }
        let runs = |kind: &&str| program.workloads.iter().any(|own| own == kind);
        Ok(StackAbilities {
            protocol: program.protocol,
            workloads: Workload::KINDS.iter().copied().filter(|kind| runs(kind)).collect(),
            operations: &[],
            multipath: false,
            proprietary: false,
            mark_feedback: MarkFeedback::Count,
            needs_mark_feedback: MarkFeedback::None,
            states: Cow::Borrowed(&[]),
        })
    }

    fn unknown(&self, name: &str) -> Problem {
        let problem = Problem::unknown("stack", name, self.0.iter().map(|program| &program.name));
        let reason = match is_native(name) {
            true => format!("`{name}` needs --lane sim"),
            false => "no such program of the kernel lane".to_owned(),
        };
        problem.because(reason)
    }

    /// Checks a scenario for features that the sim lane has and the kernel lane has not.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), Problem> {
        let outside = "programs are not observed from inside; the kernel lane records packets";
        if scenario.record.qlog {
            return Err(Problem::conflict("record.qlog", true, "false").because(outside));
        }
        if !scenario.events.is_empty() {
            let reason = "events change the links of the sim lane only";
            return Err(Problem::new(ProblemKind::Unsupported, "events", "").because(reason));
        }
        for (name, flow) in &scenario.flows {
            let stack = flow.inherited(&flow.sender).stack.unwrap_or_default();
            let tells = self.0.iter().any(|program| program.name == stack && program.acknowledgements);
            if scenario.record.acks && !tells {
                let why = format!("flow `{name}` runs on `{stack}`: {outside}");
                return Err(Problem::conflict("record.acks", true, "false").because(why));
            }
            let machines = |flow: &Flow| flow.sender_machine.clone().zip(flow.receiver_machine.clone());
            let (own, mut before) =
                (machines(flow), scenario.flows.iter().take_while(|(other, _)| *other != name));
            if let Some((other, _)) = before.find(|(_, other)| own.is_some() && machines(other) == own) {
                let machine = format!("{:?}", flow.receiver_machine.as_deref().unwrap_or_default());
                let reason = format!(
                    "flow `{other}` is between the same machines, and programs choose their ports alone"
                );
                let path = FieldPath::new(["flows", name, "receiver_machine"]);
                return Err(Problem::conflict(path, machine, "another machine").because(reason));
            }
            if !flow.plugins.is_empty() {
                let path = FieldPath::new(["flows", name, "plugins"]);
                let reason = "plugins change the transports of the sim lane only";
                return Err(Problem::new(ProblemKind::Unsupported, path, "").because(reason));
            }
        }
        Ok(())
    }
}

impl Program {
    fn check(&self, option: &str, value: &Value) -> Result<(), Problem> {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let table = option.split_once('.').map_or(option, |(table, _)| table);
        match self.options.get(option).or_else(|| self.options.get(table)) {
            None => {
                let instead = match self.options.keys().map(|key| format!("`{key}`")).collect::<Vec<_>>() {
                    all if all.is_empty() => "it has no options".to_owned(),
                    all => format!("its options are {}", all.join(", ")),
                };
                Err(Problem::unsupported(option, &format!("the program `{}`", self.name), &instead))
            }
            Some(Some(allowed)) if !allowed.contains(&shown) => {
                Err(Problem::value(option, value, values(allowed)))
            }
            Some(_) => Ok(()),
        }
    }
}
