//! A type's JSON Schema, compiled to rules.

use crate::bounds::{Limits, count};
use crate::form::Form;
use crate::order::add_order;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// Schema of the documents of a type.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) root: Rule,
}

/// Constraints on a value.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) shape: Shape,
    pub(crate) limits: Limits,
    /// Noun that the number counts, such as packets.
    pub(crate) unit: Option<String>,
    /// A correct value.
    pub(crate) example: Option<String>,
    /// Former names of values, which are still accepted, with the present ones.
    pub(crate) former: BTreeMap<String, String>,
}

/// The form of a value.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Anything.
    Any,
    Boolean,
    Integer,
    Number,
    Text(Form),
    /// A string with a unit: a value of this quantity.
    Quantity(Quantity),
    /// One of these strings.
    Names(Vec<String>),
    Array {
        items: Box<Rule>,
        min: usize,
        max: usize,
    },
    Table(Table),
    /// A table whose field `tag` determines the others.
    Tagged {
        tag: String,
        variants: Vec<(String, Table)>,
    },
    /// One of several forms, which differ in the type of the value.
    Either(Vec<Rule>),
}

/// Named fields, or any names with values of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) fields: BTreeMap<String, Field>,
    /// Rule of fields with other names; `None` if there are none.
    pub(crate) others: Option<Box<Rule>>,
    pub(crate) min: usize,
    pub(crate) max: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) rule: Rule,
    pub(crate) required: bool,
    /// Former names, which are still accepted.
    pub(crate) aliases: Vec<String>,
}

/// Quantities that are written with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Duration,
    Rate,
    Size,
    /// A number from 0 to 1, or a percentage as a string.
    Probability,
}

impl Schema {
    /// The schema of documents that decode to `T`.
    ///
    /// # Panics
    /// If the schema of `T` uses a construct that is not supported here.
    #[must_use]
    pub fn of<T: JsonSchema>() -> Self {
        let schema = schemars::schema_for!(T).to_value();
        let definitions = schema.get("$defs").and_then(Json::as_object).cloned().unwrap_or_default();
        Self { root: Compiler { definitions }.rule(&schema) }
    }
}

/// The JSON Schema of `T`; each field with limits has its accepted values in words as `x-expected`, and each
/// table its field names in the order of the Rust type as `x-order`.
///
/// # Panics
/// As [`Schema::of`], and if a table of several fields accepts unknown ones.
#[must_use]
pub fn annotated<T: JsonSchema + DeserializeOwned>() -> Json {
    let mut schema = schemars::schema_for!(T).to_value();
    let definitions = schema.get("$defs").and_then(Json::as_object).cloned().unwrap_or_default();
    annotate(&mut schema, &Compiler { definitions });
    add_order::<T>(&mut schema);
    schema
}

fn annotate(schema: &mut Json, compiler: &Compiler) {
    if let Some(fields) = schema.get_mut("properties").and_then(Json::as_object_mut) {
        for field in fields.values_mut() {
            let rule = compiler.rule(field);
            // a subset of the names of the type
            let names = field.get("enum").is_some() && field.get("$ref").is_some();
            if let (true, Some(field)) = (names || rule.is_limited(), field.as_object_mut()) {
                field.insert("x-expected".to_owned(), rule.expected().into());
            }
        }
    }
    match schema {
        Json::Object(fields) => fields.values_mut().for_each(|value| annotate(value, compiler)),
        Json::Array(entries) => entries.iter_mut().for_each(|value| annotate(value, compiler)),
        _ => {}
    }
}

struct Compiler {
    definitions: Map<String, Json>,
}

impl Compiler {
    /// The schema with its reference resolved; keywords beside the reference have precedence.
    fn resolved(&self, schema: &Json) -> Map<String, Json> {
        let Some(schema) = schema.as_object() else { return Map::new() };
        let Some(reference) = schema.get("$ref").and_then(Json::as_str) else { return schema.clone() };
        let name = reference.rsplit('/').next().unwrap_or_default();
        let target = self.definitions.get(name).unwrap_or_else(|| panic!("`{name}` is defined"));
        let mut merged = self.resolved(target);
        merged.extend(
            schema.iter().filter(|(key, _)| *key != "$ref").map(|(key, value)| (key.clone(), value.clone())),
        );
        merged
    }

