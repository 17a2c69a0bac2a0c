//! `quiclab-live`: the part of the kernel lane that the Python package starts. See docs/kernel.md.

mod columns;
mod device;
mod hosts;
mod ip;
mod isolation;
mod job;
mod namespace;
mod process;
mod report;
mod run;
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
    /// What `run` runs as the first process of its namespaces.
    #[command(hide = true)]
    Supervise {
        /// The directory with job.json.
        directory: PathBuf,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Run { directory } => isolation::isolated(&[OsStr::new("supervise"), directory.as_os_str()])
            .unwrap_or_else(|error| {
                fail(&format!(
                    "no namespaces ({error}); run as root, or allow user namespaces: `quiclab kernel doctor`"
                ))
            }),
        Command::Supervise { directory } => match supervise(&directory) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error.to_string()),
        },
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
