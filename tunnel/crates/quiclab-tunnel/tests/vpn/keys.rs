//! Rotation of keys, as tunnel/docs/operation.md describes it.

use super::lab::{Lab, PROGRAM, succeed, until};
use super::{IPV4, SECOND};
use std::io::{Read, Write};
use std::net::TcpStream;

const RELOADED: (Option<i32>, &str) = (Some(0), "configuration reloaded: 1 peer, 0 sessions closed\n");

/// A TCP connection inside the tunnel, each of whose bytes is echoed.
fn connection(lab: &Lab) -> TcpStream {
    let listener = lab.listener('s', "10.77.0.1:11");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut byte = [0];
        while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
    });
    lab.within('c', || TcpStream::connect("10.77.0.1:11").unwrap()).join().unwrap()
}

fn passes(stream: &mut TcpStream, byte: u8) {
    stream.set_read_timeout(Some(20 * SECOND)).unwrap();
    stream.write_all(&[byte]).unwrap();
    let mut back = [0];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(back, [byte]);
}

fn reloaded(lab: &Lab) {
    let (code, said) = lab.reload('s');
    assert_eq!((code, said.as_str()), RELOADED);
}

#[test]
fn a_client_gets_a_new_key_and_keeps_its_addresses_and_connections() {
    let Some(mut lab) = Lab::new() else { return };
    let [_, old, new] = lab.keys.clone();
    lab.start_both();
    let addresses = lab.status('s')["sessions"][0]["addresses"].clone();
    let mut stream = connection(&lab);
    passes(&mut stream, 1);
    // 1: the server accepts both
    lab.edit("server.toml", &format!("\"{old}\"\n"), &format!("\"{old}\"\nnext_public_key = \"{new}\"\n"));
    reloaded(&lab);
    passes(&mut stream, 2);
    // 2: the client restarts with its new key
    assert!(lab.terminate('c').success());
    lab.edit("client.toml", "client.key", "other.key");
    lab.start('c');
    let gap = until("a session with the new key", || {
        lab.is_open()
            && lab.status('s')["sessions"].as_array().unwrap().iter().any(|one| one["public_key"] == *new)
    });
    eprintln!("a session with the new key after {gap:?}");
    passes(&mut stream, 3);
    // 3: the server accepts the new one only, and the session continues
    lab.edit("server.toml", &format!("\"{old}\"\nnext_public_key = \"{new}\"\n"), &format!("\"{new}\"\n"));
    reloaded(&lab);
    passes(&mut stream, 4);
    let status = lab.status('s');
    assert_eq!(
        (&status["sessions"][0]["addresses"], &status["sessions"][0]["name"]),
        (&addresses, &"laptop".into())
    );
    assert!(lab.terminate('c').success());
    lab.edit("client.toml", "other.key", "client.key");
    lab.start('c');
    until("the old key is refused", || lab.log("server").contains("refused"));
}

#[test]
fn a_client_that_was_killed_finds_its_session_with_its_new_key() {
    let Some(mut lab) = Lab::new() else { return };
    let [_, old, new] = lab.keys.clone();
    lab.edit("server.toml", &format!("\"{old}\"\n"), &format!("\"{old}\"\nnext_public_key = \"{new}\"\n"));
    lab.start_both();
    let mut stream = connection(&lab);
    passes(&mut stream, 1);
    lab.kill('c');
    lab.edit("client.toml", "client.key", "other.key");
    lab.start('c');
    until("a session with the new key", || {
        lab.status('s')["sessions"].as_array().unwrap().iter().any(|one| one["public_key"] == *new)
    });
    let status = lab.status('s');
    assert_eq!(status["sessions"].as_array().unwrap().len(), 1, "one client has one session: {status}");
    assert_eq!(status["values"]["parked_sessions"], 0.0, "{status}");
    assert_eq!(
        lab.log("server").matches("its client has connected again").count(),
        1,
        "{}",
        lab.log("server")
    );
    passes(&mut stream, 2);
}

#[test]
fn a_server_gets_a_new_key_and_its_clients_come_back() {
    let Some(mut lab) = Lab::new() else { return };
    let key = lab.directory.join("new.key");
    let new = succeed(PROGRAM, &["keygen", key.to_str().unwrap()]).trim().to_owned();
    assert_eq!(succeed(PROGRAM, &["pubkey", key.to_str().unwrap()]).trim(), new);
    let old = lab.keys[0].clone();
    lab.start_both();
    lab.echo('s', IPV4);
    // 1: clients accept both
    let both = format!("server_key = \"{old}\"\nnext_server_key = \"{new}\"");
    lab.edit("client.toml", &format!("server_key = \"{old}\""), &both);
    let (code, said) = lab.reload('c');
    assert_eq!((code, said.as_str()), (Some(0), "configuration reloaded: the server may have 2 keys\n"));
    assert!(lab.is_open());
    // 2: the server restarts with its new key; clients reconnect by themselves
    assert!(lab.terminate('s').success());
    lab.edit("server.toml", "server.key", "new.key");
    lab.start('s');
    let gap = until("the session is back", || {
        lab.is_open() && lab.status('c')["sessions"][0]["public_key"] == *new
    });
    eprintln!("the session is back after {gap:?}");
    // 3: clients accept the new one only, and no server without it
    lab.edit("client.toml", &both, &format!("server_key = \"{old}\""));
    let (code, said) = lab.reload('c');
    assert!(
        code == Some(2) && said.contains("client.server_key: expected the key of the server in the session"),
        "{said}"
    );
    lab.edit("client.toml", &format!("server_key = \"{old}\""), &format!("server_key = \"{new}\""));
    let (code, said) = lab.reload('c');
    assert_eq!((code, said.as_str()), (Some(0), "configuration reloaded: the server may have 1 key\n"));
    until("an answer", || lab.ping(IPV4, SECOND).is_some());
    assert_eq!(lab.log("client").matches("session open").count(), 2);
}
