mod connect_ip;
mod errors;
mod keys;

use super::*;
use quiclab_config::{ConfigError, Document, Schema};
use quiclab_core::ProblemKind::{
    self, Conflict, MissingField, OutOfRange, Syntax, UnknownField, UnknownName, WrongType,
};
use quiclab_core::RandomStream;
use quiclab_core::queue::FqCodel;

const KEY: &str = "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";
const OTHER: &str = "29bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";

fn server() -> String {
    format!(
        r#"version = 1
key_file = "server.key"
[server]
listen = ["0.0.0.0:4433", "[::]:4433"]
pool_ipv4 = "10.77.0.0/24"
pool_ipv6 = "fd77::/64"
[[server.peers]]
name = "home"
public_key = "{KEY}"
ipv4 = "10.77.0.5"
networks = ["192.168.5.0/24"]
[[server.peers]]
name = "train"
public_key = "{OTHER}"
"#
    )
}

fn client() -> String {
    format!(
        r#"version = 1
key_file = "client.key"
[client]
server_key = "{KEY}"
routes = ["10.77.0.0/24", "::/0"]
[[client.paths]]
name = "dsl"
interface = "eth0"
server = "192.0.2.1:4433"
[[client.paths]]
name = "lte"
interface = "wwan0"
server = "192.0.2.1:4433"
congestion_control = "fixed"
window = "64 KiB"
"#
    )
}

/// The error about `text` after `from` was replaced by `to`.
fn error(text: &str, from: &str, to: &str) -> ConfigError {
    assert!(text.contains(from), "the test replaces what is there");
    parse(&text.replacen(from, to, 1), "t.toml").expect_err("it is wrong")
}

fn read(text: &str) -> Config {
    parse(text, "t.toml").unwrap().0
}

fn assert_problems(text: &str, cases: &[(&str, &str, &str, ProblemKind, usize)]) {
    for (from, to, path, kind, line) in cases {
        let error = error(text, from, to);
        assert_eq!((error.problem.path.to_string().as_str(), error.problem.kind), (*path, *kind), "{error}");
        assert_eq!(error.location.line_and_column().map_or(0, |(line, _)| line), *line, "{error}");
    }
}

#[test]
fn both_ends_are_read_with_defaults() {
    let server = read(&server());
    assert_eq!((server.mtu, server.interface.as_str()), (1400, "qlt0"));
    assert_eq!(server.carrier_kind(), CarrierKind::Multipath);
    assert_eq!(read(&self::client()).carrier_kind(), CarrierKind::Connections);
    let QueueConfig::FqCodel(queue) = &server.queue else { panic!("it is FQ-CoDel") };
    assert_eq!((queue.flows, queue.ecn), (1024, true));
    assert_eq!((queue.target, queue.interval), (Duration::from_millis(20), Duration::from_millis(200)));
    let client = read(&client()).client.unwrap();
    assert_eq!(client.paths[0].congestion_control, CongestionControl::Cubic);
    assert_eq!(client.paths[1].window, Some(ByteCount::from_bytes(65_536)));
    let part = r#"version = 1
queue = { kind = "fq_codel", target = "7 ms" }"#;
    let with = self::server().replacen("version = 1", part, 1);
    let QueueConfig::FqCodel(FqCodel { target, interval, .. }) = read(&with).queue else {
        panic!("it is FQ-CoDel")
    };
    assert_eq!((target, interval), (Duration::from_millis(7), Duration::from_millis(100)));
}

#[test]
fn packets_are_queued_and_distributed_as_a_tunnel_can() {
    let changed = |line: &str| client().replacen("version = 1\n", &format!("version = 1\n{line}\n"), 1);
    for (line, path) in [
        ("resequencing = \"0 s\"\nscheduler = \"redundant\"", "scheduler"),
        ("scheduler = { kind = \"weighted_round_robin\", weights = [1] }", "scheduler.weights"),
        ("scheduler = { kind = \"cheapest_first\", order = [9] }", "scheduler.order"),
        ("queue = { kind = \"drop_tail\", packets = 10, time = \"50 ms\" }", "queue.time"),
        ("queue = { kind = \"drop_tail\", packets = 10, ack_filter = \"aggressive\" }", "queue.ack_filter"),
        ("queue = { kind = \"cake\", ack_filter = \"conservative\" }", "queue.ack_filter"),
    ] {
        let problem = parse(&changed(line), "t.toml").unwrap_err().problem;
        assert_eq!((problem.path.to_string().as_str(), problem.kind), (path, Conflict));
    }
}

