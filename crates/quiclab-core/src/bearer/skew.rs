//! A t-Reordering that follows the skew between the links.
//!
//! 3GPP TS 38.323 has a fixed timer (section 7.3), set by the network. This one belongs to the receiver and
//! uses only the information of a receiving PDCP entity: which COUNTs are missing below the highest one
//! received, since when, and when they arrive, in time or too late. The value is `factor` times the longest
//! of these gaps in the last `window`, between `least` and `most`.
//!
//! - A packet in order is a gap of zero length: a bearer without skew reaches `least`.
//! - A packet that arrives after it was given up counts like one in time, so that a timer that was too short
//!   grows; one whose gap is older than `most` counts as `most`.
//! - A packet that never arrives does not count, nor does a copy.
//! - At the start and after silence of a `window`, `most` applies for a `window`.
//!
//! A running timer is not changed.

use crate::bearer::TimerRule;
use crate::time::{Duration, Time};
use std::collections::VecDeque;

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Skew {
    least: Duration,
    most: Duration,
    window: Duration,
    factor: f64,
    /// Numbers that were missing when a later one arrived, in ascending order.
    gaps: VecDeque<Gap>,
    /// Gaps in the window and their end times, each longer than all later ones: the first is the longest.
    longest: VecDeque<(Time, Duration)>,
    /// Arrival time of the last packet.
    last: Option<Time>,
}

/// COUNTs from `first` to `end` - 1 are missing since `opened`; some of them may have arrived meanwhile.
#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u64,
    end: u64,
    opened: Time,
}

impl Skew {
    pub(super) fn new(rule: TimerRule) -> Self {
        let TimerRule::Adaptive { least, most, window, factor } = rule;
        Self { least, most, window, factor, gaps: VecDeque::new(), longest: VecDeque::new(), last: None }
    }

    /// Handles the first arrival of the packet of `count`, while `rx_next` was the one after the highest.
    pub(super) fn came(&mut self, now: Time, count: u64, rx_next: u64) {
        if self.last.is_none_or(|last| now.since(last) > self.window) {
            self.gaps.clear();
            self.longest.clear();
            self.longest.push_back((now, self.most));
        }
        self.last = Some(now);
        while self.gaps.front().is_some_and(|gap| now.since(gap.opened) > self.most) {
            self.gaps.pop_front();
        }
        let open = if count >= rx_next {
            if count > rx_next {
                self.gaps.push_back(Gap { first: rx_next, end: count, opened: now });
            }
            Duration::ZERO
        } else {
            let index = self.gaps.partition_point(|gap| gap.end <= count);
            let gap = self.gaps.get(index).filter(|gap| gap.first <= count);
            gap.map_or(self.most, |gap| now.since(gap.opened))
        };
        while self.longest.back().is_some_and(|(_, shorter)| *shorter <= open) {
            self.longest.pop_back();
        }
        self.longest.push_back((now, open));
        while self.longest.front().is_some_and(|(ended, _)| now.since(*ended) > self.window) {
            self.longest.pop_front();
        }
    }

    /// The present value of the timer.
    pub(super) fn timer(&self) -> Duration {
        let Some((_, longest)) = self.longest.front() else { return self.most };
        let wanted = longest.as_nanos() as f64 * self.factor;
        Duration::from_nanos_f64(wanted).clamp(self.least, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;
    use proptest::prelude::*;

    fn skew() -> Skew {
        let [least, most, window] = [5, 200, 1000].map(Duration::from_millis);
        Skew::new(TimerRule::Adaptive { least, most, window, factor: 1.5 })
    }

    /// State after 1100 ms without a gap.
    fn steady() -> Skew {
        let mut skew = skew();
        for ms in 0..1100 {
            skew.came(at(ms), ms, ms);
        }
        skew
    }

    fn timer_ms(skew: &Skew) -> f64 {
        skew.timer().as_ms_f64()
    }

    #[test]
    fn it_starts_long_shrinks_without_skew_and_follows_the_longest_gap() {
        let mut skew = skew();
        assert_eq!(timer_ms(&skew), 200.0);
        for ms in 0..=1000 {
            skew.came(at(ms), ms, ms);
            assert_eq!(timer_ms(&skew), 200.0);
        }
        skew.came(at(1001), 1001, 1001);
        assert_eq!(timer_ms(&skew), 5.0);
        // 1002 and 1003 are missing from 1010 on; they arrive 20 and 30 ms later
        skew.came(at(1010), 1004, 1002);
        skew.came(at(1030), 1002, 1005);
        assert_eq!(timer_ms(&skew), 30.0);
        skew.came(at(1040), 1003, 1005);
        assert_eq!(timer_ms(&skew), 45.0);
        // the gap of 30 ms leaves the window 1 s after its end
        skew.came(at(2040), 1005, 1005);
        assert_eq!(timer_ms(&skew), 45.0);
        skew.came(at(2041), 1006, 1006);
        assert_eq!(timer_ms(&skew), 5.0);
    }

    #[test]
    fn late_packets_lengthen_it_and_old_ones_count_as_the_most() {
        let mut skew = steady();
        skew.came(at(1100), 1101, 1100);
        skew.came(at(1160), 1100, 1102); // given up long ago, as far as the timer of 5 ms goes
        assert_eq!(timer_ms(&skew), 90.0);
        skew.came(at(1170), 1103, 1102);
        skew.came(at(1470), 1102, 1104);
        assert_eq!(timer_ms(&skew), 200.0);
    }

    #[test]
    fn silence_starts_anew() {
        let mut skew = steady();
        skew.came(at(2200), 1100, 1100);
        assert_eq!(timer_ms(&skew), 200.0);
    }

    proptest! {
        /// Agrees with a list of all gaps of the window.
        #[test]
        fn agrees_with_a_list_of_gaps(steps in prop::collection::vec((0u64..40, 0u64..3, 0u64..250), 1..200)) {
            // each packet: pause, numbers lost before it, delay
            let (mut sent, mut count, mut arrivals) = (0, 0, Vec::new());
            for (pause, lost, delay) in steps {
                (sent, count) = (sent + pause, count + lost);
                arrivals.push((at(sent + delay), count));
                count += 1;
            }
            arrivals.sort();
            let (mut skew, mut rx_next) = (skew(), 0);
            let mut missing = std::collections::BTreeMap::new();
            let mut ended: Vec<(Time, Duration)> = vec![(arrivals[0].0, Duration::from_millis(200))];
            for (now, count) in arrivals {
                skew.came(now, count, rx_next);
                let open = missing.remove(&count).map_or(Duration::ZERO, |opened| now.since(opened));
                ended.push((now, open.clamp(Duration::ZERO, Duration::from_millis(200))));
                for number in rx_next..count {
                    missing.insert(number, now);
                }
                rx_next = rx_next.max(count + 1);
                let recent = ended.iter().filter(|(end, _)| now.since(*end) <= Duration::from_millis(1000));
                let longest = recent.map(|(_, open)| *open).max().unwrap();
                let wanted = (longest.as_ms_f64() * 1.5).clamp(5.0, 200.0);
                prop_assert!((timer_ms(&skew) - wanted).abs() < 1e-5);
            }
        }
    }
}
