//! Browser end of HTTP/2 (RFC 9113), as `SpdySession` of Chromium.
//!
//! It starts with preface, SETTINGS and WINDOW_UPDATE for the connection, and sends requests without waiting
//! for the server's SETTINGS: up to 100 streams until these set another limit
//! (`kInitialMaxConcurrentStreams`).

use super::frames::{Read, Reader, ReceiveWindow, Writer};
use super::{Http2Values, INITIAL_WINDOW, request_of, stream_of};
use crate::http::browser::Browser;
use crate::workload::{Application, Command, Outcome};
use quiclab_core::{Contents, Http2Frame, Metrics, PageClient, RequestTimes, Time};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of concurrent streams before the server sets one.
const STREAMS_AT_FIRST: usize = 100;
/// Number of parameters of SETTINGS: 1, 2, 3, 4 and 6 (`AddDefaultHttp2Settings`, Chromium 106 to 116).
const SETTINGS: u8 = 5;

/// Client of HTTP/2; see the module documentation.
pub(super) struct Client {
    browser: Browser,
    values: Http2Values,
    greeted: bool,
    /// Number of requests sent.
    asked: usize,
    /// Maximum number of concurrent streams that the server allows.
    max_streams: usize,
    /// Frames to send before requests.
    control: VecDeque<Http2Frame>,
    writer: Writer,
    reader: Reader,
    connection: ReceiveWindow,
    streams: BTreeMap<u32, ReceiveWindow>,
}

impl Client {
    pub(super) fn new(browser: Browser, values: Http2Values) -> Self {
        Self {
            browser,
            greeted: false,
            asked: 0,
            max_streams: STREAMS_AT_FIRST,
            control: VecDeque::new(),
            writer: Writer::default(),
            reader: Reader::default(),
            connection: ReceiveWindow::new(values.connection_window.bytes()),
            values,
            streams: BTreeMap::new(),
        }
    }

    fn send_preface(&mut self) {
        self.greeted = true;
        self.writer.push(Http2Frame::Preface);
        self.writer.push(Http2Frame::Settings {
            count: SETTINGS,
            max_streams: Some(self.values.max_streams),
            stream_window: u32::try_from(self.values.stream_window.bytes()).ok(),
        });
        let increment =
            u32::try_from(self.values.connection_window.bytes() - INITIAL_WINDOW).expect("below 2^31");
        if increment > 0 {
            self.writer.push(Http2Frame::WindowUpdate { stream: 0, increment });
        }
    }

    fn ask(&mut self, now: Time) {
        let resource = self.browser.ask(now);
        let stream = stream_of(self.asked);
        self.asked += 1;
        self.streams.insert(stream, ReceiveWindow::new(self.values.stream_window.bytes()));
        self.writer.push(Http2Frame::Headers {
            stream,
            section: u32::try_from(self.browser.page.resources[resource].request)
                .expect("checked: shorter than a list may be"),
            dependency: self.browser.page.by_browser,
            end: true,
            resource: resource as u32,
        });
    }

    /// Handles a part of a body; returns whether the page is loaded.
    fn on_data(&mut self, now: Time, stream: u32, bytes: u64, end: bool) -> bool {
        if let Some(increment) = self.connection.read(bytes) {
            self.control.push_back(Http2Frame::WindowUpdate { stream: 0, increment });
        }
        if end {
            self.streams.remove(&stream);
        } else if let Some(increment) = self.streams.get_mut(&stream).and_then(|window| window.read(bytes)) {
            self.control.push_back(Http2Frame::WindowUpdate { stream, increment });
        }
        self.browser.receive(now, request_of(stream), bytes)
    }
}

impl Application for Client {
    fn start(&mut self, now: Time) {
        self.browser.start(now);
    }

    fn connected(&mut self, now: Time) -> Command {
        self.browser.connected(now);
        Command::Wait
    }

    fn uses_records(&self) -> bool {
        true
    }

    fn pull(&mut self, now: Time, most: u64) -> Option<(u64, Contents)> {
        if self.writer.is_empty() {
            if !self.greeted {
                self.send_preface();
            } else if let Some(frame) = self.control.pop_front() {
                self.writer.push(frame);
            } else if self.browser.wants() && self.browser.open() < self.max_streams {
                self.ask(now);
            }
        }
        self.writer.take(most).map(|(length, frames)| (length, Contents::Http2(frames)))
    }

    fn read(&mut self, now: Time, bytes: u64, contents: &Contents) -> Command {
        if let Contents::Http2(frames) = contents {
            self.reader.arrive(bytes, frames);
        }
        while let Some(read) = self.reader.next() {
            match read {
                Read::Data { stream, bytes, end } => {
                    if self.on_data(now, stream, bytes, end) {
                        return Command::Close;
                    }
                }
                Read::Frame(Http2Frame::Settings { max_streams, .. }) => {
                    if let Some(most) = max_streams {
                        self.max_streams = usize::try_from(most).unwrap_or(usize::MAX);
                    }
                    self.control.push_back(Http2Frame::SettingsAck);
                }
                // the start of a response; windows for data that a client does not send
                Read::Frame(_) => {}
            }
        }
        Command::Wait
    }

    fn peer_closed(&mut self, _now: Time) -> Command {
        self.browser.abandoned();
        Command::Close
    }

    fn peer_aborted(&mut self, _now: Time) {
        self.browser.outcome.fail("reset by the server".to_owned());
    }

    fn failed(&mut self, reason: String) {
        self.browser.outcome.fail(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.browser.deadline()
    }

    fn wake(&mut self, now: Time) -> Command {
        self.browser.wake(now);
        if self.browser.is_superfluous(now) {
            self.browser.leave();
            return Command::Close;
        }
        Command::Wait
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
}
