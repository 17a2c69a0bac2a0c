//! Conditions of a link over time: rate, one-way delay, its deviation, loss, and whether the link is up.
//!
//! They come from a CSV file or from rows of the scenario and hold until the next time. Time 0 is the start of the run.
//! At the end they restart (the time of the last row is the period, its values are not used) or hold, like the rates of
//! traces (`trace`).
//!
//! | | meaning |
//! | --- | --- |
//! | rate | that of serialisation, integrated exactly as by a trace; packets that wait leave at the new rate |
//! | delay, deviation | those of packets whose serialisation ends from then on. Packets that are in transit keep theirs: after a fall, later ones wait for earlier ones, or overtake them with `reorder` |
//! | loss | probability with which an arriving packet never reaches the queue |
//! | up, `hold` | while down, the rate is 0: a serialisation pauses, and packets wait |
//! | up, `lose` | a packet whose serialisation ends while the link is down is lost; packets in transit arrive |
//!
//! A rate of 0 or a link that is down at the end with `hold` ends the link: it delivers nothing any more.

mod parse;

use super::trace::{RateEntry, Trace, TraceError};
use super::{
    ConditionRow, ConditionsConfig, Delay, Distribution, LinkConfig, Loss, Rate, TraceEnd, WhileDown,
};
use crate::problem::{ensure, name_of, quoted};
use crate::time::{Duration, Time};
use crate::units::Probability;
use crate::{FieldPath, Problem, ProblemKind};
use std::sync::Arc;

/// Conditions from a time on, except the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Condition {
    /// Nanoseconds since the start of the run or of the pass.
    pub(super) start: u64,
    pub(super) delay: Duration,
    pub(super) deviation: Duration,
    pub(super) loss: Probability,
    /// Whether transmitted packets arrive.
    pub(super) arrives: bool,
}

impl Condition {
    /// Conditions set by the options of `link`.
    pub(super) const fn of(link: &LinkConfig) -> Self {
        let loss = match &link.loss {
            Some(Loss::Independent { probability }) => *probability,
            _ => Probability::ZERO,
        };
        Self { start: 0, delay: link.delay.mean, deviation: link.delay.deviation, loss, arrives: true }
    }
}

/// Conditions of a link over time, checked against its other options. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Conditions {
    rows: Arc<[Condition]>,
    /// Nanoseconds until the rows restart; `u64::MAX` if the last one holds.
    length: u64,
    /// The rate, where it changes or the link holds packets while it is down.
    pub(super) rates: Option<Trace>,
    /// Whether the loss is given by the rows.
    pub(super) lossy: bool,
    /// Whether delay or deviation are given by the rows.
    pub(super) delayed: bool,
    /// Times at which the link goes down: nanoseconds since the start of the run or of the pass.
    downs: Arc<[u64]>,
}

impl Conditions {
    /// The conditions of `link`; `text` is the content of the file, if they are in one. `None` if it has none.
    ///
    /// Without `text`, the conditions of a file cannot be created: only their place in a file is checked, and the
    /// result is `None`.
    ///
    /// # Errors
    /// The first error, below the path of the link.
    pub fn new(link: &LinkConfig, text: Option<&str>) -> Result<Option<Self>, Problem> {
        let Some(config) = &link.conditions else { return Ok(None) };
        let path = FieldPath::from("conditions");
        if config.file.is_some() != config.rows.is_empty() {
            let got = if config.rows.is_empty() { "neither" } else { "both" };
            return Err(Problem::new(ProblemKind::Conflict, path, "either `file` or `rows`").because(got));
        }
        match (&config.file, text) {
            (Some(file), Some(text)) => {
                let refused = |reason| Problem::file(path.child("file"), reason).got(quoted(file.display()));
                let rows = parse::csv(text).map_err(refused)?;
                Self::of_rows(link, config, &rows, |_, reason| refused(reason)).map(Some)
            }
            (Some(_), None) => Ok(None),
            (None, _) => Self::of_rows(link, config, &config.rows, |index, reason| {
                Problem::new(ProblemKind::Conflict, path.child("rows").child(index), "").because(reason)
            })
            .map(Some),
        }
    }

