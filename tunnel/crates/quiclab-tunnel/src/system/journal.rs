//! Journal of the changes that must be undone and do not disappear with the device: written before each change,
//! read after a kill.
//!
//! One line of JSON for each change: a truncated last line belongs to a change that was not made yet, and a
//! line of another form, such as one of another version, is skipped. A repeated change, such as a route that
//! is added and removed with each session, has one line, so that the file does not grow while the process
//! runs. The process keeps a lock on the file (flock(2)) while it runs, which is visible to all processes
//! that see the file: a process ID would be one of its PID namespace, which others, such as the host of a
//! container, may not share. A process that undoes changes holds the lock meanwhile. File and directory are
//! owned by root; a program that has become another user writes by the descriptor that it has kept. A later
//! reader may be root, so the journal can contain only routes and the sysctls of forwarding; earlier name
//! servers have a file of their own (`resolver/`).

use super::netlink::Netlink;
use super::{forwarding, resolver};
use crate::privileges::trusted;
use netlink_packet_core::{Emitable, Parseable};
use netlink_packet_route::route::RouteMessage;
use quiclab_core::problem::system_reason;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Maximum length of a journal: a change takes some hundred bytes, and each of up to 256 announced routes is
/// one. A change that would exceed it is not made.
const MAX_BYTES: u64 = 16 << 20;

/// A journal that cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The tunnel is running.
    #[error("the tunnel `{interface}` runs already; `quiclab-tunnel down --interface {interface}` ends it")]
    Running {
        /// Its device.
        interface: String,
    },
    /// The directory cannot be created or written.
    #[error("{}: {}", .file.display(), system_reason(.error))]
    Io {
        /// The file.
        file: PathBuf,
        /// Reason.
        error: io::Error,
    },
}

impl JournalError {
    /// Replaces the name `from` of a directory by `to`.
    #[must_use]
    pub fn below(self, from: &Path, to: &Path) -> Self {
        match self {
            Self::Io { file, error } => {
                let file = file.strip_prefix(from).map_or_else(|_| file.clone(), |rest| to.join(rest));
                Self::Io { file, error }
            }
            running @ Self::Running { .. } => running,
        }
    }
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Change {
    /// A route that was removed, in the format of rtnetlink.
    RemovedRoute(Vec<u8>),
    AddedRoute(Vec<u8>),
    Sysctl {
        name: String,
        before: String,
    },
}

/// The open journal of a tunnel.
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Changes, each with the length of the file before it.
    changes: Vec<(u64, Change)>,
    /// Whether the last change was already recorded when it was made before.
    repeated: bool,
    length: u64,
}

impl Journal {
    /// Opens the journal in `directory`; changes left by an earlier process are undone first.
    ///
    /// # Errors
    /// If that process still runs, or the file cannot be written.
    pub fn open(directory: &Path, interface: &str) -> Result<(Self, usize), JournalError> {
        let path = directory.join("journal.json");
        let failed = |error| JournalError::Io { file: path.clone(), error };
        DirBuilder::new().recursive(true).mode(0o755).create(directory).map_err(failed)?;
        let undone = recover(directory, interface)?;
        let file = create(&path).map_err(failed)?;
        Ok((Self::of(path, file), undone))
    }

    fn of(path: PathBuf, file: File) -> Self {
        Self { path, file, changes: Vec::new(), repeated: false, length: 0 }
    }

    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec(line).map_err(io::Error::other)?;
        text.push(b'\n');
        let written = if self.length + text.len() as u64 > MAX_BYTES {
            Err(io::ErrorKind::FileTooLarge.into())
        } else {
            self.file.seek(SeekFrom::Start(self.length)).and_then(|_| self.file.write_all(&text))
        };
        // the caller names a field, which is not the cause
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {}", self.path.display(), system_reason(&error)))
        };
        written.map_err(named)?;
        self.length += text.len() as u64;
        Ok(())
    }

    fn note(&mut self, change: Change) -> io::Result<()> {
        self.repeated = self.changes.iter().any(|(_, earlier)| *earlier == change);
        if self.repeated {
            return Ok(());
        }
        let before = self.length;
        self.write(&change)?;
        self.changes.push((before, change));
        Ok(())
    }

    /// Removes the last change, which was not made. It stays if it was made before.
    ///
    /// # Errors
    /// If the file cannot be shortened.
    pub fn forget_last(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.repeated) {
            return Ok(());
        }
        let Some((before, _)) = self.changes.pop() else { return Ok(()) };
        self.length = before;
        self.file.set_len(before)
    }

    /// Records that `route` is about to be removed.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub fn note_removed_route(&mut self, route: &RouteMessage) -> io::Result<()> {
        self.note(Change::RemovedRoute(bytes(route)))
    }

    /// Records that `route` is about to be added.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub fn note_added_route(&mut self, route: &RouteMessage) -> io::Result<()> {
        self.note(Change::AddedRoute(bytes(route)))
    }

    /// Records that the sysctl `name` is about to be changed.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub fn note_sysctl(&mut self, name: &str, before: &str) -> io::Result<()> {
        self.note(Change::Sysctl { name: name.to_owned(), before: before.to_owned() })
    }

    /// Undoes everything.
    pub fn undo(&mut self, netlink: &mut Netlink) {
        let changes: Vec<_> =
            std::mem::take(&mut self.changes).into_iter().map(|(_, change)| change).collect();
        undo(&changes, netlink);
        // a program that has become another user cannot remove it; an empty journal does no harm
        let _ = self.file.set_len(0);
        let _ = fs::remove_file(&self.path);
        if let Some(directory) = self.path.parent() {
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Creates a file that must not exist yet, locked until it is closed, also by the end of the process.
fn create(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)?;
        // a process that checks has the lock for a moment, and may have removed the file as an abandoned one
        flock(&file, FlockOperation::LockExclusive)?;
        if is_at(path, &file)? {
            return Ok(file);
        }
    }
}

