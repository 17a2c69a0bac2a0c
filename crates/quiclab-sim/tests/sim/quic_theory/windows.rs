//! Initial window, flow control and limits of streams, where only they limit.

use super::common::*;

/// Runs a server with a large response and a window that never limits.
fn run_wide(more: &[(&str, &str)]) -> quiclab_sim::RunOutput {
    let mut sets =
        vec![("flows.f.sender.congestion_control", "fixed"), ("flows.f.sender.initial_window", "100 MB")];
    sets.extend(more);
    run_one(&sets)
}

/// A handshake that fits into any window.
const SHORT: &str = r#"{ version = "1.3", resumption = true }"#;

/// RFC 9002 section 7.2: full datagrams, up to the window, leave at the instant of the request's arrival (150 ms); the
/// next after a round trip. The handshake has not increased the window, since it did not limit anything (section 7.8).
#[test]
fn the_first_flight_is_the_initial_window() {
    let request = quiclab_core::Time::ZERO + quiclab_core::Duration::from_millis(150);
    for (window, datagram, expected) in [
        ("12000 B", "1200 B", 10),
        ("14720 B", "1472 B", 10),
        ("20000 B", "1200 B", 16),
        ("2400 B", "1200 B", 2),
    ] {
        let output = run_one(&[
            ("flows.f.workload.size", "1 MB"),
            ("flows.f.sender.initial_window", window),
            ("flows.f.sender.datagram_size", datagram),
            ("flows.f.sender.tls", SHORT),
            ("flows.f.receiver.tls", SHORT),
            ("duration", "240 ms"),
        ]);
        let flight = departures(&output, 1000).into_iter().filter(|time| *time == request).count();
        let after = departures(&output, 0).into_iter().filter(|time| *time > request).count();
        assert_eq!((flight, after), (expected, 0), "{window} of {datagram}");
    }
}

/// Slow start: in each round trip everything in flight is acknowledged and increases the window by the same amount
/// (section 7.3.1). The flights begin at 150 ms and each takes a round trip; a window of n datagrams is followed by one
/// of 2n.
#[test]
fn slow_start_doubles_the_flight_each_round_trip() {
    let output = run_one(&[("flows.f.workload.size", "1 MB"), ("duration", "600 ms")]);
    let departures = departures(&output, 1000);
    for (round, expected) in [10, 20, 40, 80].into_iter().enumerate() {
        let at = quiclab_core::Time::ZERO + quiclab_core::Duration::from_millis(150 + 100 * round as u64);
        let flight = departures.iter().filter(|time| **time == at).count() as i64;
        // bytes are acknowledged: because of headers, a flight may need one more datagram
        assert!((flight - expected).abs() <= 1, "round {round}: {flight}, not {expected}");
    }
}

/// The window of a receiver is used and read, and available again a round trip later: w bytes each round trip. Credit
/// returns by eighths of the window, so that up to an eighth may be unavailable; not from a window of 1000 B, which one
/// packet uses up.
#[test]
fn a_stream_window_gives_a_window_each_round_trip() {
    let run = |window: &str, size: &str| {
        let output = run_wide(&[
            ("flows.f.workload.size", size),
            ("flows.f.receiver.stream_receive_window", window),
            ("flows.f.receiver.quic.max_stream_receive_window", window),
        ]);
        output.result.flows["f"].download_time_s.expect("it is complete")
    };
    // 100 windows, the first of which arrives with the first byte, after two round trips
    assert_eq!(run("1000 B", "100 kB"), (2.0 + 99.0) * RTT_MS / 1000.0);
    let (least, most) = (2.0 + 99.0, 2.0 + 100.0 * 8.0 / 7.0);
    let round_trips = run("100 kB", "10 MB") / RTT_MS * 1000.0;
    assert!((least..=most).contains(&round_trips), "{round_trips}");
}

/// The same over all streams together: 40 responses of 2106 B (HEADERS 103, DATA 3 + 2000) are 84 240 B, 85 windows.
/// The credit used by the HTML returns while the first requests are in transit.
#[test]
fn a_connection_window_gives_a_window_each_round_trip_to_all_streams() {
    let output = run_wide(&[
        (
            "flows.f.workload",
            r#"{ kind = "page", html = "1 kB", objects = [{ count = 40, size = "2 kB" }], priorities = "round_robin" }"#,
        ),
        ("flows.f.receiver.connection_receive_window", "1000 B"),
        ("flows.f.receiver.quic.max_connection_receive_window", "1000 B"),
    ]);
    let objects = (client(&output, "page_load_ms") - client(&output, "html_ms")) / RTT_MS;
    assert!((85.0..=86.0).contains(&objects), "{objects} round trips");
    assert!((client(&output, "object_ms_max") / RTT_MS - objects).abs() < 1e-6);
}

/// 200 objects with at most 100 streams. A stream is finished for the server when its end is acknowledged, one and a
/// half round trips after the request; half of one later the client learns that it may open another. So the second
/// batch is requested two round trips after the first. The limit is raised only by more than an eighth: by 13 streams
/// (quinn-proto 0.11). Of the first 100, one with the HTML, that makes 91: 99 + 91 objects are transferred in two
/// batches, 200 in three.
#[test]
fn a_limit_of_streams_makes_batches() {
    let load = |streams: &str, objects: u32| {
        let page = format!(
            r#"{{ kind = "page", html = "1 kB", objects = [{{ count = {objects}, size = "100 B" }}], priorities = "round_robin" }}"#
        );
        let output = run_wide(&[
            ("flows.f.workload", &page),
            ("flows.f.sender.quic.max_streams", streams),
            // all objects of a batch leave at one instant
            ("flows.f.receiver.congestion_control", "fixed"),
            ("flows.f.receiver.initial_window", "100 MB"),
        ]);
        (client(&output, "page_load_ms") - client(&output, "html_ms")) / RTT_MS
    };
    assert_eq!(load("1000", 200), 1.0);
    assert_eq!(load("100", 99), 1.0);
    assert_eq!(load("100", 99 + 91), 3.0);
    assert_eq!(load("100", 200), 5.0);
}
