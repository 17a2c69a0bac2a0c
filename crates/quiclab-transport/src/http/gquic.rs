//! HTTP on Google QUIC up to version 39: header sections of all requests on one stream, bodies on their own
//! ("HTTP/2 Semantics Using The QUIC Transport Protocol", draft-shade-quic-http2-mapping-00; quic_spdy_session.cc
//! of Chromium 60).
//!
//! | | Google QUIC | here |
//! | --- | --- | --- |
//! | headers stream | 3 | the client's first bidirectional stream |
//! | a section | a HEADERS frame of HTTP/2: 9, of requests 5 more for the priority | the same |
//! | first on it, from both ends | SETTINGS with one value, if both know them (SMHL) | the same, always |
//! | body | no frames | no frames |
//! | end of a request without a body | a flag of its HEADERS | an empty STREAM frame with FIN, too: it opens the stream |
//!
//! Sections arrive in the order in which they were sent: a lost one holds back those behind it, and what has
//! arrived of their bodies waits. All responses have the same think time but that of the HTML, which comes
//! first, so the order of responses is that of requests.

use super::page::{Browser, WebServer};
use crate::workload::{Outcome, Priority, StreamApplication, StreamId, Streams};
use quiclab_core::{Http2Frame, Metrics, Time};

const HEADERS_STREAM: StreamId = StreamId(0);
/// SETTINGS_MAX_HEADER_LIST_SIZE alone.
const SETTINGS: u64 = Http2Frame::Settings { count: 1, max_streams: None, stream_window: None }.bytes();
/// The headers stream goes first (`QuicWriteBlockedList`).
const FIRST: Priority = Priority { urgency: 0, incremental: false };

/// The stream of a request.
const fn stream_of(request: usize) -> StreamId {
    StreamId::new(request as u64 + 1, false, true)
}

/// The request of a stream; `None`: it carries none.
fn request_of(stream: StreamId) -> Option<usize> {
    let index = usize::try_from(stream.index()).ok()?;
    index.checked_sub(1).filter(|_| stream.is_bidirectional() && !stream.is_of_server())
}

/// Length of a HEADERS frame.
fn headers(section: u64, dependency: bool) -> u64 {
    let section = u32::try_from(section).expect("checked: shorter than a header list may be");
    Http2Frame::Headers { stream: 0, section, dependency, end: false }.bytes()
}

/// Sections read from a headers stream.
#[derive(Debug)]
struct Sections {
    /// Bytes read that belong to no complete section; SETTINGS come first.
    missing: u64,
    length: u64,
    complete: usize,
}

impl Sections {
    const fn new(length: u64) -> Self {
        Self { missing: SETTINGS + length, length, complete: 0 }
    }

    fn read(&mut self, mut bytes: u64) {
        while bytes >= self.missing {
            bytes -= self.missing;
            self.missing = self.length;
            self.complete += 1;
        }
        self.missing -= bytes;
    }
}

/// The browser's end.
pub(super) struct Client {
    browser: Browser,
    connected: bool,
    sections: Sections,
    /// What has arrived of each body before its section.
    early: Vec<u64>,
    /// Sections whose bodies are no longer held back.
    released: usize,
}

impl Client {
    pub(super) fn new(browser: Browser) -> Self {
        let sections = Sections::new(headers(browser.page.response, false));
        Self { browser, connected: false, sections, early: Vec::new(), released: 0 }
    }

    fn ask(&mut self, now: Time, streams: &mut dyn Streams) {
        while self.connected && self.browser.wants() {
            let Some(stream) = streams.open(true) else { return };
            let request = self.browser.ask(now);
            debug_assert_eq!(stream, stream_of(request), "requests take streams in order");
            self.early.push(0);
            let page = &self.browser.page;
            streams.write(HEADERS_STREAM, headers(page.request, true));
            streams.set_priority(stream, page.priority(request));
            streams.finish(stream);
        }
    }

