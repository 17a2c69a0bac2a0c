//! Options of QUIC, as far as their limits hold for every stack: what the wire can say, and what makes sense
//! at all.

use super::super::error::{FieldPath, ScenarioError};
use super::endpoint::{integer, ordered, size};
use super::{Check, ensure, path_scheduler, positive_time, quoted};
use quiclab_core::Duration;
use quiclab_transport::options::{Acknowledgement, QuicOptions};

pub(super) fn check(path: &FieldPath, quic: &QuicOptions) -> Check {
    for (name, length, least, most) in [
        // RFC 9000 section 17.2: connection IDs of version 1 have 20 bytes at most
        ("connection_id", quic.connection_id, 0, 20),
        // RFC 9000 section 17.1: packet numbers have 1 to 4 bytes
        ("packet_number", quic.packet_number, 1, 4),
        ("max_window", quic.max_window, 1, LARGEST_OFFSET),
        ("max_stream_receive_window", quic.max_stream_receive_window, 1, LARGEST_OFFSET),
        ("max_connection_receive_window", quic.max_connection_receive_window, 1, LARGEST_OFFSET),
    ] {
        if let Some(length) = length {
            size(&path.child(name), length, least, most)?;
        }
    }
    if let Some(acknowledgement) = &quic.acknowledgement {
        check_acknowledgement(&path.child("acknowledgement"), acknowledgement)?;
    }
    if let Some(delay) = quic.max_ack_delay {
        ack_delay(&path.child("max_ack_delay"), delay)?;
    }
    let delay = quic.acknowledgement.as_ref().map(Acknowledgement::delay);
    // RFC 9000 section 13.2.1: "An endpoint MUST acknowledge [...] within its advertised max_ack_delay"
    ordered(&path.child("acknowledgement"), "delay", delay, "max_ack_delay", quic.max_ack_delay)?;
    if let Some(ranges) = quic.ack_ranges {
        integer(&path.child("ack_ranges"), ranges, 1..=u32::MAX)?;
    }
    if let Some(packets) = quic.probe_packets {
        integer(&path.child("probe_packets"), packets, 1..=2)?;
    }
    if let Some(streams) = quic.max_streams {
        // RFC 9000 section 4.6: 2^60 at most; without any, nothing can be asked for
        ensure((1..=MOST_STREAMS).contains(&streams), || {
            ScenarioError::refused(path.child("max_streams"), streams, format!("1 to {MOST_STREAMS}"))
        })?;
    }
    if let Some(timeout) = quic.idle_timeout {
        positive_time(&path.child("idle_timeout"), timeout)?;
    }
    match &quic.path_scheduler {
        Some(kind) => path_scheduler::check(&path.child("path_scheduler"), kind),
        None => Ok(()),
    }
}

/// RFC 9000 section 16: the largest integer on the wire.
const LARGEST_OFFSET: u64 = (1 << 62) - 1;
const MOST_STREAMS: u64 = 1 << 60;
/// RFC 9000 section 18.2: "Values of 2^14 or greater are invalid", in milliseconds.
const LONGEST_ACK_DELAY: Duration = Duration::from_millis((1 << 14) - 1);

fn check_acknowledgement(path: &FieldPath, acknowledgement: &Acknowledgement) -> Check {
    ack_delay(&path.child("delay"), acknowledgement.delay())?;
    match *acknowledgement {
        Acknowledgement::Every { packets, delay: _ } => {
            integer(&path.child("packets"), packets, 1..=u32::MAX)
        }
        Acknowledgement::RttFraction { fraction, packets, .. } => {
            ensure(fraction > 0.0 && fraction <= 1.0, || {
                let allowed = "above 0, at most 1: a part of the round-trip time";
                ScenarioError::refused(path.child("fraction"), format!("{fraction:?}"), allowed)
            })?;
            integer(&path.child("packets"), packets, 1..=u32::MAX)
        }
        Acknowledgement::Timer { .. } | Acknowledgement::AsAsked { .. } => Ok(()),
    }
}

fn ack_delay(path: &FieldPath, delay: Duration) -> Check {
    ensure(delay <= LONGEST_ACK_DELAY, || {
        ScenarioError::refused(path.clone(), quoted(delay), format!("0 s to {LONGEST_ACK_DELAY}"))
    })
}