    fn of_rows(
        link: &LinkConfig,
        config: &ConditionsConfig,
        rows: &[ConditionRow],
        refused: impl Fn(usize, String) -> Problem,
    ) -> Result<Self, Problem> {
        check_order(rows).map_err(|(index, reason)| refused(index, reason))?;
        let looped = config.at_end != TraceEnd::Hold;
        let last = rows.last().map_or(0, |row| row.at.as_nanos());
        ensure(!looped || last > 0, || refused(0, TraceError::ZeroPeriod.to_string()))?;
        let any = |given: fn(&ConditionRow) -> bool| rows.iter().any(given);
        let holds = config.while_down == WhileDown::Hold && any(|row| row.up.is_some());
        let rate = match &link.rate {
            Some(Rate::Constant(rate)) => Some(*rate),
            _ => None,
        };
        ensure(rate.is_some() || !(any(|row| row.rate.is_some()) || holds), || {
            let field = if holds { "`up` with `while_down` \"hold\"" } else { "`rate`" };
            let reason = format!("{field} of the conditions needs it");
            Problem::new(ProblemKind::Conflict, "rate", "a constant rate").because(reason)
        })?;
        let delayed = any(|row| row.delay.is_some() || row.deviation.is_some());
        let constant = link.delay.distribution == Distribution::Constant;
        ensure(!constant || !any(|row| row.deviation.is_some_and(|it| it > Duration::ZERO)), || {
            let reason = "the conditions have a deviation";
            Problem::conflict("delay.distribution", quoted("constant"), "another distribution")
                .because(reason)
        })?;
        if let Some(every) = link.delay.every.filter(|_| delayed) {
            let reason = "the conditions have a delay";
            return Err(Problem::conflict("delay.every", quoted(every), "no value").because(reason));
        }
        let lossy = any(|row| row.loss.is_some());
        check_start(link, config)?;
        match &link.loss {
            None | Some(Loss::Independent { .. }) => {}
            Some(process) if lossy => {
                let reason = "the conditions have a loss";
                let kind = quoted(name_of(process));
                return Err(Problem::conflict("loss.kind", kind, quoted("independent")).because(reason));
            }
            Some(_) => {}
        }
        let mut now = Condition::of(link);
        let (mut rate, mut up) = (rate.map_or(0, |rate| rate.bits_per_second()), true);
        let (mut conditions, mut rates, mut downs) = (Vec::with_capacity(rows.len()), Vec::new(), Vec::new());
        for row in rows {
            let start = row.at.as_nanos();
            rate = row.rate.map_or(rate, |rate| rate.bits_per_second());
            if up && row.up == Some(false) {
                downs.push(start);
            }
            up = row.up.unwrap_or(up);
            now = Condition {
                start,
                delay: row.delay.unwrap_or(now.delay),
                deviation: row.deviation.unwrap_or(now.deviation),
                loss: row.loss.unwrap_or(now.loss),
                arrives: up || config.while_down == WhileDown::Hold,
            };
            conditions.push(now);
            rates.push(RateEntry { start, rate: if up || !holds { rate } else { 0 } });
        }
        if looped {
            conditions.pop();
        }
        let rates = if holds || any(|row| row.rate.is_some()) {
            let trace = Trace::of_rates(rates, config.at_end);
            Some(trace.map_err(|error| refused(rows.len() - 1, error.to_string()))?)
        } else {
            None
        };
        let length = if looped { last } else { u64::MAX };
        // the values of the last row are not used then
        downs.retain(|down| *down < length);
        Ok(Self { rows: conditions.into(), length, rates, lossy, delayed, downs: downs.into() })
    }

