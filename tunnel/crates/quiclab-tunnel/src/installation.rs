//! Random bytes of this installation, which persist across restarts: stateless resets of a server are derived
//! from them and from its key. With the key alone, a second server with the same key, such as a copy of the
//! machine, would reveal to an observer of a packet the token that resets its connection (RFC 9000 section
//! 21.11).

use crate::files;
use crate::folders::{RUN_DIRECTORY, state_directory};
use crate::privileges::trusted;
use quiclab_core::problem::system_reason;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Reason for which a directory has none.
enum Unusable {
    /// The file does not exist, and cannot be written.
    NotWritable(io::Error),
    /// The file cannot be used, or another error.
    Found(io::Error),
}

/// Returns the bytes for the tunnel of a device, which are drawn if there are none yet. If [`state_directory`] cannot be written,
/// as in a container, they are next to the control sockets, until the machine is restarted.
#[must_use]
pub fn secret(interface: &str) -> [u8; 32] {
    let (secret, reasons) = find(&[state_directory(), RUN_DIRECTORY.into()], interface);
    let reasons = reasons.join("; ");
    match &secret {
        Some(_) if reasons.is_empty() => {}
        Some(_) => tracing::warn!(
            reasons,
            "clients will not notice a restart of this machine before their `idle_timeout`, as what is kept for that cannot be used"
        ),
        None => tracing::warn!(
            reasons,
            "clients will not notice a crash of this server before their `idle_timeout`, as nothing can be kept for it"
        ),
    }
    secret.unwrap_or_else(draw)
}

/// Returns the bytes in the first directory that has them or can store them, and notes for the operator on
/// earlier ones: that one cannot be written is noted only if there is no other.
fn find(folders: &[PathBuf], interface: &str) -> (Option<[u8; 32]>, Vec<String>) {
    let (mut known, mut reasons) = (Vec::new(), Vec::new());
    for folder in folders {
        let (error, is_usual) = match kept(folder, interface) {
            Ok(secret) => return (Some(secret), known),
            Err(Unusable::NotWritable(error)) => (error, true),
            Err(Unusable::Found(error)) => (error, false),
        };
        let reason = format!("{}: {}", folder.display(), system_reason(&error));
        known.extend((!is_usual).then(|| reason.clone()));
        reasons.push(reason);
    }
    (None, reasons)
}

fn draw() -> [u8; 32] {
    let mut bytes = [0; 32];
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes)
        .expect("the system has random numbers");
    bytes
}

/// Returns the bytes in `folder`, which only root and the user of this process can write to.
fn kept(folder: &Path, interface: &str) -> Result<[u8; 32], Unusable> {
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(of_writing(error)),
        _ => trusted(folder).map_err(Unusable::Found)?,
    }
    let file = folder.join(format!("{interface}.secret"));
    match files::open_regular(&file) {
        Ok(open) => read(open).map_err(Unusable::Found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (secret, new) = (draw(), folder.join(format!(".{interface}.{}", std::process::id())));
            // left by a crashed process with the same number, which the first process of each container has
            let _ = fs::remove_file(&new);
            let written = write(&new, &secret).and_then(|()| fs::rename(&new, &file));
            if written.is_err() {
                let _ = fs::remove_file(&new);
            }
            written.map(|()| secret).map_err(of_writing)
        }
        Err(error) => Err(Unusable::Found(error)),
    }
}

fn of_writing(error: io::Error) -> Unusable {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    let is_usual = [NotFound, PermissionDenied, ReadOnlyFilesystem].contains(&error.kind());
    if is_usual { Unusable::NotWritable(error) } else { Unusable::Found(error) }
}

fn read(mut open: File) -> io::Result<[u8; 32]> {
    let found = open.metadata()?;
    let own = [0, rustix::process::geteuid().as_raw()].contains(&found.uid());
    if !own || found.mode() & 0o077 != 0 {
        return Err(io::Error::other("the file is another user's"));
    }
    let bytes = files::read_open(&mut open, 32)?;
    bytes.try_into().map_err(|_| io::Error::other("the file has less than 32 bytes"))
}

fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut open = File::options().write(true).create_new(true).mode(0o600).open(file)?;
    open.write_all(bytes)?;
    open.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn each_device_of_each_machine_has_bytes_of_its_own_that_stay() {
        let folder = std::env::temp_dir().join(format!("quiclab-installation-{}", std::process::id()));
        let kept = |folder: &Path, interface| kept(folder, interface).ok();
        let first = kept(&folder, "qlt0").unwrap();
        assert_eq!(kept(&folder, "qlt0").unwrap(), first);
        assert_ne!(kept(&folder, "qlt1").unwrap(), first);
        let file = folder.join("qlt0.secret");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        // bytes that another user may have read are not used
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(kept(&folder, "qlt0").is_none());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, b"short").unwrap();
        assert!(kept(&folder, "qlt0").is_none());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(kept(&folder, "qlt1").is_none());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_a_crash_has_left_is_removed() {
        let folder = std::env::temp_dir().join(format!("quiclab-leftover-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let new = folder.join(format!(".qlt0.{}", std::process::id()));
        fs::write(&new, b"half").unwrap();
        assert!(kept(&folder, "qlt0").is_ok());
        assert!(!new.exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_used_is_told_and_a_folder_that_cannot_be_written_is_not() {
        let folder = std::env::temp_dir().join(format!("quiclab-fallback-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let [state, run] = ["state", "run"].map(|name| folder.join(name));
        let both = [state.clone(), run.clone()];
        let absent = folder.join("absent").join("state");
        let (first, reasons) = find(&[absent.clone(), run], "qlt0");
        assert!(first.is_some() && reasons.is_empty(), "{reasons:?}");
        fs::create_dir(&state).unwrap();
        fs::write(state.join("qlt0.secret"), b"short").unwrap();
        let (second, reasons) = find(&both, "qlt0");
        assert_eq!((second, reasons.len()), (first, 1), "{reasons:?}");
        // no directory can store them
        let (none, reasons) = find(&[absent], "qlt0");
        assert_eq!((none, reasons.len()), (None, 1), "{reasons:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
