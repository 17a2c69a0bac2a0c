//! Reason why a configuration cannot be used, as data: the field, its value, the expected value.
//!
//! There is one sentence per kind of problem, written by [`Problem`]'s `Display`. Callers use `path` and `kind`; no
//! code parses a sentence.

use std::fmt::{self, Display, Formatter};

/// Path of a field from the root of a document: names of fields and indices of arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// Creates the path with these steps.
    pub fn new<S: Into<String>>(steps: impl IntoIterator<Item = S>) -> Self {
        Self(steps.into_iter().map(Into::into).collect())
    }

    /// The path of a field or an array element below this one.
    #[must_use]
    pub fn child(&self, step: impl ToString) -> Self {
        let mut path = self.clone();
        path.0.push(step.to_string());
        path
    }

    /// This path, followed by the steps of `inner`.
    #[must_use]
    pub fn join(&self, inner: &Self) -> Self {
        Self(self.0.iter().chain(&inner.0).cloned().collect())
    }

    /// Steps from the root.
    #[must_use]
    pub fn steps(&self) -> &[String] {
        &self.0
    }
}

impl From<&str> for FieldPath {
    /// Steps joined by dots, as in `quic.idle_timeout`.
    fn from(dotted: &str) -> Self {
        Self::new(dotted.split('.').filter(|step| !step.is_empty()))
    }
}

/// Whether `name` can be written without quotation marks, as a TOML bare key.
#[must_use]
pub fn is_bare_key(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

impl Display for FieldPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str(".")?;
            }
            if is_bare_key(step) {
                f.write_str(step)?;
            } else {
                write!(f, "{step:?}")?;
            }
        }
        Ok(())
    }
}

/// The kind of error of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The text is not a document of its format.
    Syntax,
    /// No such field exists.
    UnknownField,
    /// A required field is missing.
    MissingField,
    /// The value has the wrong type, such as a number in place of a string.
    WrongType,
    /// The value has the right type but is outside the accepted range.
    OutOfRange,
    /// The value is not one of the names that the field accepts.
    UnknownName,
    /// The value is inconsistent with another field.
    Conflict,
    /// The stack, program or element has no such option.
    Unsupported,
    /// The file that the value names cannot be read, or its content is not valid.
    File,
}

/// Maximum number of names that a sentence lists if it also suggests one of them.
pub const MAX_LISTED: usize = 12;

/// Reason why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field.
    pub path: FieldPath,
    /// The kind of error.
    pub kind: ProblemKind,
    /// The value in the document, as TOML; `None` if there is none.
    pub value: Option<String>,
    /// Accepted values of the field, in words; empty where `reason` is sufficient.
    pub expected: String,
    /// Reason, where `expected` alone is not sufficient.
    pub reason: Option<String>,
    /// A name that the author may have meant.
    pub suggestion: Option<Box<str>>,
}

impl Problem {
    /// Creates a problem of this kind, without a value.
    pub fn new(kind: ProblemKind, path: impl Into<FieldPath>, expected: impl Into<String>) -> Self {
        let (path, expected) = (path.into(), expected.into());
        Self { path, kind, value: None, expected, reason: None, suggestion: None }
    }

    /// Reports that `value` (as TOML) is outside the accepted range of the field.
    pub fn value(path: impl Into<FieldPath>, value: impl Display, expected: impl Into<String>) -> Self {
        Self::new(ProblemKind::OutOfRange, path, expected).got(value)
    }

    /// Reports that `value` (as TOML) is inconsistent with another field.
    pub fn conflict(path: impl Into<FieldPath>, value: impl Display, expected: impl Into<String>) -> Self {
        Self::new(ProblemKind::Conflict, path, expected).got(value)
    }

    /// Reports that `name` is not one of the names that the field accepts.
    pub fn unknown<S: AsRef<str>>(
        path: impl Into<FieldPath>,
        name: &str,
        known: impl IntoIterator<Item = S>,
    ) -> Self {
        let known: Vec<_> = known.into_iter().map(|name| name.as_ref().to_owned()).collect();
        let suggestion = nearest(name, &known).map(Into::into);
        let expected = match suggestion {
            Some(_) if known.len() > MAX_LISTED => format!("one of {} names", known.len()),
            _ => quoted_alternatives(known.iter().map(|name| format!("{name:?}"))),
        };
        Self { suggestion, ..Self::new(ProblemKind::UnknownName, path, expected).got(format!("{name:?}")) }
    }

