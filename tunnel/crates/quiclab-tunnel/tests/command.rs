//! Exit codes of the program: 2 for invalid input and 3 for an unsuitable machine, which another start does not change; 1
//! for other failures.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiclab-tunnel"));
    command.current_dir(env!("CARGO_TARGET_TMPDIR")).args(arguments).output().expect("the program starts")
}

fn assert_fails(arguments: &[&str], code: i32, sentence: &str) {
    let output = run(arguments);
    let shown = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {shown}");
    assert!(shown.starts_with(sentence), "{arguments:?}: {shown}");
}

#[test]
fn wrong_input_has_an_exit_code_of_its_own() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let _ = std::fs::remove_file(folder.join("command.key"));
    assert!(run(&["keygen", "command.key"]).status.success());
    assert_fails(
        &["keygen", "command.key"],
        2,
        "quiclab-tunnel: command.key exists; keys are not overwritten",
    );
    assert_fails(
        &["reload", "--interface", "../x"],
        2,
        "error: invalid value '../x' for '--interface <INTERFACE>'",
    );
    assert_fails(
        &["keygen", "absent/key"],
        2,
        "quiclab-tunnel: cannot write absent/key: No such file or dir",
    );
    assert_fails(
        &["up", "--check", "absent.toml"],
        2,
        "error: cannot read absent.toml: No such file or directory\n",
    );
    std::fs::write(folder.join("command.toml"), "version = 2\n").expect("the file is written");
    assert_fails(&["up", "--check", "command.toml"], 2, "error: version: expected 1, got 2\n");
    std::fs::write(folder.join("command.toml"), b"version = \xff").expect("the file is written");
    assert_fails(
        &["up", "--check", "command.toml"],
        2,
        "error: cannot read command.toml: not text in UTF-8\n",
    );
    assert_fails(&["up"], 2, "error: ");
    // the file may be right for another machine
    let client = format!(
        "version = 1\nkey_file = \"command.key\"\nuser = \"quiclab-absent\"\n[client]\nserver_key = \"{}\"\n[[client.paths]]\nname = \"dsl\"\nserver = \"192.0.2.1:4433\"\n",
        "07".repeat(32)
    );
    std::fs::write(folder.join("command.toml"), client).expect("the file is written");
    let user = "quiclab-tunnel: user: expected a user of this system, got";
    assert_fails(&["up", "--log", "text", "command.toml"], 3, user);
    // one line of JSON for readers of the log
    let said = run(&["up", "--log", "json", "command.toml"]).stderr;
    let line: serde_json::Value = serde_json::from_slice(&said).expect("one line of JSON");
    assert!(line["message"].as_str().is_some_and(|message| message.starts_with(user)), "{line}");
    assert_fails(
        &["status", "--socket", "absent.sock"],
        1,
        "quiclab-tunnel: no tunnel answers at absent.sock\n",
    );
}

/// Started as by the unit: with another device name, neither reload nor cleanup after a kill would find the tunnel.
#[test]
fn the_unit_refuses_a_file_that_is_not_named_like_its_device() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let _ = std::fs::remove_file(folder.join("unit.key"));
    assert!(run(&["keygen", "unit.key"]).status.success());
    let server = format!(
        "version = 1\nkey_file = \"unit.key\"\n[server]\nlisten = [\"0.0.0.0:4433\"]\npool_ipv4 = \"10.77.0.0/24\"\n[[server.peers]]\nname = \"home\"\npublic_key = \"{}\"\n",
        "07".repeat(32)
    );
    std::fs::write(folder.join("home.toml"), server).expect("the file is written");
    let unit = include_str!("../../../packaging/systemd/quiclab-tunnel@.service");
    assert!(unit.contains(" up --log json --interface %i /etc/quiclab-tunnel/%i.toml\n"), "{unit}");
    assert!(run(&["up", "--check", "--interface", "qlt0", "home.toml"]).status.success());
    let sentence = "quiclab-tunnel: home.toml: interface: expected \"home\"";
    assert_fails(&["up", "--interface", "home", "home.toml"], 2, sentence);
}

/// The unit is skipped if a condition is false, and the machine stays unprotected: file systems that it needs must be
/// mounted first.
#[test]
fn the_unit_that_closes_waits_for_the_file_systems_of_its_files() {
    let unit = include_str!("../../../packaging/systemd/quiclab-closed@.service");
    let values = |name: &str| -> Vec<&str> {
        let lines = unit.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        lines.flat_map(str::split_whitespace).collect()
    };
    let mounted = values("RequiresMountsFor");
    let needed = ["ConditionFileIsExecutable", "ConditionPathExists"].map(values).concat();
    assert_eq!(needed.len(), 2);
    assert!(needed.iter().all(|file| mounted.contains(file)), "{needed:?} {mounted:?}");
}

