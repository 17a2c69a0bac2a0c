//! The receiver: sends a request, reads, pauses and repeats, and reports the times of these events.

use super::counters;
use super::report::{Report, response_times};
use super::socket::{SocketArguments, wait};
use crate::isolation::stop_requests;
use crate::timing::monotonic_ns;
use clap::Args;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Maximum number of bytes of one read.
const READ: usize = 1 << 20;

/// Arguments of the receiver.
#[derive(Args, Clone, Debug)]
pub struct ClientArguments {
    /// Address of the server.
    #[arg(long)]
    pub address: IpAddr,
    /// Its port.
    #[arg(long, default_value_t = 5001)]
    pub port: u16,
    /// Length of each request in bytes.
    #[arg(long)]
    pub request: usize,
    /// Length of each answer in bytes; without it, one until the server closes.
    #[arg(long)]
    pub response: Option<u64>,
    /// Number of requests.
    #[arg(long, default_value_t = 1)]
    pub count: u32,
    /// Pause between an answer and the next request, in seconds.
    #[arg(long, default_value_t = 0.0)]
    pub pause: f64,
    /// File for the report.
    #[arg(long)]
    pub report: PathBuf,
    /// Time between two samples of the bytes that were read, in milliseconds.
    #[arg(long, default_value_t = 10)]
    pub sample_ms: u64,
    /// Options of the socket.
    #[command(flatten)]
    pub socket: SocketArguments,
}

/// Receives everything and reports.
pub fn receive(arguments: &ClientArguments) -> Report {
    let mut report = Report::of(|report| attempt(arguments, report));
    report.statistics.extend(counters::read());
    report
}

fn attempt(arguments: &ClientArguments, report: &mut Report) -> Result<(), String> {
    let broken = |error: io::Error| format!("the connection broke: {error}");
    arguments.socket.prepare()?;
    let stop = stop_requests(true).map_err(broken)?;
    let server = SocketAddr::new(arguments.address, arguments.port);
    let family = if server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
        .map_err(|error| broken(error.into()))?;
    arguments.socket.apply(&socket)?;
    report.started_ns = Some(monotonic_ns());
    let refused = |error: io::Error| format!("no connection to {server}: {error}");
    match connect(&socket, &server) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(refused(error.into())),
    }
    if wait(&socket, PollFlags::OUT, &stop, None).map_err(broken)?.stop {
        return Ok(());
    }
    let stream = TcpStream::from(socket);
    if let Some(error) = stream.take_error().map_err(broken)? {
        return Err(refused(error));
    }
    stream.set_nodelay(true).map_err(broken)?;
    report.connected_ns = Some(monotonic_ns());
    let mut session = Session {
        arguments,
        stream,
        stop,
        report,
        buffer: vec![0; READ],
        next_sample: 0,
        times_ns: Vec::new(),
    };
    let done = session.run().map_err(broken);
    let times = std::mem::take(&mut session.times_ns);
    report.tell(response_times(times));
    if !done? {
        return Ok(());
    }
    report.finished_ns = report.finished_ns.or_else(|| Some(monotonic_ns()));
    match arguments.response.map(|response| response * u64::from(arguments.count)) {
        Some(wanted) if report.bytes < wanted => {
            report.finished_ns = None;
            Err(format!("the server closed after {} of {wanted} bytes", report.bytes))
        }
        _ => Ok(()),
    }
}

struct Session<'a> {
    arguments: &'a ClientArguments,
    stream: TcpStream,
    stop: UnixStream,
    report: &'a mut Report,
    buffer: Vec<u8>,
    /// Time of CLOCK_MONOTONIC of the next sample, in nanoseconds.
    next_sample: u64,
    times_ns: Vec<u64>,
}

impl Session<'_> {
    /// Performs all requests; false if it was asked to stop before the end.
    fn run(&mut self) -> io::Result<bool> {
        for number in 0..self.arguments.count {
            if number > 0 && !self.pause()? {
                return Ok(false);
            }
            let asked = monotonic_ns();
            if !self.ask()? || !self.read_answer()? {
                return Ok(false);
            }
            let answered = monotonic_ns();
            self.report.finished_ns = Some(answered);
            if self.arguments.count > 1 {
                self.times_ns.push(answered - asked);
            }
        }
        Ok(true)
    }

    /// Waits between two requests; false if asked to stop.
    fn pause(&mut self) -> io::Result<bool> {
        let end = monotonic_ns() + (self.arguments.pause * 1e9) as u64;
        while monotonic_ns() < end {
            if wait(&self.stream, PollFlags::empty(), &self.stop, Some(end))?.stop {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn ask(&mut self) -> io::Result<bool> {
        let mut request = vec![0; self.arguments.request.max(1)];
        let start = self.report.started_ns.expect("it has connected").to_be_bytes();
        if let Some(place) = request.get_mut(..start.len()) {
            place.copy_from_slice(&start);
        }
        let mut left = &request[..];
        while !left.is_empty() {
            if wait(&self.stream, PollFlags::OUT, &self.stop, None)?.stop {
                return Ok(false);
            }
            match self.stream.write(left) {
                Ok(written) => left = &left[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Reads one answer; false if asked to stop.
    fn read_answer(&mut self) -> io::Result<bool> {
        let mut left = self.arguments.response.unwrap_or(u64::MAX);
        while left > 0 {
            if wait(&self.stream, PollFlags::IN, &self.stop, None)?.stop {
                return Ok(false);
            }
            let length = usize::try_from(left).unwrap_or(READ).min(READ);
            let read = match self.stream.read(&mut self.buffer[..length]) {
                Ok(0) => return Ok(true),
                Ok(read) => read as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                Err(error) => return Err(error),
            };
            let now = monotonic_ns();
            left -= read;
            self.report.bytes += read;
            self.report.first_byte_ns.get_or_insert(now);
            if self.next_sample <= now {
                self.report.samples.add(now, [("delivered_bytes", Some(self.report.bytes as f64))]);
                self.next_sample = now + self.arguments.sample_ms.max(1) * 1_000_000;
            }
        }
        Ok(true)
    }
}
