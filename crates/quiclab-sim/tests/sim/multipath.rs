//! lab-quic on several paths, in whole runs.
//!
//! Every bound is computed from the parameters of the scenario; none was taken from a run.

mod common;
mod coupling;
mod failure;
mod handover;
mod management;
mod refused;
mod scheduling;
mod throughput;
mod validation;
