//! A link whose queue does not always release a waiting packet.

use super::*;
use crate::queue::Paced;

#[test]
fn a_link_comes_back_for_what_its_queue_holds_back() {
    let mut config = byte_per_microsecond(QueueConfig::Paced(Paced { gap: Duration::from_micros(250) }));
    config.delay.mean = Duration::from_millis(10);
    // 100 us each, begun at 0, 250, 500; the last one finds the queue empty and the gap over
    let arrivals = packets(&[(0, 100), (10, 100), (20, 100), (900, 100)]);
    for late in [false, true] {
        let log = drive_late(&mut link(&config), &arrivals, &[late; 4]);
        assert_eq!(log.delivered_micros(), [10_100, 10_350, 10_600, 11_000], "late: {late}");
    }
}

#[test]
fn a_serialisation_outlasts_the_gap() {
    let config = byte_per_microsecond(QueueConfig::Paced(Paced { gap: Duration::from_micros(250) }));
    // 400 us, which ends the gap; then 100 us until the gap is over
    let log = drive(&mut link(&config), &packets(&[(0, 400), (10, 100), (20, 100)]));
    assert_eq!(log.delivered_micros(), [400, 500, 750]);
}
