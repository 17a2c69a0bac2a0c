//! `top`: live status of a tunnel: on a terminal as a screen that is redrawn, elsewhere as lines.
//!
//! | module | |
//! | --- | --- |
//! | `rates` | differences of two statuses |
//! | `view` | lines of text |
//! | `terminal` | screen and keys |

mod rates;
mod terminal;
mod view;

pub use view::{Line, Style, lines};

use crate::status::Status;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::time::Duration;
use terminal::{Input, Terminal};

/// Error that ends it before the user does.
#[derive(Debug, thiserror::Error)]
pub enum TopError {
    /// The tunnel does not answer; with a message.
    #[error("{0}")]
    Status(String),
    /// The output cannot be written or the terminal cannot be set.
    #[error("{}", quiclab_core::problem::system_reason(.0))]
    Output(#[from] io::Error),
}

/// Shows the result of `ask` every `interval`, until the user ends it. With `once`, and if the standard output is
/// not a terminal, it prints lines; with `once` only the first ones.
///
/// # Errors
/// If the tunnel does not answer at the start, or while lines are printed; if the output cannot be written.
pub fn run(
    interval: Duration,
    once: bool,
    mut ask: impl FnMut() -> Result<Status, String>,
) -> Result<(), TopError> {
    let first = ask().map_err(TopError::Status)?;
    if once || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return match print(interval, once, first, ask) {
            Err(TopError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other,
        };
    }
    let mut terminal = Terminal::open()?;
    let (mut before, mut now) = (None, Ok(first));
    let mut scrolled = 0;
    loop {
        let shown = match &now {
            Ok(status) => lines(before.as_ref(), status),
            Err(sentence) => vec![Line::new(Style::Alert, format!("quiclab-tunnel: {sentence}"))],
        };
        scrolled = terminal.draw(&shown, scrolled)?;
        match terminal.wait(interval)? {
            Input::End => return Ok(()),
            Input::Scroll(by) => scrolled = scrolled.saturating_add_signed(by),
            Input::Resized => {}
            Input::Due => before = std::mem::replace(&mut now, ask()).ok(),
        }
    }
}

fn print(
    interval: Duration,
    once: bool,
    first: Status,
    mut ask: impl FnMut() -> Result<Status, String>,
) -> Result<(), TopError> {
    let mut before = first;
    loop {
        std::thread::sleep(interval);
        let now = ask().map_err(TopError::Status)?;
        let mut text = String::new();
        for line in lines(Some(&before), &now) {
            text += line.text.trim_end();
            text.push('\n');
        }
        if !once {
            text.push('\n');
        }
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        if once {
            return Ok(());
        }
        before = now;
    }
}
