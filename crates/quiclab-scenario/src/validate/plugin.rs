//! Plugins: manifests, the lists of flows, and whether the stack of an end has what is exchanged.

use super::super::Scenario;
use super::super::error::{FieldPath, ScenarioError, alternatives};
use super::super::flow::Flow;
use super::super::plugin::{
    Computation, Exchange, Plugin, built_in_plugins, canonical, is_part, nearest, parts,
};
use super::{Check, ensure, quoted};
use quiclab_core::Operation;
use quiclab_core::StackAbilities;

/// A manifest by itself.
pub(super) fn check(path: &FieldPath, plugin: &Plugin) -> Check {
    let path = path.child("exchanges");
    ensure(!plugin.exchanges.is_empty(), || {
        ScenarioError::refused(path.clone(), "[]", "one exchange or more").because("it exchanges nothing")
    })?;
    let mut replaced: Vec<&str> = Vec::new();
    for (index, exchange) in plugin.exchanges.iter().enumerate() {
        let path = path.child(index);
        check_exchange(&path, exchange)?;
        let operation = exchange.operation.as_str();
        if exchange.replace.is_some() {
            ensure(!replaced.contains(&operation), || {
                ScenarioError::refused(path.child("operation"), quoted(operation), "to replace it once")
                    .because("the plugin replaces it twice")
            })?;
            replaced.push(operation);
        }
    }
    Ok(())
}

fn check_exchange(path: &FieldPath, exchange: &Exchange) -> Check {
    let operation = exchange.operation.as_str();
    let computation = Operation::find(operation);
    ensure(computation.is_some() || is_part(operation), || unknown_operation(path, operation))?;
    let functions = [("before", &exchange.before), ("after", &exchange.after)];
    let given = functions.iter().filter(|(_, name)| name.is_some()).count();
    ensure(given + usize::from(exchange.replace.is_some()) == 1, || {
        let problem =
            if given == 0 && exchange.replace.is_none() { "nothing to exchange it for" } else { "several" };
        ScenarioError::about(path.clone(), problem, "one of `replace`, `before` and `after`, in an exchange")
    })?;
    for (anchor, name) in functions {
        let Some(name) = name else { continue };
        let path = path.child(anchor);
        ensure(computation.is_some(), || {
            ScenarioError::refused(
                path.clone(),
                quoted(name),
                format!("`replace`, with a value of `{operation}`"),
            )
            .because(format!("`{operation}` is an option, no computation"))
        })?;
        ensure(!name.trim().is_empty(), || ScenarioError::refused(path.clone(), quoted(name), FUNCTION))?;
    }
    let Some(value) = &exchange.replace else { return Ok(()) };
    let path = path.child("replace");
    if computation.is_some() {
        let is_name = value.as_str().is_some_and(|name| !name.trim().is_empty());
        return ensure(is_name, || ScenarioError::refused(path, value, FUNCTION));
    }
    canonical(operation, value).map(drop).map_err(|problem| {
        let path = problem.below.iter().fold(path, |path, step| path.child(step));
        let error = problem.error;
        let problem = error.problem.map_or(String::new(), |problem| format!(": {problem}"));
        let sentence = format!("it is none of the option `{operation}`{problem}");
        match error.value {
            Some(value) => ScenarioError::refused(path, value, error.allowed).because(sentence),
            None => ScenarioError::about(path, sentence, error.allowed),
        }
    })
}

const FUNCTION: &str = "the name of a function, such as `my_functions:threshold`";

fn unknown_operation(path: &FieldPath, operation: &str) -> ScenarioError {
    let names = || parts().iter().map(String::as_str).chain(Operation::ALL.map(Operation::name));
    let problem = format!("no such operation{}", meant(&nearest(operation, names())));
    ScenarioError::refused(path.child("operation"), quoted(operation), alternatives(names())).because(problem)
}

/// What somebody may have meant, to end a clause.
fn meant(nearest: &[&str]) -> String {
    match nearest {
        [] => String::new(),
        [name] => format!(" (the nearest is `{name}`)"),
        names => format!(
            " (the nearest are {})",
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// The plugins of a flow exist, and none is named twice.
pub(super) fn check_list(path: &FieldPath, flow: &Flow, scenario: &Scenario) -> Check {
    for (index, name) in flow.plugins.iter().enumerate() {
        let path = path.child("plugins").child(index);
        ensure(scenario.plugin(name).is_some(), || {
            let mut names: Vec<_> =
                scenario.plugins.keys().chain(built_in_plugins().keys()).map(String::as_str).collect();
            names.sort_unstable();
            names.dedup();
            let problem = format!("no such plugin{}", meant(&nearest(name, names.iter().copied())));
            ScenarioError::refused(path.clone(), quoted(name), alternatives(names)).because(problem)
        })?;
        ensure(!flow.plugins[..index].contains(name), || {
            ScenarioError::refused(path.clone(), quoted(name), "each plugin once").because("named twice")
        })?;
    }
    Ok(())
}

/// The stack of an end has the computations that plugins exchange there.
pub(super) fn check_computations(
    path: &FieldPath,
    flow: &Flow,
    end: &str,
    computations: &[Computation],
    stack: &str,
    abilities: &StackAbilities,
) -> Check {
    let has = |operation| abilities.operations.iter().any(|info| info.operation == operation);
    let Some(missing) = computations.iter().find(|computation| !has(computation.operation)) else {
        return Ok(());
    };
    let index = flow.plugins.iter().position(|name| *name == missing.plugin).unwrap_or_default();
    let problem =
        format!("it exchanges `{}` of the {end}, which stack `{stack}` does not have", missing.operation);
    let allowed = match abilities.operations {
        [] => format!(
            "a plugin of options alone, or without this end (`ends`): `{stack}` has no computation to exchange"
        ),
        known => alternatives(known.iter().map(|info| info.operation.name())),
    };
    let path = path.child("plugins").child(index);
    Err(ScenarioError::refused(path, quoted(&missing.plugin), allowed).because(problem))
}
