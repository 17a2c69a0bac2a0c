//! quinn and its forks: their options, and construction of their endpoints.

use crate::body::write_size;
use crate::driver::QuicEndpoint;
use crate::library::{Parts, Stack};
use crate::observation::SharedObservation;
use crate::on_streams::OnStreams;
use crate::options::{
    self, DEFAULT_DATAGRAM_SIZE, DEFAULT_INITIAL_WINDOW, DEFAULT_PACKET_THRESHOLD, DEFAULT_SEND_WINDOW,
    Options,
};
use quiclab_core::{
    ByteCount, Endpoint, EndpointIdentity, OptionInfo, Problem, RandomStream, StackAbilities, StackInfo,
    StackProtocol,
};
use quiclab_transport::options::{CongestionControl, EndpointConfig, QuicVersion, SlowStartExit, Workload};
use quiclab_transport::{EndpointRequest, build_on_streams, http, page_random};

/// Place of the defaults in the source of the library.
pub(super) const TRANSPORT: &str = "TransportConfig::default";
const HERE: &str = "set by quiclab";

/// Entry in the catalogue: `own` properties follow those common to the family; whether its connections can
/// have several paths, and whether it carries tunnels.
pub(super) fn info(
    name: &'static str,
    version: &'static str,
    description: &'static str,
    own: &[OptionInfo],
    [multipath, tunnels]: [bool; 2],
) -> StackInfo {
    StackInfo {
        name,
        version,
        description,
        protocol: StackProtocol::Quic,
        workloads: Workload::ON_STREAMS,
        options: Vec::leak([common(), own.to_vec()].concat()),
        profiles: &[],
        operations: &[],
        multipath,
        proprietary: false,
        tunnels,
    }
}

/// Checks the options of an endpoint.
pub(super) fn validate(info: &StackInfo, config: &EndpointConfig) -> Result<StackAbilities, Problem> {
    let multipath = config.multipath.is_some();
    let options = Options::new(info.name, config)?;
    let own = options.congestion_control.unwrap_or(CongestionControl::Cubic);
    let states = match options.lab_control {
        Some(lab) => lab.control.states(lab.slow_start_exit),
        None => own.states(SlowStartExit::None),
    };
    Ok(StackAbilities { multipath, states: states.into(), ..info.abilities() })
}

/// Alternative to the option `option`, which no stack of the family has.
pub(super) fn instead(option: &str) -> &'static str {
    match option {
        "tls" => "its handshakes are full ones of TLS 1.3, without an option",
        _ => "",
    }
}

/// Makes an endpoint on the stack that `make` returns.
pub(super) fn build<S: Stack>(
    info: &StackInfo,
    request: EndpointRequest<'_>,
    make: impl Fn(&Options, Parts) -> S,
) -> Result<Box<dyn Endpoint>, Problem> {
    let EndpointRequest { identity, config, workload, start, seed, mut observer, path_plan, .. } = request;
    let options = Options::new(info.name, config)?;
    options::check_workload(workload)?;
    options::check_tuple(&identity.tuple)?;
    let role = identity.role;
    // one connection; an observer receives one, for a page that of the HTML
    let mut connection = |identity: &EndpointIdentity, application| -> Box<dyn Endpoint> {
        let observation = observer
            .take()
            .map(|observer| SharedObservation::new(observer, role, options.packet_threshold()));
        let parts = Parts {
            role,
            remote: identity.tuple.destination(),
            paths: identity.paths,
            path_plan: path_plan.clone(),
            random: RandomStream::new(seed, &identity.name),
            congestion_random: RandomStream::new(seed, &format!("{}.congestion", identity.name)),
            observation: observation.clone(),
        };
        let stack = make(&options, parts);
        let tls_random = RandomStream::new(seed, &format!("{}.tls", identity.name));
        Box::new(QuicEndpoint::new(identity, stack, application, start, tls_random, observation))
    };
    let mut on_streams = |identity: &EndpointIdentity, application| {
        connection(identity, OnStreams::new(role, application, write_size(options.send_window())))
    };
    if let Workload::Page { resources, .. } = workload
        && !resources.is_empty()
    {
        return http::build_origins(
            &identity,
            workload,
            page_random(seed, &identity),
            |identity, page, origin| Ok(on_streams(identity, page.on_streams(role, origin, QuicVersion::V1))),
        );
    }
    let application = build_on_streams(&identity, workload, (start, seed), QuicVersion::V1)?;
    Ok(on_streams(&identity, application))
}

/// Options common to the family.
fn common() -> Vec<OptionInfo> {
    let bytes = |bytes: u64| ByteCount::from_bytes(bytes).to_string();
    let options = [
        ("congestion_control", "cubic".to_owned(), "TransportConfig::default, CubicConfig::default"),
        ("controller", "stack; quiclab for what the stack does not have".to_owned(), HERE),
        ("emulated_connections", "1".to_owned(), HERE),
        ("slow_start_exit", "none".to_owned(), HERE),
        ("newreno", "those of the stack".to_owned(), HERE),
        ("cubic", "those of the stack".to_owned(), HERE),
        ("bbr", "those of the control".to_owned(), HERE),
        ("datagram_size", bytes(DEFAULT_DATAGRAM_SIZE.into()), TRANSPORT),
        ("initial_window", bytes(DEFAULT_INITIAL_WINDOW), "NewRenoConfig::default, CubicConfig::default"),
        ("stream_receive_window", "1250000 B".to_owned(), TRANSPORT),
        ("connection_receive_window", "unlimited (2^62 - 1 B)".to_owned(), TRANSPORT),
        ("send_window", bytes(DEFAULT_SEND_WINDOW), TRANSPORT),
        ("packet_threshold", DEFAULT_PACKET_THRESHOLD.to_string(), TRANSPORT),
        ("time_threshold", "1.125".to_owned(), TRANSPORT),
        ("initial_rtt", "333 ms".to_owned(), TRANSPORT),
        ("ack_frequency", "no request".to_owned(), TRANSPORT),
    ];
    let option = |(name, default, source): (_, String, _)| {
        OptionInfo::option(name, String::leak(EndpointConfig::meaning(name)), String::leak(default), source)
    };
    options.map(option).into_iter().chain(FIXED.iter().copied()).collect()
}

const FIXED: &[OptionInfo] = &[
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
