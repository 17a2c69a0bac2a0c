//! Helpers for tests of whole runs: a scenario from a text, and its run.

use quiclab_config::{ConfigError, Document};
use quiclab_scenario::Scenario;
use quiclab_sim::{BuildOptions, NativeStacks, RunOptions, RunOutput, run};
use std::ops::ControlFlow;
use std::path::Path;

/// Loads the scenario with other values at these paths.
pub fn load(text: &str, sets: &[(&str, &str)]) -> Result<Scenario, ConfigError> {
    let sets = sets.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect::<Vec<_>>();
    let document = Document::from_toml(text, "scenario.toml", &sets)?;
    Ok(Scenario::load(&document, &quiclab_sim::validate)?.resolved())
}

/// Options with the native stacks, without observers, and with the files of this folder.
pub fn native(base_dir: &Path) -> BuildOptions<'_> {
    BuildOptions { stacks: &NativeStacks, base_dir, transport_observer: &|_| None }
}

pub fn run_scenario(scenario: &Scenario, seed: u64, build: BuildOptions<'_>) -> RunOutput {
    let options = RunOptions {
        build,
        packet_observers: &|_| Vec::new(),
        progress: &|_| ControlFlow::Continue(()),
        compared: None,
    };
    run(scenario, seed, &options).expect("the run goes through")
}

/// Calls [`load`] and [`run_scenario`]; both must succeed.
pub fn run_text(text: &str, sets: &[(&str, &str)], seed: u64) -> RunOutput {
    run_scenario(&load(text, sets).expect("the scenario is valid"), seed, native(Path::new(".")))
}
