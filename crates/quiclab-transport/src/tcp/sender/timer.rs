//! Timer of the sender, at ticks of the kernel.

use crate::ticks::Ticks;
use quiclab_core::{Duration, Time};

/// Purpose of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    Retransmission,
    Probe,
    Reordering,
    Window,
}

/// Timer of the sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderTimer {
    set: Option<(Timer, Time)>,
    ticks: Ticks,
}

impl SenderTimer {
    /// Makes a timer that is not set.
    pub(super) const fn new(ticks: Ticks) -> Self {
        Self { set: None, ticks }
    }

    /// Time of expiry; `None`: it is not set.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.set.map(|(_, deadline)| deadline)
    }

    /// Purpose; `None`: it is not set.
    pub(super) fn purpose(&self) -> Option<Timer> {
        self.set.map(|(timer, _)| timer)
    }

    /// Sets the timer to expire `wait` from now.
    pub(super) fn set(&mut self, now: Time, timer: Timer, wait: Duration) {
        self.set = Some((timer, self.ticks.end(now, wait)));
    }

    /// Clears the timer.
    pub(super) fn clear(&mut self) {
        self.set = None;
    }

    /// Takes the purpose if the timer is due, and clears the timer.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Timer> {
        let (timer, _) = self.set.filter(|(_, deadline)| *deadline <= now)?;
        self.set = None;
        Some(timer)
    }

    /// Time that is added to the waits of probe and reordering timer.
    pub(super) fn margin(&self) -> Duration {
        self.ticks.margin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms as at;

    #[test]
    fn it_is_set_for_one_purpose_and_due_once() {
        let mut timer = SenderTimer::new(Ticks::EXACT);
        timer.set(at(10), Timer::Probe, Duration::from_millis(5));
        timer.set(at(10), Timer::Retransmission, Duration::from_millis(20));
        assert_eq!((timer.purpose(), timer.deadline()), (Some(Timer::Retransmission), Some(at(30))));
        assert_eq!(timer.take_due(at(29)), None);
        assert_eq!((timer.take_due(at(30)), timer.take_due(at(30))), (Some(Timer::Retransmission), None));
        timer.set(at(30), Timer::Window, Duration::from_millis(5));
        timer.clear();
        assert_eq!(timer.deadline(), None);
    }
}
