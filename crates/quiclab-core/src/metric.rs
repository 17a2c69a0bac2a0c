//! Metrics: named numbers of elements, each defined once, where it is measured.
//!
//! A list of definitions ([`metrics!`](crate::metrics)) is part of each mechanism. The keys of results, the
//! columns of time series, the reference of results, the names that sweeps accept and the types of
//! OpenMetrics are derived from the lists.

use std::borrow::Cow;

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// A total since the start. The totals of several connections add up.
    Counter,
    /// The present value.
    Gauge,
    /// A mean over the run.
    Mean,
    /// A minimum over the run.
    Minimum,
    /// A maximum over the run.
    Maximum,
    /// The moment or the duration of an event that happens once.
    Time,
    /// Mean, minimum, maximum and percentiles, each a separate number: see [`STATISTICS`].
    Distribution,
}

impl MetricKind {
    /// The name in documents and schemas.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Mean => "mean",
            Self::Minimum => "minimum",
            Self::Maximum => "maximum",
            Self::Time => "time",
            Self::Distribution => "distribution",
        }
    }

    /// Whether the values of several connections add up to that of all.
    #[must_use]
    pub const fn is_additive(self) -> bool {
        matches!(self, Self::Counter)
    }
}

/// Suffixes of the names of the numbers of a distribution.
pub const STATISTICS: [&str; 6] = ["_mean", "_min", "_max", "_p50", "_p95", "_p99"];

/// Placeholder of the number of a link or path in the name of a metric that each of them has.
const PLACE: &str = "<k>";

/// Place where a metric is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The statistics at the end of a run.
    End,
    /// Time series.
    Series,
    /// Both.
    Both,
}

/// Definition of a metric.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// Name; `<k>` stands for the number of a link or path.
    pub name: &'static str,
    /// Type.
    pub kind: MetricKind,
    /// Place where it is recorded.
    pub recorded: Recorded,
    /// The comment at the definition, unchanged; see [`Metric::meaning`].
    pub comment: &'static str,
}

/// Words of names that denote units, with the symbol of the unit; a name without such a word denotes a count.
const UNITS: [(&str, &str); 8] = [
    ("mbps", "Mbit/s"),
    ("bytes", "B"),
    ("packets", "packets"),
    ("frames", "frames"),
    ("datagrams", "datagrams"),
    ("ms", "ms"),
    ("s", "s"),
    ("share", "0 to 1"),
];

impl Metric {
    /// Symbol of the unit, from the last word of the name that denotes one; empty for counts.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        let unit = |word| UNITS.iter().find(|(known, _)| *known == word).map(|(_, unit)| *unit);
        self.name.rsplit('_').find_map(unit).unwrap_or("")
    }

    /// Meaning, in one line.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        self.comment.trim()
    }

    /// Names of its numbers: one, or those of a distribution.
    pub fn names(&'static self) -> impl Iterator<Item = Cow<'static, str>> {
        let count = if self.kind == MetricKind::Distribution { STATISTICS.len() } else { 1 };
        (0..count).map(|index| match self.kind {
            MetricKind::Distribution => self.name_of(index as u8),
            _ => Cow::Borrowed(self.name),
        })
    }

    /// The name of one of its numbers, with the number of a link or path, or with a statistic.
    fn name_of(&'static self, index: u8) -> Cow<'static, str> {
        if self.kind == MetricKind::Distribution {
            Cow::Owned(format!("{}{}", self.name, STATISTICS[usize::from(index)]))
        } else if self.name.contains(PLACE) {
            Cow::Owned(self.name.replacen(PLACE, &index.to_string(), 1))
        } else {
            Cow::Borrowed(self.name)
        }
    }
}

/// Owner of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricOwner {
    /// An end of a flow.
    Flow,
    /// An element of the network.
    Network,
}

/// Metrics of an element, or of a component of one.
#[derive(Clone, Copy, Debug)]
pub struct MetricGroup {
    /// Elements that have them.
    pub owner: MetricOwner,
    /// Element with these metrics, and the condition under which it has them.
    pub element: &'static str,
    /// Their definitions in the order of documents.
    pub metrics: &'static [&'static Metric],
}

/// A value of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The definition.
    pub metric: &'static Metric,
    /// The number of a link or path, or the place in [`STATISTICS`]; 0 for other metrics.
    pub index: u8,
    /// The value.
    pub value: f64,
}

impl Measured {
    /// The name of the number.
    #[must_use]
    pub fn name(&self) -> Cow<'static, str> {
        self.metric.name_of(self.index)
    }

    fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self.metric, other.metric) && self.index == other.index
    }
}

/// Values of metrics of an element.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Vec<Measured>);

impl Metrics {
    /// Adds a value.
    pub fn set(&mut self, metric: &'static Metric, value: f64) {
        self.set_of(metric, 0, value);
    }

    /// Adds a count.
    pub fn count(&mut self, metric: &'static Metric, value: u64) {
        self.set(metric, value as f64);
    }

    /// Adds a value of a numbered link or path, or one of the [`STATISTICS`] of a distribution.
    pub fn set_of(&mut self, metric: &'static Metric, index: usize, value: f64) {
        debug_assert!(index == 0 || metric.name.contains(PLACE) || metric.kind == MetricKind::Distribution);
        self.0.push(Measured { metric, index: index as u8, value });
    }

    /// Adds a count of a numbered link or path.
    pub fn count_of(&mut self, metric: &'static Metric, index: usize, value: u64) {
        self.set_of(metric, index, value as f64);
    }

