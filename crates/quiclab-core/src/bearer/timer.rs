//! t-Reordering while it runs, and the value with which it starts (TS 38.323 section 5.2.2).

use super::skew::Skew;
use crate::bearer::ReorderingTimer;
use crate::time::{Duration, Time};
use std::collections::VecDeque;

/// t-Reordering: one timer as in the standard, or one for each gap.
#[derive(Debug)]
pub(super) struct ReorderingTimers {
    value: Value,
    /// Running timers in the order of their expiry and of RX_REORD.
    running: VecDeque<Timer>,
    for_each_gap: bool,
    /// Shortest and longest value at a start.
    values: Option<(Duration, Duration)>,
}

/// The value with which t-Reordering starts.
#[derive(Debug)]
enum Value {
    Fixed(Duration),
    Adaptive(Box<Skew>),
}

/// t-Reordering while it runs.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// RX_REORD: COUNT above the one that started the timer.
    rx_reord: u64,
    expires: Time,
}

impl ReorderingTimers {
    pub(super) fn new(config: ReorderingTimer) -> Self {
        let value = match config {
            ReorderingTimer::Fixed(value) => Value::Fixed(value),
            ReorderingTimer::Rule(rule) => Value::Adaptive(Box::new(Skew::new(rule))),
        };
        Self { value, running: VecDeque::new(), for_each_gap: false, values: None }
    }

    /// Uses one timer per gap.
    ///
    /// # Panics
    /// If the value is not constant.
    pub(super) fn run_for_each_gap(&mut self) {
        assert!(matches!(self.value, Value::Fixed(_)), "timers of a constant value expire in order");
        self.for_each_gap = true;
    }

    pub(super) const fn runs_for_each_gap(&self) -> bool {
        self.for_each_gap
    }

    /// The value with which a timer would start now.
    pub(super) fn value(&self) -> Duration {
        match &self.value {
            Value::Fixed(value) => *value,
            Value::Adaptive(skew) => skew.timer(),
        }
    }

    pub(super) const fn values(&self) -> Option<(Duration, Duration)> {
        self.values
    }

    /// Handles the first arrival of the packet of `count`.
    #[inline]
    pub(super) fn came(&mut self, now: Time, count: u64, rx_next: u64) {
        if let Value::Adaptive(skew) = &mut self.value {
            skew.came(now, count, rx_next);
        }
    }

    /// "Update RX_REORD to RX_NEXT; start t-Reordering".
    pub(super) fn start(&mut self, now: Time, rx_next: u64) {
        let value = self.value();
        let (least, most) = self.values.unwrap_or((value, value));
        self.values = Some((least.min(value), most.max(value)));
        self.running.push_back(Timer { rx_reord: rx_next, expires: now + value });
    }

    /// Stops the timers whose packets have all been delivered or given up: they are below `rx_deliv`.
    pub(super) fn stop_until(&mut self, rx_deliv: u64) {
        while self.running.front().is_some_and(|timer| rx_deliv >= timer.rx_reord) {
            self.running.pop_front();
        }
    }

    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Next expiry of a timer.
    pub(super) fn expires(&self) -> Option<Time> {
        self.running.front().map(|timer| timer.expires)
    }

    /// RX_REORD of a timer that has expired.
    pub(super) fn expired(&self, now: Time) -> Option<u64> {
        self.running.front().filter(|timer| timer.expires <= now).map(|timer| timer.rx_reord)
    }
}
