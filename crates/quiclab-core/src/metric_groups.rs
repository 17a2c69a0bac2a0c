//! The metrics of this crate, for documents and schemas.

use crate::metric::MetricGroup;
use crate::{bearer, host, link, nic, queue, recovery, tap, tunnel};

/// The metrics of the elements of this crate, in the order of documents.
#[must_use]
pub fn metric_groups() -> Vec<MetricGroup> {
    let mut groups = vec![link::LINK.group()];
    groups.extend(queue::metric_groups());
    groups.extend([
        bearer::BEARER_SENDER.group(),
        bearer::BEARER_RECEIVER.group(),
        tunnel::TUNNEL.group(),
        tap::TAP.group(),
        nic::NIC.group(),
        host::HOST.group(),
        recovery::RECOVERY.group(),
    ]);
    groups
}
