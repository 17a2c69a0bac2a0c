//! Earliest arrival: the path on which the packet is expected to arrive first. It is quiclab's, for tunnels with many
//! flows over unequal paths.
//!
//! A packet that leaves on path p is expected after
//!
//! ```text
//! queue / rate + size / rate + min RTT / 2 + loss / (1 - loss) x RTT
//! ```
//!
//! - queue: the larger of the bytes passed to p that cannot have left its bottleneck yet (a bucket that drains at the
//!   rate, so that a burst counts immediately), and the bytes in flight beyond rate x min RTT (so that the queue of
//!   other traffic counts as well);
//! - the last term: the receiver of lost data requests them again, a round trip later, loss / (1 - loss) times.
//!
//! | question | answer | reason |
//! | --- | --- | --- |
//! | several paths have room | the earliest, but the last one used unless another is earlier by the hysteresis | packets of one flow keep their order, and noise in RTTs changes nothing |
//! | a faster path has no room | wait, if the whole backlog would leave it within `patience` and arrive before one packet on the best open path | packets sent on the slow path arrive late; the wait is bounded |
//! | the backlog is larger | never wait | the tunnel uses the capacity of all paths; below CoDel's target of 5 ms a patience of half of it causes no drop |
//!
//! The wait is that of ECF (its condition 1 with a rate instead of the window), bounded in time. ECF and BLEST know
//! only the RTT of a path, queue included, which is half an RTT old and counts twice a delay that the packet
//! experiences once.

use super::{PathScheduler, PathState};
use crate::time::{Duration, Time};
use crate::units::{ByteCount, DataRate};
use std::cell::Cell;

/// Bytes passed to a path that cannot have left its bottleneck yet.
#[derive(Clone, Debug, Default)]
struct Bucket {
    /// Level of the bucket at a time, in [`PARTS`] of a byte: drained on each query, since the rate is known only then.
    level: Cell<(u128, Time)>,
}

/// Parts of a byte: the amount that 1 bit/s drains in 1 ns is one, so that rounding errors do not accumulate.
const PARTS: u128 = 8_000_000_000;

impl Bucket {
    /// Present level.
    fn drain(&self, now: Time, rate: DataRate) -> ByteCount {
        let (level, at) = self.level.get();
        let drained = u128::from(rate.bits_per_second()) * u128::from(now.since(at).as_nanos());
        let level = level.saturating_sub(drained);
        self.level.set((level, now));
        ByteCount::from_bytes(u64::try_from(level.div_ceil(PARTS)).unwrap_or(u64::MAX))
    }

    fn add(&mut self, bytes: ByteCount) {
        self.level.get_mut().0 += u128::from(bytes.bytes()) * PARTS;
    }
}

/// The path on which the packet is expected to arrive first.
#[derive(Clone, Debug)]
pub struct EarliestArrival {
    hysteresis: f64,
    patience: Duration,
    /// Path of the last packet; `None` before the first.
    previous: Option<usize>,
    /// Buckets by path; those of further paths are empty.
    buckets: Vec<Bucket>,
}

/// Maximum loss rate used in estimates: a rate of 1 would make the delay infinite.
const MAX_LOSS: f64 = 0.9;

impl EarliestArrival {
    /// Creates a scheduler with the share of the delay by which another path must be earlier than the last one, and the
    /// maximum time that a backlog may need to leave a path that packets wait for.
    #[must_use]
    pub const fn new(hysteresis: f64, patience: Duration) -> Self {
        Self { hysteresis, patience, previous: None, buckets: Vec::new() }
    }

    /// Expected delay of a full datagram on `path` after it has left, with `before` bytes ahead of it that are not
    /// passed to the path yet.
    fn delay(&self, now: Time, path: usize, state: &PathState, before: ByteCount) -> Duration {
        let rate = state.rate_or_window();
        let handed = self.buckets.get(path).map_or(ByteCount::ZERO, |bucket| bucket.drain(now, rate));
        let queue = handed.max(state.in_flight.saturating_sub(rate.bytes_in(state.min_rtt)));
        let loss = state.loss.value().min(MAX_LOSS);
        let repairs = state.srtt.as_nanos() as f64 * loss / (1.0 - loss);
        let propagation = state.min_rtt / 2 + Duration::from_nanos(repairs as u64);
        propagation + rate.time_for(queue + before + state.largest)
    }

    /// The open path with the earliest arrival, and its delay; the last one used, if it is not much later.
    fn best(&self, now: Time, paths: &[PathState]) -> Option<(usize, Duration)> {
        let delay = |path: usize| (path, self.delay(now, path, &paths[path], ByteCount::ZERO));
        let open = (0..paths.len()).filter(|path| paths[*path].is_open());
        let (earliest, soonest) = open.map(delay).min_by_key(|(_, delay)| *delay)?;
        let kept = self.previous.filter(|path| paths.get(*path).is_some_and(PathState::is_open)).map(delay);
        let margin = Duration::from_nanos((soonest.as_nanos() as f64 * self.hysteresis) as u64);
        let kept = kept.filter(|(_, delay)| *delay <= soonest + margin);
        Some(kept.unwrap_or((earliest, soonest)))
    }

    /// Whether the whole backlog leaves a path without room within the patience, and arrives before `arrival`.
    fn waits(&self, now: Time, backlog: ByteCount, paths: &[PathState], arrival: Duration) -> bool {
        (0..paths.len()).filter(|path| paths[*path].frees_room()).any(|path| {
            let state = &paths[path];
            state.rate_or_window().time_for(backlog) <= self.patience
                && self.delay(now, path, state, backlog.saturating_sub(state.largest)) < arrival
        })
    }
}

impl PathScheduler for EarliestArrival {
    fn select(&self, now: Time, backlog: ByteCount, paths: &[PathState]) -> Option<usize> {
        let (path, arrival) = self.best(now, paths)?;
        (!self.waits(now, backlog, paths, arrival)).then_some(path)
    }

    fn on_sent(&mut self, _now: Time, path: usize, bytes: ByteCount) {
        self.previous = Some(path);
        if self.buckets.len() <= path {
            self.buckets.resize(path + 1, Bucket::default());
        }
        self.buckets[path].add(bytes);
    }
}
