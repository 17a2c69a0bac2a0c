//! Constraints of a scenario beyond the limits of its fields: those across several fields. Each check names
//! the field, its value and the expected value; the first one that fails ends the validation.
//!
//! Not checked here, because the crate does no I/O and knows no stack: trace files (checked by their reader)
//! and names of stacks, profiles and their options (checked by a function of the caller).

mod bearer;
mod endpoint;
mod flow;
mod network;
mod paths;
mod plugin;
mod tunnel;
mod wires;

pub(crate) use network::check_link;

use super::{Scenario, StackCheck};
use quiclab_core::problem::{ensure, is_bare_key, quoted};
use quiclab_core::{FieldPath, Problem, ProblemKind};

/// Maximum number of samples of a time series: more would exhaust the memory.
const MAX_SAMPLES: u64 = 10_000_000;

type Check = Result<(), Problem>;

impl Scenario {
    /// Checks all constraints across fields.
    pub(super) fn check_together(&self, stacks: StackCheck<'_>) -> Check {
        self.repeated()?.check_repeated(stacks).map_err(|mut problem| {
            problem.path = self.path_before_repetition(&problem.path);
            problem
        })
    }

    /// The same for a scenario without `count`.
    fn check_repeated(&self, stacks: StackCheck<'_>) -> Check {
        ensure(self.network.is_none(), || {
            let reason = "its links are taken when a scenario is read";
            let name = quoted(self.network.as_deref().unwrap_or_default());
            Problem::conflict(field(["network"]), name, "no value here").because(reason)
        })?;
        self.check_series()?;
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
        for (name, plugin) in &self.plugins {
            plugin::check(&field(["plugins", name]), plugin)?;
        }
        for (name, flow) in &self.flows {
            flow::check(&field(["flows", name]), flow, self)?;
        }
        flow::check_client_ports(self)?;
        wires::check(self)?;
        network::check_tunnels_used(self)?;
        let mut senders = Vec::with_capacity(self.flows.len());
        for (name, flow) in &self.flows {
            senders.push(flow::check_stacks(&field(["flows", name]), flow, self, stacks)?);
        }
        for (index, event) in self.events.iter().enumerate() {
            let path = field(["events"]).child(index);
            event.check(self, &senders).map_err(|problem| problem.below(&path))?;
        }
        for (name, tunnel) in &self.tunnels {
            tunnel::check_stacks(name, tunnel, stacks)?;
        }
        let protocols: Vec<_> = senders.iter().map(|sender| sender.protocol).collect();
        network::check_bursts(self, &protocols)
    }

    fn check_series(&self) -> Check {
        let Some(interval) = self.record.series_interval else { return Ok(()) };
        let shortest = self.duration / MAX_SAMPLES;
        ensure(interval >= shortest, || {
            let expected = format!("a duration of at least \"{shortest}\"");
            Problem::conflict(field(["record", "series_interval"]), quoted(interval), expected)
                .because(format!("a run of `duration` has at most {MAX_SAMPLES} samples"))
        })
    }

    /// Checks names: they are words; links, bearers, taps and tunnels share one namespace, because routes do.
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
            if let Some(name) = names.iter().find(|name| !is_bare_key(name)) {
                let path = field([group, name.as_str()]);
                return Err(Problem::new(ProblemKind::OutOfRange, path, NAME).because("invalid name"));
            }
        }
        for (later, (group, names)) in groups[..4].iter().enumerate() {
            for (earlier, others) in &groups[..later] {
                if let Some(name) = names.iter().find(|name| others.contains(name)) {
                    let path = field([group, name.as_str()]);
                    return Err(about(path, format!("`{earlier}.{name}` has the same name"), UNIQUE));
                }
            }
        }
        Ok(())
    }

    /// Names that a route may contain, for messages.
    fn passable(&self) -> Vec<&String> {
        let network = self.links.keys().chain(self.bearers.keys());
        network.chain(self.taps.keys()).chain(self.tunnels.keys()).collect()
    }
}

const NAME: &str = "a name of letters, digits, `_` and `-`";
const UNIQUE: &str = "a name that no other link, bearer, tap or tunnel has";

fn field<const N: usize>(steps: [&str; N]) -> FieldPath {
    FieldPath::new(steps)
}

/// Reports that a field is inconsistent with others, whatever its value.
fn about(path: FieldPath, reason: impl Into<String>, expected: impl Into<String>) -> Problem {
    Problem::new(ProblemKind::Conflict, path, expected).because(reason)
}

/// Reports that a name is not defined.
fn undefined<'a>(
    path: FieldPath,
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a String>,
) -> Problem {
    let known: Vec<&String> = known.into_iter().collect();
    if known.is_empty() {
        return Problem::new(ProblemKind::UnknownName, path, "")
            .got(quoted(name))
            .because(format!("the scenario defines no {what}"));
    }
    Problem::unknown(path, name, known).because(format!("no such {what}"))
}
