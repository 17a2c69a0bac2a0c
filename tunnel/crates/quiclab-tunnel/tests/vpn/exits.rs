//! Exit codes: failures after which a service manager restarts the tunnel, and those after which it does not.

use super::lab::needs::has;
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
    // an address in use by another program is free later
    let socket = lab.socket('s', "0.0.0.0:4433");
    lab.start('s');
    assert_eq!(lab.wait('s').code(), Some(1), "{}", lab.log("server"));
    drop(socket);
    // a process that another test starts may hold a copy of it until it becomes its program; 0x1151 is 4433
    until("the address is free", || !lab.run('s', &["cat", "/proc/net/udp"]).1.contains(":1151 "));
    lab.start('s');
    until("the server is up", || lab.status('s')["role"] == "server");
    lab.start('s');
    assert_eq!(lab.wait('s').code(), Some(3), "it runs already: {}", lab.log("server"));
    // nor is the operator advised to change the key of the running one
    std::os::unix::fs::chown(lab.directory.join("server.key"), Some(1), None).unwrap();
    lab.start('s');
    assert_eq!(lab.wait('s').code(), Some(3), "{}", lab.log("server"));
    assert_eq!(lab.log("server").matches("runs already").count(), 2, "{}", lab.log("server"));
    lab.start_by('c', &["setpriv", "--bounding-set", "-net_admin"]);
    assert_eq!(lab.wait('c').code(), Some(3), "{}", lab.log("client"));
    lab.edit("client.toml", "version = 1", "version = 2");
    lab.start('c');
    assert_eq!(lab.wait('c').code(), Some(2), "{}", lab.log("client"));
    let unit = include_str!("../../../../packaging/systemd/quiclab-tunnel@.service");
    assert!(unit.lines().any(|line| line == "RestartPreventExitStatus=2 3"), "{unit}");
    // with a wrong file it would be started again indefinitely: the exit code applies to ExecStart only
    assert!(!unit.lines().any(|line| line.starts_with("ExecStartPre=")), "{unit}");
    lab.terminate('s');
}

/// Missing permissions of a drop-in or a container, which another start does not provide.
#[test]
fn what_the_machine_lacks_is_named() {
    let Some(mut lab) = Lab::new() else { return };
    let shell = |script: &str| format!("{script} && exec \"$@\"");
    let start = |lab: &mut Lab, host, script: &str| {
        lab.start_by(host, &["unshare", "--mount", "sh", "-c", &shell(script), "sh"]);
        assert_eq!(lab.wait(host).code(), Some(3), "{}", lab.log("server"));
    };
    // a container without the device, and one with sysctls that cannot be written
    start(&mut lab, 's', "mount --bind /dev/null /dev/net/tun");
    assert!(
        lab.log("server").contains("/dev/net/tun is not the device of the kernel"),
        "{}",
        lab.log("server")
    );
    start(&mut lab, 's', "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys");
    let log = lab.log("server");
    assert!(log.contains("net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1"), "{log}");
    assert!(!log.contains("could not be undone"), "nothing was changed: {log}");
}

/// The server may be corrected: the service manager restarts the client.
#[test]
fn packets_with_numbers_at_one_end_only_are_refused() {
    let Some(mut lab) = Lab::new() else { return };
    lab.edit("server.toml", "user = \"nobody\"\n", "");
    lab.edit("client.toml", "version = 1\n", "version = 1\nresequencing = \"0 s\"\n");
    lab.start('s');
    until("the server is up", || lab.status('s')["role"] == "server");
    assert!(lab.log("server").contains("the tunnel runs as root"), "{}", lab.log("server"));
    lab.start('c');
    assert_eq!(lab.wait('c').code(), Some(1), "{}", lab.log("client"));
    assert!(lab.log("client").contains("at one end only"), "{}", lab.log("client"));
    assert!(!lab.log("client").contains("runs as root"), "{}", lab.log("client"));
}

