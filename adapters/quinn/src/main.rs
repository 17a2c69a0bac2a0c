//! `quiclab-quinn`: a sender and a receiver on quinn, on real sockets, for the kernel lane of quiclab.
//!
//! The client opens a stream for each request; the server answers on it with a number of bytes, or for a
//! time. The first eight bytes of a request (where it has as many) say when the client started, by
//! CLOCK_MONOTONIC. Both ends report in the format `quiclab.report/1` (docs/adapters.md).

mod client;
mod report;
mod server;
mod transport;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Parser)]
#[command(name = "quiclab-quinn", version, about = "A sender and a receiver on quinn")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answers the requests of one client.
    Server(server::ServerArguments),
    /// Asks and reads the answers.
    Client(client::ClientArguments),
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the operating system has sockets and timers");
    let failure = runtime.block_on(async {
        match Arguments::parse().command {
            Command::Server(arguments) => server::serve(&arguments).await,
            Command::Client(arguments) => client::receive(&arguments).await,
        }
    });
    match failure {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("quiclab-quinn: {sentence}");
            ExitCode::FAILURE
        }
    }
}

/// Comes when the program is asked to stop.
async fn stop_request() {
    let mut term = signal(SignalKind::terminate()).expect("SIGTERM can be handled");
    let mut int = signal(SignalKind::interrupt()).expect("SIGINT can be handled");
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}
