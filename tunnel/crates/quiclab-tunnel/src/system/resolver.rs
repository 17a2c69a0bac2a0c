//! Name servers of the machine, by the method that it supports: resolvconf(8), systemd-resolved, or
//! /etc/resolv.conf.
//!
//! | method | set | restored |
//! | --- | --- | --- |
//! | `resolvconf`, if it can make name servers exclusive, as openresolv can and that of Debian cannot | by that program (`-m 0 -x`, as in wg-quick(8)) | by that program, as root |
//! | systemd-resolved, if /etc/resolv.conf names its stub | by `resolvectl`, for the device and all names (`~.`) | removed with the device |
//! | /etc/resolv.conf | its text is replaced in place | by its descriptor, which remains usable without root's privileges |
//!
//! Changes to undo are written to a file next to the journal before they are made. The journal does not contain them,
//! because a program without root's privileges continues to write it, and root must not take the text of a system file from
//! it. A file whose text is not the one written here was changed by another program, and is left unchanged.

mod file;
mod programs;

use file::{FILE, contents, names_only, open_file, overwrite, restore_file, text, undo_file};
use programs::{asks_resolved, find, find_resolvconf, of_resolved, remove_entry, resolved_commands, run};

use rustix::fs::Mode;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Name of the file with the change to undo.
const RECORD: &str = "resolver.json";

/// A change to undo.
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

impl Resolver {
    /// Checks that this process may set name servers, as far as this is possible without a device. Makes no changes.
    ///
    /// # Errors
    /// If it may not.
    pub fn check_permission() -> io::Result<()> {
        if find_resolvconf().is_some() {
            return match rustix::process::geteuid().is_root() {
                true => Ok(()),
                false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "only root can use resolvconf")),
            };
        }
        // whether systemd-resolved permits this user to set them is known only from a request
        if find("resolvectl").is_some() && asks_resolved() { Ok(()) } else { open_file().map(drop) }
    }

    /// Makes `servers` the only ones that the machine queries, through `device`; `directory` is the
    /// journal's.
    ///
    /// # Errors
    /// If a file cannot be written, or a program fails.
    pub fn set(directory: &Path, device: &str, servers: &[IpAddr], search: &[String]) -> io::Result<Self> {
        let mut resolver = Self { change: None, file: None, record: directory.join(RECORD) };
        let set = find_resolvconf()
            .map_or(Ok(false), |program| resolver.set_by_resolvconf(&program, device, servers, search));
        if set? {
            tracing::info!(?servers, "name servers set by resolvconf");
        } else if let Some(program) = find("resolvectl").filter(|_| asks_resolved()) {
            for arguments in resolved_commands(device, servers, search) {
                let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
                run(&program, &arguments, "").map_err(of_resolved)?;
            }
            tracing::info!(?servers, "name servers set by systemd-resolved");
        } else {
            let file = resolver.file.insert(open_file()?);
            let (before, written) = (contents(file)?, text(servers, search));
            resolver.note(Change::File { before, written: written.clone() })?;
            resolver.file.as_mut().map_or(Ok(()), |file| overwrite(file, &written))?;
            tracing::info!(?servers, file = FILE, "name servers set");
        }
        Ok(resolver)
    }

    /// Sets `servers` by resolvconf; returns whether they are now the only ones, else restores the former
    /// state.
    fn set_by_resolvconf(
        &mut self,
        program: &Path,
        device: &str,
        servers: &[IpAddr],
        search: &[String],
    ) -> io::Result<bool> {
        let entry = format!("tun.{device}");
        self.note(Change::Resolvconf { entry: entry.clone() })?;
        run(program, &["-a", &entry, "-m", "0", "-x"], &text(servers, search))?;
        if names_only(&fs::read_to_string(FILE)?, servers) {
            return Ok(true);
        }
        remove_entry(&entry)?;
        self.change = None;
        fs::remove_file(&self.record)?;
        Ok(false)
    }

    fn note(&mut self, change: Change) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(Mode::RUSR.union(Mode::WUSR).bits());
        let mut file = options.custom_flags(libc::O_NOFOLLOW).open(&self.record)?;
        file.write_all(&serde_json::to_vec(&change)?)?;
        self.change = Some(change);
        Ok(())
    }

    /// Whether restoring requires a program.
    #[must_use]
    pub fn runs_a_program(&self) -> bool {
        matches!(self.change, Some(Change::Resolvconf { .. }))
    }

    /// Restores the former state, as far as this process may.
    pub fn restore(&mut self) {
        let done = match (self.change.take(), &mut self.file) {
            (Some(Change::File { before, written }), Some(file)) => undo_file(file, &before, &written),
            (Some(Change::Resolvconf { entry }), _) => remove_entry(&entry),
            _ => Ok(()),
        };
        match done {
            // if the program has become another user, `down` as root removes it; until then it is harmless
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

/// Undoes the changes that a former process has left in `directory`, which only root can write to; returns their
/// number.
///
/// # Errors
/// If the record cannot be read, or its change not be undone, with the file; the record stays.
pub fn recover(directory: &Path) -> Result<usize, (PathBuf, io::Error)> {
    let record = directory.join(RECORD);
    let of_record = |error| (record.clone(), error);
    let read = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(&record);
    let mut file = match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        read => read.map_err(of_record)?,
    };
    // a truncated record belongs to a change that was not made
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
