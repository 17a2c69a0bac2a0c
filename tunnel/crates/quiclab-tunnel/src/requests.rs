//! Requests of `status` and `down` on a Unix socket, and of Prometheus over HTTP: short, few, and never blocking.
//!
//! A control request is one line: `status` or `reload` (answered with JSON), `down` or `stop` (answered when
//! everything is undone, then by the end of the process). An HTTP request is answered when its header has
//! ended; only `GET /metrics` is supported (RFC 9112, no keep-alive).

use crate::status::CONTENT_TYPE;
use quiclab_core::ip::IpPrefix;
use quiclab_core::{Duration, Time};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Maximum number of connections: for a further one, the oldest of those from the host with the most is
/// closed. A client that connects without a request does not block others.
const MAX_CONNECTIONS: usize = 32;
/// Maximum number of new connections in one turn of the loop, whose packets must not wait for long.
const MAX_ACCEPTED: usize = 32;
/// Maximum length of a request.
const MAX_REQUEST_BYTES: usize = 4096;
/// Time after which a connection is closed in any case.
const PATIENCE: Duration = Duration::from_secs(5);

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// The status as JSON.
    Status,
    /// The end of the tunnel and of its kill switch; the connection stays open until the process ends.
    Down,
    /// The end of the tunnel only; likewise.
    Stop,
    /// A reload of the configuration.
    Reload,
    /// The metrics of Prometheus.
    Metrics,
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

struct Connection {
    stream: Stream,
    read: Vec<u8>,
    answer: Vec<u8>,
    until: Time,
    held: bool,
    /// Host of the client; `None` for a Unix socket.
    from: Option<IpPrefix>,
}

/// A listener with its connections.
pub struct Requests {
    listener: Listener,
    connections: Vec<Connection>,
    /// File of the socket, which is removed at the end.
    file: Option<PathBuf>,
}

impl Requests {
    /// Listens on a Unix socket that only its owner and group may use.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn control(file: &Path) -> io::Result<Self> {
        use std::os::unix::fs::FileTypeExt;
        // left by a former process: the journal shows that none runs
        match std::fs::symlink_metadata(file) {
            Ok(found) if found.file_type().is_socket() => std::fs::remove_file(file)?,
            Ok(_) => {
                return Err(io::Error::new(ErrorKind::AlreadyExists, "the file exists and is not a socket"));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // by the mask, not afterwards: by then the name might be that of another file
        let mask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o117));
        let listener = UnixListener::bind(file);
        rustix::process::umask(mask);
        let listener = listener?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener: Listener::Unix(listener), connections: Vec::new(), file: Some(file.to_owned()) })
    }

    /// Listens for HTTP.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub fn http(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener: Listener::Tcp(listener), connections: Vec::new(), file: None })
    }

    /// Descriptors to wait for, each with whether it is to be written.
    pub fn sources(&self) -> impl Iterator<Item = (BorrowedFd<'_>, bool)> {
        let listener = match &self.listener {
            Listener::Unix(listener) => (listener.as_fd(), false),
            Listener::Tcp(listener) => (listener.as_fd(), false),
        };
        let connections = self.connections.iter().map(|connection| {
            let fd = match &connection.stream {
                Stream::Unix(stream) => stream.as_fd(),
                Stream::Tcp(stream) => stream.as_fd(),
            };
            (fd, !connection.answer.is_empty())
        });
        [listener].into_iter().chain(connections)
    }

    /// Time at which the next connection times out.
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        self.connections.iter().filter(|connection| !connection.held).map(|connection| connection.until).min()
    }

    /// Continues all connections; `answer` returns the answer to a request.
    pub fn serve(&mut self, now: Time, mut answer: impl FnMut(Request) -> String) {
        let http = matches!(self.listener, Listener::Tcp(_));
        for _ in 0..MAX_ACCEPTED {
            let stream = match &self.listener {
                Listener::Unix(listener) => listener.accept().map(|(stream, _)| (Stream::Unix(stream), None)),
                Listener::Tcp(listener) => {
                    listener.accept().map(|(stream, from)| (Stream::Tcp(stream), Some(host(from.ip()))))
                }
            };
            let Ok((stream, from)) = stream else { break };
            let nonblocking = match &stream {
                Stream::Unix(stream) => stream.set_nonblocking(true),
                Stream::Tcp(stream) => stream.set_nonblocking(true),
            };
            if nonblocking.is_err() {
                continue;
            }
            let until = now + PATIENCE;
            let (read, answer_bytes) = (Vec::new(), Vec::new());
            let mut new = Connection { stream, read, answer: answer_bytes, until, held: false, from };
            // a request that has already arrived is answered before its connection may have to be closed
            if new.go_on(http, &mut answer).is_ok() && (self.make_room() || new.held) {
                self.connections.push(new);
            }
        }
        self.connections.retain_mut(|connection| {
            (connection.held || connection.until > now) && connection.go_on(http, &mut answer).is_ok()
        });
    }
}

