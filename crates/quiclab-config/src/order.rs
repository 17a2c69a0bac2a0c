//! The order in which a Rust type declares its fields. JSON Schema keeps none: its properties are an object.
//!
//! serde lists the fields of a struct in that order when it meets an unknown one, so each table is decoded with one.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// A field that no table has.
const UNKNOWN: &str = "?";

/// Adds `x-order`, the field names in the order of the Rust type, to each table of `schema`, which describes `T`.
/// Tables of fewer than two fields get none, and a tag is not a field.
pub(crate) fn add_order<T: DeserializeOwned>(schema: &mut Json) {
    let mut finder = Finder { root: schema.clone(), orders: BTreeMap::new(), of: PhantomData::<T> };
    let root = finder.root.clone();
    finder.visit("", &root, &|value| value);
    for (pointer, order) in finder.orders {
        if let Some(table) = schema.pointer_mut(&pointer).filter(|_| order.len() > 1) {
            table["x-order"] = order.into();
        }
    }
}

struct Finder<T> {
    root: Json,
    /// Field names by the JSON pointer of the table.
    orders: BTreeMap<String, Vec<String>>,
    of: PhantomData<T>,
}

impl<T: DeserializeOwned> Finder<T> {
    /// Finds the order of each table in `schema`. `place` makes a document with the value at the position that `schema`
    /// describes.
    fn visit(&mut self, pointer: &str, schema: &Json, place: &dyn Fn(Json) -> Json) {
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = reference.trim_start_matches('#');
            let definition = self.root.pointer(pointer).expect("a reference leads to a definition").clone();
            return self.visit(pointer, &definition, place);
        }
        for key in ["anyOf", "oneOf"] {
            for (index, choice) in schema[key].as_array().into_iter().flatten().enumerate() {
                self.visit(&format!("{pointer}/{key}/{index}"), choice, place);
            }
        }
        if schema["items"].is_object() {
            self.visit(&format!("{pointer}/items"), &schema["items"], &|value| place(json!([value])));
        }
        if schema["additionalProperties"].is_object() {
            let below = format!("{pointer}/additionalProperties");
            self.visit(&below, &schema["additionalProperties"], &|value| place(json!({ "name": value })));
        }
        let Some(fields) = schema["properties"].as_object() else { return };
        if self.orders.contains_key(pointer) {
            return;
        }
        let tags: Map<String, Json> = fields
            .iter()
            .filter_map(|(name, field)| Some((name.clone(), field.get("const")?.clone())))
            .collect();
        let with = |name: &str, value: Json| {
            let mut table = tags.clone();
            table.insert(name.to_owned(), value);
            place(table.into())
        };
        let mut order = listed::<T>(with(UNKNOWN, Json::Null));
        order.retain(|name| fields.contains_key(name) && !tags.contains_key(name));
        let count = fields.len() - tags.len();
        assert!(count < 2 || order.len() == count, "{pointer}: the type does not deny unknown fields");
        self.orders.insert(pointer.to_owned(), order);
        for (name, field) in fields {
            self.visit(&format!("{pointer}/properties/{name}"), field, &|value| with(name, value));
        }
    }
}

/// The names in backquotes that serde lists as expected instead of the unknown one.
fn listed<T: DeserializeOwned>(document: Json) -> Vec<String> {
    let error =
        serde_json::from_value::<T>(document).err().map(|error| error.to_string()).unwrap_or_default();
    error.split('`').skip(1).step_by(2).skip(1).map(str::to_owned).collect()
}
