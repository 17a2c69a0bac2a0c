//! Delayed acknowledgements, computed by hand from the rules.

use super::*;
use crate::testing::ms;

const PAYLOAD: u64 = 1448;
const SETTINGS: Settings = Settings {
    rule: TcpAckRule::Linux,
    segments: 2,
    compressed_percent: 5,
    ticks: Ticks::EXACT,
    at_reads: true,
    full_pushes: true,
    min_delay: Duration::from_millis(40),
    max_delay: Duration::from_millis(200),
    quick_acks: 16,
    compressed_acks: 44,
    compressed_delay: Duration::from_millis(1),
    min_rto: Duration::from_millis(200),
    initial_rto: Duration::from_secs(1),
    payload: PAYLOAD,
};
const STATE: State = State {
    next: 1,
    unacknowledged: PAYLOAD,
    window_advances: true,
    out_of_order: false,
    sack: true,
    rtt: None,
};
const FULL: Arrival =
    Arrival { payload: PAYLOAD, extra_header: 0, ends_write: false, push: false, window: 64_240 };

/// A policy out of quick mode that has received data at 1000 ms and acknowledged it: its timeout is 40 ms.
fn settled() -> DelayedAck {
    let mut acks = DelayedAck::new(SETTINGS, 64_240);
    acks.on_data(ms(1000), &FULL);
    acks.on_ack_sent(ms(1000), true);
    acks.on_little_room(); // quick mode ends without changing the timeout
    acks
}
/// Time at which a single full segment is acknowledged.
fn alone(acks: &mut DelayedAck, now: Time) -> Option<Time> {
    acks.on_data(now, &FULL);
    acks.decide(now, &STATE);
    acks.due()
}

/// 64240 / (2 · 1448) = 22 segments, at most 16: the 17th waits 40 ms (gap 1 ms: 40/2 + 20), the 18th
/// makes more than one full segment.
#[test]
fn the_first_sixteen_segments_are_acknowledged_at_once_then_every_second() {
    let mut acks = DelayedAck::new(SETTINGS, 64_240);
    for segment in 0..16 {
        assert_eq!(alone(&mut acks, ms(segment)), Some(ms(segment)), "segment {segment}");
        acks.on_ack_sent(ms(segment), true);
        assert_eq!(acks.due(), None);
    }
    assert_eq!(alone(&mut acks, ms(16)), Some(ms(56)));
    acks.on_data(ms(17), &FULL);
    acks.decide(ms(17), &State { unacknowledged: 2 * PAYLOAD, ..STATE });
    assert_eq!(acks.due(), Some(ms(17)));
}

/// 4344 / (2 · 1448) = 1; below a window of two segments it is 2 at least: 1448 / 2896 = 0 gives 2.
#[test]
fn quick_mode_follows_the_window() {
    for (window, quick) in [(4344, 1), (PAYLOAD, 2), (29_000, 10)] {
        let mut acks = DelayedAck::new(SETTINGS, window);
        for segment in 0..=quick {
            acks.on_data(ms(segment), &Arrival { window, ..FULL });
            acks.decide(ms(segment), &STATE);
            let at_once = acks.due() == Some(ms(segment));
            assert_eq!(at_once, segment < quick, "window {window}, segment {segment}");
            acks.on_ack_sent(ms(segment), true);
        }
    }
}

/// Gaps between half of 40 ms and the timeout: 40/2 + 30 = 50, 50/2 + 30 = 55, 55/2 + 45 = 72.5 ms; a gap
/// of up to 20 ms: 72.5/2 + 20 = 56.25 ms.
#[test]
fn the_timeout_follows_the_gaps() {
    let mut acks = settled();
    let mut now = ms(1000);
    for (gap, wait_us) in [(30, 50_000), (30, 55_000), (45, 72_500), (20, 56_250)] {
        now += Duration::from_millis(gap);
        assert_eq!(alone(&mut acks, now), Some(now + Duration::from_micros(wait_us)));
        acks.on_ack_sent(now, false);
    }
}

/// The timeout of 50 ms after a gap of 30 ms: srtt bounds it, but not below 40 ms.
#[test]
fn the_round_trip_bounds_the_wait() {
    for (srtt, wait) in [(45, 45), (10, 40), (300, 50)] {
        let mut acks = settled();
        acks.set_srtt(Some(Duration::from_millis(srtt)));
        assert_eq!(alone(&mut acks, ms(1030)), Some(ms(1030 + wait)), "srtt {srtt}");
    }
}

