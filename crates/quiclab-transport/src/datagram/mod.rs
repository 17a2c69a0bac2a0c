//! lab-udp: datagrams without any control: a constant rate, perhaps with pauses, and ping; media over RTP, which
//! control themselves, are in [`crate::media`].
//!
//! A datagram's payload says its number and when it was sent ([`quiclab_core::Payload::Datagram`]), as
//! those of iperf and ping do; the rest is padding.

mod arrivals;
mod ping;
mod port;
mod stack;
mod stream;

pub(crate) use arrivals::Arrivals;
pub(crate) use ping::Probes;
pub(crate) use port::Socket;
pub(crate) use stack::LabUdp;
pub(crate) use stream::{Delays, Reception, Schedule};

use crate::error::{Error, ensure, refused, within};
use crate::media;
use crate::options::Workload;
use quiclab_core::{ByteCount, DataRate, Duration};

/// How long a receiver waits for datagrams after the last was sent, before it takes the missing ones for
/// lost; longer than any queue that is of interest.
pub(crate) const LINGER: Duration = Duration::from_secs(3);
/// The longest IPv4 packet less its header and that of UDP.
const SIZES: std::ops::RangeInclusive<ByteCount> =
    ByteCount::from_bytes(1)..=ByteCount::from_bytes(65_535 - 20 - 8);

/// Checks the values of a workload of datagrams.
///
/// # Errors
/// If one is not allowed.
pub(crate) fn check(workload: &Workload) -> Result<(), Error> {
    match *workload {
        Workload::Datagrams { rate, size, duration, on, off } => {
            within("workload.size", Some(size), SIZES)?;
            ensure(rate > DataRate::from_bits_per_second(0), || {
                refused("workload.rate", rate, "a rate above 0")
            })?;
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
            within("workload.size", Some(size), SIZES)?;
            ensure(count > 0, || refused("workload.count", count, "1 or more"))?;
            positive("workload.interval", interval)
        }
        Workload::Media { .. } => media::check(workload),
        Workload::Download { .. } | Workload::RequestResponse { .. } | Workload::Page { .. } => Ok(()),
    }
}

pub(crate) fn positive(field: &'static str, duration: Duration) -> Result<(), Error> {
    ensure(duration > Duration::ZERO, || refused(field, duration, "1 ns or more"))
}

#[cfg(test)]
mod tests;
