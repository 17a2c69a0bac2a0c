//! Scenarios: text in, resolved JSON out.

use crate::stacks::validate;
use pyo3::exceptions::PyValueError;
use pyo3::{create_exception, prelude::*};
use quiclab_core::scenario::{self, Scenario};

create_exception!(_quiclab, ScenarioError, PyValueError, "A scenario is wrong; one sentence says where and why.");

/// Version of the engine.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Reads a scenario, applies changes, validates it and fills in every default.
#[pyfunction]
pub(crate) fn resolve(text: &str, file: &str, sets: Vec<(String, String)>, format: &str) -> PyResult<String> {
    let scenario = match format {
        "toml" => Scenario::from_toml(text, file, &sets),
        "json" => Scenario::from_json(text, file, &sets),
        other => {
            return Err(PyValueError::new_err(format!("format = `{other}`: allowed is toml or json")));
        }
    };
    let scenario = scenario.and_then(|loaded| loaded.validated(&validate));
    let scenario = scenario.map_err(|error| ScenarioError::new_err(error.to_string()))?;
    Ok(serde_json::to_string(&scenario).expect("a scenario has string keys only"))
}

/// Prints a scenario as TOML.
#[pyfunction]
pub(crate) fn to_toml(scenario_json: &str) -> PyResult<String> {
    Ok(parse(scenario_json)?.to_toml())
}

/// A commented scenario that can be run as it is.
#[pyfunction]
pub(crate) fn template() -> &'static str {
    scenario::template()
}

/// JSON schema of scenarios.
#[pyfunction]
pub(crate) fn schema() -> String {
    scenario::schema().to_string()
}

/// A resolved scenario from its JSON.
pub(crate) fn parse(json: &str) -> PyResult<Scenario> {
    serde_json::from_str(json).map_err(|error| ScenarioError::new_err(error.to_string()))
}
