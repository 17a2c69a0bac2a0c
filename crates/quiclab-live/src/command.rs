//! Programs of iproute2, for settings without a simpler interface.

use std::io::{self, ErrorKind};
use std::process::Command;

/// Runs a program in the namespace of the calling thread and returns its output.
///
/// # Errors
/// If it cannot be started (`NotFound`: it is not installed) or fails, with a message.
pub fn succeed(program: &str, arguments: &[&str]) -> io::Result<String> {
    let command = || format!("`{program} {}`", arguments.join(" "));
    let done = Command::new(program).args(arguments).output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            io::Error::new(error.kind(), format!("the program `{program}` is missing; install iproute2"))
        }
        kind => io::Error::new(kind, format!("{} cannot be started: {error}", command())),
    })?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(format!("{} failed: {}", command(), said.trim().replace('\n', " / "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_and_one_that_fails_are_sentences() {
        let missing = succeed("quiclab-no-such-program", &[]).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        assert_eq!(missing.to_string(), "the program `quiclab-no-such-program` is missing; install iproute2");
        let failed = succeed("sh", &["-c", "echo no >&2; exit 3"]).unwrap_err();
        assert_eq!(failed.to_string(), "`sh -c echo no >&2; exit 3` failed: no");
        assert_eq!(succeed("echo", &["yes"]).unwrap(), "yes\n");
    }
}
