//! Named sets of values that stand for published stacks: what all of them show, and their entries in the catalogue.

use quiclab_core::{OptionInfo, ProfileInfo};

/// A value of a profile, for whoever reads about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionRow {
    /// Name of the option in scenarios; `None` for a property that no option changes.
    pub field: Option<&'static str>,
    /// What it is.
    pub meaning: &'static str,
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
        meaning: row.meaning,
        default: String::leak(row.value),
        source: row.source,
    };
    Vec::leak(rows.into_iter().map(option).collect())
}
