//! Cases of the whole receiving half, computed by hand.

mod window;

use super::*;
use crate::tcp::config::{test_config, test_config_with};
use crate::testing::ms;
use quiclab_core::ByteCount;

const PAYLOAD: u64 = 1448;

/// Receiver with a buffer of 16 segments: a window of 8, of which one is reserved: 7 · 1448 = 10136.
fn small() -> Receiver {
    let buffer = ByteCount::from_bytes(16 * PAYLOAD);
    let config = test_config_with(|tcp| (tcp.receive_buffer, tcp.max_receive_buffer) = (buffer, buffer));
    Receiver::new(&config, PAYLOAD, true, false)
}
pub(super) fn segment(sequence: u64, length: u64) -> Segment {
    Segment {
        sequence,
        acknowledgement: 1,
        window: 65_535,
        length: u16::try_from(length).expect("a segment's payload"),
        flags: Flags::ACK,
        ..Segment::default()
    }
}
/// Takes the ACK that is sent now: acknowledgement number, window, blocks.
fn ack(receiver: &mut Receiver, now: Time) -> (u64, u32, Vec<(u64, u64)>) {
    let window = receiver.window();
    let blocks = receiver.sack_blocks().map_or(Vec::new(), |blocks| blocks.as_slice().to_vec());
    receiver.on_ack_sent(now, true);
    (receiver.next_expected(), window, blocks)
}

#[test]
fn an_idle_receiver_is_small() {
    assert!(size_of::<Receiver>() < 1024, "{} bytes", size_of::<Receiver>());
}

#[test]
fn data_in_order_is_read_once() {
    let mut receiver = Receiver::new(&test_config(), PAYLOAD, true, false);
    receiver.on_segment(ms(0), &segment(1, PAYLOAD), Ecn::NotEct, None);
    assert_eq!((receiver.read(ms(0)), receiver.read(ms(0))), (PAYLOAD, 0));
    assert_eq!(receiver.ack_due(), Some(ms(0)), "quick mode at the start");
    assert_eq!(ack(&mut receiver, ms(0)).0, 1449);
    receiver.on_segment(ms(1), &segment(1, PAYLOAD), Ecn::NotEct, None);
    assert_eq!((receiver.read(ms(1)), receiver.ack_due()), (0, Some(ms(1))), "a duplicate: at once");
    assert_eq!(ack(&mut receiver, ms(1)).2, [(1, 1449)], "and a D-SACK");
}

/// The response 10 ms after the first segment makes the connection interactive: the ACK of the next waits for
/// another response, at most 40 ms.
#[test]
fn after_an_answer_the_acknowledgement_waits_for_the_next() {
    let mut receiver = Receiver::new(&test_config(), PAYLOAD, true, false);
    receiver.on_segment(ms(0), &segment(1, PAYLOAD), Ecn::NotEct, None);
    receiver.on_ack_sent(ms(10), false);
    receiver.on_data_sent(ms(10));
    receiver.on_segment(ms(100), &segment(1449, PAYLOAD), Ecn::NotEct, None);
    receiver.read(ms(100));
    assert_eq!(receiver.ack_due(), Some(ms(140)));
}

/// RFC 2018 section 3: three blocks beside timestamps, four without; a duplicate is the first block.
#[test]
fn as_many_blocks_as_fit_are_sent() {
    for (timestamps, places) in [(true, 3), (false, 4)] {
        let mut receiver = Receiver::new(&test_config(), PAYLOAD, true, timestamps);
        for gap in 1..=5 {
            receiver.on_segment(ms(0), &segment(gap * 3000, PAYLOAD), Ecn::NotEct, None);
        }
        let newest: Vec<_> =
            (0..places).map(|back| ((5 - back) * 3000, (5 - back) * 3000 + PAYLOAD)).collect();
        assert_eq!(ack(&mut receiver, ms(0)).2, newest);
        receiver.on_segment(ms(0), &segment(15_100, 100), Ecn::NotEct, None);
        let (_, _, blocks) = ack(&mut receiver, ms(0));
        assert_eq!(blocks[..2], [(15_100, 15_200), newest[0]]);
        assert_eq!(blocks.len() as u64, places);
    }
}

