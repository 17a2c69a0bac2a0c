//! lab-udp in the catalogue, and how an endpoint of it is made.

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
};

/// UDP without any control.
pub struct LabUdp;

impl NativeStack for LabUdp {
    fn info(&self) -> &'static StackInfo {
        &INFO
    }

    /// It has no options.
    fn validate(&self, config: &EndpointConfig) -> Result<StackAbilities, Error> {
        let given = [
            ("congestion_control", config.congestion_control.is_some()),
            ("datagram_size", config.datagram_size.is_some()),
            ("initial_window", config.initial_window.is_some()),
            ("stream_receive_window", config.stream_receive_window.is_some()),
            ("connection_receive_window", config.connection_receive_window.is_some()),
            ("send_window", config.send_window.is_some()),
            ("packet_threshold", config.packet_threshold.is_some()),
            ("time_threshold", config.time_threshold.is_some()),
            ("initial_rtt", config.initial_rtt.is_some()),
            ("ack_frequency", config.ack_frequency.is_some()),
            ("controller", config.controller.is_some()),
            ("emulated_connections", config.emulated_connections.is_some()),
            ("slow_start_exit", config.slow_start_exit.is_some()),
            ("pacing", config.pacing.is_some()),
            ("tcp", config.tcp.is_some()),
            ("quic", config.quic.is_some()),
            ("http2", config.http2.is_some()),
            ("tls", config.tls.is_some()),
        ];
        if let Some(profile) = &config.profile {
            return Err(Problem::no_profiles(LAB_UDP, profile));
        }
        match given.iter().find(|(_, given)| *given) {
            Some(&(field, _)) => Err(Problem::unsupported(field, LAB_UDP, "")),
            None => Ok(INFO.abilities()),
        }
    }

    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Error> {
        let EndpointRequest { identity, config, workload, start, .. } = request;
        self.validate(config)?;
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
            Workload::Download { .. } | Workload::RequestResponse { .. } | Workload::Page { .. } => {
                Err(Problem::unknown("workload.kind", workload.kind(), ["datagrams", "ping", "media"]))
            }
        }
    }
}
