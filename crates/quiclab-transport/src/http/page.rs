//! Pages: their resources, dependencies between them, and priorities of responses.
//!
//! Resource 0 is the HTML. Objects follow in the order of the page, all wanted when the HTML is complete;
//! each of `resources` names its prerequisites, the delay after these, and its server.
//!
//! | priority `browser` | urgency (RFC 9218) | incremental |
//! | --- | --- | --- |
//! | HTML | 0 | yes |
//! | style sheet, font | 0 | no |
//! | script | 1 | no |
//! | image | 3 | yes |
//!
//! These are Chromium's: `TypeToPriority` and `ShouldLoadIncremental` (blink, resource_fetcher.cc and
//! resource_request_utils.cc) give Very High, High and Low, which net maps to HIGHEST, MEDIUM and LOWEST, and
//! `ConvertRequestPriorityToQuicPriority` (net/quic/quic_http_utils.cc) to HIGHEST minus that. Versions
//! before about 110 request nothing as incremental. Chromium later raises the priority of images in view;
//! this is not modelled, as it needs a layout.

use crate::error::{Error, conflict};
use crate::options::{ObjectKind, Priorities, Workload};
use crate::workload::Priority;
use quiclab_core::problem::ensure;
use quiclab_core::{ByteCount, Duration, Problem, RandomStream, draw_delay};

/// Maximum number of objects: more would exhaust the memory.
const MAX_OBJECTS: u64 = 100_000;
/// Resource of a page with its request and response.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    /// Length of the body.
    pub(super) body: u64,
    /// Priority of the response.
    pub(super) priority: Priority,
    /// Lengths of the header sections of request and response.
    pub(super) request: u64,
    pub(super) response: u64,
    /// Time from the end of the request to the first byte of the response.
    pub(super) think_time: Duration,
    /// Number of its server.
    pub(super) origin: usize,
    /// Number of resources that must be complete before it is wanted, and the delay after the last of them.
    pub(super) prerequisites: u32,
    pub(super) delay: Duration,
    /// Resources that need this one.
    pub(super) followers: Vec<u32>,
}

/// Contents of a page.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) resources: Vec<Resource>,
    /// Number of servers.
    pub(super) origins: usize,
    /// Whether priorities are those of a browser, which it also sends.
    pub(super) by_browser: bool,
}

impl Page {
    /// # Errors
    /// If a value is not allowed, or `workload` is not a page.
    pub(super) fn new(workload: &Workload) -> Result<Self, Error> {
        let Workload::Page {
            html,
            objects,
            resources,
            html_think_time,
            think_time,
            priorities,
            request,
            response,
            ..
        } = workload
        else {
            return Err(Problem::unknown("workload.kind", workload.kind(), ["page"]));
        };
        let resource = |size: ByteCount, priority, prerequisites| Resource {
            body: size.bytes(),
            priority,
            request: request.bytes(),
            response: response.bytes(),
            think_time: *think_time,
            origin: 0,
            prerequisites,
            delay: Duration::ZERO,
            followers: Vec::new(),
        };
        let mut all = vec![Resource { think_time: *html_think_time, ..resource(*html, Self::HTML, 0) }];
        let count: u64 = objects.iter().map(|group| u64::from(group.count)).sum();
        ensure(count <= MAX_OBJECTS, || {
            conflict("workload.objects", count, format!("at most {MAX_OBJECTS} objects"))
        })?;
        for group in objects {
            let object = resource(group.size, Self::priority_of(group.kind), 1);
            all.extend((0..group.count).map(|_| object.clone()));
        }
        all[0].followers = (1..all.len()).map(|number| number as u32).collect();
        ensure(resources.len() as u64 <= MAX_OBJECTS, || {
            conflict("workload.resources", resources.len(), format!("at most {MAX_OBJECTS} resources"))
        })?;
        for given in resources {
            let number = all.len() as u32;
            given.after.iter().for_each(|&before| all[before as usize].followers.push(number));
            let default = resource(given.size, Self::priority_of(given.kind), given.after.len() as u32);
            all.push(Resource {
                request: given.request.map_or(default.request, ByteCount::bytes),
                response: given.response.map_or(default.response, ByteCount::bytes),
                think_time: given.think_time.unwrap_or(default.think_time),
                origin: given.origin as usize,
                delay: given.delay,
                ..default
            });
        }
        let by_browser = *priorities == Priorities::Browser;
        if !by_browser {
            all.iter_mut().for_each(|resource| resource.priority = Self::IN_TURN);
        }
        let origins = 1 + all.iter().map(|resource| resource.origin).max().unwrap_or(0);
        Ok(Self { resources: all, origins, by_browser })
    }

