//! Runs a scenario several times without Python, as a target for a profiler.
//!
//! `cargo run --release --example bulk -- benches/bulk.toml 10`; prints data packets per CPU second.

use quiclab_config::Document;
use quiclab_scenario::Scenario;
use quiclab_sim::{BuildOptions, NativeStacks, RunOptions, run};
use std::ops::ControlFlow;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which scenario file?")?;
    let runs: u64 = arguments.next().map_or(Ok(5), |runs| runs.parse())?;
    let document = Document::from_toml(&std::fs::read_to_string(&file)?, &file, &[])?;
    let scenario = Scenario::load(&document, &quiclab_sim::validate)?;
    let options = RunOptions {
        build: BuildOptions {
            stacks: &NativeStacks,
            base_dir: Path::new(&file).parent().unwrap_or(Path::new("")),
            transport_observer: &|_| None,
        },
        packet_observers: &|_| Vec::new(),
        progress: &|_| ControlFlow::Continue(()),
        compared: None,
    };
    for seed in 1..=runs {
        let start = cpu_seconds();
        let output = run(&scenario.resolved(), seed, &options)?;
        let seconds = cpu_seconds() - start;
        let packets: f64 = output.result.flows.values().map(|flow| flow.sender["packets_sent"]).sum();
        println!("{:.0} data packets per CPU second, {} events", packets / seconds, output.result.run.events);
    }
    Ok(())
}

/// CPU time of this process so far, user and system.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
