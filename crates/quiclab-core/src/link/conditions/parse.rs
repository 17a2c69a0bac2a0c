//! Parser of the rows of a file.

use crate::link::ConditionRow;
use crate::link::trace::TraceError;
use crate::link::trace::parse::{Column, DECIMAL, lines, shortened};
use crate::time::Duration;
use crate::units::{DataRate, Probability};

/// Maximum number of rows of a file: they are kept in memory.
const MAX_ROWS: usize = 1_000_000;
/// Number of units of a loss probability of 1, in which losses are parsed exactly.
const LOSS_UNITS: u64 = 1_000_000_000_000;

/// Quantity in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Time,
    Rate,
    Delay,
    Deviation,
    Loss,
    Up,
}

/// Name, quantity and unit of each column: the number of ns, bit/s or parts of a probability.
const COLUMNS: [(&str, Quantity, u64); 12] = [
    ("time_s", Quantity::Time, 1_000_000_000),
    ("time_ms", Quantity::Time, 1_000_000),
    ("rate_bps", Quantity::Rate, 1),
    ("rate_kbps", Quantity::Rate, 1_000),
    ("rate_mbps", Quantity::Rate, 1_000_000),
    ("delay_us", Quantity::Delay, 1_000),
    ("delay_ms", Quantity::Delay, 1_000_000),
    ("deviation_us", Quantity::Deviation, 1_000),
    ("deviation_ms", Quantity::Deviation, 1_000_000),
    ("loss_share", Quantity::Loss, LOSS_UNITS),
    ("loss_percent", Quantity::Loss, LOSS_UNITS / 100),
    ("up", Quantity::Up, 1),
];

