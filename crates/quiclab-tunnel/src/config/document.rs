//! A configuration as it was written: errors name file, line, field, value and what is allowed, as those of scenarios do.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;
use thiserror::Error;
use toml_edit::{Document, Item, Table, TomlError, Value};

/// Separates problem and remedy in messages of types: see `QuantityError` of quiclab-core.
const ALLOWED: &str = "; allowed is ";

/// What is wrong with a configuration, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ConfigError {
    /// File and line.
    pub place: String,
    /// Dotted path of the field; empty: the text as a whole.
    pub path: String,
    /// What was written there.
    pub value: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub allowed: String,
}

impl Display for ConfigError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.path.is_empty() {
            f.write_str(&self.path)?;
            if let Some(value) = &self.value {
                write!(f, " = {value}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.problem)?;
        if !self.allowed.is_empty() {
            write!(f, ", allowed is {}", self.allowed)?;
        }
        Ok(())
    }
}

/// The text with the place of each field.
pub struct Source {
    file: String,
    text: String,
    tree: Document<String>,
}

impl Source {
    /// Reads `text`; `file` is its name in errors.
    ///
    /// # Errors
    /// If it is not TOML.
    pub fn new(text: String, file: &str) -> Result<Self, ConfigError> {
        let wrong = |error: TomlError| ConfigError {
            place: match error.span() {
                Some(span) => format!("{file}:{}", line(&text, span.start)),
                None => file.to_owned(),
            },
            path: String::new(),
            value: None,
            problem: error.message().replace('\n', ", "),
            allowed: "TOML".to_owned(),
        };
        let tree = Document::parse(text.clone()).map_err(wrong)?;
        Ok(Self { file: file.to_owned(), text, tree })
    }

    /// The typed configuration.
    ///
    /// # Errors
    /// About the first field that has a wrong type or name, or is missing.
    pub fn decode<T: serde::de::DeserializeOwned>(&self) -> Result<T, ConfigError> {
        toml::from_str(&self.text).map_err(|error| {
            let path = error.span().map_or_else(Vec::new, |span| self.path_at(&span));
            let message = error.message().replace('\n', ", ");
            let (problem, allowed) = match message.split_once(ALLOWED) {
                Some((problem, allowed)) => (problem.to_owned(), allowed.to_owned()),
                // serde says "unknown field `x`, expected one of ..."
                None => match message.split_once(", expected ") {
                    Some((problem, allowed)) => (problem.to_owned(), in_words(allowed).to_owned()),
                    None => {
                        let allowed = in_words(&message);
                        let allowed = if allowed == message { "" } else { allowed };
                        (message.clone(), allowed.to_owned())
                    }
                },
            };
            let mut refused = self.error(&path.join("."), problem, allowed);
            if let Some(span) = error.span() {
                refused.place = format!("{}:{}", self.file, line(&self.text, span.start));
            }
            refused
        })
    }

    /// An error about the field at `path` (steps joined by dots; elements of arrays by index), or, where it was not
    /// written, about the nearest table around it.
    pub fn error(&self, path: &str, problem: impl Into<String>, allowed: impl Into<String>) -> ConfigError {
        let mut item = Some(self.tree.as_item());
        let mut span = None;
        let mut remaining = path;
        while let Some(here) = item.filter(|_| !remaining.is_empty()) {
            let (step, rest) = remaining.split_once('.').unwrap_or((remaining, ""));
            let next = below(here, step);
            if let Some((place, _)) = &next {
                span = place.clone().or(span);
            }
            item = next.map(|(_, item)| item).and_then(|next| match next {
                Below::Item(item) => Some(item),
                Below::Other => None,
            });
            remaining = rest;
        }
        let value = item.filter(|_| remaining.is_empty() && !path.is_empty()).and_then(shown);
        let place = match span {
            Some(span) => format!("{}:{}", self.file, line(&self.text, span.start)),
            None => self.file.clone(),
        };
        ConfigError { place, path: path.to_owned(), value, problem: problem.into(), allowed: allowed.into() }
    }

    /// The innermost field whose text has `span` in it.
    fn path_at(&self, span: &Range<usize>) -> Vec<String> {
        let mut path = Vec::new();
        let mut item = self.tree.as_item();
        'deeper: loop {
            match item {
                Item::Table(table) => {
                    for (key, entry) in table.iter() {
                        if is_around(table, key, entry, span) {
                            path.push(key.to_owned());
                            item = entry;
                            continue 'deeper;
                        }
                    }
                }
                // an entry has no item of its own; its fields have
                Item::ArrayOfTables(array) => {
                    for (index, table) in array.iter().enumerate() {
                        if let Some((key, entry)) =
                            table.iter().find(|(key, entry)| is_around(table, key, entry, span))
                        {
                            path.extend([index.to_string(), key.to_owned()]);
                            item = entry;
                            continue 'deeper;
                        }
                    }
                }
                _ => {}
            }
            return path;
        }
    }
}

/// What serde and the standard library expect, as people write it in the file.
fn in_words(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list such as `[\"...\"]`",
        "a map" => "a table",
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" | "usize" => "a whole number",
        "internally tagged enum QueueConfig" => "a table such as `{ kind = \"fq_codel\" }`",
        "invalid socket address syntax" => {
            "an address with port such as `192.0.2.1:4433` or `[2001:db8::1]:4433`"
        }
        "invalid IP address syntax" => "an address such as `192.0.2.1` or `2001:db8::1`",
        "invalid IPv4 address syntax" => "an address such as `10.77.0.5`",
        "invalid IPv6 address syntax" => "an address such as `fd77::5`",
        other => other,
    }
}

/// Whether the text of a field, or of one below it, has `span` in it. The fields of a table may stand in several places.
fn is_around(table: &Table, key: &str, item: &Item, span: &Range<usize>) -> bool {
    let holds = |outer: Option<Range<usize>>| {
        outer.is_some_and(|outer| outer.start <= span.start && span.end <= outer.end)
    };
    let below = |table: &Table| table.iter().any(|(key, item)| is_around(table, key, item, span));
    holds(table.key(key).and_then(toml_edit::Key::span))
        || match item {
            Item::Table(table) => below(table),
            Item::ArrayOfTables(array) => array.iter().any(below),
            _ => holds(item.span()),
        }
}

enum Below<'a> {
    Item(&'a Item),
    /// An entry of an array: nothing is asked of what is inside.
    Other,
}

fn below<'a>(item: &'a Item, step: &str) -> Option<(Option<Range<usize>>, Below<'a>)> {
    if let Ok(index) = step.parse::<usize>() {
        return match item {
            Item::Value(Value::Array(array)) => array.get(index).map(|value| (value.span(), Below::Other)),
            Item::ArrayOfTables(_) => {
                item.get(index).map(|item| (item.span(), Below::Item(item))).or_else(|| {
                    let Item::ArrayOfTables(array) = item else { return None };
                    array.get(index).map(|table| (table.span(), Below::Other))
                })
            }
            _ => None,
        };
    }
    let next = item.get(step)?;
    let key = item.as_table().and_then(|table| table.key(step)).and_then(toml_edit::Key::span);
    Some((key.or_else(|| next.span()), Below::Item(next)))
}

fn shown(item: &Item) -> Option<String> {
    match item {
        Item::Value(Value::InlineTable(_) | Value::Array(_))
        | Item::Table(_)
        | Item::ArrayOfTables(_)
        | Item::None => None,
        Item::Value(value) => Some(value.to_string().trim().to_owned()),
    }
}

/// Number of the line that the byte at `offset` is in.
fn line(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}
