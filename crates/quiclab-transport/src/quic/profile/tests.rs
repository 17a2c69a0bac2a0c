//! Profiles: complete, with a source for each value, and with known values.

use super::*;
use std::collections::BTreeSet;

#[test]
fn every_field_of_a_profile_has_a_value_and_a_source() {
    for profile in PROFILES {
        let rows = rows(profile.name).unwrap();
        let options = Config::FIELDS.len() + QuicValues::FIELDS.len();
        assert_eq!(rows.len(), options + Fixed::FIELDS.len());
        assert_eq!(rows.iter().filter(|row| row.field.is_some()).count(), options);
        for row in rows {
            assert!(!row.source.is_empty() && !row.value.is_empty(), "{}: {row:?}", profile.name);
        }
        assert!(!profile.description.is_empty());
    }
    assert_eq!(profiles().next(), Some(DEFAULT_PROFILE));
    assert_eq!(rows("quinn-0.1"), None);
    assert_eq!(description("quinn-0.1"), None);
}

#[test]
fn a_profile_has_each_field_once_and_no_other() {
    let of_endpoint = Config::FIELDS.iter().map(|field| field.name.to_owned());
    let of_quic = QuicValues::FIELDS.iter().map(|field| format!("quic.{}", field.name));
    let fixed = Fixed::FIELDS.iter().map(|field| format!("fixed.{}", field.name));
    let keys: BTreeSet<_> = of_endpoint.chain(of_quic).chain(fixed).collect();
    for profile in PROFILES {
        let own: BTreeSet<_> = profile.values.iter().map(|value| value.key.to_owned()).collect();
        assert_eq!(own.len(), profile.values.len(), "{}", profile.name);
        assert!(own.is_subset(&keys), "{}: {:?}", profile.name, own.difference(&keys));
    }
}

#[test]
fn profiles_are_within_what_options_take() {
    for name in profiles() {
        let config = find(name).unwrap();
        assert!(config.datagram_size >= bytes(1200), "{name}");
        assert!(config.initial_window() >= config.datagram_size, "{name}");
        assert!(config.quic.max_window.is_none_or(|most| most >= config.initial_window()), "{name}");
        assert!(config.stream_receive_window <= config.quic.max_stream_receive_window, "{name}");
        assert!(config.connection_receive_window <= config.quic.max_connection_receive_window, "{name}");
        assert!(config.quic.acknowledgement.delay() <= config.quic.max_ack_delay, "{name}");
        assert!(config.packet_threshold >= 3 && config.time_threshold >= 1.0, "{name}");
        assert!((1..=2).contains(&config.quic.probe_packets) && config.quic.max_streams >= 100, "{name}");
        assert!(config.send_window > bytes(0) && config.quic.ack_ranges > 0, "{name}");
        assert!(config.fixed.client_hello.bytes() <= 1100, "{name}: one datagram");
    }
}

/// Differences that the studies rely on, each computed from the constants of the sources.
#[test]
fn values_that_results_depend_on() {
    use crate::options::{Acknowledgement, CongestionControl, Pacing, RttVariation};
    use quiclab_core::Duration;
    let window = |name| find(name).unwrap().initial_window().bytes();
    assert_eq!(window("rfc9002"), 12_000); // 10 x 1200, less than 14 720
    assert_eq!(window("aioquic-0.8.8"), 12_800); // 10 x 1280
    assert_eq!(window("chromium-quic1"), 46_720); // 32 x 1460
    assert_eq!(window("quic-go"), 40_064); // 32 x 1252
    assert_eq!(window("picoquic"), 15_360); // 10 x 1536
    assert_eq!(window("ngtcp2-2020"), 12_520); // 10 x 1252
    let aioquic = find("aioquic").unwrap();
    assert_eq!(aioquic.quic.rtt_variation, RttVariation::FromMinRtt);
    assert_eq!(aioquic.quic.acknowledgement, Acknowledgement::Timer { delay: Duration::from_millis(1) });
    let chromium = find("chromium-quic1").unwrap();
    assert_eq!(chromium.congestion_control, CongestionControl::Cubic);
    assert_eq!(chromium.emulated_connections, 2);
    assert_eq!(chromium.quic.max_window, Some(bytes(2_920_000))); // 2000 x 1460
    assert!(
        chromium.quic.adaptive_packet_threshold
            && !find("chromium-gquic37").unwrap().quic.adaptive_packet_threshold
    );
    assert_eq!(find("ngtcp2-2020").unwrap().pacing, Pacing::None);
}
