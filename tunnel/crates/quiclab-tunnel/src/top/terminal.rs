//! A terminal whose screen is redrawn, in one write and line by line over the former content, so that it does not flicker.
//! Escape sequences are those of ECMA-48 and xterm, which every current terminal supports; a terminal with synchronized
//! output (mode 2026) shows each frame at once, and others ignore that mode.

use super::view::{Line, Style};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Alternate screen, cursor hidden, no wrapping of lines.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Size of a terminal that does not report its own.
const USUAL_SIZE: (usize, usize) = (24, 80);

/// Event that ends [`Terminal::wait`].
pub(super) enum Input {
    /// The user or a signal ends it.
    End,
    /// The user scrolls down by this number of lines.
    Scroll(isize),
    /// The terminal has another size.
    Resized,
    /// The next status is due.
    Due,
}

/// The terminal, restored to its former state on drop.
pub(super) struct Terminal {
    before: Termios,
    ends: UnixStream,
    resized: UnixStream,
    /// Time at which the next status is due; `None`: not decided yet.
    due: Option<Instant>,
}

impl Terminal {
    /// Opens the terminal of standard input and output.
    pub(super) fn open() -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
        let ends = crate::daemon::receive(&[SIGINT, SIGTERM, SIGHUP])?;
        let resized = crate::daemon::receive(&[SIGWINCH])?;
        let before = tcgetattr(io::stdin())?;
        let terminal = Self { before: before.clone(), ends, resized, due: None };
        let mut raw = before;
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        show(ENTER)?;
        Ok(terminal)
    }

    /// Shows as many of `lines` as fit, the first one always and the others from `scrolled` on; returns the actual
    /// scroll offset, which is smaller at the end of the lines.
    pub(super) fn draw(&self, lines: &[Line], scrolled: usize) -> io::Result<usize> {
        let size = tcgetwinsize(io::stdout()).ok().map(|size| (size.ws_row.into(), size.ws_col.into()));
        let (rows, columns) = size.filter(|(rows, columns)| rows * columns > 0).unwrap_or(USUAL_SIZE);
        let (picture, scrolled) = picture(lines, scrolled, rows, columns);
        show(&picture)?;
        Ok(scrolled)
    }

    /// Waits for a key, a signal, another size, or until `interval` has passed since this last returned [`Input::Due`].
    pub(super) fn wait(&mut self, interval: Duration) -> io::Result<Input> {
        let due = *self.due.get_or_insert_with(|| Instant::now() + interval);
        loop {
            let left = due.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            let stdin = io::stdin();
            let mut fds = [stdin.as_fd(), self.ends.as_fd(), self.resized.as_fd()]
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            match poll(&mut fds, Some(&timeout)) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let [keys, ends, resized] = fds.map(|fd| !fd.revents().is_empty());
            let mut buffer = [0; 64];
            if ends {
                return Ok(Input::End);
            }
            if resized {
                let _ = self.resized.read(&mut buffer);
                return Ok(Input::Resized);
            }
            if keys {
                let count = rustix::io::read(stdin, &mut buffer)?;
                if let Some(input) = key(&buffer[..count]) {
                    return Ok(input);
                }
            }
            if Instant::now() >= due {
                self.due = None;
                return Ok(Input::Due);
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = show(LEAVE);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

fn show(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Meaning of a read from the keyboard; `None` if it has none. An empty read is the end of the terminal.
fn key(read: &[u8]) -> Option<Input> {
    match read {
        // Ctrl-C and Ctrl-D are read as bytes
        [] | [b'q' | b'Q' | 3 | 4, ..] => Some(Input::End),
        [b'k', ..] | b"\x1b[A" | b"\x1bOA" => Some(Input::Scroll(-1)),
        [b'j', ..] | b"\x1b[B" | b"\x1bOB" => Some(Input::Scroll(1)),
        b"\x1b[5~" => Some(Input::Scroll(-10)),
        [b' ', ..] | b"\x1b[6~" => Some(Input::Scroll(10)),
        _ => None,
    }
}

/// Escape sequences and texts of a screen, and its scroll offset.
fn picture(lines: &[Line], scrolled: usize, rows: usize, columns: usize) -> (String, usize) {
    let below = rows.saturating_sub(1);
    let rest = lines.get(1..).unwrap_or_default();
    let scrolled = scrolled.min(rest.len().saturating_sub(below));
    let shown = lines.iter().take(1).chain(rest.iter().skip(scrolled).take(below));
    let mut out = String::from("\x1b[?2026h\x1b[H");
    for (row, line) in shown.enumerate() {
        let text: String = line.text.chars().take(columns).collect();
        let style = match line.style {
            Style::Plain => "",
            Style::Title => "\x1b[1m",
            Style::Columns => "\x1b[2m",
            Style::Alert => "\x1b[31m",
        };
        let next = if row == 0 { "" } else { "\r\n" };
        let _ = write!(out, "{next}{style}{text}\x1b[m\x1b[K");
    }
    out.push_str("\x1b[J\x1b[?2026l");
    (out, scrolled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(picture: &str) -> Vec<String> {
        let plain = picture.replace("\x1b[?2026h\x1b[H", "").replace("\x1b[J\x1b[?2026l", "");
        plain.split("\r\n").map(|line| line.replace("\x1b[m\x1b[K", "")).collect()
    }

    #[test]
    fn a_screen_has_what_fits_and_the_first_line_always() {
        let lines: Vec<_> = (0..10).map(|number| Line::new(Style::Plain, format!("line {number}"))).collect();
        let (screen, scrolled) = picture(&lines, 0, 4, 6);
        assert_eq!(
            (texts(&screen), scrolled),
            (["line 0", "line 1", "line 2", "line 3"].map(Into::into).into(), 0)
        );
        let (screen, scrolled) = picture(&lines, 2, 4, 4);
        assert_eq!((texts(&screen), scrolled), (["line"; 4].map(Into::into).into(), 2), "cut at the width");
        let (screen, scrolled) = picture(&lines, 99, 4, 80);
        assert_eq!(
            (texts(&screen), scrolled),
            (["line 0", "line 7", "line 8", "line 9"].map(Into::into).into(), 6)
        );
        assert_eq!(texts(&picture(&lines, 3, 20, 80).0).len(), 10, "all fit");
        assert_eq!(texts(&picture(&lines, 3, 1, 80).0), ["line 0"]);
        assert!(!screen.contains("\x1b[2J"), "a screen that is cleared first flickers");
    }

    #[test]
    fn keys_end_and_scroll() {
        assert!(matches!(key(b"q"), Some(Input::End)) && matches!(key(&[3]), Some(Input::End)));
        assert!(matches!(key(b""), Some(Input::End)), "the terminal is gone");
        assert!(
            matches!(key(b"\x1b[B"), Some(Input::Scroll(1))) && matches!(key(b"k"), Some(Input::Scroll(-1)))
        );
        assert!(key(b"x").is_none());
    }
}
