//! The metrics of this crate, for documents and schemas.

use crate::driver;
use quiclab_core::MetricGroup;

/// Metrics of real stacks, in the order of documents.
#[must_use]
pub fn metric_groups() -> Vec<MetricGroup> {
    vec![driver::REAL_STACK.group()]
}
