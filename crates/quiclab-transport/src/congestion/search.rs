//! SEARCH, Slow start Exit At Right CHokepoint (draft-chung-ccwg-search-09): slow start ends when the bytes
//! delivered fall behind the bytes sent a round trip before.
//!
//! Bytes sent and delivered are counted in bins of a tenth of 3.5 initial RTTs. When a bin is full, the bytes
//! delivered in the last ten bins are compared with those sent in the ten bins that ended one RTT ago: in
//! slow start without a queue they are equal. If more than 26 % are missing, the bottleneck has been reached.
//!
//! The pseudocode of version 09 was read in neqo-transport (`cc/search.rs`), which implements it; of version
//! 03 directly. The text of version 10 could not be read.
//!
//! | | draft 09 | neqo | here |
//! |---|---|---|---|
//! | window (3.1) | 3.5 initial RTTs, 10 bins; 15 more to look back | the same | the same |
//! | threshold | 0.26 of the bytes sent | the same, in percent | the same |
//! | between two bins | interpolated forwards | backwards: "a mistake in the draft" | backwards |
//! | missed bins (optional) | start again | if more than 10 are missed | the same |
//! | size of a bin's value | 16 bits, shifted | 64 bits | 64 bits |
//! | RTT | of the acknowledgement | the latest sample | the latest sample |
//! | window at the end | a phase that lowers it towards the bytes delivered in the last initial RTT | unchanged | becomes these at once (assumed: the rate of the decrease could not be read), at least one initial window |
//!
//! Version 03 compares delivered bytes with delivered bytes of an RTT before, doubled, with a threshold of
//! 0.35, and subtracts the bytes delivered in the last two initial RTTs from the window.

use super::slow_start::{SlowStartDecision, SlowStartInput, SlowStartPolicy};
use quiclab_core::{Duration, Time};

/// W: number of bins of a window.
const WINDOW: usize = 10;
/// `EXTRA_BINS`: number of additional bins for an RTT.
const EXTRA: usize = 15;
/// Number of bins of delivered bytes, with both ends of a window.
const ACKED: usize = WINDOW + 1;
/// Number of bins of sent bytes.
const SENT: usize = ACKED + EXTRA;
/// `THRESH` in percent.
const THRESHOLD: u64 = 26;

/// Policy SEARCH.
#[derive(Clone, Debug)]
pub struct Search {
    /// Bytes sent and delivered so far.
    sent: u64,
    acked: u64,
    /// Initial window of the sender in bytes.
    initial_window: u64,
    /// Latest RTT sample; `None` before the first.
    rtt: Option<Duration>,
    /// Bins; `None` before the first acknowledgement, and when they are outdated.
    bins: Option<Bins>,
}

/// Bytes at the ends of the bins.
#[derive(Clone, Debug)]
struct Bins {
    initial_rtt: Duration,
    duration: Duration,
    /// End of the current bin, which follows `last`.
    end: Time,
    /// Number of the last full bin.
    last: usize,
    acked: [u64; ACKED],
    sent: [u64; SENT],
}

impl Bins {
    /// Makes bins that start at `now`; `None` for an RTT below three nanoseconds.
    fn new(now: Time, rtt: Duration, acked: u64, sent: u64) -> Option<Self> {
        let duration = rtt * 7 / 2 / WINDOW as u64;
        (duration > Duration::ZERO).then(|| Self {
            initial_rtt: rtt,
            duration,
            end: now + duration,
            last: 0,
            acked: [acked; ACKED],
            sent: [sent; SENT],
        })
    }

    /// Completes the bins that end by `now`; returns whether they are still in step with the sender.
    fn roll(&mut self, now: Time, acked: u64, sent: u64) -> bool {
        let passed = now.since(self.end).as_nanos() / self.duration.as_nanos() + 1;
        if passed > WINDOW as u64 {
            return false;
        }
        for _ in 1..passed {
            let (acked, sent) = (self.acked[self.last % ACKED], self.sent[self.last % SENT]);
            self.last += 1;
            (self.acked[self.last % ACKED], self.sent[self.last % SENT]) = (acked, sent);
        }
        self.last += 1;
        (self.acked[self.last % ACKED], self.sent[self.last % SENT]) = (acked, sent);
        self.end += self.duration * passed;
        true
    }

    /// Bytes delivered in the last `bins`, at most [`WINDOW`].
    fn delivered(&self, bins: usize) -> u64 {
        let first = self.last.saturating_sub(bins.min(WINDOW));
        self.acked[self.last % ACKED] - self.acked[first % ACKED]
    }

    /// Bytes sent in the window that ended `rtt` ago; `None`: not known.
    fn sent_before(&self, rtt: Duration) -> Option<u64> {
        let (rtt, bin) = (rtt.as_nanos(), self.duration.as_nanos());
        let back = usize::try_from(rtt / bin).unwrap_or(usize::MAX);
        let end = self.last.checked_sub(back)?;
        if end <= WINDOW || back >= EXTRA {
            return None;
        }
        let between = |end: usize| self.sent[end % SENT] - self.sent[(end - WINDOW) % SENT];
        // in hundredths, as in neqo
        let fraction = rtt % bin * 100 / bin;
        Some((between(end - 1) * fraction + between(end) * (100 - fraction)) / 100)
    }

    /// Whether more than the threshold of the bytes sent is missing.
    fn is_behind(&self, rtt: Duration) -> bool {
        let Some(sent) = self.sent_before(rtt).filter(|sent| *sent > 0) else { return false };
        sent.saturating_sub(self.delivered(WINDOW)) * 100 / sent >= THRESHOLD
    }

    /// Bytes delivered in one initial RTT: capacity of the path without a queue.
    fn congestion_point(&self) -> u64 {
        let bins = self.initial_rtt.as_nanos().div_ceil(self.duration.as_nanos());
        self.delivered(usize::try_from(bins).unwrap_or(usize::MAX))
    }
}

impl Search {
    /// Makes a policy for a sender with this initial window in bytes.
    #[must_use]
    pub fn new(initial_window: u64) -> Self {
        Self { sent: 0, acked: 0, initial_window, rtt: None, bins: None }
    }
}

impl SlowStartPolicy for Search {
    fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    fn on_ack(&mut self, question: &SlowStartInput<'_>) -> SlowStartDecision {
        let now = question.ack.now;
        self.acked += question.ack.acked_bytes;
        self.rtt = question.rtt.or(self.rtt);
        let Some(rtt) = self.rtt else { return SlowStartDecision::GO_ON };
        let Some(bins) = &mut self.bins else {
            self.bins = Bins::new(now, rtt, self.acked, self.sent);
            return SlowStartDecision::GO_ON;
        };
        if now <= bins.end {
            return SlowStartDecision::GO_ON;
        }
        if !bins.roll(now, self.acked, self.sent) {
            self.bins = None;
            return SlowStartDecision::GO_ON;
        }
        if bins.is_behind(rtt) {
            return SlowStartDecision::LeaveAt(bins.congestion_point().max(self.initial_window));
        }
        SlowStartDecision::GO_ON
    }

    /// Discards the bins, as bytes acknowledged in recovery are in none.
    fn on_undo(&mut self) {
        self.bins = None;
    }

    fn on_timeout(&mut self, _now: Time, _next_position: u64) {
        self.bins = None;
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
