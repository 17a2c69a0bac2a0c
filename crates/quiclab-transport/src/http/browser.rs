//! The browser: what it wants when, in any protocol.
//!
//! A [`PageLoad`] is a page being loaded, a [`Browser`] what one of its connections sees of it. The HTML is wanted at
//! once; every other resource when those that lead to it are complete, and its delay is over; after the HTML, the
//! browser's own time passes, too. Requests go out in that
//! order, as many at a time as the protocol allows.
//!
//! A browser computes, in two threads that take one piece of work after the other ([`BrowserTimes`]):
//!
//! - The one of the network prepares the requests that the page issues, in two tasks each. Both stand in one queue, so a
//!   request leaves when all those are prepared that were issued before its first task was done; the first of a page
//!   meets an empty queue and leaves when it is prepared. A few leave early, most together at the end (HAR of Chromium
//!   156: docs/studies/page_load.md).
//! - The one of the page handles objects that are complete; the page is loaded when it has handled all.
//!
//! (A real browser's preload scanner finds references while the HTML arrives; HTML of one or two packets, as in page
//! load studies, is complete when it can be scanned.)
//!
//! Where there are several connections, each must be woken when others have completed something
//! ([`PageLoad::next_woken`]): `origins`.

use super::page::{BrowserTimes, Page};
use crate::workload::{Outcome, Samples};
use quiclab_core::{ByteCount, Duration, Metrics, RequestTimes, Time};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

quiclab_core::metrics! {
    /// Page load.
    pub static PAGE: PageMetrics = "client of `page`" {
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
    times: BrowserTimes,
    courses: Vec<ResourceState>,
    /// Resources whose delay is not over.
    delayed: BTreeSet<(Time, usize)>,
    /// Resources whose requests are being prepared, with the time at which they leave.
    preparing: BTreeSet<(Time, usize)>,
    /// When all requests wanted so far are issued, and prepared.
    issued: Time,
    prepared: Time,
    /// When all objects complete so far are handled.
    handled: Time,
    /// Resources to ask for, by origin.
    wanted: Vec<VecDeque<usize>>,
    /// Origins for which there is something new to do.
    woken: BTreeSet<usize>,
    /// When each connection began, and when it was ready.
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

    /// When the page is loaded, if all of it is there.
    fn loaded(&self) -> Option<Time> {
        (self.complete == self.courses.len()).then_some(self.handled)
    }

    fn is_loaded(&self, now: Time) -> bool {
        self.loaded().is_some_and(|loaded| loaded <= now)
    }

    /// When the next delay or preparation is over.
    pub(super) fn deadline(&self) -> Option<Time> {
        let first = |times: &BTreeSet<(Time, usize)>| times.first().map(|first| first.0);
        first(&self.delayed).into_iter().chain(first(&self.preparing)).min()
    }

    /// Wants what is due, and lets requests leave that are prepared.
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

    /// Issues the requests for what is wanted now, and begins to prepare them.
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

    /// The next origin whose connection must look: it is to be opened, has something to ask for, or to close.
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
    pub(super) fn new(page: Page, times: BrowserTimes) -> Self {
        let visit = PageLoad::new(Arc::new(page), times);
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
        if self.over { visit.deadline() } else { visit.loaded().or_else(|| visit.deadline()) }
    }

    /// When the next request leaves that is being prepared.
    pub(super) fn preparing(&self) -> Option<Time> {
        lock(&self.visit).preparing.first().map(|first| first.0)
    }

    /// The deadline is due.
    pub(super) fn wake(&mut self, now: Time) {
        lock(&self.visit).wake(now);
    }

    /// Whether the page is loaded and this connection does not know it: others had the last byte, or it was handled
    /// only now.
    pub(super) fn is_superfluous(&self, now: Time) -> bool {
        !self.over && lock(&self.visit).is_loaded(now)
    }

    /// This connection is closed now because the page is loaded.
    pub(super) fn leave(&mut self) {
        self.over = true;
        if let Some(loaded) = lock(&self.visit).loaded() {
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
        if visit.is_loaded(now) {
            self.over = true;
            self.outcome.finish(now);
        }
        self.over
    }

    /// The server has ended the connection.
    pub(super) fn abandoned(&mut self) {
        self.outcome.fail("closed by the server before the page was loaded".to_owned());
    }

    /// Adds the values of the page, at the connection to the server of the HTML.
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

/// One thread runs a topology, so the lock is never contended.
pub(super) fn lock(visit: &Mutex<PageLoad>) -> MutexGuard<'_, PageLoad> {
    visit.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "browser_tests.rs"]
mod tests;