/// Each wait in vain doubles the timeout: 40, 80, 160, then 200 as the maximum.
#[test]
fn a_wait_for_nothing_doubles_the_timeout() {
    let mut acks = settled();
    let mut now = ms(1000);
    for wait in [40, 80, 160, 200] {
        now += Duration::from_millis(900); // above every timeout, below the RTO of 1 s
        assert_eq!(alone(&mut acks, now), Some(now + Duration::from_millis(wait)));
        acks.on_ack_sent(now + Duration::from_millis(wait), true);
    }
}

/// srtt 100 ms: the RTO is taken as 300 ms.
#[test]
fn a_pause_longer_than_the_rto_starts_quick_mode_again() {
    for (pause, at_once) in [(300, false), (301, true)] {
        let mut acks = settled();
        acks.set_srtt(Some(Duration::from_millis(100)));
        let now = ms(1000 + pause);
        assert_eq!(alone(&mut acks, now) == Some(now), at_once, "pause {pause}");
    }
}

/// At 1000 ms a deadline of 1040 ms. At 1015 ms a quarter of the timeout of 40 ms is less than the 25 ms
/// left; at 1031 ms 10 ms is more than the 9 ms left.
#[test]
fn a_deadline_about_to_expire_is_not_waited_for() {
    let mut acks = DelayedAck::new(SETTINGS, 64_240);
    acks.on_data(ms(1000), &FULL);
    acks.on_little_room();
    acks.decide(ms(1000), &STATE);
    assert_eq!(acks.due(), Some(ms(1040)));
    let small = Arrival { payload: 100, ends_write: true, ..FULL };
    acks.on_data(ms(1015), &small);
    acks.decide(ms(1015), &STATE);
    assert_eq!(acks.due(), Some(ms(1040)), "the earlier deadline stays");
    acks.on_data(ms(1031), &small);
    acks.decide(ms(1031), &STATE);
    assert_eq!(acks.due(), Some(ms(1031)));
}

#[test]
fn an_answer_within_the_timeout_makes_the_connection_interactive() {
    let mut acks = DelayedAck::new(SETTINGS, 64_240);
    assert_eq!(alone(&mut acks, ms(1000)), Some(ms(1000)), "quick mode");
    acks.on_ack_sent(ms(1039), false);
    acks.on_data_sent(ms(1039));
    assert_eq!(alone(&mut acks, ms(1500)), Some(ms(1540)), "interactive: no quick mode");
    // no response this time: no longer interactive, and quick mode has segments left
    acks.on_ack_sent(ms(1540), true);
    assert_eq!(alone(&mut acks, ms(1600)), Some(ms(1600)));
    acks.on_ack_sent(ms(1640), false);
    acks.on_data_sent(ms(1640)); // 40 ms after the data: not within
    assert_eq!(alone(&mut acks, ms(1650)), Some(ms(1650)));
}

#[test]
fn a_duplicate_ends_interactivity() {
    let mut acks = settled();
    acks.on_data_sent(ms(1001));
    acks.enter_quick_mode(64_240);
    acks.decide(ms(1002), &State { unacknowledged: 0, ..STATE });
    assert_eq!(acks.due(), Some(ms(1002)));
    acks.on_ack_sent(ms(1002), true);
    assert_eq!(alone(&mut acks, ms(1003)), Some(ms(1003)), "quick mode goes on");
}

#[test]
fn the_end_of_a_write_is_acknowledged_when_it_is_read() {
    let push = Arrival { push: true, ends_write: true, ..FULL };
    let mut acks = settled();
    acks.on_data(ms(1010), &push);
    acks.decide(ms(1010), &STATE);
    acks.on_read(ms(1010), 0, &STATE);
    assert_eq!(acks.due(), Some(ms(1050)), "nothing read");
    acks.on_read(ms(1011), PAYLOAD, &STATE);
    assert_eq!(acks.due(), Some(ms(1011)));
    // interactive: one end of a write is not enough, two are
    let mut acks = settled();
    acks.on_data_sent(ms(1001));
    let small = Arrival { payload: 50, ..push };
    acks.on_data(ms(1010), &small);
    acks.decide(ms(1010), &STATE);
    acks.on_read(ms(1010), 50, &STATE);
    assert_eq!(acks.due(), Some(ms(1050)));
    acks.on_data(ms(1012), &small);
    acks.decide(ms(1012), &STATE);
    acks.on_read(ms(1012), 50, &STATE);
    assert_eq!(acks.due(), Some(ms(1012)));
}

