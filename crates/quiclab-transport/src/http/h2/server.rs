//! Server end of HTTP/2 (RFC 9113), as mod_http2 of Apache with nghttp2.
//!
//! Frames are chosen one by one when there is room: SETTINGS and other control frames first, then HEADERS of
//! new responses, then DATA.
//!
//! | priorities | order of DATA |
//! | --- | --- |
//! | `browser` | Chromium makes each stream depend, exclusively, on the last one of its priority or a higher one (`Http2PriorityDependencies`), so nghttp2 sends them one after the other: by urgency, then in the order of requests; if its window blocks one, the next is sent |
//! | `round_robin` | one frame of each in turn |

use super::frames::{Read, Reader, Writer};
use super::{Http2Values, INITIAL_WINDOW, SMALL_RECORD, request_of, stream_of};
use crate::http::server::WebServer;
use crate::workload::{Application, Command, Outcome};
use quiclab_core::{ByteCount, Contents, Http2Frame, Time};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

/// Order of a response: urgency, then its request's number on this connection.
type Key = (u8, usize);

/// Response that has started.
#[derive(Clone, Copy, Debug)]
struct Response {
    /// Bytes of its body that are in no frame yet.
    left: u64,
    /// Remaining window of the client for the stream; negative after a reduction.
    window: i64,
}

/// Server of HTTP/2; see the module documentation.
pub(super) struct Server {
    server: WebServer,
    values: Http2Values,
    greeted: bool,
    /// Frames to send before DATA.
    control: VecDeque<Http2Frame>,
    writer: Writer,
    /// Bytes written in records.
    written: u64,
    reader: Reader,
    responses: BTreeMap<Key, Response>,
    /// Response that sent DATA last.
    last: Key,
    /// Remaining window of the client for the connection.
    window: u64,
    /// Window of the client for new streams.
    stream_window: i64,
}

impl Server {
    pub(super) fn new(server: WebServer, values: Http2Values) -> Self {
        Self {
            server,
            values,
            greeted: false,
            control: VecDeque::new(),
            writer: Writer::default(),
            written: 0,
            reader: Reader::default(),
            responses: BTreeMap::new(),
            last: (0, 0),
            window: INITIAL_WINDOW,
            stream_window: INITIAL_WINDOW as i64,
        }
    }

    /// Sends SETTINGS with the values that are not defaults of the protocol (`h2_session_start`).
    fn send_preface(&mut self) {
        self.greeted = true;
        let max_streams = self.values.max_streams;
        let [stream_window, connection_window] =
            [self.values.stream_window, self.values.connection_window].map(ByteCount::bytes);
        let stream_window =
            (stream_window != INITIAL_WINDOW).then(|| u32::try_from(stream_window).expect("below 2^31"));
        self.control.push_back(Http2Frame::Settings {
            count: 1 + u8::from(stream_window.is_some()),
            max_streams: Some(max_streams),
            stream_window,
        });
        let increment = u32::try_from(connection_window - INITIAL_WINDOW).expect("below 2^31");
        if increment > 0 {
            self.control.push_back(Http2Frame::WindowUpdate { stream: 0, increment });
        }
    }

    fn key(&self, request: usize) -> Key {
        (self.server.resource(request).priority.urgency, request)
    }

    /// Starts the responses that are due.
    fn respond(&mut self, now: Time) {
        while let Some(request) = self.server.next_response(now) {
            let resource = self.server.resource(request);
            let section = u32::try_from(resource.response).expect("shorter than a list may be");
            let response = Response { left: resource.body, window: self.stream_window };
            self.control.push_back(Http2Frame::Headers {
                stream: stream_of(request),
                section,
                dependency: false,
                end: false,
                resource: 0,
            });
            self.responses.insert(self.key(request), response);
        }
    }

    /// Chooses the next frame to send.
    fn choose(&mut self) -> Option<Http2Frame> {
        if let Some(frame) = self.control.pop_front() {
            return Some(frame);
        }
        if self.window == 0 {
            return None;
        }
        let may_send = |entry: &(&Key, &Response)| entry.1.window > 0;
        let key = if self.server.page.by_browser {
            *self.responses.iter().find(may_send)?.0
        } else {
            let after = self.responses.range((Excluded(self.last), Unbounded));
            *after.chain(self.responses.range(..=self.last)).find(may_send)?.0
        };
        self.last = key;
        let response = self.responses.get_mut(&key).expect("found above");
        let length =
            self.values.frame_size.bytes().min(response.left).min(response.window as u64).min(self.window);
        self.window -= length;
        response.window -= length as i64;
        response.left -= length;
        let end = response.left == 0;
        if end {
            self.responses.remove(&key);
        }
        Some(Http2Frame::Data { stream: stream_of(key.1), length: length as u32, end })
    }

    fn on_frame(&mut self, now: Time, frame: Http2Frame) {
        match frame {
            Http2Frame::Headers { stream, resource, .. } => {
                self.server.asked(now, request_of(stream), resource as usize);
                self.respond(now);
            }
            Http2Frame::Settings { stream_window, .. } => {
                if let Some(window) = stream_window {
                    // "adjust the size of all stream flow-control windows" (RFC 9113 section 6.9.2)
                    let change = i64::from(window) - self.stream_window;
                    self.responses.values_mut().for_each(|response| response.window += change);
                    self.stream_window += change;
                }
                self.control.push_back(Http2Frame::SettingsAck);
            }
            Http2Frame::WindowUpdate { stream: 0, increment } => self.window += u64::from(increment),
            Http2Frame::WindowUpdate { stream, increment } => {
                let key = self.key(request_of(stream));
                if let Some(response) = self.responses.get_mut(&key) {
                    response.window += i64::from(increment);
                }
            }
            Http2Frame::Preface | Http2Frame::SettingsAck | Http2Frame::Data { .. } => {}
        }
    }

    /// Whether all responses are written.
    fn is_done(&self) -> bool {
        self.server.is_done()
            && self.responses.is_empty()
            && self.control.is_empty()
            && self.writer.is_empty()
    }
}

impl Application for Server {
    fn connected(&mut self, _now: Time) -> Command {
        self.send_preface();
        Command::Wait
    }

    fn uses_records(&self) -> bool {
        true
    }

    fn pull(&mut self, _now: Time, most: u64) -> Option<(u64, Contents)> {
        let most = if self.written < self.values.warm_up.bytes() { most.min(SMALL_RECORD) } else { most };
        while !self.writer.fills(most) {
            let Some(frame) = self.choose() else { break };
            self.writer.push(frame);
        }
        let record = self.writer.take(most);
        self.written += record.as_ref().map_or(0, |record| record.0);
        record.map(|(length, frames)| (length, Contents::Http2(frames)))
    }

    fn read(&mut self, now: Time, bytes: u64, contents: &Contents) -> Command {
        if let Contents::Http2(frames) = contents {
            self.reader.arrive(bytes, frames);
        }
        while let Some(read) = self.reader.next() {
            if let Read::Frame(frame) = read {
                self.on_frame(now, frame);
            }
        }
        Command::Wait
    }

    fn acknowledged(&mut self, now: Time) {
        if self.is_done() {
            self.server.outcome.finish(now);
        }
    }

    fn peer_closed(&mut self, now: Time) -> Command {
        self.responses.clear();
        self.server.abandoned(now);
        Command::Close
    }

    fn failed(&mut self, reason: String) {
        self.server.failed(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.server.deadline()
    }

    fn wake(&mut self, now: Time) -> Command {
        self.respond(now);
        Command::Wait
    }

    fn outcome(&self) -> &Outcome {
        &self.server.outcome
    }
}
