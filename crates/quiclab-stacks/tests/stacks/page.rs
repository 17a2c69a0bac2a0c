//! Pages over HTTP/3 on quinn and noq: complete, in the order of the browser and of its priorities, the same bytes with
//! the same seed.

use crate::STACKS;
use crate::network::{Network, Sent, Setup, config, statistic};
use quiclab_core::link::Delay;
use quiclab_core::{ByteCount, Duration, RequestTimes, Time};
use quiclab_transport::options::{ObjectKind, PageObjects, PageResource, Priorities, Workload};

const HTML: u64 = 5_000;
pub const THINK_TIME: Duration = Duration::from_millis(1);

/// A page of HTML and of objects: number, length, kind.
pub fn page(objects: &[(u32, u64, ObjectKind)]) -> Workload {
    let group = |&(count, size, kind): &(u32, u64, ObjectKind)| PageObjects {
        count,
        size: ByteCount::from_bytes(size),
        kind,
    };
    Workload::Page {
        html: ByteCount::from_bytes(HTML),
        objects: objects.iter().map(group).collect(),
        resources: Vec::new(),
        html_think_time: Duration::from_millis(10),
        think_time: THINK_TIME,
        browser_time: Delay::default(),
        issue_time: Duration::ZERO,
        request_time: Duration::ZERO,
        object_time: Duration::ZERO,
        priorities: Priorities::Browser,
        request: ByteCount::from_bytes(100),
        response: ByteCount::from_bytes(200),
    }
}

/// Workload of scenarios/page_http2.toml.
fn usual() -> Workload {
    page(&[(1, 30_000, ObjectKind::Style), (1, 60_000, ObjectKind::Script), (20, 20_000, ObjectKind::Image)])
}

pub fn setup(server: &str, client: &str, workload: Workload) -> Setup {
    Setup { client: config(client), workload, ..Setup::new(server, 0) }
}

/// Times of the requests of a loaded page.
pub fn loaded(network: &Network) -> Vec<RequestTimes> {
    let progress = network.client.progress();
    assert!(progress.finished.is_some(), "{:?}, {:?}", network.client.failure(), network.server.failure());
    let requests = network.client.page_client().expect("it loads a page").requests();
    let bytes: u64 = requests.iter().map(|request| request.size.bytes()).sum();
    assert_eq!(progress.delivered_bytes, bytes);
    for (number, request) in requests.iter().enumerate() {
        assert_eq!(request.resource as usize, number);
        let times =
            [request.connecting, request.connected, request.asked, request.first_byte, request.complete];
        let times = times.map(|time| time.expect("it has happened"));
        assert!(times.is_sorted(), "{request:?}");
        assert!(request.wanted.is_some_and(|wanted| wanted <= times[2]), "{request:?}");
        assert!(times[4] <= progress.finished.unwrap(), "{request:?}");
    }
    assert_eq!(requests.iter().map(|request| request.complete).max().unwrap(), progress.finished);
    requests
}

#[test]
fn every_pair_of_stacks_loads_a_page_exactly() {
    for (server, client) in [("quinn", "quinn"), ("noq", "noq"), ("quinn", "noq"), ("noq", "quinn")] {
        let start = Time::from_nanos(5_000_000);
        let mut network = Setup { start, ..setup(server, client, usual()) }.network();
        network.run();
        let requests = loaded(&network);
        assert_eq!((requests.len(), requests[0].connecting), (23, Some(start)));
        // a round trip of 20 ms for the handshake, one and the think time for the HTML
        let html = requests[0].complete.unwrap();
        assert!(requests[0].connected >= Some(start + Duration::from_millis(20)));
        assert!(html >= start + Duration::from_millis(50), "{server} to {client}: {html}");
        for request in &requests[1..] {
            assert_eq!((request.wanted, request.asked), (Some(html), Some(html)), "all at once");
            assert!(request.first_byte >= Some(html + Duration::from_millis(20) + THINK_TIME));
        }
        let now = network.now;
        let load = statistic(&mut *network.client, now, "page_load_ms");
        assert_eq!(load, now.since(start).as_ms_f64(), "{server} to {client}");
        assert_eq!(statistic(&mut *network.client, now, "objects"), 22.0);
        network.drain();
        assert!(network.server.progress().finished.is_some(), "{:?}", network.server.failure());
        // header sections of 23 requests
        assert_eq!(network.server.progress().delivered_bytes, 23 * 100);
    }
}

