//! Named sets of values that stand for published stacks: what all of them show, and their entries in the catalogue.

use quiclab_core::{ByteCount, OptionInfo, ProfileInfo};
use serde::Serialize;
use serde_json::Value;

/// A value of a profile, for whoever reads about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionRow {
    /// Name of the option in scenarios; `None` for a property that no option changes.
    pub field: Option<&'static str>,
    /// What it is.
    pub meaning: String,
    /// Its value, with its unit.
    pub value: String,
    /// Where the value comes from.
    pub source: &'static str,
}

/// The profiles of a stack by their names.
pub(crate) fn profiles(
    names: impl Iterator<Item = &'static str>,
    rows: fn(&str) -> Option<Vec<OptionRow>>,
    description: fn(&str) -> &'static str,
) -> &'static [ProfileInfo] {
    let profile = |name| ProfileInfo { name, description: description(name), options: options(rows(name)) };
    Vec::leak(names.map(profile).collect())
}

/// The values of a profile. They are made once and live as long as the process.
pub(crate) fn options(rows: Option<Vec<OptionRow>>) -> &'static [OptionInfo] {
    let rows = rows.expect("the profile is one of the list");
    let option = |row: OptionRow| OptionInfo {
        option: row.field,
        meaning: String::leak(row.meaning),
        default: String::leak(row.value),
        source: row.source,
    };
    Vec::leak(rows.into_iter().map(option).collect())
}

/// An option with its default, as the list of options of a stack has it; `C` holds its value.
pub(crate) struct Field<C> {
    /// Its name within its table.
    pub(crate) name: &'static str,
    /// Lines of its documentation.
    pub(crate) meaning: &'static [&'static str],
    /// Where the default comes from.
    pub(crate) source: &'static str,
    pub(crate) print: fn(&C) -> String,
}

impl<C> Field<C> {
    /// The first sentence of its documentation, without the full stop.
    pub(crate) fn phrase(&self) -> String {
        let text = self.meaning.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        let sentence = text.split(". ").next().unwrap_or_default();
        sentence.trim_end_matches('.').to_owned()
    }
}

/// A value as readers of a table want it: switches as on and off, a table as its kind and its fields.
pub(crate) fn describe(value: &impl Serialize) -> String {
    fn text(value: &Value) -> String {
        match value {
            Value::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
            Value::String(text) if *text == UNLIMITED.to_string() => "no limit".to_owned(),
            Value::String(text) => text.clone(),
            Value::Number(number) if number.as_u64() == Some(u64::from(u32::MAX)) => "no limit".to_owned(),
            Value::Object(fields) => {
                let kind = fields.get("kind").map(text);
                let others = fields.iter().filter(|(name, value)| *name != "kind" && !value.is_null());
                let others = others.map(|(name, value)| format!("{name} {}", text(value)));
                kind.into_iter().chain(others).collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        }
    }
    text(&serde_json::to_value(value).expect("options are plain data"))
}

/// Largest integer on the wire of QUIC (RFC 9000 section 16), which stands for "no limit" in windows.
pub(crate) const UNLIMITED: ByteCount = ByteCount::from_bytes((1 << 62) - 1);
