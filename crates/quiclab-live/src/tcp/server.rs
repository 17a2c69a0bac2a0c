//! The sender: answers the requests of one client, and samples the kernel's state of the connection.

use super::counters;
use super::info::Info;
use super::probe::Probe;
use super::report::{Report, Samples};
use super::socket::{SocketArguments, wait};
use crate::isolation::stop_requests;
use crate::timing::monotonic_ns;
use clap::Args;
use rustix::event::PollFlags;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Maximum number of bytes of one write, as most servers write a file.
const WRITE: usize = 65_536;
/// Length of the time field at the beginning of a request.
const START: usize = 8;

/// Arguments of the sender.
#[derive(Args, Clone, Debug)]
pub struct ServerArguments {
    /// Address to listen at.
    #[arg(long)]
    pub address: IpAddr,
    /// Port to listen at.
    #[arg(long, default_value_t = 5001)]
    pub port: u16,
    /// Length of each request in bytes.
    #[arg(long)]
    pub request: usize,
    /// Length of each answer in bytes.
    #[arg(long, required_unless_present = "duration", conflicts_with = "duration")]
    pub response: Option<u64>,
    /// Time to send, from the client's start, in seconds.
    #[arg(long)]
    pub duration: Option<f64>,
    /// File for the report.
    #[arg(long)]
    pub report: PathBuf,
    /// Time between two samples of the connection, in milliseconds.
    #[arg(long, default_value_t = 10)]
    pub sample_ms: u64,
    /// Trace the connection at each acknowledgement, too, if the kernel can (tcp_probe).
    #[arg(long, value_name = "BOOL")]
    pub probe: Option<bool>,
    /// Options of the socket.
    #[command(flatten)]
    pub socket: SocketArguments,
}

/// Serves one client and reports.
pub fn serve(arguments: &ServerArguments) -> Report {
    Report::of(|report| attempt(arguments, report))
}

fn attempt(arguments: &ServerArguments, report: &mut Report) -> Result<(), String> {
    let broken = |error: io::Error| format!("the connection broke: {error}");
    arguments.socket.prepare()?;
    let stop = stop_requests(true).map_err(broken)?;
    let (address, port) = (arguments.address, arguments.port);
    let listener = TcpListener::bind((address, port))
        .map_err(|error| format!("{address} port {port} cannot be listened at: {error}"))?;
    arguments.socket.apply(&listener)?;
    if wait(&listener, PollFlags::IN, &stop, None).map_err(broken)?.stop {
        return Ok(());
    }
    let (stream, _) = listener.accept().map_err(broken)?;
    stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).map_err(broken)?;
    report.started_ns = Some(monotonic_ns());
    let probe = arguments.probe.unwrap_or(false).then(|| start_probe(&stream)).flatten();
    report.acknowledgements = probe.is_some().then(Samples::default);
    let mut session = Session {
        arguments,
        stream,
        probe,
        task: Task::Reading { missing: arguments.request, start: Vec::new() },
        report,
    };
    let served = session.run(&stop).map_err(broken);
    session.conclude();
    served
}

/// The trace of the connection; a kernel without it is not an error.
fn start_probe(stream: &TcpStream) -> Option<Probe> {
    let mss_bytes = Info::of(stream).ok()?.mss_bytes;
    Probe::start(stream, mss_bytes).map_err(|sentence| eprintln!("tcp-server: {sentence}")).ok()
}

/// State of the sender.
#[derive(Debug)]
enum Task {
    /// A request is awaited: `missing` bytes are missing, and it begins with `start`.
    Reading { missing: usize, start: Vec<u8> },
    /// An answer is written, of which `left` bytes remain.
    Writing { left: u64 },
    /// An answer is written until this time of CLOCK_MONOTONIC, in nanoseconds.
    WritingUntil { end_ns: u64 },
    /// All is sent; the client closes when it has received all.
    Closing,
    /// The client has closed.
    Done,
}

struct Session<'a> {
    arguments: &'a ServerArguments,
    stream: TcpStream,
    probe: Option<Probe>,
    task: Task,
    report: &'a mut Report,
}

