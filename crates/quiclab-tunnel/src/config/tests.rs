use super::*;
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

/// The complaint about `text` after `from` was replaced by `to`.
fn complaint(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "the test replaces what is there");
    parse(&text.replacen(from, to, 1), "t.toml").expect_err("it is wrong").to_string()
}

#[test]
fn both_ends_are_read_with_defaults() {
    let server = parse(&server(), "t.toml").unwrap();
    assert_eq!((server.mtu, server.interface.as_str()), (1400, "qlt0"));
    assert_eq!(server.carrier, CarrierKind::Connections);
    assert!(matches!(server.discipline, QueueConfig::FqCodel(FqCodel { flows: 1024, ecn: true, .. })));
    let client = parse(&client(), "t.toml").unwrap().client.unwrap();
    assert_eq!(client.paths[0].congestion_control, CongestionControl::Cubic);
    assert_eq!(client.paths[1].window, Some(ByteCount::from_bytes(65_536)));
    let part = r#"version = 1
discipline = { kind = "fq_codel", target = "7 ms" }"#;
    let with = self::server().replacen("version = 1", part, 1);
    let QueueConfig::FqCodel(FqCodel { target, interval, .. }) = parse(&with, "t.toml").unwrap().discipline
    else {
        panic!("it is FQ-CoDel")
    };
    assert_eq!((target, interval), (Duration::from_millis(7), Duration::from_millis(100)));
}

