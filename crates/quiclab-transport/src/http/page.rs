//! Browser and web server of a page, without their protocol.
//!
//! The browser asks for the HTML. When it is complete, and after its own time, it asks for all objects in the
//! order of the page, as many at a time as the protocol allows; the page is loaded with the last byte of the last object. (A real
//! browser's preload scanner finds references while the HTML arrives; HTML of one or two packets, as in page
//! load studies, is complete when it can be scanned.)
//!
//! The server takes its think time from the end of a request to the first byte of the response.
//!
//! | priority `browser` | urgency (RFC 9218) | incremental |
//! | --- | --- | --- |
//! | HTML | 0 | yes |
//! | style sheet, font | 0 | no |
//! | script | 1 | no |
//! | image | 3 | yes |
//!
//! These are Chromium's: `TypeToPriority` and `ShouldLoadIncremental` (blink, resource_fetcher.cc and
//! resource_request_utils.cc) give Very High, High and Low, of which net makes HIGHEST, MEDIUM and LOWEST, and
//! `ConvertRequestPriorityToQuicPriority` (net/quic/quic_http_utils.cc) HIGHEST minus that. Versions before
//! about 110 ask for nothing incremental. Images that turn out to be in view are raised later in Chromium, not
//! here: that needs a layout.

use crate::error::{Error, ensure, refused};
use crate::workload::{Outcome, Priority, Samples};
use quiclab_core::scenario::{ObjectKind, Priorities, Workload};
use quiclab_core::{ByteCount, Duration, Metrics, RandomStream, Time, draw_delay};
use std::collections::BTreeSet;

/// More would exhaust memory before anything is learned.
const MOST_OBJECTS: u64 = 100_000;
/// Longest header section: Chromium's limit for a header list (`kSpdyMaxHeaderListSize`).
const LONGEST_SECTION: u64 = 256 * 1024;

/// What there is on a page. Request 0 is for the HTML, request n for object n.
#[derive(Clone, Debug)]
pub(super) struct Page {
    /// Length and priority of each body.
    bodies: Vec<(u64, Priority)>,
    html_think_time: Duration,
    think_time: Duration,
    /// Length of header sections.
    pub(super) request: u64,
    pub(super) response: u64,
    /// Whether priorities are those of a browser: it also says so.
    pub(super) by_browser: bool,
}

impl Page {
    /// # Errors
    /// If a value is not allowed, or `workload` is no page.
    pub(super) fn new(workload: &Workload) -> Result<Self, Error> {
        let Workload::Page {
            html, objects, html_think_time, think_time, priorities, request, response, ..
        } = workload
        else {
            return Err(refused("workload.kind", workload.kind(), "`page`"));
        };
        let one =
            |field, size: ByteCount| ensure(size > ByteCount::ZERO, || refused(field, size, "1 B or more"));
        one("workload.html", *html)?;
        let sections = ByteCount::from_bytes(1)..=ByteCount::from_bytes(LONGEST_SECTION);
        crate::error::within("workload.request", Some(*request), sections.clone())?;
        crate::error::within("workload.response", Some(*response), sections)?;
        let mut bodies = vec![(html.bytes(), Self::HTML)];
        let count: u64 = objects.iter().map(|group| u64::from(group.count)).sum();
        ensure(count <= MOST_OBJECTS, || {
            refused("workload.objects", count, format!("at most {MOST_OBJECTS} in all"))
        })?;
        for group in objects {
            ensure(group.count > 0, || refused("workload.objects.count", group.count, "1 or more"))?;
            one("workload.objects.size", group.size)?;
            bodies.extend((0..group.count).map(|_| (group.size.bytes(), Self::priority_of(group.kind))));
        }
        let by_browser = *priorities == Priorities::Browser;
        if !by_browser {
            bodies.iter_mut().for_each(|body| body.1 = Self::IN_TURN);
        }
        Ok(Self {
            bodies,
            html_think_time: *html_think_time,
            think_time: *think_time,
            request: request.bytes(),
            response: response.bytes(),
            by_browser,
        })
    }

