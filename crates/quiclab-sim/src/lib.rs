//! Runs scenarios in virtual time.
//!
//! [`run`] builds the elements of a scenario, drives them by the event loop until the scenario ends, and
//! returns the result. No function here reads a clock; trace files are read during construction.

mod arrivals;
mod build;
mod deadlines;
mod difference;
mod digest;
mod drive;
mod error;
mod event_loop;
mod kernel_metrics;
mod metric_groups;
mod packet_log;
mod partial_run;
mod reactions;
mod result;
mod run;
mod series;
mod stacks;
#[cfg(feature = "tables")]
mod tables;
mod warm_start;

pub use arrivals::Completion;
pub use build::{BuildError, BuildOptions, Built, FlowEndpoints, build, check_files, identity};
pub use difference::{ComparedRun, Difference, PacketEvent, first_difference};
pub use drive::RunProgress;
pub use error::RunError;
pub use event_loop::{LIVELOCK_EVENTS, Simulation, SimulationError, Step};
pub use kernel_metrics::{BROWSER, DEVICE, KERNEL_LINK, LINUX, PROGRAM};
pub use metric_groups::metric_groups;
pub use packet_log::{Event, Record};
pub use partial_run::{PartialRun, run};
pub use quiclab_transport::operations::OperationFunction;
pub use quiclab_transport::{CarrierRequest, EndpointRequest};
pub use result::{
    ChangeRecord, ElementResult, EndedBy, FlowResult, RunResult, RunSummary, SCHEMA, result_schema,
};
pub use run::{ResultInput, RunOptions, RunOutput, conclude};
pub use series::Series;
pub use stacks::{FunctionError, NativeStacks, Stacks, stacks, validate};
#[cfg(feature = "tables")]
pub use tables::{named, table, times};
