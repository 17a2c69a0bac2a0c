//! HTTP/3 on the streams of QUIC (RFC 9114), its frames as lengths.
//!
//! | stream | carries |
//! | --- | --- |
//! | control, one each way (section 6.2.1) | its type, SETTINGS |
//! | QPACK encoder and decoder, one each way (RFC 9204 section 4.2) | their types |
//! | a bidirectional one for each request (section 4.1) | HEADERS and FIN; HEADERS, one DATA frame, FIN |
//!
//! | | real programs | here |
//! | --- | --- | --- |
//! | SETTINGS | those of Chromium: table capacity, section size, blocked streams | the same, without grease |
//! | dynamic table of QPACK | updates on the encoder stream | none: the lengths of sections are given |
//! | priority of a request | PRIORITY_UPDATE or `priority` field | in the length of the request |
//! | DATA frames | one for each write | one for the body, as quiche's server with a file in memory |
//!
//! The section of a request identifies its resource, here by the label of its stream.
//!
//! The control streams are sent before everything else (quiche: static streams).

use super::on_streams::{Ask, ClientMapping, ServerMapping};
use super::page::{Page, Resource};
use super::server::WebServer;
use crate::workload::{Priority, StreamId, Streams};
use quiclab_core::quic::varint_length;
use std::sync::Arc;

/// Type of a stream, SETTINGS' type and length, then QPACK_MAX_TABLE_CAPACITY 65536, MAX_FIELD_SECTION_SIZE
/// 262144 (identifier 1, value 4) and QPACK_BLOCKED_STREAMS 100 (1, 2).
const CONTROL: u64 = 1 + 2 + 5 + 5 + 3;
/// Bytes on the streams that each end opens for itself: control, QPACK encoder and decoder.
const OWN_STREAMS: [u64; 3] = [CONTROL, 1, 1];
const FIRST: Priority = Priority { urgency: 0, incremental: false };

/// Length of a frame with this payload (RFC 9114 section 7.1); HEADERS and DATA have types of one byte.
const fn frame(payload: u64) -> u64 {
    1 + varint_length(payload) as u64 + payload
}

/// Opens the missing own streams, as far as the peer allows.
fn open_own(opened: &mut usize, streams: &mut dyn Streams) {
    while let Some(&bytes) = OWN_STREAMS.get(*opened) {
        let Some(stream) = streams.open(false) else { return };
        streams.set_priority(stream, FIRST);
        streams.write(stream, bytes);
        *opened += 1;
    }
}

fn request_of(stream: StreamId) -> usize {
    usize::try_from(stream.index()).expect("requests are counted in usize")
}

/// Side of the browser.
#[derive(Default)]
pub(super) struct Client {
    /// Number of own streams opened.
    opened: usize,
    /// Remaining bytes of each response before its body.
    heads: Vec<u64>,
}

impl ClientMapping for Client {
    fn open(&mut self, streams: &mut dyn Streams) -> Result<(), String> {
        open_own(&mut self.opened, streams);
        Ok(())
    }

    fn request(&mut self, stream: StreamId, number: usize, resource: &Resource, streams: &mut dyn Streams) {
        debug_assert_eq!(self.heads.len(), request_of(stream), "requests take streams in order");
        self.heads.push(frame(resource.response) + frame(resource.body) - resource.body);
        streams.set_priority(stream, resource.priority);
        streams.set_label(stream, number as u64);
        streams.write(stream, frame(resource.request));
        streams.finish(stream);
    }

    fn received(&mut self, stream: StreamId, bytes: u64, _label: u64, deliver: &mut dyn FnMut(usize, u64)) {
        if !stream.is_bidirectional() || stream.is_of_server() {
            return;
        }
        let request = request_of(stream);
        let Some(head) = self.heads.get_mut(request) else { return };
        let of_head = bytes.min(*head);
        *head -= of_head;
        deliver(request, bytes - of_head);
    }
}

/// Side of the web server.
pub(super) struct Server {
    page: Arc<Page>,
    /// Number of own streams opened.
    opened: usize,
    /// Bytes of each request received, by its number.
    received: Vec<u64>,
}

impl Server {
    pub(super) fn new(server: &WebServer) -> Self {
        Self { page: Arc::clone(&server.page), opened: 0, received: vec![0; server.requests] }
    }
}

impl ServerMapping for Server {
    fn open(&mut self, streams: &mut dyn Streams) {
        open_own(&mut self.opened, streams);
    }

    fn received(&mut self, id: StreamId, bytes: u64, streams: &mut dyn Streams, asked: &mut Ask<'_>) -> bool {
        if !id.is_bidirectional() {
            return false;
        }
        let request = request_of(id);
        let number = usize::try_from(streams.label(id)).unwrap_or(usize::MAX);
        let Some(resource) = self.page.resources.get(number) else { return false };
        let whole = frame(resource.request);
        let Some(received) = self.received.get_mut(request) else { return false };
        let before = *received;
        *received += bytes;
        let is_whole = before < whole && *received >= whole;
        if is_whole {
            asked(request, number);
        }
        is_whole
    }

    fn respond(&mut self, request: usize, resource: &Resource, streams: &mut dyn Streams) {
        let stream = StreamId::new(request as u64, false, true);
        streams.set_priority(stream, resource.priority);
        streams.write(stream, frame(resource.response) + frame(resource.body));
        streams.finish(stream);
    }

    fn has_response(&self, stream: StreamId) -> bool {
        stream.is_bidirectional()
    }
}

