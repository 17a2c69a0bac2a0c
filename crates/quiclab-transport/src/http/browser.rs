//! The browser: what it wants when, in any protocol.
//!
//! A [`PageLoad`] is a page being loaded, a [`Browser`] what one of its connections sees of it. The HTML is wanted at
//! once; every other resource when those that lead to it are complete, and its delay is over; after the HTML, the
//! browser's own time passes, too. Requests go out in that
//! order, as many at a time as the protocol allows; the page is loaded with the last byte of the last resource.
//! (A real browser's preload scanner finds references while the HTML arrives; HTML of one or two packets, as in page
//! load studies, is complete when it can be scanned.)
//!
//! Where there are several connections, each must be woken when others have completed something
//! ([`PageLoad::next_woken`]): `origins`.

use super::page::Page;
use crate::workload::{Outcome, Samples};
use quiclab_core::{ByteCount, Duration, Metrics, RequestTimes, Time};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What has happened to a resource.
#[derive(Clone, Copy, Debug)]
struct ResourceState {
    /// Resources that must be complete before it is wanted, and are not.
    missing: u32,
    /// Bytes of its body still to come.
    left: u64,
    wanted: Option<Time>,
    asked: Option<Time>,
    first_byte: Option<Time>,
    complete: Option<Time>,
}

/// What all connections of a browser share.
pub(super) struct PageLoad {
    page: Arc<Page>,
    /// Time of the browser itself between the HTML and the requests for what it names.
    own_time: Duration,
    courses: Vec<ResourceState>,
    /// Resources whose delay is not over.
    delayed: BTreeSet<(Time, usize)>,
    /// Resources to ask for, by origin.
    wanted: Vec<VecDeque<usize>>,
    /// Origins for which there is something new to do.
    woken: BTreeSet<usize>,
    /// When each connection began, and when it was ready.
    connections: Vec<[Option<Time>; 2]>,
    complete: usize,
    html: Option<Duration>,
    times: Samples,
    loaded: Option<Time>,
}

impl PageLoad {
    /// `own_time` passes between the HTML and the requests for what it names.
    pub(super) fn new(page: Arc<Page>, own_time: Duration) -> Self {
        let course = |resource: &super::page::Resource| ResourceState {
            missing: resource.prerequisites,
            left: resource.body,
            wanted: None,
            asked: None,
            first_byte: None,
            complete: None,
        };
        let mut wanted = vec![VecDeque::new(); page.origins];
        wanted[0].push_back(0);
        Self {
            own_time,
            courses: page.resources.iter().map(course).collect(),
            delayed: BTreeSet::new(),
            wanted,
            woken: BTreeSet::new(),
            connections: vec![[None; 2]; page.origins],
            complete: 0,
            html: None,
            times: Samples::default(),
            loaded: None,
            page,
        }
    }

    fn is_loaded(&self) -> bool {
        self.complete == self.courses.len()
    }

    /// When the next delay is over.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.delayed.first().map(|first| first.0)
    }

    /// Wants what is due.
    pub(super) fn wake(&mut self, now: Time) {
        while let Some(&(_, resource)) = self.delayed.first().filter(|first| first.0 <= now) {
            self.delayed.pop_first();
            self.want(now, resource);
        }
    }

    /// The next origin whose connection must look: it is to be opened, has something to ask for, or to close.
    pub(super) fn next_woken(&mut self) -> Option<usize> {
        self.woken.pop_first()
    }

    fn want(&mut self, now: Time, resource: usize) {
        let origin = self.page.resources[resource].origin;
        self.courses[resource].wanted = Some(now);
        self.wanted[origin].push_back(resource);
        self.woken.insert(origin);
    }

    fn on_complete(&mut self, now: Time, resource: usize) {
        let course = &mut self.courses[resource];
        course.complete = Some(now);
        let asked = course.asked.unwrap_or(now);
        self.complete += 1;
        if resource == 0 {
            self.html = Some(now.since(self.connections[0][0].unwrap_or(asked)));
        } else {
            self.times.add(now.since(asked));
        }
        let page = Arc::clone(&self.page);
        for &follower in &page.resources[resource].followers {
            let follower = follower as usize;
            let missing = &mut self.courses[follower].missing;
            *missing -= 1;
            if *missing > 0 {
                continue;
            }
            let own_time = if resource == 0 { self.own_time } else { Duration::ZERO };
            match page.resources[follower].delay + own_time {
                Duration::ZERO => self.want(now, follower),
                delay => _ = self.delayed.insert((now + delay, follower)),
            }
        }
        if self.is_loaded() {
            self.loaded = Some(now);
            self.woken.extend(0..page.origins);
        }
    }

    fn requests(&self) -> Vec<RequestTimes> {
        let times = |(number, course): (usize, &ResourceState)| {
            let resource = &self.page.resources[number];
            let [connecting, connected] = self.connections[resource.origin];
            RequestTimes {
                resource: number as u32,
                origin: resource.origin as u32,
                size: ByteCount::from_bytes(resource.body),
                connecting,
                connected,
                wanted: course.wanted,
                asked: course.asked,
                first_byte: course.first_byte,
                complete: course.complete,
            }
        };
        self.courses.iter().enumerate().map(times).collect()
    }
}

