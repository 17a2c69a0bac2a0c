//! HTTP on Google QUIC up to version 39: header sections of all requests on one stream, bodies on separate
//! ones ("HTTP/2 Semantics Using The QUIC Transport Protocol", draft-shade-quic-http2-mapping-00;
//! quic_spdy_session.cc of Chromium 60).
//!
//! | | Google QUIC | here |
//! | --- | --- | --- |
//! | headers stream | 3 | the client's first bidirectional stream |
//! | a section | a HEADERS frame of HTTP/2: 9, of requests 5 more for the priority | the same |
//! | first on it, from both ends | SETTINGS with one value, if both know them (SMHL) | the same, always |
//! | body | no frames | no frames |
//! | end of a request without a body | a flag of its HEADERS | an empty STREAM frame with FIN, too: it opens the stream |
//!
//! Sections arrive in the order in which they were sent: a lost one blocks those behind it, and the received
//! parts of their bodies wait. Each section contains the identifier of its stream; here the label of each
//! stream is the end of its section.

use super::on_streams::{Ask, ClientMapping, ServerMapping};
use super::page::Resource;
use crate::workload::{Priority, StreamId, Streams};
use quiclab_core::Http2Frame;
use std::collections::BTreeMap;

const HEADERS_STREAM: StreamId = StreamId(0);
/// SETTINGS with SETTINGS_MAX_HEADER_LIST_SIZE only.
const SETTINGS: u64 = Http2Frame::Settings { count: 1, max_streams: None, stream_window: None }.bytes();
/// Priority of the headers stream, which is sent first (`QuicWriteBlockedList`).
const FIRST: Priority = Priority { urgency: 0, incremental: false };

/// Stream of a request.
const fn stream_of(request: usize) -> StreamId {
    StreamId::new(request as u64 + 1, false, true)
}

/// Request of a stream; `None`: it has none.
fn request_of(stream: StreamId) -> Option<usize> {
    let index = usize::try_from(stream.index()).ok()?;
    index.checked_sub(1).filter(|_| stream.is_bidirectional() && !stream.is_of_server())
}

/// Length of a HEADERS frame.
fn headers(section: u64, dependency: bool) -> u64 {
    let section = u32::try_from(section).expect("checked: shorter than a header list may be");
    Http2Frame::Headers { stream: 0, section, dependency, end: false, resource: 0 }.bytes()
}

/// Bits of the resource in the label of a request's stream; the other bits are the end of its section on the
/// headers stream.
const RESOURCE_BITS: u32 = 20;

/// Side of the browser.
#[derive(Default)]
pub(super) struct Client {
    /// Bytes written to and read from the headers stream.
    written: u64,
    read: u64,
    /// Bodies that have arrived before their sections: by the end of these: request and bytes.
    early: BTreeMap<u64, (usize, u64)>,
}

impl ClientMapping for Client {
    fn open(&mut self, streams: &mut dyn Streams) -> Result<(), String> {
        if self.written > 0 {
            return Ok(());
        }
        let stream = streams.open(true).ok_or("the server allows no stream")?;
        debug_assert_eq!(stream, HEADERS_STREAM, "it is the first");
        streams.set_priority(stream, FIRST);
        self.written = SETTINGS;
        streams.write(stream, SETTINGS);
        Ok(())
    }

    fn request(&mut self, stream: StreamId, number: usize, resource: &Resource, streams: &mut dyn Streams) {
        let section = headers(resource.request, true);
        self.written += section;
        streams.write(HEADERS_STREAM, section);
        streams.set_priority(stream, resource.priority);
        streams.set_label(stream, self.written << RESOURCE_BITS | number as u64);
        streams.finish(stream);
    }

    fn received(&mut self, stream: StreamId, bytes: u64, label: u64, deliver: &mut dyn FnMut(usize, u64)) {
        if stream == HEADERS_STREAM {
            self.read += bytes;
            while let Some(body) = self.early.first_entry().filter(|body| *body.key() <= self.read) {
                let (request, early) = body.remove();
                deliver(request, early);
            }
        } else if let Some(request) = request_of(stream) {
            // the label has the end of the section of the response
            if label <= self.read {
                deliver(request, bytes);
            } else {
                self.early.entry(label).or_insert((request, 0)).1 += bytes;
            }
        }
    }
}

/// Side of the web server.
#[derive(Default)]
pub(super) struct Server {
    /// Bytes written to and read from the headers stream.
    written: u64,
    read: u64,
    /// Opened streams of requests with their labels.
    opened: BTreeMap<usize, u64>,
    /// Number of requests passed to the server.
    asked: usize,
}

impl ServerMapping for Server {
    fn received(&mut self, id: StreamId, bytes: u64, streams: &mut dyn Streams, asked: &mut Ask<'_>) -> bool {
        if id == HEADERS_STREAM {
            if self.written == 0 {
                self.written = SETTINGS;
                streams.set_priority(id, FIRST);
                streams.write(id, SETTINGS);
            }
            self.read += bytes;
        } else if let Some(request) = request_of(id) {
            self.opened.insert(request, streams.label(id));
        }
        // a request is complete when its section has arrived and its stream exists
        while let Some(&label) = self.opened.get(&self.asked)
            && label >> RESOURCE_BITS <= self.read
        {
            let resource = label & ((1 << RESOURCE_BITS) - 1);
            asked(self.asked, usize::try_from(resource).expect("20 bits"));
            self.asked += 1;
        }
        true
    }

    fn respond(&mut self, request: usize, resource: &Resource, streams: &mut dyn Streams) {
        let stream = stream_of(request);
        let section = headers(resource.response, false);
        self.written += section;
        streams.write(HEADERS_STREAM, section);
        streams.set_priority(stream, resource.priority);
        streams.set_label(stream, self.written);
        streams.write(stream, resource.body);
        streams.finish(stream);
    }

    fn has_response(&self, stream: StreamId) -> bool {
        request_of(stream).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::build_streams;
    use super::super::page::testing::page;
    use super::*;
    use crate::options::{ObjectKind, Priorities, QuicVersion};
    use crate::testing::ms;
    use crate::workload::testing::{Call, Recorder};
    use quiclab_core::{RandomStream, Role};

    fn writes(calls: Vec<Call>) -> Vec<(u64, u64)> {
        let write = |call| match call {
            Call::Write(stream, bytes) => Some((stream.0, bytes)),
            _ => None,
        };
        calls.into_iter().filter_map(write).collect()
    }

    /// Request: 9 + 5 + 100 on the headers stream. Response: 9 + 200 there, the body on a separate stream.
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
