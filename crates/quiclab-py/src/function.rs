//! Functions of plugins, written in Python: `quiclab._base.plugins` finds them, this module calls them.

use crate::endpoint::FirstError;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quiclab_core::bearer::Splitter;
use quiclab_core::{FieldPath, Problem};
use quiclab_core::{OPERATIONS, Role};
use quiclab_scenario::{Computation, Scenario};
use quiclab_sim::{FunctionError, OperationFunction};
use serde_json::json;
use std::path::Path;

const MODULE: &str = "quiclab._base.plugins";

/// JSON object with the built-in plugins and the computations that plugins can exchange.
#[pyfunction]
pub(crate) fn plugins() -> String {
    let plugins = quiclab_scenario::built_in_plugins();
    json!({ "plugins": plugins, "operations": OPERATIONS }).to_string()
}

/// Loads the functions that the plugins of one end of a flow name.
pub(crate) fn load(
    computations: &[Computation],
    base_dir: &Path,
    error: &FirstError,
) -> Result<Vec<Box<dyn OperationFunction>>, FunctionError> {
    if computations.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = computations.iter().map(|computation| computation.function.as_str()).collect();
    let boxed =
        |function| -> Box<dyn OperationFunction> { Box::new(PyFunction { function, error: error.clone() }) };
    Ok(find(&names, base_dir)?.into_iter().map(boxed).collect())
}

/// Loads the functions of these names, each module anew.
pub(crate) fn find(names: &[&str], base_dir: &Path) -> Result<Vec<Py<PyAny>>, FunctionError> {
    Python::attach(|py| {
        let found = py.import(MODULE).and_then(|module| {
            module.call_method1("load_functions", (names, base_dir.display().to_string()))?.extract()
        });
        found.map_err(|raised| problem(py, &raised, names[0]))
    })
}

/// Description of an exception of a function in one line, with the line of the file that raised it.
pub(crate) fn described(py: Python<'_>, raised: &PyErr) -> String {
    let described = py.import(MODULE).and_then(|module| {
        // an exception that has reached Rust does not contain its traceback
        raised.value(py).setattr("__traceback__", raised.traceback(py))?;
        module.call_method1("describe", (raised.value(py),))?.extract()
    });
    described.unwrap_or_else(|_| raised.to_string())
}

/// Content of a `FunctionError` of the module; any other exception is attributed to the first function.
fn problem(py: Python<'_>, raised: &PyErr, first: &str) -> FunctionError {
    let text = |name: &str| -> Option<String> { raised.value(py).getattr(name).ok()?.extract().ok() };
    FunctionError {
        name: text("name").unwrap_or_else(|| first.to_owned()),
        reason: text("reason").unwrap_or_else(|| raised.to_string()),
        allowed: text("allowed").unwrap_or_else(|| "a function that loads".to_owned()),
    }
}

/// Loads all functions once, so that the error of a wrong one names the line of the scenario.
pub(crate) fn check(scenario: &Scenario, base_dir: &Path) -> Result<(), Problem> {
    for (name, bearer) in &scenario.bearers {
        if let Splitter::Function { function, .. } = &bearer.splitter
            && let Err(FunctionError { name: function, reason, allowed }) = find(&[function], base_dir)
        {
            let path = FieldPath::new(["bearers", name, "splitter", "function"]);
            return Err(Problem::conflict(path, format!("{function:?}"), allowed).because(reason));
        }
    }
    for flow in scenario.flows.values() {
        for role in [Role::Server, Role::Client] {
            let computations = scenario.computations(flow, role);
            if let Err(problem) = load(&computations, base_dir, &FirstError::default()) {
                let FunctionError { name, reason, allowed } = problem;
                let computation = computations.iter().find(|computation| computation.function == name);
                let computation = computation.unwrap_or(&computations[0]);
                let plugin = &scenario.plugins[&computation.plugin];
                let anchor = computation.anchor.name();
                let index = plugin.exchanges.iter().position(|exchange| {
                    let operation = exchange.operation == computation.operation.name();
                    operation && json!(exchange)[anchor] == *name
                });
                let path = FieldPath::new(["plugins", &computation.plugin, "exchanges"]);
                let path = path.child(index.unwrap_or_default()).child(anchor);
                return Err(Problem::conflict(path, format!("{name:?}"), allowed).because(reason));
            }
        }
    }
    Ok(())
}

struct PyFunction {
    function: Py<PyAny>,
    /// Destination of Ctrl-C within the function, which ends the run, not the connection.
    error: FirstError,
}

impl OperationFunction for PyFunction {
    fn call(&mut self, inputs: &[(&'static str, f64)], result: Option<f64>) -> Result<Option<f64>, String> {
        Python::attach(|py| {
            let answer = self.answer(py, inputs, result);
            answer.map_err(|raised| {
                if !raised.is_instance_of::<PyException>(py) {
                    let sentence = raised.to_string();
                    self.error.lock().expect("no holder panics").get_or_insert(raised);
                    return sentence;
                }
                described(py, &raised)
            })?
        })
    }
}

impl PyFunction {
    /// Result of the function: a number or nothing; the inner error names any other value.
    fn answer(
        &self,
        py: Python<'_>,
        inputs: &[(&'static str, f64)],
        result: Option<f64>,
    ) -> PyResult<Result<Option<f64>, String>> {
        let arguments = PyDict::new(py);
        for (name, value) in inputs {
            arguments.set_item(name, value)?;
        }
        if let Some(result) = result {
            arguments.set_item("result", result)?;
        }
        let answer = self.function.bind(py).call1((arguments,))?;
        Ok(match answer.extract::<Option<f64>>() {
            Ok(answer) => Ok(answer),
            Err(_) => Err(format!("it returned {}, which is not a number", answer.repr()?)),
        })
    }
}
