//! Values that may be omitted, or written in a short form, as a string, or in full, as a table.

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// Defaults of fields in a table: each row is a function for `#[serde(default = "...")]`, which accepts no
/// value.
#[macro_export]
macro_rules! defaults {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)+) => {
        $(
            $(#[$doc])*
            fn $name() -> $type {
                $value
            }
        )+
    };
}

/// Implements `Deserialize` for a type from a string (parsed as `$short`) or a table (`$table`). Unlike an
/// untagged enum, it passes on errors of the chosen form.
macro_rules! string_or_table {
    ($type:ident, $expecting:literal, $short:ty => $from_short:expr, $table:ty => $from_table:expr) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse::<$short>().map($from_short).map_err(E::custom)
                    }
                    // a bare number is accepted unchanged: the error about its missing unit is the most
                    // helpful one
                    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<$type, E> {
                        self.visit_str(&number.to_string())
                    }
                    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$type, E> {
                        self.visit_str(&number.to_string())
                    }
                    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$type, E> {
                        self.visit_str(&number.to_string())
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                        let map = serde::de::value::MapAccessDeserializer::new(map);
                        <$table as serde::Deserialize>::deserialize(map).map($from_table)
                    }
                }
                from.deserialize_any(Visitor)
            }
        }
    };
}
pub(crate) use string_or_table;

/// Schema of a type that may also be written in a short form, as a `Short`.
pub(crate) fn or_short<Short: schemars::JsonSchema>(table: &mut schemars::Schema) {
    let short = Short::json_schema(&mut schemars::SchemaGenerator::default());
    *table = schemars::json_schema!({ "anyOf": [short, table.clone()] });
}

/// Schema of choices by `kind`; those that need no other field may also be written as their kind alone.
pub(crate) fn or_kind(table: &mut schemars::Schema) {
    let choices = table.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let alone = choices.filter(|choice| choice["required"] == json!(["kind"]));
    let kinds = alone.map(|choice| &choice["properties"]["kind"]["const"]).collect::<Vec<_>>();
    let description = "Kinds with a short form: those that need no field.";
    let short = json!({ "description": description, "type": "string", "enum": kinds });
    *table = schemars::json_schema!({ "anyOf": [short, table.clone()] });
}

/// serde accepts any fields in a variant without fields, despite `deny_unknown_fields`. Deserialises such a
/// variant as a table without fields.
///
/// # Errors
/// If the table has a field.
pub fn no_field<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    Nothing::deserialize(from).map(|Nothing {}| ())
}