/// Whether an open file is still the one at `path`.
fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    let (open, found) = (file.metadata()?, fs::symlink_metadata(path));
    Ok(found.is_ok_and(|found| (found.dev(), found.ino()) == (open.dev(), open.ino())))
}

/// Whether a process keeps the lock of a journal.
fn is_locked(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

/// Whether the process that keeps the journal in `directory` still runs.
///
/// # Errors
/// If it does.
pub fn check_not_running(directory: &Path, interface: &str) -> Result<(), JournalError> {
    match open(&directory.join("journal.json")) {
        Ok(file) if is_locked(&file) => Err(JournalError::Running { interface: interface.to_owned() }),
        _ => Ok(()),
    }
}

fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// Undoes the changes left by a former process; returns their number.
///
/// # Errors
/// If the process still runs, a user other than root may write there, or a change cannot be undone: the first such
/// error, after all were tried.
pub fn recover(directory: &Path, interface: &str) -> Result<usize, JournalError> {
    let path = directory.join("journal.json");
    let failed = |error| JournalError::Io { file: path.clone(), error };
    if !directory.exists() {
        return Ok(0);
    }
    trusted(directory).map_err(failed)?;
    let file = match open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return recover_resolver(directory),
        Err(error) => return Err(failed(error)),
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) if is_at(&path, &file).map_err(failed)? => {}
        // another process has undone it, and may run already
        Ok(()) => return recover(directory, interface),
        Err(Errno::WOULDBLOCK) => return Err(JournalError::Running { interface: interface.to_owned() }),
        Err(error) => return Err(failed(error.into())),
    }
    // a longer file, which no process of this version has written, is undone as far as it is read
    let mut text = Vec::new();
    (&file).take(MAX_BYTES).read_to_end(&mut text).map_err(failed)?;
    let changes = read(&String::from_utf8_lossy(&text));
    let netlink = if changes.is_empty() { Ok(None) } else { Netlink::new().map(Some) };
    let undone = netlink.and_then(|netlink| {
        if let Some(mut netlink) = netlink {
            undo(&changes, &mut netlink);
        }
        fs::remove_file(&path)
    });
    let resolvers = recover_resolver(directory);
    undone.map_err(failed)?;
    Ok(changes.len() + resolvers?)
}

fn recover_resolver(directory: &Path) -> Result<usize, JournalError> {
    resolver::recover(directory).map_err(|(file, error)| JournalError::Io { file, error })
}

