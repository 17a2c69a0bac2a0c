//! Bounds of values, as a schema has them.

use serde_json::{Map, Value as Json};

/// Bounds of a number; of a quantity, as strings with units.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) min: Option<Json>,
    /// Whether `min` itself is outside.
    pub(crate) exclusive: bool,
    pub(crate) max: Option<Json>,
    pub(crate) one_of: Vec<i64>,
}

/// A number of a schema that bounds a length.
pub(crate) fn count(schema: &Map<String, Json>, key: &str, default: usize) -> usize {
    schema.get(key).and_then(Json::as_u64).map_or(default, |count| count as usize)
}
