//! Bursts: number of segments that are sent as one unit, an skb for segmentation offload in Linux
//! (`tcp_tso_segs`, `tcp_cwnd_test`, `tcp_tso_should_defer`).
//!
//! Since 4.17 TCP makes such skbs regardless of the network card: if it cannot split them, they are split
//! right before it. The segments of a burst are sent back to back, and pacing, fq and BBR count bursts. They
//! have at least two segments, so that packets are sent in pairs behind fq, which `tests/test_kernel_fq.py`
//! compares with Linux.
//!
//! | aspect | here | Linux |
//! | --- | --- | --- |
//! | size | bytes of 2^-10 s at the pacing rate, with an allowance for short paths; at least two segments or the minimum of the congestion control, at most 64 KiB and `gso_segments` | `tcp_tso_autosize`; the allowance since 5.18 |
//! | window | at most half of it, so that two bursts fit | the same |
//! | a burst that is not full | waits for the next acknowledgement while that is near, as long as less than a third of the window is free | the same; before 5.8 the acknowledgement was near for half a round trip |
//! | writes | a burst is a part of one skb of writes, which since 6.10 is filled up with the data that follow | `tcp_mss_split_point`, `tcp_grow_skb` |

use super::departures::Departures;
use super::{Sender, State};
use crate::pacing::PacingInput;
use crate::pacing::linux_rate;
use quiclab_core::{Duration, Time};

/// `sk_gso_max_size`: `GSO_LEGACY_MAX_SIZE`, less `MAX_TCP_HEADER` and one byte, in bytes.
pub(super) const MAX_BYTES: u64 = 65_536 - 320 - 1;
/// `sysctl_tcp_min_tso_segs`.
const MIN_SEGMENTS: u64 = 2;
/// `sysctl_tcp_tso_win_divisor`: if this part of the window is free, bursts do not wait.
const WINDOW_DIVISOR: u64 = 3;
/// Maximum time to the next acknowledgement, and from the previous one, for which a burst waits.
const NEAR: Duration = Duration::from_millis(1);

/// New data that may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextBurst {
    /// Nothing: there are none, or the peer's window or Nagle's algorithm blocks them.
    Nothing,
    /// Nothing yet: the congestion window permits only a short burst.
    Deferred,
    /// Number of bytes, as one burst; 0 for a lone FIN.
    Bytes(u64),
}

/// Rest of a burst that is sent at this instant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    /// Whether it consists of retransmissions.
    pub(super) lost: bool,
    /// Number of segments left.
    pub(super) left: u32,
    /// Whether it is a tail loss probe.
    pub(super) probe: bool,
    /// Time at which it departs and leaves the host.
    pub(super) departure: Time,
    pub(super) leaves: Time,
}

/// Current burst, and the maximum length of bursts.
#[derive(Clone, Copy, Debug)]
pub(super) struct BurstBuilder {
    current: Burst,
    /// Whether the current one has several segments, of which the last one carries PSH
    /// (`__tcp_transmit_skb`).
    is_pushed: bool,
    /// Maximum number of segments at the last acknowledgement.
    limit: u32,
    gso_segments: u32,
    /// `sysctl_tcp_tso_rtt_log`; `None`: the size does not depend on the RTT.
    rtt_log: Option<u32>,
    /// Whether the last segment of a burst of two or more carries PSH.
    pushes: bool,
}

impl BurstBuilder {
    /// Makes the state before the first burst; a burst has at most `gso_segments`.
    pub(super) fn new(gso_segments: u32, rtt_log: Option<u32>, pushes: bool) -> Self {
        Self { current: Burst::default(), is_pushed: false, limit: 1, gso_segments, rtt_log, pushes }
    }

    /// Maximum number of segments in a burst.
    pub(super) const fn limit(&self) -> u32 {
        self.limit
    }

    /// Burst that is sent at this instant.
    pub(super) const fn current(&self) -> &Burst {
        &self.current
    }

    /// Starts a burst.
    pub(super) fn begin(&mut self, burst: Burst) {
        self.is_pushed = self.pushes && burst.left > 0;
        self.current = burst;
    }

    /// Takes the next segment; returns whether the burst has one.
    pub(super) fn advance(&mut self) -> bool {
        let left = self.current.left.checked_sub(1);
        self.current.left = left.unwrap_or(0);
        left.is_some()
    }

    /// Ends the burst.
    pub(super) fn end(&mut self) {
        self.current.left = 0;
    }

    /// Whether the segment being sent is the last one.
    pub(super) const fn is_at_end(&self) -> bool {
        self.current.left == 0
    }

    /// Whether the segment being sent carries PSH for the burst.
    pub(super) const fn carries_push(&self) -> bool {
        self.is_at_end() && self.is_pushed
    }

    /// Updates the maximum from the inputs of the pacer (`tcp_tso_segs`).
    pub(super) fn set_limit(
        &mut self,
        input: &PacingInput,
        departures: &Departures,
        min_rtt: Option<Duration>,
    ) {
        self.limit = if self.gso_segments <= 1 || !departures.paces_bursts() {
            1
        } else {
            let rate = departures.rate().or_else(|| linux_rate(input, None));
            self.segments(rate.map_or(0, |rate| (rate.bits_per_second() / 8) >> 10), input, min_rtt)
        };
    }

