//! Crypto stream of an encryption level: handshake data sent, acknowledged and received (RFC 9000 section
//! 19.6). Data are counted, not stored.

use crate::range_set::RangeSet;
use std::ops::Range;

/// Crypto stream in both directions.
#[derive(Debug, Default)]
pub(super) struct CryptoStream {
    /// Bytes sent for the first time so far.
    sent: u64,
    /// Bytes to be sent again.
    lost: RangeSet,
    acked: RangeSet,
    received: RangeSet,
}

impl CryptoStream {
    /// Whether any of `queued` bytes are to be sent.
    pub(super) fn wants_to_send(&self, queued: u64) -> bool {
        self.sent < queued || !self.lost.is_empty()
    }

    /// Takes the next bytes to send, at most `most`, of `queued`: lost ones first.
    pub(super) fn next(&mut self, queued: u64, most: u64) -> Option<Range<u64>> {
        if most == 0 {
            return None;
        }
        if let Some(lost) = self.lost.first() {
            let range = lost.start..lost.end.min(lost.start + most);
            self.lost.remove(range.clone());
            return Some(range);
        }
        let range = self.sent..queued.min(self.sent + most);
        self.sent = range.end;
        (!range.is_empty()).then_some(range)
    }

    pub(super) fn on_acked(&mut self, range: Range<u64>) {
        self.lost.remove(range.clone());
        self.acked.insert(range);
    }

    pub(super) fn on_lost(&mut self, range: Range<u64>) {
        self.lost.insert(range);
        for acked in self.acked.iter() {
            self.lost.remove(acked);
        }
    }

    /// Queues all bytes sent and not acknowledged again, as a probe (RFC 9002 section 6.2.4).
    pub(super) fn probe(&mut self) -> bool {
        if self.sent == 0 {
            return false;
        }
        self.on_lost(0..self.sent);
        !self.lost.is_empty()
    }

    /// Adds received bytes; returns the number received in order from the start.
    pub(super) fn on_received(&mut self, range: Range<u64>) -> u64 {
        self.received.insert(range);
        self.received_in_order()
    }

    /// Number of bytes received in order from the start.
    pub(super) fn received_in_order(&self) -> u64 {
        self.received.first().filter(|first| first.start == 0).map_or(0, |first| first.end)
    }
}