impl Requests {
    /// Closes a connection, except those that wait for the end of the tunnel, if the maximum is reached.
    /// Returns whether there is room.
    fn make_room(&mut self) -> bool {
        if self.connections.len() < MAX_CONNECTIONS {
            return true;
        }
        let same = |from| self.connections.iter().filter(|other| other.from == from).count();
        let most = self.connections.iter().map(|connection| same(connection.from)).max();
        let oldest = |connection: &Connection| !connection.held && Some(same(connection.from)) == most;
        let oldest = self.connections.iter().position(oldest);
        oldest.map(|oldest| self.connections.remove(oldest)).is_some()
    }

    /// Answers the connections that wait for the end, as far as they accept it immediately.
    pub fn tell_end(&mut self, sentence: &str) {
        for connection in self.connections.iter_mut().filter(|connection| connection.held) {
            let _ = connection.stream.write(sentence.as_bytes());
        }
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = std::fs::remove_file(file);
            // only if it is empty, and the program may
            let _ = file.parent().map(std::fs::remove_dir);
        }
    }
}

impl Connection {
    /// Continues a connection; an error ends it.
    fn go_on(&mut self, http: bool, answer: &mut dyn FnMut(Request) -> String) -> io::Result<()> {
        if self.answer.is_empty() && !self.held {
            let mut buffer = [0; MAX_REQUEST_BYTES];
            let count = match self.stream.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            self.read.extend_from_slice(&buffer[..count]);
            let parsed = if http { parse_http(&self.read) } else { parse_control(&self.read) };
            let request = match parsed {
                Parsed::More if self.read.len() < MAX_REQUEST_BYTES => return Ok(()),
                Parsed::More => Err(400),
                Parsed::Request(request) => Ok(request),
                Parsed::Refused(code) => Err(code),
            };
            if matches!(request, Ok(Request::Down | Request::Stop)) {
                self.held = true;
            }
            let body = request.map(answer);
            self.answer = if http {
                http_answer(body)
            } else {
                body.unwrap_or_else(|_| "{\"error\":\"unknown request\"}".to_owned()).into_bytes()
            };
        }
        while !self.answer.is_empty() {
            match self.stream.write(&self.answer) {
                Ok(count) => drop(self.answer.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        if self.held { Ok(()) } else { Err(ErrorKind::ConnectionAborted.into()) }
    }
}

impl Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }
}

/// Addresses that a host may have: with IPv6, a network of 64 bits (RFC 4291 section 2.5.1), which is its own or that of a link.
fn host(address: IpAddr) -> IpPrefix {
    match address.to_canonical() {
        address @ IpAddr::V4(_) => IpPrefix::host(address),
        address @ IpAddr::V6(_) => IpPrefix::around(address, 64),
    }
}

/// State of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// It is incomplete.
    More,
    /// It is complete.
    Request(Request),
    /// It is refused, with a status code of HTTP.
    Refused(u16),
}

/// Reads a request on the control socket.
#[must_use]
pub fn parse_control(bytes: &[u8]) -> Parsed {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return Parsed::More };
    match &bytes[..end] {
        b"status" => Parsed::Request(Request::Status),
        b"down" => Parsed::Request(Request::Down),
        b"stop" => Parsed::Request(Request::Stop),
        b"reload" => Parsed::Request(Request::Reload),
        _ => Parsed::Refused(400),
    }
}

/// Reads a request of HTTP/1.1: only its first line; the fields are ignored.
#[must_use]
pub fn parse_http(bytes: &[u8]) -> Parsed {
    if !bytes.windows(4).any(|window| window == b"\r\n\r\n") {
        return Parsed::More;
    }
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(b"GET"), Some(b"/metrics"), Some(b"HTTP/1.1" | b"HTTP/1.0"), None) => {
            Parsed::Request(Request::Metrics)
        }
        (Some(b"GET"), Some(_), Some(b"HTTP/1.1" | b"HTTP/1.0"), None) => Parsed::Refused(404),
        (Some(_), Some(_), Some(b"HTTP/1.1" | b"HTTP/1.0"), None) => Parsed::Refused(405),
        _ => Parsed::Refused(400),
    }
}

