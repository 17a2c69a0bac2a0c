//! Receive window and its growth, computed by hand.

use super::*;

fn unscaled() -> Config {
    test_config_with(|tcp| tcp.window_scaling = false)
}

/// 6291456 lies between 2^22 and 2^23: shift 22 - 15 = 7. 65536 / 1448 = 45 segments of 1448: 65160; in units
/// of 128: 65280, as announced by Linux servers (510 · 128).
#[test]
fn the_first_window_is_that_of_linux() {
    assert_eq!(Receiver::window_scale(&test_config().tcp), 7);
    assert_eq!(Receiver::window_scale(&TcpValues { window_scaling: false, ..test_config().tcp }), 0);
    let mut receiver = Receiver::new(&test_config(), PAYLOAD, true, true);
    assert_eq!(receiver.window(), 65_280);
    let mut unscaled = Receiver::new(&unscaled(), PAYLOAD, true, true);
    assert_eq!(unscaled.window(), 65_160);
}

/// A client offers 44 segments of 1460 B in its SYN: 64 240 B, in units of 128 B 64 256 B; not 64 088 B, half
/// of the buffer less a segment, as a window is not reduced. The application's first RTT starts when the
/// connection is open.
#[test]
fn the_window_of_a_syn_is_not_taken_back() {
    let mut receiver = Receiver::new(&test_config(), PAYLOAD, true, true).opened(ms(5000), 64_240);
    assert_eq!(receiver.window(), 64_256);
    receiver.window.measure_by_echo(ms(5100), 5000, true, false);
    let buffer = receiver.window.buffer();
    receiver.window.on_read(ms(5099), 100_001, 0, 0);
    assert_eq!(receiver.window.buffer(), buffer, "before the end of the first RTT");
    receiver.window.on_read(ms(5100), 100_001, 0, 0);
    assert!(receiver.window.buffer() > buffer);
}

/// An acknowledgement without data echoes 5000 ms; data with the same echo give no RTT, those that echo 5010
/// ms give 100 ms.
#[test]
fn the_echo_of_a_pure_acknowledgement_is_not_new() {
    let mut receiver = Receiver::new(&test_config(), PAYLOAD, true, true).opened(ms(5000), 64_240);
    let mut arrive = |now: u64, echo: u32, number: u64, payload: u64| {
        let arrived = Segment { timestamp_echo: echo, ..segment(1 + number * PAYLOAD, payload) };
        receiver.on_segment(ms(now), &arrived, Ecn::NotEct, None);
        receiver.window.rtt()
    };
    assert_eq!(arrive(5090, 5000, 0, 0), None);
    assert_eq!(arrive(5100, 5000, 0, PAYLOAD), None);
    assert_eq!(arrive(5110, 5010, 1, PAYLOAD), Some(Duration::from_millis(100)));
}

/// A flow over an RTT of 100 ms. The first segment gives the RTT and starts the measurement at 1000 ms.
/// Until 1100 ms 41 segments are read, 59368 bytes; 14480 were assumed. Twice that and 16 segments make
/// 141904; growth by (59368 - 14480) / 14480 = 3.1 adds 2 · 439902: 1021708, times two for the overhead.
pub(super) fn grown(config: &Config) -> Receiver {
    let mut receiver = Receiver::new(config, PAYLOAD, config.tcp.sack, true);
    let mut arrive = |now: u64, number: u64| {
        let echo = u32::try_from(now - 100).expect("milliseconds of a test");
        let data = Segment { timestamp_echo: echo, ..segment(1 + number * PAYLOAD, PAYLOAD) };
        receiver.on_segment(ms(now), &data, Ecn::NotEct, None);
        receiver.read(ms(now));
        if receiver.ack_due().is_some_and(|due| due <= ms(now)) {
            ack(&mut receiver, ms(now));
        }
    };
    arrive(1000, 0);
    for number in 1..=40 {
        arrive(1000 + number, number);
    }
    arrive(1100, 41);
    receiver
}

#[test]
fn the_buffer_grows_with_what_is_read_in_a_round_trip() {
    let receiver = grown(&test_config());
    assert_eq!(receiver.window.rtt(), Some(Duration::from_millis(100)));
    assert_eq!(receiver.window.buffer(), 2_043_416);
    assert_eq!(receiver.window.clamp(), 1_021_708);
    let limited = test_config_with(|tcp| tcp.max_receive_buffer = ByteCount::from_bytes(1_000_000));
    assert_eq!(grown(&limited).window.buffer(), 1_000_000);
    let unscaled = grown(&unscaled());
    assert_eq!(unscaled.window.clamp(), 65_535);
}

