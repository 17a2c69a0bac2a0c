//! Parser of trace files. Decimal numbers are converted without floating point, so that the same text gives
//! the same nanoseconds and bit/s on every machine.

use super::TraceError;

/// A rate and the time from which it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::link) struct RateEntry {
    /// Nanoseconds since the start of the trace.
    pub(in crate::link) start: u64,
    /// Bit/s.
    pub(in crate::link) rate: u64,
}

/// Accepted values of a column of decimal numbers.
pub(in crate::link) const DECIMAL: &str = "a decimal number such as `12.5` or `1.2e7`";
const WHOLE_MS: &str = "a whole number of milliseconds";

/// Entries of a CSV trace: not empty, the first at 0, strictly ascending.
pub(super) fn csv(text: &str) -> Result<Vec<RateEntry>, TraceError> {
    let mut lines = lines(text);
    let (line, header) = lines.next().ok_or(TraceError::Empty)?;
    let columns = header
        .split_once(',')
        .and_then(|(time, rate)| Some((time_column(time.trim())?, rate_column(rate.trim())?)));
    let Some((time_column, rate_column)) = columns else {
        return Err(TraceError::Header { line, text: shortened(header) });
    };
    let mut entries: Vec<RateEntry> = Vec::new();
    for (line, text) in lines {
        let values = text.split_once(',').filter(|(_, rate)| !rate.contains(','));
        let Some((time, rate)) = values else {
            return Err(TraceError::Columns { line, text: shortened(text) });
        };
        let start = time_column.read(line, time)?;
        let rate = rate_column.read(line, rate)?;
        match entries.last() {
            None if start > 0 => {
                return Err(TraceError::LateStart { line, text: shortened(time.trim()) });
            }
            Some(before) if start <= before.start => {
                let text = shortened(time.trim());
                return Err(TraceError::Unsorted { line, text, expected: "later than" });
            }
            _ => entries.push(RateEntry { start, rate }),
        }
    }
    if entries.is_empty() { Err(TraceError::Empty) } else { Ok(entries) }
}

/// Times of a Mahimahi trace in nanoseconds: not empty, ascending.
pub(super) fn mahimahi(text: &str) -> Result<Vec<u64>, TraceError> {
    let column = Column { name: "time", scale: 1_000_000, unit: "ns", expected: WHOLE_MS };
    let mut times: Vec<u64> = Vec::new();
    for (line, text) in lines(text) {
        if text.contains(['.', 'e', 'E']) {
            let text = shortened(text);
            return Err(TraceError::NotANumber { line, column: column.name, text, expected: WHOLE_MS });
        }
        let time = column.read(line, text)?;
        if times.last().is_some_and(|before| time < *before) {
            let text = shortened(text);
            return Err(TraceError::Unsorted { line, text, expected: "not earlier than" });
        }
        times.push(time);
    }
    if times.is_empty() { Err(TraceError::Empty) } else { Ok(times) }
}

/// Lines with content, with their numbers from 1.
pub(in crate::link) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// A column of numbers.
#[derive(Clone, Debug)]
pub(in crate::link) struct Column {
    pub(in crate::link) name: &'static str,
    /// Nanoseconds or bit/s per unit of the column.
    pub(in crate::link) scale: u64,
    pub(in crate::link) unit: &'static str,
    pub(in crate::link) expected: &'static str,
}

fn time_column(name: &str) -> Option<Column> {
    let (name, scale) = match name {
        "time_s" => ("time_s", 1_000_000_000),
        "time_ms" => ("time_ms", 1_000_000),
        _ => return None,
    };
    Some(Column { name, scale, unit: "ns", expected: DECIMAL })
}

fn rate_column(name: &str) -> Option<Column> {
    let (name, scale) = match name {
        "rate_bps" => ("rate_bps", 1),
        "rate_kbps" => ("rate_kbps", 1_000),
        "rate_mbps" => ("rate_mbps", 1_000_000),
        _ => return None,
    };
    Some(Column { name, scale, unit: "bit/s", expected: DECIMAL })
}