    const HTML: Priority = Priority { urgency: 0, incremental: true };
    /// All in turn: the urgency of RFC 9218 section 4.1 where nothing is said.
    const IN_TURN: Priority = Priority { urgency: 3, incremental: true };

    const fn priority_of(kind: ObjectKind) -> Priority {
        match kind {
            ObjectKind::Style | ObjectKind::Font => Priority { urgency: 0, incremental: false },
            ObjectKind::Script => Priority { urgency: 1, incremental: false },
            ObjectKind::Image => Priority { urgency: 3, incremental: true },
        }
    }

    /// Requests that loading it takes.
    pub(super) fn requests(&self) -> usize {
        self.bodies.len()
    }
    /// Length of the body that answers a request.
    pub(super) fn body(&self, request: usize) -> u64 {
        self.bodies[request].0
    }
    /// When the response to a request is sent.
    pub(super) fn priority(&self, request: usize) -> Priority {
        self.bodies[request].1
    }
}

/// The browser's own time of `workload`.
pub(super) fn own_time(workload: &Workload, random: RandomStream) -> Duration {
    match workload {
        Workload::Page { browser_time, .. } => draw_delay(browser_time, random),
        _ => Duration::ZERO,
    }
}

/// What becomes of the HTML in the browser.
#[derive(Clone, Copy, Debug)]
enum Reading {
    /// It is not complete.
    Before,
    Until(Time),
    Done,
}

/// The end that asks.
pub(super) struct Browser {
    pub(super) page: Page,
    /// Requests sent.
    asked: usize,
    /// When each was sent, and what of its body is still to come.
    responses: Vec<(Time, u64)>,
    complete: usize,
    html: Option<Duration>,
    /// Time of the browser itself between the HTML and the requests for what it names.
    own_time: Duration,
    reading: Reading,
    times: Samples,
    pub(super) outcome: Outcome,
}

impl Browser {
    /// `own_time` passes between the HTML and the requests for what it names.
    pub(super) fn new(page: Page, own_time: Duration) -> Self {
        Self {
            page,
            own_time,
            reading: Reading::Before,
            asked: 0,
            responses: Vec::new(),
            complete: 0,
            html: None,
            times: Samples::default(),
            outcome: Outcome::default(),
        }
    }

    pub(super) fn start(&mut self, now: Time) {
        self.outcome.progress.started = Some(now);
    }

    /// Whether a request is to be sent as soon as the protocol allows.
    pub(super) fn wants(&self) -> bool {
        self.asked == 0 || self.asked < self.page.requests() && matches!(self.reading, Reading::Done)
    }

    /// When the browser will have read the HTML.
    pub(super) const fn deadline(&self) -> Option<Time> {
        match self.reading {
            Reading::Until(end) => Some(end),
            Reading::Before | Reading::Done => None,
        }
    }

    /// The deadline is due.
    pub(super) fn wake(&mut self, now: Time) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.reading = Reading::Done;
        }
    }

    /// Requests whose responses are not complete.
    pub(super) fn open(&self) -> usize {
        self.asked - self.complete
    }

    /// Sends the next request: its number.
    pub(super) fn ask(&mut self, now: Time) -> usize {
        self.responses.push((now, self.page.body(self.asked)));
        self.asked += 1;
        self.asked - 1
    }

    /// Bytes of a body have arrived; whether the page is loaded.
    pub(super) fn receive(&mut self, now: Time, request: usize, bytes: u64) -> bool {
        let Some((asked, left)) = self.responses.get_mut(request) else { return false };
        let bytes = bytes.min(*left);
        *left -= bytes;
        self.outcome.progress.delivered_bytes += bytes;
        if bytes == 0 || *left > 0 {
            return false;
        }
        self.complete += 1;
        if request == 0 {
            let started = self.outcome.progress.started.unwrap_or(*asked);
            self.html = Some(now.since(started));
            self.reading = match self.own_time {
                Duration::ZERO => Reading::Done,
                own_time => Reading::Until(now + own_time),
            };
        } else {
            self.times.add(now.since(*asked));
        }
        let loaded = self.complete == self.page.requests();
        if loaded {
            self.outcome.finish(now);
        }
        loaded
    }

    /// The server has ended the connection.
    pub(super) fn abandoned(&mut self) {
        self.outcome.fail("closed by the server before the page was loaded".to_owned());
    }

    pub(super) fn statistics(&self, out: &mut Metrics) {
        let progress = &self.outcome.progress;
        out.count("objects", self.times.count());
        if let Some(html) = self.html {
            out.set("html_ms", html.as_ms_f64());
        }
        self.times.report("object_ms", out);
        if let (Some(started), Some(finished)) = (progress.started, progress.finished) {
            out.set("page_load_ms", finished.since(started).as_ms_f64());
        }
    }
}

