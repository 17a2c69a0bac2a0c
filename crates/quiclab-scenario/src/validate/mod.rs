//! What a scenario must fulfil beyond its types. Each check names the field, its value and what is
//! allowed; the first one that fails ends the validation.
//!
//! Not checked here, because the crate does no I/O and knows no stack: trace files (their reader
//! does) and names of stacks, profiles and their options (a function of the caller does).

mod bearer;
mod endpoint;
mod flow;
mod network;
mod path_scheduler;
mod plugin;
mod quic;
mod tunnel;
mod wires;

use super::error::{FieldPath, ScenarioError, alternatives, is_name};
use super::{Scenario, Until, VERSION};
use quiclab_core::Duration;
use quiclab_core::{ByteCount, DataRate};
use quiclab_core::{StackAbilities, StackProblem};
use quiclab_transport::options::EndpointConfig;
use std::fmt::Display;

/// Most samples of a time series: more would fill the memory.
const MOST_SAMPLES: u64 = 10_000_000;

type Check = Result<(), ScenarioError>;

impl Scenario {
    /// Checks everything that types do not express. `stacks` judges the stack, the profile and the
    /// options of each endpoint (with the stack of the flow filled in), and says what the stack speaks.
    ///
    /// # Errors
    /// The first thing that is wrong, without file and line: `Document::locate` adds them.
    pub fn validate(
        &self,
        stacks: &dyn Fn(&EndpointConfig) -> Result<StackAbilities, StackProblem>,
    ) -> Check {
        self.check_head()?;
        self.check_names()?;
        for (name, link) in &self.links {
            network::check_link(&field(["links", name]), link)?;
        }
        for (name, bearer) in &self.bearers {
            bearer::check(&field(["bearers", name]), bearer, self)?;
        }
        bearer::check_feedback(self)?;
        for (name, tunnel) in &self.tunnels {
            tunnel::check(&field(["tunnels", name]), tunnel, self)?;
        }
        for (name, host) in &self.hosts {
            network::check_host(&field(["hosts", name]), host)?;
        }
        for (name, tap) in &self.taps {
            integer_fits(&field(["taps", name, "keep_packets"]), tap.keep_packets, 0)?;
        }
        for (name, plugin) in &self.plugins {
            plugin::check(&field(["plugins", name]), plugin)?;
        }
        for (name, flow) in &self.flows {
            flow::check(&field(["flows", name]), flow, self)?;
        }
        wires::check(self)?;
        network::check_used(self)?;
        let mut protocols = Vec::with_capacity(self.flows.len());
        for (name, flow) in &self.flows {
            protocols.push(flow::check_stacks(&field(["flows", name]), flow, self, stacks)?);
        }
        for (name, tunnel) in &self.tunnels {
            tunnel::check_stacks(name, tunnel, stacks)?;
        }
        network::check_bursts(self, &protocols)
    }

    fn check_head(&self) -> Check {
        ensure(self.version == VERSION, || {
            ScenarioError::refused(field(["version"]), self.version, VERSION.to_string())
        })?;
        ensure(!self.name.trim().is_empty(), || {
            ScenarioError::refused(field(["name"]), quoted(&self.name), "a text that is not empty")
        })?;
        positive_time(&field(["duration"]), self.duration)?;
        if let Until::Delivered(size) = self.until {
            positive_size(&field(["until", "delivered"]), size)?;
        }
        if let Some(interval) = self.record.series_interval {
            let path = field(["record", "series_interval"]);
            positive_time(&path, interval)?;
            let shortest = self.duration / MOST_SAMPLES;
            ensure(interval >= shortest, || {
                let allowed =
                    format!("at least `{shortest}` ({MOST_SAMPLES} samples in the scenario's `duration`)");
                ScenarioError::refused(path, quoted(interval), allowed)
            })?;
        }
        ensure(!self.flows.is_empty(), || {
            ScenarioError::refused(field(["flows"]), "{}", "one flow or more").because("no flow at all")
        })
    }

    /// Names are words; links, bearers, taps and tunnels share one set of names, because routes do.
    fn check_names(&self) -> Check {
        let groups: [(&str, Vec<&String>); 7] = [
            ("links", self.links.keys().collect()),
            ("bearers", self.bearers.keys().collect()),
            ("taps", self.taps.keys().collect()),
            ("tunnels", self.tunnels.keys().collect()),
            ("hosts", self.hosts.keys().collect()),
            ("plugins", self.plugins.keys().collect()),
            ("flows", self.flows.keys().collect()),
        ];
        for (group, names) in &groups {
            for name in names {
                ensure(is_name(name), || {
                    ScenarioError::about(field([group, name.as_str()]), "name not allowed", NAME)
                })?;
            }
        }
        for (later, (group, names)) in groups[..4].iter().enumerate() {
            for (earlier, others) in &groups[..later] {
                if let Some(name) = names.iter().find(|name| others.contains(name)) {
                    let path = field([group, name.as_str()]);
                    let problem = format!("`{earlier}.{name}` has this name, too");
                    return Err(ScenarioError::about(path, problem, UNIQUE));
                }
            }
        }
        Ok(())
    }

    /// Names that a route may hold, for messages.
    fn passable(&self) -> String {
        let network = self.links.keys().chain(self.bearers.keys());
        alternatives(network.chain(self.taps.keys()).chain(self.tunnels.keys()))
    }
}

const NAME: &str = "a name of letters, digits, `_` and `-`";
const UNIQUE: &str = "a name that no other link, bearer, tap or tunnel has";

fn field<const N: usize>(steps: [&str; N]) -> FieldPath {
    FieldPath::new(steps)
}

/// A value that is written as a text in TOML.
fn quoted(value: impl Display) -> String {
    format!("{:?}", value.to_string())
}

fn ensure(holds: bool, error: impl FnOnce() -> ScenarioError) -> Check {
    if holds { Ok(()) } else { Err(error()) }
}

fn positive_time(path: &FieldPath, value: Duration) -> Check {
    ensure(value > Duration::ZERO, || {
        ScenarioError::refused(path.clone(), quoted(value), "a time above 0, such as `10 ms`")
    })
}

fn positive_rate(path: &FieldPath, value: DataRate) -> Check {
    ensure(value > DataRate::from_bits_per_second(0), || {
        ScenarioError::refused(path.clone(), quoted(value), "a rate above 0, such as `20 Mbit/s`")
    })
}

fn positive_size(path: &FieldPath, value: ByteCount) -> Check {
    ensure(value > ByteCount::ZERO, || {
        ScenarioError::refused(path.clone(), quoted(value), "a size of at least 1 byte, such as `64 KiB`")
    })
}

/// TOML integers have 63 bits; a scenario that is built in code shall be writable as well.
fn integer_fits(path: &FieldPath, value: u64, least: u64) -> Check {
    ensure((least..=i64::MAX as u64).contains(&value), || {
        ScenarioError::refused(path.clone(), value, format!("{least} to {}", i64::MAX))
    })
}
