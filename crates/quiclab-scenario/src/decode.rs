//! Serde deserialiser of the tree of written values, with errors that stay data.
//!
//! serde's derived code reports what it expected through the constructors of the error type;
//! keeping those as an enum, with the path on which they happened, lets the loader say which field,
//! which line and what is allowed.

use super::error::FieldPath;
use super::tree::{Node, Value};
use serde::de::{
    self, DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor, value::MapAccessDeserializer,
};
use std::collections::btree_map;
use std::fmt::{self, Display, Formatter};

/// What is wrong with the tree, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DecodeError {
    /// Steps from the node with the error up to the root.
    reversed_path: Vec<String>,
    pub(super) kind: DecodeErrorKind,
}

/// What is wrong with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DecodeErrorKind {
    /// The table has a field that nobody knows.
    UnknownField { field: String, known: &'static [&'static str] },
    /// The table lacks a field.
    MissingField { field: &'static str },
    /// The text is none of these.
    UnknownVariant { known: &'static [&'static str] },
    /// The value is of another type or beyond the range of its type.
    WrongType { expected: String },
    /// What a type of this crate says about a value.
    Message(String),
}

impl DecodeError {
    pub(super) fn path(&self) -> FieldPath {
        FieldPath::new(self.reversed_path.iter().rev())
    }
    fn within(mut self, step: impl ToString) -> Self {
        self.reversed_path.push(step.to_string());
        self
    }
    fn expected(expected: impl ToString) -> Self {
        DecodeErrorKind::WrongType { expected: expected.to_string() }.into()
    }
}

impl From<DecodeErrorKind> for DecodeError {
    fn from(kind: DecodeErrorKind) -> Self {
        Self { reversed_path: Vec::new(), kind }
    }
}

impl Display for DecodeError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.path(), self.kind)
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: Display>(message: T) -> Self {
        DecodeErrorKind::Message(message.to_string()).into()
    }
    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expected(expected)
    }
    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expected(expected)
    }
    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::expected(expected)
    }
    fn unknown_variant(_: &str, known: &'static [&'static str]) -> Self {
        DecodeErrorKind::UnknownVariant { known }.into()
    }
    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        DecodeErrorKind::UnknownField { field: field.to_owned(), known }.into()
    }
    fn missing_field(field: &'static str) -> Self {
        DecodeErrorKind::MissingField { field }.into()
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.value {
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Integer(value) => visitor.visit_i64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(text) => visitor.visit_str(text),
            Value::Foreign(text) => Err(DecodeError::invalid_type(Unexpected::Other(text), &visitor)),
            Value::Array(array) => visitor.visit_seq(Elements(array.iter().enumerate())),
            Value::Table(table) => visitor.visit_map(Entries::new(table)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match &self.value {
            Value::Text(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            Value::Table(table) if table.len() == 1 => {
                MapAccessDeserializer::new(Entries::new(table)).deserialize_enum(name, known, visitor)
            }
            _ => Err(DecodeErrorKind::UnknownVariant { known }.into()),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Elements<'de>(std::iter::Enumerate<std::slice::Iter<'de, Node>>);

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = DecodeError;
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some((index, node)) = self.0.next() else { return Ok(None) };
        seed.deserialize(node).map(Some).map_err(|error| error.within(index))
    }
}

struct Entries<'de> {
    entries: btree_map::Iter<'de, String, Node>,
    /// The entry whose key was read and whose value was not.
    current: Option<(&'de String, &'de Node)>,
}

impl<'de> Entries<'de> {
    fn new(table: &'de btree_map::BTreeMap<String, Node>) -> Self {
        Self { entries: table.iter(), current: None }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = DecodeError;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        self.current = self.entries.next();
        self.current.map(|(key, _)| seed.deserialize(key.as_str().into_deserializer())).transpose()
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        let (key, node) = self.current.take().expect("serde asks for a value after its key");
        seed.deserialize(node).map_err(|error| error.within(key))
    }
}
