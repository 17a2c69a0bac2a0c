//! Exit codes: what a service manager starts again, and what it does not.

use super::SECOND;
use super::lab::{Lab, until};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_client_may_try_again_after_a_full_pool() {
    let Some(mut lab) = Lab::new() else { return };
    lab.add_client();
    lab.edit("server.toml", "10.77.0.0/24", "10.77.0.0/30");
    lab.edit("server.toml", "pool_ipv6 = \"fd77::/64\"\n", "");
    let peer =
        format!("[[server.peers]]\nname = \"phone\"\npublic_key = \"{}\"\n[[server.peers]]", lab.keys[2]);
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
    // a process that another test starts may hold a copy of it until it becomes its program; 0x1151 is 4433
    until("the address is free", 10 * SECOND, || {
        !lab.run('s', &["cat", "/proc/net/udp"]).1.contains(":1151 ")
    });
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
    // with a wrong file it would be started again indefinitely: that line is for the exit code of ExecStart only
    assert!(!unit.lines().any(|line| line.starts_with("ExecStartPre=")), "{unit}");
    lab.terminate('s');
}

/// As the systemd unit starts it: as a user with CAP_NET_ADMIN and nothing else.
#[test]
fn a_user_with_one_capability_carries_and_undoes() {
    let Some(mut lab) = Lab::new() else { return };
    let before =
        (lab.ip('c', "route show"), lab.ip('s', "route show"), lab.sysctl('s', "net/ipv4/ip_forward"));
    let unit = include_str!("../../systemd/quiclab-tunnel@.service");
    for line in
        ["AmbientCapabilities=CAP_NET_ADMIN", "CapabilityBoundingSet=CAP_NET_ADMIN", "User=quiclab-tunnel"]
    {
        assert!(unit.lines().any(|found| found == line), "{line}");
    }
    let mode = std::fs::metadata("/dev/net/tun").unwrap().permissions().mode();
    if mode & 0o006 != 0o006 {
        eprintln!("skipped: /dev/net/tun is not open to all users, as udev makes it");
        return;
    }
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    let own = |path: std::path::PathBuf| {
        std::os::unix::fs::chown(path, Some(nobody.uid.as_raw()), Some(nobody.gid.as_raw())).unwrap();
    };
    let user = format!("--reuid={} --regid={} --clear-groups", nobody.uid, nobody.gid);
    let capabilities =
        "--inh-caps=-all,+net_admin --ambient-caps=-all,+net_admin --bounding-set=-all,+net_admin";
    let program = format!("setpriv {user} {capabilities} --no-new-privs");
    let program: Vec<&str> = program.split(' ').collect();
    lab.edit("client.toml", "[client]", "[client]\nkill_switch = true");
    for (host, end) in [('s', "server"), ('c', "client")] {
        lab.edit(&format!("{end}.toml"), "user = \"nobody\"\n", "");
        own(lab.directory.join(format!("{end}.key")));
        let directory = std::path::Path::new("/run/quiclab-tunnel").join(lab.device(host));
        std::fs::create_dir_all(&directory).unwrap();
        own(directory);
        lab.start_by(host, &program);
    }
    until("session with two paths", 15 * SECOND, || lab.is_open() && lab.paths_up() == 2);
    lab.edit("server.toml", "laptop", "notebook");
    assert_eq!(lab.reload('s').0, Some(0));
    assert_eq!(lab.sysctl('s', "net/ipv4/ip_forward"), "1");
    lab.kill('s');
    let device = lab.device('s');
    let down = [&program[..], &[super::lab::PROGRAM, "down", "--interface", &device]].concat();
    let (code, said) = lab.run('s', &down);
    assert_eq!(code, Some(0), "{said}");
    lab.down('c');
    let after =
        (lab.ip('c', "route show"), lab.ip('s', "route show"), lab.sysctl('s', "net/ipv4/ip_forward"));
    assert_eq!(after, before);
}
