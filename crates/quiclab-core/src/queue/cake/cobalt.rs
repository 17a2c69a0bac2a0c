//! COBALT: CoDel and BLUE side by side for one queue (see [`super`]).
//!
//! CoDel signals congestion to responsive flows; BLUE drops packets of unresponsive ones, with a probability that rises
//! when the queue overflows and falls when it is found empty.

use crate::random::RandomStream;
use crate::time::{Duration, Time};

/// A probability of 1 or a root of 1, with 32 fractional bits.
const ONE: u32 = u32::MAX;
/// `p_inc` of Linux: 1/256.
const BLUE_UP: u32 = 1 << 24;
/// `p_dec` of Linux: 1/4096.
const BLUE_DOWN: u32 = 1 << 20;
/// Counts below this have a root refined by many Newton steps.
const EXACT_ROOTS: usize = 16;

/// 1 / sqrt(count) of the first counts; the entry of 0 is that of 1.
static ROOTS: [u32; EXACT_ROOTS] = roots();

/// One step of Newton's method towards 1 / sqrt(`count`): root / 2 (3 - count root^2).
const fn newton_step(root: u32, count: u32) -> u32 {
    let square = (root as u64 * root as u64) >> 32;
    // shifted by two bits, so that the product fits
    let factor = ((3 << 32) - (count as u64).wrapping_mul(square)) >> 2;
    ((factor.wrapping_mul(root as u64)) >> 31) as u32
}

const fn roots() -> [u32; EXACT_ROOTS] {
    let mut roots = [ONE; EXACT_ROOTS];
    let mut count = 2;
    while count < EXACT_ROOTS {
        let (mut root, mut step) = (roots[count - 1], 0);
        while step < 8 {
            root = newton_step(root, count as u32);
            step += 1;
        }
        roots[count] = root;
        count += 1;
    }
    roots
}

/// Time constants of the control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) target: Duration,
    pub(super) interval: Duration,
    /// Serialisation time of the largest packet.
    pub(super) frame: Duration,
}

impl Times {
    /// Times as in `cake_set_rate`: a slow link has longer ones, because a single packet takes so long.
    pub(super) fn new(target: Duration, interval: Duration, frame: Duration) -> Self {
        let longer = Duration::from_nanos(frame.as_nanos() * 3 / 2).max(target);
        let interval = (interval + (longer.saturating_sub(target))).max(longer * 2);
        Self { target: longer, interval, frame }
    }
}

/// Decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// State of COBALT for a queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Cobalt {
    /// Signals of this episode.
    count: u32,
    /// About 2^32 / sqrt(count); 0 before the first signal.
    root: u32,
    /// Time of the next signal or, without signals, until which the queue counts as in use.
    next: Time,
    /// Last change of the probability of BLUE; `None` before the first one.
    blue_changed: Option<Time>,
    /// Probability of BLUE, in units of 2^-32.
    blue: u32,
    /// Whether packets wait too long.
    dropping: bool,
}

impl Cobalt {
    /// Whether the state has decayed completely at `now`.
    pub(super) fn is_at_rest(&self, now: Time) -> bool {
        self.blue == 0 && self.count == 0 && now >= self.next
    }

    fn blue_is_due(&self, now: Time, times: &Times) -> bool {
        self.blue_changed.is_none_or(|changed| now.since(changed) > times.target)
    }

