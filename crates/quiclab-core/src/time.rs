//! Virtual time: integer nanoseconds since the start of a run, and differences of it.

use crate::quantity::{Unit, quantity_text};
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// Nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time in nanoseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

const UNITS: &[Unit] = &[
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];
quantity_text!(
    Duration,
    "duration",
    UNITS,
    3,
    "10 ms",
    r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*(min|s|ms|us|µs|ns)\s*$"
);

impl Time {
    /// The start of a run.
    pub const ZERO: Self = Self(0);
    /// Later than every event.
    pub const MAX: Self = Self(u64::MAX);

    /// A time from nanoseconds since the start of the run.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
    /// Nanoseconds since the start of the run.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Milliseconds since the start of the run, for statistics.
    #[must_use]
    pub fn as_ms_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Time since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// The empty duration.
    pub const ZERO: Self = Self(0);
    /// Longer than every run.
    pub const MAX: Self = Self(u64::MAX);

    /// A duration of `nanos` nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
    /// A duration of `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }
    /// A duration of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }
    /// A duration of `secs` seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }
    /// `nanos` rounded to the nearest nanosecond; negative and NaN give zero.
    #[must_use]
    pub fn from_nanos_f64(nanos: f64) -> Self {
        Self(libm::round(nanos) as u64) // `as` saturates: negative and NaN become 0
    }
    /// Nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Milliseconds, for statistics.
    #[must_use]
    pub fn as_ms_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Seconds, for statistics.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// The difference; zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.0))
    }
}
impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}
impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl Sub for Duration {
    type Output = Self;
    /// # Panics
    /// In debug builds when `other` is longer: durations are never negative.
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}
impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}
impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&crate::quantity::print(self.0, UNITS, 3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints_exactly() {
        for (text, nanos, printed) in [
            ("10 ms", 10_000_000, "10 ms"),
            ("16.67ms", 16_670_000, "16.67 ms"),
            ("1.5 s", 1_500_000_000, "1.5 s"),
            ("180 s", 180_000_000_000, "3 min"),
            ("0 s", 0, "0 ns"),
            ("35 µs", 35_000, "35 us"),
            ("0.4 ns", 0, "0 ns"),
            ("0.5 ns", 1, "1 ns"),
        ] {
            let duration: Duration = text.parse().unwrap();
            assert_eq!(duration.as_nanos(), nanos, "{text}");
            assert_eq!(duration.to_string(), printed, "{text}");
            assert_eq!(printed.parse::<Duration>().unwrap(), duration, "{text}");
        }
    }

    #[test]
    fn names_value_and_units_when_wrong() {
        let message = |text: &str| text.parse::<Duration>().unwrap_err().to_string();
        assert!(message("10").contains("unit is missing") && message("10").contains("ms"));
        assert!(message("10 mss").contains("unknown unit `mss`"));
        assert!(message("-10 ms").contains("must not be negative"));
        assert!(message("1e3 ms").contains("unknown unit"));
        assert!(message("99999999999999 s").contains("larger than"));
        assert!(message("1.2.3 s").contains("not a decimal number"));
    }
}