    const HTML: Priority = Priority { urgency: 0, incremental: true };
    /// Priority of resources sent in turn: default urgency of RFC 9218 section 4.1.
    const IN_TURN: Priority = Priority { urgency: 3, incremental: true };

    const fn priority_of(kind: ObjectKind) -> Priority {
        match kind {
            ObjectKind::Style | ObjectKind::Font => Priority { urgency: 0, incremental: false },
            ObjectKind::Script => Priority { urgency: 1, incremental: false },
            ObjectKind::Image => Priority { urgency: 3, incremental: true },
        }
    }

    /// Number of requests to one server.
    pub(super) fn requests_of(&self, origin: usize) -> usize {
        self.resources.iter().filter(|resource| resource.origin == origin).count()
    }
}

/// CPU times of a browser.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BrowserTimes {
    /// Time between the HTML and the requests for its objects.
    pub(super) html: Duration,
    /// Time for each request that the page issues.
    pub(super) issue: Duration,
    /// Time for each request that the network prepares.
    pub(super) request: Duration,
    /// Time for each complete object.
    pub(super) object: Duration,
}

/// CPU times of the browser in `workload`; the one after the HTML is drawn at random.
pub(super) fn browser_times(workload: &Workload, random: RandomStream) -> BrowserTimes {
    match workload {
        Workload::Page { browser_time, issue_time, request_time, object_time, .. } => BrowserTimes {
            html: draw_delay(browser_time, random),
            issue: *issue_time,
            request: *request_time,
            object: *object_time,
        },
        _ => BrowserTimes::default(),
    }
}

/// Pages for tests.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::options::PageObjects;
    use quiclab_core::link::Delay;

    /// Page with an HTML of 1000 B and objects; think times of 5 and 2 ms, header sections of 100 and 200 B.
    pub(crate) fn page(objects: &[(u32, u64, ObjectKind)], priorities: Priorities) -> Workload {
        let group = |&(count, size, kind): &(u32, u64, ObjectKind)| PageObjects {
            count,
            size: ByteCount::from_bytes(size),
            kind,
        };
        Workload::Page {
            html: ByteCount::from_bytes(1000),
            objects: objects.iter().map(group).collect(),
            resources: Vec::new(),
            html_think_time: Duration::from_millis(5),
            think_time: Duration::from_millis(2),
            browser_time: Delay::default(),
            issue_time: Duration::ZERO,
            request_time: Duration::ZERO,
            object_time: Duration::ZERO,
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

    #[test]
    fn priorities_are_those_of_chromium_or_all_the_same() {
        use ObjectKind::{Font, Image, Script, Style};
        let objects = [(1, 1, Style), (1, 1, Script), (1, 1, Font), (1, 1, Image)];
        let of = |priorities| {
            let page = Page::new(&page(&objects, priorities)).expect("a good page");
            let of = |resource: &Resource| (resource.priority.urgency, resource.priority.incremental);
            page.resources.iter().map(of).collect::<Vec<_>>()
        };
        let browser = [(0, true), (0, false), (1, false), (0, false), (3, true)];
        assert_eq!(of(Priorities::Browser), browser);
        assert_eq!(of(Priorities::RoundRobin), [(3, true); 5]);
    }

    #[test]
    fn a_page_has_a_largest_number_of_objects() {
        let many = page(&[(100_001, 1, ObjectKind::Image)], Priorities::Browser);
        let problem = Page::new(&many).expect_err("rejected");
        assert_eq!(problem.path.to_string(), "workload.objects");
    }
}
