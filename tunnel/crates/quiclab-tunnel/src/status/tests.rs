//! Formats of the status, from one status with all possible fields.

use super::*;

/// A server with a client on two paths, of which one is down, and an earlier session of the same client.
pub(crate) fn example() -> Status {
    let address = |text: &str| Some(text.parse().unwrap());
    let path = PathStatus {
        path: 0,
        name: "0".to_owned(),
        up: true,
        local: address("203.0.113.1:4433"),
        remote: address("198.51.100.7:50000"),
        mtu_bytes: Some(1500),
        mtu_search: Some(MtuSearchState::Searching),
        rtt_ms: 21.5,
        window_bytes: 120_000,
        in_flight_bytes: 60_000,
        rate_mbps: Some(50.0),
        loss: 0.01,
        sent_bytes: 8_000_000,
        received_bytes: 400_000,
    };
    let down = PathStatus {
        path: 1,
        name: "1".to_owned(),
        up: false,
        local: None,
        remote: None,
        mtu_bytes: None,
        mtu_search: None,
        rate_mbps: None,
        ..path.clone()
    };
    let flow = FlowStatus {
        protocol: "tcp".to_owned(),
        source: "10.77.0.1:9".to_owned(),
        destination: "10.77.0.2:40000".to_owned(),
        packets: 12,
        bytes: 16_800,
        wait_ms: 4.2,
        dropped_packets: 3,
    };
    let values = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 7.0)).collect();
    let session = SessionStatus {
        session: 2,
        name: "laptop".to_owned(),
        public_key: "07".repeat(32),
        open: true,
        open_seconds: 60.0,
        addresses: vec!["10.77.0.2".parse().unwrap(), "fd77::2".parse().unwrap()],
        connections: 2,
        carrier: None,
        backlog_packets: 12,
        backlog_bytes: 16_800,
        queue_sent_packets: 5000,
        queue_sojourn_seconds: 9.5,
        waiting_flows: 1,
        flows: vec![flow],
        values: values(&[
            "dropped_packets",
            "entered_packets",
            "longest_sojourn_ms",
            "mtu_bytes",
            "path1_cwnd_bytes",
            "red_drops",
            "repaired_packets",
            "timer_expiries",
        ]),
        paths: vec![path, down],
    };
    let earlier = SessionStatus { session: 1, open: false, paths: Vec::new(), ..session.clone() };
    Status {
        version: "1.2.3".to_owned(),
        role: "server".to_owned(),
        interface: "qlt0".to_owned(),
        uptime_seconds: 100.0,
        values: values(&[
            "connections",
            "device_read_bytes_total",
            "homeless_packets_total",
            "refused_peers_total",
            "udp_unsent_packets_total",
        ]),
        sessions: vec![earlier, session],
    }
}

/// tests/test_tunnel_metrics.py passes the same file to the parser of Prometheus' Python client.
#[test]
fn metrics_are_as_in_the_example() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/status/example.txt");
    let text = example().open_metrics();
    if std::env::var_os("QUICLAB_WRITE_EXAMPLES").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), text, "QUICLAB_WRITE_EXAMPLES=1 writes it anew");
    assert!(text.ends_with("# EOF\n"));
    // one client, one series, of its later session
    assert_eq!(text.matches("quiclab_tunnel_session_open{session=\"laptop\"} 1\n").count(), 1);
    assert_eq!(text.matches("quiclab_tunnel_session_open{").count(), 1);
    // milliseconds become seconds; a discipline of another kind defines its own metrics
    assert!(text.contains("quiclab_tunnel_queue_longest_sojourn_seconds{session=\"laptop\"} 0.007\n"));
    assert!(text.contains("# TYPE quiclab_tunnel_red_drops counter\n"));
    assert!(!text.contains("path1_cwnd"), "paths have metrics of their own");
}

#[test]
fn every_value_of_a_session_has_a_meaning() {
    use crate::session::Session;
    use quiclab_carrier::{
        KnownPeers, PublicKey, Randomness, SecretKey, SessionId, TunnelEndpoint, TunnelEndpointConfig,
    };
    use quiclab_core::Role;
    let text = "version = 1\nkey_file = \"key\"\n[server]\nlisten = [\"127.0.0.1:4433\"]\npool_ipv4 = \"10.77.0.0/24\"\n";
    let (config, _) = crate::config::parse(text, "server.toml").unwrap();
    let (key, peers) = (SecretKey::from_bytes([1; 32]), KnownPeers::default());
    let config_of_endpoint = TunnelEndpointConfig::new(Role::Server, key, peers, Randomness::Seeded(1));
    let mut endpoint = TunnelEndpoint::new(config_of_endpoint).unwrap();
    let tunnel = crate::setup::tunnel_config(&config, true);
    let name = "laptop".to_owned();
    let mut session = Session::new(Time::ZERO, SessionId(1), PublicKey::NONE, name, tunnel, 1);
    let session = session.status(Time::ZERO, &mut endpoint, &[]);
    assert!(session.values.contains_key("spoofed_packets") && session.values.len() > 30, "{session:?}");
    let values = ProgramCounts::default().values().collect();
    let text = Status { values, sessions: vec![session], ..example() }.open_metrics();
    let unknown: Vec<_> = text.lines().filter(|line| line.ends_with(" unknown")).collect();
    assert!(unknown.is_empty(), "what metrics.rs does not know: {unknown:?}");
}

