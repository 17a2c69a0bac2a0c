//! Split bearers whose splitters follow the reports of links, in whole runs.

mod common;
mod reports;
mod throughput;
mod timer;
