//! Limits of options, stated at their fields.
//!
//! `#[schemars(transform = between("88 B", "9148 B"))]` puts the limits into the JSON schema of the field's type.
//! Everything that speaks of them reads that schema: the check of documents (quiclab-config), error messages,
//! the reference page, the Python classes, the random configurations of the tests. Nothing repeats them.
//!
//! Limits of plain numbers are the keywords of JSON Schema (`minimum`, `exclusiveMinimum`, `maximum`). Limits of
//! quantities, which are written as strings with a unit, are the same words with `x-` before them, because a
//! validator of JSON Schema compares numbers only.

use schemars::Schema;
use schemars::transform::Transform;
use serde_json::Value;

/// What a field takes: see the module documentation.
#[derive(Clone, Debug, Default)]
pub struct Limits(Vec<(&'static str, Value)>);

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

/// One of these numbers.
pub fn one_of<const N: usize>(numbers: [u64; N]) -> Limits {
    Limits::default().with("enum", numbers.to_vec())
}

/// An array, a table or a string that holds something.
#[must_use]
pub fn not_empty() -> Limits {
    Limits::default().with("minItems", 1).with("minProperties", 1).with("minLength", 1)
}

/// An array or a table with this many entries.
#[must_use]
pub fn entries(min: usize, max: usize) -> Limits {
    let (min, max) = (min as u64, max as u64);
    let array = Limits::default().with("minItems", min).with("maxItems", max);
    array.with("minProperties", min).with("maxProperties", max)
}

/// A number of these: the unit is not part of the value.
pub fn unit(name: &'static str) -> Limits {
    Limits::default().unit(name)
}

impl Limits {
    fn with(mut self, keyword: &'static str, value: impl Into<Value>) -> Self {
        self.0.push((keyword, value.into()));
        self
    }

    /// And `max` or less.
    #[must_use]
    pub fn to(self, max: impl Into<Value>) -> Self {
        self.with("maximum", max)
    }

    /// And the number counts these, such as packets.
    #[must_use]
    pub fn unit(self, name: &'static str) -> Self {
        self.with("x-unit", name)
    }
}

/// Keywords that hold for one type only.
const OF_TYPE: [(&str, &str); 5] = [
    ("minItems", "array"),
    ("maxItems", "array"),
    ("minProperties", "object"),
    ("maxProperties", "object"),
    ("minLength", "string"),
];

impl Transform for Limits {
    fn transform(&mut self, schema: &mut Schema) {
        for (keyword, value) in &self.0 {
            let of_type = OF_TYPE.iter().find(|(name, _)| name == keyword).map(|(_, kind)| *kind);
            if of_type.is_some_and(|kind| !may_be(schema.get("type"), kind)) {
                continue;
            }
            let quantity =
                matches!(*keyword, "minimum" | "exclusiveMinimum" | "maximum") && value.is_string();
            let keyword = if quantity { format!("x-{keyword}") } else { (*keyword).to_owned() };
            schema.insert(keyword, value.clone());
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
