//! Runs, with the interpreter released.

use crate::endpoint::FirstError;
use crate::output::RunOutput;
use crate::progress;
use crate::record::Recorder;
use crate::scenario::{parse, scenario_error};
use crate::stacks::AllStacks;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use quiclab_scenario::{Record, Scenario};
use quiclab_sim::{BuildError, BuildOptions, ComparedRun, RunError, RunOptions, RunProgress};
use std::ops::ControlFlow;
use std::path::Path;

/// Runs a scenario with a seed; `progress` is called periodically with seconds of network time, bytes
/// delivered and the completed share.
#[pyfunction]
#[pyo3(signature = (scenario_json, seed, base_dir, record_dir, progress=None))]
pub(crate) fn run(
    py: Python<'_>,
    scenario_json: &str,
    seed: u64,
    base_dir: &str,
    record_dir: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunOutput> {
    let scenario = parse(scenario_json)?;
    // only files need a directory
    let record = match record_dir {
        Some(_) => scenario.record.clone(),
        None => Record { acks: scenario.record.acks, ..Record::default() },
    };
    let recorder = Recorder::new(Path::new(record_dir.unwrap_or_default()), &scenario.name, &record, seed);
    let output = simulate(py, base_dir, &scenario, &recorder, progress, |options| {
        quiclab_sim::run(&scenario, seed, options)
    })?;
    recorder.finish().map_err(PyOSError::new_err)?;
    Ok(RunOutput::new(output, recorder.take_acks()))
}

/// Finds the first packet at which two runs differ; JSON.
#[pyfunction]
pub(crate) fn first_difference(
    py: Python<'_>,
    scenario_a: &str,
    seed_a: u64,
    scenario_b: &str,
    seed_b: u64,
    base_dir_a: &str,
    base_dir_b: &str,
) -> PyResult<String> {
    let quiet =
        |json: &str| -> PyResult<Scenario> { Ok(Scenario { record: Record::default(), ..parse(json)? }) };
    let (a, b) = (quiet(scenario_a)?, quiet(scenario_b)?);
    let recorder = Recorder::new(Path::new(""), "", &Record::default(), seed_a);
    let difference = simulate(py, base_dir_a, &a, &recorder, None, |options_a| {
        let options_b = RunOptions {
            build: BuildOptions { base_dir: Path::new(base_dir_b), ..options_a.build },
            ..options_a.clone()
        };
        let mut a = ComparedRun { scenario: &a, seed: seed_a, options: options_a.clone() };
        let mut b = ComparedRun { scenario: &b, seed: seed_b, options: options_b };
        quiclab_sim::first_difference(&mut a, &mut b)
    })?;
    Ok(serde_json::to_string(&difference).expect("a difference has string keys only"))
}

/// Calls `run` with options that know all stacks and the recorder; the interpreter is released.
fn simulate<T: Send>(
    py: Python<'_>,
    base_dir: &str,
    scenario: &Scenario,
    recorder: &Recorder,
    progress: Option<Py<PyAny>>,
    run: impl FnOnce(&RunOptions<'_>) -> Result<T, RunError> + Send,
) -> PyResult<T> {
    let stacks = AllStacks { error: Default::default() };
    let error = stacks.error.clone();
    let result = py.detach(|| {
        run(&RunOptions {
            build: BuildOptions {
                stacks: &stacks,
                base_dir: Path::new(base_dir),
                transport_observer: &|identity| recorder.transport_observer(identity),
            },
            packet_observers: &|topology| recorder.packet_observers(scenario, topology),
            progress: &|state| tell(progress.as_ref(), state, &error),
            compared: None,
        })
    });
    if let Some(error) = error.lock().expect("no holder panics").take() {
        return Err(error);
    }
    result.map_err(|error| match error {
        RunError::Build(BuildError::Problem(problem)) => scenario_error(&(*problem).into()),
        RunError::Interrupted => PyKeyboardInterrupt::new_err(()),
        other => PyRuntimeError::new_err(other.to_string()),
    })
}

/// Reports the progress of the run to `progress`; an exception there, or of a signal handler, ends the run.
fn tell(progress: Option<&Py<PyAny>>, state: RunProgress, error: &FirstError) -> ControlFlow<()> {
    if error.lock().expect("no holder panics").is_some() {
        return ControlFlow::Break(()); // an endpoint written in Python has raised an exception
    }
    let arguments = (state.now.as_ms_f64() / 1e3, state.delivered_bytes, state.fraction);
    progress::tell(progress, arguments, |raised| {
        error.lock().expect("no holder panics").get_or_insert(raised);
    })
}
