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
//! arrived of their bodies waits. Which section belongs to which stream stands in it (the stream's identifier); here
//! the label of each stream says where its section ends.

use super::browser::Browser;
use super::server::WebServer;
use crate::workload::{Outcome, Priority, StreamApplication, StreamId, Streams};
use quiclab_core::{Http2Frame, Metrics, PageClient, RequestTimes, Time};
use std::collections::BTreeMap;

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
    Http2Frame::Headers { stream: 0, section, dependency, end: false, resource: 0 }.bytes()
}

/// How the label of a request's stream holds the resource that it is for and where its section ends on the headers
/// stream.
const RESOURCE_BITS: u32 = 20;

/// The browser's end.
pub(super) struct Client {
    browser: Browser,
    connected: bool,
    /// The server allows no further stream now.
    blocked: bool,
    /// Bytes written to and read from the headers stream.
    written: u64,
    read: u64,
    /// Bodies that have arrived before their sections: by where these end, request and bytes.
    early: BTreeMap<u64, (usize, u64)>,
}

impl Client {
    pub(super) const fn new(browser: Browser) -> Self {
        Self { browser, connected: false, blocked: false, written: 0, read: 0, early: BTreeMap::new() }
    }

    fn ask(&mut self, now: Time, streams: &mut dyn Streams) {
        while self.connected && self.browser.wants() {
            let Some(stream) = streams.open(true) else {
                self.blocked = true;
                return;
            };
            let number = self.browser.ask(now);
            let resource = &self.browser.page.resources[number];
            let section = headers(resource.request, true);
            self.written += section;
            streams.write(HEADERS_STREAM, section);
            streams.set_priority(stream, resource.priority);
            streams.set_label(stream, self.written << RESOURCE_BITS | number as u64);
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
        self.browser.connected(now);
        streams.set_priority(stream, FIRST);
        self.written = SETTINGS;
        streams.write(stream, SETTINGS);
        self.ask(now, streams);
    }

    fn received(&mut self, now: Time, stream: StreamId, bytes: u64, _end: bool, streams: &mut dyn Streams) {
        if stream == HEADERS_STREAM {
            self.read += bytes;
            while let Some(body) = self.early.first_entry().filter(|body| *body.key() <= self.read) {
                let (request, early) = body.remove();
                self.deliver(now, request, early, streams);
            }
        } else if let Some(request) = request_of(stream) {
            let section = streams.label(stream);
            if section <= self.read {
                self.deliver(now, request, bytes, streams);
            } else {
                self.early.entry(section).or_insert((request, 0)).1 += bytes;
            }
        }
        self.ask(now, streams);
    }

    fn reset_by_peer(&mut self, _now: Time, _stream: StreamId, _streams: &mut dyn Streams) {
        self.browser.outcome.fail("a response was reset by the server".to_owned());
    }

    fn acknowledged(&mut self, _now: Time, _stream: StreamId) {}

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
        if self.browser.is_superfluous() {
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

impl PageClient for Client {
    fn requests(&self) -> Vec<RequestTimes> {
        self.browser.requests()
    }

    fn objects_read(&self) -> u64 {
        self.browser.complete()
    }
}

/// The web server's end.
pub(super) struct Server {
    server: WebServer,
    /// Bytes written to and read from the headers stream.
    written: u64,
    read: u64,
    /// Streams of requests that have been opened, and their labels.
    opened: BTreeMap<usize, u64>,
    /// Requests handed to the server.
    asked: usize,
    unacknowledged: usize,
}

impl Server {
    pub(super) const fn new(server: WebServer) -> Self {
        Self { server, written: 0, read: 0, opened: BTreeMap::new(), asked: 0, unacknowledged: 0 }
    }

    fn respond(&mut self, now: Time, streams: &mut dyn Streams) {
        while let Some(request) = self.server.next_response(now) {
            let resource = self.server.resource(request);
            let stream = stream_of(request);
            let section = headers(resource.response, false);
            self.written += section;
            streams.write(HEADERS_STREAM, section);
            streams.set_priority(stream, resource.priority);
            streams.set_label(stream, self.written);
            streams.write(stream, resource.body);
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
            if self.written == 0 {
                self.written = SETTINGS;
                streams.set_priority(stream, FIRST);
                streams.write(stream, SETTINGS);
            }
            self.read += bytes;
        } else if let Some(request) = request_of(stream) {
            self.opened.insert(request, streams.label(stream));
        }
        // a request is whole when its section is there and its stream exists
        while let Some(&label) = self.opened.get(&self.asked)
            && label >> RESOURCE_BITS <= self.read
        {
            let resource = label & ((1 << RESOURCE_BITS) - 1);
            self.server.asked(now, self.asked, usize::try_from(resource).expect("20 bits"));
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
    use crate::options::{ObjectKind, Priorities, QuicVersion};
    use crate::workload::testing::{Call, Recorder};
    use quiclab_core::{Duration, RandomStream, Role};

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
        let [mut client, mut server] = [Role::Client, Role::Server].map(|role| {
            build_streams(role, &workload, QuicVersion::Gquic37, RandomStream::new(1, "page"))
                .expect("a good page")
        });
        let (mut asks, mut answers) = (Recorder::new(Role::Client), Recorder::new(Role::Server));
        client.start(ms(0));
        client.connected(ms(0), &mut asks);
        assert_eq!(writes(asks.take()), [(0, 15), (0, 114)]);
        answers.arrived = asks.labels.clone();
        server.received(ms(10), StreamId(0), 15 + 114, false, &mut answers);
        assert_eq!((writes(answers.take()), server.deadline()), (vec![(0, 15)], None), "no stream yet");
        server.received(ms(10), StreamId(4), 0, true, &mut answers);
        server.wake(ms(15), &mut answers);
        assert_eq!(writes(answers.take()), [(0, 209), (4, 1000)]);

        asks.arrived = answers.labels.clone();
        client.received(ms(25), StreamId(4), 1000, true, &mut asks);
        assert_eq!(client.outcome().progress.delivered_bytes, 0, "the section is missing");
        client.received(ms(26), StreamId(0), 15 + 208, false, &mut asks);
        assert_eq!(writes(asks.take()), []);
        client.received(ms(27), StreamId(0), 1, false, &mut asks);
        assert_eq!(client.outcome().progress.delivered_bytes, 1000);
        assert_eq!(writes(asks.take()), [(0, 114), (0, 114)]);

        answers.arrived = asks.labels.clone();
        server.received(ms(37), StreamId(8), 0, true, &mut answers);
        server.received(ms(37), StreamId(12), 0, true, &mut answers);
        server.received(ms(37), StreamId(0), 228, false, &mut answers);
        server.wake(ms(39), &mut answers);
        assert_eq!(writes(answers.take()), [(0, 209), (8, 300), (0, 209), (12, 300)]);
        asks.arrived = answers.labels.clone();
        client.received(ms(49), StreamId(12), 300, true, &mut asks);
        client.received(ms(49), StreamId(0), 209, false, &mut asks);
        client.received(ms(49), StreamId(8), 300, true, &mut asks);
        assert_eq!(client.outcome().progress.finished, None);
        client.received(ms(59), StreamId(0), 209, false, &mut asks);
        assert_eq!((asks.take(), client.outcome().progress.finished), (vec![Call::Close], Some(ms(59))));
    }
}