    /// Number of segments of a burst of `bytes` by the rate.
    fn segments(&self, mut bytes: u64, input: &PacingInput, min_rtt: Option<Duration>) -> u32 {
        if let Some(log) = self.rtt_log
            && let Some(rtt) = min_rtt
        {
            // "the RTT-based allowance is cut in half for every 2^9 usec of RTT"
            let halvings = (rtt.as_nanos() / 1000) >> log;
            bytes += if halvings < 32 { MAX_BYTES >> halvings } else { 0 };
        }
        let least = input.quantum.map_or(MIN_SEGMENTS, |quantum| (quantum / input.mss).max(1));
        let segments = (bytes.min(MAX_BYTES) / input.mss).max(least);
        u32::try_from(segments).unwrap_or(u32::MAX).min(self.gso_segments)
    }

    /// Sets the maximum.
    #[cfg(test)]
    pub(super) fn fix_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// Sets the allowance for short paths.
    #[cfg(test)]
    pub(super) fn set_rtt_log(&mut self, log: Option<u32>) {
        self.rtt_log = log;
    }
}

impl Sender {
    /// New data that may be sent, limited only by window and writes (`tcp_write_xmit`). `room` is the free
    /// part of the window in segments; more than 0. `at_once`: a burst does not wait to become longer.
    pub(super) fn next_burst(&mut self, now: Time, room: u32, at_once: bool) -> NextBurst {
        if self.snd.next() >= self.writes.end() || !self.fits_window() {
            return NextBurst::Nothing;
        }
        let segment = self.snd.segment(self.payload);
        let quota = u64::from(room.min((self.cwnd() / 2).max(1)).min(self.burst.limit()));
        self.writes.fill_head(quota * segment, self.snd.next());
        let (head, is_last) = (self.writes.head(self.snd.next()), self.writes.has_one_at_most());
        // a short segment at the end waits while data is outstanding (Nagle), unless it ends the stream
        let short_leaves =
            !is_last || self.writes.is_finished() || self.writes.ends_write() && !self.is_held_by_nagle();
        if head <= segment {
            let held = head < segment && !short_leaves && !self.board.is_empty();
            return if held { NextBurst::Nothing } else { NextBurst::Bytes(head) };
        }
        if self.burst.limit() == 1 {
            return NextBurst::Bytes(segment);
        }
        let window = self.snd.window_end() - self.snd.next();
        if !at_once && self.should_wait(now, room, window) {
            let by_congestion_window = u64::from(room) * self.payload < window.min(head + 1);
            return if by_congestion_window { NextBurst::Deferred } else { NextBurst::Nothing };
        }
        let bytes = head.min(window).min(quota * segment);
        let short = bytes % segment;
        NextBurst::Bytes(if short == 0 || (bytes == head && short_leaves) { bytes } else { bytes - short })
    }

    /// Whether a burst should wait to become longer (`tcp_tso_should_defer`). `window` is the free part of
    /// the peer's window in bytes.
    fn should_wait(&self, now: Time, room: u32, window: u64) -> bool {
        if self.state >= State::Recovery || now > self.departures.last() + NEAR {
            return false; // "only if the last write was recent"
        }
        let by_congestion = u64::from(room) * self.payload;
        let free = by_congestion.min(window);
        let third = self.snd.window().min(u64::from(self.cwnd()) * self.payload) / WINDOW_DIVISOR;
        if free >= third.min(u64::from(self.burst.limit()) * self.payload) {
            return false;
        }
        let (skb, is_last) = (self.writes.head(self.snd.next()), self.writes.has_one_at_most());
        if !is_last && free >= skb {
            return false; // "middle in queue won't get any more data"
        }
        let Some(head) = self.board.front() else { return false };
        let srtt = self.rtt.smoothed().unwrap_or(Duration::ZERO);
        if head.sent + srtt > now + NEAR.min(srtt / 2) {
            return false; // the acknowledgement is too far
        }
        // the end of the stream receives no more data either
        !(is_last && self.writes.is_finished() && free > skb)
    }

    /// Whether a short segment is outstanding (`tcp_minshall_check`).
    fn is_held_by_nagle(&self) -> bool {
        self.options.nagle && self.snd.is_short_outstanding()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_segment_of_a_pair_carries_psh() {
        for pushes in [true, false] {
            let mut builder = BurstBuilder::new(64, None, pushes);
            builder.begin(Burst { left: 1, ..Burst::default() });
            assert!(!builder.carries_push() && builder.advance());
            assert_eq!((builder.is_at_end(), builder.carries_push()), (true, pushes));
            assert!(!builder.advance());
            builder.begin(Burst::default());
            assert!(!builder.carries_push(), "a lone segment");
        }
    }

    /// 20 kB of 1 kB segments; with an RTT of 2 ms, 65 215 B / 2^3 more; a quantum is the minimum, if there
    /// is one.
    #[test]
    fn a_burst_is_what_the_rate_brings() {
        let input = |quantum| PacingInput {
            window: 0,
            outstanding: 0,
            srtt: None,
            ssthresh: None,
            rate: None,
            quantum,
            mss: 1000,
        };
        let rtt = Some(Duration::from_millis(2));
        let builder = BurstBuilder::new(64, None, true);
        assert_eq!(builder.segments(20_000, &input(None), rtt), 20);
        assert_eq!(builder.segments(100_000, &input(None), rtt), 64);
        assert_eq!(builder.segments(100, &input(None), rtt), 2);
        assert_eq!(builder.segments(100, &input(Some(500)), rtt), 1);
        assert_eq!(BurstBuilder::new(64, Some(9), true).segments(20_000, &input(None), rtt), 28);
    }
}
