//! A run: hosts, programs, and the elements between them, driven by the machine's clock.
//!
//! The elements are those of the sim lane, and so is the event loop; only the source of time differs. Each
//! event is handled with the time at which it was due, not with that at which the machine handled it: a late
//! timer delays one packet, never the rate of a link.

use crate::cpu::CpuTime;
use crate::device::device;
use crate::error::LiveError;
use crate::hosts::EndpointHosts;
use crate::isolation::stop_requests;
use crate::job::{Clock, Job};
use crate::links::Links;
use crate::netem::KernelLinks;
use crate::process::{Process, exit_code};
use crate::report::{Captures, Report};
use crate::setup::{self, Client};
use crate::timing::{self, MachineClock};
use crate::waits::{EventWaiter, PROGRAM, STOP};
use quiclab_config::Document;
use quiclab_core::{ByteCount, Duration, Role, Time};
use quiclab_scenario::{Scenario, Until};
use quiclab_sim::{
    BuildOptions, Built, EndedBy, FlowEndpoints, ResultInput, Series, Simulation, Step, build, conclude,
};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Network time between two reports of progress.
const PROGRESS: Duration = Duration::from_millis(250);

/// Runs the job in `directory` and writes its result there; reports its progress to `progress`. Returns the exit
/// code of a program that uses the terminal.
///
/// # Errors
/// If a resource is not available, or fails. A program that fails is part of the result.
pub fn run(directory: &Path, progress: &mut dyn Write) -> Result<Option<u8>, LiveError> {
    let job = Job::read(directory)?;
    let mut scenario = Document::from_json(&job.scenario.to_string(), None, &[])
        .and_then(|document| Scenario::decode(&document))
        .map_err(|error| LiveError::Scenario(error.to_string()))?;
    if let Some(unknown) = job.flows.keys().find(|flow| !scenario.flows.contains_key(*flow)) {
        return Err(LiveError::Flow(unknown.clone()));
    }
    let warnings = setup::without_hosts(&mut scenario);
    let requests = stop_requests(!job.has_terminal())?;
    let machines = setup::machines(&scenario, &job)?;
    let servers = setup::start_servers(&job, &machines, directory, &requests)?;
    let clock = MachineClock::start(job.clock, job.syscall_cost_ns);
    let stacks = EndpointHosts::new(machines, clock);
    let options =
        BuildOptions { stacks: &stacks, base_dir: Path::new(&job.base_dir), transport_observer: &|_| None };
    let Built { mut topology, ends } = build(&scenario, job.seed, &options)?;
    let links = Links::new(&job, &scenario, &mut topology, clock)?;
    let (captures, captured) = Captures::new(&scenario, job.seed, &topology, directory);
    let mut observers = links.observers();
    if !captured.is_empty() {
        observers.push(Box::new(captured));
    }
    let mut simulation = Simulation::new(topology, observers);
    if scenario.record.packets {
        simulation.keep_all_records();
    }
    let waits = EventWaiter::new(&requests)?;
    for element in [&ends.senders, &ends.receivers].into_iter().flatten() {
        waits.add(&*device(&mut simulation, *element), *element as u64)?;
    }
    for &element in links.outside() {
        waits.add(KernelLinks::link(simulation.topology_mut(), element), element as u64)?;
    }
    for server in servers.values() {
        waits.add(server.pidfd(), PROGRAM)?;
    }
    let clients = setup::clients(&job, &scenario, &ends.receivers);
    let mut driver = Driver {
        job: &job,
        scenario: &scenario,
        directory,
        machines: &stacks,
        clock,
        waits,
        simulation,
        servers,
        clients,
        ends: &ends,
        series: Series::default(),
        progress,
    };
    let ended_by = driver.drive()?;
    let end = if ended_by == EndedBy::DurationOver { Time::ZERO + scenario.duration } else { clock.now() };
    // while programs are stopped, the devices are not read
    let overflowed: u64 = stacks.iter().map(|(_, machine)| machine.overflowed()).sum();
    let terminal = driver.stop_programs();
    let programs = driver.cpu_times();
    let Driver { mut simulation, series, .. } = driver;
    captures.finish()?;
    let lost = overflowed + links.lost(&mut simulation);
    let mut report = Report::new(&mut simulation, lost, clock);
    report.warnings.splice(0..0, warnings);
    report.programs = programs;
    links.wait_until_drained(&mut simulation)?;
    let passages = links.passages(&mut simulation);
    let conclusion = ResultInput {
        scenario: &scenario,
        seed: job.seed,
        lane: "kernel",
        ends,
        series,
        ended_by,
        end,
        changes: Vec::new(),
    };
    let output = conclude(simulation, conclusion)?;
    report.check_links(&scenario, &passages, &output.result);
    report.write(&output, &job, directory)?;
    Ok(terminal)
}