    fn schedule(&mut self, from: Time, times: &Times) {
        // `reciprocal_scale` takes the lowest 32 bits of the interval, which is below 4.29 s
        let scaled = (u128::from(times.interval.as_nanos()) * u128::from(self.root)) >> 32;
        self.next = from + Duration::from_nanos(scaled as u64);
    }

    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.root = match ROOTS.get(count as usize) {
            Some(root) => *root,
            None => newton_step(self.root, count),
        };
    }

    /// Handles the drop of a packet of the queue because the limit on all queues is exceeded (`cobalt_queue_full`).
    pub(super) fn overflowed(&mut self, now: Time, times: &Times) {
        if self.blue_is_due(now, times) {
            self.blue = self.blue.saturating_add(BLUE_UP);
            self.blue_changed = Some(now);
        }
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// Handles a request to the empty queue (`cobalt_queue_empty`).
    pub(super) fn was_empty(&mut self, now: Time, times: &Times) {
        if self.blue > 0 && self.blue_is_due(now, times) {
            self.blue = self.blue.saturating_sub(BLUE_DOWN);
            self.blue_changed = Some(now);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.next {
            self.set_count(self.count - 1);
            self.schedule(self.next, times);
        }
    }

    /// Decision on a packet that has waited for `sojourn` (`cobalt_should_drop`); `mark` marks it, if possible.
    pub(super) fn judge(
        &mut self,
        now: Time,
        times: &Times,
        sojourn: Duration,
        mark: impl FnOnce() -> bool,
        random: &mut RandomStream,
    ) -> Verdict {
        let too_long = sojourn > times.target && sojourn > times.frame * 4;
        // before `next` may change below, as `schedule` of Linux
        let mut overdue = now > self.next;
        let mut due = self.count > 0 && now >= self.next;
        let mut count = self.count;
        if too_long {
            if !self.dropping {
                self.dropping = true;
                self.schedule(now, times);
            }
            count = count.max(1);
        } else {
            self.dropping = false;
        }
        let mut verdict = Verdict::Pass;
        if due && self.dropping {
            verdict = if mark() { Verdict::Mark } else { Verdict::Drop };
            self.set_count(count.saturating_add(1));
            self.schedule(self.next, times);
            overdue = now > self.next;
        } else {
            self.count = count;
            while due {
                self.set_count(self.count - 1);
                self.schedule(self.next, times);
                overdue = now > self.next;
                due = self.count > 0 && now >= self.next;
            }
        }
        if self.blue > 0 && verdict != Verdict::Drop && (random.bits() as u32) < self.blue {
            verdict = Verdict::Drop;
        }
        if self.count == 0 {
            self.next = now + times.interval;
        } else if overdue && verdict != Verdict::Drop {
            self.next = now;
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `inv_sqrt_cache` of Linux 7.3.
    #[test]
    fn roots_are_those_of_linux() {
        let linux = [
            ONE, ONE, 3037000500, 2479700525, 2147483647, 1920767767, 1753413056, 1623345051, 1518500250,
            1431655765, 1358187914, 1294981364, 1239850263, 1191209601, 1147878294, 1108955788,
        ];
        for (root, expected) in ROOTS.iter().zip(linux) {
            assert!(root.abs_diff(expected) <= 2, "{root} {expected}");
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn times() -> Times {
        Times::new(Duration::from_millis(5), Duration::from_millis(100), Duration::from_micros(100))
    }

    #[test]
    fn a_slow_link_has_longer_times() {
        // a frame of 1514 B at 1 Mbit/s
        let times =
            Times::new(Duration::from_millis(5), Duration::from_millis(100), Duration::from_micros(12_112));
        assert_eq!(times.target, Duration::from_micros(18_168));
        assert_eq!(times.interval, Duration::from_micros(113_168));
        assert_eq!(self::times().interval, Duration::from_millis(100));
    }

    #[test]
    fn signals_come_at_intervals_over_the_root_of_their_number() {
        let (mut cobalt, times) = (Cobalt::default(), times());
        let mut random = RandomStream::new(1, "cobalt");
        let mut judge = |cobalt: &mut Cobalt, ms: u64, sojourn: u64| {
            cobalt.judge(at(ms), &times, Duration::from_millis(sojourn), || true, &mut random)
        };
        // packets below target: the queue counts as in use for an interval
        assert_eq!(judge(&mut cobalt, 1000, 1), Verdict::Pass);
        assert!(!cobalt.is_at_rest(at(1099)) && cobalt.is_at_rest(at(1100)));
        // the root is 0 before the first signal: the second packet above target gets it
        assert_eq!(judge(&mut cobalt, 2000, 10), Verdict::Pass);
        let marks: Vec<u64> =
            (2001..2400).filter(|ms| judge(&mut cobalt, *ms, 10) == Verdict::Mark).collect();
        // 100 ms / sqrt(2) after the one that was due at 2000 ms, then / sqrt(3), sqrt(4), ...
        assert_eq!(marks, [2001, 2071, 2129, 2179, 2224, 2264, 2302, 2338, 2371]);
    }

    /// `cobalt_should_drop` compares the time with the `drop_next` from before the burst, which has long passed.
    #[test]
    fn a_burst_after_an_idle_time_is_marked_at_its_second_packet() {
        let (mut cobalt, times) = (Cobalt::default(), times());
        let mut random = RandomStream::new(1, "cobalt");
        let mut judge = |cobalt: &mut Cobalt, ms: u64, sojourn: u64| {
            cobalt.judge(at(ms), &times, Duration::from_millis(sojourn), || true, &mut random)
        };
        judge(&mut cobalt, 1000, 10);
        assert_eq!(judge(&mut cobalt, 1001, 10), Verdict::Mark);
        // the signals decay, one for each elapsed time
        assert_eq!(judge(&mut cobalt, 2000, 1), Verdict::Pass);
        assert_eq!((cobalt.count, cobalt.root, cobalt.next), (0, ONE, at(2100)));
        // a packet within the interval after which the queue counts as idle: the control waits for an interval
        let mut busy = cobalt.clone();
        assert_eq!(judge(&mut busy, 2050, 10), Verdict::Pass);
        assert!(busy.next > at(2149));
        assert_eq!(judge(&mut cobalt, 3000, 10), Verdict::Pass);
        assert_eq!(judge(&mut cobalt, 3001, 10), Verdict::Mark);
    }

    #[test]
    fn blue_rises_with_overflows_and_falls_when_the_queue_is_empty() {
        let (mut cobalt, times) = (Cobalt::default(), times());
        // once per target: 20 in 100 ms
        (0..100).for_each(|ms| cobalt.overflowed(at(1000 + ms), &times));
        let steps = cobalt.blue / BLUE_UP;
        assert_eq!(steps, 17, "more than 5 ms apart: every 6 ms");
        let mut random = RandomStream::new(1, "cobalt");
        let drops = (0..10_000).filter(|_| {
            let mut copy = cobalt.clone();
            copy.judge(at(1100), &times, Duration::ZERO, || true, &mut random) == Verdict::Drop
        });
        let (share, expected) = (drops.count() as f64 / 10_000.0, f64::from(steps) / 256.0);
        assert!(
            (share - expected).abs() < 5.0 * libm::sqrt(expected * (1.0 - expected) / 10_000.0),
            "{share}"
        );
        (0..17 * 16 * 6 + 6).for_each(|ms| cobalt.was_empty(at(2000 + ms), &times));
        assert_eq!(cobalt.blue, 0);
    }
}
