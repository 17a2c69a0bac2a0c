//! What scenarios may contain, for pages that offer choices.

use quiclab_scenario::Scenario;
use quiclab_transport::NativeStack;
use serde_json::{Value, json};

/// Version of the engine, JSON schema of scenarios, stacks with profiles and options.
pub(crate) fn catalogue() -> Value {
    let stacks: Vec<_> = quiclab_sim::stacks().into_iter().map(NativeStack::info).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "schema": Scenario::schema(),
        "stacks": stacks,
    })
}
