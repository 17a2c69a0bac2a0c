//! Name servers of the machine, in the way that it has: resolvconf(8), systemd-resolved, or /etc/resolv.conf.
//!
//! | way | set | restored |
//! | --- | --- | --- |
//! | `resolvconf` | by that program, exclusively (`-m 0 -x`, as wg-quick(8) does) | by that program, as root |
//! | systemd-resolved, if /etc/resolv.conf names its stub | by `resolvectl`, for the device and all names (`~.`) | it goes with the device |
//! | /etc/resolv.conf | its text is replaced in place | by its descriptor, which outlives root's privileges |
//!
//! What has to be undone is written into a file beside the journal before it is done. The journal does not hold it, because
//! a program without root's privileges goes on writing that, and root must not take the text of a system file from it.
//! A file that has another text than the one written here was changed by another program, and stays as it is.

use quiclab_core::problem::system_reason;
use rustix::fs::Mode;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file of the C library (resolver(5)).
const FILE: &str = "/etc/resolv.conf";
/// Longer files are not those of a resolver.
const MAX_BYTES: u64 = 1 << 16;
/// There while systemd-resolved runs (systemd-resolved.service(8)).
const RESOLVED: &str = "/run/systemd/resolve";
/// Where it answers (systemd-resolved.service(8)).
const STUBS: [&str; 2] = ["127.0.0.53", "127.0.0.54"];
/// Name of the file with what has to be undone.
const RECORD: &str = "resolver.json";

/// What has to be undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum Change {
    /// An entry of resolvconf.
    Resolvconf { entry: String },
    /// The text of /etc/resolv.conf.
    File { before: String, written: String },
}

/// Name servers that were set.
pub struct Resolver {
    change: Option<Change>,
    file: Option<File>,
    record: PathBuf,
}

/// Whether systemd-resolved runs, and the C library asks it.
fn asks_resolved() -> bool {
    Path::new(RESOLVED).exists() && fs::read_to_string(FILE).is_ok_and(|text| names_stub(&text))
}

/// Whether a resolv.conf(5) names the stub of systemd-resolved, as its own stub-resolv.conf does.
fn names_stub(text: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("nameserver") && words.next().is_some_and(|server| STUBS.contains(&server))
    })
}

/// A program of the search path.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}

fn run(program: &Path, arguments: &[&str], input: &str) -> io::Result<()> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // one that does not read it says why by its exit code
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

/// The text of resolv.conf(5).
fn text(servers: &[IpAddr], search: &[String]) -> String {
    let mut out: String = servers.iter().map(|server| format!("nameserver {server}\n")).collect();
    if !search.is_empty() {
        out += &format!("search {}\n", search.join(" "));
    }
    out
}

impl Resolver {
    /// Makes `servers` the only ones that the machine asks, by way of `device`; `directory` is that of the journal.
    ///
    /// # Errors
    /// If a file cannot be written, or a program fails.
    pub fn set(directory: &Path, device: &str, servers: &[IpAddr], search: &[String]) -> io::Result<Self> {
        let mut resolver = Self { change: None, file: None, record: directory.join(RECORD) };
        let resolvconf = find("resolvconf");
        // that of systemd is resolvectl by another name
        let resolvconf = resolvconf
            .filter(|program| fs::canonicalize(program).is_ok_and(|target| !target.ends_with("resolvectl")));
        if let Some(program) = resolvconf {
            let entry = format!("tun.{device}");
            resolver.note(Change::Resolvconf { entry: entry.clone() })?;
            run(&program, &["-a", &entry, "-m", "0", "-x"], &text(servers, search))?;
            tracing::info!(?servers, "name servers set by resolvconf");
        } else if let Some(program) = find("resolvectl").filter(|_| asks_resolved()) {
            for arguments in resolved_commands(device, servers, search) {
                run(&program, &arguments.iter().map(String::as_str).collect::<Vec<_>>(), "")?;
            }
            tracing::info!(?servers, "name servers set by systemd-resolved");
        } else {
            let opened = OpenOptions::new().read(true).write(true).open(FILE);
            let of_file = |error: io::Error| {
                io::Error::new(error.kind(), format!("{FILE} cannot be written: {}", system_reason(&error)))
            };
            let file = resolver.file.insert(opened.map_err(of_file)?);
            let (before, written) = (contents(file)?, text(servers, search));
            resolver.note(Change::File { before, written: written.clone() })?;
            resolver.file.as_mut().map_or(Ok(()), |file| overwrite(file, &written))?;
            tracing::info!(?servers, file = FILE, "name servers set");
        }
        Ok(resolver)
    }

