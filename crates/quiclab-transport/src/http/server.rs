//! Web server: its think time passes from the end of a request to the first byte of the response.

use super::page::Page;
use crate::workload::Outcome;
use quiclab_core::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Web server on one connection.
pub(super) struct WebServer {
    pub(super) page: Arc<Page>,
    /// Total number of requests.
    pub(super) requests: usize,
    /// Requested resources by number of the request on this connection.
    resources: BTreeMap<usize, usize>,
    /// Requests in their think time, with the times of their responses.
    thinking: BTreeSet<(Time, usize)>,
    answered: usize,
    pub(super) outcome: Outcome,
}

impl WebServer {
    /// Makes the only server of a page.
    #[cfg(test)]
    pub(super) fn new(page: Page) -> Self {
        Self::of(Arc::new(page), 0)
    }

    /// Makes one of the servers of a page.
    pub(super) fn of(page: Arc<Page>, origin: usize) -> Self {
        Self {
            requests: page.requests_of(origin),
            page,
            resources: BTreeMap::new(),
            thinking: BTreeSet::new(),
            answered: 0,
            outcome: Outcome::default(),
        }
    }

    /// Handles a complete request.
    pub(super) fn asked(&mut self, now: Time, request: usize, resource: usize) {
        let Some(wanted) = self.page.resources.get(resource) else { return };
        self.outcome.progress.read(now, wanted.request);
        self.resources.insert(request, resource);
        self.thinking.insert((now + wanted.think_time, request));
    }

    /// Takes the request whose response starts now.
    pub(super) fn next_response(&mut self, now: Time) -> Option<usize> {
        let &(_, request) = self.thinking.first().filter(|first| first.0 <= now)?;
        self.thinking.pop_first();
        self.answered += 1;
        Some(request)
    }

    /// Resource of a request that has arrived.
    pub(super) fn resource(&self, request: usize) -> &super::page::Resource {
        &self.page.resources[self.resources[&request]]
    }

    /// Time at which the next response starts.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.thinking.first().map(|first| first.0)
    }

    /// Whether all requests have been responded to.
    pub(super) fn is_done(&self) -> bool {
        self.answered == self.requests
    }

    /// Handles a connection that the client has closed.
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

#[cfg(test)]
mod tests {
    use super::super::page::testing::page;
    use super::*;
    use crate::options::{ObjectKind, Priorities};
    use crate::testing::ms;

    #[test]
    fn a_server_thinks_before_each_response() {
        let workload = page(&[(2, 300, ObjectKind::Image)], Priorities::Browser);
        let mut server = WebServer::new(Page::new(&workload).expect("a good page"));
        server.asked(ms(10), 0, 0);
        assert_eq!((server.next_response(ms(14)), server.deadline()), (None, Some(ms(15))));
        assert_eq!((server.next_response(ms(15)), server.deadline()), (Some(0), None));
        server.asked(ms(20), 1, 1);
        server.asked(ms(21), 2, 2);
        assert_eq!((server.next_response(ms(22)), server.next_response(ms(22))), (Some(1), None));
        assert!(!server.is_done());
        assert_eq!((server.next_response(ms(23)), server.is_done()), (Some(2), true));
    }
}
