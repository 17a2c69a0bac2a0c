//! Time formats and reference times of qlog files.

use serde_json::Value;

/// Time format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeFormat {
    /// Time since some instant of calendar time; the first event becomes zero.
    Absolute,
    /// Time since the reference time, which becomes zero.
    Relative,
    /// Time since the previous event.
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
    /// Parses a field `reference_time`; `unit_ms` is the unit of numbers.
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
pub(super) fn date_ms(text: &str) -> Option<f64> {
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
    // days of the Gregorian calendar, with years that begin in March
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * years + years.div_euclid(4) - years.div_euclid(100)
        + years.div_euclid(400)
        + (153 * months + 2) / 5
        + day
        - 719_469;
    let of_day = (hours * 60.0 + minutes - shift) * 60.0 + seconds;
    Some((days as f64 * 86_400.0 + of_day) * 1e3).filter(|ms| ms.is_finite())
}