#[test]
fn a_server_that_does_not_answer_is_reported() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start('c');
    until("a line in the log", || lab.log("client").matches("path is not up so far").count() == 2);
    lab.start('s');
    until("session with two paths", || lab.is_open() && lab.paths_up() == 2);
}

/// Started as by the systemd unit: as a user with CAP_NET_ADMIN only.
#[test]
fn a_user_with_one_capability_carries_and_undoes() {
    let Some(mut lab) = Lab::new() else { return };
    let before =
        (lab.ip('c', "route show"), lab.ip('s', "route show"), lab.sysctl('s', "net/ipv4/ip_forward"));
    let unit = include_str!("../../../../packaging/systemd/quiclab-tunnel@.service");
    for line in
        ["AmbientCapabilities=CAP_NET_ADMIN", "CapabilityBoundingSet=CAP_NET_ADMIN", "User=quiclab-tunnel"]
    {
        assert!(unit.lines().any(|found| found == line), "{line}");
    }
    let mode = std::fs::metadata("/dev/net/tun").unwrap().permissions().mode();
    if !has(mode & 0o006 == 0o006, "/dev/net/tun is not open to all users, as udev makes it") {
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
    // it cannot become another user
    own(lab.directory.join("server.key"));
    lab.edit("server.toml", "user = \"nobody\"", "user = \"daemon\"");
    lab.start_by('s', &program);
    assert_eq!(lab.wait('s').code(), Some(3), "{}", lab.log("server"));
    assert!(lab.log("server").contains("this process cannot become another user"), "{}", lab.log("server"));
    lab.edit("server.toml", "user = \"daemon\"", "user = \"nobody\"");
    // its own user may be named (the client's configuration does), or not (the server's)
    lab.edit("server.toml", "user = \"nobody\"\n", "");
    for (host, end) in [('s', "server"), ('c', "client")] {
        own(lab.directory.join(format!("{end}.key")));
        let directory = std::path::Path::new("/run/quiclab-tunnel").join(lab.device(host));
        std::fs::create_dir_all(&directory).unwrap();
        own(directory);
        lab.start_by(host, &program);
    }
    until("session with two paths", || lab.is_open() && lab.paths_up() == 2);
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

/// Process IDs in a container are not those of its host; both see the same files.
#[test]
fn a_tunnel_in_another_pid_namespace_is_found() {
    let Some(mut lab) = Lab::new() else { return };
    let container = ["unshare", "--pid", "--fork", "--mount-proc"];
    lab.ip('c', "route add 10.99.0.0/16 via 10.1.1.1");
    let before = lab.ip('c', "route show");
    lab.start('s');
    lab.start_by('c', &container);
    until("a session", || lab.is_open());
    let journal = std::path::Path::new("/run/quiclab-tunnel").join(lab.device('c')).join("journal.json");
    let changes = std::fs::read_to_string(&journal).unwrap();
    let log = lab.log("client").len();
    lab.start('c');
    assert_eq!(lab.wait('c').code(), Some(3), "{}", lab.log("client"));
    assert!(lab.log("client")[log..].contains("runs already"), "{}", lab.log("client"));
    assert_eq!(std::fs::read_to_string(&journal).unwrap(), changes, "it is the other one's");
    // its control socket is missing: none of its changes are undone
    std::fs::remove_file(journal.with_file_name("control.sock")).unwrap();
    let (device, program) = (lab.device('c'), super::lab::PROGRAM);
    let (code, said) = lab.run('c', &[program, "down", "--interface", &device]);
    assert!(code == Some(1) && said.contains("runs already"), "{said}");
    assert!(!lab.ip('c', "route show").contains("10.99.0.0/16 via"), "what gave way is still away");
    lab.kill_child('c');
    assert!(!lab.wait('c').success());
    assert_eq!(lab.clean('c'), "reverted the changes of a killed tunnel: 1\n");
    assert_eq!(lab.ip('c', "route show"), before);
}
