//! Both stacks over a tiny network.

#![allow(missing_docs)]

mod determinism;
mod lab_controller;
mod network;
mod observer;
mod options;
mod transfer;
mod validation;

/// The stacks under test.
const STACKS: [&str; 2] = ["quinn", "noq"];