impl Session<'_> {
    fn run(&mut self, stop: &UnixStream) -> io::Result<()> {
        let interval_ns = self.arguments.sample_ms.max(1) * 1_000_000;
        let mut next_sample = 0;
        while !matches!(self.task, Task::Done) {
            let now = monotonic_ns();
            if next_sample <= now {
                let info = Info::of(&self.stream)?;
                self.report.samples.add(now, info.sample().into_iter().chain([("phase", self.phase(&info))]));
                self.read_probe()?;
                next_sample = now - now % interval_ns + interval_ns;
            }
            let wanted = match self.task {
                Task::Writing { .. } | Task::WritingUntil { .. } => PollFlags::OUT,
                _ => PollFlags::IN,
            };
            let until = match self.task {
                Task::WritingUntil { end_ns } => next_sample.min(end_ns),
                _ => next_sample,
            };
            let ready = wait(&self.stream, wanted, stop, Some(until))?;
            if ready.stop {
                return Ok(());
            }
            if ready.readable || ready.writable {
                self.act()?;
            }
            if let Task::WritingUntil { end_ns } = self.task
                && end_ns <= monotonic_ns()
            {
                self.stream.shutdown(Shutdown::Write)?;
                self.task = Task::Closing;
            }
        }
        self.report.finished_ns = Some(monotonic_ns());
        Ok(())
    }

    /// Phase of the congestion control; `None` for those with more phases than slow start and avoidance.
    fn phase(&self, info: &Info) -> Option<f64> {
        let by_window = ["reno", "cubic"].contains(&self.arguments.socket.congestion_control.as_str());
        by_window.then(|| info.phase_of_window().number() as f64)
    }

    /// Reads or writes once.
    fn act(&mut self) -> io::Result<()> {
        static ZEROS: [u8; WRITE] = [0; WRITE];
        let done = match &mut self.task {
            Task::Reading { .. } | Task::Closing => return self.read(),
            Task::Writing { left } => {
                let length = usize::try_from(*left).unwrap_or(WRITE).min(WRITE);
                self.stream.write(&ZEROS[..length])
            }
            Task::WritingUntil { .. } => self.stream.write(&ZEROS),
            Task::Done => return Ok(()),
        };
        let written = match done {
            Ok(written) => written as u64,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        self.report.bytes += written;
        if let Task::Writing { left } = &mut self.task {
            *left -= written;
            if *left == 0 {
                self.task = Task::Reading { missing: self.arguments.request, start: Vec::new() };
            }
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; WRITE];
        let Task::Reading { missing, start } = &mut self.task else {
            let length = self.stream.read(&mut buffer);
            if length.is_ok_and(|length| length == 0) {
                self.task = Task::Done;
            }
            return Ok(());
        };
        let length = (*missing).clamp(1, WRITE);
        let read = match self.stream.read(&mut buffer[..length]) {
            Ok(0) => {
                self.task = Task::Done;
                return Ok(());
            }
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        let wanted = START.saturating_sub(start.len()).min(read);
        start.extend_from_slice(&buffer[..wanted]);
        *missing = missing.saturating_sub(read);
        if *missing == 0 {
            let started_ns =
                <[u8; START]>::try_from(&start[..]).map_or_else(|_| monotonic_ns(), u64::from_be_bytes);
            self.task = match self.arguments.duration {
                Some(seconds) => Task::WritingUntil { end_ns: started_ns + (seconds * 1e9) as u64 },
                None => Task::Writing { left: self.arguments.response.unwrap_or(0) },
            };
        }
        Ok(())
    }

    fn read_probe(&mut self) -> io::Result<()> {
        match (&mut self.probe, &mut self.report.acknowledgements) {
            (Some(probe), Some(rows)) => probe.read(rows),
            _ => Ok(()),
        }
    }

    /// Adds the values over the whole connection.
    fn conclude(&mut self) {
        let _ = self.read_probe(); // earlier samples are kept
        if let Ok(info) = Info::of(&self.stream) {
            self.report.tell(info.sample());
            self.report.tell(info.totals());
        }
        let counters = counters::read();
        self.report.tell(counters::summary(&counters));
        self.report.statistics.extend(counters);
    }
}
