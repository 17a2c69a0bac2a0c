//! Limits of the values of workloads; those of pages are in `http/page.rs`.

use crate::error::{Error, ensure, refused, within};
use crate::options::Workload;
use quiclab_core::ip::{IPV4_HEADER, UDP_HEADER};
use quiclab_core::{ByteCount, DataRate, Duration};
use std::ops::RangeInclusive;

/// Payloads that fit into an IPv4 packet with its header and that of UDP.
const DATAGRAMS: RangeInclusive<ByteCount> =
    ByteCount::from_bytes(1)..=ByteCount::from_bytes((65_535 - IPV4_HEADER - UDP_HEADER) as u64);
/// RTP packets: with more media than header, and not fragmented.
const RTP_PACKETS: RangeInclusive<ByteCount> = ByteCount::from_bytes(100)..=ByteCount::from_bytes(1472);

/// Checks the values of a workload of messages; others pass.
///
/// # Errors
/// If one is not allowed.
pub(crate) fn check_messages(workload: &Workload) -> Result<(), Error> {
    match *workload {
        Workload::Download { size, duration, request } => {
            check_download(size, duration)?;
            not_empty("workload.request", request)
        }
        Workload::RequestResponse { count, request, response, pause: _ } => {
            ensure(count > 0, || refused("workload.count", count, "1 or more"))?;
            not_empty("workload.request", request)?;
            not_empty("workload.response", response)
        }
        Workload::Datagrams { .. }
        | Workload::Ping { .. }
        | Workload::Page { .. }
        | Workload::Media { .. } => Ok(()),
    }
}

fn check_download(size: Option<ByteCount>, duration: Option<Duration>) -> Result<(), Error> {
    const ONE_OF_BOTH: &str = "exactly one of `size` or `duration`";
    match (size, duration) {
        (None, None) => Err(refused("workload", "a download with neither", ONE_OF_BOTH)),
        (Some(_), Some(_)) => Err(refused("workload", "a download with both", ONE_OF_BOTH)),
        (Some(size), None) => not_empty("workload.size", size),
        (None, Some(duration)) => positive("workload.duration", duration),
    }
}

/// Checks the values of a workload of datagrams; others pass.
///
/// # Errors
/// If one is not allowed.
pub(crate) fn check_datagrams(workload: &Workload) -> Result<(), Error> {
    match *workload {
        Workload::Datagrams { rate, size, duration, on, off } => {
            within("workload.size", Some(size), DATAGRAMS)?;
            above_zero("workload.rate", rate)?;
            positive("workload.duration", duration)?;
            match (on, off) {
                (None, None) => Ok(()),
                (Some(on), Some(off)) => {
                    positive("workload.on", on)?;
                    positive("workload.off", off)
                }
                _ => Err(refused("workload.on", "one of `on` and `off`", "both or neither")),
            }
        }
        Workload::Ping { size, count, interval, protocol: _ } => {
            within("workload.size", Some(size), DATAGRAMS)?;
            ensure(count > 0, || refused("workload.count", count, "1 or more"))?;
            positive("workload.interval", interval)
        }
        Workload::Media {
            start_rate,
            min_rate,
            max_rate,
            frame_rate,
            packet_size,
            target_delay,
            ramp_up_speed,
            duration,
            ecn: _,
        } => {
            above_zero("workload.min_rate", min_rate)?;
            within("workload.start_rate", Some(start_rate), min_rate..=max_rate)?;
            within("workload.frame_rate", Some(frame_rate), 1..=1000)?;
            within("workload.packet_size", Some(packet_size), RTP_PACKETS)?;
            above_zero("workload.ramp_up_speed", ramp_up_speed)?;
            positive("workload.target_delay", target_delay)?;
            positive("workload.duration", duration)
        }
        Workload::Download { .. } | Workload::RequestResponse { .. } | Workload::Page { .. } => Ok(()),
    }
}

fn above_zero(field: &'static str, rate: DataRate) -> Result<(), Error> {
    ensure(rate > DataRate::from_bits_per_second(0), || refused(field, rate, "a rate above 0"))
}

fn positive(field: &'static str, duration: Duration) -> Result<(), Error> {
    ensure(duration > Duration::ZERO, || refused(field, duration, "1 ns or more"))
}

fn not_empty(field: &'static str, size: ByteCount) -> Result<(), Error> {
    ensure(size > ByteCount::ZERO, || refused(field, size, "1 B or more"))
}