impl Column {
    /// The value of `text` in nanoseconds or bit/s.
    pub(in crate::link) fn read(&self, line: usize, text: &str) -> Result<u64, TraceError> {
        let (text, column) = (text.trim(), self.name);
        decimal(text, self.scale).map_err(|problem| {
            let text = shortened(text);
            match problem {
                Problem::NotANumber => TraceError::NotANumber { line, column, text, expected: self.expected },
                Problem::Negative => TraceError::Negative { line, column, text },
                Problem::TooLarge => TraceError::TooLarge { line, column, text, unit: self.unit },
            }
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Problem {
    NotANumber,
    Negative,
    TooLarge,
}

/// `text` (digits, optional fraction, optional exponent) times `scale`, rounded half up.
fn decimal(text: &str, scale: u64) -> Result<u64, Problem> {
    if let Some(positive) = text.strip_prefix('-') {
        return Err(match decimal(positive, scale) {
            Err(Problem::NotANumber | Problem::Negative) => Problem::NotANumber,
            Ok(_) | Err(Problem::TooLarge) => Problem::Negative,
        });
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i16>().map_err(|_| Problem::NotANumber)?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = 0u128;
    for digit in whole.bytes().chain(fraction.bytes()) {
        if !digit.is_ascii_digit() {
            return Err(Problem::NotANumber);
        }
        // checked below, so that text after too many digits is still detected
        digits = digits.saturating_mul(10).saturating_add(u128::from(digit - b'0'));
    }
    if whole.is_empty() && fraction.is_empty() {
        return Err(Problem::NotANumber);
    }
    if digits == 0 {
        return Ok(0);
    }
    if digits == u128::MAX {
        return Err(Problem::TooLarge);
    }
    let scaled = digits.checked_mul(u128::from(scale)).ok_or(Problem::TooLarge)?;
    let power = i64::from(exponent) - fraction.len() as i64;
    let shift = 10u128.checked_pow(u32::try_from(power.unsigned_abs()).unwrap_or(u32::MAX));
    let value = match (shift, power >= 0) {
        (Some(factor), true) => scaled.checked_mul(factor).ok_or(Problem::TooLarge)?,
        (None, true) => return Err(Problem::TooLarge),
        (Some(divisor), false) => scaled / divisor + u128::from(scaled % divisor >= divisor.div_ceil(2)),
        // less than 2^128 / 10^39: nothing
        (None, false) => 0,
    };
    u64::try_from(value).map_err(|_| Problem::TooLarge)
}

/// The beginning of a text from an untrusted file.
pub(in crate::link) fn shortened(text: &str) -> String {
    const MAX_CHARACTERS: usize = 60;
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_exact() {
        for (text, scale, value) in [
            ("12.5", 1_000_000, 12_500_000),
            ("0.1", 1_000_000_000, 100_000_000),
            ("1.2e7", 1, 12_000_000),
            ("1E-05", 1_000_000_000, 10_000),
            ("0.4999999999", 1, 0),
            ("0.5", 1, 1),
            ("5e-39", 1, 0),
            ("5e-400", 1, 0),
            ("0e999", 1, 0),
            (".5", 2, 1),
            ("7.", 1, 7),
            ("18446744073709551615", 1, u64::MAX),
            ("0.30000000000000004", 1_000_000_000, 300_000_000),
        ] {
            assert_eq!(decimal(text, scale), Ok(value), "{text}");
        }
        for text in ["", ".", "x", "1.2.3", "1e", "1e1.5", "--1", "NaN", "inf", "1 2", "+1", "1_0", "٣"] {
            assert_eq!(decimal(text, 1), Err(Problem::NotANumber), "{text}");
        }
        for text in ["18446744073709551616", "1e20", "1e400", &"9".repeat(50)] {
            assert_eq!(decimal(text, 1), Err(Problem::TooLarge), "{text}");
        }
        assert_eq!(decimal("-1e400", 1), Err(Problem::Negative));
    }

    #[test]
    fn csv_units_blank_lines_and_comments() {
        let entry = |start, rate| RateEntry { start, rate };
        let seconds = "\u{feff}# LTE\r\ntime_s,rate_mbps\r\n0,4.5\r\n\r\n1.5, 0.25\r\n";
        assert_eq!(csv(seconds), Ok(vec![entry(0, 4_500_000), entry(1_500_000_000, 250_000)]));
        let millis = "time_ms , rate_kbps\n0,1\n# pause\n20,0";
        assert_eq!(csv(millis), Ok(vec![entry(0, 1_000), entry(20_000_000, 0)]));
        assert_eq!(csv("time_ms,rate_bps\n0,7"), Ok(vec![entry(0, 7)]));
        assert_eq!(mahimahi("0\n# two at once\n5\n5\n"), Ok(vec![0, 5_000_000, 5_000_000]));
    }

    #[test]
    fn errors_name_line_value_and_what_is_expected() {
        let csv_error = |text: &str| csv(text).unwrap_err().to_string();
        assert_eq!(csv(""), Err(TraceError::Empty));
        assert_eq!(csv("time_s,rate_bps\n"), Err(TraceError::Empty));
        for (text, expected) in [
            ("0,1\n", ["line 1", "\"0,1\"", "rate_mbps"]),
            ("time_s\n", ["line 1", "got \"time_s\"", "time_ms"]),
            ("time_s,rate_bps\n0\n", ["line 2", "got \"0\"", "a time and a rate"]),
            ("time_s,rate_bps\n0,1,2\n", ["line 2", "\"0,1,2\"", "a time and a rate"]),
            ("time_s,rate_bps\n0,fast\n", ["line 2", "rate_bps: expected a decimal number", "got \"fast\""]),
            (
                "time_s,rate_bps\n0,1\n\n-1,1\n",
                ["line 4", "time_s: expected a number of at least 0", "got \"-1\""],
            ),
            (
                "time_s,rate_bps\n0,-0.1\n",
                ["line 2", "rate_bps: expected a number of at least 0", "got \"-0.1\""],
            ),
            ("time_s,rate_mbps\n0,1e14\n", ["line 2", "\"1e14\"", "2^64 bit/s"]),
            ("time_s,rate_bps\n5,1\n", ["line 2", "\"5\"", "expected 0"]),
            ("time_s,rate_bps\n0,1\n2,1\n2,1\n", ["line 4", "got \"2\"", "later than the previous one"]),
        ] {
            let message = csv_error(text);
            assert!(expected.iter().all(|part| message.contains(part)), "{message}");
        }
        let mahimahi_error = |text: &str| mahimahi(text).unwrap_err().to_string();
        assert_eq!(mahimahi(" \n"), Err(TraceError::Empty));
        for (text, expected) in [
            ("1\n2.5\n", ["line 2", "\"2.5\"", "whole number of milliseconds"]),
            ("1\nx\n", ["line 2", "\"x\"", "whole number of milliseconds"]),
            ("3\n2\n", ["line 2", "got \"2\"", "not earlier than the previous one"]),
            ("-3\n", ["line 1", "\"-3\"", "at least 0"]),
            ("99999999999999\n", ["line 1", "\"99999999999999\"", "2^64 ns"]),
        ] {
            let message = mahimahi_error(text);
            assert!(expected.iter().all(|part| message.contains(part)), "{message}");
        }
        assert!(csv_error(&"x".repeat(1_000_000)).len() < 300);
    }

    proptest! {
        #[test]
        fn printed_decimals_come_back(nanos in any::<u64>()) {
            let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
            prop_assert_eq!(decimal(&text, 1_000_000_000), Ok(nanos));
        }
    }
}
