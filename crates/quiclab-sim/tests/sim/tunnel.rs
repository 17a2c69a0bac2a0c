//! Tunnels over two paths, in whole runs.
//!
//! Every bound is computed from the parameters of the scenario; none was taken from a run.

mod common;
mod latency;
mod order;
mod paths;
mod pipeline;
mod refused;
mod throughput;
mod windows;
