//! The configuration: not from the network, but written by users, and read with root privileges.

use super::mutate;
use bolero::produce;
use quiclab_config::Location;
use quiclab_fuzz::target;
use quiclab_tunnel::config::{Config, parse};

const KEY: &str = "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";
const SERVER: &str = r#"version = 1
key_file = "server.key"
mtu = 1400
resequencing = "20 ms"
discipline = { kind = "fq_codel", flows = 512 }
[server]
listen = ["0.0.0.0:4433", "[::]:4433"]
pool_ipv4 = "10.77.0.0/24"
pool_ipv6 = "fd77::/64"
announce = ["192.168.0.0/16"]
[server.connect_ip]
listen = ["0.0.0.0:443"]
certificate = "server.pem"
[[server.peers]]
name = "home"
public_key = "KEY"
ipv4 = "10.77.0.5"
networks = ["192.168.5.0/24"]
"#;
const CLIENT: &str = r#"version = 1
key_file = "client.key"
idle_timeout = "20 s"
keep_alive = "500 ms"
[client]
server_key = "KEY"
routes = ["10.77.0.0/24", "::/0"]
[[client.paths]]
name = "dsl"
interface = "eth0"
server = "192.0.2.1:4433"
[[client.paths]]
name = "lte"
local = "10.0.0.2"
mtu = 1480
server = "192.0.2.1:4433"
congestion_control = "fixed"
window = "64 KiB"
[[client.paths]]
name = "cable"
server = "192.0.2.1:4434"
congestion_control = "new_reno"
"#;

/// Invariants that the rest of the program relies on.
fn check(config: &Config) {
    assert!((576..=9000).contains(&config.mtu));
    assert!((1..=15).contains(&config.interface.len()) && !config.interface.contains('/'));
    assert!(config.keep_alive <= config.idle_timeout);
    assert!(config.server.is_some() != config.client.is_some());
    if let Some(server) = &config.server {
        let pools: Vec<_> = [server.pool_ipv4, server.pool_ipv6].into_iter().flatten().collect();
        assert!(!pools.is_empty() && !server.listen.is_empty());
        assert!(server.pool_ipv6.is_none() || config.mtu >= 1280);
        assert!(server.mtu >= config.mtu + 80);
        for address in &server.listen {
            assert!(address.port() > 0 && !pools.iter().any(|pool| pool.contains(address.ip())));
        }
        for network in server.peers.iter().flat_map(|peer| &peer.networks) {
            assert!(!pools.iter().any(|pool| pool.overlaps(*network)));
        }
    }
    for path in config.client.iter().flat_map(|client| &client.paths) {
        assert!(path.mtu >= config.mtu + 80 && path.mtu >= 1280);
        assert!(path.server.port() > 0 && path.interface.as_ref() != Some(&config.interface));
    }
}

/// The line is one of the text, and its displayed form contains no terminal escape sequence and no key.
fn check_place(location: &Location, text: &str, shown: &str) {
    if let Some((line, _)) = location.line_and_column() {
        assert!((1..=text.matches('\n').count() + 1).contains(&line), "{shown}");
    }
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
    assert!(!shown.contains(&KEY[..16]) && !shown.contains(&KEY[48..]), "{shown}");
}

#[test]
fn texts_with_mistakes() {
    target(400, produce::<(bool, Vec<(u16, u8, u8)>)>(), |(server, changes)| {
        let good = if *server { SERVER } else { CLIENT }.replace("KEY", KEY);
        parse(&good, "t.toml").expect("it is right");
        let bytes = mutate(good.into_bytes(), &changes[..changes.len().min(3)]);
        let text = String::from_utf8_lossy(&bytes);
        match parse(&text, "t.toml") {
            Ok((config, notes)) => {
                check(&config);
                notes.iter().for_each(|note| check_place(&note.location, &text, &note.render(false)));
            }
            Err(error) => {
                let sentence = error.to_string();
                assert!(sentence.starts_with("t.toml") && !sentence.contains('\n'), "{sentence}");
                assert!(!error.problem.sentence().trim().is_empty(), "{sentence}");
                check_place(&error.location, &text, &error.render(false));
            }
        }
    });
}