    /// Adds the values of additive metrics of `other` to those of the same metric.
    pub fn add(&mut self, other: &Self) {
        for added in other.0.iter().filter(|added| added.metric.kind.is_additive()) {
            match self.0.iter_mut().find(|known| known.is_same(added)) {
                Some(known) => known.value += added.value,
                None => self.0.push(*added),
            }
        }
    }

    /// Removes the values of metrics that are recorded only at the end of a run.
    pub fn retain_series(&mut self) {
        self.0.retain(|known| known.metric.recorded != Recorded::End);
    }

    /// Appends the values of `other`.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The values in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Measured> {
        self.0.iter()
    }

    /// The value of the first number with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|known| known.name() == name).map(|known| known.value)
    }

    /// Names and values in the order in which they were added.
    #[must_use]
    pub fn named(&self) -> Vec<(Cow<'static, str>, f64)> {
        self.0.iter().map(|known| (known.name(), known.value)).collect()
    }
}

/// Whether the names and values are equal, in this order.
impl<const N: usize> PartialEq<[(&str, f64); N]> for Metrics {
    fn eq(&self, other: &[(&str, f64); N]) -> bool {
        self.0.len() == N
            && self
                .0
                .iter()
                .zip(other)
                .all(|(known, (name, value))| known.name() == *name && known.value == *value)
    }
}

/// Defines the metrics of an element: a static with a field for each of them, whose comment is the meaning.
///
/// The owner ([`MetricOwner`](crate::MetricOwner)) and the element come first. The name of a field is followed by `as`
/// and the name in results if it differs, then kind and place ([`MetricKind`](crate::MetricKind),
/// [`Recorded`](crate::Recorded)).
///
/// ```
/// quiclab_core::metrics! {
///     /// A counting element.
///     pub static COUNTER: CounterMetrics = Network, "counter" {
///         /// Packets that passed.
///         packets: Counter, Both;
///         /// Those that left over link *k*.
///         sent_packets as "sent_port<k>_packets": Counter, End;
///     }
/// }
/// let mut out = quiclab_core::Metrics::default();
/// out.count(&COUNTER.packets, 3);
/// out.count_of(&COUNTER.sent_packets, 1, 2);
/// assert_eq!((out.get("packets"), out.get("sent_port1_packets")), (Some(3.0), Some(2.0)));
/// assert_eq!(COUNTER.group().metrics[0].meaning(), "Packets that passed.");
/// ```
#[macro_export]
macro_rules! metrics {
    ($($(#[$about:meta])* $visible:vis static $group:ident: $type:ident = $owner:ident, $element:literal {
        $($(#[doc = $comment:literal])+ $field:ident $(as $name:literal)?: $kind:ident, $recorded:ident;)+
    })+) => {
        $(
            $(#[$about])*
            #[derive(Debug)]
            $visible struct $type {
                $($(#[doc = $comment])+ $visible $field: $crate::Metric,)+
            }

            $(#[$about])*
            $visible static $group: $type = $type {
                $($field: $crate::Metric {
                    name: $crate::metrics!(@name $field $($name)?),
                    kind: $crate::MetricKind::$kind,
                    recorded: $crate::Recorded::$recorded,
                    comment: concat!($($comment),+),
                },)+
            };

            impl $type {
                /// The list of the metrics.
                #[must_use]
                $visible fn group(&self) -> $crate::MetricGroup {
                    static LIST: &[&$crate::Metric] = &[$(&$group.$field),+];
                    $crate::MetricGroup { owner: $crate::MetricOwner::$owner, element: $element, metrics: LIST }
                }
            }
        )+
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
}

#[cfg(test)]
mod tests {
    use super::*;

    metrics! {
        /// Metrics of the tests.
        static TEST: TestMetrics = Network, "test" {
            /// Total.
            lost_packets: Counter, Both;
            /// Window of path *k*.
            window as "path<k>_cwnd_bytes": Gauge, Series;
            /// Round-trip
            /// time.
            rtt_ms: Distribution, End;
            /// Lost of path *k*.
            lost as "path<k>_lost": Counter, End;
        }
    }

    #[test]
    fn totals_add_up_and_other_values_do_not() {
        let values = |lost: u64| {
            let mut values = Metrics::default();
            values.count(&TEST.lost_packets, lost);
            values.count_of(&TEST.window, 1, 10);
            (1..=2).for_each(|path| values.count_of(&TEST.lost, path, lost * path as u64));
            values
        };
        let mut sums = Metrics::default();
        sums.add(&values(2));
        sums.add(&values(5));
        let expected = [("lost_packets", 7.0), ("path1_lost", 7.0), ("path2_lost", 14.0)];
        assert_eq!(sums, expected);
    }

    #[test]
    fn a_definition_has_names_unit_and_meaning() {
        let names = |metric: &'static Metric| metric.names().collect::<Vec<_>>();
        assert_eq!(names(&TEST.window), ["path<k>_cwnd_bytes"]);
        assert_eq!(names(&TEST.rtt_ms)[..2], ["rtt_ms_mean", "rtt_ms_min"]);
        assert_eq!([&TEST.window, &TEST.rtt_ms, &TEST.lost].map(Metric::unit), ["B", "ms", ""]);
        assert_eq!(TEST.rtt_ms.meaning(), "Round-trip time.");
        assert_eq!(TEST.group().metrics.len(), 4);
    }
}
