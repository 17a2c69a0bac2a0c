//! Parsing and printing of quantities such as `"20 Mbit/s"`: an exact decimal number, then a unit.
//!
//! Every unit-carrying type in this crate is an integer count of one base unit (nanoseconds,
//! bit/s, bytes). Text is converted without floating point, so that the same text gives the same
//! integer on every machine; digits beyond one base unit are rounded half up.

use crate::problem::nearest;
use thiserror::Error;

/// Reason why a string is not a quantity. The message states the error, not the expected value: that depends
/// on the limits of the field.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum QuantityError {
    /// The number has no unit.
    #[error("the unit is missing; units are {units}")]
    MissingUnit {
        /// The string.
        text: String,
        /// A correct value.
        example: &'static str,
        /// All accepted units.
        units: String,
    },
    /// The unit is not one of this type.
    #[error("unknown unit `{unit}`; units are {units}")]
    UnknownUnit {
        /// The string.
        text: String,
        /// The text parsed as the unit.
        unit: String,
        /// A correct value.
        example: &'static str,
        /// All accepted units.
        units: String,
        /// The unit that the author may have meant.
        suggestion: Option<&'static str>,
    },
    /// The number contains a comma.
    #[error("write a decimal point, not a comma")]
    Comma {
        /// The string.
        text: String,
    },
    /// The number is negative.
    #[error("it must not be negative")]
    Negative {
        /// The string.
        text: String,
    },
    /// The number is not a decimal number.
    #[error("not a decimal number with a unit")]
    NotANumber {
        /// The string.
        text: String,
        /// A correct value.
        example: &'static str,
    },
    /// The value does not fit into 64 bits of the base unit.
    #[error("larger than {largest}")]
    TooLarge {
        /// The string.
        text: String,
        /// The largest value of the type.
        largest: String,
    },
    /// The number is not between 0 and 1.
    #[error("not a probability: 0 to 1, or 0 % to 100 %")]
    NotAProbability {
        /// The string.
        text: String,
    },
}

impl QuantityError {
    /// The unit that the author may have meant.
    #[must_use]
    pub fn suggestion(&self) -> Option<&'static str> {
        match self {
            Self::UnknownUnit { suggestion, .. } => *suggestion,
            _ => None,
        }
    }
}

/// A unit and its size in base units.
pub(crate) type Unit = (&'static str, u64);

/// Parses `text` as a number and one of `units`; the result is in base units.
pub(crate) fn parse(text: &str, units: &[Unit], example: &'static str) -> Result<u64, QuantityError> {
    let trimmed = text.trim();
    let split =
        trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim());
    let not_a_number = || QuantityError::NotANumber { text: text.to_owned(), example };
    if unit.starts_with(',') {
        return Err(QuantityError::Comma { text: text.to_owned() });
    }
    let negative = unit.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if negative && number.is_empty() {
        return Err(QuantityError::Negative { text: text.to_owned() });
    }
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || number.ends_with('.') || fraction.contains('.') || fraction.len() > 18 {
        return Err(not_a_number());
    }
    let names = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    if unit.is_empty() {
        return Err(QuantityError::MissingUnit { text: text.to_owned(), example, units: names() });
    }
    let scale = units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale).ok_or_else(|| {
        let suggestion = nearest_unit(unit, units);
        QuantityError::UnknownUnit {
            text: text.to_owned(),
            unit: unit.to_owned(),
            example,
            units: names(),
            suggestion,
        }
    })?;
    let too_large = || QuantityError::TooLarge { text: text.to_owned(), largest: print(u64::MAX, units, 0) };
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| too_large())?;
    let divisor = 10u128.pow(fraction.len() as u32);
    let scaled = digits.checked_mul(u128::from(scale)).ok_or_else(too_large)?;
    let rounded = scaled.checked_add(divisor / 2).ok_or_else(too_large)? / divisor;
    u64::try_from(rounded).map_err(|_| too_large())
}

/// The unit that `written` is most likely a misspelling of: of another case, without its `/s`, or `bps` for `bit/s`.
fn nearest_unit(written: &str, units: &[Unit]) -> Option<&'static str> {
    let folded = |name: &str| name.to_lowercase().replace("bps", "bit/s");
    let known: Vec<String> = units.iter().map(|(name, _)| folded(name)).collect();
    let found = nearest(&folded(written), &known)?;
    let index = known.iter().position(|name| *name == found)?;
    Some(units[index].0)
}

/// Prints `value` (base units) exactly, in the first of `units` (sorted from large to small) in
/// which it has at most `digits` decimal digits (0 or 3).
pub(crate) fn print(value: u64, units: &[Unit], digits: u32) -> String {
    for &(name, scale) in units {
        let (whole, rest) = (value / scale, value % scale);
        if whole == 0 && !(value == 0 && scale == 1) {
            continue;
        }
        if rest == 0 {
            return format!("{whole} {name}");
        }
        let thousandths = u128::from(rest) * 1000;
        if digits > 0 && thousandths.is_multiple_of(u128::from(scale)) {
            let digits = format!("{:03}", thousandths / u128::from(scale));
            return format!("{whole}.{} {name}", digits.trim_end_matches('0'));
        }
    }
    let (name, scale) = units[units.len() - 1];
    format!("{} {name}", value / scale)
}

/// Text form, serde and JSON schema of a type that is an integer in base units.
macro_rules! quantity_text {
    ($type:ident, $name:literal, $units:expr, $digits:literal, $example:literal, $pattern:literal) => {
        impl std::str::FromStr for $type {
            type Err = $crate::quantity::QuantityError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::quantity::parse(text, $units, $example).map(Self)
            }
        }
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&$crate::quantity::print(self.0, $units, $digits))
            }
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a string with a unit such as `", $example, "`"))
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                from.deserialize_str(Visitor)
            }
        }
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string", "pattern": $pattern, "examples": [$example], "x-quantity": $name
                })
            }
        }
    };
}
pub(crate) use quantity_text;
