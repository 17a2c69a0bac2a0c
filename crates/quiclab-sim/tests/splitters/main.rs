//! Split bearers whose splitters follow the reports of links, in whole runs.

#[path = "../whole_runs/mod.rs"]
mod whole_runs;

mod common;
mod reports;
mod throughput;
mod timer;