/// The bound of the window was 64088 (one segment less than half of the buffer) and grows by two segments
/// with each one: 66984, 69880; in units of 128: 67072, 69888. Meanwhile each is acknowledged at once.
#[test]
fn the_window_opens_by_two_segments_with_each_one() {
    let mut receiver = grown(&test_config());
    for (number, window) in [(42, 67_072), (43, 69_888)] {
        let now = ms(1100 + number);
        receiver.on_segment(now, &segment(1 + number * PAYLOAD, PAYLOAD), Ecn::NotEct, None);
        receiver.read(now);
        assert_eq!(receiver.ack_due(), Some(now));
        assert_eq!(ack(&mut receiver, now).1, window);
    }
}

/// Without timestamps a window takes an RTT: 65160 bytes announced at 1449 (the first segment, at 10 ms)
/// are used up with segment 46 (position 66609 = 1 + 46 · 1448), at 10 + 45 · 2 ms: 90 ms.
#[test]
fn without_timestamps_a_window_is_a_round_trip() {
    let mut receiver = Receiver::new(&unscaled(), PAYLOAD, true, false);
    for number in 0..=45 {
        let now = ms(10 + 2 * number);
        assert_eq!(receiver.window.rtt(), None);
        receiver.on_segment(now, &segment(1 + number * PAYLOAD, PAYLOAD), Ecn::NotEct, None);
        receiver.read(now);
        ack(&mut receiver, now);
    }
    assert_eq!(receiver.window.rtt(), Some(Duration::from_millis(90)));
    // a longer time may include a pause: the minimum counts
    for number in 46..=200 {
        let now = ms(10 + 3 * number);
        receiver.on_segment(now, &segment(1 + number * PAYLOAD, PAYLOAD), Ecn::NotEct, None);
        receiver.read(now);
        ack(&mut receiver, now);
    }
    assert_eq!(receiver.window.rtt(), Some(Duration::from_millis(90)));
}

/// Samples of 100 ms, then one of 180 ms: (7 · 100 + 180) / 8 = 110 ms; one of 60 ms counts at once.
#[test]
fn echoes_are_smoothed_upwards() {
    let mut receiver = grown(&test_config());
    for (now, echo, rtt) in [(1300, 1120, 110), (1310, 1250, 60), (1320, 1250, 60)] {
        let data = Segment { timestamp_echo: echo, ..segment(receiver.next_expected(), PAYLOAD) };
        receiver.on_segment(ms(now), &data, Ecn::NotEct, None);
        assert_eq!(receiver.window.rtt(), Some(Duration::from_millis(rtt)));
    }
}

/// Without SACK an ACK is a duplicate only if its window is the same (RFC 5681 section 2).
#[test]
fn a_gap_leaves_the_window_as_it_is_without_sack() {
    for (sack, grows) in [(false, false), (true, true)] {
        let mut receiver = grown(&test_config_with(|tcp| tcp.sack = sack));
        receiver.read(ms(1100));
        let (next, before, _) = ack(&mut receiver, ms(1100));
        receiver.on_segment(ms(1101), &segment(next + PAYLOAD, PAYLOAD), Ecn::NotEct, None);
        let (_, after, blocks) = ack(&mut receiver, ms(1101));
        assert_eq!((after > before, blocks.is_empty()), (grows, !grows));
    }
}

/// The window of 11584 bytes with 10900 unread: 684 are less than a segment, and less than 11584/16 = 724.
/// With segments of 100 bytes 784 would be announced.
#[test]
fn a_silly_window_is_not_announced() {
    let window = small().window;
    assert_eq!(window.select(10_900, PAYLOAD), 0);
    assert_eq!(window.select(10_900, 100), 0);
    assert_eq!(window.select(10_800, 100), 784);
    assert_eq!(window.select(10_800, PAYLOAD), 0);
}

fn measured() -> Config {
    let mut config = test_config();
    config.fixed.measured_window = true;
    config
}

/// The whole buffer is window: 65 535 B in the SYN, then the whole buffer of 128 KiB, regardless of the
/// memory of segments; 2896 unread bytes occupy 2896 B of it.
#[test]
fn the_whole_buffer_is_window_without_overhead() {
    let mut config = measured();
    config.tcp.receive_overhead = false;
    let mut receiver = Receiver::new(&config, PAYLOAD, true, true).opened(ms(0), 65_535);
    assert_eq!((receiver.window.announced(), receiver.window.clamp()), (65_535, 131_072));
    receiver.on_segment(ms(0), &segment(1, PAYLOAD), Ecn::NotEct, None);
    receiver.on_segment(ms(0), &segment(1 + PAYLOAD, PAYLOAD), Ecn::NotEct, None);
    assert_eq!(receiver.window.clamp(), 131_072);
    // in units of the shift count
    let unit = 1 << Receiver::window_scale(&config.tcp);
    assert_eq!(u64::from(receiver.window()), (131_072 - 2 * PAYLOAD).next_multiple_of(unit));
}