    fn rule(&self, schema: &Json) -> Rule {
        let schema = self.resolved(schema);
        let mut rule = Rule {
            shape: self.shape(&schema),
            limits: limits(&schema),
            unit: text(&schema, "x-unit"),
            example: schema.get("examples").and_then(|all| all.get(0)?.as_str().map(str::to_owned)),
            former: names_by_name(&schema, "x-value-aliases"),
        };
        // a field may accept a subset of the names of its type
        if let (Shape::Names(names), Some(taken)) = (&mut rule.shape, schema.get("enum").and_then(strings)) {
            names.retain(|name| taken.contains(name));
        }
        if let Shape::Quantity(quantity) = rule.shape {
            for limit in rule.limits.min.iter().chain(&rule.limits.max).filter_map(Json::as_str) {
                quantity
                    .parse(limit)
                    .unwrap_or_else(|error| panic!("the limit \"{limit}\" is a quantity: {error}"));
            }
        }
        // limits beside a choice, such as "null or a quantity", apply to the choice
        if let Shape::Either(choices) = &mut rule.shape {
            for choice in choices.iter_mut() {
                choice.limits.tighten(&rule.limits);
                choice.unit = choice.unit.take().or_else(|| rule.unit.clone());
                choice.former.extend(rule.former.clone());
            }
            if choices.len() == 1 {
                return choices.remove(0);
            }
        }
        rule
    }

    fn shape(&self, schema: &Map<String, Json>) -> Shape {
        if let Some(quantity) = schema.get("x-quantity").and_then(Json::as_str) {
            return Shape::Quantity(match quantity {
                "duration" => Quantity::Duration,
                "rate" => Quantity::Rate,
                "size" => Quantity::Size,
                "probability" => Quantity::Probability,
                other => panic!("unknown quantity `{other}`"),
            });
        }
        if let Some(choices) = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(*key)?.as_array()) {
            return self.choice(choices);
        }
        if let Some(name) = schema.get("const").and_then(Json::as_str) {
            return Shape::Names(vec![name.to_owned()]);
        }
        if let Some(names) = schema.get("enum").and_then(strings) {
            return Shape::Names(names);
        }
        match schema.get("type").and_then(type_name) {
            Some("boolean") => Shape::Boolean,
            Some("integer") => Shape::Integer,
            Some("number") => Shape::Number,
            Some("string") => Shape::Text(Form::of(schema)),
            Some("array") => Shape::Array {
                items: Box::new(self.rule(&schema["items"])),
                min: count(schema, "minItems", 0),
                max: count(schema, "maxItems", usize::MAX),
            },
            Some("object") => Shape::Table(self.table(schema)),
            _ => Shape::Any,
        }
    }

    fn choice(&self, choices: &[Json]) -> Shape {
        let (mut names, mut former) = (Vec::new(), BTreeMap::new());
        let mut variants = Vec::new();
        let mut others = Vec::new();
        for choice in choices {
            let schema = self.resolved(choice);
            if schema.get("type").and_then(Json::as_str) == Some("null") {
                continue;
            }
            let kind = schema.get("properties").and_then(|fields| fields.get(TAG)?.get("const")?.as_str());
            match (kind, self.rule(choice)) {
                (Some(kind), Rule { shape: Shape::Table(mut table), .. }) => {
                    table.fields.remove(TAG);
                    variants.push((kind.to_owned(), table));
                }
                (_, Rule { shape: Shape::Names(more), former: replaced, .. }) => {
                    names.extend(more);
                    former.extend(replaced);
                }
                (_, Rule { shape: Shape::Either(more), .. }) => others.extend(more),
                (_, rule) => others.push(rule),
            }
        }
        let plain = |shape| Rule {
            shape,
            limits: Limits::default(),
            unit: None,
            example: None,
            former: BTreeMap::new(),
        };
        if !names.is_empty() {
            others.insert(0, Rule { former, ..plain(Shape::Names(names)) });
        }
        if !variants.is_empty() {
            others.push(plain(Shape::Tagged { tag: TAG.to_owned(), variants }));
        }
        if others.len() == 1 { others.remove(0).shape_or_either() } else { Shape::Either(others) }
    }

    fn table(&self, schema: &Map<String, Json>) -> Table {
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        let field = |(name, schema): (&String, &Json)| {
            let aliases =
                self.resolved(schema).get("x-aliases").and_then(Json::as_array).cloned().unwrap_or_default();
            let aliases = aliases.iter().filter_map(|alias| alias.as_str().map(str::to_owned)).collect();
            let field =
                Field { rule: self.rule(schema), required: required.contains(&name.as_str()), aliases };
            (name.clone(), field)
        };
        let fields = schema.get("properties").and_then(Json::as_object).into_iter().flatten().map(field);
        let others = match schema.get("additionalProperties") {
            None | Some(Json::Bool(false)) => None,
            Some(other) => Some(Box::new(self.rule(other))),
        };
        Table {
            fields: fields.collect(),
            others,
            min: count(schema, "minProperties", 0),
            max: count(schema, "maxProperties", usize::MAX),
        }
    }
}

