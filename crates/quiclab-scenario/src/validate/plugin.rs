//! Plugins: manifests, the lists of flows, and whether the stack of an end has the replaced operations.

use super::super::Scenario;
use super::super::flow::Flow;
use super::super::plugin::{Computation, Exchange, Plugin, built_in_plugins, canonical, is_part, parts};
use super::{Check, about, ensure, quoted};
use quiclab_core::problem::values;
use quiclab_core::{FieldPath, Operation, Problem, StackAbilities};

/// Checks a manifest by itself.
pub(super) fn check(path: &FieldPath, plugin: &Plugin) -> Check {
    let path = path.child("exchanges");
    let mut replaced: Vec<&str> = Vec::new();
    for (index, exchange) in plugin.exchanges.iter().enumerate() {
        let path = path.child(index);
        check_exchange(&path, exchange)?;
        let operation = exchange.operation.as_str();
        if exchange.replace.is_some() {
            ensure(!replaced.contains(&operation), || {
                Problem::conflict(path.child("operation"), quoted(operation), "each operation at most once")
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
        let none = given == 0 && exchange.replace.is_none();
        let reason = if none { "nothing takes its place" } else { "several of them are set" };
        about(path.clone(), reason, "one of `replace`, `before` and `after`")
    })?;
    for (anchor, name) in functions {
        let Some(name) = name else { continue };
        let path = path.child(anchor);
        ensure(computation.is_some(), || {
            Problem::conflict(path.clone(), quoted(name), format!("`replace` with a value of `{operation}`"))
                .because(format!("`{operation}` is an option, not a computation"))
        })?;
        ensure(!name.trim().is_empty(), || Problem::conflict(path.clone(), quoted(name), FUNCTION))?;
    }
    let Some(value) = &exchange.replace else { return Ok(()) };
    let path = path.child("replace");
    if computation.is_some() {
        let is_name = value.as_str().is_some_and(|name| !name.trim().is_empty());
        return ensure(is_name, || Problem::conflict(path, value, FUNCTION));
    }
    canonical(operation, value).map(drop).map_err(|problem| {
        let reason = format!("not a value of the option `{operation}`");
        let reason = problem.reason.as_ref().map_or(reason.clone(), |inner| format!("{reason}: {inner}"));
        problem.below(&path).because(reason)
    })
}

const FUNCTION: &str = "the name of a function, such as `my_functions:threshold`";

fn unknown_operation(path: &FieldPath, operation: &str) -> Problem {
    let names =
        parts().iter().map(String::as_str).chain(Operation::ALL.iter().map(|operation| operation.name()));
    Problem::unknown(path.child("operation"), operation, names)
        .because("no such operation; `quiclab stack show STACK` lists the operations of a stack")
}

/// Checks that the plugins of a flow exist, and none is named twice.
pub(super) fn check_list(path: &FieldPath, flow: &Flow, scenario: &Scenario) -> Check {
    for (index, name) in flow.plugins.iter().enumerate() {
        let path = path.child("plugins").child(index);
        ensure(scenario.plugin(name).is_some(), || {
            let mut names: Vec<_> =
                scenario.plugins.keys().chain(built_in_plugins().keys()).map(String::as_str).collect();
            names.sort_unstable();
            names.dedup();
            Problem::unknown(path.clone(), name, names).because("no such plugin")
        })?;
        ensure(!flow.plugins[..index].contains(name), || {
            Problem::conflict(path.clone(), quoted(name), "each plugin at most once")
        })?;
    }
    Ok(())
}

/// Checks that the stack of an end has the computations that plugins replace there.
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
    let reason =
        format!("it exchanges `{}` of the {end}, which the stack `{stack}` does not have", missing.operation);
    let expected = match abilities.operations {
        [] => "a plugin that exchanges options only, or one for the other end (`ends`)".to_owned(),
        known => {
            format!("a plugin that exchanges {}", values(known.iter().map(|info| info.operation.name())))
        }
    };
    let path = path.child("plugins").child(index);
    Err(Problem::conflict(path, quoted(&missing.plugin), expected).because(reason))
}