/// Root can check the file of a unit whose user owns the key.
#[test]
fn root_looks_at_keys_of_other_users_and_does_not_start_with_them() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let _ = std::fs::remove_file(folder.join("owner.key"));
    let public = run(&["keygen", "owner.key"]).stdout;
    std::os::unix::fs::chown(folder.join("owner.key"), Some(65534), Some(65534)).expect("root may");
    let other = "07".repeat(32);
    let config = |user: &str| {
        let text = format!(
            "version = 1\nkey_file = \"owner.key\"\n{user}interface = \"nobody-has-it\"\n[client]\nserver_key = \"{other}\"\n[[client.paths]]\nname = \"dsl\"\nserver = \"192.0.2.1:4433\"\n"
        );
        std::fs::write(folder.join("owner.toml"), text).expect("the file is written");
    };
    config("");
    assert!(run(&["up", "--check", "owner.toml"]).status.success());
    assert_eq!(run(&["pubkey", "owner.key"]).stdout, public);
    let output = run(&["up", "owner.toml"]);
    let shown = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{shown}");
    assert!(shown.contains("belongs to the user `nobody`, not to root"), "{shown}");
    assert!(shown.contains("set `user = \"nobody\"`"), "{shown}");
}

#[test]
fn the_public_key_of_a_file_is_the_one_that_keygen_printed() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let _ = std::fs::remove_file(folder.join("public.key"));
    let made = run(&["keygen", "public.key"]);
    let read = run(&["pubkey", "public.key"]);
    assert!(read.status.success() && made.stdout == read.stdout && read.stdout.len() == 65);
    let sentence = "quiclab-tunnel: absent.key: No such file or directory; create it with `quiclab-tunnel keygen absent.key`\n";
    assert_fails(&["pubkey", "absent.key"], 2, sentence);
    std::fs::write(folder.join("no.key"), "hello").expect("the file is written");
    std::fs::set_permissions(folder.join("no.key"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("the mode is set");
    assert_fails(&["pubkey", "no.key"], 2, "quiclab-tunnel: no.key: not a PEM file with an Ed25519");
    let sentence =
        "error: invalid value '0' for '--interval <INTERVAL>': expected a number of seconds from 0.1 to 3600";
    assert_fails(&["top", "--interval", "0"], 2, sentence);
}

#[test]
fn manual_pages_and_completions_name_every_command() {
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    let commands =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<_> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.contains(&"top") && commands.contains(&"up") && help.contains("Exit codes: "), "{help}");
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
    std::fs::create_dir_all(&folder).unwrap();
    assert!(run(&["man", folder.to_str().unwrap()]).status.success());
    let page = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.8"))).unwrap();
    let whole = page("quiclab-tunnel");
    for command in commands.iter().filter(|command| **command != "help") {
        assert!(whole.contains(&format!("quiclab\\-tunnel\\-{command}(8)")), "{command}: {whole}");
        let page = page(&format!("quiclab-tunnel-{command}"));
        assert!(
            page.contains(".SH SYNOPSIS") && page.contains(&format!("\\fBquiclab\\-tunnel {command}\\fR")),
            "{page}"
        );
    }
    assert!(page("quiclab-tunnel-top").contains("\\-\\-interval"));
    for shell in ["bash", "zsh", "fish"] {
        let text = String::from_utf8(run(&["completions", shell]).stdout).unwrap();
        assert!(commands.iter().all(|command| text.contains(command)), "{shell}");
    }
    assert_fails(&["man", "absent"], 1, "quiclab-tunnel: cannot write absent/quiclab-tunnel.8: No such file");
}

/// The service manager's exposure score of a unit: 0 is best, 10 worst.
#[test]
fn the_unit_has_an_exposure_below_two() {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/systemd/quiclab-tunnel@.service");
    let arguments = ["security", "--offline=true", "--no-pager", "--threshold=19", unit];
    match Command::new("systemd-analyze").args(arguments).output() {
        Ok(output) => {
            let shown = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{}", shown.lines().last().unwrap_or_default());
        }
        Err(_) => eprintln!("skipped: no systemd-analyze"),
    }
}
