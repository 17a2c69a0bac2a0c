//! Plugins: named lists of replacements that a flow lists in one line.
//!
//! A replacement names an operation and the value or function that takes its place. There are two kinds of
//! operation:
//!
//! | kind | named | replaced by | fields |
//! | --- | --- | --- | --- |
//! | option | as the option of the endpoint, `quic.acknowledgement` | a value of this option | `replace` |
//! | computation | `compute.` and a name, [`Operation`] | a function, `module:function` | `replace`, `before`, `after` |
//!
//! An option is set when an endpoint is created ([`Scenario::endpoint`]); the scenario itself is unchanged,
//! so that a new list of plugins leaves no effect of the former one.

mod apply;
mod part;

pub(super) use apply::{Applied, apply};
pub(super) use part::{canonical, is_part, parts};

use super::{Flow, Scenario};
use quiclab_core::Role;
use quiclab_core::{Anchor, FieldPath, Operation, limits};
use quiclab_transport::options::EndpointConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A named list of replacements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plugin {
    /// Effect, in one sentence.
    #[serde(default)]
    pub description: String,
    /// Ends of the flow that it changes.
    #[serde(default)]
    pub ends: PluginEnds,
    /// Replacements.
    #[schemars(transform = limits::not_empty())]
    pub exchanges: Vec<Exchange>,
}

/// Ends of a flow that a plugin changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PluginEnds {
    /// Sender and receiver.
    #[default]
    Both,
    /// Only the sender.
    Sender,
    /// Only the receiver.
    Receiver,
}

impl PluginEnds {
    /// Whether the end in this role is included.
    #[must_use]
    pub const fn include(self, role: Role) -> bool {
        matches!(
            (self, role),
            (Self::Both, _) | (Self::Sender, Role::Server) | (Self::Receiver, Role::Client)
        )
    }
}

/// An operation and its replacement: one of `replace`, `before` and `after`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// An option of the endpoint, such as `quic.acknowledgement`, or a computation, such as
    /// `compute.congestion_window`.
    pub operation: String,
    /// Replacement: a value of the option; for a computation, the name of a function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<serde_json::Value>,
    /// Function that is called before the computation, with its inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Function that is called after the computation, with its inputs and result, which it may change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl Exchange {
    /// The function at a computation; `None` for an option.
    fn function(&self) -> Option<(Operation, Anchor, &str)> {
        let operation = Operation::find(&self.operation)?;
        let functions = [
            (Anchor::Before, self.before.as_deref()),
            (Anchor::Replace, self.replace.as_ref().and_then(serde_json::Value::as_str)),
            (Anchor::After, self.after.as_deref()),
        ];
        functions.into_iter().find_map(|(anchor, name)| Some((operation, anchor, name?)))
    }
}

/// A function that a plugin places at a computation of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computation {
    /// Name of the plugin.
    pub plugin: String,
    /// The computation.
    pub operation: Operation,
    /// Position of the function.
    pub anchor: Anchor,
    /// Name of the function, as in the document.
    pub function: String,
}

macro_rules! manifests {
    ($($name:literal),+ $(,)?) => { [$(($name, include_str!(concat!("plugins/", $name, ".toml")))),+] };
}

/// The built-in plugins by name: the files in `plugins/`.
#[must_use]
pub fn built_in_plugins() -> &'static BTreeMap<String, Plugin> {
    static PLUGINS: LazyLock<BTreeMap<String, Plugin>> = LazyLock::new(|| {
        let manifests = manifests![
            "ack-every-packet",
            "adaptive-threshold",
            "adaptive-time-threshold",
            "fixed-threshold",
            "no-datagram-congestion-control",
            "no-pacing",
            "no-persistent-congestion",
            "no-slow-start-exit",
            "one-connection",
        ];
        let parse = |text| toml::from_str(text).expect("a manifest of the repository; a test reads all");
        manifests.into_iter().map(|(name, text)| (name.to_owned(), parse(text))).collect()
    });
    &PLUGINS
}

impl Scenario {
    /// The plugin with this name: one of the scenario, or a built-in one.
    #[must_use]
    pub fn plugin(&self, name: &str) -> Option<&Plugin> {
        self.plugins.get(name).or_else(|| built_in_plugins().get(name))
    }

    /// Stack and options of an end of `flow`, with the stack of the flow if it names none, and with the
    /// options that the flow's plugins set.
    ///
    /// # Panics
    /// If a plugin does not exist or is contradictory, which [`Scenario::validate`] rejects.
    #[must_use]
    pub fn endpoint(&self, flow: &Flow, role: Role) -> EndpointConfig {
        let applied = apply(self, &FieldPath::default(), flow, role).map(|applied| applied.config);
        flow.inherited(&applied.unwrap_or_else(|error| panic!("a valid scenario: {error}")))
    }

    /// The functions that the plugins of `flow` place at computations of an end, in their order.
    #[must_use]
    pub fn computations(&self, flow: &Flow, role: Role) -> Vec<Computation> {
        let mut found = Vec::new();
        for name in &flow.plugins {
            let Some(plugin) = self.plugin(name).filter(|plugin| plugin.ends.include(role)) else { continue };
            let functions = plugin.exchanges.iter().filter_map(Exchange::function);
            found.extend(functions.map(|(operation, anchor, function)| Computation {
                plugin: name.clone(),
                operation,
                anchor,
                function: function.to_owned(),
            }));
        }
        found
    }
}