/// The file has the types of the VPN; those that it shares with scenarios are on their page.
#[test]
fn the_schema_file_is_current() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/vpn.schema.json");
    let text = std::fs::read_to_string(file).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut schema = schema();
    let types = schema["$defs"].as_object_mut().expect("a schema with types");
    let own = ["Server", "ServerConnectIp", "Peer", "Client", "ClientConnectIp", "Path"];
    types.retain(|name, _| own.contains(&name.as_str()));
    assert!(written == schema, "run `make reference`");
}

/// Random documents that follow the schema are rejected only for rules about several fields.
#[test]
fn the_schema_has_every_limit_of_a_field() {
    let schema = Schema::of::<Config>();
    let mut random = RandomStream::new(1, "configurations");
    let mut draw = |below: u64| random.bits() % below;
    for _ in 0..2000 {
        let json = schema.random(&mut draw);
        let document = Document::from_json(&json.to_string(), None, &[]).unwrap();
        let config: Config = document.decode(&schema).unwrap_or_else(|error| panic!("{json}: {error}"));
        if let Err(problem) = check::check(&config) {
            let of_queue = problem.path.steps().first().is_some_and(|step| step == "queue");
            let expected = matches!(problem.kind, Conflict | MissingField) || of_queue;
            assert!(expected, "{json}: {problem}");
        }
    }
}

#[test]
fn what_is_valid_but_leaks_has_a_note() {
    let notes = |text: &str| super::warnings::warnings(&read(text));
    assert_eq!(notes(&server()), Vec::<String>::new());
    let without = server().replacen("pool_ipv6 = \"fd77::/64\"", "announce = [\"10.0.0.0/8\", \"::/0\"]", 1);
    let expected = "server.announce.1: clients that accept ::/0 make it unreachable: they get no IPv6 address, as `pool_ipv6` is not set";
    assert_eq!(notes(&without), [expected]);
    let translates = server().replacen("[server]", "[server]\nmasquerade = true", 1);
    assert!(notes(&translates)[0].starts_with("server.masquerade: "), "{:?}", notes(&translates));
    let forwards = translates.replacen("[server]", "[server]\nforward = true", 1);
    assert_eq!(notes(&forwards), Vec::<String>::new());
    let with = |routes: &str| client().replacen("\"10.77.0.0/24\", \"::/0\"", routes, 1);
    assert_eq!(notes(&with("\"0.0.0.0/0\", \"::/0\"")), Vec::<String>::new());
    assert_eq!(notes(&with("\"10.77.0.0/24\"")), Vec::<String>::new());
    let expected = "client.routes: IPv6 leaves outside the tunnel; \"::/0\" sends it through the tunnel, or nowhere if the server assigns no IPv6 address";
    assert_eq!(notes(&with("\"0.0.0.0/0\"")), [expected]);
    let switched = with("\"0.0.0.0/0\"").replacen("[client]", "[client]\nkill_switch = true", 1);
    assert_eq!(notes(&switched), Vec::<String>::new());
}

#[test]
fn the_command_line_takes_the_names_of_devices_that_a_configuration_takes() {
    for name in
        ["qlt0", "a.b-c_d@e", "", ".", "..", "../x", "a/b", "sixteen_letters_", "fifteen_letters", "\u{e4}"]
    {
        let text = client().replacen("version = 1\n", &format!("version = 1\ninterface = \"{name}\"\n"), 1);
        assert_eq!(parse(&text, "t.toml").is_ok(), interface_name(name).is_ok(), "{name}");
    }
    assert!(interface_name("qlt0").is_ok() && interface_name("../x").is_err());
}
