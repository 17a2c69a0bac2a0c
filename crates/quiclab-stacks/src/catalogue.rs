//! The stacks there are, and what their options are without being set.

use quiclab_core::{OptionInfo, Problem, StackInfo, StackProtocol};
use quiclab_transport::options::EndpointConfig;

/// Which library an endpoint is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Quinn,
    Noq,
}

/// All stacks.
#[must_use]
pub fn stacks() -> &'static [StackInfo] {
    &STACKS
}

pub(crate) fn find(config: &EndpointConfig) -> Result<(Kind, &'static StackInfo), Problem> {
    let name = config.stack.as_deref().unwrap_or_default();
    KINDS
        .into_iter()
        .zip(&STACKS)
        .find(|(_, info)| info.name == name)
        .ok_or_else(|| Problem::unknown("stack", name, STACKS.iter().map(|info| info.name)))
}

/// In the order of [`STACKS`].
const KINDS: [Kind; 2] = [Kind::Quinn, Kind::Noq];

static STACKS: [StackInfo; 2] = [
    StackInfo {
        name: "quinn",
        version: "0.11.19",
        description: "quinn-proto, the QUIC implementation in Rust that quinn runs on tokio; here in virtual time",
        protocol: StackProtocol::Quic,
        workloads: &["download"],
        options: &QUINN,
        profiles: &[],
        operations: &[],
        multipath: false,
    },
    StackInfo {
        name: "noq",
        version: "1.4.0",
        description: "noq-proto, a fork of quinn-proto with Multipath QUIC (draft 21); here on a single path",
        protocol: StackProtocol::Quic,
        workloads: &["download"],
        options: &NOQ,
        profiles: &[],
        operations: &[],
        multipath: false,
    },
];

const fn option(
    name: &'static str,
    meaning: &'static str,
    default: &'static str,
    source: &'static str,
) -> OptionInfo {
    OptionInfo { option: Some(name), meaning, default, source }
}

const fn fixed(meaning: &'static str, default: &'static str, source: &'static str) -> OptionInfo {
    OptionInfo { option: None, meaning, default, source }
}

const TRANSPORT: &str = "TransportConfig::default";
const HERE: &str = "set by quiclab";

static QUINN: [OptionInfo; 24] = with_common([
    option(
        "congestion_control",
        "congestion control",
        "cubic",
        "TransportConfig::default, CubicConfig::default",
    ),
    fixed(
        "pacer",
        "1.25 cwnd per smoothed RTT, bursts of 2 ms but 10 to 256 datagrams",
        "connection/pacing.rs",
    ),
    fixed(
        "spurious loss, with its own congestion control",
        "not undone",
        "congestion/new_reno.rs, congestion/cubic.rs",
    ),
    fixed(
        "slow start of its own congestion control",
        "without HyStart",
        "congestion/new_reno.rs, congestion/cubic.rs",
    ),
    fixed(
        "pacing with a congestion control of quiclab",
        "as with its own: a rate that the control asks for, as BBR does, is ignored",
        "congestion.rs, connection/pacing.rs",
    ),
]);

static NOQ: [OptionInfo; 24] = with_common([
    option(
        "congestion_control",
        "congestion control",
        "cubic",
        "TransportConfig::default, CubicConfig::default",
    ),
    fixed(
        "pacer",
        "1.25 cwnd per smoothed RTT, bursts of 2 ms but 10 to 256 datagrams, of 10 ms at most",
        "connection/pacing.rs",
    ),
    fixed(
        "spurious loss, with its own congestion control",
        "undone by cubic, not by newreno",
        "congestion/new_reno.rs, congestion/cubic.rs",
    ),
    fixed(
        "slow start of its own congestion control",
        "without HyStart",
        "congestion/new_reno.rs, congestion/cubic.rs",
    ),
    fixed(
        "pacing with a congestion control of quiclab",
        "at the rate and in the bursts that the control asks for, as BBR does, else as with its own",
        "congestion.rs, connection/pacing.rs",
    ),
]);

