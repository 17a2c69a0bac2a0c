//! Round trips until the first byte of a response, after different handshakes.
//!
//! | | round trips | reason |
//! | --- | --- | --- |
//! | 0-RTT | 1 | RFC 9001 section 4.1: the request leaves with the ClientHello |
//! | 1-RTT, full or resumed; 0-RTT rejected | 2 | sections 4.1, 4.6.2 |
//! | the same with a certificate of 10 kB | 3 | RFC 9000 section 8.1: 3 x 1200 B before the client's answer |
//! | TCP and TLS 1.3 | 3 | RFC 9293 section 3.5, RFC 8446 section 2 |
//! | TCP and TLS 1.2 | 4 | RFC 5246 section 7.3 |
//! | gQUIC: cached with 0-RTT, without, rejected, full | 1, 2, 2, 2 | QUIC Crypto |
//! | gQUIC with a certificate of 10 kB | 3 | a REJ with it needs a source-address token |

use super::common::*;

/// Round trips from the start of the client to the first byte of the response.
fn round_trips(sets: &[(&str, &str)]) -> f64 {
    client(&run_one(sets), "first_byte_ms") / RTT_MS
}

/// Round trips with this `tls` at both ends.
fn with_tls(tls: &str, more: &[(&str, &str)]) -> f64 {
    let mut sets = more.to_vec();
    sets.extend([("flows.f.sender.tls", tls), ("flows.f.receiver.tls", tls)]);
    round_trips(&sets)
}

/// TLS 1.3 with these fields, and a certificate of this length.
fn tls(fields: &str, certificate: &str) -> String {
    format!(r#"{{ version = "1.3", certificate = "{certificate}"{fields} }}"#)
}

const FULL: &str = "";
const RESUMED: &str = ", resumption = true";
const ACCEPTED: &str = r#", resumption = true, early_data = "accepted""#;
const REJECTED: &str = r#", resumption = true, early_data = "rejected""#;

#[test]
fn quic_takes_one_round_trip_and_none_with_0_rtt() {
    for (fields, expected) in [(ACCEPTED, 1.0), (RESUMED, 2.0), (FULL, 2.0), (REJECTED, 2.0)] {
        assert_eq!(with_tls(&tls(fields, "0 B"), &[]), expected, "{fields}");
    }
}

/// A client that resumes gets no certificate: its length does not matter.
#[test]
fn a_long_certificate_costs_quic_a_round_trip_more_unless_it_resumes() {
    for (fields, expected) in [(ACCEPTED, 1.0), (RESUMED, 2.0), (FULL, 3.0), (REJECTED, 2.0)] {
        assert_eq!(with_tls(&tls(fields, "10 kB"), &[]), expected, "{fields}");
    }
}

/// The extra round trip is due to the limit of three times the bytes received: without it, the limit is the initial
/// window of 12 000 B, which 20 kB exceed. A limit of 12 times 1200 B is no better than that window.
#[test]
fn the_limit_before_validation_is_what_costs() {
    let with_factor = |factor, certificate| {
        with_tls(&tls(FULL, certificate), &[("flows.f.sender.quic.amplification_factor", factor)])
    };
    assert_eq!(with_factor("0", "10 kB"), 2.0);
    assert_eq!(with_factor("12", "10 kB"), 2.0);
    assert_eq!(with_factor("0", "20 kB"), 3.0);
    // 1200 B and no more: each datagram of the client permits another, until its first Handshake packet
    assert_eq!(with_factor("1", "0 B"), 2.0);
}

/// The client's first datagram counts, not its hello: a larger one permits a larger answer.
#[test]
fn a_client_that_pads_more_gets_more() {
    let padded = [
        ("flows.f.receiver.profile", "aioquic"),
        ("flows.f.receiver.datagram_size", "4000 B"),
        ("flows.f.receiver.initial_window", "40 kB"),
        ("flows.f.receiver.quic.acknowledgement", r#"{ kind = "every", packets = 1, delay = "0 s" }"#),
    ];
    assert_eq!(with_tls(&tls(FULL, "10 kB"), &padded), 2.0);
}

/// One more round trip for TCP's handshake; its initial window of ten segments of 1448 B, 14 480 B, does not limit 10
/// kB, but 20 kB.
#[test]
fn tls_above_tcp_takes_one_round_trip_more_than_quic() {
    let tcp = [
        ("flows.f.stack", "lab-tcp"),
        ("flows.f.sender.profile", "linux-7"),
        ("flows.f.receiver", r#"{ profile = "linux-7" }"#),
    ];
    let of = |version: &str, certificate: &str, resumed: &str| {
        let tls = format!(r#"{{ version = "{version}", certificate = "{certificate}"{resumed} }}"#);
        with_tls(&tls, &tcp)
    };
    for (version, resumed, certificate, expected) in [
        ("1.3", FULL, "0 B", 3.0),
        ("1.3", FULL, "10 kB", 3.0),
        ("1.3", FULL, "20 kB", 4.0),
        ("1.3", RESUMED, "20 kB", 3.0),
        ("1.2", FULL, "0 B", 4.0),
        ("1.2", FULL, "10 kB", 4.0),
        ("1.2", FULL, "20 kB", 5.0),
        ("1.2", RESUMED, "20 kB", 3.0),
    ] {
        assert_eq!(of(version, certificate, resumed), expected, "TLS {version}, {certificate}{resumed}");
    }
}

/// In 3 x 1300 B less the other contents of a REJ there is no room for 10 kB: a round trip for the token.
#[test]
fn gquic_takes_none_with_a_cached_config_and_one_or_two_without() {
    let version = [
        ("flows.f.sender.quic.version", "gquic-37"),
        ("flows.f.receiver.quic.version", "gquic-37"),
        ("flows.f.sender.datagram_size", "1300 B"),
        ("flows.f.receiver.datagram_size", "1300 B"),
    ];
    for (fields, certificate, expected) in [
        (ACCEPTED, "10 kB", 1.0),
        (RESUMED, "10 kB", 2.0),
        (REJECTED, "10 kB", 2.0),
        (FULL, "0 B", 2.0),
        (FULL, "10 kB", 3.0),
    ] {
        assert_eq!(with_tls(&tls(fields, certificate), &version), expected, "{fields}, {certificate}");
    }
}

/// Both ends complete the handshake with the first flight of the peer: the client after a round trip, the server after
/// one and a half, when the client's Finished arrives.
#[test]
fn the_handshake_is_complete_when_the_finished_of_the_peer_arrives() {
    let output = run_one(&[]);
    assert_eq!(client(&output, "handshake_complete_ms"), RTT_MS);
    assert_eq!(server(&output, "handshake_complete_ms"), 1.5 * RTT_MS);
}
