//! Real QUIC stacks behind `quiclab_core::Endpoint`: unchanged code of quinn and noq, in virtual time.
//!
//! ```text
//! build ── options (what is allowed)
//!   └── driver: an Endpoint of a Stack and a download (workload)
//!         ├── stack::quinn, stack::noq ── stack::adapter (what they have in common)
//!         │     ├── controller (bytes in flight), crypto_observer (plaintext)
//!         │     └── lab_controller (congestion control of quiclab-transport)
//!         ├── tls ── seeded (random numbers for TLS)
//!         └── observation (what observers are told; which packets were lost)
//! ```
//!
//! Everything that a stack would draw from the operating system is seeded, and it takes time as an
//! argument: the same seed gives the same bytes on the wire.

pub mod carrier;
mod catalogue;
mod controller;
mod crypto_observer;
mod driver;
mod frames;
mod lab_controller;
mod observation;
mod options;
mod seeded;
mod stack;
mod time;
mod tls;
mod workload;

pub use catalogue::stacks;
pub use tls::{APPLICATION_PROTOCOL, SERVER_NAME, certificate};

use catalogue::Kind;
use driver::QuicEndpoint;
use observation::SharedObservation;
use options::Options;
use quiclab_core::{Endpoint, EndpointIdentity, Problem, RandomStream, Time, TransportObserver};
use quiclab_transport::options::{EndpointConfig, Workload};
use stack::{Parts, Stack, noq::Noq, quinn::Quinn};
use workload::Download;

/// Checks a configuration without building an endpoint.
///
/// # Errors
/// If the stack is unknown or does not take a value; the message says what is allowed.
pub fn validate(config: &EndpointConfig) -> Result<(), Problem> {
    Options::new(catalogue::find(config)?.1.name, config).map(drop)
}

/// Builds one end of a flow on the stack that `config` names.
///
/// A client connects at `start`. All random numbers come from streams named after the endpoint in
/// the run with `seed`. An observer slows the endpoint down and changes nothing.
///
/// # Errors
/// If the configuration, the workload or the addresses cannot be run; the message says what is
/// allowed.
pub fn build(
    identity: EndpointIdentity,
    config: &EndpointConfig,
    workload: &Workload,
    start: Time,
    seed: u64,
    observer: Option<Box<dyn TransportObserver>>,
) -> Result<Box<dyn Endpoint>, Problem> {
    let (kind, info) = catalogue::find(config)?;
    let options = Options::new(info.name, config)?;
    options::check_workload(workload)?;
    options::check_tuple(&identity.tuple)?;
    let observation =
        observer.map(|observer| SharedObservation::new(observer, identity.role, options.packet_threshold()));
    let parts = Parts {
        role: identity.role,
        remote: identity.tuple.destination(),
        random: RandomStream::new(seed, &identity.name),
        congestion_random: RandomStream::new(seed, &format!("{}.congestion", identity.name)),
        observation: observation.clone(),
    };
    Ok(match kind {
        Kind::Quinn => {
            endpoint(Quinn::new(&options, parts), identity, &options, workload, start, seed, observation)
        }
        Kind::Noq => {
            endpoint(Noq::new(&options, parts), identity, &options, workload, start, seed, observation)
        }
    })
}

fn endpoint<S: Stack>(
    stack: S,
    identity: EndpointIdentity,
    options: &Options,
    workload: &Workload,
    start: Time,
    seed: u64,
    observation: Option<SharedObservation>,
) -> Box<dyn Endpoint> {
    let download = Download::new(identity.role, workload, start, options.send_window());
    let tls_random = RandomStream::new(seed, &format!("{}.tls", identity.name));
    Box::new(QuicEndpoint::new(&identity, stack, download, start, tls_random, observation))
}
