//! Both stacks over a tiny network.

#![allow(missing_docs)]

mod determinism;
mod lab_controller;
mod network;
mod observer;
mod options;
mod page;
mod page_windows;
mod transfer;
mod validation;

use quiclab_core::{Problem, StackAbilities};
use quiclab_transport::options::EndpointConfig;
use quiclab_transport::stack;

/// Checks an endpoint of one of them.
fn validate(config: &EndpointConfig) -> Result<StackAbilities, Problem> {
    stack::validate(quiclab_stacks::STACKS, config)
}

/// The stacks under test.
const STACKS: [&str; 2] = ["quinn", "noq"];
