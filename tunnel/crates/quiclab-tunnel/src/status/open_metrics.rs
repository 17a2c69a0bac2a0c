//! The text format of OpenMetrics 1.0, limited to the parts in use: families of counters, gauges, summaries and
//! information, with unit and help, and `# EOF` at the end.
//!
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>

use std::collections::BTreeMap;
use std::fmt::Write;

/// Content type of the text in HTTP.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Prefix of the names of all families.
const PREFIX: &str = "quiclab_tunnel_";
/// Units, which are the suffixes of names of families with a unit.
const UNITS: [&str; 4] = ["seconds", "bytes", "packets", "ratio"];

/// Type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A value that only grows, until its session or the program restarts.
    Counter,
    /// A current value.
    Gauge,
    /// Values that are texts, in labels.
    Info,
    /// Count and sum of events.
    Summary,
    /// Neither is known.
    Unknown,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Info => "info",
            Self::Summary => "summary",
            Self::Unknown => "unknown",
        }
    }

    /// Suffix of the names of its samples after the name of the family, for families with one sample per metric.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Info => "_info",
            Self::Gauge | Self::Summary | Self::Unknown => "",
        }
    }
}

/// Names and values of labels.
pub(super) type Labels<'a> = &'a [(&'static str, &'a str)];

struct Family {
    kind: Kind,
    help: String,
    samples: String,
}

/// A text under construction: samples of a family are grouped, in whatever order they are added.
#[derive(Default)]
pub(super) struct Exposition {
    families: BTreeMap<String, Family>,
}

impl Exposition {
    /// Adds a value of the family `name`, which is without the prefix of all names.
    pub(super) fn add(&mut self, kind: Kind, name: &str, help: &str, labels: Labels<'_>, value: f64) {
        self.sample(kind, name, help, kind.suffix(), labels, value);
    }

    /// Adds the number of events and the sum of their values.
    pub(super) fn summary(&mut self, name: &str, help: &str, labels: Labels<'_>, count: u64, sum: f64) {
        self.sample(Kind::Summary, name, help, "_count", labels, count as f64);
        self.sample(Kind::Summary, name, help, "_sum", labels, sum);
    }

    fn sample(&mut self, kind: Kind, name: &str, help: &str, suffix: &str, labels: Labels<'_>, value: f64) {
        let name = format!("{PREFIX}{name}");
        let new = || Family { kind, help: help.to_owned(), samples: String::new() };
        let family = self.families.entry(name.clone()).or_insert_with(new);
        debug_assert_eq!(family.kind, kind, "{name}");
        let labels: Vec<_> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(family.samples, "{name}{suffix}{labels} {value}");
    }

    /// Returns the whole text.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for (name, Family { kind, help, samples }) in &self.families {
            let _ = writeln!(out, "# TYPE {name} {}", kind.name());
            let of_name = |unit: &&&str| name.strip_suffix(**unit).is_some_and(|name| name.ends_with('_'));
            if let Some(unit) = UNITS.iter().find(of_name) {
                let _ = writeln!(out, "# UNIT {name} {unit}");
            }
            let _ = write!(out, "# HELP {name} {}\n{samples}", escaped(help));
        }
        out + "# EOF\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
