//! Directories of the program: for the lifetime of a tunnel, and for longer.

use std::path::{Path, PathBuf};

/// Directory of journals and sockets, with a directory for each device.
pub const RUN_DIRECTORY: &str = "/run/quiclab-tunnel";
/// Directory of the state that persists across restarts of the machine, with a file for each device.
pub const STATE_DIRECTORY: &str = "/var/lib/quiclab-tunnel";

/// [`STATE_DIRECTORY`], or the directory that a service manager or a test sets in the environment variable of this name
/// (systemd.exec(5)).
#[must_use]
pub fn state_directory() -> PathBuf {
    let named = std::env::var_os("STATE_DIRECTORY").map(PathBuf::from);
    named.filter(|named| named.is_absolute()).unwrap_or_else(|| STATE_DIRECTORY.into())
}

/// The directory of a device's process.
#[must_use]
pub fn directory(interface: &str) -> PathBuf {
    Path::new(RUN_DIRECTORY).join(interface)
}