    fn note(&mut self, change: Change) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(Mode::RUSR.union(Mode::WUSR).bits());
        let mut file = options.custom_flags(libc::O_NOFOLLOW).open(&self.record)?;
        file.write_all(&serde_json::to_vec(&change)?)?;
        self.change = Some(change);
        Ok(())
    }

    /// Whether restoring takes a program.
    #[must_use]
    pub fn runs_a_program(&self) -> bool {
        matches!(self.change, Some(Change::Resolvconf { .. }))
    }

    /// Restores what was there before, as far as this process may.
    pub fn restore(&mut self) {
        let done = match (self.change.take(), &mut self.file) {
            (Some(Change::File { before, written }), Some(file)) => undo_file(file, &before, &written),
            (Some(Change::Resolvconf { entry }), _) => remove_entry(&entry),
            _ => Ok(()),
        };
        match done {
            // of a program that has become another user, `down` as root removes it; it does no harm
            Ok(()) => drop(fs::remove_file(&self.record)),
            Err(error) => {
                tracing::warn!(%error, "name servers not restored; `quiclab-tunnel down` as root restores them");
            }
        }
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Undoes what a process that is no more has left in `directory`, which only root can write to; returns the number of
/// changes.
///
/// # Errors
/// If the record cannot be read, or what it says not be undone, with the file; the record stays.
pub fn recover(directory: &Path) -> Result<usize, (PathBuf, io::Error)> {
    let record = directory.join(RECORD);
    let of_record = |error| (record.clone(), error);
    let read = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(&record);
    let mut file = match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        read => read.map_err(of_record)?,
    };
    // a truncated record is of a change that was not made
    let change: Option<Change> = serde_json::from_str(&contents(&mut file).map_err(of_record)?).ok();
    let undone = match change {
        None => 0,
        Some(Change::Resolvconf { entry }) => {
            remove_entry(&entry).map_err(of_record)?;
            1
        }
        Some(Change::File { before, written }) => {
            let restored = restore_file(Path::new(FILE), &before, &written);
            usize::from(restored.map_err(|error| (FILE.into(), error))?)
        }
    };
    fs::remove_file(&record).map_err(of_record)?;
    Ok(undone)
}

/// Gives a file its earlier text; whether it had the one `written` here.
fn restore_file(path: &Path, before: &str, written: &str) -> io::Result<bool> {
    let mut file = match OpenOptions::new().read(true).write(true).open(path) {
        // it is gone, or the target of a link is
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

fn resolved_commands(device: &str, servers: &[IpAddr], search: &[String]) -> [Vec<String>; 3] {
    let of = |verb: &str, values: Vec<String>| [vec![verb.to_owned(), device.to_owned()], values].concat();
    let domains = search.iter().cloned().chain(["~.".to_owned()]).collect();
    [
        of("dns", servers.iter().map(ToString::to_string).collect()),
        of("domain", domains),
        of("default-route", vec!["true".to_owned()]),
    ]
}

fn remove_entry(entry: &str) -> io::Result<()> {
    let program = find("resolvconf").ok_or_else(|| {
        io::Error::other(format!(
            "the entry {entry} of resolvconf stays, as that program is not in PATH; if it was uninstalled, remove this file"
        ))
    })?;
    run(&program, &["-d", entry, "-f"], "")
}

fn contents(file: &mut File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

fn overwrite(file: &mut File, text: &str) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

fn undo_file(file: &mut File, before: &str, written: &str) -> io::Result<()> {
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
    fn systemd_resolved_is_asked_where_its_stub_is_named() {
        assert!(names_stub("# by systemd\n nameserver 127.0.0.53\noptions edns0\n"));
        assert!(!names_stub("# nameserver 127.0.0.53\nnameserver 10.1.1.1\n"));
        assert!(!names_stub(""));
    }
}