/// The field that distinguishes the variants of a type.
const TAG: &str = "kind";

impl Rule {
    /// Whether the field accepts fewer values than its type.
    fn is_limited(&self) -> bool {
        let natural = |limit: &Json| range_of("uint64").1.map(Json::from).as_ref() == Some(limit);
        match &self.shape {
            Shape::Array { items, min, max } => {
                let of_form = matches!(&items.shape, Shape::Text(form) if !matches!(form, Form::Any { .. }));
                *min > 0 || *max < usize::MAX || of_form
            }
            Shape::Table(table) => table.min > 0,
            Shape::Either(choices) => choices.iter().any(Self::is_limited),
            Shape::Integer => {
                let max = self.limits.max.as_ref().is_some_and(|max| !natural(max) && *max != u32::MAX);
                !self.limits.one_of.is_empty() || max || self.limits.min.as_ref().is_some_and(|min| *min != 0)
            }
            Shape::Number | Shape::Quantity(_) => !self.limits.is_empty(),
            Shape::Text(form) => form.is_limited(),
            _ => false,
        }
    }

    /// Shape of the only choice, with its limits.
    fn shape_or_either(self) -> Shape {
        let plain =
            self.limits.is_empty() && self.unit.is_none() && self.example.is_none() && self.former.is_empty();
        if plain { self.shape } else { Shape::Either(vec![self]) }
    }
}

impl Limits {
    fn is_empty(&self) -> bool {
        self.min.is_none() && self.max.is_none() && self.one_of.is_empty()
    }

    /// Adopts the constraints of `outer`.
    fn tighten(&mut self, outer: &Self) {
        if outer.min.is_some() {
            (self.min, self.exclusive) = (outer.min.clone(), outer.exclusive);
        }
        if outer.max.is_some() {
            self.max.clone_from(&outer.max);
        }
        if !outer.one_of.is_empty() {
            self.one_of.clone_from(&outer.one_of);
        }
    }
}

fn limits(schema: &Map<String, Json>) -> Limits {
    let find = |name: &str| schema.get(name).or_else(|| schema.get(&format!("x-{name}"))).cloned();
    let exclusive = find("exclusiveMinimum");
    let (least, most) = schema.get("format").and_then(Json::as_str).map_or((None, None), range_of);
    let one_of = schema.get("enum").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_i64);
    Limits {
        exclusive: exclusive.is_some(),
        min: exclusive.or_else(|| find("minimum")).or(least.map(Json::from)),
        max: find("maximum").or(most.map(Json::from)),
        one_of: one_of.collect(),
    }
}

/// Range of a Rust integer type; TOML integers are signed with 64 bits.
fn range_of(format: &str) -> (Option<i64>, Option<i64>) {
    match format {
        "uint8" => (Some(0), Some(u8::MAX.into())),
        "uint16" => (Some(0), Some(u16::MAX.into())),
        "uint32" => (Some(0), Some(u32::MAX.into())),
        "uint64" | "uint" => (Some(0), Some(i64::MAX)),
        _ => (None, None),
    }
}

/// The type that a schema names, apart from `null`.
fn type_name(value: &Json) -> Option<&str> {
    match value {
        Json::String(name) => Some(name),
        Json::Array(names) => names.iter().filter_map(Json::as_str).find(|name| *name != "null"),
        _ => None,
    }
}

fn text(schema: &Map<String, Json>, key: &str) -> Option<String> {
    schema.get(key)?.as_str().map(str::to_owned)
}

fn strings(names: &Json) -> Option<Vec<String>> {
    names.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

fn names_by_name(schema: &Map<String, Json>, key: &str) -> BTreeMap<String, String> {
    let pairs = schema.get(key).and_then(Json::as_object).into_iter().flatten();
    pairs.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}
