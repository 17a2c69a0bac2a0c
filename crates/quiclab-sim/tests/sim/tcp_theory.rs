//! lab-tcp in whole runs compared with theory: closed forms of the literature and of the RFCs.
//!
//! Every bound is computed from the parameters of the scenario by a formula that the test states; none was
//! taken from a run. Scenarios disable mechanisms that a formula does not cover, and state it.

mod bbr;
pub mod common;
mod cost;
mod cubic;
mod pacing;
mod random_loss;
mod recovery;
mod saved_metrics;
mod sawtooth;
mod slow_start;
