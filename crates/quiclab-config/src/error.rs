//! A problem with its location in the text, and its rendering.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use quiclab_core::Problem;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;
use std::sync::Arc;

/// Reason why a document cannot be used: a problem and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The error.
    pub problem: Box<Problem>,
    /// Location of the value.
    pub location: Location,
}

/// Location of a value in its source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Location {
    /// Source without a text.
    #[default]
    Unknown,
    /// A file, at an unknown position.
    File(String),
    /// On the command line, with `--set`.
    CommandLine,
    /// Position in a text.
    Text {
        /// Name of the file.
        file: String,
        /// The whole text.
        text: Arc<str>,
        /// Bytes of the value.
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
    /// The message of an error at this location as compilers show it, without color.
    #[must_use]
    pub fn render_error(&self, sentence: &str) -> String {
        render(Level::ERROR, sentence, self, false)
    }
}

impl Display for Location {
    /// Writes the prefix of a sentence: `file:line:column: `, or nothing.
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
    /// Rendering as compilers show errors: the sentence, then the line of the text with the location marked.
    /// `color` adds the escape sequences of terminals.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        render(Level::ERROR, &self.problem.to_string(), &self.location, color)
    }
}

/// The sentence, then the line of the text with the location marked, if there is one.
pub(crate) fn render(level: Level<'_>, sentence: &str, location: &Location, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let Location::Text { file, text, span } = location else {
        return renderer.render(&[Group::with_title(level.primary_title(format!("{location}{sentence}")))]);
    };
    // only the first line of a table is marked
    let start = boundary(text, span.start);
    let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    let end = boundary(text, span.end).clamp(start, line_end.max(start));
    let marked = AnnotationKind::Primary.span(start..end);
    let report = [level
        .primary_title(sentence)
        .element(Snippet::source(&**text).path(file.as_str()).annotation(marked))];
    renderer.render(&report)
}

/// The last character boundary up to byte `at`: the JSON parser counts bytes.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
