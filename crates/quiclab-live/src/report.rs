//! Output of a run in its directory: `result.json`, captures, tables of records.

use crate::check::{self, LinkCheck, LinkTransits};
use crate::cpu::CpuTime;
use crate::device::Device;
use crate::error::LiveError;
use crate::job::{Clock, Job};
use crate::tables;
use crate::timing::{Lateness, LatenessSummary, MachineClock};
use quiclab_core::{Role, Topology};
use quiclab_scenario::Scenario;
use quiclab_sim::{EndedBy, RunOutput, RunResult, Simulation};
use quiclab_trace::capture::{Capture, CaptureError, CapturedEndpoints, SharedCapture};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Name of the result in the directory.
pub const RESULT: &str = "result.json";
/// Limit of the 95th percentile of the lateness, above which the machine could not keep up, in milliseconds.
const LATE_P95_MS: f64 = 1.0;
/// Limit of the 99.9th percentile: a driver that pauses briefly every second must be detected.
const LATE_P999_MS: f64 = 10.0;

/// Properties of a run in addition to the result of the elements.
#[derive(Debug, Serialize)]
pub struct Report {
    /// CLOCK_MONOTONIC at time 0 of the run: programs report times of that clock.
    pub epoch_ns: u64,
    /// Whether the machine kept up: if not, the results are invalid.
    pub kept_up: bool,
    /// Lateness of the packets that left the elements.
    pub lateness: LatenessSummary,
    /// Packets that a device did not accept or lost because they were not read.
    pub lost_at_devices: u64,
    /// Packets that were not IP, or of the kernel itself.
    pub foreign_packets: u64,
    /// Expected and measured values of each link.
    pub links: BTreeMap<String, LinkCheck>,
    /// CPU time of the programs by their end, such as `main.sender`.
    pub programs: BTreeMap<String, CpuTime>,
    #[serde(skip)]
    pub(crate) warnings: Vec<String>,
}

impl Report {
    /// Evaluates the devices of a run that has ended.
    #[must_use]
    pub fn new(simulation: &mut Simulation, overflowed: u64, clock: MachineClock) -> Self {
        let mut lateness = Lateness::default();
        let (mut lost, mut foreign) = (overflowed, 0);
        let topology = simulation.topology_mut();
        for element in 0..topology.len() {
            let Some(device) = topology.get_mut::<Device>(element) else { continue };
            lateness.merge(device.lateness());
            lost += device.lost().0;
            foreign += device.lost().1;
        }
        let lateness = lateness.summary();
        let mut warnings = Vec::new();
        if lateness.p95_ms > LATE_P95_MS {
            warnings.push(format!(
                "the machine could not keep up, the results are invalid: 5 % of the packets were more than {:.2} ms late \
                 (maximum {LATE_P95_MS} ms), the latest one {:.1} ms",
                lateness.p95_ms, lateness.largest_ms
            ));
        }
        if lateness.p999_ms > LATE_P999_MS {
            warnings.push(format!(
                "the machine could not keep up, the results are invalid: one packet of a thousand was more than \
                 {:.2} ms late (maximum {LATE_P999_MS} ms), the latest one {:.1} ms",
                lateness.p999_ms, lateness.largest_ms
            ));
        }
        if lost > 0 {
            warnings.push(format!(
                "the machine could not keep up, the results are invalid: {lost} packets were lost between a host and the \
                 first or last element"
            ));
        }
        Self {
            epoch_ns: clock.epoch_ns(),
            kept_up: warnings.is_empty(),
            lateness,
            lost_at_devices: lost,
            foreign_packets: foreign,
            links: BTreeMap::new(),
            programs: BTreeMap::new(),
            warnings,
        }
    }

    /// Compares the transits of the links with the scenario.
    pub fn check_links(
        &mut self,
        scenario: &Scenario,
        passages: &BTreeMap<String, LinkTransits>,
        result: &RunResult,
    ) {
        for (name, link) in &scenario.links {
            let mut achieved = passages[name].figures(link);
            // quiclab's elements have their queue lengths
            let statistics = &result.elements[name].statistics;
            if let Some(full) = statistics.get("dropped_queue_full_packets") {
                achieved.queue_packets =
                    statistics.get("queue_longest_packets").filter(|_| *full > 0.0).copied();
            }
            let check = LinkCheck { wanted: check::wanted(link), achieved };
            self.warnings.extend(check.warnings(name, link));
            self.links.insert(name.clone(), check);
        }
    }

    /// Writes the result atomically.
    ///
    /// # Errors
    /// If the directory cannot be written to.
    pub fn write(mut self, output: &RunOutput, job: &Job, directory: &Path) -> Result<(), LiveError> {
        let mut result = output.result.clone();
        if result.run.ended_by == EndedBy::Interrupted {
            self.warnings.insert(0, "the run was interrupted; its results are incomplete".to_owned());
        }
        result.warnings.splice(0..0, self.warnings.drain(..));
        let mut value = serde_json::to_value(&result).expect("a result has string keys only");
        let clock = match job.clock {
            Clock::Real => "real",
            Clock::Virtual => "virtual",
        };
        value["run"]["clock"] = clock.into();
        value["run"]["emulation"] = serde_json::to_value(job.emulation).expect("a name");
        value["run"]["kernel"] = serde_json::to_value(&self).expect("a report has string keys only");
        value["versions"]["linux"] = kernel_release().into();
        let text = serde_json::to_vec_pretty(&value).expect("JSON is text");
        tables::write(output, directory)?;
        let temporary = directory.join(format!(".{RESULT}.tmp"));
        std::fs::write(&temporary, text)?;
        std::fs::rename(temporary, directory.join(RESULT))?;
        Ok(())
    }
}

/// Release of the running kernel, such as `6.12.117`.
fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Captures that the scenario requests, one for each end of each flow.
#[derive(Default)]
pub struct Captures(Vec<SharedCapture>);

impl Captures {
    /// Opens the captures in `directory`; the observer writes to them. `seed` is that of the run.
    #[must_use]
    pub fn new(
        scenario: &Scenario,
        seed: u64,
        topology: &Topology,
        directory: &Path,
    ) -> (Self, CapturedEndpoints) {
        let mut captured = CapturedEndpoints::default();
        let mut captures = Vec::new();
        if scenario.record.pcapng {
            for flow in scenario.flows.keys() {
                for role in [Role::Server, Role::Client] {
                    let name = Scenario::endpoint_name(flow, role);
                    let capture = Capture::create(directory.join(format!("{name}.pcapng")), &name, seed);
                    let capture = Arc::new(Mutex::new(capture));
                    let element = topology.index(&name);
                    captured.add(element.expect("endpoints are elements"), capture.clone());
                    captures.push(capture);
                }
            }
        }
        (Self(captures), captured)
    }

    /// Closes their files.
    ///
    /// # Errors
    /// The first error of any capture.
    pub fn finish(&self) -> Result<(), CaptureError> {
        self.0.iter().try_for_each(|capture| capture.lock().expect("no holder panics").finish())
    }
}