/// The end that answers.
pub(super) struct WebServer {
    pub(super) page: Page,
    /// Requests that are being thought about, with the times of their responses.
    thinking: BTreeSet<(Time, usize)>,
    answered: usize,
    pub(super) outcome: Outcome,
}

impl WebServer {
    pub(super) fn new(page: Page) -> Self {
        Self { page, thinking: BTreeSet::new(), answered: 0, outcome: Outcome::default() }
    }

    /// A whole request has arrived.
    pub(super) fn asked(&mut self, now: Time, request: usize) {
        let progress = &mut self.outcome.progress;
        progress.started.get_or_insert(now);
        progress.delivered_bytes += self.page.request;
        let think = if request == 0 { self.page.html_think_time } else { self.page.think_time };
        if request < self.page.requests() {
            self.thinking.insert((now + think, request));
        }
    }

    /// The request whose response begins now.
    pub(super) fn next_response(&mut self, now: Time) -> Option<usize> {
        let &(_, request) = self.thinking.first().filter(|first| first.0 <= now)?;
        self.thinking.pop_first();
        self.answered += 1;
        Some(request)
    }

    /// When the next response begins.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.thinking.first().map(|first| first.0)
    }

    /// Whether all requests have got their responses.
    pub(super) fn is_done(&self) -> bool {
        self.answered == self.page.requests()
    }

    /// The client has ended the connection.
    pub(super) fn abandoned(&mut self, now: Time) {
        self.thinking.clear();
        if self.is_done() {
            self.outcome.finish(now);
        } else {
            self.outcome.fail("closed by the client before its last request".to_owned());
        }
    }

    pub(super) fn failed(&mut self, reason: String) {
        self.thinking.clear();
        self.outcome.fail(reason);
    }
}

