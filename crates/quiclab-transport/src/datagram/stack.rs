//! Entry of lab-udp in the catalogue, and construction of its endpoints.

use super::{ping, stream};
use crate::error::Error;
use crate::options::{EndpointConfig, Workload};
use crate::workload::Schedule;
use crate::{EndpointRequest, NativeStack, media};
use quiclab_core::{Endpoint, Nic, Problem, Role, StackAbilities, StackInfo, StackProtocol};

/// Name in scenarios.
const LAB_UDP: &str = "lab-udp";

static INFO: StackInfo = StackInfo {
    name: LAB_UDP,
    version: env!("CARGO_PKG_VERSION"),
    description: "Datagrams without any control: constant rate, on and off, ping; media over RTP with SCReAM",
    protocol: StackProtocol::Udp,
    workloads: &["datagrams", "ping", "media"],
    options: &[],
    profiles: &[],
    operations: &[],
    multipath: false,
    proprietary: true,
    tunnels: false,
};

/// UDP without congestion control.
pub struct LabUdp;

impl NativeStack for LabUdp {
    fn info(&self) -> &'static StackInfo {
        &INFO
    }

    fn validate(&self, _: &EndpointConfig) -> Result<StackAbilities, Error> {
        Ok(INFO.abilities())
    }

    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Error> {
        let EndpointRequest { identity, workload, start, .. } = request;
        match *workload {
            Workload::Datagrams { rate, size, duration, on, off } => {
                let schedule = Schedule::new(rate, size, duration, on.zip(off), start);
                Ok(match identity.role {
                    Role::Server => Box::new(stream::Source::new(&identity, schedule)),
                    Role::Client => Box::new(stream::Sink::new(&identity, schedule, start)),
                })
            }
            Workload::Ping { size, count, interval, protocol } => {
                let nic = Nic::new(&identity, ping::tuple(&identity, protocol));
                Ok(match identity.role {
                    Role::Client => Box::new(ping::PingClient::new(nic, size, count, interval, start)),
                    Role::Server => Box::new(ping::PingServer::new(nic, count)),
                })
            }
            Workload::Media { .. } => Ok(media::build(&identity, workload, start)),
            _ => Err(Problem::unknown("workload.kind", workload.kind(), INFO.workloads)),
        }
    }
}
