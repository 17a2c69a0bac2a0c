//! A document as it was written: values with their origins.

use quiclab_core::problem::is_bare_key;
use quiclab_core::{FieldPath, Problem};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its origin.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// Origin of a value in its source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Unknown: the document was not made from text with positions.
    #[default]
    Unknown,
    /// Bytes of the text: the key with its value, the value alone.
    Text { entry: Range<usize>, value: Range<usize> },
    /// On the command line, with `--set`.
    Set,
}

/// Value as it was written.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Array(Vec<Node>),
    Table(BTreeMap<String, Node>),
    /// A value that no field accepts: a date, an integer beyond 64 bits.
    Foreign(String),
}

impl Node {
    /// Reads a TOML document.
    pub(crate) fn from_toml(text: &str) -> Result<Self, (String, Option<Range<usize>>)> {
        let root = DeTable::parse(text)
            .map_err(|error| (error.message().lines().collect::<Vec<_>>().join(", "), error.span()))?;
        Ok(Self { value: toml_table(root.get_ref()), origin: Origin::Text { entry: 0..0, value: 0..0 } })
    }

    /// The node of a JSON value. A null stands for an absent field.
    pub(crate) fn from_json(value: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        let value = match value {
            Json::Null => Value::Foreign("null".to_owned()),
            Json::Bool(value) => Value::Boolean(*value),
            Json::Number(number) => match (number.as_i64(), number.is_f64(), number.as_f64()) {
                (Some(integer), ..) => Value::Integer(integer),
                (None, true, Some(float)) => Value::Float(float),
                _ => Value::Foreign(number.to_string()),
            },
            Json::String(text) => Value::Text(text.clone()),
            Json::Array(array) => Value::Array(array.iter().map(Self::from_json).collect()),
            Json::Object(object) => {
                let given = object.iter().filter(|(_, value)| !value.is_null());
                Value::Table(given.map(|(key, value)| (key.clone(), Self::from_json(value))).collect())
            }
        };
        Self { value, origin: Origin::Unknown }
    }

