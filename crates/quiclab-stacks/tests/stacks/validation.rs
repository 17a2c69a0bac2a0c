//! What cannot be run is refused, with field, value and what is allowed.

use crate::network::{config, download};
use crate::{STACKS, validate};
use quiclab_core::{
    ByteCount, Duration, EndpointIdentity, FiveTuple, FlowId, Protocol, Role, StackError, Time,
};
use quiclab_transport::EndpointRequest;
use quiclab_transport::options::{AckFrequency, EndpointConfig, Workload};
use quiclab_transport::stack::build;

#[test]
fn values_out_of_range_are_named() {
    type Change = fn(&mut EndpointConfig);
    let cases: [(&str, &str, Change); 15] = [
        ("datagram_size", "1199 B", |c| c.datagram_size = Some(ByteCount::from_bytes(1199))),
        ("datagram_size", "65508 B", |c| c.datagram_size = Some(ByteCount::from_bytes(65_508))),
        ("initial_window", "1200 B", |c| c.initial_window = Some(ByteCount::from_bytes(1200))),
        ("initial_window", "4 GiB", |c| c.initial_window = Some(ByteCount::from_bytes(1 << 32))),
        ("initial_window", "12000 B, the default", |c| c.datagram_size = Some(ByteCount::from_bytes(12_000))),
        ("stream_receive_window", "0 B", |c| c.stream_receive_window = Some(ByteCount::ZERO)),
        ("connection_receive_window", "0 B", |c| c.connection_receive_window = Some(ByteCount::ZERO)),
        ("connection_receive_window", "B", |c| {
            c.connection_receive_window = Some(ByteCount::from_bytes(1 << 62))
        }),
        ("send_window", "0 B", |c| c.send_window = Some(ByteCount::ZERO)),
        ("packet_threshold", "2", |c| c.packet_threshold = Some(2)),
        ("time_threshold", "0.99", |c| c.time_threshold = Some(0.99)),
        ("time_threshold", "NaN", |c| c.time_threshold = Some(f64::NAN)),
        ("initial_rtt", "0 ns", |c| c.initial_rtt = Some(Duration::ZERO)),
        ("initial_rtt", "31 s", |c| c.initial_rtt = Some(Duration::from_secs(31))),
        ("ack_frequency.max_ack_delay", "999 us", |c| {
            c.ack_frequency = Some(AckFrequency {
                ack_eliciting_threshold: 1,
                max_ack_delay: Some(Duration::from_micros(999)),
                reordering_threshold: 1,
            });
        }),
    ];
    for stack in STACKS {
        assert_eq!(validate(&config(stack)).map(drop), Ok(()));
        for (field, value, change) in cases {
            let mut config = config(stack);
            change(&mut config);
            let error = validate(&config).unwrap_err();
            let StackError::OutOfRange { field: named, value: shown, allowed } = &error else {
                panic!("{error}")
            };
            assert_eq!(*named, field);
            assert!(shown.contains(value), "{error}");
            assert!(!allowed.is_empty() && error.to_string().contains(field), "{error}");
        }
    }
}

#[test]
fn messages_state_both_ends_of_a_range() {
    for stack in STACKS {
        let mut few = config(stack);
        few.packet_threshold = Some(0);
        assert!(validate(&few).unwrap_err().to_string().contains("3 to 4294967295 packets"));
        let mut large = config(stack);
        large.datagram_size = Some(ByteCount::from_bytes(65_508));
        assert!(validate(&large).unwrap_err().to_string().contains("1200 B to 65507 B"));
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
    let message = |config: &EndpointConfig| validate(config).unwrap_err().to_string();
    assert!(message(&EndpointConfig::default()).contains("`quinn`, `noq`"));
    assert!(message(&config("quin")).contains("`quin` is not a known stack; allowed is `quinn`, `noq`"));
    for stack in STACKS {
        let mut config = config(stack);
        config.profile = Some("aioquic".to_owned());
        assert!(message(&config).contains("no profiles"), "{}", message(&config));
    }
    assert_eq!(quiclab_stacks::STACKS.iter().map(|stack| stack.info().name).collect::<Vec<_>>(), STACKS);
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
    let request = ByteCount::from_bytes(100);
    let nothing = Workload::Download { size: None, duration: None, request };
    assert!(error(tuple, &nothing).unwrap().contains("exactly one of `size` or `duration`"));
    let both = Workload::Download { size: Some(request), duration: Some(Duration::from_secs(1)), request };
    assert!(error(tuple, &both).unwrap().contains("exactly one of `size` or `duration`"));
    assert!(error(tuple, &download(0)).unwrap().contains("workload.size"));
    let no_time = Workload::Download { size: None, duration: Some(Duration::ZERO), request };
    assert!(error(tuple, &no_time).unwrap().contains("workload.duration"));
}