    /// First time, at `from` or later, at which the link goes down; `None` if never.
    #[must_use]
    pub fn first_down(&self, from: Time) -> Option<Time> {
        let from = from.as_nanos();
        let pass = from / self.length;
        let of_pass = |pass: u64| {
            let start = pass.checked_mul(self.length)?;
            self.downs.iter().filter_map(|down| start.checked_add(*down)).find(|down| *down >= from)
        };
        let next = || of_pass(pass + 1).filter(|_| self.length < u64::MAX);
        of_pass(pass).or_else(next).map(|down| Time::ZERO + Duration::from_nanos(down))
    }

    /// All conditions of a pass.
    pub(super) fn rows(&self) -> &[Condition] {
        &self.rows
    }
}

/// Checks that the conditions of a scenario at 0 s are those of the link, so that neither is ignored.
fn check_start(link: &LinkConfig, config: &ConditionsConfig) -> Result<(), Problem> {
    let Some(first) = config.rows.first() else { return Ok(()) };
    let differs = |field: &str, link: String, row: String| {
        Err(Problem::conflict(field, quoted(link), quoted(row))
            .because("the conditions have this value at 0 s"))
    };
    if let (Some(Rate::Constant(rate)), Some(row)) = (&link.rate, first.rate)
        && *rate != row
    {
        return differs("rate", rate.to_string(), row.to_string());
    }
    if let Some(row) = first.delay.filter(|row| link.delay != Delay::default() && *row != link.delay.mean) {
        return differs("delay.mean", link.delay.mean.to_string(), row.to_string());
    }
    Ok(())
}

/// Checks that times begin at 0 and ascend; an error has the row and the reason.
fn check_order(rows: &[ConditionRow]) -> Result<(), (usize, String)> {
    match rows.first() {
        None => return Err((0, TraceError::Empty.to_string())),
        Some(row) if row.at > Duration::ZERO => {
            return Err((0, format!("expected 0 as the first time, got \"{}\"", row.at)));
        }
        Some(_) => {}
    }
    for (before, (index, row)) in rows.iter().zip(rows.iter().enumerate().skip(1)) {
        if row.at <= before.at {
            let (at, number) = (row.at, index + 1);
            return Err((
                index,
                format!("row {number}: expected a time later than \"{}\", got \"{at}\"", before.at),
            ));
        }
    }
    Ok(())
}

/// Position of a link in its conditions.
#[derive(Debug)]
pub(super) struct ConditionCursor {
    conditions: Conditions,
    /// The current row, its start, and its end.
    index: usize,
    since: u64,
    until: u64,
}

impl ConditionCursor {
    /// Position at the start of the run.
    pub(super) fn new(conditions: Conditions) -> Self {
        let mut cursor = Self { conditions, index: 0, since: 0, until: 0 };
        cursor.enter(0, 0);
        cursor
    }

    /// All conditions of a pass.
    pub(super) fn rows(&self) -> &[Condition] {
        self.conditions.rows()
    }

    /// The current conditions.
    pub(super) fn now(&self) -> &Condition {
        &self.conditions.rows[self.index]
    }

    /// Advances to `at`; returns whether the row has changed. Times do not go back.
    pub(super) fn advance(&mut self, at: Time) -> bool {
        let at = at.as_nanos();
        debug_assert!(at >= self.since, "conditions are asked for in the order of time");
        if at < self.until {
            return false;
        }
        let length = self.conditions.length;
        let pass = if length == u64::MAX { 0 } else { at / length * length };
        let rows = &self.conditions.rows;
        let begun = |index: usize| rows.get(index).is_some_and(|row| row.start <= at - pass);
        // usually the next one; the first one begins at 0, so there is one before the partition point
        let next = self.index + 1;
        let index = if begun(next) && !begun(next + 1) {
            next
        } else {
            rows.partition_point(|row| row.start <= at - pass) - 1
        };
        self.enter(pass, index);
        true
    }

    fn enter(&mut self, pass: u64, index: usize) {
        let rows = &self.conditions.rows;
        self.index = index;
        self.since = pass + rows[index].start;
        let end = rows.get(index + 1).map_or(self.conditions.length, |next| next.start);
        self.until = pass.saturating_add(end);
    }
}