/// What is the same in both stacks, after what is not.
const fn with_common(own: [OptionInfo; 5]) -> [OptionInfo; 24] {
    [
        own[0],
        option(
            "controller",
            "whose congestion control: `stack` has newreno and cubic, `quiclab` those of lab-tcp",
            "stack; quiclab for what the stack does not have",
            HERE,
        ),
        option(
            "emulated_connections",
            "connections that newreno or cubic stands for; above 1 of quiclab",
            "1",
            HERE,
        ),
        option(
            "slow_start_exit",
            "what ends slow start before a loss; all but none of quiclab",
            "none",
            HERE,
        ),
        option(
            "datagram_size",
            "UDP payload of a full datagram; path MTU discovery is off",
            "1200 B",
            TRANSPORT,
        ),
        option(
            "initial_window",
            "initial congestion window",
            "12000 B",
            "NewRenoConfig::default, CubicConfig::default",
        ),
        option("stream_receive_window", "flow-control window of a stream", "1250000 B", TRANSPORT),
        option(
            "connection_receive_window",
            "flow-control window of the connection",
            "unlimited (2^62 - 1 B)",
            TRANSPORT,
        ),
        option("send_window", "stream data kept for sending and retransmission", "10000000 B", TRANSPORT),
        option("packet_threshold", "reordering before a packet is lost, in packets", "3", TRANSPORT),
        option("time_threshold", "reordering before a packet is lost, in RTTs", "1.125", TRANSPORT),
        option("initial_rtt", "RTT before the first sample", "333 ms", TRANSPORT),
        option("ack_frequency", "what is asked of the peer's acknowledgements", "nothing asked", TRANSPORT),
        fixed(
            "acknowledgements",
            "every second packet, at once if reordered, after 25 ms at most",
            "connection/spaces.rs, transport_parameters.rs",
        ),
        fixed("idle timeout", "30 s", TRANSPORT),
        fixed("persistent congestion threshold", "3 PTOs", TRANSPORT),
        fixed("largest datagram accepted", "65527 B", HERE),
        fixed("segmentation offload, path MTU discovery, 0-RTT, Retry, NEW_TOKEN", "off", HERE),
        fixed("TLS", "TLS_AES_128_GCM_SHA256, X25519, Ed25519 certificate, two session tickets", HERE),
        fixed(
            "spin bit, greased fixed bit, skipped packet numbers, key updates",
            "on, from the endpoint's random stream",
            TRANSPORT,
        ),
        own[1],
        own[2],
        own[3],
        own[4],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{
        DEFAULT_DATAGRAM_SIZE, DEFAULT_INITIAL_WINDOW, DEFAULT_PACKET_THRESHOLD, DEFAULT_SEND_WINDOW,
    };

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let lock = include_str!("../../../Cargo.lock");
        for info in stacks() {
            let entry = format!("name = \"{}-proto\"\nversion = \"{}\"", info.name, info.version);
            assert!(lock.contains(&entry), "{entry}");
        }
    }

    /// What names the stack and where it runs, and what these stacks refuse.
    const NOT_LISTED: [&str; 8] = ["stack", "profile", "host", "pacing", "tcp", "quic", "http2", "tls"];

    #[test]
    fn every_option_of_a_scenario_is_listed() {
        let schema = schemars::schema_for!(EndpointConfig);
        let properties = schema.get("properties").and_then(|properties| properties.as_object()).unwrap();
        for info in stacks() {
            for name in properties.keys().filter(|name| !NOT_LISTED.contains(&name.as_str())) {
                assert!(
                    info.options.iter().any(|option| option.option == Some(name)),
                    "{} {name}",
                    info.name
                );
            }
        }
    }

    #[test]
    fn defaults_are_those_of_the_libraries() {
        let quinn = format!("{:?}", quinn_proto::TransportConfig::default());
        let noq = format!("{:?}", noq_proto::TransportConfig::default());
        for (info, config) in stacks().iter().zip([quinn, noq]) {
            for field in [
                " stream_receive_window: 1250000,",
                " receive_window: 4611686018427387903,",
                " send_window: 10000000,",
                " packet_threshold: 3,",
                " time_threshold: 1.125,",
                " initial_rtt: 333ms,",
                " initial_mtu: 1200,",
                " ack_frequency_config: None,",
                " max_idle_timeout: Some(30000),",
                " persistent_congestion_threshold: 3,",
                " allow_spin: true,",
            ] {
                assert!(config.contains(field), "{}: {field} is not in {config}", info.name);
            }
        }
        assert_eq!(
            (DEFAULT_DATAGRAM_SIZE, DEFAULT_PACKET_THRESHOLD, DEFAULT_SEND_WINDOW),
            (1200, 3, 10_000_000)
        );
        let windows = [
            format!("{:?}", quinn_proto::congestion::NewRenoConfig::default()),
            format!("{:?}", quinn_proto::congestion::CubicConfig::default()),
            format!("{:?}", noq_proto::congestion::NewRenoConfig::default()),
            format!("{:?}", noq_proto::congestion::CubicConfig::default()),
        ];
        for window in windows {
            assert!(window.contains(&format!("initial_window: {DEFAULT_INITIAL_WINDOW}")), "{window}");
        }
    }
}
