//! Entry of lab-quic in the catalogue, and construction of its endpoints.

use super::carrier::LabCarrier;
use super::config::Config;
use super::connection::MAX_OVERHEAD;
use super::{DEFAULT_PROFILE, LAB_QUIC, description, endpoint, options, profiles, rows};
use crate::error::Error;
use crate::operations::Operations;
use crate::options::{EndpointConfig, LiveDelivery, PathPlan, QuicVersion, Workload};
use crate::stack::CONTROLLER;
use crate::{
    CarrierRequest, CarrierStack, EndpointRequest, NativeStack, build_on_streams, http, page_random, profile,
};
use quiclab_core::problem::{ensure, quoted};
use quiclab_core::tunnel::Carrier;
use quiclab_core::{
    ByteCount, Endpoint, EndpointIdentity, FieldPath, OPERATIONS, Problem, ProblemKind, RandomStream, Role,
    StackAbilities, StackInfo, StackProtocol, Time, TransportObserver,
};
use std::sync::LazyLock;

static INFO: LazyLock<StackInfo> = LazyLock::new(|| StackInfo {
    name: LAB_QUIC,
    version: env!("CARGO_PKG_VERSION"),
    description: "QUIC as published stacks speak it, a model of exact sizes on the wire; every part can be exchanged",
    protocol: StackProtocol::Quic,
    workloads: Workload::ON_STREAMS,
    options: profile::options(rows(DEFAULT_PROFILE)),
    profiles: profile::profiles(profiles(), rows, |name| description(name).expect("it is one of the list")),
    operations: &OPERATIONS,
    multipath: true,
    // its datagrams are values, not bytes
    proprietary: true,
    tunnels: true,
});

/// QUIC with replaceable parts.
pub struct LabQuic;

impl NativeStack for LabQuic {
    fn info(&self) -> &'static StackInfo {
        &INFO
    }

    /// Validates the options; Google QUIC has one path only.
    fn validate(&self, config: &EndpointConfig) -> Result<StackAbilities, Error> {
        let config = options::resolve(config)?;
        let multipath = config.quic.version == QuicVersion::V1;
        let states = config.congestion_control.states(config.slow_start_exit).into();
        Ok(StackAbilities { multipath, states, ..INFO.abilities() })
    }

    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Error> {
        let EndpointRequest { identity, config, workload, start, seed, observer, operations, path_plan } =
            request;
        let config = options::resolve(config)?;
        if config.quic.version == QuicVersion::Gquic37 {
            check_gquic(&identity, workload)?;
        }
        if let Workload::Page { resources, .. } = workload
            && !resources.is_empty()
        {
            let plans = (operations, path_plan);
            return build_page(&identity, (config, workload), (start, seed), observer, plans);
        }
        check_datagrams(&config, &identity, workload)?;
        let application = build_on_streams(&identity, workload, (start, seed), config.quic.version)?;
        let random = |path: usize| random_of(seed, &identity, path);
        let parts = endpoint::Parts { config, application, operations, path_plan, observer };
        Ok(Box::new(endpoint::QuicEndpoint::new(&identity, parts, start, random)))
    }

    fn instead(&self, option: &str) -> &'static str {
        match option {
            "tcp" => "use `quic`",
            "http2" => "a page over QUIC uses HTTP/3",
            "controller" => CONTROLLER,
            _ => "",
        }
    }
}

impl CarrierStack for LabQuic {
    fn name(&self) -> &'static str {
        LAB_QUIC
    }

    fn validate(&self, config: &EndpointConfig, _fixed_windows: bool) -> Result<(), Error> {
        ensure(config.multipath.is_none(), || {
            Problem::conflict("multipath", "options", "none")
                .because("a tunnel opens its paths after the handshake and keeps them")
        })
    }

    fn carrier(&self, request: &CarrierRequest<'_>) -> Result<Box<dyn Carrier>, Error> {
        Ok(Box::new(LabCarrier::new(request)?))
    }
}

/// Builds one side of a page with resources: a connection to each of its servers.
fn build_page(
    identity: &EndpointIdentity,
    (config, workload): (Config, &Workload),
    (start, seed): (Time, u64),
    observer: Option<Box<dyn TransportObserver>>,
    (operations, path_plan): (Operations, PathPlan),
) -> Result<Box<dyn Endpoint>, Error> {
    ensure(operations.is_empty(), || {
        Problem::new(ProblemKind::Conflict, "plugins", "no functions of plugins")
            .because("a page with `workload.resources` has several connections, a function the state of one")
    })?;
    // an observer receives one connection: that of the HTML
    let mut observer = observer;
    http::build_origins(identity, workload, page_random(seed, identity), |identity, page, origin| {
        let application = page.on_streams(identity.role, origin, config.quic.version);
        let random = |path: usize| random_of(seed, identity, path);
        let (operations, path_plan) = (Operations::default(), path_plan.clone());
        let (config, observer) = (config.clone(), observer.take());
        let parts = endpoint::Parts { config, application, operations, path_plan, observer };
        Ok(Box::new(endpoint::QuicEndpoint::new(identity, parts, start, random)))
    })
}

/// Random stream of a path.
fn random_of(seed: u64, identity: &EndpointIdentity, path: usize) -> RandomStream {
    match path {
        0 => RandomStream::new(seed, &identity.name),
        path => RandomStream::new(seed, &format!("{}.{path}", identity.name)),
    }
}

/// Checks that the DATAGRAM frames of a video frame fit into packets (RFC 9221 section 3).
fn check_datagrams(config: &Config, identity: &EndpointIdentity, workload: &Workload) -> Result<(), Error> {
    let Workload::Live { packet_size: size, delivery: LiveDelivery::Datagrams, .. } = *workload else {
        return Ok(());
    };
    if identity.role == Role::Client {
        return Ok(());
    }
    let most = ByteCount::from_bytes(
        config.datagram_size.bytes().saturating_sub(MAX_OVERHEAD as u64 + DATAGRAM_HEADER),
    );
    ensure(size <= most, || {
        Problem::conflict(
            FieldPath::new(["workload", "packet_size"]),
            quoted(size),
            format!("at most \"{most}\""),
        )
        .because(format!("a DATAGRAM frame must fit into a datagram of \"{}\"", config.datagram_size))
    })
}

/// Bytes of type and length of a DATAGRAM frame.
const DATAGRAM_HEADER: u64 = 3;

/// Rejects features for which Google QUIC 37 has no frames: datagrams, further paths, and unidirectional
/// streams.
fn check_gquic(identity: &EndpointIdentity, workload: &Workload) -> Result<(), Error> {
    ensure(
        !matches!(workload, Workload::Datagrams { .. } | Workload::Ping { .. } | Workload::Live { .. }),
        || {
            Problem::unknown(
                "workload.kind",
                workload.kind(),
                Workload::ON_BYTES.iter().filter(|kind| **kind != "live"),
            )
            .because("`quic.version` is \"gquic-37\"")
        },
    )?;
    ensure(identity.paths == 1, || {
        Problem::conflict("paths", identity.paths - 1, "no further path")
            .because("`quic.version` is \"gquic-37\"")
    })
}