/// Rows of the CSV file `text`. Their order is not checked here.
pub(super) fn csv(text: &str) -> Result<Vec<ConditionRow>, String> {
    let sentence = |error: TraceError| error.to_string();
    let mut lines = lines(text);
    let (line, header) = lines.next().ok_or_else(|| sentence(TraceError::Empty))?;
    let columns = columns(line, header)?;
    let mut rows = Vec::new();
    for (line, text) in lines {
        if rows.len() == MAX_ROWS {
            return Err(format!("line {line}: expected at most {MAX_ROWS} rows, got more"));
        }
        let values = text.split(',').count();
        if values != columns.len() {
            let (expected, text) = (columns.len(), shortened(text));
            return Err(format!(
                "line {line}: expected {expected} values as in the header, got {values}: {text:?}"
            ));
        }
        let mut row = ConditionRow::default();
        for ((column, quantity), value) in columns.iter().zip(text.split(',')) {
            read(&mut row, column, *quantity, line, value.trim())?;
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The columns that a header names, in its order.
fn columns(line: usize, header: &str) -> Result<Vec<(Column, Quantity)>, String> {
    let mut found: Vec<(Column, Quantity)> = Vec::new();
    for name in header.split(',').map(str::trim) {
        let Some((name, quantity, scale)) = COLUMNS.iter().find(|(known, ..)| *known == name) else {
            let known: Vec<_> = COLUMNS.iter().map(|(name, ..)| format!("`{name}`")).collect();
            let (known, name) = (known.join(", "), shortened(name));
            return Err(format!("line {line}: expected a header of columns among {known}, got {name:?}"));
        };
        if let Some((before, _)) = found.iter().find(|(_, of)| of == quantity) {
            let before = before.name;
            return Err(format!(
                "line {line}: expected one column for each quantity, got `{before}` and `{name}`"
            ));
        }
        let unit = if *quantity == Quantity::Rate { "bit/s" } else { "ns" };
        found.push((Column { name, scale: *scale, unit, expected: DECIMAL }, *quantity));
    }
    let timed = found.iter().any(|(_, quantity)| *quantity == Quantity::Time);
    if !timed || found.len() < 2 {
        let header = shortened(header);
        return Err(format!(
            "line {line}: expected a column `time_s` or `time_ms` and at least one other, got {header:?}"
        ));
    }
    Ok(found)
}

/// Sets the value `text` of a column in `row`; an empty one is that of the row before.
fn read(
    row: &mut ConditionRow,
    column: &Column,
    quantity: Quantity,
    line: usize,
    text: &str,
) -> Result<(), String> {
    if text.is_empty() && quantity != Quantity::Time {
        return Ok(());
    }
    let name = column.name;
    let number = column.read(line, text).map_err(|error| error.to_string())?;
    let between =
        |expected: &str| format!("line {line}: {name}: expected {expected}, got {:?}", shortened(text));
    match quantity {
        Quantity::Time => row.at = Duration::from_nanos(number),
        Quantity::Rate => row.rate = Some(DataRate::from_bits_per_second(number)),
        Quantity::Delay => row.delay = Some(Duration::from_nanos(number)),
        Quantity::Deviation => row.deviation = Some(Duration::from_nanos(number)),
        Quantity::Loss => {
            let share = Probability::new(number as f64 / LOSS_UNITS as f64);
            let most = LOSS_UNITS / column.scale;
            row.loss = Some(share.ok_or_else(|| between(&format!("a number from 0 to {most}")))?);
        }
        Quantity::Up => match text {
            "0" => row.up = Some(false),
            "1" => row.up = Some(true),
            _ => return Err(between("0 or 1")),
        },
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_in_any_order_and_unit_and_empty_values() {
        let rows =
            csv("# made by hand\nup, loss_percent,time_ms,delay_us\n1,2.5,0,40000\n,,100,\n0,0,1.5e3,7\n")
                .unwrap();
        let loss = |share| Some(Probability::new(share).unwrap());
        let first = ConditionRow {
            delay: Some(Duration::from_millis(40)),
            loss: loss(0.025),
            up: Some(true),
            ..ConditionRow::default()
        };
        assert_eq!(rows[0], first);
        assert_eq!(rows[1], ConditionRow { at: Duration::from_millis(100), ..ConditionRow::default() });
        assert_eq!(rows[2].at, Duration::from_millis(1500));
        assert_eq!(
            (rows[2].up, rows[2].loss, rows[2].delay),
            (Some(false), loss(0.0), Some(Duration::from_micros(7)))
        );
    }

    #[test]
    fn errors_name_line_column_and_value() {
        for (text, expected) in [
            ("", "expected at least one entry, got none"),
            (
                "time_s\n0\n",
                "line 1: expected a column `time_s` or `time_ms` and at least one other, got \"time_s\"",
            ),
            (
                "delay_ms,up\n",
                "line 1: expected a column `time_s` or `time_ms` and at least one other, got \"delay_ms,up\"",
            ),
            (
                "time_s,delay_ms,delay_us\n",
                "line 1: expected one column for each quantity, got `delay_ms` and `delay_us`",
            ),
            ("time_s,up\n\n0,1,2\n", "line 3: expected 2 values as in the header, got 3: \"0,1,2\""),
            (
                "time_s,up\n0,yes\n",
                "line 2: up: expected a decimal number such as `12.5` or `1.2e7`, got \"yes\"",
            ),
            ("time_s,up\n0,2\n", "line 2: up: expected 0 or 1, got \"2\""),
            (
                "time_s,loss_percent\n0,101\n",
                "line 2: loss_percent: expected a number from 0 to 100, got \"101\"",
            ),
            (
                "time_s,loss_share\n0,1.01\n",
                "line 2: loss_share: expected a number from 0 to 1, got \"1.01\"",
            ),
            ("time_s,delay_ms\n0,-1\n", "line 2: delay_ms: expected a number of at least 0, got \"-1\""),
            (
                "time_s,delay_ms\n,1\n",
                "line 2: time_s: expected a decimal number such as `12.5` or `1.2e7`, got \"\"",
            ),
        ] {
            assert_eq!(csv(text).unwrap_err(), expected);
        }
        let unknown = csv("time_s,latency_ms\n").unwrap_err();
        assert!(unknown.starts_with("line 1: expected a header of columns among `time_s`, "), "{unknown}");
        assert!(unknown.ends_with(", got \"latency_ms\""), "{unknown}");
    }
}
