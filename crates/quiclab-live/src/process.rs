//! Processes of a run: started in their namespace, watched, stopped, and their CPU time measured.

use crate::cpu::{CpuTime, reap};
use crate::job::{PortProtocol, Program, Ready};
use crate::namespace::Namespace;
use quiclab_core::Duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Instant;
use thiserror::Error;

/// Interval between two checks whether a program is ready, or has stopped.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
/// Maximum length of the last output of a program in an error.
const LAST_WORDS: usize = 400;

/// Error of a program.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// The program cannot be started.
    #[error("`{command}` cannot be started: {reason}")]
    Start {
        /// The command.
        command: String,
        /// Reason.
        reason: io::Error,
    },
    /// The program ended before it was ready.
    #[error("`{command}` ended ({status}) before it was ready{words}")]
    Died {
        /// The command.
        command: String,
        /// Its exit status.
        status: ExitStatus,
        /// Its last output.
        words: String,
    },
    /// The program was not ready in time.
    #[error("`{command}` was not ready after {timeout}: {awaited}{words}")]
    NotReady {
        /// The command.
        command: String,
        /// Duration of the wait.
        timeout: Duration,
        /// Condition that was not met.
        awaited: String,
        /// Its last output.
        words: String,
    },
    /// A stop was requested meanwhile.
    #[error("stopped before it was ready")]
    Stopped,
}

/// A process that was started.
pub struct Process {
    program: Program,
    child: Child,
    /// Readable once it has ended.
    pidfd: OwnedFd,
    out: PathBuf,
    err: PathBuf,
    noted: bool,
    /// Exit status and CPU time; `None` while it runs.
    end: Option<(ExitStatus, CpuTime)>,
}

