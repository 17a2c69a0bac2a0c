//! Limits of options, stated at their fields.
//!
//! `#[schemars(transform = between("88 B", "9148 B"))]` adds the limits to the JSON schema of the field's type. All
//! uses of limits read that schema: the check of documents (quiclab-config), error messages, the reference page, the
//! Python classes, the random configurations of the tests. The limits are stated nowhere else.
//!
//! Limits of plain numbers are the keywords of JSON Schema (`minimum`, `exclusiveMinimum`, `maximum`). Limits of
//! quantities, which are written as strings with a unit, are the same keywords with the prefix `x-`, because a
//! validator of JSON Schema compares numbers only.

use schemars::Schema;
use schemars::transform::Transform;
use serde_json::Value;

/// Accepted values of a field: see the module documentation.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    keywords: Vec<(&'static str, Value)>,
    /// Limits of the elements of an array.
    items: Option<Box<Self>>,
}

/// `min` or more.
pub fn at_least(min: impl Into<Value>) -> Limits {
    Limits::default().with("minimum", min)
}

/// `max` or less.
pub fn at_most(max: impl Into<Value>) -> Limits {
    Limits::default().with("maximum", max)
}

/// From `min` to `max`, both included.
pub fn between(min: impl Into<Value>, max: impl Into<Value>) -> Limits {
    at_least(min).with("maximum", max)
}

/// More than `min`.
pub fn above(min: impl Into<Value>) -> Limits {
    Limits::default().with("exclusiveMinimum", min)
}

/// One of these numbers or names: a subset of the values of the field's type.
pub fn one_of<V: Into<Value>, const N: usize>(values: [V; N]) -> Limits {
    Limits::default().with("enum", values.map(Into::into).to_vec())
}

/// A string of characters of one class, with the stated length, in the form `^[a-z0-9]{1,15}$`.
#[must_use]
pub fn characters(pattern: &'static str) -> Limits {
    Limits::default().with("pattern", pattern)
}

/// A string in one of the formats that quiclab-config knows, such as "socket-address".
#[must_use]
pub fn format(name: &'static str) -> Limits {
    Limits::default().format(name)
}

/// A non-empty array, table or string.
#[must_use]
pub fn not_empty() -> Limits {
    Limits::default().with("minItems", 1).with("minProperties", 1).with("minLength", 1)
}

/// An array or a table with this number of entries.
#[must_use]
pub fn entries(min: usize, max: usize) -> Limits {
    let (min, max) = (min as u64, max as u64);
    let array = Limits::default().with("minItems", min).with("maxItems", max);
    array.with("minProperties", min).with("maxProperties", max)
}

/// A number of this unit: the unit is not part of the value.
pub fn unit(name: &'static str) -> Limits {
    Limits::default().unit(name)
}

impl Limits {
    fn with(mut self, keyword: &'static str, value: impl Into<Value>) -> Self {
        self.keywords.push((keyword, value.into()));
        self
    }

    /// Adds the limit: `max` or less.
    #[must_use]
    pub fn to(self, max: impl Into<Value>) -> Self {
        self.with("maximum", max)
    }

    /// Adds the format of a string; for a range of addresses, the limits are those of the prefix length.
    #[must_use]
    pub fn format(self, name: &'static str) -> Self {
        self.with("format", name)
    }

    /// Adds the limits `items` of each element of the array.
    #[must_use]
    pub fn each(self, items: Self) -> Self {
        Self { items: Some(Box::new(items)), ..self }
    }

    /// Adds former names: the first name of each pair is read as the second one, with a note.
    #[must_use]
    pub fn formerly<const N: usize>(self, names: [(&str, &str); N]) -> Self {
        let names = names.map(|(former, present)| (former.to_owned(), Value::from(present)));
        self.with("x-value-aliases", serde_json::Map::from_iter(names))
    }

    /// Adds the unit that the number counts, such as packets.
    #[must_use]
    pub fn unit(self, name: &'static str) -> Self {
        self.with("x-unit", name)
    }
}

/// Keywords that apply to one type only.
const OF_TYPE: [(&str, &str); 5] = [
    ("minItems", "array"),
    ("maxItems", "array"),
    ("minProperties", "object"),
    ("maxProperties", "object"),
    ("minLength", "string"),
];

impl Transform for Limits {
    fn transform(&mut self, schema: &mut Schema) {
        for (keyword, value) in &self.keywords {
            let of_type = OF_TYPE.iter().find(|(name, _)| name == keyword).map(|(_, kind)| *kind);
            if of_type.is_some_and(|kind| !may_be(schema.get("type"), kind)) {
                continue;
            }
            let quantity =
                matches!(*keyword, "minimum" | "exclusiveMinimum" | "maximum") && value.is_string();
            let keyword = if quantity { format!("x-{keyword}") } else { (*keyword).to_owned() };
            schema.insert(keyword, value.clone());
        }
        if let Some(limits) = &mut self.items {
            let items = schema.get_mut("items").and_then(|items| <&mut Schema>::try_from(items).ok());
            limits.transform(items.expect("limits of elements are those of an array"));
        }
    }
}

/// Whether `types`, the value of `type` in a schema, names `kind`, alone or beside others such as `null`.
fn may_be(types: Option<&Value>, kind: &str) -> bool {
    match types {
        Some(Value::Array(types)) => types.iter().any(|name| name == kind),
        types => types.and_then(Value::as_str) == Some(kind),
    }
}
