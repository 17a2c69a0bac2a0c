//! lab-tcp: TCP as Linux speaks it, with every part exchangeable.
//!
//! ```text
//! endpoint ── an Endpoint of a connection, TLS and an application
//!   ├── tls          messages of the application <-> bytes of the stream
//!   ├── records      what the payload of segments says, where the application tells
//!   ├── connection   states, acknowledgements, timestamps
//!   │     ├── handshake   options, SYN retransmission
//!   │     ├── sender      what may be sent, what was, and what became of it
//!   │     └── receiver    what has arrived, and what to acknowledge
//!   ├── metrics      what the kernel keeps of the other end for the next connection
//!   └── crate::workload, crate::http
//! profile ── values of Linux releases; options ── with the overrides of a scenario
//! ```

mod config;
mod connection;
mod endpoint;
mod handshake;
mod metrics;
mod options;
mod profile;
mod receiver;
mod records;
mod sender;
mod tls;

pub use config::Config;
pub use profile::{DEFAULT_PROFILE, profiles, rows};

use crate::error::Error;
use crate::options::{EndpointConfig, Workload};
use crate::{http, workload};
use quiclab_core::{Endpoint, EndpointIdentity, Problem, ProblemKind, RandomStream, Time, TransportObserver};

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
    let page = || RandomStream::new(seed, &format!("{}.page", identity.name));
    if let Workload::Page { resources, .. } = workload
        && !resources.is_empty()
    {
        let mut observer = observer;
        return http::build_origins(identity, workload, page(), |identity, page, origin| {
            let application = http::build_http2(identity.role, page, origin, config.http2.as_ref())?;
            let (values, random) = (options::resolve(config)?, RandomStream::new(seed, &identity.name));
            // an observer knows one connection: that of the HTML
            let observer = observer.take();
            Ok(Box::new(endpoint::TcpEndpoint::new(identity, values, application, start, random, observer)))
        });
    }
    let application = match (workload, &config.http2) {
        (Workload::Page { .. }, options) => {
            http::build_http2(identity.role, &http::PageEnds::new(workload, page())?, 0, options.as_ref())?
        }
        (_, None) => workload::build(identity.role, workload, start)?,
        (_, Some(_)) => {
            let reason = format!("the workload is `{}`, and only `page` uses HTTP/2", workload.kind());
            return Err(Problem::new(ProblemKind::Conflict, "http2", "").because(reason));
        }
    };
    let random = RandomStream::new(seed, &identity.name);
    Ok(Box::new(endpoint::TcpEndpoint::new(identity, values, application, start, random, observer)))
}