impl Process {
    /// Starts `program` in `namespace`; its output is written to `stem.out` and `stem.err`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(program: &Program, namespace: &Arc<Namespace>, stem: &Path) -> Result<Self, ProcessError> {
        let file = |ending: &str| PathBuf::from(format!("{}.{ending}", stem.display()));
        let (out, err) = (file("out"), file("err"));
        let (task, files) = (program.clone(), (out.clone(), err.clone()));
        let failed = |reason| ProcessError::Start { command: program.command.join(" "), reason };
        let child = namespace.within(move || spawn(&task, &files.0, &files.1)).map_err(failed)?;
        let pid = Pid::from_child(&child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
        Ok(Self { program: program.clone(), child, pidfd, out, err, noted: false, end: None })
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// If it ends first, or takes too long.
    pub fn await_ready(
        &mut self,
        namespace: &Arc<Namespace>,
        requests: &UnixStream,
    ) -> Result<(), ProcessError> {
        let started = Instant::now();
        let timeout = std::time::Duration::from_nanos(self.program.ready_timeout.as_nanos());
        loop {
            if self.is_ready(namespace) {
                return Ok(());
            }
            let command = self.command();
            if let Some(status) = self.ended() {
                return Err(ProcessError::Died { command, status, words: self.last_words() });
            }
            if started.elapsed() > timeout {
                let awaited = match &self.program.ready {
                    Ready::Started => unreachable!("is ready at once"),
                    Ready::Port { protocol, port } => {
                        format!("nothing is bound to {} port {port}", protocol.name())
                    }
                    Ready::Output { text } => format!("it has not printed `{text}`"),
                };
                let timeout = self.program.ready_timeout;
                return Err(ProcessError::NotReady { command, timeout, awaited, words: self.last_words() });
            }
            let mut request = [PollFd::new(requests, PollFlags::IN)];
            if poll(&mut request, Some(&LOOK)).is_ok_and(|ready| ready > 0) {
                return Err(ProcessError::Stopped);
            }
        }
    }

    fn is_ready(&self, namespace: &Arc<Namespace>) -> bool {
        match &self.program.ready {
            Ready::Started => true,
            &Ready::Port { protocol, port } => namespace.within(move || is_bound(protocol, port)),
            Ready::Output { text } => [&self.out, &self.err]
                .into_iter()
                .any(|file| std::fs::read(file).is_ok_and(|said| contains(&said, text.as_bytes()))),
        }
    }

    /// Exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.end.is_none() {
            self.end = reap(Pid::from_child(&self.child), false);
        }
        self.end.map(|(status, _)| status)
    }

    /// CPU time of it and of those of its descendants that it has waited for; `None` while it runs.
    #[must_use]
    pub fn cpu_time(&self) -> Option<CpuTime> {
        self.end.map(|(_, cpu)| cpu)
    }

    /// Readable once it has ended.
    #[must_use]
    pub fn pidfd(&self) -> &OwnedFd {
        &self.pidfd
    }

    /// Asks it to stop, and kills it if it does not; returns its exit status, and whether it was killed.
    pub fn stop(&mut self) -> (Option<ExitStatus>, bool) {
        if let Some(status) = self.ended() {
            return (Some(status), false);
        }
        self.ask_to_stop();
        let grace = std::time::Duration::from_nanos(self.program.grace.as_nanos());
        let asked = Instant::now();
        while asked.elapsed() < grace {
            let mut exit = [PollFd::new(&self.pidfd, PollFlags::IN)];
            let _ = poll(&mut exit, Some(&LOOK));
            if let Some(status) = self.ended() {
                return (Some(status), false);
            }
        }
        self.signal(Signal::KILL);
        self.end = reap(Pid::from_child(&self.child), true);
        (self.end.map(|(status, _)| status), true)
    }

    /// Asks it to stop.
    pub fn ask_to_stop(&self) {
        if self.end.is_none() {
            self.signal(Signal::TERM);
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        // it may have ended just now
        let _ =
            if self.program.terminal { kill_process(pid, signal) } else { kill_process_group(pid, signal) };
    }

    /// Whether it uses the terminal of the user.
    #[must_use]
    pub fn has_terminal(&self) -> bool {
        self.program.terminal
    }

    /// Whether this was called before: an end is reported once.
    pub fn noted(&mut self) -> bool {
        std::mem::replace(&mut self.noted, true)
    }

    /// The command as a user would type it.
    #[must_use]
    pub fn command(&self) -> String {
        self.program.command.join(" ")
    }

    /// Message about a status that is not a success.
    #[must_use]
    pub fn failure(&self, status: ExitStatus) -> Option<String> {
        let how = match (status.code(), status.signal()) {
            (Some(0), _) => return None,
            (Some(code), _) => format!("ended with exit code {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => "ended".to_owned(),
        };
        Some(format!("`{}` {how}{}", self.command(), self.last_words()))
    }

    fn last_words(&self) -> String {
        let said =
            |file: &Path| std::fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let words = [&self.err, &self.out].into_iter().filter_map(|file| said(file).ok());
        let Some(words) = words.map(|text| text.trim().to_owned()).find(|text| !text.is_empty()) else {
            return "; it said nothing".to_owned();
        };
        let start = words.char_indices().rev().nth(LAST_WORDS).map_or(0, |(index, _)| index);
        format!("; its last words: {}", words[start..].replace('\n', " / "))
    }
}

/// Exit code as in a shell: 128 plus the number of the signal for a program that a signal ended.
#[must_use]
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    u8::try_from(code).unwrap_or(u8::MAX)
}

fn spawn(program: &Program, out: &Path, err: &Path) -> io::Result<Child> {
    let (name, arguments) = program
        .command
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"))?;
    let mut command = Command::new(name);
    command.args(arguments).envs(&program.environment);
    if !program.terminal {
        command.stdin(Stdio::null()).stdout(File::create(out)?).stderr(File::create(err)?).process_group(0);
    }
    command.spawn()
}

impl PortProtocol {
    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        }
    }
}

/// Whether a socket of the calling thread's namespace is bound to the port (proc_net_tcp of the kernel's documentation).
fn is_bound(protocol: PortProtocol, port: u16) -> bool {
    const LISTEN: &str = "0A";
    let tables: [&str; 2] = match protocol {
        PortProtocol::Tcp => ["tcp", "tcp6"],
        PortProtocol::Udp => ["udp", "udp6"],
    };
    let wanted = format!(":{port:04X}");
    tables.iter().any(|table| {
        std::fs::read_to_string(format!("/proc/thread-self/net/{table}")).is_ok_and(|text| {
            text.lines().skip(1).any(|line| {
                let fields: Vec<_> = line.split_whitespace().collect();
                let bound = fields.get(1).is_some_and(|local| local.ends_with(&wanted));
                bound && (protocol == PortProtocol::Udp || fields.get(3) == Some(&LISTEN))
            })
        })
    })
}

/// Whether `whole` contains `part`.
fn contains(whole: &[u8], part: &[u8]) -> bool {
    part.is_empty() || whole.windows(part.len()).any(|window| window == part)
}
