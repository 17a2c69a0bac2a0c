//! The metrics of this crate, for documents and schemas.

use crate::{datagram, http, live, media, quic, tcp, workload};
use quiclab_core::MetricGroup;

/// Metrics of transports and workloads, in the order of documents.
#[must_use]
pub fn metric_groups() -> Vec<MetricGroup> {
    vec![
        tcp::TCP.group(),
        tcp::SAVED.group(),
        quic::QUIC.group(),
        quic::QUIC_CARRIER.group(),
        workload::DOWNLOAD.group(),
        workload::RESPONSES.group(),
        http::PAGE.group(),
        http::ORIGINS.group(),
        datagram::DATAGRAMS.group(),
        workload::RECEPTION.group(),
        workload::DELAYS.group(),
        datagram::PING.group(),
        workload::PROBES.group(),
        workload::QUIC_DATAGRAMS.group(),
        media::MEDIA_SENDER.group(),
        media::MEDIA_CONTROL.group(),
        media::MEDIA_RECEIVER.group(),
        live::LIVE_SENDER.group(),
        live::LIVE_RECEIVER.group(),
    ]
}
