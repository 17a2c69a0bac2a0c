//! Both ends of a page on the streams of QUIC, each request on a separate stream. Further frames and the
//! place of header sections depend on the mapping: [`super::h3`], [`super::gquic`].

use super::browser::Browser;
use super::page::Resource;
use super::server::WebServer;
use crate::workload::{Outcome, StreamApplication, StreamId, Streams};
use quiclab_core::{Metrics, PageClient, RequestTimes, Time};

/// Client side of a mapping.
pub(super) trait ClientMapping: Send {
    /// Opens the missing streams other than those of requests, as far as the peer allows.
    ///
    /// # Errors
    /// If requests need a stream that the peer does not allow.
    fn open(&mut self, streams: &mut dyn Streams) -> Result<(), String>;

    /// Sends the request for `resource`, number `number` of the page, on `stream`, which was opened for it.
    fn request(&mut self, stream: StreamId, number: usize, resource: &Resource, streams: &mut dyn Streams);

    /// Handles `bytes` read from `stream`, which has this label: calls `deliver` with the number of a request
    /// and the bytes of the body of its response.
    fn received(&mut self, stream: StreamId, bytes: u64, label: u64, deliver: &mut dyn FnMut(usize, u64));
}

/// End of the browser.
pub(super) struct Client<M> {
    browser: Browser,
    mapping: M,
    connected: bool,
    /// Whether the limit of streams is reached.
    blocked: bool,
}

impl<M: ClientMapping + Default> Client<M> {
    pub(super) fn new(browser: Browser) -> Self {
        Self { browser, mapping: M::default(), connected: false, blocked: false }
    }

    /// Sends all requests that may be sent.
    fn ask(&mut self, now: Time, streams: &mut dyn Streams) {
        if !self.connected || self.mapping.open(streams).is_err() {
            return;
        }
        while self.browser.wants() {
            let Some(stream) = streams.open(true) else {
                self.blocked = true;
                return;
            };
            let number = self.browser.ask(now);
            self.mapping.request(stream, number, &self.browser.page.resources[number], streams);
        }
    }
}

impl<M: ClientMapping + Default> StreamApplication for Client<M> {
    fn start(&mut self, now: Time) {
        self.browser.start(now);
    }

    fn connected(&mut self, now: Time, streams: &mut dyn Streams) {
        if let Err(reason) = self.mapping.open(streams) {
            return self.browser.outcome.fail(reason);
        }
        self.connected = true;
        self.browser.connected(now);
        self.ask(now, streams);
    }

    fn received(&mut self, now: Time, stream: StreamId, bytes: u64, _end: bool, streams: &mut dyn Streams) {
        let label = streams.label(stream);
        let Self { browser, mapping, connected, .. } = self;
        mapping.received(stream, bytes, label, &mut |request, bytes| {
            if browser.receive(now, request, bytes) {
                *connected = false;
                streams.close();
            }
        });
        self.ask(now, streams);
    }

    fn reset_by_peer(&mut self, _now: Time, _stream: StreamId, _streams: &mut dyn Streams) {
        self.browser.outcome.fail("a response was reset by the server".to_owned());
    }

    fn available(&mut self, now: Time, streams: &mut dyn Streams) {
        self.blocked = false;
        self.ask(now, streams);
    }

    fn deadline(&self) -> Option<Time> {
        let asks = self.connected && !self.blocked && self.browser.wants();
        if asks { Some(Time::ZERO) } else { self.browser.deadline() }
    }

    fn wake(&mut self, now: Time, streams: &mut dyn Streams) {
        self.browser.wake(now);
        if self.browser.is_superfluous(now) {
            self.connected = false;
            self.browser.leave();
            streams.close();
        } else {
            self.ask(now, streams);
        }
    }

    fn closed_by_peer(&mut self, _now: Time) {
        self.connected = false;
        self.browser.abandoned();
    }

    fn failed(&mut self, reason: String) {
        self.connected = false;
        self.browser.outcome.fail(reason);
    }

    fn outcome(&self) -> &Outcome {
        &self.browser.outcome
    }

    fn statistics(&self, out: &mut Metrics) {
        self.browser.statistics(out);
    }

    fn page_client(&self) -> Option<&dyn PageClient> {
        Some(self)
    }
}

impl<M: ClientMapping> PageClient for Client<M> {
    fn requests(&self) -> Vec<RequestTimes> {
        self.browser.requests()
    }

    fn reads_packets(&self) -> bool {
        true
    }

    fn occupied_until(&self) -> Time {
        self.browser.preparing().unwrap_or(Time::ZERO)
    }
}

/// Callback for a complete request, with its number and that of its resource.
pub(super) type Ask<'a> = dyn FnMut(usize, usize) + 'a;

/// Server side of a mapping.
pub(super) trait ServerMapping: Send {
    /// Opens the missing streams other than those of requests, as far as the peer allows.
    fn open(&mut self, _streams: &mut dyn Streams) {}

    /// Handles `bytes` read from the stream `id`: calls `asked` for each request that is now complete.
    /// Returns whether responses may follow.
    fn received(&mut self, id: StreamId, bytes: u64, streams: &mut dyn Streams, asked: &mut Ask<'_>) -> bool;

    /// Sends the response to a request.
    fn respond(&mut self, request: usize, resource: &Resource, streams: &mut dyn Streams);

    /// Whether a response is on this stream.
    fn has_response(&self, stream: StreamId) -> bool;
}

/// End of the web server.
pub(super) struct Server<M> {
    server: WebServer,
    mapping: M,
    /// Number of responses that are not acknowledged.
    unacknowledged: usize,
}

impl<M: ServerMapping> Server<M> {
    pub(super) fn new(server: WebServer, mapping: M) -> Self {
        Self { server, mapping, unacknowledged: 0 }
    }

    fn respond(&mut self, now: Time, streams: &mut dyn Streams) {
        while let Some(request) = self.server.next_response(now) {
            self.mapping.respond(request, self.server.resource(request), streams);
            self.unacknowledged += 1;
        }
    }
}

impl<M: ServerMapping> StreamApplication for Server<M> {
    fn connected(&mut self, _now: Time, streams: &mut dyn Streams) {
        self.mapping.open(streams);
    }

    fn received(&mut self, now: Time, stream: StreamId, bytes: u64, _end: bool, streams: &mut dyn Streams) {
        let Self { server, mapping, .. } = self;
        let mut asked = |request, resource| server.asked(now, request, resource);
        if mapping.received(stream, bytes, streams, &mut asked) {
            self.respond(now, streams);
        }
    }

    fn acknowledged(&mut self, now: Time, stream: StreamId) {
        if self.mapping.has_response(stream) {
            self.unacknowledged = self.unacknowledged.saturating_sub(1);
            if self.unacknowledged == 0 && self.server.is_done() {
                self.server.outcome.finish(now);
            }
        }
    }

    fn available(&mut self, _now: Time, streams: &mut dyn Streams) {
        self.mapping.open(streams);
    }

    fn closed_by_peer(&mut self, now: Time) {
        self.server.abandoned(now);
    }

    fn failed(&mut self, reason: String) {
        self.server.failed(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.server.deadline()
    }

    fn wake(&mut self, now: Time, streams: &mut dyn Streams) {
        self.respond(now, streams);
    }

    fn outcome(&self) -> &Outcome {
        &self.server.outcome
    }
}
