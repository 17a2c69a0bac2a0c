//! `quiclab-live`: the part of the kernel lane that the Python package starts. See docs/kernel.md.

mod columns;
mod device;
mod guest;
mod hosts;
mod ip;
mod isolation;
mod job;
mod namespace;
mod process;
mod report;
mod run;
mod tcp;
mod timing;

use clap::{Parser, Subcommand};
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
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
    Run {
        /// The directory with job.json.
        directory: PathBuf,
    },
    /// Sends over the kernel's TCP: the sender of the stack `linux`.
    TcpServer(tcp::ServerArguments),
    /// Receives over the kernel's TCP: the receiver of the stack `linux`.
    TcpClient(tcp::ClientArguments),
    /// What `run` runs as the first process of its namespaces.
    #[command(hide = true)]
    Supervise {
        /// The directory with job.json.
        directory: PathBuf,
    },
    /// What the virtual-clock kernel starts as its first process.
    #[command(hide = true)]
    Guest,
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Run { directory } => isolation::isolated(&[OsStr::new("supervise"), directory.as_os_str()])
            .unwrap_or_else(|error| {
                fail(&format!(
                    "no namespaces ({error}); run as root, or allow user namespaces: `quiclab kernel doctor`"
                ))
            }),
        Command::TcpServer(arguments) => tcp::server(&arguments),
        Command::TcpClient(arguments) => tcp::client(&arguments),
        Command::Supervise { directory } => match supervise(&directory) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error.to_string()),
        },
        Command::Guest => guest::guest(),
    }
}

fn supervise(directory: &Path) -> Result<(), run::LiveError> {
    isolation::end_with_parent()?;
    run::run(directory, &mut std::io::stdout())
}

/// Says what is wrong in a sentence.
fn fail(sentence: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "quiclab-live: {sentence}");
    ExitCode::FAILURE
}
