//! Name servers in the tunnel: which are asked, and that the earlier ones are back afterwards.
//!
//! `ip netns exec` shows /etc/netns/NAME/resolv.conf as /etc/resolv.conf to what it runs, so that the machine's own file is
//! not touched.

use super::SECOND;
use super::lab::{self, Lab, until};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BEFORE: &str = "# by DHCP\nnameserver 10.1.1.1\nsearch home.test\noptions timeout:1\n";
const WRITTEN: &str = "nameserver 10.77.0.1\nsearch inside.test\n";

/// The file that the client's host has as /etc/resolv.conf.
fn resolv_conf(lab: &Lab) -> PathBuf {
    let directory = Path::new("/etc/netns").join(lab.host('c'));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("resolv.conf");
    std::fs::write(&file, BEFORE).unwrap();
    lab.edit("client.toml", "[client]", "[client]\ndns = [\"10.77.0.1\"]\ndns_search = [\"inside.test\"]");
    file
}

/// A search path with these programs only, each a shell script.
fn programs(lab: &Lab, scripts: &[(&str, &str)]) -> String {
    use std::os::unix::fs::PermissionsExt;
    let directory = lab.directory.join("bin");
    std::fs::create_dir_all(&directory).unwrap();
    for (name, script) in scripts {
        let file = directory.join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    format!("PATH={}", directory.display())
}

/// Counts what arrives at an address of the server's host.
fn questions(lab: &Lab, address: &'static str) -> Arc<AtomicU64> {
    let count = Arc::new(AtomicU64::new(0));
    let (ready, is_ready) = std::sync::mpsc::channel();
    let counter = count.clone();
    drop(lab.within('s', move || {
        let socket = UdpSocket::bind(address).unwrap();
        ready.send(()).unwrap();
        while socket.recv(&mut [0; 512]).is_ok() {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }));
    is_ready.recv().unwrap();
    count
}

#[test]
fn names_are_asked_for_in_the_tunnel_only() {
    let Some(mut lab) = Lab::new() else { return };
    let file = resolv_conf(&lab);
    let path = programs(&lab, &[]);
    let text = || std::fs::read_to_string(&file).unwrap();
    lab.start('s');
    lab.start_by('c', &["/usr/bin/env", &path]);
    until("session with two paths", 15 * SECOND, || lab.is_open() && lab.paths_up() == 2);
    assert_eq!(text(), WRITTEN);
    let (inside, outside) = (questions(&lab, "10.77.0.1:53"), questions(&lab, "10.1.1.1:53"));
    let ask = |lab: &Lab| lab.run('c', &["timeout", "2", "getent", "ahosts", "secret.test"]);
    ask(&lab);
    until("the question has arrived", 5 * SECOND, || inside.load(Ordering::Relaxed) > 0);
    assert_eq!(outside.load(Ordering::Relaxed), 0);
    // the client runs as `nobody`, and may not open the file any more
    lab.down('c');
    assert_eq!(text(), BEFORE);
    let count = inside.load(Ordering::Relaxed);
    ask(&lab);
    until("the earlier name server is asked", 5 * SECOND, || outside.load(Ordering::Relaxed) > 0);
    assert_eq!(inside.load(Ordering::Relaxed), count);
    // a record that an orderly end could not remove does no harm
    std::fs::write(&file, "nameserver 10.1.1.9\n").unwrap();
    lab.run('c', &[lab::PROGRAM, "down", "--interface", &lab.device('c')]);
    assert_eq!(text(), "nameserver 10.1.1.9\n");
}

#[test]
fn name_servers_of_a_killed_client_are_restored_by_down_and_by_up() {
    let Some(mut lab) = Lab::new() else { return };
    let file = resolv_conf(&lab);
    let path = programs(&lab, &[]);
    let text = || std::fs::read_to_string(&file).unwrap();
    let start = |lab: &mut Lab| {
        lab.start_by('c', &["/usr/bin/env", &path]);
        until("the client is up", 10 * SECOND, || lab.status('c')["role"] == "client");
        assert_eq!(text(), WRITTEN);
    };
    start(&mut lab);
    lab.kill('c');
    assert_eq!(text(), WRITTEN, "nothing asks outside after a kill");
    lab.clean('c');
    assert_eq!(text(), BEFORE);
    start(&mut lab);
    lab.kill('c');
    start(&mut lab);
    lab.down('c');
    assert_eq!(text(), BEFORE);
    // what another program has written since stays
    start(&mut lab);
    lab.kill('c');
    std::fs::write(&file, "nameserver 10.1.1.9\n").unwrap();
    lab.run('c', &[lab::PROGRAM, "down", "--interface", &lab.device('c')]);
    assert_eq!(text(), "nameserver 10.1.1.9\n");
}

#[test]
fn resolvconf_is_used_where_it_is() {
    let Some(mut lab) = Lab::new() else { return };
    let file = resolv_conf(&lab);
    let said = lab.directory.join("said");
    let script = format!(
        "{{ echo \"$@\"; [ \"$1\" = -a ] && while read -r line; do echo \"$line\"; done; }} >> {}; true",
        said.display()
    );
    let path = programs(&lab, &[("resolvconf", &script)]);
    lab.start_by('c', &["/usr/bin/env", &path]);
    until("the client is up", 10 * SECOND, || lab.status('c')["role"] == "client");
    let entry = format!("tun.{}", lab.device('c'));
    let added = format!("-a {entry} -m 0 -x\n{WRITTEN}");
    assert_eq!(std::fs::read_to_string(&said).unwrap(), added);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), BEFORE);
    lab.kill('c');
    // without that program the entry is not forgotten
    let empty = format!("PATH={}", lab.directory.display());
    let down = ["/usr/bin/env", &empty, lab::PROGRAM, "down", "--interface", &lab.device('c')];
    let (code, shown) = lab.run('c', &down);
    assert!(code == Some(1) && shown.contains("resolver.json: the entry"), "{shown}");
    lab.run('c', &["/usr/bin/env", &path, lab::PROGRAM, "down", "--interface", &lab.device('c')]);
    assert_eq!(std::fs::read_to_string(&said).unwrap(), format!("{added}-d {entry} -f\n"));
}
