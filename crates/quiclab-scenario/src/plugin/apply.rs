//! Effect of the plugins of a flow on one of its ends.

use super::super::{Flow, Scenario};
use super::{canonical, is_part, part};
use quiclab_core::{Anchor, FieldPath, Operation, Problem, Role};
use quiclab_transport::options::EndpointConfig;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// An end with the options that plugins set in it.
pub(crate) struct Applied<'a> {
    pub(crate) config: EndpointConfig,
    /// Name of the end.
    end: &'static str,
    /// Options by name: the plugin that has set it, by its position in the flow's list, and the value.
    set: BTreeMap<&'a str, (usize, Value)>,
    flow: &'a Flow,
}

/// The end of `flow` in this role as written, with the options that plugins set in it. Manifests are valid by
/// themselves (`validate::plugin`), and all exist.
///
/// # Errors
/// If a plugin contradicts another one or the endpoint; `path` is that of the flow.
pub(crate) fn apply<'a>(
    scenario: &'a Scenario,
    path: &FieldPath,
    flow: &'a Flow,
    role: Role,
) -> Result<Applied<'a>, Problem> {
    let (end, written) = match role {
        Role::Server => ("sender", &flow.sender),
        Role::Client => ("receiver", &flow.receiver),
    };
    let mut applied = Applied { config: written.clone(), end, set: BTreeMap::new(), flow };
    if flow.plugins.is_empty() {
        return Ok(applied);
    }
    let written = json!(written);
    let mut config = written.clone();
    let mut replaced: BTreeMap<Operation, usize> = BTreeMap::new();
    for (index, name) in flow.plugins.iter().enumerate() {
        let conflict = |reason: String, expected: &str| {
            let path = path.child("plugins").child(index);
            Err(Problem::conflict(path, format!("{name:?}"), expected).because(reason))
        };
        let Some(plugin) = scenario.plugin(name).filter(|plugin| plugin.ends.include(role)) else { continue };
        for exchange in &plugin.exchanges {
            let operation = exchange.operation.as_str();
            if let Some((operation, Anchor::Replace, _)) = exchange.function() {
                if let Some(other) = replaced.insert(operation, index) {
                    let other = &flow.plugins[other];
                    let problem =
                        format!("it replaces `{operation}` of the {end}, and `{other}` also replaces it");
                    return conflict(problem, "one of the two");
                }
            } else if is_part(operation)
                && let Some(value) = &exchange.replace
                && let Ok(value) = canonical(operation, value)
            {
                let sets = format!("it sets `{operation}` of the {end} to {}", shown(&value));
                if let Some(explicit) = part::find(&written, operation).filter(|explicit| **explicit != value)
                {
                    let problem = format!("{sets}, and the {end} itself sets {}", shown(explicit));
                    return conflict(problem, "the plugin or the option");
                }
                if let Some((other, before)) = applied.set.get(operation).filter(|(_, set)| *set != value) {
                    let problem =
                        format!("{sets}, and `{}` sets it to {}", flow.plugins[*other], shown(before));
                    return conflict(problem, "one of the two");
                }
                *part::place(&mut config, operation) = value.clone();
                applied.set.entry(operation).or_insert((index, value));
            }
        }
    }
    applied.config = serde_json::from_value(config).expect("each value is one of its option");
    Ok(applied)
}

impl Applied<'_> {
    /// Adds to an error about an option of this end the plugin that has set the option, if one has. `path` is
    /// that of the flow.
    pub(crate) fn attribute_error(&self, path: &FieldPath, problem: Problem) -> Problem {
        let end = path.child(self.end);
        let Some(steps) = problem.path.steps().strip_prefix(end.steps()) else { return problem };
        let option = steps.join(".");
        let concerns = |part: &str| !option.is_empty() && (below(&option, part) || below(part, &option));
        let written = json!(self.flow.inherited(match self.end {
            "sender" => &self.flow.sender,
            _ => &self.flow.receiver,
        }));
        match self.set.iter().find(|(part, _)| concerns(part)) {
            Some((part, (index, value))) if part::find(&written, &option).is_none() => {
                let sets = format!("it sets `{part}` of the {} to {}", self.end, shown(value));
                let reason = problem.reason.as_ref().map_or(sets.clone(), |inner| format!("{sets}: {inner}"));
                let path = path.child("plugins").child(index);
                Problem { path, reason: Some(reason), ..problem }
                    .got(format!("{:?}", self.flow.plugins[*index]))
            }
            _ => problem,
        }
    }
}

/// Whether `field` is `table`, or a field in it.
fn below(field: &str, table: &str) -> bool {
    field.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A value as TOML.
fn shown(value: &Value) -> String {
    let shown = value.serialize(toml_edit::ser::ValueSerializer::new());
    shown.map_or_else(|_| value.to_string(), |value| value.to_string())
}
