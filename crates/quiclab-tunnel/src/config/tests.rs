mod connect_ip;

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

#[test]
fn both_ends_are_read_with_defaults() {
    let server = read(&server());
    assert_eq!((server.mtu, server.interface.as_str()), (1400, "qlt0"));
    assert_eq!(server.carrier, CarrierKind::Connections);
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

/// A line before `version`, and the path and kind of the error about it.
#[test]
fn errors_name_the_field_and_the_kind_of_both_ends() {
    for (line, path, kind) in [
        ("mtu = 1200", "mtu", Conflict),
        ("mtu = 100", "mtu", OutOfRange),
        ("mtu = 70000", "mtu", OutOfRange),
        ("mtu = \"1400 B\"", "mtu", WrongType),
        ("interface = \"a device of mine\"", "interface", OutOfRange),
        ("interface = \"..\"", "interface", OutOfRange),
        ("interface = \"\"", "interface", OutOfRange),
        ("carrier = \"streams\"", "carrier", UnknownName),
        ("scheduler = \"fastest\"", "scheduler", UnknownName),
        ("queue = \"fq\"", "queue", WrongType),
        ("queue = { kind = \"fq_codell\" }", "queue.kind", UnknownName),
        ("queue = { kind = \"fq_codel\", flows = 0 }", "queue.flows", OutOfRange),
        ("queue = { kind = \"fq_codel\", packets = 2_000_000 }", "queue.packets", OutOfRange),
        ("queue = { kind = \"fq_codel\", memory = \"2 GiB\" }", "queue.memory", OutOfRange),
        ("queue = { kind = \"fq_codel\", target = \"1 s\" }", "queue.target", Conflict),
        ("queue = { kind = \"drop_tail\", time = \"10 ms\" }", "queue", Conflict),
        ("queue = { kind = \"drop_tail\", bytes = \"1 kB\" }", "queue.bytes", OutOfRange),
        ("idle_timeout = \"1 ms\"", "idle_timeout", OutOfRange),
        ("idle_timeout = 30", "idle_timeout", WrongType),
        ("keep_alive = \"61 s\"", "keep_alive", Conflict),
        ("keep_alive = \"1 ms\"", "keep_alive", OutOfRange),
        ("resequencing = \"2 s\"", "resequencing", OutOfRange),
        ("metrics = \"9477\"", "metrics", OutOfRange),
        ("group = \"nogroup\"", "group", Conflict),
        ("usr = \"nobody\"", "usr", UnknownField),
        ("server = { listen = [\"0.0.0.0:1\"] }", "client", Conflict),
        ("key_file = ", "", Syntax),
    ] {
        for text in [server(), client()] {
            if line.starts_with("server") && text.contains("[server]") {
                continue;
            }
            let error = error(&text, "version = 1", &format!("{line}\nversion = 1"));
            let found = (error.problem.path.to_string(), error.problem.kind);
            assert_eq!(found, (path.to_owned(), kind), "{error}");
        }
    }
}

fn assert_problems(text: &str, cases: &[(&str, &str, &str, ProblemKind, usize)]) {
    for (from, to, path, kind, line) in cases {
        let error = error(text, from, to);
        assert_eq!((error.problem.path.to_string().as_str(), error.problem.kind), (*path, *kind), "{error}");
        assert_eq!(error.location.line_and_column().map_or(0, |(line, _)| line), *line, "{error}");
    }
}

#[test]
fn errors_name_the_field_and_the_kind_at_a_server() {
    let twice = &format!("name = \"train\"\npublic_key = \"{OTHER}\"");
    let same_address = format!("{twice}\nipv4 = \"10.77.0.5\"");
    let overlapping = format!("{twice}\nnetworks = [\"192.168.0.0/16\"]");
    assert_problems(
        &server(),
        &[
            ("version = 1", "version = 2", "version", OutOfRange, 1),
            ("version = 1", "", "version", MissingField, 1),
            ("key_file = \"server.key\"", "", "key_file", MissingField, 1),
            ("[\"0.0.0.0:4433\", \"[::]:4433\"]", "[]", "server.listen", OutOfRange, 4),
            ("0.0.0.0:4433", "localhost:4433", "server.listen.0", OutOfRange, 4),
            ("0.0.0.0:4433", "0.0.0.0:0", "server.listen.0", OutOfRange, 4),
            ("0.0.0.0:4433", "[::]:4433", "server.listen.1", Conflict, 4),
            ("listen", "lisden", "server.lisden", UnknownField, 4),
            ("10.77.0.0/24", "10.77.0.9/24", "server.pool_ipv4", OutOfRange, 5),
            ("10.77.0.0/24", "10.77.0.0/31", "server.pool_ipv4", OutOfRange, 5),
            ("10.77.0.0/24", "10.77.0.0", "server.pool_ipv4", OutOfRange, 5),
            ("fd77::/64", "10.1.0.0/24", "server.pool_ipv6", OutOfRange, 6),
            ("0.0.0.0:4433", "10.77.0.9:4433", "server.pool_ipv4", Conflict, 5),
            ("pool_ipv6 =", "mtu = 1400\npool_ipv6 =", "server.mtu", Conflict, 6),
            ("pool_ipv6 =", "mtu = 1200\npool_ipv6 =", "server.mtu", OutOfRange, 6),
            ("\"home\"", "\"my home\"", "server.peers.0.name", OutOfRange, 8),
            ("train", "home", "server.peers.1.name", Conflict, 13),
            (KEY, "abc", "server.peers.0.public_key", OutOfRange, 9),
            (OTHER, KEY, "server.peers.1.public_key", Conflict, 14),
            ("10.77.0.5", "10.77.0", "server.peers.0.ipv4", OutOfRange, 10),
            ("10.77.0.5", "10.78.0.5", "server.peers.0.ipv4", Conflict, 10),
            ("10.77.0.5", "10.77.0.1", "server.peers.0.ipv4", Conflict, 10),
            ("10.77.0.5", "10.77.0.255", "server.peers.0.ipv4", Conflict, 10),
            ("192.168.5.0/24", "10.0.0.0/8", "server.peers.0.networks.0", Conflict, 11),
            (twice, &same_address, "server.peers.1.ipv4", Conflict, 15),
            (twice, &overlapping, "server.peers.1.networks.0", Conflict, 15),
        ],
    );
    let no_pool = "version = 1\nkey_file = \"k\"\n[server]\nlisten = [\"0.0.0.0:1\"]";
    let error = parse(no_pool, "t.toml").unwrap_err();
    assert_eq!(
        (error.problem.path.to_string().as_str(), error.problem.kind),
        ("server.pool_ipv4", MissingField)
    );
    let no_end = parse("version = 1\nkey_file = \"k\"", "t.toml").unwrap_err();
    assert_eq!((no_end.problem.path.to_string().as_str(), no_end.problem.kind), ("", MissingField));
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

#[test]
fn errors_name_the_field_and_the_kind_at_a_client() {
    let paths = |count: usize| -> String {
        let path =
            |number| format!("[[client.paths]]\nname = \"p{number}\"\nserver = \"192.0.2.9:{number}\"\n");
        (1..=count).map(path).collect()
    };
    let path = "[[client.paths]]\nname = \"dsl\"\ninterface = \"eth0\"\nserver = \"192.0.2.1:4433\"\n";
    let many = format!("{}{path}", paths(15));
    let more = format!("{}{path}", paths(7));
    assert_problems(
        &client(),
        &[
            ("routes = [\"10.77.0.0/24\", \"::/0\"]", "routes = \"::/0\"", "client.routes", WrongType, 5),
            ("\"::/0\"", "\"10.77.0.0/24\"", "client.routes.1", Conflict, 5),
            ("\"::/0\"", "\"::/129\"", "client.routes.1", OutOfRange, 5),
            ("[client]", "[client]\nkill_switch = \"yes\"", "client.kill_switch", WrongType, 4),
            ("[client]", "[client]\nallow_outside = [\"10.0.0.0/8\"]", "client.allow_outside", Conflict, 4),
            ("[client]", "[client]\ndns = [\"10.77.0.1\", \"10.77.0.1\"]", "client.dns.1", Conflict, 4),
            ("[client]", "[client]\ndns = [\"127.0.0.53\"]", "client.dns.0", OutOfRange, 4),
            ("[client]", "[client]\ndns = [\"dns.test\"]", "client.dns.0", OutOfRange, 4),
            ("[client]", "[client]\ndns_search = [\"a.test\"]", "client.dns_search", Conflict, 4),
            ("[client]", "[client]\ndns_search = [\"a b\"]", "client.dns_search.0", OutOfRange, 4),
            ("name = \"lte\"", "name = \"lte\"\nmtu = 1400", "client.paths.1.mtu", Conflict, 12),
            ("window = \"64 KiB\"", "", "client.paths.1.window", MissingField, 10),
            ("congestion_control = \"fixed\"", "", "client.paths.1.window", Conflict, 15),
            ("\"fixed\"", "\"olia\"", "client.paths.1.congestion_control", UnknownName, 14),
            ("\"64 KiB\"", "64", "client.paths.1.window", WrongType, 15),
            ("\"64 KiB\"", "\"64 Kibit\"", "client.paths.1.window", OutOfRange, 15),
            ("\"64 KiB\"", "\"9999 B\"", "client.paths.1.window", OutOfRange, 15),
            ("wwan0", "eth0", "client.paths.1", Conflict, 10),
            ("wwan0", "qlt0", "client.paths.1.interface", Conflict, 12),
            ("interface = \"wwan0\"", "local = \"::1\"", "client.paths.1.local", Conflict, 12),
            ("interface = \"wwan0\"", "local = \"eth0\"", "client.paths.1.local", OutOfRange, 12),
            ("192.0.2.1:4433", "192.0.2.1:0", "client.paths.0.server", OutOfRange, 9),
            ("192.0.2.1:4433", "0.0.0.0:4433", "client.paths.0.server", OutOfRange, 9),
            ("192.0.2.1:4433", "192.0.2.1", "client.paths.0.server", OutOfRange, 9),
        ],
    );
    let text = client().replacen(path, &many, 1);
    let error = parse(&text, "t.toml").unwrap_err();
    assert_eq!((error.problem.path.to_string().as_str(), error.problem.kind), ("client.paths", OutOfRange));
    let text = client().replacen(path, &more, 1);
    for (line, taken) in
        [("", true), ("carrier = \"multipath\"\n", false), ("resequencing = \"20 ms\"\n", true)]
    {
        match parse(&format!("{line}{text}"), "t.toml") {
            Ok(_) => assert!(taken, "{line}"),
            Err(error) => {
                let found = (error.problem.path.to_string(), error.problem.kind);
                assert_eq!((found, taken), (("client.paths".to_owned(), Conflict), false), "{error}");
            }
        }
    }
}

#[test]
fn sentences_say_expected_and_got() {
    let (server, client) = (server(), client());
    for (text, from, to, expected) in [
        (&server, "version = 1", "version = 2", "t.toml:1:11: version: expected 1, got 2"),
        (
            &server,
            "version = 1",
            "version = 1\nmtu = 100",
            "t.toml:2:7: mtu: expected an integer from 576 to 9000 bytes, got 100",
        ),
        (
            &server,
            "10.77.0.0/24",
            "10.77.0.9/24",
            "t.toml:5:13: server.pool_ipv4: expected an IPv4 address range from /8 to /30, such as \"10.77.0.0/24\", \
             got \"10.77.0.9/24\"; bits after the prefix are set; did you mean `10.77.0.0/24`?",
        ),
        (
            &server,
            "\"home\"",
            "\"my home\"",
            "t.toml:8:8: server.peers.0.name: expected 1 to 32 letters, digits, `_`, `.` or `-`, got \"my home\"",
        ),
        (
            &client,
            "name = \"lte\"",
            "name = \"lte\"\nmtu = 1400",
            "t.toml:12:7: client.paths.1.mtu: expected 1480 bytes or more, or a smaller `mtu` of the tunnel, got 1400; \
             packets of 1400 bytes have up to 80 bytes of headers around them",
        ),
        (
            &client,
            "\"fixed\"",
            "\"cubik\"",
            "t.toml:14:22: client.paths.1.congestion_control: expected \"newreno\", \"cubic\", \"bbr-linux\", \"fixed\" \
             or \"lia\", got \"cubik\"; did you mean `cubic`?",
        ),
        (
            &server,
            KEY,
            "abc",
            "t.toml:9:14: server.peers.0.public_key: expected 64 hexadecimal digits, got 3 characters (hidden: they \
             may be a key)",
        ),
    ] {
        assert_eq!(error(text, from, to).to_string(), expected);
    }
    let second = format!("\n[[server.peers]]\nname = \"b\"\npublic_key = \"{}\"\n", "1".repeat(64));
    for (text, from, to, expected) in [
        (
            format!("{server}{second}ipv4 = \"10.77.0.5\""),
            "",
            "",
            "server.peers.2.ipv4: expected a different address for each peer, got \"10.77.0.5\"; peer `home` has it",
        ),
        (
            format!("{server}{second}"),
            "name = \"b\"",
            "name = \"home\"",
            "server.peers.2.name: expected a different name for each peer, got \"home\"; `server.peers.0` has it",
        ),
        (
            format!("{server}{second}"),
            &"1".repeat(64),
            KEY,
            "server.peers.2.public_key: expected a different key for each peer, got 64 characters (hidden: they may be \
             a key); peer `home` has it",
        ),
        (
            format!("{server}{second}next_public_key = \"{}\"", "2".repeat(64)),
            &"2".repeat(64),
            KEY,
            "server.peers.2.next_public_key: expected a different key for each peer, got 64 characters (hidden: they may \
             be a key); peer `home` has it",
        ),
        (
            client.clone(),
            "server_key = ",
            &format!("next_server_key = \"{KEY}\"\nserver_key = "),
            "client.next_server_key: expected another key, or none, got 64 characters (hidden: they may be a key); \
             it is that of `server_key`",
        ),
        (
            server.clone(),
            "10.77.0.5",
            "10.78.0.5",
            "server.peers.0.ipv4: expected an address in `pool_ipv4` (10.77.0.0/24), got \"10.78.0.5\"",
        ),
        (
            client.clone(),
            "192.0.2.1:4433",
            "vpn.example.org:4433",
            "client.paths.0.server: expected an IP address with a port from 1 to 65535, such as \"192.0.2.1:4433\" or \
             \"[2001:db8::1]:4433\", got \"vpn.example.org:4433\"; host names are not resolved",
        ),
        (
            client.clone(),
            "[client]",
            "[server]\nlisten = [\"0.0.0.0:1\"]\npool_ipv4 = \"10.0.0.0/24\"\n[client]",
            "client: `[server]` and `[client]` are both present; expected exactly one of them",
        ),
    ] {
        assert_eq!(error(&text, from, to).problem.to_string(), expected);
    }
    assert_eq!(
        error(&server, "listen", "lisden").render(false),
        "error: server.lisden: unknown field; expected `announce`, `congestion_control`, `connect_ip`, `forward`, `isolate_clients`, `listen`, `masquerade`, \
         `mtu`, `peers`, `pool_ipv4`, `pool_ipv6` or `window`; did you mean `listen`?\n \
         --> t.toml:4:1\n  \
         |\n\
         4 | lisden = [\"0.0.0.0:4433\", \"[::]:4433\"]\n  \
         | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    );
}

#[test]
fn former_names_are_read_with_a_note() {
    let discipline = "discipline = { kind = \"fq_codel\", flows = 7 }\nversion = 1";
    for (former, present) in [
        ("new_reno", CongestionControl::Newreno),
        ("bbr", CongestionControl::BbrLinux),
        ("coupled", CongestionControl::Lia),
    ] {
        let path = format!("congestion_control = \"{former}\"\n[[client.paths]]\nname = \"lte\"");
        let text = client().replacen("[[client.paths]]\nname = \"lte\"", &path, 1).replacen(
            "version = 1",
            discipline,
            1,
        );
        let (config, notes) = parse(&text, "t.toml").unwrap();
        assert_eq!(config.client.unwrap().paths[0].congestion_control, present);
        assert!(matches!(config.queue, QueueConfig::FqCodel(FqCodel { flows: 7, .. })));
        let notes: Vec<_> = notes.iter().map(ToString::to_string).collect();
        let name = present.name();
        assert_eq!(
            notes,
            [
                "t.toml:1:1: queue: `discipline` is a former name; use `queue`".to_owned(),
                format!(
                    "t.toml:11:22: client.paths.0.congestion_control: `{former}` is a former name; use `{name}`"
                ),
            ]
        );
    }
    assert!(parse(&client(), "t.toml").unwrap().1.is_empty());
    let wrong =
        error(&client(), "version = 1", "discipline = { kind = \"fq_codel\", flows = 0 }\nversion = 1");
    assert_eq!(
        wrong.to_string(),
        "t.toml:1:43: queue.flows: expected an integer from 1 to 65536 queues, got 0"
    );
}

#[test]
fn keys_do_not_appear_in_errors() {
    // the private key of RFC 8410, as hexadecimal digits, with separators, in PEM
    let digits = "d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842";
    let parted: Vec<_> = (0..64).step_by(2).map(|at| &digits[at..at + 2]).collect();
    let base64 = "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC";
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{base64}\n-----END PRIVATE KEY-----\n");
    let keys =
        [digits.to_owned(), parted.join(":"), parted.join(" "), digits[..62].to_owned(), base64.to_owned()];
    let mut texts =
        vec![pem.clone(), pem.replace('\n', "\r\n"), format!("{base64} = 1"), format!("[{base64}]")];
    for key in &keys {
        for (from, to) in [
            (KEY.to_owned(), format!("{key}0")),
            (format!("\"{KEY}\""), format!("\"\"\"\n{key}0\"\"\"")),
            (format!("\"{KEY}\""), key.clone()),
            (format!("\"{KEY}\""), format!("[\"{key}\"]")),
            ("[client]".to_owned(), format!("private_key = \"{key}\"\n[client]")),
            ("[client]".to_owned(), format!("private_key = [\n  \"{key}\",\n  \\\n]\n[client]")),
            ("[client]".to_owned(), format!("secret = {{ a = \"{key}\" }}\n[client]")),
            ("[client]".to_owned(), format!("peers = [{{ public_key = \"{key}\" }}]\n[client]")),
        ] {
            texts.push(client().replacen(&from, &to, 1));
        }
    }
    for key in [digits, base64] {
        texts.push(client().replacen("::/0", key, 1));
        texts.push(client().replacen("[client]", &format!("user = [\"nobody\", \"{key}\"]\n[client]"), 1));
        texts.push(client().replacen("[client]", &format!("\"{key}\" = 1\n[client]"), 1));
    }
    for text in texts {
        let error = parse(&text, "t.toml").expect_err("it is wrong");
        for shown in [error.to_string(), error.render(false), format!("{error:?}")] {
            for key in [digits, &parted.join(":"), &parted.join(" "), base64] {
                let parts = (0..key.len() - 12).map(|at| &key[at..at + 12]);
                assert_eq!(parts.into_iter().find(|part| shown.contains(part)), None, "{shown}");
            }
        }
    }
}

#[test]
fn the_line_of_a_hidden_key_is_marked_in_its_place() {
    let shown = error(&client(), "[client]", &format!("private_key = \"{KEY}\"\n[client]")).render(false);
    let masked = format!("3 | private_key = \"{}\"", "*".repeat(64));
    assert!(shown.contains(&masked) && shown.contains("--> t.toml:3:1"), "{shown}");
    let path = error(&client(), "eth0", "/run/quiclab-tunnel/qlt0").render(false);
    assert!(path.contains("interface = \"/run/quiclab-tunnel/qlt0\""), "what is no key is shown: {path}");
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = std::env::temp_dir().join(format!("quiclab-tunnel-test-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (config, key) = (directory.join("s.toml"), directory.join("server.key"));
    std::fs::write(&config, server()).unwrap();
    let refused = || load(&config).err().map(|error| error.to_string());
    assert!(refused().unwrap().contains("s.toml:2:12: key_file: \"server.key\": No such file or directory; create it with `quiclab-tunnel keygen "));
    let public = crate::keys::generate(&key).unwrap();
    assert!(refused().is_none());
    assert!(crate::keys::generate(&key).is_err(), "a key is not overwritten");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    let readable = refused().unwrap();
    assert!(
        readable.contains("key_file: \"server.key\": accessible to other users (mode 640); run `chmod 600 ")
    );
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&config, server().replace(KEY, &public.to_string())).unwrap();
    let own = refused().unwrap();
    assert!(
        own.contains("server.peers.0.public_key: ") && own.ends_with("it is that of `key_file`"),
        "{own}"
    );
    std::fs::remove_file(&config).unwrap();
    assert!(refused().unwrap().starts_with("cannot read "));
    std::fs::remove_dir_all(&directory).unwrap();
}

/// The file has the types of the VPN; those that it shares with scenarios are on their page.
#[test]
fn the_schema_file_is_current() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/vpn.schema.json");
    let text = std::fs::read_to_string(file).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut schema = schema();
    let types = schema["$defs"].as_object_mut().expect("a schema with types");
    let own = ["Server", "ServerConnectIp", "Peer", "Client", "ClientConnectIp", "Path"];
    types.retain(|name, _| own.contains(&name.as_str()));
    assert!(written == schema, "run `make reference`");
}

/// Random documents that follow the schema are refused for what depends on several fields only.
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
