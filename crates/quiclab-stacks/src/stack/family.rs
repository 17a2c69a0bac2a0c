//! quinn and its forks: what options they take, and how an endpoint of one of them is made.

use crate::driver::QuicEndpoint;
use crate::library::{Parts, Stack};
use crate::observation::SharedObservation;
use crate::options::{self, Options};
use crate::workload::Download;
use quiclab_core::{Endpoint, OptionInfo, Problem, RandomStream, StackAbilities, StackInfo, StackProtocol};
use quiclab_transport::EndpointRequest;
use quiclab_transport::options::EndpointConfig;

/// Where a default is in the source of the library.
pub(super) const TRANSPORT: &str = "TransportConfig::default";
const HERE: &str = "set by quiclab";

/// The entry in the catalogue: `own` properties follow what all of the family have.
pub(super) fn info(
    name: &'static str,
    version: &'static str,
    description: &'static str,
    own: &[OptionInfo],
) -> StackInfo {
    StackInfo {
        name,
        version,
        description,
        protocol: StackProtocol::Quic,
        workloads: &["download"],
        options: Vec::leak([COMMON, own].concat()),
        profiles: &[],
        operations: &[],
        multipath: false,
        proprietary: false,
    }
}

/// Checks the options of an endpoint.
pub(super) fn validate(info: &StackInfo, config: &EndpointConfig) -> Result<StackAbilities, Problem> {
    Options::new(info.name, config).map(|_| info.abilities())
}

/// An endpoint on the stack that `make` makes.
pub(super) fn build<S: Stack>(
    info: &StackInfo,
    request: EndpointRequest<'_>,
    make: impl FnOnce(&Options, Parts) -> S,
) -> Result<Box<dyn Endpoint>, Problem> {
    let EndpointRequest { identity, config, workload, start, seed, observer, operations: _ } = request;
    let options = Options::new(info.name, config)?;
    options::check_workload(workload)?;
    options::check_tuple(&identity.tuple)?;
    let observation =
        observer.map(|observer| SharedObservation::new(observer, identity.role, options.packet_threshold()));
    let parts = Parts {
        role: identity.role,
        remote: identity.tuple.destination(),
        random: RandomStream::new(seed, &identity.name),
        congestion_random: RandomStream::new(seed, &format!("{}.congestion", identity.name)),
        observation: observation.clone(),
    };
    let stack = make(&options, parts);
    let download = Download::new(identity.role, workload, start, options.send_window());
    let tls_random = RandomStream::new(seed, &format!("{}.tls", identity.name));
    Ok(Box::new(QuicEndpoint::new(&identity, stack, download, start, tls_random, observation)))
}

const COMMON: &[OptionInfo] = &[
    OptionInfo::option(
        "congestion_control",
        "congestion control",
        "cubic",
        "TransportConfig::default, CubicConfig::default",
    ),
    OptionInfo::option(
        "controller",
        "implementation of the congestion control: `stack` has newreno and cubic, `quiclab` those of lab-tcp",
        "stack; quiclab for what the stack does not have",
        HERE,
    ),
    OptionInfo::option(
        "emulated_connections",
        "number of connections that newreno or cubic emulates; above 1 only in quiclab's congestion control",
        "1",
        HERE,
    ),
    OptionInfo::option(
        "slow_start_exit",
        "algorithm that ends slow start before a loss; all but `none` are quiclab's",
        "none",
        HERE,
    ),
    OptionInfo::option(
        "datagram_size",
        "UDP payload of a full datagram; path MTU discovery is off",
        "1200 B",
        TRANSPORT,
    ),
    OptionInfo::option(
        "initial_window",
        "initial congestion window",
        "12000 B",
        "NewRenoConfig::default, CubicConfig::default",
    ),
    OptionInfo::option("stream_receive_window", "flow-control window of a stream", "1250000 B", TRANSPORT),
    OptionInfo::option(
        "connection_receive_window",
        "flow-control window of the connection",
        "unlimited (2^62 - 1 B)",
        TRANSPORT,
    ),
    OptionInfo::option(
        "send_window",
        "stream data stored for sending and retransmission",
        "10000000 B",
        TRANSPORT,
    ),
    OptionInfo::option(
        "packet_threshold",
        "maximum reordering before a packet is declared lost, in packets",
        "3",
        TRANSPORT,
    ),
    OptionInfo::option(
        "time_threshold",
        "maximum reordering before a packet is declared lost, in RTTs",
        "1.125",
        TRANSPORT,
    ),
    OptionInfo::option("initial_rtt", "RTT before the first sample", "333 ms", TRANSPORT),
    OptionInfo::option("ack_frequency", "ACK policy that is requested of the peer", "no request", TRANSPORT),
    OptionInfo::fixed(
        "acknowledgements",
        "every second packet, immediately if reordered, after at most 25 ms",
        "connection/spaces.rs, transport_parameters.rs",
    ),
    OptionInfo::fixed("idle timeout", "30 s", TRANSPORT),
    OptionInfo::fixed("persistent congestion threshold", "3 PTOs", TRANSPORT),
    OptionInfo::fixed("maximum datagram size accepted", "65527 B", HERE),
    OptionInfo::fixed("segmentation offload, path MTU discovery, 0-RTT, Retry, NEW_TOKEN", "off", HERE),
    OptionInfo::fixed(
        "TLS",
        "TLS_AES_128_GCM_SHA256, X25519, Ed25519 certificate, two session tickets",
        HERE,
    ),
    OptionInfo::fixed(
        "spin bit, greased fixed bit, skipped packet numbers, key updates",
        "on, from the endpoint's random stream",
        TRANSPORT,
    ),
];

/// Checks that the catalogue has the version in the lock file and the defaults of the library.
#[cfg(test)]
pub(super) fn check_library(info: &StackInfo, module: &str, transport: &str, controls: &[String]) {
    use crate::options::{
        DEFAULT_DATAGRAM_SIZE, DEFAULT_INITIAL_WINDOW, DEFAULT_PACKET_THRESHOLD, DEFAULT_SEND_WINDOW,
    };
    let lock = include_str!("../../../../Cargo.lock");
    let entry = format!("name = \"{}\"\nversion = \"{}\"", module.replace('_', "-"), info.version);
    assert!(lock.contains(&entry), "{entry}");
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
        assert!(transport.contains(field), "{}: {field} is not in {transport}", info.name);
    }
    assert_eq!((DEFAULT_DATAGRAM_SIZE, DEFAULT_PACKET_THRESHOLD, DEFAULT_SEND_WINDOW), (1200, 3, 10_000_000));
    for control in controls {
        assert!(control.contains(&format!("initial_window: {DEFAULT_INITIAL_WINDOW}")), "{control}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::STACKS;

    /// What names the stack and where it runs, and what these stacks refuse.
    const NOT_LISTED: [&str; 8] = ["stack", "profile", "host", "pacing", "tcp", "quic", "http2", "tls"];

    #[test]
    fn every_option_of_a_scenario_is_listed() {
        let schema = schemars::schema_for!(EndpointConfig);
        let properties = schema.get("properties").and_then(|properties| properties.as_object()).unwrap();
        for info in STACKS.iter().map(|stack| stack.info()) {
            for name in properties.keys().filter(|name| !NOT_LISTED.contains(&name.as_str())) {
                assert!(
                    info.options.iter().any(|option| option.option == Some(name)),
                    "{} {name}",
                    info.name
                );
            }
        }
    }
}
