//! Arrivals in a file: a header, then a line per connection.

use super::{Arrival, MAX_CONNECTIONS};
use quiclab_core::{ByteCount, Duration, Time};
use thiserror::Error;

/// Reason why a text is not a list of arrivals.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArrivalFileError {
    /// The first line does not name the columns.
    #[error("line 1: expected the header `time_s,size_bytes` or `time_ms,size_bytes`, got {0:?}")]
    Header(String),
    /// A line is not two numbers.
    #[error("line {line}: expected {expected}, got {got:?}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// Expected content.
        expected: &'static str,
        /// Actual content.
        got: String,
    },
    /// There are more lines than the maximum number of connections of a flow.
    #[error("expected at most {MAX_CONNECTIONS} connections, got more")]
    TooMany,
    /// There is no connection.
    #[error("expected a line for each connection, got none")]
    Empty,
}

/// The connections of a file, with times from `start` on. Empty lines and lines that begin with `#` are
/// skipped.
///
/// # Errors
/// The first invalid line.
pub fn read_arrivals(text: &str, start: Time) -> Result<Vec<Arrival>, ArrivalFileError> {
    let mut lines = (1..)
        .zip(text.lines())
        .map(|(number, line)| (number, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let header = lines.next().map_or("", |(_, line)| line);
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let per_second = match names[..] {
        ["time_s", "size_bytes"] => 1.0,
        ["time_ms", "size_bytes"] => 1e3,
        _ => return Err(ArrivalFileError::Header(header.to_owned())),
    };
    let mut arrivals: Vec<Arrival> = Vec::new();
    for (line, text) in lines {
        let wrong = |expected| ArrivalFileError::Line { line, expected, got: text.to_owned() };
        let (time, size) = text.split_once(',').ok_or_else(|| wrong("a time, a comma and a size"))?;
        let seconds = time.trim().parse::<f64>().ok().map(|time| time / per_second);
        // a run lasts less than 2^63 ns
        let seconds = seconds
            .filter(|seconds| (0.0..9e9).contains(seconds))
            .ok_or_else(|| wrong("a time from 0 on"))?;
        let size = size.trim().parse::<u64>().ok().filter(|size| *size > 0);
        let size = size.ok_or_else(|| wrong("a size of at least 1 byte"))?;
        let at = start + Duration::from_nanos(libm::round(seconds * 1e9) as u64);
        if arrivals.last().is_some_and(|before| before.at > at) {
            return Err(wrong("a time that is not before that of the line above"));
        }
        if arrivals.len() as u64 == MAX_CONNECTIONS {
            return Err(ArrivalFileError::TooMany);
        }
        arrivals.push(Arrival { at, size: Some(ByteCount::from_bytes(size)) });
    }
    if arrivals.is_empty() { Err(ArrivalFileError::Empty) } else { Ok(arrivals) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_from_the_start_in_the_unit_of_the_header() {
        let start = Time::ZERO + Duration::from_secs(2);
        let text = "# recorded\ntime_ms, size_bytes\n0,1000\n\n1.5, 20\n1.5,1\n";
        let read: Vec<_> =
            read_arrivals(text, start).unwrap().iter().map(|it| (it.at.as_ms_f64(), it.size)).collect();
        let bytes = |count| Some(ByteCount::from_bytes(count));
        assert_eq!(read, [(2000.0, bytes(1000)), (2001.5, bytes(20)), (2001.5, bytes(1))]);
    }

    #[test]
    fn what_is_no_arrival_is_named_with_its_line() {
        let refused = |text: &str| read_arrivals(text, Time::ZERO).unwrap_err().to_string();
        for (text, reason) in [
            ("", "line 1: expected the header `time_s,size_bytes` or `time_ms,size_bytes`, got \"\""),
            (
                "time,size\n0,1",
                "line 1: expected the header `time_s,size_bytes` or `time_ms,size_bytes`, got \"time,size\"",
            ),
            ("time_s,size_bytes", "expected a line for each connection, got none"),
            ("time_s,size_bytes\n1", "line 2: expected a time, a comma and a size, got \"1\""),
            ("time_s,size_bytes\n-1,5", "line 2: expected a time from 0 on, got \"-1,5\""),
            ("time_s,size_bytes\nNaN,5", "line 2: expected a time from 0 on, got \"NaN,5\""),
            ("time_s,size_bytes\n1e300,5", "line 2: expected a time from 0 on, got \"1e300,5\""),
            ("time_s,size_bytes\n1,0", "line 2: expected a size of at least 1 byte, got \"1,0\""),
            ("time_s,size_bytes\n1,1 kB", "line 2: expected a size of at least 1 byte, got \"1,1 kB\""),
            (
                "time_s,size_bytes\n2,1\n1,1",
                "line 3: expected a time that is not before that of the line above, got \"1,1\"",
            ),
        ] {
            assert_eq!(refused(text), reason);
        }
    }
}
