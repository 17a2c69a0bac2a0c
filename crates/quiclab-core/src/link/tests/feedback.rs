//! Reports of a link, computed by hand.

use super::*;
use crate::delivery_status::DeliveryStatus;
use crate::link::FeedbackConfig as Config;
use crate::packet::Payload;

/// A byte takes a microsecond, then 3 ms; room for 7 packets; a report each 5 ms with a delay of 1 ms.
fn reporting() -> Link {
    let [interval, delay, desired_buffer] = [5, 1, 15].map(Duration::from_millis);
    link(&crate::link::LinkConfig {
        delay: Delay { mean: Duration::from_millis(3), ..Delay::default() },
        feedback: Some(Config { interval, delay, desired_buffer }),
        ..byte_per_microsecond(QueueConfig::DropTail(DropTail { packets: Some(7), ..DropTail::default() }))
    })
}

/// 1000 bytes with the header of a bearer.
fn of_bearer() -> Box<Packet> {
    Box::new(Packet { size: bytes(998), encapsulation: bytes(2), sequence: 1, ..Packet::default() })
}

/// Reports with their times of arrival, until the link is at rest.
fn reports(link: &mut Link, out: &mut Outputs) -> Vec<(Time, DeliveryStatus)> {
    let mut reports = Vec::new();
    while let Some(now) = link.next_wake() {
        link.wake(now, out);
        assert_eq!(link.counters().balance(), (0, 0));
        for (port, packet) in out.packets.drain(..) {
            if let Payload::DeliveryStatus(report) = packet.payload {
                assert_eq!((port, packet.created), (FEEDBACK_OUTPUT, report.measured));
                reports.push((now, *report));
            }
        }
    }
    reports
}

fn count(packets: u64) -> Count {
    Count { packets, bytes: 1000 * packets }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

#[test]
fn a_burst_is_reported_until_it_is_over() {
    let (mut link, mut out) = (reporting(), Outputs::default());
    for _ in 0..8 {
        link.receive(Time::ZERO, Port(0), of_bearer(), &mut out);
    }
    let report = |ms, transmitted, delivered, buffered| {
        let report = DeliveryStatus {
            measured: at(ms),
            transmitted: count(transmitted),
            delivered: count(delivered),
            lost: count(1),
            buffered: bytes(buffered),
            desired_buffer: bytes(15_000),
        };
        (at(ms + 1), report)
    };
    assert_eq!(reports(&mut link, &mut out), [report(5, 5, 2, 2000), report(10, 7, 7, 0)]);
    let counters = link.counters();
    assert_eq!((counters.created.packets, counters.created.bytes), (2, 136));
    assert_eq!((counters.sent.packets, counters.held.packets), (9, 0));
    let mut sample = Metrics::default();
    link.sample(at(20), &mut sample);
    assert_eq!(sample.get("sent_bytes"), Some(7.0 * 998.0));
    // a later packet restarts the interval
    link.receive(at(100), Port(0), of_bearer(), &mut out);
    let later = reports(&mut link, &mut out);
    assert_eq!(later.iter().map(|(time, _)| *time).collect::<Vec<_>>(), [at(106)]);
    assert_eq!(later[0].1.delivered, count(8));
}

#[test]
fn other_traffic_is_not_reported() {
    let (mut link, mut out) = (reporting(), Outputs::default());
    link.receive(Time::ZERO, Port(0), Box::new(Packet { size: bytes(1000), ..Packet::default() }), &mut out);
    assert_eq!(reports(&mut link, &mut out), []);
    link.receive(at(10), Port(0), Box::new(Packet { size: bytes(1000), ..Packet::default() }), &mut out);
    link.receive(at(10), Port(0), of_bearer(), &mut out);
    let reports = reports(&mut link, &mut out);
    assert_eq!(reports.last().unwrap().1.delivered, count(1));
}