/// Two equal segments below the known size are the new full size: then two of them are acknowledged.
#[test]
fn the_full_size_is_what_the_peer_sends() {
    let mut acks = settled();
    assert_eq!(acks.segment(), PAYLOAD);
    let smaller = Arrival { payload: 1000, ..FULL };
    acks.on_data(ms(1001), &smaller);
    assert_eq!(acks.segment(), PAYLOAD);
    acks.on_data(ms(1002), &smaller);
    assert_eq!(acks.segment(), 1000);
    // 988 bytes with a SACK option of 12 are full-sized
    acks.on_data(ms(1003), &Arrival { payload: 988, extra_header: 12, ..FULL });
    acks.on_data(ms(1004), &Arrival { payload: 988, extra_header: 12, ..FULL });
    assert_eq!(acks.segment(), 1000);
}

/// A policy at which a segment behind a gap has arrived at `now`.
fn behind_gap(acks: &mut DelayedAck, now: Time, next: u64) -> Option<Time> {
    acks.schedule();
    let rtt = Some(Duration::from_millis(10));
    acks.decide(now, &State { next, unacknowledged: 0, out_of_order: true, rtt, ..STATE });
    acks.due()
}

/// RTT 10 ms here, 4 ms at the sending half: 5 % of the smaller is 0.2 ms.
#[test]
fn behind_a_gap_three_are_acknowledged_at_once_then_merged() {
    let mut acks = settled();
    for (next, srtt, wait_us) in [(1, None, 500), (5000, Some(4), 200), (9000, Some(50), 500)] {
        acks.set_srtt(srtt.map(Duration::from_millis));
        for at in 2000..2003 {
            assert_eq!(behind_gap(&mut acks, ms(at), next), Some(ms(at)));
            acks.on_ack_sent(ms(at), true);
        }
        let deadline = ms(2003) + Duration::from_micros(wait_us);
        for _ in 0..44 {
            assert_eq!(behind_gap(&mut acks, ms(2003), next), Some(deadline));
        }
        assert_eq!(behind_gap(&mut acks, ms(2003), next), Some(ms(2003)), "44 are merged at most");
        acks.on_ack_sent(ms(2003), true);
        assert_eq!(acks.due(), None);
    }
}

#[test]
fn merged_acknowledgements_wait_a_millisecond_at_most_and_leave_with_any_other() {
    let mut acks = settled();
    let state = |rtt| State { unacknowledged: 0, out_of_order: true, rtt, ..STATE };
    for _ in 0..3 {
        behind_gap(&mut acks, ms(2000), 1);
        acks.on_ack_sent(ms(2000), true);
    }
    acks.schedule();
    acks.decide(ms(2001), &state(Some(Duration::from_millis(100)))); // 5 % are 5 ms
    assert_eq!(acks.due(), Some(ms(2002)));
    acks.flush_merged(ms(2001));
    assert_eq!(acks.due(), Some(ms(2001)));
    acks.on_ack_sent(ms(2001), false);
    assert_eq!(acks.due(), None);
    acks.flush_merged(ms(2001));
    assert_eq!(acks.due(), None, "nothing is merged");
}

#[test]
fn without_sack_or_merging_every_duplicate_is_acknowledged_at_once() {
    for (sack, compressed_acks) in [(false, 44), (true, 0)] {
        let mut acks = DelayedAck::new(Settings { compressed_acks, ..SETTINGS }, 64_240);
        for at in 0..10 {
            acks.schedule();
            acks.decide(ms(at), &State { unacknowledged: 0, out_of_order: true, sack, ..STATE });
            assert_eq!(acks.due(), Some(ms(at)));
            acks.on_ack_sent(ms(at), true);
        }
    }
}

#[test]
fn nothing_is_due_without_data() {
    let mut acks = DelayedAck::new(SETTINGS, 64_240);
    acks.decide(ms(1), &STATE);
    acks.on_read(ms(1), 10, &STATE);
    acks.on_ack_sent(ms(2), true);
    assert_eq!(acks.due(), None);
}

/// A receiver that counts segments of any size and waits 40 ms, without quick mode (FreeBSD, Windows).
const SEGMENTS: Settings = Settings {
    rule: TcpAckRule::Segments,
    max_delay: Duration::from_millis(40),
    quick_acks: 0,
    at_reads: false,
    compressed_acks: 0,
    ..SETTINGS
};
/// A receiver that counts full segments and waits 100 ms, with 16 quick acknowledgements (macOS).
const FULL_SEGMENTS: Settings = Settings {
    rule: TcpAckRule::FullSegments,
    max_delay: Duration::from_millis(100),
    compressed_acks: 0,
    ..SETTINGS
};

