//! The stack `linux`: a sender and a receiver on the kernel's TCP.
//!
//! The server reads a request of known length and answers it with a number of bytes, or for a time; the
//! client sends a request, reads, pauses and repeats. Nothing else is on the wire: the results are those of
//! TCP. The first eight bytes of a request (if it is that long) are the start time of the client, by
//! CLOCK_MONOTONIC, which both ends share: a download for a time ends at the same instant for both.

mod client;
mod counters;
mod info;
mod probe;
mod report;
mod server;
mod socket;

pub use client::ClientArguments;
pub use server::ServerArguments;

use std::process::ExitCode;

/// Runs the sender until its client has closed.
pub fn server(arguments: &ServerArguments) -> ExitCode {
    conclude("tcp-server", &arguments.report, server::serve(arguments))
}

/// Runs the receiver until it has everything.
pub fn client(arguments: &ClientArguments) -> ExitCode {
    conclude("tcp-client", &arguments.report, client::receive(arguments))
}

/// Writes the report, and reports an error.
fn conclude(name: &str, path: &std::path::Path, report: report::Report) -> ExitCode {
    let written =
        report.write(path).map_err(|error| format!("{} cannot be written: {error}", path.display()));
    let failures = [report.failure, written.err()];
    let failed = failures.iter().any(Option::is_some);
    for failure in failures.into_iter().flatten() {
        eprintln!("{name}: {failure}");
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
