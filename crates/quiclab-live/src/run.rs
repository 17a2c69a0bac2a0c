//! A run: hosts, programs, and the elements between them, driven by the machine's clock.
//!
//! The elements are those of the sim lane, and so is the event loop; only what makes time pass differs. Each
//! event is handled with the time at which it was due, not with that at which the machine got to it: a late
//! timer delays one packet, never the rate of a link.

use crate::device::Device;
use crate::hosts::{Machine, Machines};
use crate::isolation::stop_requests;
use crate::job::{Clock, Job, JobError};
use crate::process::{Process, ProcessError};
use crate::report::{Captures, Report};
use crate::timing::MachineClock;
use quiclab_core::scenario::{Document, Scenario, Until};
use quiclab_core::{Duration, PacketObserver, Role, Time};
use quiclab_sim::{
    BuildError, BuildOptions, Conclusion, EndedBy, RunError, Series, Simulation, SimulationError, Step,
    build, conclude,
};
use quiclab_trace::capture::CaptureError;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::any::Any;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use thiserror::Error;

/// So long before a deadline the machine is asked over and over instead of slept: timers are late by less.
const BUSY: Duration = Duration::from_micros(80);
/// Network time between two reports of progress.
const PROGRESS: Duration = Duration::from_millis(250);

/// Why a run has no result.
#[derive(Debug, Error)]
pub enum LiveError {
    /// The job is wrong.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Its scenario is.
    #[error("the job's scenario: {0}")]
    Scenario(String),
    /// A host cannot be had.
    #[error("the host of `{end}` cannot be set up: {reason}")]
    Host {
        /// The end of a flow.
        end: String,
        /// Why.
        reason: io::Error,
    },
    /// A program does not start.
    #[error("{end}: {reason}")]
    Program {
        /// The end of a flow.
        end: String,
        /// Why.
        reason: ProcessError,
    },
    /// The network cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The elements broke down.
    #[error(transparent)]
    Elements(#[from] SimulationError),
    /// A capture is incomplete.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The result cannot be made.
    #[error(transparent)]
    Result(#[from] RunError),
    /// The machine refuses something.
    #[error("the machine: {0}")]
    Machine(#[from] io::Error),
}

impl From<Errno> for LiveError {
    fn from(error: Errno) -> Self {
        Self::Machine(error.into())
    }
}

/// The client of a flow: when it starts, and its process from then on.
struct Client {
    flow: String,
    /// Index of its device among the elements.
    element: usize,
    start: Time,
    process: Option<Process>,
    over: bool,
}

/// What woke the loop, as the data of its epoll entries.
const TIMER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const CLIENT: u64 = u64::MAX - 2;

/// Runs the job in `directory` and writes its result there; tells `progress` how far it is.
///
/// # Errors
/// If something of it cannot be had, or breaks. A program that fails is part of the result.
pub fn run(directory: &Path, progress: &mut dyn Write) -> Result<(), LiveError> {
    let job = Job::read(directory)?;
    let mut scenario = Document::from_json(&job.scenario.to_string(), None, &[])
        .and_then(|document| document.scenario())
        .map_err(|error| LiveError::Scenario(error.to_string()))?;
    let warnings = without_hosts(&mut scenario);
    let requests = stop_requests()?;
    let machines = machines(&scenario, &job)?;
    let mut servers = start_servers(&job, &machines, directory)?;
    let clock = MachineClock::start();
    let stacks = Machines::new(machines, clock);
    let options =
        BuildOptions { stacks: &stacks, base_dir: Path::new(&job.base_dir), transport_observer: &|_| None };
    let built = build(&scenario, job.seed, &options)?;
    let (captures, captured) = Captures::new(&scenario, &built.topology, directory);
    let mut observers: Vec<Box<dyn PacketObserver>> = Vec::new();
    if !captured.is_empty() {
        observers.push(Box::new(captured));
    }
    let mut simulation = Simulation::new(built.topology, observers);
    if scenario.record.packets {
        simulation.keep_all_records();
    }
    let devices = [&built.ends.senders, &built.ends.receivers].into_iter().flatten().copied().collect();
    let clients = scenario
        .flows
        .iter()
        .zip(&built.ends.receivers)
        .filter(|((name, _), _)| job.flows.get(*name).is_some_and(|pair| pair.client.is_some()))
        .map(|((name, flow), &element)| Client {
            flow: name.clone(),
            element,
            start: Time::ZERO + flow.start,
            process: None,
            over: false,
        })
        .collect();
    let mut driver = Driver {
        job: &job,
        scenario: &scenario,
        directory,
        machines: &stacks,
        clock,
        waits: Waits::new(&simulation, devices, &requests)?,
        simulation,
        clients,
        series: Series::default(),
        progress,
    };
    let ended_by = driver.drive(&built.ends.receivers)?;
    let end = if ended_by == EndedBy::DurationOver { Time::ZERO + scenario.duration } else { clock.now() };
    driver.stop_clients(end);
    for server in servers.values_mut() {
        server.stop();
    }
    let Driver { simulation, series, .. } = driver;
    captures.finish()?;
    let mut report = Report::new(&simulation, &stacks, clock);
    report.warnings.splice(0..0, warnings);
    let ends = built.ends;
    let conclusion =
        Conclusion { scenario: &scenario, seed: job.seed, lane: "kernel", ends, series, ended_by, end };
    report.write(&conclude(simulation, conclusion)?, &job, directory)?;
    Ok(())
}

/// Programs have the host that they run on: those of the scenario are for the sim lane.
fn without_hosts(scenario: &mut Scenario) -> Vec<String> {
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

fn machines(scenario: &Scenario, job: &Job) -> Result<BTreeMap<String, Machine>, LiveError> {
    let mut machines = BTreeMap::new();
    for (index, name) in scenario.flows.keys().enumerate() {
        for role in [Role::Server, Role::Client] {
            let identity = quiclab_sim::identity(scenario, index, name, role);
            let machine = Machine::new(&identity, &job.sysctls_of(name, role))
                .map_err(|reason| LiveError::Host { end: identity.name.clone(), reason })?;
            machines.insert(identity.name, machine);
        }
    }
    Ok(machines)
}

fn start_servers(
    job: &Job,
    machines: &BTreeMap<String, Machine>,
    directory: &Path,
) -> Result<BTreeMap<String, Process>, LiveError> {
    let mut servers = BTreeMap::new();
    for (flow, pair) in &job.flows {
        let Some(server) = &pair.server else { continue };
        let (end, client) = (format!("{flow}.sender"), format!("{flow}.receiver"));
        let program = server.at(machines[&end].address, machines[&client].address, directory);
        let failed = |reason| LiveError::Program { end: end.clone(), reason };
        let process =
            Process::start(&program, &machines[&end].namespace, &directory.join(format!("{flow}.server")));
        servers.insert(flow.clone(), process.map_err(failed)?);
    }
    for (flow, process) in &mut servers {
        let end = format!("{flow}.sender");
        process
            .await_ready(&machines[&end].namespace)
            .map_err(|reason| LiveError::Program { end: end.clone(), reason })?;
    }
    Ok(servers)
}

/// What the loop waits for.
struct Waits {
    epoll: OwnedFd,
    timer: OwnedFd,
}

impl Waits {
    fn new(simulation: &Simulation, devices: Vec<usize>, requests: &UnixStream) -> Result<Self, LiveError> {
        let waits = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            timer: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?,
        };
        waits.add(&waits.timer, TIMER)?;
        waits.add(requests, STOP)?;
        for element in devices {
            waits.add(device(simulation, element), element as u64)?;
        }
        Ok(waits)
    }

    fn add(&self, source: impl AsFd, data: u64) -> Result<(), LiveError> {
        Ok(epoll::add(&self.epoll, source, epoll::EventData::new_u64(data), epoll::EventFlags::IN)?)
    }

    /// Waits until `deadline` (of the machine's clock) or something comes; `busy` does not sleep at all.
    fn wait(
        &self,
        deadline_ns: Option<u64>,
        busy: bool,
        events: &mut Vec<epoll::Event>,
    ) -> Result<(), LiveError> {
        const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        events.clear();
        if let (Some(at), false) = (deadline_ns, busy) {
            let it_value =
                Timespec { tv_sec: (at / 1_000_000_000) as i64, tv_nsec: (at % 1_000_000_000) as i64 };
            let spec = Itimerspec { it_interval: NOW, it_value };
            timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec)?;
        }
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), busy.then_some(&NOW)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The loop of a run.
struct Driver<'a> {
    job: &'a Job,
    scenario: &'a Scenario,
    directory: &'a Path,
    machines: &'a Machines,
    clock: MachineClock,
    waits: Waits,
    simulation: Simulation,
    clients: Vec<Client>,
    series: Series,
    progress: &'a mut dyn Write,
}

impl Driver<'_> {
    fn drive(&mut self, receivers: &[usize]) -> Result<EndedBy, LiveError> {
        let limit = Time::ZERO + self.scenario.duration;
        let mut events = Vec::with_capacity(64);
        let (mut next_sample, mut next_progress) = (Time::ZERO, Time::ZERO);
        loop {
            let now = self.clock.now().min(limit);
            if let Some(interval) = self.scenario.record.series_interval {
                while next_sample <= now {
                    self.step(next_sample)?;
                    self.series.sample(next_sample, self.simulation.topology_mut());
                    next_sample += interval;
                }
            } else {
                next_sample = limit;
            }
            self.step(now)?;
            if next_progress <= now {
                self.tell(now, limit, receivers);
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
                && self.delivered(receivers) >= wanted.bytes()
            {
                return Ok(EndedBy::Delivered);
            }
            let starts =
                self.clients.iter().filter(|client| client.process.is_none()).map(|client| client.start);
            let deadlines = [self.simulation.next_event(), Some(next_sample), Some(limit)];
            let due = deadlines.into_iter().flatten().chain(starts).min().expect("the end is a deadline");
            let busy = self.job.clock == Clock::Real && due < self.clock.now() + BUSY;
            let early = if self.job.clock == Clock::Real { BUSY } else { Duration::ZERO };
            let at = (self.clock.epoch_ns() + due.as_nanos()).saturating_sub(early.as_nanos()).max(1);
            self.waits.wait(Some(at), busy, &mut events)?;
            for event in &events {
                match event.data.u64() {
                    TIMER => {}
                    STOP => return Ok(EndedBy::Interrupted),
                    CLIENT => self.note_ended_clients(),
                    element => {
                        let now = self.clock.now();
                        self.step(now)?;
                        self.simulation.rouse(element as usize, now)?;
                    }
                }
            }
        }
    }

    /// Handles all that is due.
    fn step(&mut self, now: Time) -> Result<(), LiveError> {
        while self.simulation.step(now)? != Step::Nothing {}
        Ok(())
    }

    fn start_clients(&mut self, now: Time) -> Result<(), LiveError> {
        for client in self.clients.iter_mut().filter(|client| client.process.is_none() && client.start <= now)
        {
            let (server, receiver) = (format!("{}.sender", client.flow), format!("{}.receiver", client.flow));
            let machine = self.machines.get(&receiver).expect("each end has a machine");
            let program = self.job.flows[&client.flow].client.as_ref().expect("clients are those of the job");
            let sender = self.machines.get(&server).expect("each end has a machine").address;
            let program = program.at(sender, machine.address, self.directory);
            let stem = self.directory.join(format!("{}.client", client.flow));
            let process = Process::start(&program, &machine.namespace, &stem)
                .map_err(|reason| LiveError::Program { end: receiver, reason })?;
            self.waits.add(process.pidfd(), CLIENT)?;
            client.process = Some(process);
            device_mut(&mut self.simulation, client.element).started(now);
        }
        Ok(())
    }

    fn note_ended_clients(&mut self) {
        let now = self.clock.now();
        for client in self.clients.iter_mut().filter(|client| !client.over) {
            let Some(process) = &mut client.process else { continue };
            if let Some(status) = process.ended() {
                client.over = true;
                let _ = epoll::delete(&self.waits.epoll, process.pidfd());
                device_mut(&mut self.simulation, client.element).ended(now, process.failure(status));
            }
        }
    }

    /// Stops the clients that still run; what they had to do was cut short, which is no failure.
    fn stop_clients(&mut self, _end: Time) {
        for process in
            self.clients.iter_mut().filter(|client| !client.over).filter_map(|client| client.process.as_mut())
        {
            process.stop();
        }
    }

    fn delivered(&self, receivers: &[usize]) -> u64 {
        receivers.iter().map(|&element| payload_bytes(&self.simulation, element)).sum()
    }

    /// One line of JSON; whoever reads may have gone.
    fn tell(&mut self, now: Time, limit: Time, receivers: &[usize]) {
        let flows: BTreeMap<_, _> = self
            .scenario
            .flows
            .keys()
            .zip(receivers)
            .map(|(name, &element)| (name, payload_bytes(&self.simulation, element)))
            .collect();
        let line = serde_json::json!({
            "progress": {
                "time_s": now.as_ms_f64() / 1e3,
                "duration_s": limit.as_ms_f64() / 1e3,
                "payload_bytes": flows,
            }
        });
        let _ = writeln!(self.progress, "{line}").and_then(|()| self.progress.flush());
    }
}

fn payload_bytes(simulation: &Simulation, element: usize) -> u64 {
    let endpoint = simulation.topology().node(element).as_endpoint().expect("ends of flows are endpoints");
    endpoint.progress().delivered_bytes
}

/// The device of an end.
pub(crate) fn device(simulation: &Simulation, element: usize) -> &Device {
    let node: &dyn Any = simulation.topology().node(element).as_element();
    node.downcast_ref().expect("ends of flows are devices")
}

fn device_mut(simulation: &mut Simulation, element: usize) -> &mut Device {
    let node: &mut dyn Any = simulation.topology_mut().node_mut(element).element();
    node.downcast_mut().expect("ends of flows are devices")
}
