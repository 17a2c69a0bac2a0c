//! Reload of a configuration while packets pass.

use super::faults::Numbers;
use super::lab::{Lab, until};
use rustix::process::Signal;

const ADDED: &str = "[[server.peers]]\nname = \"phone\"\npublic_key = ";

fn sessions(lab: &Lab) -> usize {
    lab.status('s')["sessions"].as_array().map_or(0, Vec::len)
}

#[test]
fn peers_come_and_go_while_others_lose_no_packet() {
    let Some(mut lab) = Lab::new() else { return };
    lab.add_client();
    lab.start_both();
    lab.start('d');
    until("a refusal of the unknown client", || lab.log("server").contains("refused"));
    let numbers = Numbers::start(&lab);
    numbers.pass(300);
    let peer = format!("{ADDED}\"{}\"\n", lab.keys[2]);
    lab.edit("server.toml", "[[server.peers]]", &format!("{peer}[[server.peers]]"));
    let (code, said) = lab.reload('s');
    assert_eq!((code, said.as_str()), (Some(0), "configuration reloaded: 2 peers, 0 sessions closed\n"));
    until("the new client has a session", || lab.has_session('d'));
    numbers.pass(300);
    lab.edit("server.toml", &peer, "");
    let before = lab.log("server").len();
    lab.signal('s', Signal::HUP);
    until("the session is closed", || sessions(&lab) == 1);
    let log = lab.log("server");
    assert!(log[before..].contains("configuration reloaded: 1 peer, 1 session closed"), "{log}");
    until("its client knows", || !lab.has_session('d'));
    until("it is refused", || lab.log("server")[before..].contains("refused"));
    numbers.pass(300);
    let (arrived, sent) = (numbers.end(), numbers.sent());
    assert_eq!(arrived.len() as u64, sent, "packets of the client that stayed");
    assert_eq!(lab.log("server").matches("session open").count(), 2);
}

#[test]
fn a_wrong_configuration_or_a_fixed_field_changes_nothing() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start_both();
    let whole = std::fs::read_to_string(lab.directory.join("server.toml")).unwrap();
    for (from, to, sentence) in [
        ("version = 1", "version = 1\nmtu = \"big\"", "mtu: expected an integer from 576 to 9000 bytes"),
        (
            "version = 1",
            "version = 1\nmtu = 1380",
            "mtu: it changes only with the next start of the tunnel; a reload takes other peers, keys of the server, ",
        ),
        ("10.77.0.0/24", "10.78.0.0/24", "server.pool_ipv4: it changes only with the next start"),
        ("0.0.0.0:4433", "0.0.0.0:4434", "server.listen: it changes only with the next start"),
        ("server.key", "other.key", "key_file: it changes only with the next start"),
        (
            "version = 1",
            "version = 1\ncarrier = \"connections\"",
            "carrier: it changes only with the next start",
        ),
        (&lab.device('s'), "qlt9", "interface: it changes only with the next start"),
    ] {
        // with a peer that must not be accepted
        let peer = format!("{ADDED}\"{}\"\n[[server.peers]]", lab.keys[2]);
        let text = whole.replacen(from, to, 1).replacen("[[server.peers]]", &peer, 1);
        std::fs::write(lab.directory.join("server.toml"), text).unwrap();
        let (code, said) = lab.reload('s');
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.starts_with("quiclab-tunnel: nothing has changed: ") && said.contains(sentence),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    lab.edit("client.toml", "10.99.0.0/16", "10.98.0.0/16");
    let (code, said) = lab.reload('c');
    assert!(code == Some(2) && said.contains("client.routes: it changes only with the next start"), "{said}");
    // a value that is the default is no change
    std::fs::write(
        lab.directory.join("server.toml"),
        whole.replacen("version = 1", "version = 1\nmtu = 1400\ncarrier = \"multipath\"", 1),
    )
    .unwrap();
    assert_eq!(lab.reload('s').0, Some(0));
    assert!(lab.is_open());
    assert_eq!(lab.log("server").matches("session open").count(), 1);
    assert_eq!(lab.log("server").matches("refused").count(), 0);
}

#[test]
fn a_peer_with_a_new_key_or_address_has_a_new_session() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start_both();
    // a fixed address: its client reconnects by itself
    lab.edit("server.toml", "name = \"laptop\"", "name = \"notebook\"\nipv4 = \"10.77.0.9\"");
    let closed = "configuration reloaded: 1 peer, 1 session closed (laptop: ";
    let said = lab.reload('s').1;
    assert_eq!(said, format!("{closed}its address is configured for another peer, or another one for it)\n"));
    until("the new address", || lab.ip('c', "addr show").contains("10.77.0.9/24"));
    let route = format!("10.99.0.0/16 dev {}", lab.device('c'));
    until("its routes", || lab.ip('c', "route show").contains(&route));
    until("its name in the status", || lab.status('s')["sessions"][0]["name"] == "notebook");
    // a new name alone closes no session
    lab.edit("server.toml", "notebook", "laptop");
    assert_eq!(lab.reload('s').1, "configuration reloaded: 1 peer, 0 sessions closed\n");
    assert_eq!(lab.status('s')["sessions"][0]["name"], "laptop");
    let [_, old, new] = lab.keys.clone();
    lab.edit("server.toml", &old, &new);
    assert_eq!(lab.reload('s').1, format!("{closed}no peer has its key any more)\n"));
    until("the old key is refused", || lab.log("server").contains("refused"));
    assert_eq!(sessions(&lab), 0);
    lab.down('c');
    lab.edit("client.toml", "client.key", "other.key");
    lab.start('c');
    until("a session with the new key", || lab.is_open());
    assert_eq!(lab.status('s')["sessions"][0]["public_key"], new);
}
