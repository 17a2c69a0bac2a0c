//! Why a scenario is refused, as one sentence: file, line, field, value and what is allowed.
//!
//! `scenario.toml:14: bearers.dc.batch_packets = 0: allowed is 1 to 65535 packets`

use std::fmt::{self, Display, Formatter};
use thiserror::Error;

/// Why a scenario is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ScenarioError {
    /// The text is not TOML or JSON at all.
    #[error("{place}not valid {format}: {message}")]
    Syntax {
        /// Where the parser stopped.
        place: Place,
        /// `TOML` or `JSON`.
        format: &'static str,
        /// What the parser says.
        message: String,
    },
    /// A field is unknown, missing or has a value that is not allowed.
    #[error("{0}")]
    Field(Box<FieldError>),
}

/// A field that is unknown, missing or has a value that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Where the value was written.
    pub place: Place,
    /// The field.
    pub path: FieldPath,
    /// The value found, as TOML; `None` if there is none.
    pub value: Option<String>,
    /// What is wrong, where `allowed` alone does not say it.
    pub problem: Option<String>,
    /// What is allowed instead.
    pub allowed: String,
}

/// File and line of a value; displayed with what separates it from the rest of the sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The scenario file as the caller named it; `None` if the scenario is not from a file.
    pub file: Option<String>,
    /// Line in the file.
    pub line: Line,
}

/// Line of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Line {
    /// Not known: the scenario has no text with lines.
    #[default]
    Unknown,
    /// Line of the file, from 1.
    Number(usize),
    /// The value was given on the command line, with `--set`.
    Set,
}

/// The way to a field from the root of the scenario: names of fields and indices of arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// The path with these steps.
    pub fn new<S: Into<String>>(steps: impl IntoIterator<Item = S>) -> Self {
        Self(steps.into_iter().map(Into::into).collect())
    }
    /// The path of a field or array element below this one.
    #[must_use]
    pub fn child(&self, step: impl ToString) -> Self {
        let mut path = self.clone();
        path.0.push(step.to_string());
        path
    }
    /// Its steps from the root.
    #[must_use]
    pub fn steps(&self) -> &[String] {
        &self.0
    }
}

impl ScenarioError {
    /// `value` (as TOML) of the field at `path` is not among what is `allowed`.
    pub fn refused(path: FieldPath, value: impl Display, allowed: impl Into<String>) -> Self {
        Self::Field(Box::new(FieldError {
            place: Place::default(),
            path,
            value: Some(value.to_string()),
            problem: None,
            allowed: allowed.into(),
        }))
    }
    /// The field at `path` has a problem that is not its value: it is missing, or its name is wrong.
    pub fn about(path: FieldPath, problem: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self::Field(Box::new(FieldError {
            place: Place::default(),
            path,
            value: None,
            problem: Some(problem.into()),
            allowed: allowed.into(),
        }))
    }
    /// The same error, with a reason beside what is allowed.
    #[must_use]
    pub fn because(mut self, problem: impl Into<String>) -> Self {
        if let Self::Field(field) = &mut self {
            field.problem = Some(problem.into());
        }
        self
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place, self.path)?;
        if let Some(value) = &self.value {
            write!(f, " = {value}")?;
        }
        f.write_str(": ")?;
        if let Some(problem) = &self.problem {
            write!(f, "{problem}, ")?;
        }
        write!(f, "allowed is {}", self.allowed)
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
        }
        match self.line {
            Line::Number(line) => write!(f, "{line}: "),
            Line::Set => f.write_str("--set: "),
            Line::Unknown if self.file.is_some() => f.write_str(" "),
            Line::Unknown => Ok(()),
        }
    }
}

impl Display for FieldPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str(".")?;
            }
            if is_name(step) {
                f.write_str(step)?;
            } else {
                write!(f, "{step:?}")?;
            }
        }
        Ok(())
    }
}

/// Whether `name` can name an element: a TOML bare key.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// `a`, `b` or `c`.
pub(super) fn alternatives<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect();
    match names.split_last() {
        None => "none: there is none".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}
