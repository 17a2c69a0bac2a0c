//! lab-quic: QUIC with every part exchangeable.
//!
//! ```text
//! endpoint ── an Endpoint of a connection and an application
//!   ├── connection   packets in and out, timers, paths
//!   │     ├── handshake   flights of TLS or QUIC Crypto: which keys there are, and when
//!   │     ├── space       a packet number space: what was sent, what arrived, what to acknowledge
//!   │     ├── path        RTT, congestion control, pacer of a path
//!   │     └── stream      streams, flow control, which stream sends next
//!   └── crate::workload, crate::http
//! carrier ── connections without an application, for the datagrams of a tunnel
//! profile ── values of published stacks; options ── with the overrides of a scenario
//! ```

mod carrier;
mod config;
mod connection;
mod crypto;
mod endpoint;
mod handshake;
mod options;
mod path;
mod profile;
mod received;
mod sent;
mod space;
mod stream;

pub use carrier::{CarrierConfig, LabCarrier};
pub use config::Config;
pub use profile::{DEFAULT_PROFILE, description, profiles, rows};

use crate::error::{Error, ensure};
use crate::http;
use crate::operations::Operations;
use crate::options::{EndpointConfig, QuicVersion, Workload};
use crate::workload;
use quiclab_core::{Endpoint, EndpointIdentity, Problem, ProblemKind, RandomStream, Time, TransportObserver};

pub(crate) fn validate(config: &EndpointConfig) -> Result<(), Error> {
    options::resolve(config).map(drop)
}

/// Google QUIC has no further paths.
pub(crate) fn has_multipath(config: &EndpointConfig) -> Result<bool, Error> {
    Ok(options::resolve(config)?.version == QuicVersion::V1)
}

pub(crate) fn build(
    identity: &EndpointIdentity,
    config: &EndpointConfig,
    workload: &Workload,
    start: Time,
    seed: u64,
    observer: Option<Box<dyn TransportObserver>>,
    operations: Operations,
) -> Result<Box<dyn Endpoint>, Error> {
    let config = options::resolve(config)?;
    if config.version == QuicVersion::Gquic37 {
        check_gquic(identity, workload)?;
    }
    let page = || RandomStream::new(seed, &format!("{}.page", identity.name));
    if let Workload::Page { resources, .. } = workload
        && !resources.is_empty()
    {
        return build_page(identity, (config, workload), (start, seed, page()), observer, operations);
    }
    let application = match workload {
        Workload::Page { .. } => http::build_streams(identity.role, workload, config.version, page())?,
        _ => workload::build_on_streams(identity.role, workload, start)?,
    };
    let random = |path: usize| random_of(seed, identity, path);
    let parts = endpoint::Parts { config, application, operations, observer };
    Ok(Box::new(endpoint::QuicEndpoint::new(identity, parts, start, random)))
}

/// A page with resources: a connection to each of its servers.
fn build_page(
    identity: &EndpointIdentity,
    (config, workload): (Config, &Workload),
    (start, seed, random): (Time, u64, RandomStream),
    observer: Option<Box<dyn TransportObserver>>,
    operations: Operations,
) -> Result<Box<dyn Endpoint>, Error> {
    ensure(operations.is_empty(), || {
        Problem::new(ProblemKind::Conflict, "plugins", "no functions of plugins")
            .because("a page with `workload.resources` has several connections, a function the state of one")
    })?;
    // an observer knows one connection: that of the HTML
    let mut observer = observer;
    http::build_origins(identity, workload, random, |identity, page, origin| {
        let application = page.on_streams(identity.role, origin, config.version);
        let random = |path: usize| random_of(seed, identity, path);
        let operations = Operations::default();
        let parts =
            endpoint::Parts { config: config.clone(), application, operations, observer: observer.take() };
        Ok(Box::new(endpoint::QuicEndpoint::new(identity, parts, start, random)))
    })
}

/// Random numbers of a path.
fn random_of(seed: u64, identity: &EndpointIdentity, path: usize) -> RandomStream {
    match path {
        0 => RandomStream::new(seed, &identity.name),
        path => RandomStream::new(seed, &format!("{}.{path}", identity.name)),
    }
}

/// What Google QUIC 37 has no frames for: datagrams, and further paths.
fn check_gquic(identity: &EndpointIdentity, workload: &Workload) -> Result<(), Error> {
    ensure(!matches!(workload, Workload::Datagrams { .. } | Workload::Ping { .. }), || {
        Problem::unknown("workload.kind", workload.kind(), ["download", "request_response", "page"])
            .because("`quic.version` is \"gquic-37\"")
    })?;
    ensure(identity.paths == 1, || {
        Problem::conflict("paths", identity.paths - 1, "no further path")
            .because("`quic.version` is \"gquic-37\"")
    })
}