    /// Gives bytes of a body to the browser; ends the connection when the page is loaded.
    fn deliver(&mut self, now: Time, request: usize, bytes: u64, streams: &mut dyn Streams) {
        if self.browser.receive(now, request, bytes) {
            self.connected = false;
            streams.close();
        }
    }
}

impl StreamApplication for Client {
    fn start(&mut self, now: Time) {
        self.browser.start(now);
    }

    fn connected(&mut self, now: Time, streams: &mut dyn Streams) {
        let Some(stream) = streams.open(true) else {
            return self.browser.outcome.fail("the server allows no stream".to_owned());
        };
        debug_assert_eq!(stream, HEADERS_STREAM, "it is the first");
        self.connected = true;
        streams.set_priority(stream, FIRST);
        streams.write(stream, SETTINGS);
        self.ask(now, streams);
    }

    fn received(&mut self, now: Time, stream: StreamId, bytes: u64, _end: bool, streams: &mut dyn Streams) {
        if stream == HEADERS_STREAM {
            self.sections.read(bytes);
            while self.released < self.sections.complete.min(self.early.len()) {
                self.released += 1;
                let early = std::mem::take(&mut self.early[self.released - 1]);
                self.deliver(now, self.released - 1, early, streams);
            }
        } else if let Some(request) = request_of(stream).filter(|request| *request < self.early.len()) {
            if request < self.released {
                self.deliver(now, request, bytes, streams);
            } else {
                self.early[request] += bytes;
            }
        }
        self.ask(now, streams);
    }

    fn reset_by_peer(&mut self, _now: Time, _stream: StreamId, _streams: &mut dyn Streams) {
        self.browser.outcome.fail("a response was reset by the server".to_owned());
    }

    fn acknowledged(&mut self, _now: Time, _stream: StreamId) {}

    fn available(&mut self, now: Time, streams: &mut dyn Streams) {
        self.ask(now, streams);
    }

    fn closed_by_peer(&mut self, _now: Time) {
        self.connected = false;
        self.browser.abandoned();
    }

    fn failed(&mut self, reason: String) {
        self.connected = false;
        self.browser.outcome.fail(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.browser.deadline()
    }

    fn wake(&mut self, now: Time, streams: &mut dyn Streams) {
        self.browser.wake(now);
        self.ask(now, streams);
    }

    fn outcome(&self) -> &Outcome {
        &self.browser.outcome
    }

    fn statistics(&self, out: &mut Metrics) {
        self.browser.statistics(out);
    }
}

/// The web server's end.
pub(super) struct Server {
    server: WebServer,
    sections: Sections,
    /// Whether SETTINGS were sent.
    greeted: bool,
    /// Streams of requests that have been opened.
    opened: Vec<bool>,
    /// Requests handed to the server.
    asked: usize,
    unacknowledged: usize,
}

impl Server {
    pub(super) fn new(server: WebServer) -> Self {
        let sections = Sections::new(headers(server.page.request, true));
        let opened = vec![false; server.page.requests()];
        Self { server, sections, greeted: false, opened, asked: 0, unacknowledged: 0 }
    }

    fn respond(&mut self, now: Time, streams: &mut dyn Streams) {
        while let Some(request) = self.server.next_response(now) {
            let page = &self.server.page;
            let stream = stream_of(request);
            streams.write(HEADERS_STREAM, headers(page.response, false));
            streams.set_priority(stream, page.priority(request));
            streams.write(stream, page.body(request));
            streams.finish(stream);
            self.unacknowledged += 1;
        }
    }
}

impl StreamApplication for Server {
    fn start(&mut self, _now: Time) {}

    fn connected(&mut self, _now: Time, _streams: &mut dyn Streams) {}

