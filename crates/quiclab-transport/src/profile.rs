//! Named sets of values that represent published stacks: their rows in tables, and their entries in the
//! catalogue.

use quiclab_core::{ByteCount, OptionInfo, ProfileInfo};
use serde::Serialize;
use serde_json::Value as Json;

/// Value of a profile, for documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionRow {
    /// Name of the option in scenarios; `None` for a property that no option changes.
    pub field: Option<String>,
    /// Meaning of the value.
    pub meaning: String,
    /// Value with its unit.
    pub value: String,
    /// Source of the value.
    pub source: &'static str,
}

/// Profiles of a stack by name.
pub(crate) fn profiles(
    names: impl Iterator<Item = &'static str>,
    rows: fn(&str) -> Option<Vec<OptionRow>>,
    description: fn(&str) -> &'static str,
) -> &'static [ProfileInfo] {
    let profile = |name| ProfileInfo { name, description: description(name), options: options(rows(name)) };
    Vec::leak(names.map(profile).collect())
}

/// Values of a profile, which are made once and live as long as the process.
pub(crate) fn options(rows: Option<Vec<OptionRow>>) -> &'static [OptionInfo] {
    let rows = rows.expect("the profile is one of the list");
    let option = |row: OptionRow| OptionInfo {
        option: row.field.map(|field| &*String::leak(field)),
        meaning: String::leak(row.meaning),
        default: String::leak(row.value),
        source: row.source,
    };
    Vec::leak(rows.into_iter().map(option).collect())
}

/// Value with its default, as [`crate::options::values!`] declares it; `C` holds it.
pub(crate) struct Field<C> {
    /// Name within its list.
    pub(crate) name: &'static str,
    /// Meaning in a phrase.
    pub(crate) meaning: fn() -> String,
    /// Source of the default.
    pub(crate) source: &'static str,
    pub(crate) print: fn(&C) -> String,
}

/// First sentence of the lines of a documentation comment, without the full stop.
pub(crate) fn phrase(lines: &[&str]) -> String {
    let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let sentence = text.split(". ").next().unwrap_or_default();
    sentence.trim_end_matches('.').to_owned()
}

/// Rows of `fields`, whose keys begin with `prefix`; `source` returns the source of a key's value, if it
/// differs from that of the default.
pub(crate) fn table<C>(
    prefix: &str,
    fields: &'static [Field<C>],
    values: &C,
    source: impl Fn(&str) -> Option<&'static str>,
) -> impl Iterator<Item = OptionRow> {
    fields.iter().map(move |field| {
        let key = format!("{prefix}{}", field.name);
        let source = source(&key).unwrap_or(field.source);
        let field_name = (prefix != FIXED).then_some(key);
        OptionRow { field: field_name, meaning: (field.meaning)(), value: (field.print)(values), source }
    })
}

/// Prefix of the keys of values that no option changes.
const FIXED: &str = "fixed.";

/// Value of a profile; `C` is the configuration.
pub(crate) struct Value<C> {
    /// Place in the configuration: `field`, or `part.field`.
    pub(crate) key: &'static str,
    pub(crate) set: fn(&mut C),
    pub(crate) source: &'static str,
}

/// `value!(field = value, "source")`, or `value!(part.field = value, "source")`.
macro_rules! value {
    ($field:ident $(.$inner:ident)? = $value:expr, $source:expr) => {
        $crate::profile::Value {
            key: concat!(stringify!($field) $(, ".", stringify!($inner))?),
            set: |config| config.$field $(.$inner)? = $value,
            source: $source,
        }
    };
}
pub(crate) use value;

/// Text of a value for tables: switches as on and off, a table as its kind and its fields.
pub(crate) fn describe(value: &impl Serialize) -> String {
    fn text(value: &Json) -> String {
        match value {
            Json::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
            Json::String(text) if *text == UNLIMITED.to_string() => "no limit".to_owned(),
            Json::String(text) => text.clone(),
            Json::Number(number) if number.as_u64() == Some(u64::from(u32::MAX)) => "no limit".to_owned(),
            Json::Object(fields) => {
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

/// Largest integer on the wire of QUIC (RFC 9000 section 16), which means "no limit" for windows.
pub(crate) const UNLIMITED: ByteCount = ByteCount::from_bytes((1 << 62) - 1);
