//! Timestamps of the peer: choice of the echo, and protection against wrapped sequence numbers (RFC 7323
//! sections 4.3 and 5; Linux `tcp_replace_ts_recent`, `tcp_paws_check`, `tcp_disordered_ack`).
//!
//! | | RFC 7323 | Linux | here |
//! |---|---|---|---|
//! | too old | any smaller TSval | smaller by more than 1 | as Linux |
//! | pure ACK that reordering delayed | rejected | accepted if it changes nothing, up to an RTO | accepted up to the minimum RTO |
//! | TS.Recent outdated after 24 days | yes | yes | no: runs are shorter |

use quiclab_core::Segment;

/// Tolerated difference in ms (Linux `TCP_PAWS_WINDOW`).
const TOLERATED: i32 = 1;

/// Timestamps of the peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamps {
    /// TS.Recent; `None` before the first.
    recent: Option<u32>,
    /// Maximum age of a pure ACK relative to it, in ms.
    replay: i32,
    enabled: bool,
}

impl Timestamps {
    /// Makes the state; `enabled`: as negotiated; `min_rto_ms` bounds the age of a pure ACK.
    pub(super) fn new(enabled: bool, min_rto_ms: u64) -> Self {
        Self { recent: None, replay: i32::try_from(min_rto_ms).unwrap_or(i32::MAX), enabled }
    }

    /// TSval to echo.
    pub(super) fn recent(&self) -> Option<u32> {
        self.recent
    }

    /// Takes the timestamp of a segment if "SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent"
    /// (RFC 7323 section 4.3 (2)); a delayed ACK then echoes the first of the segments it acknowledges.
    pub(super) fn update(&mut self, segment: &Segment, last_ack_sent: u64) {
        let newer = self.recent.is_none_or(|recent| age(recent, segment.timestamp) <= 0);
        if self.enabled && newer && segment.sequence <= last_ack_sent {
            self.recent = Some(segment.timestamp);
        }
    }

    /// Whether a segment is an old duplicate by PAWS (RFC 7323 section 5.3, R1). `next` is the position
    /// expected.
    pub(super) fn is_too_old(&self, segment: &Segment, next: u64) -> bool {
        let Some(recent) = self.recent else { return false };
        let age = age(recent, segment.timestamp);
        let pure = segment.end() == segment.sequence && segment.sequence == next;
        age > if pure { self.replay.max(TOLERATED) } else { TOLERATED }
    }
}

/// Age of `timestamp` relative to `recent`, in ms; the clock wraps.
fn age(recent: u32, timestamp: u32) -> i32 {
    recent.wrapping_sub(timestamp) as i32
}
