//! lab-tcp: TCP as Linux speaks it, with every part exchangeable.
//!
//! ```text
//! endpoint ── an Endpoint of a connection, TLS and an application
//!   ├── tls          messages of the application <-> bytes of the stream
//!   ├── connection   states, acknowledgements, timestamps
//!   │     ├── handshake   options, SYN retransmission
//!   │     ├── sender      what may be sent, what was, and what became of it
//!   │     └── receiver    what has arrived, and what to acknowledge
//!   └── crate::workload
//! profile ── values of Linux releases; options ── with the overrides of a scenario
//! ```

mod config;
mod connection;
mod endpoint;
mod handshake;
mod options;
mod profile;
mod receiver;
mod sender;
mod tls;

pub use config::Config;
pub use profile::{DEFAULT_PROFILE, profiles, rows};

use crate::error::Error;
use crate::workload;
use quiclab_core::scenario::{EndpointConfig, Workload};
use quiclab_core::{Endpoint, EndpointIdentity, RandomStream, Time, TransportObserver};

pub(crate) fn validate(config: &EndpointConfig) -> Result<(), Error> {
    options::resolve(config).map(drop)
}

pub(crate) fn build(
    identity: &EndpointIdentity,
    config: &EndpointConfig,
    workload: &Workload,
    start: Time,
    seed: u64,
    observer: Option<Box<dyn TransportObserver>>,
) -> Result<Box<dyn Endpoint>, Error> {
    let values = options::resolve(config)?;
    let application = workload::build(identity.role, workload, start)?;
    let random = RandomStream::new(seed, &identity.name);
    Ok(Box::new(endpoint::TcpEndpoint::new(identity, values, application, start, random, observer)))
}