/// The changes in a journal, up to the first incomplete line.
fn read(text: &str) -> Vec<Change> {
    let lines = text.lines().map_while(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    lines.filter_map(|line| serde_json::from_value(line).ok()).collect()
}

/// Undoes changes, each of which may have been made several times: first removes all additions, the last one
/// first, so that they do not prevent the restoration of others.
fn undo(changes: &[Change], netlink: &mut Netlink) {
    let is_added = |change: &&Change| matches!(change, Change::AddedRoute(_));
    let (added, others): (Vec<_>, Vec<_>) = changes.iter().rev().partition(is_added);
    for change in added.into_iter().chain(others) {
        let done = match change {
            Change::RemovedRoute(bytes) => route(bytes).and_then(|route| netlink.add(&route).map(drop)),
            Change::AddedRoute(bytes) => {
                match route(bytes).and_then(|route| netlink.remove(&route)) {
                    // it was removed already: the server assigned an address of its family later
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
                    done => done,
                }
            }
            // it was recorded, and could not be changed
            Change::Sysctl { name, before }
                if forwarding::is_restorable(name, before)
                    && forwarding::read(name).is_ok_and(|value| value.as_ref() == Some(before)) =>
            {
                Ok(())
            }
            Change::Sysctl { name, before } if forwarding::is_restorable(name, before) => {
                match forwarding::write(name, before) {
                    // of an interface that no longer exists
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    done => done,
                }
            }
            Change::Sysctl { .. } => Ok(()),
        };
        if let Err(error) = done {
            tracing::warn!(?change, %error, "a change could not be undone");
        }
    }
}

fn bytes(route: &RouteMessage) -> Vec<u8> {
    let mut bytes = vec![0; route.buffer_len()];
    route.emit(&mut bytes);
    bytes
}

fn route(bytes: &[u8]) -> io::Result<RouteMessage> {
    if bytes.len() < 12 {
        return Err(io::Error::other("a route in the journal is truncated"));
    }
    RouteMessage::parse(bytes).map_err(|error| io::Error::other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sysctl(name: &str) -> Change {
        Change::Sysctl { name: name.to_owned(), before: "0".to_owned() }
    }

    #[test]
    fn a_line_that_is_cut_short_is_a_change_that_was_not_made() {
        let directory = std::env::temp_dir().join(format!("quiclab-journal-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let path = directory.join("journal.json");
        let mut journal = Journal::of(path.clone(), create(&path).unwrap());
        assert_eq!(create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists, "never somebody else's");
        for name in ["first", "second", "third"] {
            journal.note(sysctl(name)).unwrap();
        }
        journal.forget_last().unwrap();
        journal.note(sysctl("fourth")).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let names = |text: &str| -> Vec<String> {
            let name = |change| if let Change::Sysctl { name, .. } = change { name } else { panic!() };
            read(text).into_iter().map(name).collect()
        };
        assert_eq!(names(&text), ["first", "second", "fourth"]);
        assert_eq!(names(&text[..text.len() - 5]), ["first", "second"]);
        // a link in place of the file is neither followed nor replaced
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(directory.join("target"), &path).unwrap();
        assert!(create(&path).is_err());
        assert!(!directory.join("target").exists());
        fs::remove_dir_all(&directory).unwrap();
    }

    /// Routes of a family without an address are added and removed with each session.
    #[test]
    fn a_journal_does_not_grow_with_what_is_changed_again() {
        let directory = std::env::temp_dir().join(format!("quiclab-again-{}", std::process::id()));
        let (mut journal, _) = Journal::open(&directory, "qlt9").unwrap();
        for name in ["first", "second", "first", "second"] {
            journal.note(sysctl(name)).unwrap();
        }
        let length = fs::metadata(&journal.path).unwrap().len();
        // a change that was made before must be undone, even if it is not made again
        journal.forget_last().unwrap();
        assert_eq!((journal.changes.len(), fs::metadata(&journal.path).unwrap().len()), (2, length));
        journal.note(sysctl("third")).unwrap();
        journal.forget_last().unwrap();
        assert_eq!((journal.changes.len(), fs::metadata(&journal.path).unwrap().len()), (2, length));
        // nor beyond the length that is read
        journal.length = MAX_BYTES - 1;
        assert_eq!(journal.note(sysctl("third")).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(journal.changes.len(), 2);
        drop(journal);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_journal_that_is_too_long_is_undone_as_far_as_it_is_read() {
        let directory = std::env::temp_dir().join(format!("quiclab-long-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let line = serde_json::to_string(&sysctl("none")).unwrap() + "\n";
        let fitting = MAX_BYTES as usize / line.len();
        fs::write(directory.join("journal.json"), line.repeat(fitting + 100)).unwrap();
        assert_eq!(recover(&directory, "qlt9").unwrap(), fitting);
        assert!(!directory.join("journal.json").exists());
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_journal_is_in_use_as_long_as_its_file_is_open() {
        let directory = std::env::temp_dir().join(format!("quiclab-lock-{}", std::process::id()));
        let (journal, undone) = Journal::open(&directory, "qlt9").unwrap();
        assert_eq!(undone, 0);
        let running = |done: Result<(), JournalError>| matches!(done, Err(JournalError::Running { .. }));
        for _ in 0..2 {
            assert!(running(check_not_running(&directory, "qlt9")));
            assert!(running(recover(&directory, "qlt9").map(drop)));
            assert!(running(Journal::open(&directory, "qlt9").map(drop)));
        }
        // a process that is killed closes it, and leaves the file
        drop(journal);
        // a process that another test starts may hold a copy until it becomes its program
        let start = std::time::Instant::now();
        while running(check_not_running(&directory, "qlt9")) {
            assert!(start.elapsed() < std::time::Duration::from_secs(10));
            std::thread::yield_now();
        }
        assert!(directory.join("journal.json").exists());
        assert_eq!(recover(&directory, "qlt9").unwrap(), 0);
        fs::remove_dir_all(&directory).unwrap();
    }
}
