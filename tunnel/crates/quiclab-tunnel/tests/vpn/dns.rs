//! Name servers in the tunnel: the servers that are queried, and the restoration of the earlier ones.
//!
//! `ip netns exec` shows /etc/netns/NAME/resolv.conf as /etc/resolv.conf to its program, so that the machine's own file is
//! not changed.

use super::lab::{self, Lab, until};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BEFORE: &str = "# by DHCP\nnameserver 10.1.1.1\nsearch home.test\noptions timeout:1\n";
const WRITTEN: &str = "nameserver 10.77.0.1\nsearch inside.test\n";

/// The file that the client's host has as /etc/resolv.conf.
fn resolv_conf(lab: &Lab) -> PathBuf {
    let directory = Path::new("/etc/netns").join(lab.host('c'));
    // another lab may remove the first one, when it is empty
    until("a directory", || std::fs::create_dir_all(&directory).is_ok());
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

/// Counts arrivals at an address of the server's host.
fn questions(lab: &Lab, address: &'static str) -> Arc<AtomicU64> {
    let count = Arc::new(AtomicU64::new(0));
    let counter = count.clone();
    let socket = lab.socket('s', address);
    std::thread::spawn(move || {
        while socket.recv(&mut [0; 512]).is_ok() {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
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
    until("session with two paths", || lab.is_open() && lab.paths_up() == 2);
    assert_eq!(text(), WRITTEN);
    let (inside, outside) = (questions(&lab, "10.77.0.1:53"), questions(&lab, "10.1.1.1:53"));
    let ask = |lab: &Lab| lab.run('c', &["timeout", "2", "getent", "ahosts", "secret.test"]);
    ask(&lab);
    until("the question has arrived", || inside.load(Ordering::Relaxed) > 0);
    assert_eq!(outside.load(Ordering::Relaxed), 0);
    // the client runs as `nobody`, and may no longer open the file
    lab.down('c');
    assert_eq!(text(), BEFORE);
    let count = inside.load(Ordering::Relaxed);
    ask(&lab);
    until("the earlier name server is asked", || outside.load(Ordering::Relaxed) > 0);
    assert_eq!(inside.load(Ordering::Relaxed), count);
    // a record that an orderly end could not remove is harmless
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
        until("the client is up", || lab.status('c')["role"] == "client");
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
    // text that another program has written since is kept
    start(&mut lab);
    lab.kill('c');
    std::fs::write(&file, "nameserver 10.1.1.9\n").unwrap();
    lab.run('c', &[lab::PROGRAM, "down", "--interface", &lab.device('c')]);
    assert_eq!(text(), "nameserver 10.1.1.9\n");
}

/// Like the unit without its drop-in for `dns`: there must be no kill switch without a tunnel.
#[test]
fn a_user_who_cannot_set_name_servers_gets_no_kill_switch() {
    let Some(mut lab) = Lab::new() else { return };
    let file = resolv_conf(&lab);
    let path = programs(&lab, &[]);
    lab.edit("client.toml", "[client]", "[client]\nkill_switch = true");
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    let own = |file| std::os::unix::fs::chown(file, Some(nobody.uid.as_raw()), Some(nobody.gid.as_raw()));
    own(lab.directory.join("client.key")).unwrap();
    let capabilities =
        "--inh-caps=-all,+net_admin --ambient-caps=-all,+net_admin --bounding-set=-all,+net_admin";
    let user = format!("--reuid={} --regid={} --clear-groups", nobody.uid, nobody.gid);
    let words = format!("setpriv {user} {capabilities} --no-new-privs /usr/bin/env {path}");
    lab.start_by('c', &words.split(' ').collect::<Vec<_>>());
    assert_eq!(lab.wait('c').code(), Some(3), "{}", lab.log("client"));
    let log = lab.log("client");
    let sentence = "client.dns: [\\\"10.77.0.1\\\"]: /etc/resolv.conf cannot be written: Permission denied; `dns` takes root";
    assert!(log.contains(sentence) && log.contains("drop-in for `dns`"), "{log}");
    assert!(!log.contains("kill switch on"), "{log}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), BEFORE);
    // no change is left
    assert_eq!(lab.run('c', &[lab::PROGRAM, "down", "--interface", &lab.device('c')]).0, Some(1));
}

#[test]
fn resolvconf_is_used_where_it_is() {
    let Some(mut lab) = Lab::new() else { return };
    let file = resolv_conf(&lab);
    let said = lab.directory.join("said");
    // as openresolv does with -x
    let script = format!("echo \"$@\" >> {}; [ \"$1\" = -d ] || /bin/cat > /etc/resolv.conf", said.display());
    let path = programs(&lab, &[("resolvconf", &script)]);
    lab.start_by('c', &["/usr/bin/env", &path]);
    until("the client is up", || lab.status('c')["role"] == "client");
    let entry = format!("tun.{}", lab.device('c'));
    let added = format!("-a {entry} -m 0 -x\n");
    assert_eq!(std::fs::read_to_string(&said).unwrap(), added);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), WRITTEN);
    lab.kill('c');
    // without that program the entry stays recorded
    let empty = format!("PATH={}", lab.directory.display());
    let down = ["/usr/bin/env", &empty, lab::PROGRAM, "down", "--interface", &lab.device('c')];
    let (code, shown) = lab.run('c', &down);
    assert!(code == Some(1) && shown.contains("resolver.json: the entry"), "{shown}");
    lab.run('c', &["/usr/bin/env", &path, lab::PROGRAM, "down", "--interface", &lab.device('c')]);
    assert_eq!(std::fs::read_to_string(&said).unwrap(), format!("{added}-d {entry} -f\n"));
}

#[test]
fn a_resolvconf_that_keeps_other_name_servers_is_not_used() {
    let Some(mut lab) = Lab::new() else { return };
    let file = resolv_conf(&lab);
    // like that of Debian, which ignores -m and -x
    let script = format!(
        "if [ \"$1\" = -a ]; then /bin/cat > /etc/resolv.conf; echo nameserver 10.1.1.1 >> /etc/resolv.conf; else printf %s '{BEFORE}' > /etc/resolv.conf; fi"
    );
    let path = programs(&lab, &[("resolvconf", &script)]);
    let text = || std::fs::read_to_string(&file).unwrap();
    for killed in [false, true] {
        lab.start_by('c', &["/usr/bin/env", &path]);
        until("the client is up", || lab.status('c')["role"] == "client");
        assert_eq!(text(), WRITTEN);
        if killed {
            lab.kill('c');
            lab.clean('c');
        } else {
            lab.down('c');
        }
        assert_eq!(text(), BEFORE);
    }
}
