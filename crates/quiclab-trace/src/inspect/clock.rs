//! Times of events, and where their zero lies in calendar time.
//!
//! | in the file | becomes |
//! | --- | --- |
//! | `time_format` (of a trace or an event): `absolute` | zero is the first event |
//! | `relative`, `relative_to_epoch` | zero is the reference time, or the first event if that is a day or more later |
//! | `delta`, `relative_to_previous_event` | a sum; the first event is as in the formats above |
//! | `reference_time`: a number or text with one (draft-00 to main-schema-09), in the unit of the trace | calendar time of the reference |
//! | `reference_time`: text with a date | the same |
//! | `reference_time`: `clock_type`, `epoch`, `wall_clock_time` (main-schema-10 on) | a known epoch; else the time at which logging commenced |
//! | `time_offset` (draft-00 to main-schema-05) | "by how many milliseconds the starting time of the current trace should be offset" |
//! | neither | a first event that is later than 1973 says it |

use super::header::TraceHeader;
use super::record;
use serde_json::Value;

/// A trace whose first event is at this time or later counts from that event: such times are of the
/// calendar, or of the machine (mvfst: microseconds since it was started). One day.
const FAR_MS: f64 = 86_400_000.0;
/// March 1973: no machine has run for so long, no log is from before.
const CALENDAR_MS: f64 = 1e11;

/// How the times of a trace count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeFormat {
    /// Since some instant of calendar time; the first event becomes zero.
    Absolute,
    /// Since the reference time, which is zero.
    Relative,
    /// Since the event before.
    Delta,
}

impl TimeFormat {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "absolute" => Some(Self::Absolute),
            "relative" | "relative_to_epoch" => Some(Self::Relative),
            "delta" | "relative_to_previous_event" => Some(Self::Delta),
            _ => None,
        }
    }
}

/// A reference time, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reference {
    /// Times count from here.
    Epoch(f64),
    /// Times count from an unknown instant; logging began here.
    Began(f64),
}

impl Reference {
    /// That of a field `reference_time`; `unit_ms` is the unit of numbers.
    pub(super) fn of(value: &Value, unit_ms: f64) -> Option<Self> {
        match value {
            Value::Number(number) => number.as_f64().map(|number| Self::Epoch(number * unit_ms)),
            Value::String(text) => {
                let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
                number.map(|number| number * unit_ms).or_else(|| date_ms(text)).map(Self::Epoch)
            }
            Value::Object(fields) => {
                let date = |key: &str| fields.get(key).and_then(Value::as_str).and_then(date_ms);
                date("epoch").map(Self::Epoch).or_else(|| date("wall_clock_time").map(Self::Began))
            }
            _ => None,
        }
    }
}

/// Milliseconds since 1970 of a date as in RFC 3339, also with letters after the `T` as in some examples of the drafts.
fn date_ms(text: &str) -> Option<f64> {
    let (date, rest) = text.trim().split_once(['T', 't', ' '])?;
    let mut parts = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let rest = rest.trim_start_matches(':');
    let zone = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(zone);
    let mut parts = clock.split(':').map(|part| part.parse::<f64>().ok());
    let (hours, minutes) = (parts.next()??, parts.next()??);
    let seconds = parts.next().flatten().unwrap_or(0.0);
    let shift = match zone.as_bytes() {
        [sign @ (b'+' | b'-'), ..] => {
            let (hours, minutes) = zone[1..].split_once(':')?;
            let minutes = hours.parse::<f64>().ok()? * 60.0 + minutes.parse::<f64>().ok()?;
            if *sign == b'+' { minutes } else { -minutes }
        }
        _ => 0.0,
    };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(0..=9999).contains(&year) {
        return None;
    }
    // days of the Gregorian calendar, of years that begin in March
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * years + years.div_euclid(4) - years.div_euclid(100)
        + years.div_euclid(400)
        + (153 * months + 2) / 5
        + day
        - 719_469;
    let of_day = (hours * 60.0 + minutes - shift) * 60.0 + seconds;
    Some((days as f64 * 86_400.0 + of_day) * 1e3).filter(|ms| ms.is_finite())
}

