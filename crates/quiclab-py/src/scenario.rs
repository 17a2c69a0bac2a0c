//! Scenarios: text in, resolved JSON out.

use crate::error::ScenarioError;
use crate::function;
use crate::programs::Programs;
use crate::stacks::{is_native, validate};
use pyo3::exceptions::{PyFutureWarning, PyValueError};
use pyo3::prelude::*;
use quiclab_config::{ConfigError, Document};
use quiclab_core::{FieldPath, Problem};
use quiclab_scenario::{Flow, Scenario};
use std::ffi::CString;
use std::path::Path;

/// Version of the engine.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The exception for `error`: its message is the sentence; its attributes are `path`, `kind`, `expected` and `rendered`,
/// the sentence with the line of the text.
pub(crate) fn scenario_error(error: &ConfigError) -> PyErr {
    let problem = &error.problem;
    let exception = ScenarioError::new_err(error.to_string());
    let attributes = [
        ("path", problem.path.to_string()),
        ("kind", format!("{:?}", problem.kind)),
        ("expected", problem.expected.clone()),
        ("rendered", error.render(false)),
    ];
    Python::attach(|py| {
        for (name, value) in attributes {
            exception.value(py).setattr(name, value).expect("an exception has attributes");
        }
    });
    exception
}

/// Reads a scenario, applies changes, validates it and fills in every default. `programs` is the JSON list of
/// the programs of the kernel lane, whose names are the stacks there; without it the scenario is for the sim lane. Former
/// names are read with a `FutureWarning`.
#[pyfunction]
#[pyo3(signature = (text, file, sets, format, programs=None))]
pub(crate) fn resolve(
    py: Python<'_>,
    text: &str,
    file: &str,
    sets: Vec<(String, String)>,
    format: &str,
    programs: Option<&str>,
) -> PyResult<String> {
    let programs = programs.map(Programs::from_json).transpose()?;
    let document = match format {
        "toml" => Document::from_toml(text, file, &sets),
        "json" => Document::from_json(text, Some(file), &sets),
        other => {
            return Err(PyValueError::new_err(format!(
                "format: expected \"toml\" or \"json\", got {other:?}"
            )));
        }
    };
    let mut document = document.map_err(|error| scenario_error(&error))?;
    for note in Scenario::replace_former_names(&mut document) {
        let text = CString::new(note.to_string()).expect("names have no zero byte");
        PyErr::warn(py, &py.get_type::<PyFutureWarning>(), &text, 2)?;
    }
    let scenario = (|| {
        let scenario = match &programs {
            Some(programs) => Scenario::load(&document, &|config| programs.validate(config))?,
            None => Scenario::load(&document, &validate)?,
        };
        let observed = match &programs {
            Some(programs) => programs.check(&scenario),
            None => check_observed(&scenario),
        };
        observed
            .and_then(|()| check_traces(&scenario, file))
            .and_then(|()| function::check(&scenario.resolved(), folder_of(file)))
            .map_err(|problem| document.locate(problem))?;
        Ok(scenario.resolved())
    })();
    let scenario = scenario.map_err(|error| scenario_error(&error))?;
    Ok(serde_json::to_string(&scenario).expect("a scenario has string keys only"))
}

/// Stacks written in Python are not observed: their qlog and their acknowledgements would be empty.
fn check_observed(scenario: &Scenario) -> Result<(), Problem> {
    let silent = |flow: &Flow| {
        let stacks = [&flow.sender, &flow.receiver].map(|end| flow.inherited(end).stack);
        stacks.into_iter().flatten().find(|stack| !is_native(stack))
    };
    let find = |(name, flow)| silent(flow).map(|stack| (name, stack));
    let Some((name, stack)) = scenario.flows.iter().find_map(find) else { return Ok(()) };
    let refused = |field, problem| {
        Err(Problem::conflict(FieldPath::new(["record", field]), true, "false")
            .because(format!("flow `{name}` runs on {stack}, which {problem} here")))
    };
    if scenario.record.qlog {
        return refused("qlog", "writes no qlog");
    }
    if scenario.record.acks {
        return refused("acks", "reports no acknowledgements");
    }
    Ok(())
}

/// Where the files that a scenario names are.
fn folder_of(file: &str) -> &Path {
    Path::new(file).parent().unwrap_or(Path::new(""))
}

/// Reads all traces once, so that a wrong one is named with the line of the scenario.
fn check_traces(scenario: &Scenario, file: &str) -> Result<(), Problem> {
    let folder = folder_of(file);
    for (name, link) in &scenario.links {
        if let Err(error) = quiclab_sim::read_trace(link, folder) {
            let path = FieldPath::new(["links", name, "rate", "file"]);
            return Err(Problem::file(path, error.to_string()));
        }
    }
    Ok(())
}

/// Prints a scenario as TOML.
#[pyfunction]
pub(crate) fn to_toml(scenario_json: &str) -> PyResult<String> {
    parse(scenario_json)?.to_toml().map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// A commented scenario that can be run as it is.
#[pyfunction]
pub(crate) fn template() -> &'static str {
    Scenario::template()
}

/// JSON schema of scenarios.
#[pyfunction]
pub(crate) fn schema() -> String {
    Scenario::schema().to_string()
}

/// A valid, resolved scenario from its JSON, resolved or not.
pub(crate) fn parse(json: &str) -> PyResult<Scenario> {
    let scenario = Document::from_json(json, None, &[]).and_then(|document| {
        let scenario = Scenario::load(&document, &validate)?;
        check_observed(&scenario)?;
        Ok(scenario)
    });
    scenario.map(|scenario| scenario.resolved()).map_err(|error| scenario_error(&error))
}
