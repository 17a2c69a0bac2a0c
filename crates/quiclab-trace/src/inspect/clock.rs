//! Times of events, and the calendar time of their zero.
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
//! | none, or times that are later than 1973 | decided by whether the first event is at a day or later |

use super::header::TraceHeader;
use super::record;
use super::time::{Reference, TimeFormat};

/// A trace whose first event is at this time or later counts from that event: such times are calendar times,
/// or times of the machine (mvfst: microseconds since it was started). One day.
const FAR_MS: f64 = 86_400_000.0;
/// March 1973: no machine has an uptime this long, and no log is older.
const CALENDAR_MS: f64 = 1e11;

/// Time of the events of a trace.
#[derive(Default)]
pub(super) struct Clock {
    /// Last time, before `origin_ms` is subtracted.
    last_ms: f64,
    /// Time that becomes zero; `None` before the first event.
    origin_ms: Option<f64>,
    /// Calendar time of the origin.
    zero_ms: Option<f64>,
}

impl Clock {
    /// Time of an event since the zero of its trace.
    pub(super) fn time(&mut self, event: &record::Event<'_>, trace: &TraceHeader) -> f64 {
        let own = event.time_format.0.as_deref().and_then(TimeFormat::named);
        let (value, format) = match (event.time.0, event.relative_time.0, event.delta_time.0) {
            (Some(value), ..) => (value * trace.unit_ms, own.unwrap_or(trace.time_format)),
            (_, Some(value), _) => (value * trace.unit_ms, TimeFormat::Relative),
            (.., Some(value)) => (value * trace.unit_ms, TimeFormat::Delta),
            // an event without time has the time of the previous event
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
                Some(Reference::Epoch(ms)) if !far => Some(ms),
                // a time before 1973 is not calendar time, whatever the format is called
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
    use crate::inspect::time::date_ms;
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
