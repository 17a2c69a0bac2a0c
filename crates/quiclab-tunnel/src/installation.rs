//! Random bytes of this installation, which outlive a restart: stateless resets of a server derive from them and from its key. Of the key
//! alone, a second server with the same key, such as a copy of the machine, would tell whoever sees a packet what resets its connection
//! (RFC 9000 section 21.11).

use crate::files;
use crate::folders::{RUN_DIRECTORY, state_directory};
use crate::privileges::trusted;
use quiclab_core::problem::system_reason;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Those of the tunnel of a device, which are drawn where there are none yet. Where [`state_directory`] cannot be written, as in a
/// container, they are beside the control sockets, until the machine is started again.
#[must_use]
pub fn secret(interface: &str) -> [u8; 32] {
    let mut reasons = Vec::new();
    for folder in [state_directory(), RUN_DIRECTORY.into()] {
        match kept(&folder, interface) {
            Ok(secret) => return secret,
            Err(error) => reasons.push(format!("{}: {}", folder.display(), system_reason(&error))),
        }
    }
    let reasons = reasons.join("; ");
    tracing::warn!(
        reasons,
        "clients will not notice a crash of this server before their `idle_timeout`, as nothing can be kept for it"
    );
    draw()
}

fn draw() -> [u8; 32] {
    let mut bytes = [0; 32];
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes)
        .expect("the system has random numbers");
    bytes
}

/// The bytes in `folder`, which only root and the user of this process can write to.
fn kept(folder: &Path, interface: &str) -> io::Result<[u8; 32]> {
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => trusted(folder)?,
    }
    let file = folder.join(format!("{interface}.secret"));
    match files::open_regular(&file) {
        Ok(mut open) => {
            let found = open.metadata()?;
            let own = [0, rustix::process::geteuid().as_raw()].contains(&found.uid());
            if !own || found.mode() & 0o077 != 0 {
                return Err(io::Error::other("the file is another user's"));
            }
            let bytes = files::read_open(&mut open, 32)?;
            bytes.try_into().map_err(|_| io::Error::other("the file has less than 32 bytes"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (secret, new) = (draw(), folder.join(format!(".{interface}.{}", std::process::id())));
            let written = write(&new, &secret).and_then(|()| fs::rename(&new, &file));
            if written.is_err() {
                let _ = fs::remove_file(&new);
            }
            written.map(|()| secret)
        }
        Err(error) => Err(error),
    }
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
        let first = kept(&folder, "qlt0").unwrap();
        assert_eq!(kept(&folder, "qlt0").unwrap(), first);
        assert_ne!(kept(&folder, "qlt1").unwrap(), first);
        let file = folder.join("qlt0.secret");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        // what another user may have read is not used
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(kept(&folder, "qlt0").is_err());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, b"short").unwrap();
        assert!(kept(&folder, "qlt0").is_err());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(kept(&folder, "qlt1").is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