fn http_answer(body: Result<String, u16>) -> Vec<u8> {
    let (status, body) = match body {
        Ok(body) => ("200 OK", body),
        Err(404) => ("404 Not Found", "there is /metrics only\n".to_owned()),
        Err(405) => ("405 Method Not Allowed", "there is GET only\n".to_owned()),
        Err(_) => ("400 Bad Request", "not a valid request\n".to_owned()),
    };
    let kind = if status.starts_with("200") { CONTENT_TYPE } else { "text/plain; charset=utf-8" };
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_are_told_apart() {
        assert_eq!(parse_control(b"status\n"), Parsed::Request(Request::Status));
        assert_eq!(parse_control(b"down\n"), Parsed::Request(Request::Down));
        assert_eq!(parse_control(b"stop\n"), Parsed::Request(Request::Stop));
        assert_eq!(parse_control(b"reload\n"), Parsed::Request(Request::Reload));
        assert_eq!(parse_control(b"stat"), Parsed::More);
        assert_eq!(parse_control(b"restart\n"), Parsed::Refused(400));
        assert_eq!(
            parse_http(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
            Parsed::Request(Request::Metrics)
        );
        assert_eq!(parse_http(b"GET /metrics HTTP/1.1\r\nHost: x\r\n"), Parsed::More);
        assert_eq!(parse_http(b"GET / HTTP/1.1\r\n\r\n"), Parsed::Refused(404));
        assert_eq!(parse_http(b"POST /metrics HTTP/1.1\r\n\r\n"), Parsed::Refused(405));
        assert_eq!(parse_http(b"\r\n\r\n"), Parsed::Refused(400));
    }

    #[test]
    fn idle_connections_keep_no_request_waiting() {
        let mut requests = Requests::http("127.0.0.1:0".parse().unwrap()).unwrap();
        let Listener::Tcp(listener) = &requests.listener else { panic!("it is HTTP") };
        let address = listener.local_addr().unwrap();
        let idle: Vec<_> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
        // at one time, at which none times out
        let mut served = 0;
        let mut serve = |requests: &mut Requests| {
            requests.serve(Time::ZERO, |_| {
                served += 1;
                "metrics".to_owned()
            });
        };
        serve(&mut requests);
        let before = TcpStream::connect(address).unwrap();
        for _ in 0..10 {
            serve(&mut requests);
        }
        assert!(requests.connections.len() <= MAX_CONNECTIONS);
        (&before).write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        before.set_nonblocking(true).unwrap();
        for _ in 0..1000 {
            serve(&mut requests);
            match (&before).read_to_string(&mut answer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                read => drop(read.unwrap()),
            }
        }
        assert!(answer.ends_with("metrics"), "{answer:?}");
        assert_eq!(served, 1);
        drop(idle);
    }

    /// An IPv6 host can use another address for each connection at no cost.
    #[test]
    fn addresses_of_a_host_count_together() {
        let mut requests = Requests::http("127.0.0.1:0".parse().unwrap()).unwrap();
        let connection = |from: &str| {
            let (stream, read, answer) =
                (Stream::Unix(UnixStream::pair().unwrap().0), Vec::new(), Vec::new());
            let from = Some(host(from.parse().unwrap()));
            Connection { stream, read, answer, until: Time::ZERO, held: false, from }
        };
        let others = ["2001:db8:0:1::1", "::ffff:192.0.2.1", "192.0.2.2", "::ffff:192.0.2.3"];
        let addresses = (others.len()..MAX_CONNECTIONS).map(|number| format!("2001:db8:0:2::{number:x}"));
        requests.connections = others.iter().copied().map(connection).collect();
        requests.connections.extend(addresses.map(|address| connection(&address)));
        let of_others = |requests: &Requests| {
            let of_others = |connection: &&Connection| {
                others.iter().any(|other| connection.from == Some(host(other.parse().unwrap())))
            };
            requests.connections.iter().filter(of_others).count()
        };
        for left in (others.len()..MAX_CONNECTIONS).rev() {
            assert!(requests.make_room());
            assert_eq!(
                (requests.connections.len(), of_others(&requests)),
                (MAX_CONNECTIONS - 1, others.len())
            );
            requests.connections.push(connection(&format!("2001:db8:0:2:ffff::{left:x}")));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_anything_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_control(&bytes);
            let _ = parse_http(&bytes);
        }
    }
}