#[cfg(test)]
mod tests {
    use super::super::build_streams;
    use super::super::page::testing::page;
    use super::*;
    use crate::options::{ObjectKind, Priorities, QuicVersion};
    use crate::testing::ms;
    use crate::workload::StreamApplication;
    use crate::workload::testing::{Call, Recorder};
    use quiclab_core::{RandomStream, Role};

    fn uni(index: u64, server: bool) -> StreamId {
        StreamId::new(index, server, false)
    }

    fn ends(objects: &[(u32, u64, ObjectKind)]) -> [Box<dyn StreamApplication>; 2] {
        let workload = page(objects, Priorities::Browser);
        [Role::Client, Role::Server].map(|role| {
            build_streams(role, &workload, QuicVersion::V1, RandomStream::new(1, "page"))
                .expect("a good page")
        })
    }

    fn own(server: bool) -> Vec<Call> {
        let open = |(index, bytes)| {
            let stream = uni(index, server);
            [Call::Open(stream), Call::Priority(stream, FIRST), Call::Write(stream, bytes)]
        };
        [(0, 16), (1, 1), (2, 1)].into_iter().flat_map(open).collect()
    }

    /// Request: HEADERS 1 + 2 + 100 (a length of 100 takes two bytes). Response: HEADERS 1 + 2 + 200, DATA
    /// 1 + 2 + 1000 of the HTML, 1 + 4 + 20000 and 1 + 1 + 50 of the objects.
    #[test]
    fn a_page_of_two_objects_by_hand() {
        let [mut client, mut server] = ends(&[(1, 20_000, ObjectKind::Image), (1, 50, ObjectKind::Script)]);
        let mut streams = Recorder::new(Role::Client);
        let mut answers = Recorder::new(Role::Server);
        client.start(ms(0));
        client.connected(ms(20), &mut streams);
        let html = Priority { urgency: 0, incremental: true };
        let image = Priority { urgency: 3, incremental: true };
        let script = Priority { urgency: 1, incremental: false };
        let ask = |stream, priority| {
            [
                Call::Open(stream),
                Call::Priority(stream, priority),
                Call::Write(stream, 103),
                Call::Finish(stream),
            ]
        };
        let [first, second, third] = [0, 4, 8].map(StreamId);
        assert_eq!(streams.take(), [own(false), ask(first, html).to_vec()].concat());

        server.connected(ms(30), &mut answers);
        assert_eq!(answers.take(), own(true));
        server.received(ms(30), uni(0, false), 16, false, &mut answers);
        server.received(ms(30), first, 103, true, &mut answers);
        assert_eq!((answers.take(), server.deadline()), (vec![], Some(ms(35))));
        server.wake(ms(35), &mut answers);
        let answer = |stream, priority, bytes| {
            [Call::Priority(stream, priority), Call::Write(stream, bytes), Call::Finish(stream)]
        };
        assert_eq!(answers.take(), answer(first, html, 203 + 1003));

        client.received(ms(45), uni(0, true), 16, false, &mut streams);
        client.received(ms(45), first, 1205, false, &mut streams);
        assert_eq!(streams.take(), []);
        client.received(ms(46), first, 1, true, &mut streams);
        assert_eq!(streams.take(), [ask(second, image), ask(third, script)].concat());
        assert_eq!(client.outcome().progress.delivered_bytes, 1000);

        answers.arrived = streams.labels.clone();
        server.received(ms(56), second, 103, true, &mut answers);
        server.received(ms(56), third, 103, true, &mut answers);
        server.wake(ms(58), &mut answers);
        let expected = [answer(second, image, 203 + 20_005), answer(third, script, 203 + 52)].concat();
        assert_eq!(answers.take(), expected);
        server.acknowledged(ms(70), first);
        server.acknowledged(ms(70), third);
        assert_eq!(server.outcome().progress.finished, None);
        server.acknowledged(ms(71), second);
        assert_eq!(server.outcome().progress.finished, Some(ms(71)));

        client.received(ms(68), third, 255, true, &mut streams);
        assert_eq!(streams.take(), []);
        client.received(ms(69), second, 203 + 20_005, true, &mut streams);
        assert_eq!((streams.take(), client.outcome().progress.finished), (vec![Call::Close], Some(ms(69))));
        assert_eq!(client.outcome().progress.delivered_bytes, 1000 + 20_000 + 50);
    }

    #[test]
    fn requests_wait_for_streams() {
        let [mut client, _] = ends(&[(5, 10, ObjectKind::Image)]);
        let mut streams = Recorder::new(Role::Client);
        streams.limit = 3;
        client.connected(ms(0), &mut streams);
        client.received(ms(1), StreamId(0), 203 + 1003, true, &mut streams);
        let opened = |calls: Vec<Call>| {
            calls
                .into_iter()
                .filter_map(|call| match call {
                    Call::Open(stream) if stream.is_bidirectional() => Some(stream.0),
                    _ => None,
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(opened(streams.take()), [0, 4, 8], "three in all");
        streams.limit = 5;
        client.available(ms(2), &mut streams);
        assert_eq!(opened(streams.take()), [12, 16]);
    }

    #[test]
    fn lengths_of_frames_are_those_of_rfc_9000_section_16() {
        let cases =
            [(0, 2), (63, 65), (64, 67), (16_383, 16_386), (16_384, 16_389), (1 << 30, (1 << 30) + 9)];
        for (payload, bytes) in cases {
            assert_eq!(frame(payload), bytes, "{payload}");
        }
    }
}
