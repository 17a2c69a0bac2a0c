//! Configurations that cannot be run are rejected with field, value and allowed values.

use crate::network::{config, download};
use crate::{STACKS, validate};
use quiclab_core::{
    ByteCount, Duration, EndpointIdentity, FiveTuple, FlowId, ProblemKind, Protocol, Role, Time,
};
use quiclab_transport::EndpointRequest;
use quiclab_transport::options::{EndpointConfig, PingProtocol, Tls, TlsVersion, Workload};
use quiclab_transport::stack::build;

#[test]
fn values_out_of_range_are_named() {
    type Change = fn(&mut EndpointConfig);
    // rules that depend on the stack or on several options; limits of single options are those of scenarios
    let cases: [(&str, &str, Change); 4] = [
        ("initial_window", "1200 B", |c| c.initial_window = Some(ByteCount::from_bytes(1200))),
        ("initial_window", "4 GiB", |c| c.initial_window = Some(ByteCount::from_bytes(1 << 32))),
        ("initial_window", "12000 B\", the default", |c| {
            c.datagram_size = Some(ByteCount::from_bytes(12_000));
        }),
        ("connection_receive_window", "B", |c| {
            c.connection_receive_window = Some(ByteCount::from_bytes(1 << 62));
        }),
    ];
    for stack in STACKS {
        assert_eq!(validate(&config(stack)).map(drop), Ok(()));
        for (field, value, change) in cases {
            let mut config = config(stack);
            change(&mut config);
            let problem = validate(&config).unwrap_err();
            assert_eq!(problem.path.to_string(), field);
            assert!(problem.value.as_ref().is_some_and(|shown| shown.contains(value)), "{problem}");
            assert!(!problem.expected.is_empty(), "{problem}");
        }
    }
}

#[test]
fn limits_themselves_are_allowed() {
    for stack in STACKS {
        let mut config = config(stack);
        config.datagram_size = Some(ByteCount::from_bytes(65_507));
        config.initial_window = Some(ByteCount::from_bytes(65_508));
        config.stream_receive_window = Some(ByteCount::from_bytes((1 << 62) - 1));
        config.send_window = Some(ByteCount::from_bytes(1));
        config.packet_threshold = Some(3);
        config.time_threshold = Some(1.0);
        config.initial_rtt = Some(Duration::from_secs(30));
        assert_eq!(validate(&config).map(drop), Ok(()));
    }
}

#[test]
fn stacks_and_profiles_are_checked() {
    for name in [None, Some("quin")] {
        let config = name.map_or_else(EndpointConfig::default, config);
        let problem = validate(&config).unwrap_err();
        assert_eq!((problem.path.to_string(), problem.kind), ("stack".to_owned(), ProblemKind::UnknownName));
        assert!(STACKS.iter().all(|stack| problem.expected.contains(stack)), "{problem}");
    }
    for stack in STACKS {
        let mut config = config(stack);
        config.profile = Some("aioquic".to_owned());
        let problem = validate(&config).unwrap_err();
        assert_eq!(
            (problem.path.to_string(), problem.kind),
            ("profile".to_owned(), ProblemKind::Unsupported)
        );
    }
    assert_eq!(quiclab_stacks::STACKS.iter().map(|stack| stack.info().name).collect::<Vec<_>>(), STACKS);
}

#[test]
fn resumption_is_refused_with_what_there_is() {
    for stack in STACKS {
        let mut config = config(stack);
        config.tls = Some(Tls {
            version: TlsVersion::Tls13,
            resumption: true,
            certificate: ByteCount::from_bytes(3000),
            early_data: None,
        });
        let problem = validate(&config).unwrap_err();
        assert_eq!((problem.path.to_string(), problem.kind), ("tls".to_owned(), ProblemKind::Unsupported));
        assert!(problem.to_string().contains("handshakes are full ones"), "{problem}");
    }
}

#[test]
fn workload_and_addresses_are_checked() {
    let tuple =
        FiveTuple::new(Protocol::Udp, "192.0.2.1:443".parse().unwrap(), "192.0.2.2:50000".parse().unwrap());
    let error = |tuple, workload: &Workload| {
        let identity =
            EndpointIdentity { name: "x".to_owned(), flow: FlowId(0), role: Role::Client, tuple, paths: 1 };
        let quinn = config("quinn");
        let request = EndpointRequest::new(identity, &quinn, workload, Time::ZERO, 1);
        build(quiclab_stacks::STACKS, request).err().map(|error| error.to_string())
    };
    assert_eq!(error(tuple, &download(1)), None);
    assert!(error(FiveTuple::default(), &download(1)).unwrap().contains("tuple.destination"));
    let mixed = FiveTuple::new(tuple.protocol(), "[2001:db8::1]:443".parse().unwrap(), tuple.destination());
    assert!(error(mixed, &download(1)).unwrap().contains("tuple.source"));
    // eight bytes have no room for number and time
    let ping = Workload::Ping {
        size: ByteCount::from_bytes(8),
        count: 1,
        interval: Duration::from_millis(1),
        protocol: PingProtocol::Udp,
    };
    assert!(error(tuple, &ping).unwrap().contains("workload.size"));
}