    /// Reports that the stack or element has no such option; `instead` is the alternative, as an imperative such as
    /// "use `tcp.mss`".
    pub fn unsupported(path: impl Into<FieldPath>, by: &str, instead: &str) -> Self {
        let remedy = if instead.is_empty() { String::new() } else { format!("; {instead}") };
        Self::new(ProblemKind::Unsupported, path, "").because(format!("not supported by {by}{remedy}"))
    }

    /// Reports that the stack has no profiles, and thus not `profile`.
    pub fn no_profiles(stack: &str, profile: &str) -> Self {
        let reason = format!("`{stack}` has no profiles");
        Self::new(ProblemKind::Unsupported, "profile", "").because(reason).got(format!("{profile:?}"))
    }

    /// Reports that the file that the value names cannot be used; its name is filled in where the document is known.
    pub fn file(path: impl Into<FieldPath>, reason: impl Into<String>) -> Self {
        Self::new(ProblemKind::File, path, "").got("").because(reason)
    }

    /// Adds this value (as TOML).
    #[must_use]
    pub fn got(mut self, value: impl Display) -> Self {
        self.value = Some(value.to_string());
        self
    }

    /// Adds a reason.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Moves the problem to a field below `path`.
    #[must_use]
    pub fn below(mut self, path: &FieldPath) -> Self {
        self.path = path.join(&self.path);
        self
    }
}

impl std::error::Error for Problem {}

impl Display for Problem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.path.steps().is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        self.sentence().fmt(f)
    }
}

impl Problem {
    /// The problem without the path: "expected ..., got ...".
    #[must_use]
    pub fn sentence(&self) -> String {
        let expected = (!self.expected.is_empty()).then(|| format!("expected {}", self.expected));
        let mut parts: Vec<String> = Vec::new();
        match (self.kind, &self.value) {
            (ProblemKind::UnknownField, _) => {
                parts.push("unknown field".to_owned());
                parts.extend(expected);
                parts.extend(self.reason.clone());
            }
            (ProblemKind::MissingField, _) => {
                parts.push("missing".to_owned());
                parts.extend(expected);
                parts.extend(self.reason.clone());
            }
            (ProblemKind::File, Some(value)) => {
                let reason = self.reason.as_deref().unwrap_or("not usable");
                parts.push(format!("{value}: {reason}"));
                parts.extend(expected);
            }
            (_, Some(value)) => match expected {
                Some(expected) => {
                    parts.push(format!("{expected}, got {value}"));
                    parts.extend(self.reason.clone());
                }
                None => {
                    parts.extend(self.reason.clone());
                    parts.push(format!("got {value}"));
                }
            },
            (_, None) => {
                parts.extend(self.reason.clone());
                parts.extend(expected);
            }
        }
        if let Some(suggestion) = &self.suggestion {
            parts.push(format!("did you mean `{suggestion}`?"));
        }
        parts.join("; ")
    }
}

/// Checks a requirement of a configuration.
///
/// # Errors
/// The problem, if the requirement does not hold.
pub fn ensure(holds: bool, problem: impl FnOnce() -> Problem) -> Result<(), Problem> {
    if holds { Ok(()) } else { Err(problem()) }
}

/// A value that is written as a string in TOML and JSON.
pub fn quoted(value: impl Display) -> String {
    format!("{:?}", value.to_string())
}

/// The name of a choice, as documents write it: alone, or as the `kind` of a table.
///
/// # Panics
/// If the value is neither.
pub fn name_of(choice: &impl serde::Serialize) -> String {
    let written = serde_json::to_value(choice).expect("choices have string keys only");
    let name = written.get("kind").unwrap_or(&written).as_str();
    name.expect("a choice is a name or a table with `kind`").to_owned()
}

/// `a`, `b` or `c`, in the notation of field names.
pub fn alternatives<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    quoted_alternatives(names.into_iter().map(|name| format!("`{}`", name.as_ref())))
}

/// "a", "b" or "c", in the notation of string values.
pub fn values<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    quoted_alternatives(names.into_iter().map(|name| format!("{:?}", name.as_ref())))
}

