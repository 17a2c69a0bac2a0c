//! The browser by hand.

use super::*;
use crate::http::page::testing::page;
use crate::options::{ObjectKind, Priorities};
use crate::testing::ms;

#[test]
fn objects_are_asked_for_when_the_html_is_complete() {
    let workload = page(&[(2, 300, ObjectKind::Image)], Priorities::Browser);
    let mut browser = Browser::new(Page::new(&workload).expect("a good page"), BrowserTimes::default());
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
    assert_eq!(out, expected);
}

#[test]
fn a_browser_takes_its_time() {
    let workload = page(&[(1, 300, ObjectKind::Image)], Priorities::Browser);
    let page = Page::new(&workload).expect("a good page");
    let times = BrowserTimes { html: Duration::from_millis(30), ..BrowserTimes::default() };
    let mut browser = Browser::new(page, times);
    browser.start(ms(0));
    browser.ask(ms(0));
    browser.receive(ms(10), 0, 1000);
    assert_eq!((browser.wants(), browser.deadline()), (false, Some(ms(40))));
    browser.wake(ms(39));
    assert!(!browser.wants());
    browser.wake(ms(40));
    assert_eq!((browser.wants(), browser.deadline()), (true, None));
}

/// Three requests are issued at 11, 12 and 13 and prepared at 14, 17 and 20: the first leaves then, and the second with
/// the third, which was issued before it was prepared. Two objects of 5 ms are complete at 30 and 31 and handled at 35 and 40, the third,
/// complete at 50, at 55.
#[test]
fn requests_and_objects_take_the_time_of_the_browser() {
    let workload = page(&[(3, 300, ObjectKind::Image)], Priorities::Browser);
    let [issue, request, object] = [1, 3, 5].map(Duration::from_millis);
    let times = BrowserTimes { issue, request, object, ..BrowserTimes::default() };
    let mut browser = Browser::new(Page::new(&workload).expect("a good page"), times);
    browser.start(ms(0));
    browser.ask(ms(0));
    browser.receive(ms(10), 0, 1000);
    assert_eq!(
        (browser.wants(), browser.deadline(), browser.preparing()),
        (false, Some(ms(14)), Some(ms(14)))
    );
    browser.wake(ms(14));
    assert_eq!((browser.ask(ms(14)), browser.wants(), browser.preparing()), (1, false, Some(ms(20))));
    browser.wake(ms(20));
    assert_eq!([(); 2].map(|()| browser.ask(ms(20))), [2, 3]);
    for (at, request) in [(30, 1), (31, 2), (50, 3)] {
        assert!(!browser.receive(ms(at), request, 300), "not loaded at {at}");
    }
    assert_eq!((browser.deadline(), browser.is_superfluous(ms(54))), (Some(ms(55)), false));
    assert!(browser.is_superfluous(ms(55)));
    browser.leave();
    assert_eq!(browser.outcome.progress.finished, Some(ms(55)));
    let times: Vec<_> = browser.requests()[1..].iter().map(|times| (times.wanted, times.asked)).collect();
    assert_eq!(
        times,
        [(11, 14), (12, 20), (13, 20)].map(|(issued, asked)| (Some(ms(issued)), Some(ms(asked))))
    );
}

/// Issued every 2 ms and prepared in 3 each: at 5, 8, 11, 14. When the second is, at 8, all have been issued.
#[test]
fn a_request_waits_for_those_issued_while_it_was_prepared() {
    let workload = page(&[(4, 300, ObjectKind::Image)], Priorities::Browser);
    let [issue, request] = [2, 3].map(Duration::from_millis);
    let times = BrowserTimes { issue, request, ..BrowserTimes::default() };
    let mut load = PageLoad::new(Arc::new(Page::new(&workload).expect("a good page")), times);
    load.prepare(ms(0), &[1, 2, 3, 4]);
    let leaves: Vec<_> = load.preparing.iter().copied().collect();
    assert_eq!(leaves, [(ms(5), 1), (ms(14), 2), (ms(14), 3), (ms(14), 4)]);
    // a second batch waits for the first
    load.prepare(ms(9), &[1]);
    assert_eq!((load.issued, load.prepared), (ms(11), ms(17)));
}