/// A segment of 1448 B takes 2048 + 256 B of memory: 160/256 of the buffer are window, 81 920 of 131 072 B.
#[test]
fn the_window_follows_the_memory_of_a_packet() {
    let mut receiver = Receiver::new(&measured(), PAYLOAD, true, true);
    assert_eq!(receiver.window.clamp(), 64_088, "half of the buffer, less a segment");
    receiver.on_segment(ms(0), &segment(1, PAYLOAD), Ecn::NotEct, None);
    assert_eq!(receiver.window.clamp(), 81_920);
}

/// As [`grown`], with the rules of 6.16: twice 59368 B, and twice as much times (59368 - 14480) / 14480 = 3.1:
/// 118 736 + 736 163 = 854 899 B of window; by 256/160.
#[test]
fn the_measured_buffer_grows_with_what_is_read_in_a_round_trip() {
    let receiver = grown(&measured());
    assert_eq!(receiver.window.buffer(), 1_367_838);
    assert_eq!(receiver.window.clamp(), 854_898);
}

/// 131 072 B, of which 160 / 256 are window once a segment of 1448 B in 2304 B has arrived: 81 920 B. Five
/// segments out of order take 5 * 2304 B of the buffer, so 7200 B of the window; ten of 100 B in 1280 B
/// take 8000.
#[test]
fn what_is_out_of_order_takes_its_memory_from_the_window() {
    for (count, payload, taken) in [(5, PAYLOAD, 7200), (10, 100, 8000)] {
        let mut receiver = Receiver::new(&measured(), PAYLOAD, true, true);
        receiver.on_segment(ms(0), &segment(1, PAYLOAD), Ecn::NotEct, None);
        receiver.read(ms(0));
        for number in 0..count {
            receiver.on_segment(ms(1), &segment(10_001 + number * payload, payload), Ecn::NotEct, None);
        }
        assert_eq!(receiver.held(), taken, "{count} segments of {payload} B");
    }
}

/// The window may grow to the free space, and a segment out of order is charged after that: if there was room
/// beside one, the first one makes it grow once more.
#[test]
fn a_segment_out_of_order_is_charged_when_the_window_has_grown() {
    let mut receiver = Receiver::new(&measured(), PAYLOAD, true, true);
    receiver.on_segment(ms(0), &segment(1, PAYLOAD), Ecn::NotEct, None);
    receiver.read(ms(0));
    while receiver.window.grow(PAYLOAD, 1440) {}
    receiver.on_segment(ms(1), &segment(10_001, PAYLOAD), Ecn::NotEct, None);
    assert_eq!(receiver.held(), 1440);
    assert!(!receiver.window.grow(PAYLOAD, 0), "it has grown to all that there is");
}

/// 100 ms were measured. A sample of 500 ms from a segment that arrives while another is unread does not
/// count since 6.16; one shorter than before does.
#[test]
fn long_times_do_not_count_while_data_are_unread() {
    for (config, rtt) in [(measured(), 100), (test_config(), 150)] {
        let mut receiver = Receiver::new(&config, PAYLOAD, true, true).opened(ms(5000), 64_240);
        for (number, now, echo) in [(0, 5100, 5000), (1, 5600, 5100)] {
            let arrived = Segment { timestamp_echo: echo, ..segment(1 + number * PAYLOAD, PAYLOAD) };
            receiver.on_segment(ms(now), &arrived, Ecn::NotEct, None);
        }
        assert_eq!(receiver.window.rtt(), Some(Duration::from_millis(rtt)));
    }
}

/// The first packets are lost. Since 6.17 the first segment that arrives shows the memory of a packet, so
/// that the window grows by two segments, and is acknowledged quickly; there are then no 15 quick
/// acknowledgements at the first data in order.
#[test]
fn what_is_out_of_order_is_measured() {
    for (measures, window, quick) in [(true, 67_072, false), (false, 64_256, true)] {
        let mut config = measured();
        config.fixed.measures_out_of_order = measures;
        let mut receiver = Receiver::new(&config, PAYLOAD, true, true).opened(ms(0), 64_240);
        receiver.on_segment(ms(1), &segment(10_001, PAYLOAD), Ecn::NotEct, None);
        assert_eq!(ack(&mut receiver, ms(1)).1, window, "64 088 + 2896 B, or what was offered");
        while receiver.window.grow(PAYLOAD, 0) {}
        for number in 0..3 {
            receiver.on_segment(ms(2), &segment(1 + number * PAYLOAD, PAYLOAD), Ecn::NotEct, None);
            receiver.read(ms(2));
            ack(&mut receiver, ms(2));
        }
        receiver.on_segment(ms(3), &segment(10_001 + PAYLOAD, PAYLOAD), Ecn::NotEct, None);
        assert_eq!(receiver.acks.is_quick(), quick);
    }
}
