//! Browser: its requests and their times, for any protocol.
//!
//! A [`PageLoad`] is the load of a page, a [`Browser`] its view from one connection. The HTML is wanted at
//! once; every other resource when its prerequisites are complete and its delay has elapsed; after the HTML,
//! the CPU time of the browser is added. Requests are sent in that order, with the concurrency that the
//! protocol allows.
//!
//! A browser has two threads that execute tasks one after another ([`BrowserTimes`]):
//!
//! - The network thread prepares the requests that the page issues, in two tasks each. Both are in one queue,
//!   so a request is sent when all requests are prepared that were issued before its first task was done; the
//!   first of a page meets an empty queue and is sent when it is prepared. A few are sent early, most
//!   together at the end (HAR of Chromium 156: docs/studies/page_load.md).
//! - The page thread handles complete objects; the page is loaded when it has handled all.
//!
//! (A real browser's preload scanner finds references while the HTML arrives; HTML of one or two packets, as in page
//! load studies, is complete when it can be scanned.)
//!
//! With several connections, each must be woken when others have completed a resource
//! ([`PageLoad::next_woken`]): `origins`.

use super::page::{BrowserTimes, Page};
use crate::workload::{Outcome, Samples};
use quiclab_core::{ByteCount, Duration, Metrics, RequestTimes, Time};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

quiclab_core::metrics! {
    /// Page load.
    pub static PAGE: PageMetrics = Flow, "client of `page`" {
        /// Complete objects other than the HTML.
        objects: Counter, End;
        /// From the start of the client to the last byte of the HTML.
        html_ms: Time, End;
        /// From the request for an object to its last byte; a wait for a stream is before that.
        object_ms: Distribution, End;
        /// From the start of the client to the last byte of the last object.
        page_load_ms: Time, End;
    }
}

/// State of a resource.
#[derive(Clone, Copy, Debug)]
struct ResourceState {
    /// Number of its prerequisites that are not complete.
    missing: u32,
    /// Remaining bytes of its body.
    left: u64,
    wanted: Option<Time>,
    asked: Option<Time>,
    first_byte: Option<Time>,
    complete: Option<Time>,
}

/// State shared by all connections of a browser.
pub(super) struct PageLoad {
    page: Arc<Page>,
    times: BrowserTimes,
    courses: Vec<ResourceState>,
    /// Resources whose delay has not elapsed.
    delayed: BTreeSet<(Time, usize)>,
    /// Resources whose requests are being prepared, with the time at which they are sent.
    preparing: BTreeSet<(Time, usize)>,
    /// Times at which all requests wanted so far are issued, and prepared.
    issued: Time,
    prepared: Time,
    /// Time at which all objects complete so far are handled.
    handled: Time,
    /// Resources to request, by origin.
    wanted: Vec<VecDeque<usize>>,
    /// Origins with new work.
    woken: BTreeSet<usize>,
    /// Times at which each connection was started, and ready.
    connections: Vec<[Option<Time>; 2]>,
    complete: usize,
    html: Option<Duration>,
    object_times: Samples,
}

