//! Exit codes: what a service manager starts again, and what it does not.

use super::SECOND;
use super::lab::{Lab, until};

#[test]
fn a_client_may_try_again_after_a_full_pool() {
    let Some(mut lab) = Lab::new() else { return };
    lab.add_client();
    lab.edit("server.toml", "10.77.0.0/24", "10.77.0.0/30");
    lab.edit("server.toml", "pool_ipv6 = \"fd77::/64\"\n", "");
    let peer = format!("[[server.peers]]\nname = \"phone\"\npublic_key = \"{}\"\n[[server.peers]]", lab.keys[2]);
    lab.edit("server.toml", "[[server.peers]]", &peer);
    lab.start_both();
    lab.start('d');
    assert_eq!(lab.wait('d').code(), Some(1), "{}", lab.log("other"));
    assert!(lab.log("other").contains("the server refuses: no free address is available"));
}

#[test]
fn what_does_not_change_by_itself_has_codes_of_its_own() {
    let Some(mut lab) = Lab::new() else { return };
    // an address that another program has is free later
    let socket = lab.within('s', || std::net::UdpSocket::bind("0.0.0.0:4433").unwrap()).join().unwrap();
    lab.start('s');
    assert_eq!(lab.wait('s').code(), Some(1), "{}", lab.log("server"));
    drop(socket);
    lab.start('s');
    until("the server is up", 10 * SECOND, || lab.status('s')["role"] == "server");
    lab.start('s');
    assert_eq!(lab.wait('s').code(), Some(3), "it runs already: {}", lab.log("server"));
    lab.start_by('c', &["setpriv", "--bounding-set", "-net_admin"]);
    assert_eq!(lab.wait('c').code(), Some(3), "{}", lab.log("client"));
    lab.edit("client.toml", "version = 1", "version = 2");
    lab.start('c');
    assert_eq!(lab.wait('c').code(), Some(2), "{}", lab.log("client"));
    let unit = include_str!("../../systemd/quiclab-tunnel@.service");
    assert!(unit.lines().any(|line| line == "RestartPreventExitStatus=2 3"), "{unit}");
    lab.terminate('s');
}
