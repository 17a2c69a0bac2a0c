//! The application of an endpoint: one side of the workload of its flow.
//!
//! A download and live video are written for the interface of the libraries ([`crate::library`]); others, such as pages, are
//! those of quiclab-transport, on streams ([`OnStreams`]).

use crate::library::{Event, Stack};
use crate::live::{LiveClient, LiveServer};
use crate::on_streams::OnStreams;
use crate::workload::Download;
use quiclab_core::{EndpointIdentity, Metrics, PageClient, Progress, Role, Time};
use quiclab_transport::live;
use quiclab_transport::options::Workload;
use std::time::Instant;

/// See the module documentation.
pub(crate) enum Application<Stream> {
    Download(Download<Stream>),
    LiveServer(Box<LiveServer<Stream>>),
    LiveClient(Box<LiveClient<Stream>>),
    OnStreams(Box<OnStreams<Stream>>),
}

impl<Stream: Copy + PartialEq> Application<Stream> {
    /// One side of `workload`: a download or live video.
    pub(crate) fn new(
        identity: &EndpointIdentity,
        workload: &Workload,
        start: Time,
        seed: u64,
        send_window: u64,
    ) -> Self {
        let Some(parameters) = live::Parameters::new(workload) else {
            return Self::Download(Download::new(identity.role, workload, start, send_window));
        };
        match identity.role {
            Role::Server => {
                let random = live::random(seed, identity);
                Self::LiveServer(Box::new(LiveServer::new(parameters, random)))
            }
            Role::Client => Self::LiveClient(Box::new(LiveClient::new(&parameters))),
        }
    }

    /// The client asks for the transfer.
    pub(crate) fn start(&mut self, now: Time) {
        match self {
            Self::Download(download) => download.start(now),
            Self::LiveServer(_) => {}
            Self::LiveClient(client) => client.start(now),
            Self::OnStreams(workload) => workload.start(now),
        }
    }

    /// When [`Application::wake`] wants to be called.
    pub(crate) fn deadline(&self) -> Option<Time> {
        match self {
            Self::Download(download) => download.deadline(),
            Self::LiveServer(server) => server.deadline(),
            Self::LiveClient(client) => client.deadline(),
            Self::OnStreams(workload) => workload.deadline(),
        }
    }

    /// Does what is due.
    pub(crate) fn wake<S: Stack<Stream = Stream>>(&mut self, now: Time, instant: Instant, stack: &mut S) {
        match self {
            Self::Download(download) => download.wake(now, stack),
            Self::LiveServer(server) => server.wake(now, stack),
            Self::LiveClient(client) => client.wake(now, instant, stack),
            Self::OnStreams(workload) => workload.wake(now, instant, stack),
        }
    }

    /// Takes an event of the connection.
    pub(crate) fn handle<S: Stack<Stream = Stream>>(
        &mut self,
        event: Event<Stream>,
        now: Time,
        instant: Instant,
        stack: &mut S,
    ) {
        match self {
            Self::Download(download) => download.handle(event, now, instant, stack),
            Self::LiveServer(server) => server.handle(event, now, stack),
            Self::LiveClient(client) => client.handle(event, now, stack),
            Self::OnStreams(workload) => workload.handle(event, now, instant, stack),
        }
    }

    /// The transfer will not be completed.
    pub(crate) fn fail(&mut self, reason: String) {
        match self {
            Self::Download(download) => download.fail(reason),
            Self::LiveServer(server) => server.outcome.fail(reason),
            Self::LiveClient(client) => client.outcome.fail(reason),
            Self::OnStreams(workload) => workload.fail(reason),
        }
    }

    /// State of the transfer.
    pub(crate) fn progress(&self) -> Progress {
        match self {
            Self::Download(download) => download.progress,
            Self::LiveServer(server) => server.outcome.progress,
            Self::LiveClient(client) => client.outcome.progress,
            Self::OnStreams(workload) => workload.outcome().progress,
        }
    }

    /// Why it failed.
    pub(crate) fn failure(&self) -> Option<&str> {
        match self {
            Self::Download(download) => download.failure.as_deref(),
            Self::LiveServer(server) => server.outcome.failure.as_deref(),
            Self::LiveClient(client) => client.outcome.failure.as_deref(),
            Self::OnStreams(workload) => workload.outcome().failure.as_deref(),
        }
    }

    /// Results of its own.
    pub(crate) fn statistics(&self, out: &mut Metrics) {
        match self {
            Self::Download(_) => {}
            Self::LiveServer(server) => server.statistics(out),
            Self::LiveClient(client) => client.reception.report(out),
            Self::OnStreams(workload) => workload.application().statistics(out),
        }
    }

    /// Values of its own for time series.
    pub(crate) fn sample(&self, out: &mut Metrics) {
        match self {
            Self::Download(_) => {}
            Self::LiveServer(server) => server.source.sample(out),
            Self::LiveClient(client) => client.reception.sample(out),
            Self::OnStreams(workload) => workload.application().sample(out),
        }
    }

    /// The application as the client of a web page, if it is one.
    pub(crate) fn page_client(&self) -> Option<&dyn PageClient> {
        match self {
            Self::OnStreams(workload) => workload.page_client(),
            Self::Download(_) | Self::LiveServer(_) | Self::LiveClient(_) => None,
        }
    }
}