    /// The tree as JSON, for decoding by serde.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Boolean(value) => (*value).into(),
            Value::Integer(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(value) | Value::Foreign(value) => value.as_str().into(),
            Value::Array(array) => array.iter().map(Self::to_json).collect(),
            Value::Table(table) => table.iter().map(|(key, node)| (key.clone(), node.to_json())).collect(),
        }
    }

    /// Parses a value given with `--set`: TOML if it parses as that, otherwise a string.
    pub(crate) fn from_argument(text: &str) -> Self {
        let value = match DeValue::parse(text.trim()) {
            Ok(value) => toml_value(value.get_ref()),
            Err(_) => Value::Text(text.to_owned()),
        };
        let mut node = Self { value, origin: Origin::Set };
        node.set_origin();
        node
    }

    /// Origin of the key of this node, which is `name`.
    pub(crate) fn key_origin(&self, name: &str) -> Origin {
        match &self.origin {
            Origin::Text { entry, .. } => {
                let key = entry.start..entry.end.min(entry.start + name.len());
                Origin::Text { entry: key.clone(), value: key }
            }
            other => other.clone(),
        }
    }

    /// Whether the value or any value inside it was given on the command line.
    pub(crate) fn has_set(&self) -> bool {
        self.origin == Origin::Set
            || match &self.value {
                Value::Array(array) => array.iter().any(Self::has_set),
                Value::Table(table) => table.values().any(Self::has_set),
                _ => false,
            }
    }

    fn set_origin(&mut self) {
        self.origin = Origin::Set;
        match &mut self.value {
            Value::Array(array) => array.iter_mut().for_each(Self::set_origin),
            Value::Table(table) => table.values_mut().for_each(Self::set_origin),
            _ => {}
        }
    }

    /// The names of a table, or the indices of an array.
    pub(crate) fn children(&self) -> Vec<String> {
        match &self.value {
            Value::Table(table) => table.keys().cloned().collect(),
            Value::Array(array) => (0..array.len()).map(|index| index.to_string()).collect(),
            _ => Vec::new(),
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
    pub(crate) fn get(&self, path: &FieldPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, |node, step| node.child(step))
    }

    /// The deepest node on the way to `path`, and whether it is the one at `path`.
    pub(crate) fn nearest(&self, path: &FieldPath) -> (&Self, bool) {
        let mut node = self;
        for step in path.steps() {
            match node.child(step) {
                Some(child) => node = child,
                None => return (node, false),
            }
        }
        (node, true)
    }

    /// Sets `value` at `path`; tables on the way are created, array elements are counted from 0, and the
    /// number after the last one appends.
    pub(crate) fn set(&mut self, path: &FieldPath, value: Self) -> Result<(), Problem> {
        let mut node = self;
        for (depth, step) in path.steps().iter().enumerate() {
            let written = node.shown();
            let here = FieldPath::new(&path.steps()[..depth]);
            let empty = || Self { value: Value::Table(BTreeMap::new()), origin: Origin::Set };
            node = match &mut node.value {
                Value::Table(table) => table.entry(step.clone()).or_insert_with(empty),
                Value::Array(array) => {
                    let end = array.len();
                    let Some(index) = step.parse::<usize>().ok().filter(|index| *index <= end) else {
                        let expected = format!("an index from 0 to {end}, got `{step}` in `--set`");
                        return Err(Problem { value: None, ..Problem::value(here, "", expected) });
                    };
                    if index == end {
                        array.push(empty());
                    }
                    &mut array[index]
                }
                _ => {
                    return Err(Problem::value(here, written, "a table")
                        .because(format!("`--set` names the field `{step}` below it")));
                }
            };
        }
        *node = value;
        Ok(())
    }

    /// Removes the node at `path`, if it exists.
    pub(crate) fn remove(&mut self, path: &FieldPath) {
        let Some((last, above)) = path.steps().split_last() else { return };
        let mut node = self;
        for step in above {
            let Value::Table(table) = &mut node.value else { return };
            let Some(child) = table.get_mut(step) else { return };
            node = child;
        }
        if let Value::Table(table) = &mut node.value {
            table.remove(last);
        }
    }

    /// Adds the values of `defaults` that this node lacks, in tables down to `depth` levels.
    pub(crate) fn fill(&mut self, defaults: Self, depth: usize) {
        let (Value::Table(table), Value::Table(defaults)) = (&mut self.value, defaults.value) else { return };
        if depth == 0 {
            return;
        }
        for (name, default) in defaults {
            match table.get_mut(&name) {
                Some(node) => node.fill(default, depth - 1),
                None => _ = table.insert(name, default),
            }
        }
    }

    /// The value as TOML, shortened to fit into a sentence.
    pub(crate) fn shown(&self) -> String {
        const MAX_LENGTH: usize = 60;
        let mut text = String::new();
        self.write(&mut text, MAX_LENGTH);
        if text.chars().count() > MAX_LENGTH {
            text = text.chars().take(MAX_LENGTH).chain("...".chars()).collect();
        }
        text
    }

    fn write(&self, out: &mut String, max_length: usize) {
        if out.len() > 4 * max_length {
            return; // enough for `max_length` characters of any width
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
                    node.write(out, max_length);
                }
                out.push(']');
            }
            Value::Table(table) if table.is_empty() => out.push_str("{}"),
            Value::Table(table) => {
                for (index, (key, node)) in table.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "{ " });
                    if is_bare_key(key) {
                        _ = write!(out, "{key} = ");
                    } else {
                        _ = write!(out, "{key:?} = ");
                    }
                    node.write(out, max_length);
                }
                out.push_str(" }");
            }
        }
    }
}

fn toml_table(table: &DeTable<'_>) -> Value {
    let entry = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let origin = Origin::Text { entry: key.span().start..value.span().end, value: value.span() };
        (key.get_ref().to_string(), Node { value: toml_value(value.get_ref()), origin })
    };
    Value::Table(table.iter().map(entry).collect())
}

fn toml_value(value: &DeValue<'_>) -> Value {
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
            let element = |value: &Spanned<DeValue<'_>>| {
                let origin = Origin::Text { entry: value.span(), value: value.span() };
                Node { value: toml_value(value.get_ref()), origin }
            };
            Value::Array(array.iter().map(element).collect())
        }
        DeValue::Table(table) => toml_table(table),
    }
}