/// Time of the events of a trace.
#[derive(Default)]
pub(super) struct Clock {
    /// The last time, before `origin_ms` is taken off.
    last_ms: f64,
    /// What becomes zero; `None` before the first event.
    origin_ms: Option<f64>,
    /// Where that is in calendar time.
    zero_ms: Option<f64>,
}

impl Clock {
    /// The time of an event since the zero of its trace.
    pub(super) fn time(&mut self, event: &record::Event<'_>, trace: &TraceHeader) -> f64 {
        let own = event.time_format.0.as_deref().and_then(TimeFormat::named);
        let (value, format) = match (event.time.0, event.relative_time.0, event.delta_time.0) {
            (Some(value), ..) => (value * trace.unit_ms, own.unwrap_or(trace.time_format)),
            (_, Some(value), _) => (value * trace.unit_ms, TimeFormat::Relative),
            (.., Some(value)) => (value * trace.unit_ms, TimeFormat::Delta),
            // an event without time is at that of the event before
            _ => (self.last_ms, TimeFormat::Relative),
        };
        self.last_ms = if format == TimeFormat::Delta { self.last_ms + value } else { value };
        let reference =
            event.reference_time.0.map(|ms| Reference::Epoch(ms * trace.unit_ms)).or(trace.reference);
        if self.origin_ms.is_none() {
            let far = format == TimeFormat::Absolute || self.last_ms >= FAR_MS;
            self.origin_ms = Some(if far { self.last_ms } else { 0.0 });
            self.zero_ms = match reference {
                Some(Reference::Began(ms)) => Some(ms),
                // an absolute time needs no reference, nor does one that is later than 1973
                Some(Reference::Epoch(ms)) if !far => Some(ms),
                Some(Reference::Epoch(ms)) if self.last_ms < CALENDAR_MS => Some(ms + self.last_ms),
                _ => far.then_some(self.last_ms),
            };
        }
        self.last_ms - self.origin_ms.unwrap_or(0.0)
    }

    /// Calendar time of zero in milliseconds since 1970, if it is known.
    pub(super) fn zero_ms(&self) -> Option<f64> {
        self.zero_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dates() {
        // from `date -u -d ... +%s`
        for (text, seconds) in [
            ("1970-01-01T00:00:00.000Z", 0.0),
            ("2024-10-10T10:10:10.250Z", 1_728_555_010.25),
            ("2024-02-29T23:59:60Z", 1_709_251_200.0),
            ("2000-03-01T01:00:00+02:00", 951_865_200.0),
            ("2000-02-29T22:00:00-01:00", 951_865_200.0),
            ("1969-12-31T23:59:59Z", -1.0),
            ("2024-10-10T:10:10:10Z", 1_728_555_010.0),
        ] {
            assert_eq!(date_ms(text), Some(seconds * 1e3), "{text}");
        }
        for text in ["unknown", "", "2024-13-01T00:00:00Z", "2024-10-10", "T", "2024-1-1Tx:0:0Z"] {
            assert_eq!(date_ms(text), None, "{text}");
        }
    }

    #[test]
    fn references_of_the_drafts() {
        for (value, unit_ms, reference) in [
            (json!("1553986553572"), 1.0, Reference::Epoch(1_553_986_553_572.0)),
            (json!(1_553_986_553_572.5), 1.0, Reference::Epoch(1_553_986_553_572.5)),
            // picoquic: all times of the file are in microseconds
            (json!("1553986553572000"), 1e-3, Reference::Epoch(1_553_986_553_572.0)),
            (json!("1970-01-01T00:00:01Z"), 1.0, Reference::Epoch(1000.0)),
            (
                json!({"clock_type": "system", "epoch": "1970-01-01T00:00:00.000Z"}),
                1.0,
                Reference::Epoch(0.0),
            ),
            (
                json!({"clock_type": "monotonic", "epoch": "unknown", "wall_clock_time": "1970-01-02T00:00:00Z"}),
                1.0,
                Reference::Began(86_400_000.0),
            ),
        ] {
            assert_eq!(Reference::of(&value, unit_ms), Some(reference), "{value}");
        }
        for value in [json!(null), json!("soon"), json!({"epoch": "unknown"}), json!([1])] {
            assert_eq!(Reference::of(&value, 1.0), None);
        }
    }
}
