//! One side of a workload on the streams and datagrams of one connection of QUIC, the same for all stacks.

use crate::error::Error;
use crate::options::{QuicVersion, Workload};
use crate::workload::StreamApplication;
use crate::{http, live, workload};
use quiclab_core::{EndpointIdentity, RandomStream, Time};

/// Builds the application of an endpoint. A page with `resources` has several connections:
/// [`http::build_origins`].
///
/// # Errors
/// If the workload does not run on streams, or a value is not allowed.
pub fn build_on_streams(
    identity: &EndpointIdentity,
    workload: &Workload,
    (start, seed): (Time, u64),
    version: QuicVersion,
) -> Result<Box<dyn StreamApplication>, Error> {
    if matches!(workload, Workload::Page { .. }) {
        return http::build_streams(identity.role, workload, version, page_random(seed, identity));
    }
    match live::Parameters::new(workload) {
        Some(parameters) => Ok(live::on_streams(identity.role, &parameters, live::random(seed, identity))),
        None => workload::build_on_streams(identity.role, workload, start, workload_random(seed, identity)),
    }
}

/// Random stream of a workload of messages: equal for all stacks.
pub(crate) fn workload_random(seed: u64, identity: &EndpointIdentity) -> RandomStream {
    RandomStream::new(seed, &format!("{}.workload", identity.name))
}

/// Random stream of the page of a flow: equal for all stacks.
#[must_use]
pub fn page_random(seed: u64, identity: &EndpointIdentity) -> RandomStream {
    RandomStream::new(seed, &format!("{}.page", identity.name))
}
