//! Errors and notes about fields: their location, kind and wording.

use super::*;

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
        ("interface = \"all\"", "interface", OutOfRange),
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
            ("10.77.0.0/24", "224.0.0.0/24", "server.pool_ipv4", OutOfRange, 5),
            ("10.77.0.0/24", "169.254.7.0/24", "server.pool_ipv4", OutOfRange, 5),
            ("fd77::/64", "10.1.0.0/24", "server.pool_ipv6", OutOfRange, 6),
            ("fd77::/64", "ff02::/64", "server.pool_ipv6", OutOfRange, 6),
            ("fd77::/64", "fe80::/64", "server.pool_ipv6", OutOfRange, 6),
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
            ("192.0.2.1:4433", "224.0.0.1:4433", "client.paths.0.server", OutOfRange, 9),
            ("192.0.2.1:4433", "[::ffff:192.0.2.1]:4433", "client.paths.0.server", OutOfRange, 9),
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
