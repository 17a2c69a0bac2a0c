//! Bounds of values, as a schema has them.

use serde_json::{Map, Value as Json};

/// Bounds of a number, or of a quantity as strings with units.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) min: Option<Json>,
    /// Whether `min` itself is excluded.
    pub(crate) exclusive: bool,
    pub(crate) max: Option<Json>,
    pub(crate) one_of: Vec<i64>,
}

/// A number of a schema that bounds a length.
pub(crate) fn count(schema: &Map<String, Json>, key: &str, default: usize) -> usize {
    schema.get(key).and_then(Json::as_u64).map_or(default, |count| count as usize)
}

/// Number of the noun in a sentence: one value or several.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    One,
    Many,
}

impl Count {
    /// A noun with its article, or in the plural without one.
    pub(crate) fn of(self, noun: &str) -> String {
        match self {
            Self::One => noun.to_owned(),
            Self::Many => {
                let bare = noun.strip_prefix("an ").or_else(|| noun.strip_prefix("a ")).unwrap_or(noun);
                match bare.strip_suffix("ity") {
                    Some(stem) => format!("{stem}ities"),
                    None if bare.ends_with('s') => format!("{bare}es"),
                    None => format!("{bare}s"),
                }
            }
        }
    }
}
