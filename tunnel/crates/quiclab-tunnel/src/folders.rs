//! Where the program keeps what lasts as long as a tunnel, and what lasts longer.

use std::path::{Path, PathBuf};

/// Journals and sockets, a directory for each device.
pub const RUN_DIRECTORY: &str = "/run/quiclab-tunnel";
/// What outlives a restart of the machine, a file for each device.
pub const STATE_DIRECTORY: &str = "/var/lib/quiclab-tunnel";

/// [`STATE_DIRECTORY`], or the directory that a service manager or a test names in the variable of the environment that is called so
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