/// The loop of a run.
struct Driver<'a> {
    job: &'a Job,
    scenario: &'a Scenario,
    directory: &'a Path,
    machines: &'a EndpointHosts,
    clock: MachineClock,
    waits: EventWaiter,
    simulation: Simulation,
    /// Servers by flow.
    servers: BTreeMap<String, Process>,
    clients: Vec<Client>,
    ends: &'a FlowEndpoints,
    series: Series,
    progress: &'a mut dyn Write,
}

impl Driver<'_> {
    fn drive(&mut self) -> Result<EndedBy, LiveError> {
        let early = match self.job.clock {
            Clock::Real => timing::busy_wait_threshold(),
            Clock::Virtual => {
                timing::wait_without_slack();
                Duration::ZERO
            }
        };
        let limit = Time::ZERO + self.scenario.duration;
        let mut events = Vec::with_capacity(64);
        let (mut next_sample, mut next_progress) = (Time::ZERO, Time::ZERO);
        loop {
            let now = self.clock.now().min(limit);
            if let Some(interval) = self.scenario.record.series_interval {
                while next_sample <= now {
                    self.step(next_sample)?;
                    // only its program knows the data that an application has received
                    self.series.sample(next_sample, self.simulation.topology_mut(), &[]);
                    next_sample += interval;
                }
            } else {
                next_sample = limit;
            }
            self.step(now)?;
            if next_progress <= now {
                self.tell(now, limit);
                next_progress = now + PROGRESS;
            }
            if now >= limit {
                return Ok(EndedBy::DurationOver);
            }
            self.start_clients(now)?;
            if self.scenario.until == Until::WorkloadsDone && self.clients.iter().all(|client| client.over) {
                return Ok(EndedBy::WorkloadsDone);
            }
            if let Until::Delivered(wanted) = self.scenario.until
                && self.payload() >= wanted
            {
                return Ok(EndedBy::Delivered);
            }
            let starts =
                self.clients.iter().filter(|client| client.process.is_none()).map(|client| client.start);
            let deadlines = [self.simulation.next_event(), Some(next_sample), Some(limit)];
            let due = deadlines.into_iter().flatten().chain(starts).min().expect("the end is a deadline");
            self.waits.wait(due.since(now).saturating_sub(early), &mut events)?;
            if events.is_empty() {
                continue;
            }
            let now = self.clock.now();
            self.step(now)?;
            for event in &events {
                match event.data.u64() {
                    STOP => return Ok(EndedBy::Interrupted),
                    PROGRAM => self.note_ended_programs(now),
                    element => {
                        self.simulation.force_wake(element as usize, now)?;
                        self.step(now)?;
                    }
                }
            }
        }
    }

    /// Handles all due events.
    fn step(&mut self, now: Time) -> Result<(), LiveError> {
        while self.simulation.step(now)? != Step::Nothing {}
        Ok(())
    }

    fn start_clients(&mut self, now: Time) -> Result<(), LiveError> {
        for client in self.clients.iter_mut().filter(|client| client.process.is_none() && client.start <= now)
        {
            let [server, receiver] =
                [Role::Server, Role::Client].map(|role| Scenario::endpoint_name(&client.flow, role));
            let machine = self.machines.get(&receiver).expect("each end has a machine");
            let program = self.job.flows[&client.flow].client.as_ref().expect("clients are those of the job");
            let sender = self.machines.get(&server).expect("each end has a machine").address;
            let program = program.at(sender, machine.address, self.directory);
            let stem = self.directory.join(format!("{}.client", client.flow));
            let process = Process::start(&program, &machine.namespace, &stem)
                .map_err(|reason| LiveError::Program { end: receiver, reason })?;
            self.waits.add(process.pidfd(), PROGRAM)?;
            client.process = Some(process);
            device(&mut self.simulation, client.element).started(now);
        }
        Ok(())
    }

    /// A flow is over when its client has ended, or its server with an error.
    fn note_ended_programs(&mut self, now: Time) {
        for client in self.clients.iter_mut().filter(|client| !client.over) {
            let Some(process) = &mut client.process else { continue };
            if let Some(status) = process.ended() {
                client.over = true;
                self.waits.remove(process.pidfd());
                // the exit status of a command of the user is not evaluated
                let failure = if process.has_terminal() { None } else { process.failure(status) };
                device(&mut self.simulation, client.element).ended(now, failure);
            }
        }
        let numbers: BTreeMap<_, _> = self.scenario.flows.keys().zip(0..).collect();
        for (flow, server) in &mut self.servers {
            let Some(status) = server.ended() else { continue };
            self.waits.remove(server.pidfd());
            let failed = server.failure(status).filter(|_| !server.noted());
            if let (Some(failure), Some(&number)) = (failed, numbers.get(flow)) {
                let number: usize = number;
                device(&mut self.simulation, self.ends.senders[number]).ended(now, Some(failure.clone()));
                for client in self.clients.iter_mut().filter(|client| client.flow == *flow && !client.over) {
                    client.over = true;
                    // its end is no longer requested, and an end that is not requested would wake the loop indefinitely
                    if let Some(process) = &client.process {
                        self.waits.remove(process.pidfd());
                    }
                    device(&mut self.simulation, client.element).ended(now, Some(failure.clone()));
                }
            }
        }
    }

    /// Stops the programs that still run; their work is incomplete, which is not a failure. Returns the exit
    /// code of the one that uses the terminal.
    fn stop_programs(&mut self) -> Option<u8> {
        let mut code = None;
        let clients = || self.clients.iter().filter_map(|client| client.process.as_ref());
        // all at once: this takes the longest of their times to stop
        clients().chain(self.servers.values()).for_each(Process::ask_to_stop);
        for process in self.clients.iter_mut().filter_map(|client| client.process.as_mut()) {
            let (status, _) = process.stop();
            if process.has_terminal() {
                code = status.map(exit_code);
            }
        }
        for server in self.servers.values_mut() {
            server.stop();
        }
        code
    }

    /// CPU times of the started programs, by their end.
    fn cpu_times(&self) -> BTreeMap<String, CpuTime> {
        let servers =
            self.servers.iter().map(|(flow, server)| (Scenario::endpoint_name(flow, Role::Server), server));
        let clients = self.clients.iter().filter_map(|client| {
            client
                .process
                .as_ref()
                .map(|process| (Scenario::endpoint_name(&client.flow, Role::Client), process))
        });
        servers.chain(clients).filter_map(|(end, process)| Some((end, process.cpu_time()?))).collect()
    }

    /// Bytes above TCP or UDP sent to the receivers of all flows.
    fn payload(&mut self) -> ByteCount {
        let receivers = self.ends.receivers.iter();
        receivers.map(|&element| device(&mut self.simulation, element).payload()).sum()
    }

    /// Writes one line of JSON; errors are ignored, because the reader may have exited.
    fn tell(&mut self, now: Time, limit: Time) {
        let receivers = self.scenario.flows.keys().zip(&self.ends.receivers);
        let flows: BTreeMap<_, _> = receivers
            .map(|(name, &element)| (name, device(&mut self.simulation, element).payload().bytes()))
            .collect();
        let topology = self.simulation.topology();
        let links: BTreeMap<_, _> = self
            .scenario
            .links
            .keys()
            .filter_map(|name| {
                let counters = topology.node(topology.index(name)?).counters();
                Some((name, counters.sent.bytes))
            })
            .collect();
        let line = serde_json::json!({
            "progress": {
                "time_s": now.as_ms_f64() / 1e3,
                "duration_s": limit.as_ms_f64() / 1e3,
                "payload_bytes": flows,
                "link_bytes": links,
            }
        });
        let _ = writeln!(self.progress, "{line}").and_then(|()| self.progress.flush());
    }
}
