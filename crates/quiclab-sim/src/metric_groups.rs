//! All metrics of results, for documents and schemas.

use crate::arrivals::{ARRIVALS, COMPLETIONS};
use crate::kernel_metrics::{BROWSER, DEVICE, KERNEL_LINK, LINUX, PROGRAM};
use crate::series::PROGRESS;
use quiclab_core::MetricGroup;

/// The metrics of all elements, in the order of documents.
#[must_use]
pub fn metric_groups() -> Vec<MetricGroup> {
    let mut groups = quiclab_core::metric_groups();
    groups.extend(quiclab_transport::metric_groups());
    #[cfg(feature = "real-stacks")]
    groups.extend([quiclab_stacks::metric_groups(), quiclab_carrier::metric_groups()].concat());
    groups.extend([
        PROGRESS.group(),
        ARRIVALS.group(),
        COMPLETIONS.group(),
        KERNEL_LINK.group(),
        DEVICE.group(),
        LINUX.group(),
        PROGRAM.group(),
        BROWSER.group(),
    ]);
    groups
}