/// Pages for tests.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use quiclab_core::scenario::{Delay, PageObjects};

    /// HTML of 1000 B with objects; think times of 5 and 2 ms, header sections of 100 and 200 B.
    pub(crate) fn page(objects: &[(u32, u64, ObjectKind)], priorities: Priorities) -> Workload {
        let group = |&(count, size, kind): &(u32, u64, ObjectKind)| PageObjects {
            count,
            size: ByteCount::from_bytes(size),
            kind,
        };
        Workload::Page {
            html: ByteCount::from_bytes(1000),
            objects: objects.iter().map(group).collect(),
            html_think_time: Duration::from_millis(5),
            think_time: Duration::from_millis(2),
            browser_time: Delay::default(),
            priorities,
            request: ByteCount::from_bytes(100),
            response: ByteCount::from_bytes(200),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::page;
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn objects_are_asked_for_when_the_html_is_complete() {
        let workload = page(&[(2, 300, ObjectKind::Image)], Priorities::Browser);
        let mut browser = Browser::new(Page::new(&workload).expect("a good page"), Duration::ZERO);
        browser.start(ms(10));
        assert!(browser.wants());
        assert_eq!((browser.ask(ms(30)), browser.wants()), (0, false));
        assert_eq!((browser.receive(ms(50), 0, 999), browser.wants()), (false, false));
        assert_eq!((browser.receive(ms(51), 0, 1), browser.wants()), (false, true));
        assert_eq!((browser.ask(ms(51)), browser.ask(ms(52)), browser.wants()), (1, 2, false));
        assert_eq!((browser.open(), browser.receive(ms(71), 2, 300)), (2, false));
        assert_eq!((browser.open(), browser.receive(ms(80), 1, 300)), (1, true));
        let progress = browser.outcome.progress;
        assert_eq!((progress.finished, progress.delivered_bytes), (Some(ms(80)), 1600));
        assert_eq!(workload.size(), Some(ByteCount::from_bytes(1600)));
        let mut out = Metrics::default();
        browser.statistics(&mut out);
        // 51 - 10; 71 - 52 and 80 - 51; 80 - 10
        let expected = [
            ("objects", 2.0),
            ("html_ms", 41.0),
            ("object_ms_mean", 24.0),
            ("object_ms_min", 19.0),
            ("object_ms_max", 29.0),
            ("object_ms_p50", 19.0),
            ("object_ms_p95", 29.0),
            ("object_ms_p99", 29.0),
            ("page_load_ms", 70.0),
        ];
        assert_eq!(out.0, expected);
    }

    #[test]
    fn a_browser_takes_its_time() {
        let workload = page(&[(1, 300, ObjectKind::Image)], Priorities::Browser);
        let page = Page::new(&workload).expect("a good page");
        let mut browser = Browser::new(page, Duration::from_millis(30));
        browser.start(ms(0));
        browser.ask(ms(0));
        browser.receive(ms(10), 0, 1000);
        assert_eq!((browser.wants(), browser.deadline()), (false, Some(ms(40))));
        browser.wake(ms(39));
        assert!(!browser.wants());
        browser.wake(ms(40));
        assert_eq!((browser.wants(), browser.deadline()), (true, None));
    }

    #[test]
    fn a_server_thinks_before_each_response() {
        let workload = page(&[(2, 300, ObjectKind::Image)], Priorities::Browser);
        let mut server = WebServer::new(Page::new(&workload).expect("a good page"));
        server.asked(ms(10), 0);
        assert_eq!((server.next_response(ms(14)), server.deadline()), (None, Some(ms(15))));
        assert_eq!((server.next_response(ms(15)), server.deadline()), (Some(0), None));
        server.asked(ms(20), 1);
        server.asked(ms(21), 2);
        assert_eq!((server.next_response(ms(22)), server.next_response(ms(22))), (Some(1), None));
        assert!(!server.is_done());
        assert_eq!((server.next_response(ms(23)), server.is_done()), (Some(2), true));
    }

    #[test]
    fn priorities_are_those_of_chromium_or_all_the_same() {
        use ObjectKind::{Font, Image, Script, Style};
        let objects = [(1, 1, Style), (1, 1, Script), (1, 1, Font), (1, 1, Image)];
        let of = |priorities| {
            let page = Page::new(&page(&objects, priorities)).expect("a good page");
            (0..5)
                .map(|request| (page.priority(request).urgency, page.priority(request).incremental))
                .collect::<Vec<_>>()
        };
        let browser = [(0, true), (0, false), (1, false), (0, false), (3, true)];
        assert_eq!(of(Priorities::Browser), browser);
        assert_eq!(of(Priorities::RoundRobin), [(3, true); 5]);
    }

    #[test]
    fn what_is_refused_is_named() {
        let none = page(&[(0, 1, ObjectKind::Image)], Priorities::Browser);
        let empty = page(&[(1, 0, ObjectKind::Image)], Priorities::Browser);
        let many = page(&[(100_001, 1, ObjectKind::Image)], Priorities::Browser);
        for (workload, expected) in [
            (none, "workload.objects.count: `0` is not allowed; allowed is 1 or more"),
            (empty, "workload.objects.size: `0 B` is not allowed; allowed is 1 B or more"),
            (many, "workload.objects: `100001` is not allowed; allowed is at most 100000 in all"),
        ] {
            assert_eq!(Page::new(&workload).expect_err("refused").to_string(), expected);
        }
    }
}
