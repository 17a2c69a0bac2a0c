//! lab-quic in whole runs compared with theory: round trips of handshakes, head-of-line blocking, windows and
//! flow control.
//!
//! Every bound is computed from the parameters of the scenario by a formula that the test states; none was
//! taken from a run. Links without a rate only delay, so that most times are whole round trips, to the
//! nanosecond.

mod common;
mod handshake;
mod head_of_line;
mod observed;
mod pacing;
mod real_stacks;
mod real_workloads;
mod windows;