#[test]
fn flows_with_the_most_bytes_are_shown() {
    use quiclab_core::ByteCount;
    use quiclab_core::ip::{FiveTuple, Protocol};
    use quiclab_core::queue::{Backlog, FlowKey};
    let flow = |port: u16| WaitingFlow {
        key: FlowKey::from(FiveTuple::new(
            Protocol::Udp,
            SocketAddr::from(([10, 0, 0, 1], port)),
            "[fd77::1]:53".parse().unwrap(),
        )),
        since: Time::ZERO,
        waiting: Backlog { packets: 1, bytes: ByteCount::from_bytes(port.into()) },
        dropped: 0,
    };
    let now = Time::ZERO + quiclab_core::Duration::from_millis(5);
    let shown = FlowStatus::longest(now, (1..=MAX_FLOWS as u16 + 5).map(flow).collect());
    assert_eq!(shown.len(), MAX_FLOWS);
    let FlowStatus { protocol, source, destination, bytes, wait_ms, .. } = &shown[0];
    assert_eq!(
        (protocol.as_str(), source.as_str(), destination.as_str(), *bytes, *wait_ms),
        ("udp", "10.0.0.1:25", "[fd77::1]:53", 25, 5.0)
    );
    assert_eq!(shown.last().unwrap().bytes, 6);
}

#[test]
fn the_panel_asks_for_metrics_that_exist() {
    let panel: serde_json::Value =
        serde_json::from_str(include_str!("../../../../packaging/grafana/quiclab-tunnel.json")).unwrap();
    let text = example().open_metrics();
    let samples: std::collections::BTreeSet<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    let mut names = 0;
    for target in panel["panels"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|one| one["targets"].as_array().into_iter().flatten())
    {
        let query = target["expr"].as_str().unwrap();
        let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for name in words.filter(|word| word.starts_with("quiclab_tunnel_")) {
            assert!(samples.contains(name), "{name} in {query}");
            names += 1;
        }
        assert!(query.contains("quiclab_tunnel_"), "{query}");
    }
    assert!(names > 10, "{names}");
    for variable in panel["templating"]["list"].as_array().unwrap() {
        let query = variable["definition"].as_str().unwrap_or("label_values(quiclab_tunnel_build_info, x)");
        let name = query.trim_start_matches("label_values(").split(['{', ',']).next().unwrap();
        assert!(samples.contains(name), "{query}");
    }
    let ids: Vec<_> =
        panel["panels"].as_array().unwrap().iter().map(|one| one["id"].as_u64().unwrap()).collect();
    let unique: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "numbers of panels differ");
}

#[test]
fn what_is_not_there_yet_is_not_made_up() {
    let mut status = example();
    status.sessions.retain(|session| !session.paths.is_empty());
    status.sessions.truncate(1);
    let session = &mut status.sessions[0];
    session.paths.truncate(1);
    (session.open, session.addresses) = (false, Vec::new());
    let path = &mut session.paths[0];
    (path.up, path.sent_bytes, path.received_bytes, path.rtt_ms) = (false, 0, 0, 100.0);
    let name = session.name.clone();
    let table = status.table();
    assert!(table.contains(&format!("\n{name} (not open)\n")) && !table.contains("100.00"), "{table}");
    // values from before the path went down are not current
    (status.sessions[0].paths[0].sent_bytes, status.sessions[0].paths[0].window_bytes) = (1, 323_840);
    let table = status.table();
    assert!(!table.contains("100.00") && !table.contains("323840"), "{table}");
    status.sessions.clear();
    assert!(status.table().ends_with("\nno sessions\n"), "{}", status.table());
}

/// `status` and `top` after an upgrade of the program, while a tunnel of the previous version runs.
#[test]
fn a_status_of_the_version_before_is_understood() {
    let mut json = serde_json::to_value(example()).unwrap();
    json.as_object_mut().unwrap().remove("version").unwrap();
    for session in json["sessions"].as_array_mut().unwrap() {
        for name in ["session", "queue_sent_packets", "queue_sojourn_seconds", "waiting_flows", "flows"] {
            session.as_object_mut().unwrap().remove(name).unwrap();
        }
    }
    let status: Status = serde_json::from_value(json).unwrap();
    assert!(
        status.sessions[1].flows.is_empty() && status.table().contains("laptop (open, 10.77.0.2 fd77::2")
    );
}

#[test]
fn the_table_says_which_carrier_is_in_force() {
    let mut status = example();
    for (carrier, said) in [
        (None, ")"),
        (Some(CarrierKind::Multipath), ", one connection for all paths)"),
        (Some(CarrierKind::Connections), ", a connection for each path)"),
    ] {
        status.sessions[1].carrier = carrier;
        let table = status.table();
        assert!(table.contains(&format!("laptop (open, 10.77.0.2 fd77::2{said}")), "{table}");
    }
}