    fn received(&mut self, now: Time, stream: StreamId, bytes: u64, _end: bool, streams: &mut dyn Streams) {
        if stream == HEADERS_STREAM {
            if !self.greeted {
                self.greeted = true;
                streams.set_priority(stream, FIRST);
                streams.write(stream, SETTINGS);
            }
            self.sections.read(bytes);
        } else if let Some(opened) = request_of(stream).and_then(|request| self.opened.get_mut(request)) {
            *opened = true;
        }
        // a request is whole when its section is there and its stream exists
        while self.asked < self.sections.complete && self.opened.get(self.asked) == Some(&true) {
            self.server.asked(now, self.asked);
            self.asked += 1;
        }
        self.respond(now, streams);
    }

    fn reset_by_peer(&mut self, _now: Time, _stream: StreamId, _streams: &mut dyn Streams) {}

    fn acknowledged(&mut self, now: Time, stream: StreamId) {
        if request_of(stream).is_some() {
            self.unacknowledged = self.unacknowledged.saturating_sub(1);
            if self.unacknowledged == 0 && self.server.is_done() {
                self.server.outcome.finish(now);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::super::build_streams;
    use super::super::page::testing::page;
    use super::*;
    use crate::workload::testing::{Call, Recorder};
    use quiclab_core::scenario::{ObjectKind, Priorities, QuicVersion};
    use quiclab_core::{Duration, Role};

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn writes(calls: Vec<Call>) -> Vec<(u64, u64)> {
        let write = |call| match call {
            Call::Write(stream, bytes) => Some((stream.0, bytes)),
            _ => None,
        };
        calls.into_iter().filter_map(write).collect()
    }

    /// Request: 9 + 5 + 100 on the headers stream. Response: 9 + 200 there, the bare body on its own.
    #[test]
    fn a_page_of_two_objects_by_hand_with_a_late_section() {
        let workload = page(&[(2, 300, ObjectKind::Image)], Priorities::RoundRobin);
        let [mut client, mut server] = [Role::Client, Role::Server]
            .map(|role| build_streams(role, &workload, QuicVersion::Gquic37, RandomStream::new(1, "page")).expect("a good page"));
        let (mut asks, mut answers) = (Recorder::new(Role::Client), Recorder::new(Role::Server));
        client.start(ms(0));
        client.connected(ms(0), &mut asks);
        assert_eq!(writes(asks.take()), [(0, 15), (0, 114)]);
        server.received(ms(10), StreamId(0), 15 + 114, false, &mut answers);
        assert_eq!((writes(answers.take()), server.deadline()), (vec![(0, 15)], None), "no stream yet");
        server.received(ms(10), StreamId(4), 0, true, &mut answers);
        server.wake(ms(15), &mut answers);
        assert_eq!(writes(answers.take()), [(0, 209), (4, 1000)]);

        client.received(ms(25), StreamId(4), 1000, true, &mut asks);
        assert_eq!(client.outcome().progress.delivered_bytes, 0, "the section is missing");
        client.received(ms(26), StreamId(0), 15 + 208, false, &mut asks);
        assert_eq!(writes(asks.take()), []);
        client.received(ms(27), StreamId(0), 1, false, &mut asks);
        assert_eq!(client.outcome().progress.delivered_bytes, 1000);
        assert_eq!(writes(asks.take()), [(0, 114), (0, 114)]);

        server.received(ms(37), StreamId(8), 0, true, &mut answers);
        server.received(ms(37), StreamId(12), 0, true, &mut answers);
        server.received(ms(37), StreamId(0), 228, false, &mut answers);
        server.wake(ms(39), &mut answers);
        assert_eq!(writes(answers.take()), [(0, 209), (8, 300), (0, 209), (12, 300)]);
        client.received(ms(49), StreamId(12), 300, true, &mut asks);
        client.received(ms(49), StreamId(0), 209, false, &mut asks);
        client.received(ms(49), StreamId(8), 300, true, &mut asks);
        assert_eq!(client.outcome().progress.finished, None);
        client.received(ms(59), StreamId(0), 209, false, &mut asks);
        assert_eq!((asks.take(), client.outcome().progress.finished), (vec![Call::Close], Some(ms(59))));
    }
}
