//! Head-drop by hand.

use super::*;
use crate::queue::tests::{add, at, drain, numbers, piece, queue};
use crate::time::Time;

#[test]
fn head_drop_makes_room_for_the_newest() {
    let mut by_packets = queue("head_drop", "packets = 3");
    assert_eq!(add(&mut by_packets, Time::ZERO, (0..5).map(|number| piece(0, number, 100))), [0, 1]);
    assert_eq!(numbers(&drain(&mut by_packets, at(1))), [2, 3, 4]);
    assert_eq!(by_packets.totals().drops(DropReason::QueueFull), 2);

    // 400 + 400 + 300 are 1100: the first is dropped; one of 1000 displaces all others; one of 1001 is
    // dropped as well
    let mut by_bytes = queue("head_drop", "bytes = \"1000 B\"");
    let sizes = [400, 400, 300, 1000, 1001];
    let dropped =
        add(&mut by_bytes, Time::ZERO, (0..).zip(sizes).map(|(number, size)| piece(0, number, size)));
    assert_eq!(dropped, [0, 1, 2, 3, 4]);
    assert!(by_bytes.is_empty());
}
