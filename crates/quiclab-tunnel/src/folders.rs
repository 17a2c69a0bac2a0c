//! Where the program keeps what lasts as long as a tunnel, and what lasts longer.

use std::path::{Path, PathBuf};

/// Journals and sockets, a directory for each device.
pub const RUN_DIRECTORY: &str = "/run/quiclab-tunnel";
/// What outlives a restart of the machine, a file for each device.
pub const STATE_DIRECTORY: &str = "/var/lib/quiclab-tunnel";

/// The directory of a device's process.
#[must_use]
pub fn directory(interface: &str) -> PathBuf {
    Path::new(RUN_DIRECTORY).join(interface)
}
