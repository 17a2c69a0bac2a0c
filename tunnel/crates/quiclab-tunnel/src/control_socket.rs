//! Requests to a running tunnel by its control socket. The user of the tunnel owns the socket and its
//! directory, and the caller may be root: links are not followed, and answers are printed to a terminal only
//! without control characters.

use crate::folders::{RUN_DIRECTORY, directory};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Name of the socket in the directory of a tunnel.
pub const NAME: &str = "control.sock";
/// Maximum length of an answer: a status has about 2 kB for each of 1024 sessions.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// The socket of a tunnel.
#[derive(Clone, Debug)]
pub enum ControlSocket {
    /// The default socket of a device.
    OfInterface(String),
    /// A socket named by the user.
    Named(PathBuf),
}

impl ControlSocket {
    /// Its name for display.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match self {
            Self::OfInterface(interface) => directory(interface).join(NAME),
            Self::Named(path) => path.clone(),
        }
    }

    /// Sends a request, and returns the whole answer, which may take up to `patience`.
    ///
    /// # Errors
    /// If no process listens, if it is not a socket of the tunnel, or if the answer is late or too long.
    pub fn ask(&self, request: &str, patience: Duration) -> io::Result<String> {
        let end = Instant::now() + patience;
        let left = || {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() { Err(io::Error::from(ErrorKind::TimedOut)) } else { Ok(Some(left)) }
        };
        let found = self.open()?;
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        // connecting blocks while the backlog of the tunnel is full, limited by the write timeout (unix(7), socket(7))
        socket.set_write_timeout(left()?)?;
        socket.connect(&SockAddr::unix(format!("/proc/self/fd/{}", found.as_raw_fd()))?)?;
        drop(found);
        let mut stream = UnixStream::from(OwnedFd::from(socket));
        stream.set_write_timeout(left()?)?;
        stream.write_all(request.as_bytes())?;
        let (mut answer, mut buffer) = (Vec::new(), [0; 1 << 14]);
        loop {
            stream.set_read_timeout(left()?)?;
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => answer.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if answer.len() > MAX_ANSWER_BYTES {
                return Err(io::Error::other("the answer is too long"));
            }
        }
        String::from_utf8(answer).map_err(|_| io::Error::other("the answer is not text in UTF-8"))
    }

    /// Opens the socket itself, so that it cannot be replaced before it is used.
    fn open(&self) -> io::Result<OwnedFd> {
        let as_path = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (socket, folder) = match self {
            Self::Named(path) => (openat(CWD, path, as_path, Mode::empty())?, None),
            Self::OfInterface(interface) => {
                let folder = open_folder(interface)?;
                (openat(&folder, NAME, as_path, Mode::empty())?, Some(folder))
            }
        };
        let found = statat(&socket, "", AtFlags::EMPTY_PATH)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
            return Err(io::Error::other("not a socket"));
        }
        if let Some(folder) = folder {
            let owner = statat(&folder, "", AtFlags::EMPTY_PATH)?.st_uid;
            if owner != found.st_uid {
                let sentence = format!("it belongs to user {}, and its folder to user {owner}", found.st_uid);
                return Err(io::Error::other(sentence));
            }
        }
        Ok(socket)
    }
}

/// Opens the directory of a device's tunnel, which must not be a link.
///
/// # Errors
/// If there is none.
pub fn open_folder(interface: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let all = openat(CWD, RUN_DIRECTORY, flags, Mode::empty())?;
    Ok(openat(&all, interface, flags | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Removes control characters except line ends from a text, because a terminal interprets them.
#[must_use]
pub fn printable(text: &str) -> String {
    let shown =
        |character: char| if character.is_control() && character != '\n' { '\u{fffd}' } else { character };
    text.chars().map(shown).collect()
}

/// Removes control characters from all texts in a value.
pub fn make_printable(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => *text = printable(text).replace('\n', "\u{fffd}"),
        serde_json::Value::Array(all) => all.iter_mut().for_each(make_printable),
        serde_json::Value::Object(all) => {
            let entries = std::mem::take(all).into_iter().map(|(name, mut value)| {
                make_printable(&mut value);
                (printable(&name).replace('\n', "\u{fffd}"), value)
            });
            *all = entries.collect();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn what_a_socket_says_does_not_command_a_terminal() {
        assert_eq!(printable("a\u{1b}[2J\u{9b}b\rc\nd"), "a\u{fffd}[2J\u{fffd}b\u{fffd}c\nd");
        let mut value = serde_json::json!({ "na\u{1b}me": ["\u{1b}]0;x\u{7}", 1, { "b": "two\nlines" }] });
        make_printable(&mut value);
        let expected =
            serde_json::json!({ "na\u{fffd}me": ["\u{fffd}]0;x\u{fffd}", 1, { "b": "two\u{fffd}lines" }] });
        assert_eq!(value, expected);
    }

    #[test]
    fn links_are_not_followed_and_answers_have_an_end() {
        let directory = std::env::temp_dir().join(format!("quiclab-control-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let named = |name: &str| ControlSocket::Named(directory.join(name));
        let listener = UnixListener::bind(directory.join("socket")).unwrap();
        std::os::unix::fs::symlink(directory.join("socket"), directory.join("link")).unwrap();
        std::fs::write(directory.join("file"), "").unwrap();
        for strange in ["link", "file"] {
            assert_eq!(
                named(strange).ask("down\n", Duration::from_secs(9)).unwrap_err().to_string(),
                "not a socket"
            );
        }
        // an endless answer
        let endless = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.write_all(b"x").is_ok() {
                std::thread::yield_now();
            }
        });
        let patience = Duration::from_millis(200);
        let error = named("socket").ask("status\n", patience).unwrap_err();
        let late = [ErrorKind::TimedOut, ErrorKind::WouldBlock].contains(&error.kind());
        assert!(late || error.to_string() == "the answer is too long", "{error}");
        endless.join().unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_tunnel_that_takes_no_connection_is_not_waited_for() {
        let file = std::env::temp_dir().join(format!("quiclab-control-full-{}", std::process::id()));
        let address = SockAddr::unix(&file).unwrap();
        let listener = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        listener.bind(&address).unwrap();
        listener.listen(0).unwrap();
        let connect = || {
            let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket.connect(&address).map(|()| socket)
        };
        let waiting: Vec<_> = std::iter::from_fn(|| connect().ok()).collect();
        assert_eq!(connect().unwrap_err().kind(), ErrorKind::WouldBlock);
        let (named, (done, asked)) = (ControlSocket::Named(file.clone()), std::sync::mpsc::channel());
        std::thread::spawn(move || {
            done.send(named.ask("down\n", Duration::from_millis(50)).unwrap_err().kind())
        });
        let kind = asked.recv_timeout(Duration::from_secs(30)).expect("it has an end");
        assert!([ErrorKind::TimedOut, ErrorKind::WouldBlock].contains(&kind), "{kind}");
        drop((waiting, listener));
        std::fs::remove_file(&file).unwrap();
    }
}
