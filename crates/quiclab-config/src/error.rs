//! A problem with its place in the text, and how it is shown.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use quiclab_core::Problem;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;
use std::sync::Arc;

/// Why a document cannot be used: the problem, and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The error.
    pub problem: Box<Problem>,
    /// Where.
    pub location: Location,
}

/// Where a value was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Location {
    /// Not in a text.
    #[default]
    Unknown,
    /// In this file, at no known position.
    File(String),
    /// On the command line, with `--set`.
    CommandLine,
    /// In a text.
    Text {
        /// Name of the file.
        file: String,
        /// The whole text.
        text: Arc<str>,
        /// The bytes concerned.
        span: Range<usize>,
    },
}

impl Location {
    /// Line and column, from 1; columns count characters.
    #[must_use]
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        let Self::Text { text, span, .. } = self else { return None };
        let before = &text[..boundary(text, span.start)];
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Some((before.matches('\n').count() + 1, column))
    }

    /// Name of the file, if it is one.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::File(file) | Self::Text { file, .. } => Some(file),
            Self::Unknown | Self::CommandLine => None,
        }
    }
}

impl Location {
    /// The message of an error here as compilers show it, without color.
    #[must_use]
    pub fn render_error(&self, sentence: &str) -> String {
        render(Level::ERROR, sentence, self, false)
    }
}

impl Display for Location {
    /// What stands before a sentence: `file:line:column: `, or nothing.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self, self.line_and_column()) {
            (Self::Text { file, .. }, Some((line, column))) => write!(f, "{file}:{line}:{column}: "),
            (Self::File(file), _) => write!(f, "{file}: "),
            (Self::CommandLine, _) => f.write_str("--set: "),
            _ => Ok(()),
        }
    }
}

impl ConfigError {
    /// `problem`, found at `location`.
    #[must_use]
    pub fn new(problem: Problem, location: Location) -> Self {
        Self { problem: Box::new(problem), location }
    }
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        Self { problem: Box::new(problem), location: Location::Unknown }
    }
}

impl std::error::Error for ConfigError {}

impl Display for ConfigError {
    /// On one line: `file:line:column: path: expected ..., got ...`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.location, self.problem)
    }
}

impl ConfigError {
    /// As compilers show it: the sentence, then the line of the text with the place marked. `color` adds the escape
    /// sequences of terminals.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        render(Level::ERROR, &self.problem.to_string(), &self.location, color)
    }
}

/// A sentence, then the line of the text with the place marked, if there is one.
pub(crate) fn render(level: Level<'_>, sentence: &str, location: &Location, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let Location::Text { file, text, span } = location else {
        return renderer.render(&[Group::with_title(level.primary_title(format!("{location}{sentence}")))]);
    };
    // a table of many lines is marked by its first one
    let start = boundary(text, span.start);
    let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    let end = boundary(text, span.end).clamp(start, line_end.max(start));
    let marked = AnnotationKind::Primary.span(start..end);
    let report = [level
        .primary_title(sentence)
        .element(Snippet::source(&**text).path(file.as_str()).annotation(marked))];
    renderer.render(&report)
}

/// The last boundary between characters up to byte `at`: the JSON parser counts bytes.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