/// RFC 5681 section 4.2: at once, although the 200 bytes since the last ACK are less than a full segment and
/// quick mode has ended. Filling only one of two gaps is not enough in Linux; that ACK may still be merged,
/// but not as the first at its position.
#[test]
fn filling_the_last_gap_is_acknowledged_at_once() {
    let mut receiver = Receiver::new(&test_config(), PAYLOAD, true, false);
    receiver.on_segment(ms(0), &segment(1, 100), Ecn::NotEct, None);
    ack(&mut receiver, ms(0));
    receiver.acks.on_little_room();
    receiver.on_segment(ms(1), &segment(201, 100), Ecn::NotEct, None);
    assert_eq!(receiver.ack_due(), Some(ms(1)), "a duplicate ACK");
    ack(&mut receiver, ms(1));
    receiver.on_segment(ms(2), &segment(101, 100), Ecn::NotEct, None);
    assert_eq!((receiver.ack_due(), receiver.next_expected()), (Some(ms(2)), 301));
    ack(&mut receiver, ms(2));
    receiver.on_segment(ms(3), &segment(301, 100), Ecn::NotEct, None);
    assert_eq!(receiver.ack_due(), Some(ms(43)), "nothing was missing");
}

/// With an RTT of 100 ms and 1 ms at most, the fourth duplicate waits 1 ms. A third block, which would
/// displace the others, releases it at once.
#[test]
fn a_distant_block_ends_merging() {
    let mut receiver = window::grown(&test_config());
    let next = receiver.next_expected();
    // no further growth: the window's bound is reached
    while receiver.window.grow(PAYLOAD, 0) {}
    ack(&mut receiver, ms(1200));
    receiver.acks.on_little_room();
    for number in 1..=3 {
        receiver.on_segment(ms(1200), &segment(next + number * PAYLOAD, PAYLOAD), Ecn::NotEct, None);
        assert_eq!(receiver.ack_due(), Some(ms(1200)));
        ack(&mut receiver, ms(1200));
    }
    receiver.on_segment(ms(1200), &segment(next + 4 * PAYLOAD, PAYLOAD), Ecn::NotEct, None);
    assert_eq!(receiver.ack_due(), Some(ms(1201)));
    receiver.on_segment(ms(1200), &segment(next + 10 * PAYLOAD, PAYLOAD), Ecn::NotEct, None);
    assert_eq!(receiver.ack_due(), Some(ms(1201)), "the second block");
    receiver.on_segment(ms(1200), &segment(next + 20 * PAYLOAD, PAYLOAD), Ecn::NotEct, None);
    assert_eq!(receiver.ack_due(), Some(ms(1200)), "the third");
}

/// Eight segments fill the window of 11584 bytes (the clamp of 7 counts when it opens again); nothing is
/// read. The announced edge does not move; a ninth segment is rejected. Reading opens the window at once.
#[test]
fn an_application_that_does_not_read_closes_the_window() {
    let mut receiver = small();
    assert_eq!(receiver.window(), 11_584);
    for number in 0..8 {
        receiver.on_segment(ms(number), &segment(1 + number * PAYLOAD, PAYLOAD), Ecn::NotEct, None);
        let (next, window, _) = ack(&mut receiver, ms(number));
        assert_eq!(next + u64::from(window), 11_585, "the edge does not move");
    }
    receiver.on_segment(ms(10), &segment(11_585, PAYLOAD), Ecn::NotEct, None);
    assert_eq!((receiver.ack_due(), receiver.next_expected()), (Some(ms(10)), 11_585));
    assert_eq!(ack(&mut receiver, ms(10)).1, 0);
    assert_eq!(receiver.read(ms(20)), 11_584);
    assert_eq!(receiver.ack_due(), Some(ms(20)), "window update");
    assert_eq!(ack(&mut receiver, ms(20)), (11_585, 10_136, vec![]));
}

/// The edge is 11585: of 2000 bytes from 10137 on 1448 fit, the FIN behind them does not.
#[test]
fn what_exceeds_the_window_is_cut_off() {
    let mut receiver = small();
    for number in 0..7 {
        receiver.on_segment(ms(0), &segment(1 + number * PAYLOAD, PAYLOAD), Ecn::NotEct, None);
    }
    let long = Segment { flags: Flags::ACK.with(Flags::FIN), ..segment(10_137, 2000) };
    receiver.on_segment(ms(0), &long, Ecn::NotEct, None);
    assert_eq!((receiver.next_expected(), receiver.read(ms(0))), (11_585, 11_584));
    assert!(!receiver.is_finished());
    receiver.on_segment(ms(0), &segment(11_586 + 20_000, 100), Ecn::NotEct, None);
    assert_eq!((receiver.reassembly.held_bytes(), receiver.ack_due()), (0, Some(ms(0))));
}

