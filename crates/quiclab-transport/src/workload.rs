//! Workloads: applications on a byte stream.
//!
//! An application sends and receives *messages* of known length, one at a time in each direction: a request,
//! a response. The transport passes events to it and executes the commands that it returns.
//!
//! Public items are those that a stack of another crate needs to run a workload on its streams:
//! [`StreamApplication`], [`Streams`].

mod arrivals;
mod download;
mod on_datagrams;
mod on_off;
mod on_streams;
mod probes;
mod reception;
mod request_response;
mod samples;
mod schedule;
mod streams;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use arrivals::Arrivals;
pub(crate) use download::DOWNLOAD;
pub(crate) use on_datagrams::QUIC_DATAGRAMS;
use on_off::ThinkTimes;
pub(crate) use probes::PROBES;
pub(crate) use probes::Probes;
pub(crate) use reception::{DELAYS, RECEPTION};
pub(crate) use reception::{Delays, LINGER, Reception};
pub(crate) use request_response::RESPONSES;
use request_response::{Requests, Sizes};
pub use samples::Samples;
pub(crate) use schedule::Schedule;
pub use streams::{Datagram, Priority, StreamApplication, StreamId, Streams};

use crate::error::Error;
use crate::options::{PingProtocol, Workload};
use quiclab_core::{
    ByteCount, Contents, DataRate, Metrics, PageClient, Problem, Progress, RandomStream, Role, Time,
};

/// Command of an application to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Nothing now.
    Wait,
    /// Send a message of this many bytes, as fast as there is room; `u64::MAX`: without end.
    Send(u64),
    /// Close once all data are sent.
    Close,
    /// Abort the connection; unsent data are discarded.
    Abort,
}

/// One side of a workload on a byte stream.
pub(crate) trait Application: Send {
    /// Handles the start of the connection at a client.
    fn start(&mut self, _now: Time) {}
    /// Handles the establishment of the connection, and of TLS above it: it is ready for messages.
    fn connected(&mut self, _now: Time) -> Command {
        Command::Wait
    }
    /// Missing bytes of the message that is being received or is next; 0: none, `u64::MAX`: it has no end.
    fn expected(&self) -> u64 {
        0
    }
    /// Handles `bytes` that were read; never more than expected.
    fn received(&mut self, _now: Time, _bytes: u64) -> Command {
        Command::Wait
    }
    /// Handles the acknowledgement of all data sent so far.
    fn acknowledged(&mut self, _now: Time) {}
    /// Handles the end of the peer's data.
    fn peer_closed(&mut self, now: Time) -> Command;
    /// Handles an abort by the peer.
    fn peer_aborted(&mut self, now: Time) {
        self.peer_closed(now);
    }
    /// Handles the failure of the connection.
    fn failed(&mut self, reason: String);
    /// Time at which [`Application::wake`] must be called.
    fn deadline(&self) -> Option<Time> {
        None
    }
    /// Receives, before [`Application::wake`], the rate at which waiting bytes are sent
    /// ([`quiclab_core::RecoveryState::send_rate`]), and the bytes that wait in the send buffer (SIOCOUTQNSD
    /// of Linux).
    fn on_send_state(&mut self, _rate: Option<DataRate>, _waiting_bytes: u64) {}
    /// Handles the deadline.
    fn wake(&mut self, _now: Time) -> Command {
        Command::Wait
    }
    /// Whether it sends and receives records of frames ([`Application::pull`], [`Application::read`]), many
    /// messages at a time, and not one after the other.
    fn uses_records(&self) -> bool {
        false
    }
    /// Takes the next record, if there are data to send now: its length, at most `most`, and the contents
    /// that start in it. Called when there is room, so that data are chosen late.
    fn pull(&mut self, _now: Time, _most: u64) -> Option<(u64, Contents)> {
        None
    }
    /// Handles `bytes` read of a record, in which these contents start.
    fn read(&mut self, _now: Time, _bytes: u64, _contents: &Contents) -> Command {
        Command::Wait
    }
    /// State of the transfer.
    fn outcome(&self) -> &Outcome;
    /// Reports further results.
    fn statistics(&self, _out: &mut Metrics) {}
    /// Reports further values for time series.
    fn sample(&self, _out: &mut Metrics) {}
    /// Application as the client of a web page, if it is one.
    fn page_client(&self) -> Option<&dyn PageClient> {
        None
    }
}

