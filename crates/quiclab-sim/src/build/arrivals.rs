//! Ends of flows whose connections arrive over time.

use super::files::{refusal, text_of};
use super::on_host;
use crate::arrivals::{Arriving, Common, Schedule};
use crate::stacks::stacks;
use quiclab_core::{Endpoint, EndpointIdentity, FieldPath, Problem, RandomStream, Time};
use quiclab_scenario::{Arrivals, Flow, Scenario, read_arrivals};
use quiclab_transport::stack;
use std::path::Path;
use std::sync::Arc;

/// The connections of a flow, if it has arrivals.
///
/// # Errors
/// If their file cannot be read.
pub(super) fn schedule(
    name: &str,
    flow: &Flow,
    seed: u64,
    base_dir: &Path,
) -> Result<Option<Arc<Schedule>>, Problem> {
    let Some(arrivals) = &flow.arrivals else { return Ok(None) };
    let start = Time::ZERO + flow.start;
    let drawn = arrivals.draw(start, RandomStream::new(seed, &format!("{name}.arrivals")));
    let connections = match (drawn, arrivals) {
        (Some(drawn), _) => drawn,
        (None, Arrivals::File { file }) => {
            let path = FieldPath::new(["flows", name, "arrivals", "file"]);
            let text = text_of(file, base_dir, &path)?;
            read_arrivals(&text, start).map_err(|error| refusal(file, &path, error.to_string()))?
        }
        (None, _) => Vec::new(),
    };
    Ok(Some(Arc::new(Schedule::new(connections))))
}

/// Creates an end of such a flow.
///
/// # Errors
/// If its stack is not compiled into quiclab, or rejects an option.
pub(super) fn build(
    scenario: &Scenario,
    flow: &Flow,
    identity: EndpointIdentity,
    schedule: &Arc<Schedule>,
    seed: u64,
) -> Result<Box<dyn Endpoint>, Problem> {
    let config = scenario.endpoint(flow, identity.role);
    let name = identity.name.clone();
    let stack = stack::find(&stacks(), &config).map_err(|problem| {
        problem.because("connections of `arrivals` run on stacks that are compiled into quiclab")
    })?;
    let common = Common { identity, stack, config: config.clone(), workload: flow.workload.clone(), seed };
    let endpoint = Arriving::new(common, Arc::clone(schedule))?;
    Ok(on_host(scenario, &config, seed, &name, Box::new(endpoint)))
}
