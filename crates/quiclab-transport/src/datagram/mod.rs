//! lab-udp: datagrams without any control: a constant rate, perhaps with pauses, and ping; media over RTP, which
//! control themselves, are in [`crate::media`].
//!
//! A datagram's payload says its number and when it was sent ([`quiclab_core::Payload::Datagram`]), as
//! those of iperf and ping do; the rest is padding.

mod arrivals;
mod ping;
mod port;
mod stream;

pub(crate) use arrivals::Arrivals;
pub(crate) use ping::Probes;
pub(crate) use port::Socket;
pub(crate) use stream::{Delays, Reception, Schedule};

use crate::LAB_UDP;
use crate::error::{Error, ensure, refused, within};
use crate::media;
use crate::options::{EndpointConfig, PingProtocol, Workload};
use quiclab_core::{ByteCount, DataRate, Duration, Endpoint, EndpointIdentity, Role, Time};

/// How long a receiver waits for datagrams after the last was sent, before it takes the missing ones for
/// lost; longer than any queue that is of interest.
pub(crate) const LINGER: Duration = Duration::from_secs(3);
/// The longest IPv4 packet less its header and that of UDP.
const SIZES: std::ops::RangeInclusive<ByteCount> =
    ByteCount::from_bytes(1)..=ByteCount::from_bytes(65_535 - 20 - 8);

/// lab-udp has no options.
pub(crate) fn validate(config: &EndpointConfig) -> Result<(), Error> {
    let given = [
        ("congestion_control", config.congestion_control.is_some()),
        ("datagram_size", config.datagram_size.is_some()),
        ("initial_window", config.initial_window.is_some()),
        ("stream_receive_window", config.stream_receive_window.is_some()),
        ("connection_receive_window", config.connection_receive_window.is_some()),
        ("send_window", config.send_window.is_some()),
        ("packet_threshold", config.packet_threshold.is_some()),
        ("time_threshold", config.time_threshold.is_some()),
        ("initial_rtt", config.initial_rtt.is_some()),
        ("ack_frequency", config.ack_frequency.is_some()),
        ("controller", config.controller.is_some()),
        ("emulated_connections", config.emulated_connections.is_some()),
        ("slow_start_exit", config.slow_start_exit.is_some()),
        ("pacing", config.pacing.is_some()),
        ("tcp", config.tcp.is_some()),
        ("quic", config.quic.is_some()),
        ("http2", config.http2.is_some()),
        ("tls", config.tls.is_some()),
        ("quic", config.quic.is_some()),
        ("http2", config.http2.is_some()),
    ];
    if let Some(profile) = &config.profile {
        return Err(Error::NoProfiles { stack: LAB_UDP, profile: profile.clone() });
    }
    match given.iter().find(|(_, given)| *given) {
        Some(&(field, _)) => Err(Error::NoOption { field, stack: LAB_UDP }),
        None => Ok(()),
    }
}

pub(crate) fn build(
    identity: &EndpointIdentity,
    config: &EndpointConfig,
    workload: &Workload,
    start: Time,
) -> Result<Box<dyn Endpoint>, Error> {
    validate(config)?;
    check(workload)?;
    match *workload {
        Workload::Datagrams { rate, size, duration, on, off } => {
            let schedule = Schedule::new(rate, size, duration, on.zip(off), start);
            Ok(match identity.role {
                Role::Server => Box::new(stream::Source::new(identity, schedule)),
                Role::Client => Box::new(stream::Sink::new(identity, schedule, start)),
            })
        }
        Workload::Ping { size, count, interval, protocol } => {
            let socket = match protocol {
                PingProtocol::Udp => Socket::new(identity),
                PingProtocol::Icmp => Socket::of_icmp(identity),
            };
            Ok(match identity.role {
                Role::Client => Box::new(ping::Prober::new(socket, size, count, interval, start)),
                Role::Server => Box::new(ping::Echo::new(socket, count)),
            })
        }
        Workload::Media { .. } => Ok(media::build(identity, workload, start)),
        Workload::Download { .. } | Workload::RequestResponse { .. } | Workload::Page { .. } => {
            Err(refused("workload.kind", workload.kind(), "`datagrams`, `ping`, `media`"))
        }
    }
}

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
