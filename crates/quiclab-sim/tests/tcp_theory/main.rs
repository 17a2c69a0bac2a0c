//! lab-tcp in whole runs against what theory says of it: closed forms of the literature and of the RFCs.
//!
//! Every bound is computed from the parameters of the scenario by a formula that the test states; none was
//! taken from a run. Scenarios switch off what a formula does not know, and say so.

#[path = "../whole_runs/mod.rs"]
mod whole_runs;

mod bbr;
mod common;
mod cost;
mod cubic;
mod pacing;
mod random_loss;
mod recovery;
mod saved_metrics;
mod sawtooth;
mod slow_start;
