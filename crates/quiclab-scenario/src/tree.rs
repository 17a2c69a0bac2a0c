//! A scenario as it was written: values that know the line they come from.
//!
//! TOML, JSON and `--set` all lead to this tree; the typed scenario is deserialised from it
//! (`decode`), and errors look up the line and the value they complain about in it.

use super::error::{FieldPath, Line, Place, ScenarioError, is_name};
use std::collections::BTreeMap;
use std::fmt::Write;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) line: Line,
}

/// What was written.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Array(Vec<Node>),
    Table(BTreeMap<String, Node>),
    /// What no field of a scenario takes: a date, an integer beyond 64 bits, a JSON null.
    Foreign(String),
}

impl Node {
    pub(super) fn text(text: impl Into<String>, line: Line) -> Self {
        Self { value: Value::Text(text.into()), line }
    }

    /// Reads a TOML document.
    pub(super) fn from_toml(text: &str, file: &str) -> Result<Self, ScenarioError> {
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let line = |offset: usize| Line::Number(starts.partition_point(|start| *start <= offset));
        let root = DeTable::parse(text).map_err(|error| ScenarioError::Syntax {
            place: Place {
                file: Some(file.to_owned()),
                line: error.span().map_or(Line::Unknown, |span| line(span.start)),
            },
            format: "TOML",
            message: error.message().lines().collect::<Vec<_>>().join(", "),
        })?;
        Ok(Self { value: toml_table(root.get_ref(), &line), line: Line::Number(1) })
    }

    /// Reads a JSON document. A null stands for a field that is not given.
    pub(super) fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let root: serde_json::Value = serde_json::from_str(text).map_err(|error| ScenarioError::Syntax {
            place: Place { file: None, line: Line::Number(error.line()) },
            format: "JSON",
            message: error.to_string(),
        })?;
        Ok(json_value(&root))
    }

    /// Reads a value given with `--set`: TOML if it parses as that, otherwise a text.
    pub(super) fn from_argument(text: &str) -> Self {
        match DeValue::parse(text.trim()) {
            Ok(value) => Self { value: toml_value(value.get_ref(), &|_| Line::Set), line: Line::Set },
            Err(_) => Self::text(text, Line::Set),
        }
    }

    fn child(&self, step: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(table) => table.get(step),
            Value::Array(array) => array.get(step.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// The node at `path`.
    pub(super) fn get(&self, path: &FieldPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, |node, step| node.child(step))
    }

    /// The node at `path`, to be changed.
    pub(super) fn get_mut(&mut self, path: &FieldPath) -> Option<&mut Self> {
        path.steps().iter().try_fold(self, |node, step| match &mut node.value {
            Value::Table(table) => table.get_mut(step),
            Value::Array(array) => array.get_mut(step.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Line of the deepest node on the way to `path`.
    pub(super) fn nearest_line(&self, path: &FieldPath) -> Line {
        let mut node = self;
        for step in path.steps() {
            match node.child(step) {
                Some(child) => node = child,
                None => break,
            }
        }
        node.line
    }

    /// Puts `value` at `path`; tables on the way are created, elements of arrays are counted from
    /// 0, and the number after the last one appends.
    pub(super) fn set(&mut self, path: &FieldPath, value: Self) -> Result<(), ScenarioError> {
        let mut node = self;
        for (depth, step) in path.steps().iter().enumerate() {
            let written = node.shown();
            let here = || FieldPath::new(&path.steps()[..depth]);
            node = match &mut node.value {
                Value::Table(table) => table
                    .entry(step.clone())
                    .or_insert(Self { value: Value::Table(BTreeMap::new()), line: Line::Set }),
                Value::Array(array) => {
                    let end = array.len();
                    let index =
                        step.parse::<usize>().ok().filter(|index| *index <= end).ok_or_else(|| {
                            ScenarioError::refused(here(), written, format!("an index from 0 to {end}"))
                                .because(format!("`--set` asks for element `{step}`"))
                        })?;
                    if index == end {
                        array.push(Self { value: Value::Table(BTreeMap::new()), line: Line::Set });
                    }
                    &mut array[index]
                }
                _ => {
                    return Err(ScenarioError::refused(here(), written, "`--set` of the whole value")
                        .because(format!("`--set` asks for the field `{step}` of what is not a table")));
                }
            };
        }
        *node = value;
        Ok(())
    }

    /// The value as TOML, shortened to what fits into a sentence.
    pub(super) fn shown(&self) -> String {
        const LONGEST: usize = 60;
        let mut text = String::new();
        self.write(&mut text, LONGEST);
        if text.chars().count() > LONGEST {
            text = text.chars().take(LONGEST).chain("...".chars()).collect();
        }
        text
    }

    fn write(&self, out: &mut String, longest: usize) {
        if out.len() > 4 * longest {
            return; // enough for `longest` characters of any length
        }
        match &self.value {
            Value::Boolean(value) => _ = write!(out, "{value}"),
            Value::Integer(value) => _ = write!(out, "{value}"),
            Value::Float(value) => _ = write!(out, "{value:?}"),
            Value::Text(value) => _ = write!(out, "{value:?}"),
            Value::Foreign(value) => out.push_str(value),
            Value::Array(array) => {
                out.push('[');
                for (index, node) in array.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    node.write(out, longest);
                }
                out.push(']');
            }
            Value::Table(table) if table.is_empty() => out.push_str("{}"),
            Value::Table(table) => {
                for (index, (key, node)) in table.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "{ " });
                    if is_name(key) {
                        _ = write!(out, "{key} = ");
                    } else {
                        _ = write!(out, "{key:?} = ");
                    }
                    node.write(out, longest);
                }
                out.push_str(" }");
            }
        }
    }
}

fn toml_table(table: &DeTable<'_>, line: &dyn Fn(usize) -> Line) -> Value {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let key: &Spanned<std::borrow::Cow<'_, str>> = key;
        let node = Node { value: toml_value(value.get_ref(), line), line: line(key.span().start) };
        (key.get_ref().to_string(), node)
    };
    Value::Table(table.iter().map(entry).collect())
}

fn toml_value(value: &DeValue<'_>, line: &dyn Fn(usize) -> Line) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::Foreign(number.to_string()), Value::Integer),
        DeValue::Float(number) => {
            number.as_str().parse().map_or_else(|_| Value::Foreign(number.to_string()), Value::Float)
        }
        DeValue::Boolean(value) => Value::Boolean(*value),
        DeValue::Datetime(date) => Value::Foreign(date.to_string()),
        DeValue::Array(array) => {
            let element = |value: &Spanned<DeValue<'_>>| Node {
                value: toml_value(value.get_ref(), line),
                line: line(value.span().start),
            };
            Value::Array(array.iter().map(element).collect())
        }
        DeValue::Table(table) => toml_table(table, line),
    }
}

fn json_value(value: &serde_json::Value) -> Node {
    let value = match value {
        serde_json::Value::Null => Value::Foreign("null".to_owned()),
        serde_json::Value::Bool(value) => Value::Boolean(*value),
        serde_json::Value::Number(number) => match (number.as_i64(), number.is_f64(), number.as_f64()) {
            (Some(integer), ..) => Value::Integer(integer),
            (None, true, Some(float)) => Value::Float(float),
            _ => Value::Foreign(number.to_string()),
        },
        serde_json::Value::String(text) => Value::Text(text.clone()),
        serde_json::Value::Array(array) => Value::Array(array.iter().map(json_value).collect()),
        serde_json::Value::Object(object) => Value::Table(
            object
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key.clone(), json_value(value)))
                .collect(),
        ),
    };
    Node { value, line: Line::Unknown }
}