/// A connection of the browser, and what it carries.
pub(super) struct Browser {
    pub(super) page: Arc<Page>,
    visit: Arc<Mutex<PageLoad>>,
    origin: usize,
    /// Resources asked for on this connection, in order.
    asked: Vec<usize>,
    /// How many of them are complete.
    complete: usize,
    /// Its end is decided.
    over: bool,
    pub(super) outcome: Outcome,
}

impl Browser {
    /// The only connection of a browser.
    #[cfg(test)]
    pub(super) fn new(page: Page, own_time: Duration) -> Self {
        let visit = PageLoad::new(Arc::new(page), own_time);
        Self::of(&Arc::new(Mutex::new(visit)), 0)
    }

    /// The connection to one of the page's servers.
    pub(super) fn of(visit: &Arc<Mutex<PageLoad>>, origin: usize) -> Self {
        let page = Arc::clone(&lock(visit).page);
        let (visit, outcome) = (Arc::clone(visit), Outcome::default());
        Self { page, visit, origin, asked: Vec::new(), complete: 0, over: false, outcome }
    }

    pub(super) fn start(&mut self, now: Time) {
        self.outcome.progress.started = Some(now);
        let mut visit = lock(&self.visit);
        visit.connections[self.origin][0] = Some(now);
        if self.origin == 0 {
            visit.courses[0].wanted = Some(now);
        }
    }

    /// Requests may be sent.
    pub(super) fn connected(&self, now: Time) {
        lock(&self.visit).connections[self.origin][1] = Some(now);
    }

    /// Whether a request is to be sent as soon as the protocol allows.
    pub(super) fn wants(&self) -> bool {
        !lock(&self.visit).wanted[self.origin].is_empty()
    }

    /// When there is something to do that no packet brings: a delay is over, or the page is loaded.
    pub(super) fn deadline(&self) -> Option<Time> {
        let visit = lock(&self.visit); // once: endpoints ask after every packet
        if !self.over && visit.is_loaded() { Some(Time::ZERO) } else { visit.deadline() }
    }

    /// The deadline is due.
    pub(super) fn wake(&mut self, now: Time) {
        lock(&self.visit).wake(now);
    }

    /// Whether the page is loaded and this connection does not know it: others had the last byte.
    pub(super) fn is_superfluous(&self) -> bool {
        !self.over && lock(&self.visit).is_loaded()
    }

    /// This connection is closed now because the page is loaded.
    pub(super) fn leave(&mut self) {
        self.over = true;
        if let Some(loaded) = lock(&self.visit).loaded {
            self.outcome.finish(loaded);
        }
    }

    /// Requests whose responses are not complete.
    pub(super) fn open(&self) -> usize {
        self.asked.len() - self.complete
    }

    /// Sends the next request: the resource that it is for.
    pub(super) fn ask(&mut self, now: Time) -> usize {
        let mut visit = lock(&self.visit);
        let resource = visit.wanted[self.origin].pop_front().expect("asked for only what is wanted");
        visit.courses[resource].asked = Some(now);
        drop(visit);
        self.asked.push(resource);
        resource
    }

    /// Resources that are complete.
    pub(super) const fn complete(&self) -> u64 {
        self.complete as u64
    }

    /// The resource that the request with this number on this connection is for.
    pub(super) fn resource(&self, request: usize) -> Option<usize> {
        self.asked.get(request).copied()
    }

    /// Bytes of the body that answers a request of this connection have arrived; whether the page is loaded.
    pub(super) fn receive(&mut self, now: Time, request: usize, bytes: u64) -> bool {
        let Some(resource) = self.resource(request) else { return false };
        let mut visit = lock(&self.visit);
        let course = &mut visit.courses[resource];
        let bytes = bytes.min(course.left);
        course.left -= bytes;
        self.outcome.progress.delivered_bytes += bytes;
        if bytes == 0 {
            return false;
        }
        course.first_byte.get_or_insert(now);
        if course.left > 0 {
            return false;
        }
        self.complete += 1;
        visit.on_complete(now, resource);
        if visit.is_loaded() {
            self.over = true;
            self.outcome.finish(now);
        }
        self.over
    }

    /// The server has ended the connection.
    pub(super) fn abandoned(&mut self) {
        self.outcome.fail("closed by the server before the page was loaded".to_owned());
    }

    pub(super) fn statistics(&self, out: &mut Metrics) {
        let visit = lock(&self.visit);
        out.count("objects", visit.times.count());
        if let Some(html) = visit.html {
            out.set("html_ms", html.as_ms_f64());
        }
        visit.times.report("object_ms", out);
        if let (Some(started), Some(finished)) = (visit.connections[0][0], visit.loaded) {
            out.set("page_load_ms", finished.since(started).as_ms_f64());
        }
    }

    pub(super) fn requests(&self) -> Vec<RequestTimes> {
        lock(&self.visit).requests()
    }
}

/// One thread runs a topology, so the lock is never contended.
pub(super) fn lock(visit: &Mutex<PageLoad>) -> MutexGuard<'_, PageLoad> {
    visit.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::page::testing::page;
    use super::*;
    use crate::options::{ObjectKind, Priorities};
    use crate::testing::ms;

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
}
