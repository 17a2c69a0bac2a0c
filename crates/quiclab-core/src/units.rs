//! Rates, sizes and probabilities with units.

use crate::quantity::{QuantityError, Unit, quantity_text};
use crate::time::Duration;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// Bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataRate(u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(u64);

/// A probability between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

const RATES: &[Unit] = &[("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];
quantity_text!(
    DataRate,
    "rate",
    RATES,
    3,
    "20 Mbit/s",
    r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*(Gbit/s|Mbit/s|kbit/s|bit/s)\s*$"
);

const SIZES: &[Unit] = &[
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("B", 1),
];
quantity_text!(
    ByteCount,
    "size",
    SIZES,
    0,
    "64 KiB",
    r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*(GB|GiB|MB|MiB|kB|KiB|B)\s*$"
);

impl DataRate {
    /// A rate in bit/s.
    #[must_use]
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }
    /// A rate in Mbit/s (10⁶ bit/s).
    #[must_use]
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps.saturating_mul(1_000_000))
    }
    /// Bits per second.
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }
    /// Mbit/s, for statistics.
    #[must_use]
    pub fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Time to transmit `size` at this rate, rounded up to a nanosecond; `Duration::MAX` at rate 0.
    #[must_use]
    pub fn time_for(self, size: ByteCount) -> Duration {
        // 8e9 x size fits into 64 bits up to 2.3 GB: the 128-bit division is kept off the hot path
        if let Some(bit_nanos) = size.0.checked_mul(8_000_000_000) {
            return if self.0 == 0 {
                Duration::MAX
            } else {
                Duration::from_nanos(bit_nanos.div_ceil(self.0))
            };
        }
        if self.0 == 0 {
            return Duration::MAX;
        }
        let nanos = (u128::from(size.0) * 8_000_000_000).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
    /// Number of whole bytes at this rate in `duration`, rounded down.
    #[must_use]
    pub fn bytes_in(self, duration: Duration) -> ByteCount {
        let bytes = u128::from(self.0) * u128::from(duration.as_nanos()) / 8_000_000_000;
        ByteCount(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl ByteCount {
    /// The empty size.
    pub const ZERO: Self = Self(0);
    /// More than every size.
    pub const MAX: Self = Self(u64::MAX);

    /// A size in bytes.
    #[must_use]
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }
    /// Bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }
    /// The difference; zero if `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for ByteCount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl std::iter::Sum for ByteCount {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::ZERO, Add::add)
    }
}
impl AddAssign for ByteCount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl Sub for ByteCount {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl SubAssign for ByteCount {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Probability {
    /// The probability of an impossible event.
    pub const ZERO: Self = Self(0.0);

    /// A probability from a number between 0 and 1, `None` outside.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }
    /// The value between 0 and 1.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl std::str::FromStr for Probability {
    type Err = QuantityError;
    /// Parses `"0.1 %"` or `"0.001"`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (number, scale) = match text.trim().strip_suffix('%') {
            Some(percent) => (percent.trim(), 100.0),
            None => (text.trim(), 1.0),
        };
        let value = number.parse::<f64>().ok().and_then(|value| Self::new(value / scale));
        value.ok_or_else(|| QuantityError::NotAProbability { text: text.to_owned() })
    }
}
impl std::fmt::Display for Probability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}
impl serde::Serialize for Probability {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.0)
    }
}
impl<'de> serde::Deserialize<'de> for Probability {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Probability;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a probability: a number from 0 to 1, or a string such as `0.1 %`")
            }
            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Probability, E> {
                let refused = || E::custom(QuantityError::NotAProbability { text: value.to_string() });
                Probability::new(value).ok_or_else(refused)
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Probability, E> {
                self.visit_f64(value as f64)
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Probability, E> {
                self.visit_f64(value as f64)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Probability, E> {
                text.parse().map_err(E::custom)
            }
        }
        from.deserialize_any(Visitor)
    }
}
impl schemars::JsonSchema for Probability {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "x-quantity": "probability",
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*%?\s*$", "examples": ["0.1 %"] },
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_round_up_to_a_nanosecond() {
        let rate: DataRate = "20 Mbit/s".parse().unwrap();
        assert_eq!(rate.time_for(ByteCount::from_bytes(1324)), Duration::from_nanos(529_600));
        assert_eq!(
            DataRate::from_bits_per_second(3).time_for(ByteCount::from_bytes(1)),
            Duration::from_nanos(2_666_666_667)
        );
        assert_eq!(DataRate::default().time_for(ByteCount::from_bytes(1)), Duration::MAX);
        assert_eq!(rate.bytes_in(Duration::from_millis(1)), ByteCount::from_bytes(2500));
    }

    #[test]
    fn sizes_and_rates_print_what_they_parse() {
        for text in ["20 Mbit/s", "6.67 Mbit/s", "1 Gbit/s", "9600 bit/s"] {
            let rate: DataRate = text.parse().unwrap();
            assert_eq!(rate.to_string().parse::<DataRate>().unwrap(), rate);
        }
        for (text, bytes) in
            [("64 KiB", 65_536), ("100 MB", 100_000_000), ("33554432 B", 33_554_432), ("14 B", 14)]
        {
            let size: ByteCount = text.parse().unwrap();
            assert_eq!(size.bytes(), bytes);
            assert_eq!(size.to_string().parse::<ByteCount>().unwrap(), size);
        }
        assert!("20 mbit".parse::<DataRate>().unwrap_err().to_string().contains("Mbit/s"));
    }

    #[test]
    fn probabilities_are_bounded() {
        assert_eq!("0.2 %".parse::<Probability>().unwrap().value(), 0.002);
        assert_eq!("0.25".parse::<Probability>().unwrap().value(), 0.25);
        for text in ["1.5", "101 %", "-0.1", "NaN", "x"] {
            assert!(text.parse::<Probability>().is_err(), "{text}");
        }
    }
}