/// `bytes` arrive at each of these times in ms, in segments of the same size, and the application reads them:
/// returns the time of each acknowledgement. `next` is the end of the arrivals in ms.
fn acknowledged(acks: &mut DelayedAck, arrivals: &[(u64, u64)], end: u64) -> Vec<u64> {
    let (mut left, mut unacknowledged) = (Vec::new(), 0);
    let later = arrivals.iter().skip(1).map(|&(at, _)| at).chain([end]);
    for (&(at, payload), next) in arrivals.iter().zip(later) {
        unacknowledged += payload;
        let state = State { unacknowledged, ..STATE };
        acks.on_data(ms(at), &Arrival { payload, ..FULL });
        acks.decide(ms(at), &state);
        acks.on_read(ms(at), payload, &state);
        if let Some(due) = acks.due().filter(|&due| due < ms(next)) {
            acks.on_ack_sent(due, true);
            left.push(due.as_nanos() / 1_000_000);
            unacknowledged = 0;
        }
    }
    left
}

/// The second segment is acknowledged at once, even a short one; a single one after 40 ms, however long the
/// gaps are.
#[test]
fn segments_are_counted_whatever_their_size() {
    let mut acks = DelayedAck::new(SEGMENTS, 64_240);
    let arrivals = [(0, PAYLOAD), (10, 100), (20, 100), (25, 100), (30, PAYLOAD), (300, PAYLOAD), (335, 1)];
    assert_eq!(acknowledged(&mut acks, &arrivals, 600), [10, 25, 70, 335]);
}

/// Of every `n` segments the last one is acknowledged.
#[test]
fn the_number_of_segments_per_acknowledgement_is_an_option() {
    for rule in [TcpAckRule::Segments, TcpAckRule::FullSegments] {
        for n in [1, 2, 3, 8] {
            let settings = Settings { rule, segments: n, quick_acks: 0, ..SEGMENTS };
            let arrivals: Vec<_> = (0..24).map(|at| (at, PAYLOAD)).collect();
            let mut acks = DelayedAck::new(settings, 64_240);
            // the size of segments is known from the first one on
            let expected: Vec<_> = (0..24).filter(|at| (at + 1) % u64::from(n) == 0).collect();
            assert_eq!(acknowledged(&mut acks, &arrivals, 25), expected, "{rule:?}, {n} segments");
        }
    }
}

/// 16 at once; then the 17th and 18th together. 19 waits 100 ms, to 118, after which 15 more are at once.
#[test]
fn full_segments_are_acknowledged_at_once_at_the_start_and_after_a_wait() {
    let mut acks = DelayedAck::new(FULL_SEGMENTS, 64_240);
    let first: Vec<_> = (0..19).map(|at| (at, PAYLOAD)).collect();
    let expected: Vec<_> = (0..16).chain([17, 118]).collect();
    assert_eq!(acknowledged(&mut acks, &first, 300), expected);
    let next: Vec<_> = (300..317).map(|at| (at, PAYLOAD)).collect();
    let expected: Vec<_> = (300..315).chain([316]).collect();
    assert_eq!(acknowledged(&mut acks, &next, 317), expected);
}

#[test]
fn the_end_of_a_write_counts_where_reads_are_acknowledged() {
    let push = Arrival { push: true, ends_write: true, payload: 100, ..FULL };
    for (settings, due) in [(SEGMENTS, 1040), (FULL_SEGMENTS, 1000)] {
        let mut acks = DelayedAck::new(Settings { quick_acks: 0, ..settings }, 64_240);
        acks.on_data(ms(1000), &push);
        let state = State { unacknowledged: 100, ..STATE };
        acks.decide(ms(1000), &state);
        acks.on_read(ms(1000), 100, &state);
        assert_eq!(acks.due(), Some(ms(due)), "{:?}", settings.rule);
    }
}

/// Behind a gap each one, and 16 after it where there are quick acknowledgements; a duplicate, too.
#[test]
fn gaps_and_duplicates_are_acknowledged_at_once() {
    for (settings, quick) in [(SEGMENTS, false), (FULL_SEGMENTS, true)] {
        let mut acks = DelayedAck::new(Settings { quick_acks: 0, ..settings }, 64_240);
        acks.on_data(ms(0), &FULL);
        acks.on_ack_sent(ms(0), true);
        acks.settings.quick_acks = settings.quick_acks;
        for at in 1..6 {
            assert_eq!(behind_gap(&mut acks, ms(at), 1), Some(ms(at)), "{:?}", settings.rule);
            acks.on_ack_sent(ms(at), true);
        }
        assert_eq!(alone(&mut acks, ms(10)) == Some(ms(10)), quick, "{:?}", settings.rule);
        acks.on_ack_sent(ms(11), true);
        acks.enter_quick_mode(64_240);
        acks.decide(ms(12), &State { unacknowledged: 0, ..STATE });
        assert_eq!(acks.due(), Some(ms(12)), "{:?}", settings.rule);
    }
}
