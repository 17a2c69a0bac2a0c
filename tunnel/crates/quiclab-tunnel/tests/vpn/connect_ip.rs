//! CONNECT-IP: between two ends of quiclab, and with connect-ip-go on quic-go in both roles.

use super::faults::one_path;
use super::lab::{Lab, needs, succeed, until};
use super::mtu::transfer;
use super::{IPV4, IPV6, SECOND};
use std::path::Path;
use std::time::Duration;

const STRANGER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../adapters/bin/quiclab-connect-ip-go");
const PATH: &str = "/.well-known/masque/ip/*/*/";

/// A lab whose ends have certificates of their keys, and use CONNECT-IP on port 443 over one path; `None` with a message
/// if that is not possible.
fn lab() -> Option<Lab> {
    let lab = Some(needs::has_openssl()).filter(|has| *has).and_then(|_| Lab::new())?;
    for end in ["server", "client", "other"] {
        lab.certify(end);
    }
    one_path(&lab);
    lab.edit("client.toml", "10.1.1.1:4433", "10.1.1.1:443");
    let table = "[client.connect_ip]\nhost = \"vpn.example\"\ncertificate = \"client.pem\"\n[[client.paths]]";
    lab.edit("client.toml", "[[client.paths]]", table);
    let table =
        "[server.connect_ip]\nlisten = [\"0.0.0.0:443\"]\ncertificate = \"server.pem\"\n[[server.peers]]";
    lab.edit("server.toml", "[[server.peers]]", table);
    Some(lab)
}

/// The program based on connect-ip-go, with the arguments common to both of its roles; `None` with a message if
/// it was not built.
fn stranger(lab: &Lab, role: &str, own: &str, known: &str) -> Option<Vec<String>> {
    let why = format!("{STRANGER} is missing; `make adapters` builds it where Go is installed");
    if !needs::has(Path::new(STRANGER).exists(), &why) {
        return None;
    }
    let uri = format!("https://vpn.example{PATH}");
    let (certificate, key) = (lab.file(&format!("{own}.pem")), lab.file(&format!("{own}.key")));
    let words = [
        STRANGER,
        role,
        "-uri",
        &uri,
        "-address",
        "10.1.1.1:443",
        "-certificate",
        &certificate,
        "-key",
        &key,
        "-peer-key",
        known,
    ];
    Some(words.map(str::to_owned).to_vec())
}

/// Checks both families in both directions, many packets of full size, and pings.
fn carries(lab: &Lab) {
    for address in [IPV4, IPV6] {
        lab.echo('s', address);
        until("an answer", || lab.ping(address, SECOND).is_some());
    }
    for address in ["10.77.0.1", "fd77::1"] {
        let (code, said) = lab.run('c', &["ping", "-c", "3", "-i", "0.2", "-W", "5", address]);
        assert_eq!(code, Some(0), "{said}");
    }
    for address in ["10.77.0.1:11", "[fd77::1]:11"] {
        let took = transfer(lab, address);
        eprintln!("5 MB to {address} and back in {took:?}");
    }
}

#[test]
fn both_ends_of_ours_beside_the_protocol_of_the_tunnel() {
    let Some(mut lab) = lab() else { return };
    // another client uses the tunnel's own protocol with the same server
    let [_, client, other] = &lab.keys;
    let peer = format!("public_key = \"{client}\"\n");
    let peers = format!("{peer}[[server.peers]]\nname = \"other\"\npublic_key = \"{other}\"\n");
    lab.edit("server.toml", &peer, &peers);
    lab.add_client();
    lab.edit("other.toml", "[client.connect_ip]\nhost = \"vpn.example\"\ncertificate = \"client.pem\"\n", "");
    lab.start('s');
    lab.start('c');
    lab.start('d');
    until("sessions", || lab.is_open() && lab.has_session('d'));
    let log = lab.log("server");
    assert_eq!(
        (log.matches("\"connect_ip\":true").count(), log.matches("\"connect_ip\":false").count()),
        (1, 1)
    );
    // no addresses but those that the server assigns, in networks of one address
    let addresses = lab.ip('c', &format!("addr show dev {}", lab.device('c')));
    assert!(
        addresses.contains("inet 10.77.0.") && addresses.contains("/32 ") && addresses.contains("/128 "),
        "{addresses}"
    );
    assert!(lab.ip('c', "route show").contains(&format!("10.99.0.0/16 dev {}", lab.device('c'))));
    lab.down('c');
    lab.edit("client.toml", "routes = [\"10.99.0.0/16\"]", "accept_routes = true");
    lab.start('c');
    until("a session", || lab.is_open());
    until("the pool is routed", || {
        lab.ip('c', "route show").contains(&format!("10.77.0.0/24 dev {}", lab.device('c')))
    });
    carries(&lab);
    // the server is restarted
    lab.kill('s');
    lab.start('s');
    until("an answer of the new server", || {
        lab.run('c', &["ping", "-c", "1", "-W", "1", "10.77.0.1"]).0 == Some(0)
    });
    lab.down('c');
    assert!(!lab.ip('c', "route show").contains("10.77.0.0/24"));
}

