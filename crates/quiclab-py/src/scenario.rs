//! Scenarios: text in, resolved JSON out.

use crate::error::{FormerName, ScenarioError};
use crate::function;
use crate::programs::Programs;
use crate::stacks::{is_native, validate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use quiclab_config::{ConfigError, Document, Location};
use quiclab_core::problem::system_reason;
use quiclab_core::{FieldPath, Problem, ProblemKind};
use quiclab_scenario::{Flow, Network, NetworkText, Scenario};
use std::ffi::CString;
use std::path::Path;

/// Version of the engine.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The exception for `error`: its message is the text of the error, its attributes are the parameters of
/// `quiclab.errors.RequestError`.
pub(crate) fn scenario_error(error: &ConfigError) -> PyErr {
    let exception = ScenarioError::new_err(error.to_string());
    Python::attach(|py| {
        set_attributes(exception.value(py), error).expect("an exception has attributes");
    });
    exception
}

fn set_attributes(exception: &Bound<'_, PyAny>, error: &ConfigError) -> PyResult<()> {
    let problem = &error.problem;
    let (line, column) = error.location.line_and_column().unzip();
    exception.setattr("path", problem.path.to_string())?;
    exception.setattr("kind", format!("{:?}", problem.kind))?;
    exception.setattr("expected", &problem.expected)?;
    exception.setattr("value", problem.value.as_deref().unwrap_or_default())?;
    exception.setattr("suggestion", problem.suggestion.as_deref())?;
    exception.setattr("file", error.location.file().unwrap_or_default())?;
    exception.setattr("line", line)?;
    exception.setattr("column", column)?;
    exception.setattr("rendered", error.render(false))
}

/// Name in `known` of which `name` is most likely a misspelling, if there is one.
#[pyfunction]
pub(crate) fn nearest(name: &str, known: Vec<String>) -> Option<String> {
    quiclab_core::problem::nearest(name, &known)
}

/// Byte range of the field at `path` in a TOML document, or of the closest table: its value, or from its key on.
#[pyfunction]
pub(crate) fn toml_span(text: &str, file: &str, path: Vec<String>, value: bool) -> PyResult<(usize, usize)> {
    let document = Document::from_toml(text, file, &[]).map_err(|error| scenario_error(&error))?;
    match document.location_of(&FieldPath::new(path), value) {
        Location::Text { span, .. } => Ok((span.start, span.end)),
        _ => Ok((0, 0)),
    }
}

/// Line and column (from 1) of byte `start` of `text`, and `message` with that line, marked up to byte `end`.
#[pyfunction]
pub(crate) fn mark(
    message: &str,
    file: &str,
    text: &str,
    start: usize,
    end: usize,
) -> (usize, usize, String) {
    let location = Location::Text { file: file.to_owned(), text: text.into(), span: start..end };
    let (line, column) = location.line_and_column().expect("it is in a text");
    (line, column, location.render_error(message))
}

/// Checks the fields of a scenario (JSON) one by one, and reads former names, each with a `FutureWarning`. Returns the
/// scenario with current names in their place; `None` if it has no former names.
#[pyfunction]
pub(crate) fn read_fields(py: Python<'_>, scenario_json: &str) -> PyResult<Option<String>> {
    let mut document =
        Document::from_json(scenario_json, None, &[]).map_err(|error| scenario_error(&error))?;
    let former = warn_of_former_names(py, &mut document, 5)?;
    Scenario::decode(&document).map_err(|error| scenario_error(&error))?;
    Ok(former.then(|| document.to_json().to_string()))
}

/// Replaces former names, each with a warning about the caller `level` calls above; whether there were any.
fn warn_of_former_names(py: Python<'_>, document: &mut Document, level: i32) -> PyResult<bool> {
    let notes = Scenario::replace_former_names(document);
    for note in &notes {
        let text = CString::new(note.to_string()).expect("names have no zero byte");
        PyErr::warn(py, &py.get_type::<FormerName>(), &text, level)?;
    }
    Ok(!notes.is_empty())
}

/// Reads a scenario, loads the links of the network that it names (named paths are in `paths_dir`), applies changes,
/// validates it and fills in every default. `programs` is the JSON list of the programs of the kernel lane, whose names
/// are its stacks; without it the scenario is for the sim lane. Former names are read with a `FutureWarning`.
#[pyfunction]
#[pyo3(signature = (text, file, base_dir, sets, format, paths_dir, programs=None))]
#[expect(clippy::too_many_arguments, reason = "the arguments of a Python function have names")]
pub(crate) fn resolve(
    py: Python<'_>,
    text: &str,
    file: Option<&str>,
    base_dir: &str,
    sets: Vec<(String, String)>,
    format: &str,
    paths_dir: &str,
    programs: Option<&str>,
) -> PyResult<String> {
    let programs = programs.map(Programs::from_json).transpose()?;
    let document = match format {
        "toml" => Document::from_toml(text, file.unwrap_or_default(), &[]),
        "json" => Document::from_json(text, file, &[]),
        other => {
            return Err(PyValueError::new_err(format!(
                "format: expected \"toml\" or \"json\", got {other:?}"
            )));
        }
    };
    let read = |name: &str| read_network(name, Path::new(paths_dir), Path::new(base_dir));
    let mut document = document
        .and_then(|document| Scenario::expanded(document, &sets, &read))
        .map_err(|error| scenario_error(&error))?;
    warn_of_former_names(py, &mut document, 3)?;
    let scenario = (|| {
        let scenario = match &programs {
            Some(programs) => Scenario::load(&document, &|config, _| programs.validate(config))?,
            None => Scenario::load(&document, &validate)?,
        };
        let observed = match &programs {
            Some(programs) => programs.check(&scenario),
            None => check_observed(&scenario),
        };
        observed
            .and_then(|()| quiclab_sim::check_files(&scenario, Path::new(base_dir)))
            .and_then(|()| function::check(&scenario.resolved(), Path::new(base_dir)))
            .map_err(|problem| document.locate(problem))?;
        Ok(scenario.resolved())
    })();
    let scenario = scenario.map_err(|error| scenario_error(&error))?;
    Ok(serde_json::to_string(&scenario).expect("a scenario has string keys only"))
}

/// Reads the file of a network: a named path, or a file of the user.
fn read_network(name: &str, paths: &Path, base: &Path) -> Result<NetworkText, Problem> {
    let file = match name.strip_prefix(PATHS) {
        Some(path) => {
            let known = named_paths(paths);
            if !known.iter().any(|known| known == path) {
                let known = known.iter().map(|path| format!("{PATHS}{path}"));
                return Err(Problem::unknown("network", name, known));
            }
            paths.join(format!("{path}.toml"))
        }
        None if Path::new(name).extension().is_some_and(|extension| extension == "toml") => base.join(name),
        None => {
            let known: Vec<_> = named_paths(paths).iter().map(|path| format!("{PATHS}{path}")).collect();
            let expected = "a named path such as \"paths/wifi-bad\", or a file that ends with `.toml`";
            let problem =
                Problem::new(ProblemKind::UnknownName, "network", expected).got(format!("{name:?}"));
            let suggestion =
                quiclab_core::problem::nearest(&format!("{PATHS}{name}"), &known).map(Into::into);
            return Err(Problem { suggestion, ..problem });
        }
    };
    let refused = |reason: String| Problem::file("network", reason).got(format!("{name:?}"));
    let text = std::fs::read_to_string(&file).map_err(|error| refused(system_reason(&error)))?;
    Ok(NetworkText { text, file: file.display().to_string() })
}

/// Prefix of the names of named paths in a scenario.
const PATHS: &str = "paths/";

/// Names of the files in `folder`, sorted.
fn named_paths(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let toml = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let mut names: Vec<_> = toml.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}

/// The network of a file, with every default, as JSON.
#[pyfunction]
pub(crate) fn network(text: &str, file: &str) -> PyResult<String> {
    let source = NetworkText { text: text.to_owned(), file: file.to_owned() };
    let network = Network::from_toml(&source).map_err(|error| scenario_error(&error))?;
    Ok(serde_json::to_string(&network).expect("a network has string keys only"))
}

/// Rejects records of stacks written in Python: these are not observed, so their qlog and acknowledgements
/// would be empty.
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

/// Prints a scenario as TOML. Its stacks are not checked: they may be programs of the kernel lane.
#[pyfunction]
pub(crate) fn to_toml(scenario_json: &str) -> PyResult<String> {
    let scenario = Scenario::from_json(scenario_json).map_err(|error| scenario_error(&error))?;
    scenario.to_toml().map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// A commented scenario that can be run unchanged.
#[pyfunction]
pub(crate) fn template() -> &'static str {
    Scenario::template()
}

/// JSON schema of scenarios.
#[pyfunction]
pub(crate) fn schema() -> String {
    Scenario::schema().to_string()
}

/// Paths in a document (JSON) that match a path with `*`.
#[pyfunction]
pub(crate) fn paths(document_json: &str, path: &str) -> PyResult<Vec<String>> {
    let paths = Document::from_json(document_json, None, &[]).and_then(|document| document.paths(path));
    let paths = paths.map_err(|error| scenario_error(&error))?;
    Ok(paths.iter().map(|path| path.steps().join(".")).collect())
}

/// Notes on the parts of a scenario (JSON) that no flow uses.
#[pyfunction]
pub(crate) fn unused(scenario_json: &str) -> PyResult<Vec<String>> {
    Ok(parse(scenario_json)?.unused())
}

/// Parses a scenario from its JSON, resolved or not, and validates it and each of its flows.
pub(crate) fn parse(json: &str) -> PyResult<Scenario> {
    let scenario = Document::from_json(json, None, &[]).and_then(|document| {
        let scenario = Scenario::load(&document, &validate)?;
        check_observed(&scenario)?;
        Ok(scenario)
    });
    let repeated = scenario.and_then(|scenario| Ok(scenario.resolved().repeated()?.into_owned()));
    repeated.map_err(|error| scenario_error(&error))
}
