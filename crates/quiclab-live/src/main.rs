//! `quiclab-live`: the part of the kernel lane that the Python package starts. See docs/kernel.md.

mod check;
mod command;
mod cpu;
mod device;
mod error;
mod guest;
mod hosts;
mod ip;
mod isolation;
mod job;
mod links;
mod meter;
mod namespace;
mod netem;
mod probe;
mod process;
mod report;
mod run;
mod setup;
mod tables;
mod tcp;
mod timing;
mod waits;

use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "quiclab-live", version, about = "Runs real programs behind the elements of quiclab")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the job in a directory; its result.json appears there.
    Run(Run),
    /// Runs as the first process of the namespaces of `run`.
    #[command(hide = true)]
    Supervise {
        #[command(flatten)]
        run: Run,
        /// Reading end of a pipe that closes with the process that started this one.
        #[arg(long)]
        lifeline: u32,
    },
    /// Sends over the kernel's TCP: the sender of the stack `linux`.
    TcpServer(tcp::ServerArguments),
    /// Receives over the kernel's TCP: the receiver of the stack `linux`.
    TcpClient(tcp::ClientArguments),
    /// Answers probes of a network: the sender of the stack `probe`.
    #[command(hide = true)]
    ProbeServer(probe::ServerArguments),
    /// Probes a network: the receiver of the stack `probe`.
    #[command(hide = true)]
    ProbeClient(probe::ClientArguments),
    /// Runs as the first process of the virtual-clock kernel.
    #[command(hide = true)]
    Guest,
}

#[derive(Args)]
struct Run {
    /// The directory with job.json.
    directory: PathBuf,
    /// File descriptor for lines of progress in JSON; without it they go to stdout, unless a program has the terminal.
    #[arg(long, value_name = "N")]
    progress_fd: Option<u32>,
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Run(run) => isolated(&run),
        Command::Supervise { run, lifeline } => match supervise(&run, lifeline) {
            Ok(code) => ExitCode::from(code.unwrap_or(0)),
            Err(error) => fail(&error.to_string()),
        },
        Command::TcpServer(arguments) => tcp::server(&arguments),
        Command::TcpClient(arguments) => tcp::client(&arguments),
        Command::ProbeServer(arguments) => probe::server(&arguments),
        Command::ProbeClient(arguments) => probe::client(&arguments),
        Command::Guest => guest::guest(),
    }
}

fn isolated(run: &Run) -> ExitCode {
    // also read here, because of the signals; the namespaces are for the job
    let job = match job::Job::read(&run.directory) {
        Ok(job) => job,
        Err(error) => return fail(&error.to_string()),
    };
    let mut arguments = vec![OsString::from("supervise"), run.directory.clone().into_os_string()];
    if let Some(fd) = run.progress_fd {
        arguments.push(format!("--progress-fd={fd}").into());
    }
    let arguments: Vec<_> = arguments.iter().map(OsString::as_os_str).collect();
    isolation::isolated(&arguments, !job.has_terminal()).unwrap_or_else(|error| {
        fail(&format!(
            "no namespaces ({error}): run as root (in a container with CAP_SYS_ADMIN), or allow user namespaces; \
             `quiclab kernel doctor` says more"
        ))
    })
}

fn supervise(run: &Run, lifeline: u32) -> Result<Option<u8>, error::LiveError> {
    isolation::end_with_parent(lifeline)?;
    let mut progress: Box<dyn Write> = match run.progress_fd {
        Some(fd) => Box::new(OpenOptions::new().write(true).open(format!("/proc/self/fd/{fd}"))?),
        None if job::Job::read(&run.directory)?.has_terminal() => Box::new(std::io::sink()),
        None => Box::new(std::io::stdout()),
    };
    run::run(&run.directory, &mut progress)
}

/// Reports the error on one line.
fn fail(sentence: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "quiclab-live: {sentence}");
    ExitCode::FAILURE
}
