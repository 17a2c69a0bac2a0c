//! Bursts: how many segments leave as one unit, what Linux makes one skb for segmentation offload (`tcp_tso_segs`,
//! `tcp_cwnd_test`, `tcp_tso_should_defer`).
//!
//! Since 4.17 TCP makes such skbs whatever the network card can do: where it cannot split them, they are split right
//! before it. The segments of a burst leave back to back, and pacing, fq and BBR count bursts. They have two segments at least, so
//! that packets leave in pairs behind fq, which `tests/test_kernel_fq.py` compares with Linux.
//!
//! | what | here | Linux |
//! | --- | --- | --- |
//! | size | what the pacing rate brings in 2^-10 s, with an allowance for short paths; two segments or the minimum of the congestion control at least, 64 KiB and `gso_segments` at most | `tcp_tso_autosize`; the allowance since 5.18 |
//! | window | half of it at most, so that two bursts fit | the same |
//! | a burst that is not full | waits for the next acknowledgement while that is near, as long as less than a third of the window is free | the same; before 5.8 the acknowledgement was near for half a round trip |
//! | what is written | a burst is a part of one skb of writes, which since 6.10 is filled up with what follows | `tcp_mss_split_point`, `tcp_grow_skb` |

use super::{Sender, State};
use crate::pacing::PacingInput;
use crate::pacing::linux_rate;
use quiclab_core::{Duration, Time};

/// `sk_gso_max_size`: `GSO_LEGACY_MAX_SIZE`, less `MAX_TCP_HEADER` and one byte, in bytes.
pub(super) const MAX_BYTES: u64 = 65_536 - 320 - 1;
/// `sysctl_tcp_min_tso_segs`.
const MIN_SEGMENTS: u64 = 2;
/// `sysctl_tcp_tso_win_divisor`: where this part of the window is free, nothing waits.
const WINDOW_DIVISOR: u64 = 3;
/// A burst waits for an acknowledgement that is at most this far, and for as long after the one before.
const NEAR: Duration = Duration::from_millis(1);

/// What may leave of the data that were never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextBurst {
    /// Nothing: there are none, or the peer's window or Nagle's algorithm holds them.
    Nothing,
    /// Nothing yet: the congestion window lets only a short burst go.
    Deferred,
    /// So many bytes, as one burst; 0 for a lone FIN.
    Bytes(u64),
}

impl Sender {
    /// Maximum number of segments in a burst, from what the pacer is told of the path (`tcp_tso_segs`).
    pub(super) fn max_burst(&self, input: &PacingInput) -> u32 {
        if self.options.gso_segments <= 1 || !self.pacer.paces_bursts() {
            return 1;
        }
        let rate = self.pacer.rate().or_else(|| linux_rate(input, None));
        let mut bytes = rate.map_or(0, |rate| (rate.bits_per_second() / 8) >> 10);
        if let Some(log) = self.burst_rtt_log
            && let Some(rtt) = self.rtt.min()
        {
            // "the RTT-based allowance is cut in half for every 2^9 usec of RTT"
            let halvings = (rtt.as_nanos() / 1000) >> log;
            bytes += if halvings < 32 { MAX_BYTES >> halvings } else { 0 };
        }
        let least = input.quantum.map_or(MIN_SEGMENTS, |quantum| (quantum / self.payload).max(1));
        let segments = (bytes.min(MAX_BYTES) / self.payload).max(least);
        u32::try_from(segments).unwrap_or(u32::MAX).min(self.options.gso_segments)
    }

    /// What may leave of the data that were never sent, when only window and writes hold them (`tcp_write_xmit`).
    /// `room` is what the window leaves free, in segments; more than 0. `at_once`: a burst does not wait to be longer.
    pub(super) fn next_burst(&mut self, now: Time, room: u32, at_once: bool) -> NextBurst {
        if self.next >= self.end() || !self.fits_window() {
            return NextBurst::Nothing;
        }
        let segment = self.segment();
        let quota = u64::from(room.min((self.cwnd() / 2).max(1)).min(self.burst_limit));
        self.fill_head(quota * segment);
        let (head, is_last) = (self.head(), self.skbs.len() <= 1);
        // a short segment at the end waits while data is outstanding (Nagle), unless it ends the stream
        let short_leaves = !is_last || self.finished || self.ends_write() && !self.is_held_by_nagle();
        if head <= segment {
            let held = head < segment && !short_leaves && !self.board.is_empty();
            return if held { NextBurst::Nothing } else { NextBurst::Bytes(head) };
        }
        if self.burst_limit == 1 {
            return NextBurst::Bytes(segment);
        }
        let window = self.window_end() - self.next;
        if !at_once && self.should_wait(now, room, window) {
            let by_congestion_window = u64::from(room) * self.payload < window.min(head + 1);
            return if by_congestion_window { NextBurst::Deferred } else { NextBurst::Nothing };
        }
        let bytes = head.min(window).min(quota * segment);
        let short = bytes % segment;
        NextBurst::Bytes(if short == 0 || (bytes == head && short_leaves) { bytes } else { bytes - short })
    }

    /// Whether a burst should wait until it can be longer (`tcp_tso_should_defer`). `window` is what the peer's window
    /// leaves free, in bytes.
    fn should_wait(&self, now: Time, room: u32, window: u64) -> bool {
        let last = self.pacer.next_departure().unwrap_or(self.last_sent);
        if self.state >= State::Recovery || now > last + NEAR {
            return false; // "only if the last write was recent"
        }
        let by_congestion = u64::from(room) * self.payload;
        let free = by_congestion.min(window);
        let third = self.window.min(u64::from(self.cwnd()) * self.payload) / WINDOW_DIVISOR;
        if free >= third.min(u64::from(self.burst_limit) * self.payload) {
            return false;
        }
        let (skb, is_last) = (self.head(), self.skbs.len() <= 1);
        if !is_last && free >= skb {
            return false; // "middle in queue won't get any more data"
        }
        let Some(head) = self.board.front() else { return false };
        let srtt = self.rtt.smoothed().unwrap_or(Duration::ZERO);
        if head.sent + srtt > now + NEAR.min(srtt / 2) {
            return false; // the acknowledgement is too far
        }
        // the end of the stream gets no more data either
        !(is_last && self.finished && free > skb)
    }

    /// A short segment is outstanding (`tcp_minshall_check`).
    fn is_held_by_nagle(&self) -> bool {
        self.options.nagle && self.short_end > self.acknowledged
    }

    fn ends_write(&self) -> bool {
        self.pushed == self.written
    }
}