impl PageLoad {
    pub(super) fn new(page: Arc<Page>, times: BrowserTimes) -> Self {
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
            times,
            courses: page.resources.iter().map(course).collect(),
            delayed: BTreeSet::new(),
            preparing: BTreeSet::new(),
            issued: Time::ZERO,
            prepared: Time::ZERO,
            handled: Time::ZERO,
            wanted,
            woken: BTreeSet::new(),
            connections: vec![[None; 2]; page.origins],
            complete: 0,
            html: None,
            object_times: Samples::default(),
            page,
        }
    }

    /// Time at which the page is loaded, if it is complete.
    fn loaded(&self) -> Option<Time> {
        (self.complete == self.courses.len()).then_some(self.handled)
    }

    fn is_loaded(&self, now: Time) -> bool {
        self.loaded().is_some_and(|loaded| loaded <= now)
    }

    /// Time at which the next delay or preparation ends.
    pub(super) fn deadline(&self) -> Option<Time> {
        let first = |times: &BTreeSet<(Time, usize)>| times.first().map(|first| first.0);
        first(&self.delayed).into_iter().chain(first(&self.preparing)).min()
    }

    /// Marks resources as wanted whose delay has elapsed, and releases prepared requests.
    pub(super) fn wake(&mut self, now: Time) {
        let mut due = Vec::new();
        while let Some(&(_, resource)) = self.delayed.first().filter(|first| first.0 <= now) {
            self.delayed.pop_first();
            due.push(resource);
        }
        self.prepare(now, &due);
        while let Some(&(_, resource)) = self.preparing.first().filter(|first| first.0 <= now) {
            self.preparing.pop_first();
            self.let_leave(resource);
        }
    }

    /// Issues the requests for the resources wanted now, and starts their preparation.
    fn prepare(&mut self, now: Time, wanted: &[usize]) {
        let mut requests = Vec::with_capacity(wanted.len());
        for &resource in wanted {
            self.issued = self.issued.max(now) + self.times.issue;
            self.prepared = self.prepared.max(self.issued) + self.times.request;
            self.courses[resource].wanted = Some(self.issued);
            requests.push((resource, self.issued, self.prepared));
        }
        let mut last = 0; // of those issued before the first task is done
        for (number, &(resource, _, prepared)) in requests.iter().enumerate() {
            while number > 0 && requests.get(last + 1).is_some_and(|&(_, issued, _)| issued <= prepared) {
                last += 1;
            }
            match requests[last].2 {
                leaves if leaves <= now => self.let_leave(resource),
                leaves => _ = self.preparing.insert((leaves, resource)),
            }
        }
    }

    /// Takes the next origin whose connection is to be opened or closed, or has requests to send.
    pub(super) fn next_woken(&mut self) -> Option<usize> {
        self.woken.pop_first()
    }

    fn let_leave(&mut self, resource: usize) {
        let origin = self.page.resources[resource].origin;
        self.wanted[origin].push_back(resource);
        self.woken.insert(origin);
    }

    fn on_complete(&mut self, now: Time, resource: usize) {
        let course = &mut self.courses[resource];
        course.complete = Some(now);
        let asked = course.asked.unwrap_or(now);
        self.complete += 1;
        let mut own_time = Duration::ZERO;
        if resource == 0 {
            own_time = self.times.html;
            self.html = Some(now.since(self.connections[0][0].unwrap_or(asked)));
        } else {
            self.object_times.add(now.since(asked));
        }
        let handling = if resource == 0 { Duration::ZERO } else { self.times.object };
        self.handled = self.handled.max(now) + handling;
        let page = Arc::clone(&self.page);
        let mut due = Vec::new();
        for &follower in &page.resources[resource].followers {
            let follower = follower as usize;
            let missing = &mut self.courses[follower].missing;
            *missing -= 1;
            if *missing > 0 {
                continue;
            }
            match page.resources[follower].delay + own_time {
                Duration::ZERO => due.push(follower),
                delay => _ = self.delayed.insert((now + delay, follower)),
            }
        }
        self.prepare(now, &due);
        if self.is_loaded(now) {
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

/// Connection of the browser with its requests.
pub(super) struct Browser {
    pub(super) page: Arc<Page>,
    visit: Arc<Mutex<PageLoad>>,
    origin: usize,
    /// Resources requested on this connection, in order.
    asked: Vec<usize>,
    /// Number of them that are complete.
    complete: usize,
    /// Whether the connection is to be closed.
    over: bool,
    pub(super) outcome: Outcome,
}

impl Browser {
    /// Makes the only connection of a browser.
    #[cfg(test)]
    pub(super) fn new(page: Page, times: BrowserTimes) -> Self {
        let visit = PageLoad::new(Arc::new(page), times);
        Self::of(&Arc::new(Mutex::new(visit)), 0)
    }

    /// Makes the connection to one of the page's servers.
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

    /// Handles the establishment of the connection: requests may be sent.
    pub(super) fn connected(&self, now: Time) {
        lock(&self.visit).connections[self.origin][1] = Some(now);
    }

    /// Whether a request is to be sent as soon as the protocol allows.
    pub(super) fn wants(&self) -> bool {
        !lock(&self.visit).wanted[self.origin].is_empty()
    }

    /// Time of the next event other than a packet: the end of a delay, or of the page load.
    pub(super) fn deadline(&self) -> Option<Time> {
        let visit = lock(&self.visit); // once: endpoints call this after every packet
        if self.over { visit.deadline() } else { visit.loaded().or_else(|| visit.deadline()) }
    }

    /// Time at which the next request in preparation is sent.
    pub(super) fn preparing(&self) -> Option<Time> {
        lock(&self.visit).preparing.first().map(|first| first.0)
    }

    /// Handles the deadline.
    pub(super) fn wake(&mut self, now: Time) {
        lock(&self.visit).wake(now);
    }

    /// Whether the page is loaded without notice to this connection: others received the last byte, or it was
    /// handled only now.
    pub(super) fn is_superfluous(&self, now: Time) -> bool {
        !self.over && lock(&self.visit).is_loaded(now)
    }

    /// Records that this connection is closed because the page is loaded.
    pub(super) fn leave(&mut self) {
        self.over = true;
        if let Some(loaded) = lock(&self.visit).loaded() {
            self.outcome.finish(loaded);
        }
    }

    /// Number of requests whose responses are not complete.
    pub(super) fn open(&self) -> usize {
        self.asked.len() - self.complete
    }

    /// Takes the next request; returns its resource.
    pub(super) fn ask(&mut self, now: Time) -> usize {
        let mut visit = lock(&self.visit);
        let resource = visit.wanted[self.origin].pop_front().expect("asked for only what is wanted");
        visit.courses[resource].asked = Some(now);
        drop(visit);
        self.asked.push(resource);
        resource
    }

    /// Resource of the request with this number on this connection.
    pub(super) fn resource(&self, request: usize) -> Option<usize> {
        self.asked.get(request).copied()
    }

    /// Handles body bytes of the response to a request of this connection; returns whether the page is
    /// loaded.
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
        if visit.is_loaded(now) {
            self.over = true;
            self.outcome.finish(now);
        }
        self.over
    }

    /// Handles a connection that the server has closed.
    pub(super) fn abandoned(&mut self) {
        self.outcome.fail("closed by the server before the page was loaded".to_owned());
    }

    /// Reports the values of the page, at the connection to the server of the HTML.
    pub(super) fn statistics(&self, out: &mut Metrics) {
        if self.origin != 0 {
            return;
        }
        let visit = lock(&self.visit);
        out.count(&PAGE.objects, visit.object_times.count());
        if let Some(html) = visit.html {
            out.set(&PAGE.html_ms, html.as_ms_f64());
        }
        visit.object_times.report(&PAGE.object_ms, out);
        if let (Some(started), Some(finished)) = (visit.connections[0][0], visit.loaded()) {
            out.set(&PAGE.page_load_ms, finished.since(started).as_ms_f64());
        }
    }

    pub(super) fn requests(&self) -> Vec<RequestTimes> {
        lock(&self.visit).requests()
    }
}

/// Locks the page load; one thread runs a topology, so the lock is never contended.
pub(super) fn lock(visit: &Mutex<PageLoad>) -> MutexGuard<'_, PageLoad> {
    visit.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "browser_tests.rs"]
mod tests;
