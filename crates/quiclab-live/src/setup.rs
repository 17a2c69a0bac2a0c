//! Setup of a run: hosts, servers that are ready, clients that wait for their start.

use crate::error::LiveError;
use crate::hosts::{EndpointHost, NetworkPlacement};
use crate::job::Job;
use crate::process::{Process, ProcessError};
use quiclab_core::{Role, Time};
use quiclab_scenario::Scenario;
use quiclab_sim::identity;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The client of a flow: its start time, and its process from then on.
pub struct Client {
    /// Name of the flow.
    pub flow: String,
    /// Index of its device among the elements.
    pub element: usize,
    /// Time of its start.
    pub start: Time,
    /// Its process; `None` until then.
    pub process: Option<Process>,
    /// Whether it has ended.
    pub over: bool,
}

/// Removes the hosts of a scenario, as programs have the host on which they run. Returns notes.
pub fn without_hosts(scenario: &mut Scenario) -> Vec<String> {
    let mut named = Vec::new();
    for flow in scenario.flows.values_mut() {
        for end in [&mut flow.sender, &mut flow.receiver] {
            named.extend(end.host.take());
        }
    }
    named.sort();
    named.dedup();
    let sentence = |host| {
        format!("hosts.{host} does not hold: in the kernel lane programs have the machine that they run on")
    };
    named.into_iter().map(sentence).collect()
}

/// Creates a host for each end of each flow, by the name of the end.
///
/// # Errors
/// If the kernel refuses one.
pub fn machines(scenario: &Scenario, job: &Job) -> Result<BTreeMap<String, EndpointHost>, LiveError> {
    let mut machines = BTreeMap::new();
    for (index, flow) in scenario.flows.keys().enumerate() {
        let server = identity(scenario, index, flow, Role::Server);
        let client = identity(scenario, index, flow, Role::Client);
        let failed = |end: &str| {
            let end = end.to_owned();
            move |reason| LiveError::Host { end, reason }
        };
        let on_host = job.flows.get(flow).is_some_and(|pair| pair.server_on_host);
        let (mut of_server, mut of_client) = (server.tuple.source().ip(), client.tuple.source().ip());
        let machine = if on_host {
            let machine = on_this_machine().map_err(failed(&server.name))?;
            (of_server, of_client) = (machine.address, peer(machine.address));
            machine
        } else {
            let place = NetworkPlacement::Own { sysctls: job.sysctls.clone() };
            EndpointHost::new(place, of_server, of_client).map_err(failed(&server.name))?
        };
        debug_assert_eq!(machine.address, of_server);
        machines.insert(server.name, machine);
        let place = NetworkPlacement::Own { sysctls: job.sysctls.clone() };
        let machine = EndpointHost::new(place, of_client, of_server).map_err(failed(&client.name))?;
        machines.insert(client.name, machine);
    }
    Ok(machines)
}

/// Message of `ip` about an address that the machine already uses; it has no other code for it.
const TAKEN: &str = "File exists";

/// Creates an end in the machine's own network, at the first unused pair of addresses.
fn on_this_machine() -> std::io::Result<EndpointHost> {
    let mut refused = None;
    for net in 0..=u8::MAX {
        let address = IpAddr::V4(Ipv4Addr::new(10, 77, net, 1));
        match EndpointHost::new(NetworkPlacement::Shared, address, peer(address)) {
            Ok(machine) => return Ok(machine),
            Err(error) if error.to_string().contains(TAKEN) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(refused.expect("there is a net"))
}

/// The other address of a pair on the machine itself.
fn peer(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            Ipv4Addr::new(a, b, c, 2).into()
        }
        IpAddr::V6(_) => unreachable!("pairs are of IPv4"),
    }
}

/// Starts the servers and waits until they are ready.
///
/// # Errors
/// If one does not start, or a stop is requested.
pub fn start_servers(
    job: &Job,
    machines: &BTreeMap<String, EndpointHost>,
    directory: &Path,
    requests: &UnixStream,
) -> Result<BTreeMap<String, Process>, LiveError> {
    let mut servers = BTreeMap::new();
    for (flow, pair) in &job.flows {
        let Some(server) = &pair.server else { continue };
        let [end, client] = [Role::Server, Role::Client].map(|role| Scenario::endpoint_name(flow, role));
        let machine = &machines[&end];
        let program = server.at(machine.address, machines[&client].address, directory);
        let failed = |reason| LiveError::Program { end: end.clone(), reason };
        let process = Process::start(&program, &machine.namespace, &directory.join(format!("{flow}.server")));
        servers.insert(flow.clone(), process.map_err(failed)?);
    }
    for (flow, process) in &mut servers {
        let end = Scenario::endpoint_name(flow, Role::Server);
        process.await_ready(&machines[&end].namespace, requests).map_err(|reason| match reason {
            ProcessError::Stopped => LiveError::Stopped,
            reason => LiveError::Program { end: end.clone(), reason },
        })?;
    }
    Ok(servers)
}

/// The clients of a job, none of which has started.
#[must_use]
pub fn clients(job: &Job, scenario: &Scenario, receivers: &[usize]) -> Vec<Client> {
    scenario
        .flows
        .iter()
        .zip(receivers)
        .filter(|((name, _), _)| job.flows.get(*name).is_some_and(|pair| pair.client.is_some()))
        .map(|((name, flow), &element)| Client {
            flow: name.clone(),
            element,
            start: Time::ZERO + flow.start,
            process: None,
            over: false,
        })
        .collect()
}
