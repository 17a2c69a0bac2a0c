//! Programs that set name servers: resolvconf(8), and resolvectl(1) of systemd-resolved.

use super::file::{FILE, names_stub};
use std::fs;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Directory that exists while systemd-resolved runs (systemd-resolved.service(8)).
const RESOLVED: &str = "/run/systemd/resolve";

/// Whether systemd-resolved runs, and the C library queries it.
pub(super) fn asks_resolved() -> bool {
    Path::new(RESOLVED).exists() && fs::read_to_string(FILE).is_ok_and(|text| names_stub(&text))
}

/// A program of the search path.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// Finds resolvconf; that of systemd is resolvectl by another name.
pub(super) fn find_resolvconf() -> Option<PathBuf> {
    find("resolvconf")
        .filter(|program| fs::canonicalize(program).is_ok_and(|target| !target.ends_with("resolvectl")))
}

/// Converts the error of systemd-resolved for a user without permission by polkit, which is permanent.
pub(super) fn of_resolved(error: io::Error) -> io::Error {
    let said = error.to_string();
    let denied = ["authentication required", "Access denied", "Permission denied"];
    if denied.iter().any(|words| said.contains(words)) {
        return io::Error::new(io::ErrorKind::PermissionDenied, said);
    }
    error
}

pub(super) fn run(program: &Path, arguments: &[&str], input: &str) -> io::Result<()> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // a program that does not read it reports the reason by its exit code
        let _ = stdin.write_all(input.as_bytes());
    }
    let done = child.wait_with_output()?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let said = said.lines().next().unwrap_or_default();
    Err(io::Error::other(format!("{} {}: {}, {said}", program.display(), arguments.join(" "), done.status)))
}

pub(super) fn resolved_commands(device: &str, servers: &[IpAddr], search: &[String]) -> [Vec<String>; 3] {
    let of = |verb: &str, values: Vec<String>| [vec![verb.to_owned(), device.to_owned()], values].concat();
    let domains = search.iter().cloned().chain(["~.".to_owned()]).collect();
    [
        of("dns", servers.iter().map(ToString::to_string).collect()),
        of("domain", domains),
        of("default-route", vec!["true".to_owned()]),
    ]
}

pub(super) fn remove_entry(entry: &str) -> io::Result<()> {
    let program = find("resolvconf").ok_or_else(|| {
        io::Error::other(format!(
            "the entry {entry} of resolvconf stays, as that program is not in PATH; if it was uninstalled, remove this file"
        ))
    })?;
    run(&program, &["-d", entry, "-f"], "")
}

#[cfg(test)]
mod tests {
    use super::super::file::text;
    use super::*;

    #[test]
    fn name_servers_and_search_domains_are_written_as_each_way_takes_them() {
        let servers: Vec<IpAddr> = ["10.77.0.1", "fd77::1"].map(|text| text.parse().unwrap()).to_vec();
        let search = ["a.test", "b.test"].map(str::to_owned);
        assert_eq!(
            text(&servers, &search),
            "nameserver 10.77.0.1\nnameserver fd77::1\nsearch a.test b.test\n"
        );
        assert_eq!(text(&servers[..1], &[]), "nameserver 10.77.0.1\n");
        let commands = resolved_commands("qlt0", &servers, &search).map(|command| command.join(" "));
        assert_eq!(
            commands,
            ["dns qlt0 10.77.0.1 fd77::1", "domain qlt0 a.test b.test ~.", "default-route qlt0 true"]
        );
    }

    #[test]
    fn a_refusal_of_polkit_lasts_and_another_failure_does_not() {
        let kind = |said: &str| {
            let error = format!("/usr/bin/resolvectl dns qlt0 10.77.0.1: exit status: 1, {said}");
            of_resolved(io::Error::other(error)).kind()
        };
        let refused = "Failed to set DNS configuration: Interactive authentication required.";
        assert_eq!(kind(refused), io::ErrorKind::PermissionDenied);
        assert_eq!(kind("Failed to set DNS configuration: Link qlt0 not known"), io::ErrorKind::Other);
    }
}