fn quoted_alternatives(names: impl Iterator<Item = String>) -> String {
    let names: Vec<_> = names.collect();
    match names.split_last() {
        None => "nothing: none is defined".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

/// Reason why a file cannot be read or written, as stated by the operating system.
#[must_use]
pub fn system_reason(error: &std::io::Error) -> String {
    let sentence = error.to_string();
    // the number adds nothing to the words for users
    let number = error.raw_os_error().map_or_else(String::new, |code| format!(" (os error {code})"));
    sentence.strip_suffix(&number).unwrap_or(&sentence).to_owned()
}

/// The name in `known` that `name` is most likely a misspelling of, or else the first one that begins with it as a word
/// (`bbr` of `bbr-linux`), if there is one.
#[must_use]
pub fn nearest<S: AsRef<str>>(name: &str, known: &[S]) -> Option<String> {
    let name = name.to_lowercase();
    let distance = |candidate: &&S| strsim::damerau_levenshtein(&name, &candidate.as_ref().to_lowercase());
    // a third of the letters may be wrong: `packts` for `packets`, not `rate` for `queue`
    let close = |candidate: &&S| {
        let longest = name.chars().count().max(candidate.as_ref().chars().count());
        3 * distance(candidate) <= longest
    };
    let first_word = |candidate: &&S| {
        let candidate = candidate.as_ref().to_lowercase();
        let rest = candidate.strip_prefix(&name).filter(|_| name.chars().count() > 1);
        rest.is_some_and(|rest| rest.starts_with(['-', '_', '.', ' ']))
    };
    let found = known.iter().filter(close).min_by_key(distance).or_else(|| known.iter().find(first_word));
    found.map(|candidate| candidate.as_ref().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_say_expected_and_got() {
        let path = FieldPath::new(["links", "down 1", "rate"]);
        let wrong = Problem::value(path.clone(), "\"20 Mbit\"", "a rate such as \"20 Mbit/s\"");
        assert_eq!(
            wrong.clone().because("unknown unit `Mbit`").to_string(),
            "links.\"down 1\".rate: expected a rate such as \"20 Mbit/s\", got \"20 Mbit\"; unknown unit `Mbit`"
        );
        let missing = Problem::new(ProblemKind::MissingField, path.clone(), "a rate");
        assert_eq!(missing.sentence(), "missing; expected a rate");
        let unsupported = Problem::unsupported("datagram_size", "lab-tcp", "use `tcp.mss`");
        assert_eq!(unsupported.to_string(), "datagram_size: not supported by lab-tcp; use `tcp.mss`");
        let without = Problem::no_profiles("quinn", "quic-go");
        assert_eq!(without.to_string(), "profile: `quinn` has no profiles; got \"quic-go\"");
        let absent = system_reason(&std::io::Error::from_raw_os_error(2));
        assert_eq!(absent, "No such file or directory");
        let file = Problem::file("file", absent).got("\"a.csv\"");
        assert_eq!(file.to_string(), "file: \"a.csv\": No such file or directory");
    }

    #[test]
    fn a_misspelled_name_is_recognised_and_another_one_is_not() {
        let known = ["drop_tail", "head_drop", "codel", "fq_codel"];
        assert_eq!(nearest("drop_tial", &known).as_deref(), Some("drop_tail"));
        assert_eq!(nearest("codle", &known).as_deref(), Some("codel"));
        assert_eq!(nearest("pie", &known), None);
        let controls = ["cubic", "bbr-linux", "bbr-v3", "fixed"];
        assert_eq!(nearest("bbr", &controls).as_deref(), Some("bbr-linux"), "the first of its kind");
        assert_eq!(nearest("BBR", &controls).as_deref(), Some("bbr-linux"));
        assert_eq!((nearest("b", &controls), nearest("", &controls)), (None, None));
        let many: Vec<_> = (10..40).map(|number| format!("queue{number}")).collect();
        let misspelt = Problem::unknown("kind", "qeue12", &many);
        assert_eq!(misspelt.sentence(), "expected one of 30 names, got \"qeue12\"; did you mean `queue12`?");
        assert!(Problem::unknown("kind", "x", &many).expected.starts_with("\"queue10\", \"queue11\", "));
        let unknown = Problem::unknown("kind", "fq_code", known);
        assert_eq!(
            unknown.sentence(),
            "expected \"drop_tail\", \"head_drop\", \"codel\" or \"fq_codel\", got \"fq_code\"; did you mean `fq_codel`?"
        );
    }
}