#[test]
fn errors_name_line_field_value_and_what_is_allowed() {
    let (server, client) = (server(), client());
    for (text, from, to, expected) in [
        (
            &server,
            "version = 1",
            "version = 2",
            "t.toml:1: version = 2: this version is not known, allowed is 1",
        ),
        (
            &server,
            "version = 1",
            "mtu = 1200\nversion = 1",
            "t.toml:1: mtu = 1200: too small for IPv6, allowed is at least 1280 (RFC 8200 section 5), or no IPv6 inside the tunnel",
        ),
        (
            &client,
            "version = 1",
            "mtu = 1200\nversion = 1",
            "t.toml:1: mtu = 1200: too small for IPv6, allowed is at least 1280 (RFC 8200 section 5), or no IPv6 inside the tunnel",
        ),
        (
            &server,
            "version = 1",
            "version = 1\nmtu = 100",
            "t.toml:2: mtu = 100: out of range, allowed is 576 to 9000",
        ),
        (
            &server,
            "10.77.0.5",
            "10.78.0.5",
            "t.toml:10: server.peers.0.ipv4 = \"10.78.0.5\": not in a pool, allowed is an address of the pool",
        ),
        (
            &server,
            "10.77.0.5",
            "10.77.0.1",
            "t.toml:10: server.peers.0.ipv4 = \"10.77.0.1\": the network's, the server's or the broadcast address, allowed is another address of the pool",
        ),
        (
            &server,
            "192.168.5.0/24",
            "10.0.0.0/8",
            "t.toml:11: server.peers.0.networks.0: 10.0.0.0/8 overlaps the pool 10.77.0.0/24, allowed is ranges that do not overlap",
        ),
        (
            &server,
            "0.0.0.0:4433",
            "10.77.0.9:4433",
            "t.toml:5: server.pool_ipv4 = \"10.77.0.0/24\": overlaps the address 10.77.0.9:4433 of server.listen.0, which is outside the tunnel, allowed is a range of its own",
        ),
        (
            &server,
            "fd77::/64",
            "10.1.0.0/24",
            "t.toml:6: server.pool_ipv6 = \"10.1.0.0/24\": the wrong family, allowed is such as `fd77::/64`",
        ),
        (
            &server,
            "10.77.0.0/24",
            "10.77.0.9/24",
            "t.toml:5: server.pool_ipv4 = \"10.77.0.9/24\": `10.77.0.9/24` has bits set behind its prefix, allowed is `10.77.0.0/24`",
        ),
        (&server, OTHER, KEY, "two peers have this key"),
        (
            &server,
            "train",
            "home",
            "t.toml:13: server.peers.1.name = \"home\": there are two of this name, allowed is each name once",
        ),
        (
            &server,
            KEY,
            "abc",
            "t.toml:9: server.peers.0.public_key = \"abc\": this is no public key, allowed is the 64 hexadecimal digits that `quiclab-tunnel keygen` prints",
        ),
        (&server, "listen", "lisden", "t.toml:4: server.lisden: unknown field `lisden`"),
        (
            &client,
            "name = \"lte\"",
            "name = \"lte\"\nmtu = 1400",
            "t.toml:12: client.paths.1.mtu = 1400: a packet of the tunnel does not fit, allowed is at least 1480, the tunnel's mtu and 80 bytes of headers; or a smaller `mtu`",
        ),
        (
            &client,
            "window = \"64 KiB\"",
            "",
            "t.toml:14: client.paths.1.congestion_control = \"fixed\": there is no `window`, allowed is `window` beside `fixed`",
        ),
        (&client, "congestion_control = \"fixed\"", "", "only `fixed` has a window"),
        (&client, "\"64 KiB\"", "64", "t.toml:15: client.paths.1.window = 64: invalid type"),
        (
            &client,
            "routes = [\"10.77.0.0/24\", \"::/0\"]",
            "routes = \"::/0\"",
            "t.toml:5: client.routes = \"::/0\": invalid type: string \"::/0\", allowed is a list such as `[\"...\"]`",
        ),
        (
            &server,
            "0.0.0.0:4433",
            "localhost:4433",
            "t.toml:4: server.listen: invalid socket address syntax, allowed is an address with port such as `192.0.2.1:4433` or `[2001:db8::1]:4433`",
        ),
        (
            &server,
            "version = 1",
            "discipline = \"fq\"\nversion = 1",
            "t.toml:1: discipline = \"fq\": invalid type: string \"fq\", allowed is a table such as `{ kind = \"fq_codel\" }`",
        ),
        (&client, "wwan0", "eth0", "t.toml:10: client.paths.1: the same way as an earlier path"),
        (
            &server,
            "version = 1",
            "discipline = { kind = \"fq_codel\", flows = 0 }\nversion = 1",
            "t.toml:1: discipline.flows = 0: out of range, allowed is an integer from 1 to 65536 queues",
        ),
        (
            &server,
            "version = 1",
            "discipline = { kind = \"fq_codell\" }\nversion = 1",
            "t.toml:1: discipline",
        ),
        (&server, "version = 1", "scheduler = \"fastest\"\nversion = 1", "t.toml:1: scheduler"),
        (&client, "wwan0", "qlt0", "it is the tunnel itself"),
        (
            &client,
            "\"::/0\"",
            "\"10.77.0.0/24\"",
            "t.toml:5: client.routes.1: 10.77.0.0/24 is listed twice, allowed is each range once",
        ),
        (&client, "[client]", "[server]\nlisten = [\"0.0.0.0:1\"]\n[client]", "there is `server`, too"),
        (&client, "key_file", "key_file = \nx", "t.toml:2: "),
    ] {
        let said = complaint(text, from, to);
        assert!(
            said.starts_with(expected) || !expected.starts_with("t.toml") && said.contains(expected),
            "{said}\n{expected}"
        );
    }
}

#[test]
fn a_key_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = std::env::temp_dir().join(format!("quiclab-tunnel-test-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (config, key) = (directory.join("s.toml"), directory.join("server.key"));
    std::fs::write(&config, server()).unwrap();
    let said = || load(&config).err().map(|error| error.to_string());
    assert!(said().unwrap().contains("s.toml:2: key_file = \"server.key\""));
    let public = crate::keys::generate(&key).unwrap();
    assert!(said().is_none());
    assert!(crate::keys::generate(&key).is_err(), "a key is not overwritten");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(said().unwrap().ends_with("others may read it (mode 640), allowed is mode 600 (chmod 600)"));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&config, server().replace(KEY, &public.to_string())).unwrap();
    assert!(said().unwrap().contains("it is this end's own key"));
    std::fs::remove_dir_all(&directory).unwrap();
}
