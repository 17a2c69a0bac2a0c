//! Clock of the kernel in ticks (jiffies), in which it counts the time of timers (kernel/time/timer.c).
//!
//! A wait is rounded up to ticks, and starts with the last elapsed tick. The timer ends one tick after that,
//! so that it is never early; a long one at the next multiple of eight ticks, or of 64 or 512, as in the
//! timer wheel.

use quiclab_core::{Duration, Time};

/// Maximum number of ticks with which a timer ends to the tick (`LVL_START(1)`); eight times as many for each
/// further level of the wheel.
const FIRST_LEVEL: u64 = 63;
/// Binary logarithm of the ratio of multiples between levels.
const LEVEL_SHIFT: u32 = 3;
/// Number of levels with multiples (`LVL_DEPTH`, less the first).
const LEVELS: u32 = 8;

/// Ticks of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// Length of a tick; `None`: timers end when they are due.
    length: Option<Duration>,
}

impl Ticks {
    /// No ticks: timers end when they are due.
    pub const EXACT: Self = Self { length: None };

    /// Makes a clock with `hz` ticks per second; `None`: timers end when they are due.
    #[must_use]
    pub fn new(hz: Option<u32>) -> Self {
        Self { length: hz.map(|hz| Duration::from_secs(1) / u64::from(hz.max(1))) }
    }

    /// Time at which a timer ends that is set at `now` for `wait`.
    #[must_use]
    pub fn end(&self, now: Time, wait: Duration) -> Time {
        let Some(tick) = self.length else { return now + wait };
        let tick = tick.as_nanos();
        let wait = wait.as_nanos().div_ceil(tick);
        let level = (0..LEVELS).find(|level| wait < FIRST_LEVEL << (LEVEL_SHIFT * level)).unwrap_or(LEVELS);
        let shift = LEVEL_SHIFT * level;
        let end = (((now.as_nanos() / tick + wait) >> shift) + 1) << shift;
        Time::from_nanos(end.saturating_mul(tick))
    }

    /// Two ticks, which are added to the waits of probe and reordering timer (`TCP_TIMEOUT_MIN`): of a
    /// millisecond if there are none.
    #[must_use]
    pub fn margin(&self) -> Duration {
        self.length.unwrap_or(Duration::from_millis(1)) * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    /// 1000 Hz, at 10.3 ms: 2.5 ms are three ticks from 10 ms on, and the timer ends at 14 ms. 200 ms end with a multiple of
    /// 8 ms: 210 ms lie between 208 and 216 ms; a second with one of 64 ms.
    #[test]
    fn timers_end_at_ticks() {
        let end = |hz, micros| Ticks::new(hz).end(us(10_300), Duration::from_micros(micros));
        assert_eq!(end(Some(1000), 2500), us(14_000));
        assert_eq!(end(Some(1000), 62_000), us(73_000));
        assert_eq!(end(Some(1000), 200_000), us(216_000));
        assert_eq!(end(Some(1000), 1_000_000), us(1_024_000));
        assert_eq!(end(Some(250), 2500), us(16_000));
        assert_eq!(end(None, 2500), us(12_800));
        assert_eq!((Ticks::new(Some(250)).margin(), Ticks::new(None).margin()), (ms(8), ms(2)));
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn no_timer_is_early() {
        for hz in [100, 250, 300, 1000] {
            let ticks = Ticks::new(Some(hz));
            for now in [0, 999_999, 1_000_000, 123_456_789] {
                for wait in
                    [1, 1_000_000, 40_000_000, 62_999_999, 251_000_000, 3_000_000_000, 120_000_000_000]
                {
                    let due = Time::from_nanos(now) + Duration::from_nanos(wait);
                    assert!(ticks.end(Time::from_nanos(now), Duration::from_nanos(wait)) > due);
                }
            }
        }
    }
}
