//! What has to be undone and does not go with the device, in a file: written before each change, read after a kill.
//!
//! The file belongs to the user that the program becomes. Who reads it later may be root, so that it can hold nothing but
//! routes and the two sysctls of forwarding.

use super::FORWARDING;
use super::netlink::Netlink;
use netlink_packet_core::{Emitable, Parseable};
use netlink_packet_route::route::RouteMessage;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A journal that cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The tunnel runs.
    #[error(
        "the tunnel `{interface}` runs already (process {pid}); `quiclab-tunnel down --interface {interface}` ends it"
    )]
    Running {
        /// Its device.
        interface: String,
        /// Its process.
        pid: i32,
    },
    /// The directory cannot be made or written.
    #[error("{}: {error}", .file.display())]
    Io {
        /// Which file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    pid: i32,
    /// Start of that process in ticks after boot: another process may have its number later.
    started: u64,
    changes: Vec<Change>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Change {
    /// A route that was removed, as rtnetlink has it.
    RemovedRoute(Vec<u8>),
    AddedRoute(Vec<u8>),
    Sysctl {
        name: String,
        before: String,
    },
}

/// The open journal of a tunnel.
pub struct Journal {
    file: PathBuf,
    record: Record,
}

impl Journal {
    /// Opens the journal in `directory`; what an earlier process has left undone is undone first.
    ///
    /// # Errors
    /// If that process still runs, or the file cannot be written.
    pub fn open(directory: &Path, interface: &str) -> Result<(Self, usize), JournalError> {
        let file = directory.join("journal.json");
        let failed = |error| JournalError::Io { file: file.clone(), error };
        fs::create_dir_all(directory).map_err(failed)?;
        let undone = recover(directory, interface)?;
        let pid = rustix::process::getpid().as_raw_pid();
        let record = Record { pid, started: started(pid).unwrap_or(0), changes: Vec::new() };
        let journal = Self { file: file.clone(), record };
        journal.write().map_err(failed)?;
        Ok((journal, undone))
    }

    fn write(&self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.record).map_err(io::Error::other)?;
        // a file is whole, or the one before: never half written
        let new = self.file.with_extension("new");
        fs::write(&new, text)?;
        fs::rename(&new, &self.file)
    }

    fn note(&mut self, change: Change) -> io::Result<()> {
        self.record.changes.push(change);
        self.write()
    }

    /// `route` is about to be removed.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub fn note_removed_route(&mut self, route: &RouteMessage) -> io::Result<()> {
        self.note(Change::RemovedRoute(bytes(route)))
    }

    /// `route` is about to be added.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub fn note_added_route(&mut self, route: &RouteMessage) -> io::Result<()> {
        self.note(Change::AddedRoute(bytes(route)))
    }

    /// The sysctl `name` is about to be changed.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub fn note_sysctl(&mut self, name: &str, before: &str) -> io::Result<()> {
        self.note(Change::Sysctl { name: name.to_owned(), before: before.to_owned() })
    }

    /// Undoes everything, the last change first.
    pub fn undo(&mut self, netlink: &mut Netlink) {
        undo(&std::mem::take(&mut self.record.changes), netlink);
        // a program that has become another user cannot remove the directory; an empty journal does no harm
        if fs::remove_file(&self.file).is_err() {
            let _ = self.write();
        }
        if let Some(directory) = self.file.parent() {
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Undoes what a process that is no more has left; gives the number of changes.
///
/// # Errors
/// If the process still runs.
pub fn recover(directory: &Path, interface: &str) -> Result<usize, JournalError> {
    let file = directory.join("journal.json");
    let Some(record) = fs::read(&file).ok().and_then(|text| serde_json::from_slice::<Record>(&text).ok())
    else {
        return Ok(0);
    };
    if started(record.pid).is_some_and(|started| started == record.started) {
        return Err(JournalError::Running { interface: interface.to_owned(), pid: record.pid });
    }
    let failed = |error| JournalError::Io { file: file.clone(), error };
    undo(&record.changes, &mut Netlink::new().map_err(failed)?);
    fs::remove_file(&file).map_err(failed)?;
    Ok(record.changes.len())
}

fn undo(changes: &[Change], netlink: &mut Netlink) {
    for change in changes.iter().rev() {
        let done = match change {
            Change::RemovedRoute(bytes) => route(bytes).and_then(|route| netlink.add(&route)),
            Change::AddedRoute(bytes) => route(bytes).and_then(|route| netlink.remove(&route)),
            Change::Sysctl { name, before } if FORWARDING.contains(&name.as_str()) => {
                fs::write(Path::new("/proc/sys").join(name), before)
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
        return Err(io::Error::other("the journal has a route that is cut short"));
    }
    RouteMessage::parse(bytes).map_err(|error| io::Error::other(error.to_string()))
}

/// When a process was started, in ticks after boot (proc_pid_stat(5), field 22); `None` if there is none.
fn started(pid: i32) -> Option<u64> {
    Pid::from_raw(pid)?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the name, field 2, is in parentheses and may have blanks
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}