#[test]
fn fin_finishes_when_all_is_read_and_is_acknowledged_at_once() {
    let mut receiver = Receiver::new(&test_config(), PAYLOAD, true, false);
    let fin = Segment { flags: Flags::ACK.with(Flags::FIN), ..segment(101, 0) };
    receiver.on_segment(ms(0), &fin, Ecn::NotEct, None);
    assert_eq!((receiver.next_expected(), receiver.read(ms(0))), (1, 0));
    ack(&mut receiver, ms(0));
    receiver.on_segment(ms(1), &segment(1, 100), Ecn::NotEct, None);
    assert!(!receiver.is_finished(), "not read yet");
    assert_eq!((receiver.read(ms(1)), receiver.is_finished()), (100, true));
    assert_eq!((receiver.ack_due(), receiver.next_expected()), (Some(ms(1)), 102));
    ack(&mut receiver, ms(1));
    receiver.on_segment(ms(2), &fin, Ecn::NotEct, None);
    assert_eq!((receiver.ack_due(), receiver.read(ms(2))), (Some(ms(2)), 0), "FIN again");
    // also out of quick mode
    let mut receiver = Receiver::new(&test_config(), PAYLOAD, true, false);
    receiver.on_segment(ms(0), &segment(1, 100), Ecn::NotEct, None);
    ack(&mut receiver, ms(0));
    receiver.acks.on_little_room();
    receiver.on_segment(ms(1), &fin, Ecn::NotEct, None);
    assert_eq!(receiver.ack_due(), Some(ms(1)));
}

/// Linux responds to an unacceptable segment without data, such as a window probe, at most twice a second.
#[test]
fn a_window_probe_is_answered() {
    let mut receiver = Receiver::new(&test_config(), PAYLOAD, true, false);
    let probe = segment(0, 0);
    for (now, answered) in [(0, true), (499, false), (500, true), (600, false)] {
        receiver.on_segment(ms(now), &probe, Ecn::NotEct, None);
        assert_eq!(receiver.ack_due(), answered.then_some(ms(now)), "at {now} ms");
        receiver.on_ack_sent(ms(now), true);
    }
    receiver.on_segment(ms(2000), &segment(1, 0), Ecn::NotEct, None);
    assert_eq!(receiver.ack_due(), None, "a pure ACK is not acknowledged");
}

/// RFC 7323 section 4.3: (A) delayed ACKs echo the earliest unacknowledged segment, (B) behind a hole the
/// last segment in order, (C) a filled hole that of the segment that fills it.
#[test]
fn the_timestamp_of_the_rules_is_echoed() {
    let stamped = |sequence, timestamp| Segment { timestamp, ..segment(sequence, 1000) };
    let mut receiver = Receiver::new(&test_config(), PAYLOAD, true, true);
    assert_eq!(receiver.timestamp_to_echo(), None);
    for (sequence, timestamp, echo, acknowledge) in [
        (1, 1, 1, false),
        (1001, 2, 1, false),
        (2001, 3, 1, true),
        (3001, 4, 4, true),
        (5001, 6, 4, true),
        (4001, 5, 5, true),
        (6001, 7, 7, true),
    ] {
        receiver.on_segment(ms(1), &stamped(sequence, timestamp), Ecn::NotEct, None);
        assert_eq!(receiver.timestamp_to_echo(), Some(echo), "after {timestamp}");
        if acknowledge {
            receiver.on_ack_sent(ms(1), true);
        }
    }
    let pure = Segment { timestamp: 9, ..segment(7001, 0) };
    receiver.on_segment(ms(1), &pure, Ecn::NotEct, None);
    assert_eq!(receiver.timestamp_to_echo(), Some(9), "pure ACKs count, too");
}

/// RFC 7323 section 5: older is 1 .. 2^31 behind, modulo 2^32; Linux tolerates 1, and 200 ms in pure ACKs.
#[test]
fn old_duplicates_are_recognised_across_the_wrap() {
    let mut receiver = Receiver::new(&test_config(), PAYLOAD, true, true);
    let stamped = |timestamp, length| Segment { timestamp, ..segment(1, length) };
    assert!(!receiver.is_too_old(&stamped(0, 10)), "nothing known yet");
    receiver.on_segment(ms(0), &stamped(5, 0), Ecn::NotEct, None);
    for (age, old) in [(0, false), (1, false), (2, true), (100, true), (u32::MAX, false)] {
        assert_eq!(receiver.is_too_old(&stamped(5_u32.wrapping_sub(age), 10)), old, "age {age}");
    }
    assert!(!receiver.is_too_old(&stamped(5_u32.wrapping_sub(200), 0)));
    assert!(receiver.is_too_old(&stamped(5_u32.wrapping_sub(201), 0)));
    receiver.on_segment(ms(0), &stamped(4, 0), Ecn::NotEct, None);
    assert_eq!(receiver.timestamp_to_echo(), Some(5), "tolerated, but not echoed");
    receiver.on_too_old(ms(1), &stamped(u32::MAX, 10));
    assert_eq!((receiver.ack_due(), receiver.next_expected()), (Some(ms(1)), 1));
}