#[test]
fn the_address_of_the_client_changes_behind_a_kill_switch() {
    let Some(mut lab) = lab() else { return };
    lab.edit("client.toml", "[client]\n", "[client]\nkill_switch = true\n");
    lab.edit("client.toml", "10.99.0.0/16", "10.77.0.0/24");
    lab.start('s');
    lab.start('c');
    until("a session", || lab.is_open());
    lab.echo('s', IPV4);
    until("an answer", || lab.ping(IPV4, SECOND).is_some());
    let outside = |lab: &Lab| lab.run('c', &["ping", "-c", "1", "-W", "1", "10.1.1.1"]).0;
    assert_ne!(outside(&lab), Some(0), "the kill switch lets out what is of the tunnel only");
    lab.ip('c', "addr flush dev c1");
    lab.ip('c', "addr add 10.1.1.9/24 dev c1");
    until("an answer", || lab.ping(IPV4, Duration::from_millis(200)).is_some());
    let log = lab.log("server");
    assert_eq!(log.matches("session open").count(), 1, "the session goes on: {log}");
}

#[test]
fn a_client_with_another_key_gets_no_tunnel() {
    let Some(mut lab) = lab() else { return };
    lab.edit("client.toml", "client.key", "other.key");
    lab.edit("client.toml", "client.pem", "other.pem");
    lab.start('s');
    lab.start('c');
    until("a refusal", || lab.log("server").contains("refused"));
    assert!(!lab.is_open() && lab.status('s')["sessions"].as_array().unwrap().is_empty());
}

#[test]
fn a_reload_reads_certificates_again() {
    let Some(mut lab) = lab() else { return };
    let table = "certificate = \"server.pem\"";
    lab.edit("server.toml", table, &format!("{table}\nkey_file = \"server.key\""));
    lab.start('s');
    lab.start('c');
    until("a session", || lab.is_open());
    let connects_again = |lab: &mut Lab| {
        lab.down('c');
        let log = lab.log("client").len();
        lab.start('c');
        until("a session, or a refusal", || lab.is_open() || lab.log("client")[log..].contains("refused"));
        lab.is_open()
    };
    // an invalid certificate, or one of another key, changes nothing: neither the certificate nor the peers
    let good = std::fs::read_to_string(lab.file("server.pem")).unwrap();
    let other = std::fs::read_to_string(lab.file("other.pem")).unwrap();
    let peer = format!("[[server.peers]]\nname = \"other\"\npublic_key = \"{}\"\n", lab.keys[2]);
    let peers = "[[server.peers]]\nname = \"laptop\"";
    lab.edit("server.toml", peers, &format!("{peer}{peers}"));
    for (bad, sentence) in [
        ("", "server.connect_ip.certificate: no `CERTIFICATE` is in it"),
        (&good[..good.len() / 2], "server.connect_ip.certificate: not a PEM file with certificates"),
        (&other, "`certificate` is not of the key that was read at the start"),
    ] {
        std::fs::write(lab.file("server.pem"), bad).unwrap();
        let (code, said) = lab.reload('s');
        let said = said.replace("\"server.pem\": ", "");
        assert!(code == Some(2) && said.contains("nothing has changed: "), "{said}");
        assert!(said.contains(sentence), "{said}");
        assert!(lab.log("server").contains("configuration not reloaded: "), "{}", lab.log("server"));
    }
    assert!(connects_again(&mut lab), "with the certificate from before");
    lab.edit("server.toml", &peer, "");
    // the process may no longer read a key of root, and need not for a new certificate of the same key
    lab.certify("server");
    let new = std::fs::read_to_string(lab.file("server.pem")).unwrap();
    assert_ne!(new, good, "another serial number");
    let reloaded = "configuration reloaded: 1 peer, 0 sessions closed, other certificates from now on\n";
    assert_eq!(lab.reload('s').1, reloaded);
    assert_eq!(lab.log("server").matches("session open").count(), 2, "the session goes on");
    assert!(connects_again(&mut lab));
    // another key, which the user of the process may read
    lab.edit(
        "server.toml",
        "certificate = \"server.pem\"\nkey_file = \"server.key\"",
        "certificate = \"other.pem\"\nkey_file = \"other.key\"",
    );
    let (code, said) = lab.reload('s');
    assert!(code == Some(2) && said.contains("server.connect_ip.key_file: "), "{said}");
    succeed("chown", &["nobody", &lab.file("other.key")]);
    assert_eq!(lab.reload('s').1, reloaded);
    assert!(lab.is_open());
    assert!(!connects_again(&mut lab), "its server has another key");
    lab.down('c');
    let [old, _, new] = lab.keys.clone();
    lab.edit("client.toml", &old, &new);
    lab.start('c');
    until("a session with the other key", || lab.is_open());
    // and a start accepts the key of the user that it becomes
    lab.down('s');
    lab.start('s');
    until("a session", || lab.is_open() && lab.status('s')["sessions"][0]["open"] == true);
}

