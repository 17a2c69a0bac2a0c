//! Entry of lab-tcp in the catalogue, and construction of its endpoints.

use super::endpoint::TcpEndpoint;
use super::{DEFAULT_PROFILE, LAB_TCP, description, options, profiles, rows};
use crate::application::workload_random;
use crate::error::Error;
use crate::options::{EndpointConfig, TcpEcn, Workload};
use crate::stack::CONTROLLER;
use crate::{EndpointRequest, NativeStack, http, live, page_random, profile, workload};
use quiclab_core::{
    Endpoint, MarkFeedback, Problem, ProblemKind, RandomStream, StackAbilities, StackInfo, StackProtocol,
};
use std::sync::LazyLock;

static INFO: LazyLock<StackInfo> = LazyLock::new(|| StackInfo {
    name: LAB_TCP,
    version: env!("CARGO_PKG_VERSION"),
    description: "TCP as Linux speaks it, a model of exact sizes on the wire; every part can be exchanged",
    protocol: StackProtocol::Tcp,
    workloads: Workload::ON_BYTES,
    options: profile::options(
        rows(DEFAULT_PROFILE).map(|rows| rows.into_iter().chain(http::http2_rows()).collect()),
    ),
    profiles: profile::profiles(profiles(), rows, |name| {
        String::leak(description(name).expect("it is one of the list"))
    }),
    operations: &[],
    multipath: false,
    proprietary: true,
    tunnels: false,
});

/// TCP with replaceable parts.
pub struct LabTcp;

impl NativeStack for LabTcp {
    fn info(&self) -> &'static StackInfo {
        &INFO
    }

    fn validate(&self, config: &EndpointConfig) -> Result<StackAbilities, Error> {
        let resolved = options::resolve(config)?;
        let ecn = resolved.tcp.ecn;
        let mark_feedback = match ecn {
            TcpEcn::Off => MarkFeedback::None,
            TcpEcn::Classic => MarkFeedback::Echo,
            TcpEcn::Dctcp => MarkFeedback::EachAck,
            TcpEcn::Accurate => MarkFeedback::Count,
        };
        let counts = resolved.congestion_control.family().counts_marks();
        let needs_mark_feedback =
            if counts || ecn == TcpEcn::Dctcp { mark_feedback } else { MarkFeedback::None };
        let states = resolved.congestion_control.states(resolved.slow_start_exit).into();
        Ok(StackAbilities { mark_feedback, needs_mark_feedback, states, ..INFO.abilities() })
    }

    fn instead(&self, option: &str) -> &'static str {
        match option {
            "datagram_size" => "use `tcp.mss`",
            "stream_receive_window" | "connection_receive_window" => "use `tcp.max_receive_buffer`",
            "send_window" => "use `tcp.max_send_buffer`",
            "packet_threshold" => "use `tcp.reordering`",
            "time_threshold" => "use `tcp.loss_detection`",
            "initial_rtt" => "use `tcp.initial_rto`",
            "ack_frequency" => "use `tcp.quick_acks` and `tcp.max_delayed_ack`",
            "controller" => CONTROLLER,
            "quic" => "use `tcp`",
            _ => "",
        }
    }

    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Error> {
        let EndpointRequest { identity, config, workload, start, seed, mut observer, .. } = request;
        let identity = &identity;
        let values = options::resolve(config)?;
        if let Workload::Page { resources, .. } = workload
            && !resources.is_empty()
        {
            return http::build_origins(
                identity,
                workload,
                page_random(seed, identity),
                |identity, page, origin| {
                    let application = http::build_http2(identity.role, page, origin, config.http2.as_ref())?;
                    let (values, random) =
                        (options::resolve(config)?, RandomStream::new(seed, &identity.name));
                    // an observer receives one connection: that of the HTML
                    let observer = observer.take();
                    Ok(Box::new(TcpEndpoint::new(identity, values, application, start, random, observer)))
                },
            );
        }
        let application = match (workload, &config.http2) {
            (Workload::Page { .. }, options) => http::build_http2(
                identity.role,
                &http::PageEnds::new(workload, page_random(seed, identity))?,
                0,
                options.as_ref(),
            )?,
            (_, None) => match live::Parameters::new(workload) {
                Some(parameters) if parameters.in_datagrams() => {
                    return Err(Problem::conflict("workload.delivery", "\"datagrams\"", "\"streams\"")
                        .because("TCP has no datagrams: frames follow each other"));
                }
                Some(parameters) => live::on_bytes(identity.role, &parameters, live::random(seed, identity)),
                None => workload::build(identity.role, workload, start, workload_random(seed, identity))?,
            },
            (_, Some(_)) => {
                let reason = format!("the workload is `{}`, and only `page` uses HTTP/2", workload.kind());
                return Err(Problem::new(ProblemKind::Conflict, "http2", "").because(reason));
            }
        };
        let random = RandomStream::new(seed, &identity.name);
        Ok(Box::new(TcpEndpoint::new(identity, values, application, start, random, observer)))
    }
}