#[test]
fn random_loss_costs_time_but_no_byte() {
    for stack in STACKS {
        for seed in 0..5 {
            let mut network = setup(stack, stack, usual()).random_loss(0.05, seed).network();
            network.run();
            assert_eq!(loaded(&network).len(), 23, "{stack}, seed {seed}");
            network.assert_complete_despite_losses(HTML + 30_000 + 60_000 + 400_000, stack);
        }
    }
}

/// Urgency 0, not incremental: the style sheets one after another; then the script; then the images in turn,
/// the first bytes of all before the end of one. At 2 Mbit/s 20 kB take 80 ms, the rest of a datagram 5 ms.
#[test]
fn responses_come_in_the_order_of_a_browsers_priorities() {
    let objects =
        [(3, 20_000, ObjectKind::Image), (1, 20_000, ObjectKind::Script), (2, 20_000, ObjectKind::Style)];
    for stack in STACKS {
        let mut network = setup(stack, stack, page(&objects)).bottleneck(2, 1000).network();
        network.run();
        let requests = loaded(&network);
        let complete = |number: usize| requests[number].complete.unwrap();
        let first = |number: usize| requests[number].first_byte.unwrap();
        for (earlier, later) in [(5, 6), (6, 4), (4, 1)] {
            assert!(complete(earlier) <= first(later), "{stack}: {earlier} before {later}: {requests:?}");
        }
        let images = 1..=3;
        let last_begins = images.clone().map(first).max().unwrap();
        let first_ends = images.map(complete).min().unwrap();
        assert!(last_begins < first_ends, "{stack}: in turn: {requests:?}");
    }
}

/// Dependencies of resources; servers with a connection each; and requests of 1 B, three with the frame
/// around it, with numbers of resources above 255.
#[test]
fn resources_of_several_servers_come_when_what_leads_to_them_has() {
    let resource = |number: u32| PageResource {
        size: ByteCount::from_bytes(100 + u64::from(number)),
        kind: ObjectKind::Image,
        after: vec![number / 10],
        delay: Duration::from_millis(3),
        origin: number % 3,
        think_time: None,
        request: Some(ByteCount::from_bytes(1)),
        response: Some(ByteCount::from_bytes(1)),
    };
    for stack in STACKS {
        let mut workload = page(&[]);
        if let Workload::Page { resources, .. } = &mut workload {
            *resources = (1..=300).map(resource).collect();
        }
        let mut network = setup(stack, stack, workload).network();
        network.run();
        let requests = loaded(&network);
        for (number, request) in requests.iter().enumerate().skip(1) {
            let leads = requests[number / 10].complete.unwrap();
            assert_eq!(request.wanted, Some(leads + Duration::from_millis(3)), "{stack}: {number}");
        }
        assert_eq!(statistic(&mut *network.client, network.now, "connections"), 3.0);
        // a connection is opened when the first resource of its server is wanted
        assert_eq!(requests[1].connecting, requests[1].wanted);
    }
}

#[test]
fn a_dead_network_fails_the_page() {
    for stack in STACKS {
        let mut setup = setup(stack, stack, usual());
        setup.hook = Box::new(|_, index, _| crate::network::Fate { lost: index >= 20, ..Default::default() });
        let mut network = setup.network();
        network.drain();
        assert!(network.client.progress().failed && network.client.progress().finished.is_none());
        assert_eq!(
            (network.client.failure(), network.server.failure()),
            (Some("timed out"), Some("timed out"))
        );
    }
}

fn run(stack: &str, seed: u64) -> Vec<Sent> {
    let mut network =
        Setup { seed, ..setup(stack, stack, usual()) }.bottleneck(10, 30).random_loss(0.01, 3).network();
    network.run();
    network.drain();
    network.sent
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_the_same_times() {
    for stack in STACKS {
        let first = run(stack, 7);
        assert!(first.iter().any(|sent| sent.lost), "recovery is part of it");
        assert!(run(stack, 7) == first, "{stack}");
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| run(stack, 7)).join().unwrap());
        assert!(elsewhere == first, "{stack}");
        assert!(run(stack, 8) != first, "{stack}");
    }
}
