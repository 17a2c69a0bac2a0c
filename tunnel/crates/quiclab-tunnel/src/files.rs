//! Files that others may have written: read without blocking, whatever they are, and up to a maximum length.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file: a FIFO would block, and a device has no end.
///
/// # Errors
/// If it cannot be read, or is not a regular file.
pub fn open_regular(file: &Path) -> io::Result<File> {
    let open = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(file)?;
    match open.metadata()? {
        found if found.is_file() => Ok(open),
        found if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::other("not a regular file")),
    }
}

/// Reads all bytes of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open_regular`], and if the file is longer.
pub fn read(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_open(&mut open_regular(file)?, most)
}

/// Reads all bytes of an open file.
///
/// # Errors
/// If it cannot be read, or is longer.
pub fn read_open(file: &mut File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("longer than {most} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_limited_length_are_read() {
        let directory = std::env::temp_dir().join(format!("quiclab-files-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let (plain, fifo) = (directory.join("plain"), directory.join("fifo"));
        std::fs::write(&plain, b"0123").unwrap();
        assert_eq!(read(&plain, 4).unwrap(), b"0123");
        assert_eq!(read(&plain, 3).unwrap_err().to_string(), "longer than 3 bytes");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, mode, 0).unwrap();
        for strange in [&fifo, Path::new("/dev/zero")] {
            assert_eq!(read(strange, 4).unwrap_err().to_string(), "not a regular file");
        }
        assert_eq!(read(&directory, 4).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
