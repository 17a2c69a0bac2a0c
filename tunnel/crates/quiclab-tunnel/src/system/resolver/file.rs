//! /etc/resolv.conf (resolver(5)): its text, replacement and restoration.

use quiclab_core::problem::system_reason;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::IpAddr;
use std::path::Path;

/// The file of the C library (resolver(5)).
pub(super) const FILE: &str = "/etc/resolv.conf";

/// Maximum length of a file of a resolver.
pub(super) const MAX_BYTES: u64 = 1 << 16;

/// Addresses at which systemd-resolved answers (systemd-resolved.service(8)).
pub(super) const STUBS: [&str; 2] = ["127.0.0.53", "127.0.0.54"];

/// Whether a resolv.conf(5) names the stub of systemd-resolved, as its own stub-resolv.conf does.
pub(super) fn names_stub(text: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("nameserver") && words.next().is_some_and(|server| STUBS.contains(&server))
    })
}

/// Whether a resolv.conf(5) names these servers, and no other.
pub(super) fn names_only(text: &str, servers: &[IpAddr]) -> bool {
    let named = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        words.next().filter(|word| *word == "nameserver").and_then(|_| words.next())
    });
    named.map(|server| server.parse().ok()).eq(servers.iter().map(|server| Some(*server)))
}

pub(super) fn open_file() -> io::Result<File> {
    let opened = OpenOptions::new().read(true).write(true).open(FILE);
    opened.map_err(|error| {
        io::Error::new(error.kind(), format!("{FILE} cannot be written: {}", system_reason(&error)))
    })
}

/// Text of resolv.conf(5).
pub(super) fn text(servers: &[IpAddr], search: &[String]) -> String {
    let mut out: String = servers.iter().map(|server| format!("nameserver {server}\n")).collect();
    if !search.is_empty() {
        out += &format!("search {}\n", search.join(" "));
    }
    out
}

/// Restores the earlier text of a file; returns whether it had the text `written` here.
pub(super) fn restore_file(path: &Path, before: &str, written: &str) -> io::Result<bool> {
    let mut file = match OpenOptions::new().read(true).write(true).open(path) {
        // it no longer exists, or the target of a link does not
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            tracing::warn!(file = FILE, "another program has removed it since; it stays as it is");
            return Ok(false);
        }
        opened => opened?,
    };
    let is_ours = contents(&mut file)? == written;
    undo_file(&mut file, before, written)?;
    Ok(is_ours)
}

pub(super) fn contents(file: &mut File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

pub(super) fn overwrite(file: &mut File, text: &str) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

pub(super) fn undo_file(file: &mut File, before: &str, written: &str) -> io::Result<()> {
    let found = contents(file)?;
    if found == written {
        overwrite(file, before)?;
    } else if found != before {
        tracing::warn!(file = FILE, "another program has changed it since; it stays as it is");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_text_of_another_program_stays() {
        let path = std::env::temp_dir().join(format!("quiclab-resolver-{}", std::process::id()));
        let options =
            || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        let mut file = options();
        let after = |file: &mut File, found: &str| {
            overwrite(file, found).unwrap();
            undo_file(file, "before, which is longer\n", "written\n").unwrap();
            contents(file).unwrap()
        };
        assert_eq!(after(&mut file, "written\n"), "before, which is longer\n");
        assert_eq!(after(&mut file, "of DHCP\n"), "of DHCP\n");
        assert_eq!(after(&mut file, "before, which is longer\n"), "before, which is longer\n");
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_that_is_gone_was_changed_by_another_program() {
        let directory = std::env::temp_dir().join(format!("quiclab-resolver-gone-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let (file, link) = (directory.join("resolv.conf"), directory.join("link"));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&file, &link] {
            assert!(!restore_file(path, "before\n", "written\n").unwrap());
            assert!(!file.exists());
        }
        fs::write(&file, "written\n").unwrap();
        assert!(restore_file(&link, "before\n", "written\n").unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap(), "before\n");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn other_name_servers_behind_those_of_the_tunnel_are_seen() {
        let servers: Vec<IpAddr> = ["10.77.0.1", "fd77::1"].map(|text| text.parse().unwrap()).to_vec();
        assert!(names_only(
            "# by a program\nnameserver 10.77.0.1\nnameserver fd77:0::1\nsearch a\n",
            &servers
        ));
        assert!(!names_only("nameserver 10.77.0.1\nnameserver fd77::1\nnameserver 192.0.2.1\n", &servers));
        assert!(!names_only("nameserver 10.77.0.1\n", &servers));
        assert!(!names_only("", &servers));
    }

    #[test]
    fn systemd_resolved_is_asked_where_its_stub_is_named() {
        assert!(names_stub("# by systemd\n nameserver 127.0.0.53\noptions edns0\n"));
        assert!(!names_stub("# nameserver 127.0.0.53\nnameserver 10.1.1.1\n"));
        assert!(!names_stub(""));
    }
}