#[test]
fn a_reload_of_a_client_reads_authorities_again() {
    let Some(mut lab) = lab() else { return };
    let key = format!("server_key = \"{}\"\n", lab.keys[0]);
    lab.edit("client.toml", &key, "");
    lab.edit("client.toml", "host = ", "authorities = \"ca.pem\"\nhost = ");
    lab.certify_by_authority("vpn.example");
    let own = "certificate = \"server.pem\"";
    lab.edit("server.toml", own, "certificate = \"web.pem\"\nkey_file = \"web.key\"");
    lab.edit("client.toml", "ca.pem", "known.pem");
    let [other, authority, known] = ["other.pem", "ca.pem", "known.pem"].map(|name| lab.file(name));
    std::fs::copy(other, &known).unwrap();
    lab.start('s');
    lab.start('c');
    until("a refusal", || lab.log("client").contains("refused"));
    std::fs::copy(authority, known).unwrap();
    assert_eq!(
        lab.reload('c').1,
        "configuration reloaded: the authorities decide which server is known, other certificates from now on\n"
    );
    until("a session", || lab.is_open());
    // an additional authority closes no session; without the first, its server is no longer trusted
    let other = std::fs::read_to_string(lab.file("other.pem")).unwrap();
    let both = std::fs::read_to_string(lab.file("ca.pem")).unwrap() + &other;
    let log = lab.log("client").len();
    for (authorities, sessions) in [(&both, ""), (&other, ", 1 session closed")] {
        std::fs::write(lab.file("known.pem"), authorities).unwrap();
        let sentence = "configuration reloaded: the authorities decide which server is known, other certificates from now on";
        assert_eq!(lab.reload('c').1, format!("{sentence}{sessions}\n"));
    }
    assert!(!lab.is_open());
    until("a refusal", || lab.log("client")[log..].contains("refused"));
    assert_eq!(lab.log("client")[log..].matches("session open").count(), 0);
    until("the server knows", || lab.status('s')["sessions"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn our_client_and_connect_ip_go() {
    let Some(mut lab) = lab() else { return };
    let Some(mut words) = stranger(&lab, "server", "server", &lab.keys[1]) else { return };
    for word in [
        "-own",
        "10.77.0.1/24,fd77::1/64",
        "-assign",
        "10.77.0.2/32,fd77::2/128",
        "-advertise",
        "10.77.0.0/24,fd77::/64",
    ] {
        words.push(word.to_owned());
    }
    lab.edit("client.toml", "routes = [\"10.99.0.0/16\"]", "accept_routes = true");
    let said = lab.start_program('s', &words);
    until("the server", || lab.said(&said).contains("ready"));
    lab.start('c');
    until("a session", || lab.is_open());
    assert!(lab.said(&said).contains("asked for [0.0.0.0/32 ::/128]"), "{}", lab.said(&said));
    carries(&lab);
    // an unknown key is not accepted
    lab.down('c');
    lab.edit("client.toml", "client.key", "other.key");
    lab.edit("client.toml", "client.pem", "other.pem");
    let log = lab.log("client").len();
    lab.start('c');
    until("a refusal", || lab.log("client")[log..].contains("refused"));
    assert!(!lab.is_open());
}

#[test]
fn connect_ip_go_and_our_server() {
    let Some(mut lab) = lab() else { return };
    let Some(words) = stranger(&lab, "client", "client", &lab.keys[0]) else { return };
    lab.start('s');
    until("the server", || lab.log("server").contains("\"up\""));
    let said = lab.start_program('c', &words);
    until("a tunnel", || lab.said(&said).contains("ready"));
    let told = lab.said(&said);
    for line in ["address 10.77.0.2/32", "address fd77::2/128", "route 10.77.0.0/24", "route fd77::/64"] {
        assert!(told.contains(line), "{told}");
    }
    carries(&lab);
    let status = lab.status('s');
    assert_eq!(status["sessions"][0]["values"]["spoofed_packets"], 0.0, "{status}");
    // another path is not found, and another key is not accepted
    let mut elsewhere = words.clone();
    elsewhere[3] = "https://vpn.example/elsewhere".to_owned();
    let said = lab.start_program('c', &elsewhere);
    until("status 404", || lab.said(&said).contains("status 404"));
    let Some(words) = stranger(&lab, "client", "other", &lab.keys[0]) else { return };
    let said = lab.start_program('c', &words);
    until("a refusal", || lab.said(&said).contains("quiclab-connect-ip-go:"));
    assert!(!lab.said(&said).contains("ready"), "{}", lab.said(&said));
}

#[test]
fn a_server_known_by_its_authority() {
    let Some(mut lab) = lab() else { return };
    lab.certify_by_authority("vpn.example");
    let [ca, certificate] = ["ca.pem", "web.pem"].map(|name| lab.file(name));
    // certificates that exceed the anti-amplification limit of the server (RFC 9000 section 8.1)
    let chain: String = [&certificate]
        .into_iter()
        .chain([&ca; 12])
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    assert!(chain.len() / 4 * 3 > 3 * 1200, "{} bytes in PEM", chain.len());
    std::fs::write(&certificate, chain).unwrap();
    lab.edit(
        "server.toml",
        "certificate = \"server.pem\"",
        "certificate = \"web.pem\"\nkey_file = \"web.key\"",
    );
    let key = format!("server_key = \"{}\"\n", lab.keys[0]);
    lab.edit("client.toml", &key, "");
    lab.edit("client.toml", "host = ", "authorities = \"ca.pem\"\nhost = ");
    lab.start('s');
    lab.start('c');
    until("a session", || lab.is_open());
    assert_eq!(lab.status('c')["sessions"][0]["public_key"], "");
    // the same with another name is rejected
    lab.down('c');
    lab.edit("client.toml", "vpn.example", "other.example");
    let log = lab.log("client").len();
    lab.start('c');
    until("a refusal", || lab.log("client")[log..].contains("refused"));
    assert!(!lab.is_open());
}

#[test]
fn a_path_too_narrow_for_ipv6_ends_the_tunnel_and_carries_ipv4_alone() {
    let Some(mut lab) = lab() else { return };
    lab.edit("client.toml", "10.1.1.1:443", "10.1.1.1:4433");
    lab.route(false);
    lab.edit("client.toml", "10.4.3.1:4433", "10.4.3.1:443");
    lab.limit(1300);
    lab.start('s');
    lab.start('c');
    let code = lab.wait('c').code();
    assert_eq!(code, Some(1), "{}", lab.log("client"));
    assert!(lab.log("client").contains("less than the 1280 bytes that IPv6"));
    lab.down('s');
    for end in ["server.toml", "client.toml"] {
        lab.edit(end, "version = 1\n", "version = 1\nmtu = 1200\n");
    }
    lab.edit("server.toml", "pool_ipv6 = \"fd77::/64\"\n", "");
    lab.edit("client.toml", "10.99.0.0/16", "10.77.0.0/24");
    lab.start('s');
    lab.start('c');
    until("a session", || lab.is_open());
    let took = transfer(&lab, "10.77.0.1:11");
    eprintln!("IPv4 alone: 5 MB and back in {took:?}");
}
