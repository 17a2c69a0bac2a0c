//! Named sets of values that stand for published stacks: what all of them show.

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