/// State of a transfer, with the reason if it failed.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Progress of the transfer.
    pub progress: Progress,
    /// Reason of a failure; `None`: it has not failed.
    pub failure: Option<String>,
}

impl Outcome {
    /// Completes the transfer, unless it has failed.
    pub fn finish(&mut self, now: Time) {
        if !self.progress.failed {
            self.progress.finished.get_or_insert(now);
        }
    }

    /// Fails the transfer, unless it is complete.
    pub fn fail(&mut self, reason: String) {
        if self.progress.finished.is_none() {
            self.progress.failed = true;
            self.failure.get_or_insert(reason);
        }
    }

    /// Handles a close by the client: it is correct if it has `asked` for everything, otherwise it was too
    /// `early`.
    pub(crate) fn closed_by_client(&mut self, now: Time, asked: bool, early: &str) {
        if asked {
            self.finish(now);
        } else {
            self.fail(early.to_owned());
        }
    }
}

/// Builds one side of `workload` on a byte stream; `random` is its random stream.
///
/// # Errors
/// If the workload needs datagrams, HTTP ([`crate::http`]) or is live ([`crate::live`]), or a value is not allowed.
pub(crate) fn build(
    role: Role,
    workload: &Workload,
    start: Time,
    random: RandomStream,
) -> Result<Box<dyn Application>, Error> {
    match *workload {
        Workload::Download { size, duration, request } => {
            let (request, answer) = (request.bytes(), size.map_or(u64::MAX, ByteCount::bytes));
            let end = duration.map(|duration| start + duration);
            Ok(match role {
                Role::Client => Box::new(download::Client::new(request, answer, end)),
                Role::Server => Box::new(download::Server::new(request, answer, end)),
            })
        }
        Workload::RequestResponse { count, request, response, pause } => {
            let sizes = Sizes { request, response };
            Ok(match role {
                Role::Client => {
                    let requests = Requests::Count { left: count, pause };
                    Box::new(request_response::Client::new(sizes, requests))
                }
                Role::Server => Box::new(request_response::Server::new(sizes, Some(count))),
            })
        }
        Workload::OnOff { burst, think_time, request, duration } => {
            let sizes = Sizes { request, response: burst };
            Ok(match role {
                Role::Client => {
                    let times = ThinkTimes::new(think_time, start + duration, random);
                    Box::new(request_response::Client::new(sizes, Requests::Think(times)))
                }
                Role::Server => Box::new(request_response::Server::new(sizes, None)),
            })
        }
        Workload::Datagrams { .. }
        | Workload::Ping { .. }
        | Workload::Page { .. }
        | Workload::Live { .. }
        | Workload::Media { .. } => {
            Err(Problem::unknown("workload.kind", workload.kind(), Workload::ON_BYTES))
        }
    }
}

/// Builds one side of `workload` on the streams and datagrams of QUIC, except pages and live video
/// ([`crate::build_on_streams`]).
///
/// # Errors
/// If a value of the workload is not allowed.
pub(crate) fn build_on_streams(
    role: Role,
    workload: &Workload,
    start: Time,
    random: RandomStream,
) -> Result<Box<dyn StreamApplication>, Error> {
    Ok(match *workload {
        Workload::Download { .. } | Workload::RequestResponse { .. } | Workload::OnOff { .. } => {
            Box::new(on_streams::OnStreams::new(role, build(role, workload, start, random)?))
        }
        Workload::Datagrams { rate, size, duration, on, off } => {
            let schedule = Schedule::new(rate, size, duration, on.zip(off), start);
            match role {
                Role::Server => Box::new(on_datagrams::Source::new(schedule)),
                Role::Client => Box::new(on_datagrams::Client::new(Reception::new(schedule))),
            }
        }
        Workload::Ping { protocol: PingProtocol::Icmp, .. } => {
            return Err(Problem::conflict("workload.protocol", "\"icmp\"", "\"udp\"")
                .because("only the stack `lab-udp` sends ICMP"));
        }
        Workload::Ping { size, count, interval, protocol: PingProtocol::Udp } => match role {
            Role::Client => {
                let probes = Probes::new(count, interval, start);
                Box::new(on_datagrams::Client::new(on_datagrams::PingClient { size, probes }))
            }
            Role::Server => Box::new(on_datagrams::PingServer::new(count)),
        },
        Workload::Page { .. } | Workload::Live { .. } | Workload::Media { .. } => {
            return Err(Problem::unknown("workload.kind", workload.kind(), Workload::ON_STREAMS));
        }
    })
}
