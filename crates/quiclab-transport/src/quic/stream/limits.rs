//! Limits of the number of streams (RFC 9000 section 4.6): those that this end opens, and those of its peer.
//!
//! The peer may open another stream for each of its streams that is closed in both directions. This is
//! announced once more than an eighth of the allowed number has accumulated (quinn-proto 0.11
//! `StreamsState::queue_max_stream_id`). Quiche announces it each time that one is drained, with at most half
//! of that number left to open (quic_stream_id_manager.cc `MaybeSendMaxStreamsFrame`,
//! `quic_max_streams_window_divisor` 2); a stream is drained when its FIN has been received and sent, a round
//! trip before that is acknowledged (`StreamDraining`).
//!
//! Google QUIC 37 has no frames for that: each end counts closed streams itself. The peer closes a stream
//! earlier than this end does, which waits for the acknowledgement of its FIN: so the limit is enforced with
//! an allowance (Chromium's is the larger of 10 streams and a tenth).

/// Maximum number of streams of a kind (RFC 9000 section 4.6: 2^60).
pub(super) const MAX_STREAMS: u64 = 1 << 60;

/// Streams of one kind that this end opens.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LocalStreams {
    /// Number of streams opened.
    pub(super) next: u64,
    /// Number of streams that the peer allows.
    pub(super) limit: u64,
    /// Whether the limit has blocked a stream since it last increased.
    refused: bool,
    /// Whether this was reported to the peer.
    reported: bool,
}

impl LocalStreams {
    /// Index of a new stream, if one is allowed.
    pub(super) fn open(&mut self) -> Option<u64> {
        if self.next >= self.limit {
            self.refused = true;
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// Raises the limit; returns whether a blocked stream may be opened now.
    pub(super) fn raise(&mut self, limit: u64) -> bool {
        let limit = limit.min(MAX_STREAMS);
        if limit <= self.limit {
            return false;
        }
        self.limit = limit;
        self.reported = false;
        std::mem::take(&mut self.refused)
    }

    /// Replaces the limit of an earlier connection.
    pub(super) fn replace(&mut self, limit: u64) {
        self.limit = limit.min(MAX_STREAMS);
        self.reported = false;
    }

    /// Whether STREAMS_BLOCKED is to be sent.
    pub(super) fn is_report_due(&self) -> bool {
        self.refused && !self.reported
    }
    pub(super) fn on_reported(&mut self) {
        self.reported = true;
    }
    pub(super) fn on_report_lost(&mut self) {
        self.reported = false;
    }
}

/// Streams of one kind that the peer opens.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerStreams {
    /// Number of streams opened.
    pub(super) next: u64,
    /// Maximum number that may be open at one time.
    most: u64,
    /// Number of closed streams.
    over: u64,
    /// Number of streams announced to the peer.
    limit: u64,
    /// Whether the last announcement is lost.
    lost: bool,
    /// Whether MAX_STREAMS announces the limit; otherwise the peer counts.
    announces: bool,
    /// Whether it does so when half of the number is left, and not by eighths.
    when_half_left: bool,
    /// Whether a stream was drained when half was left.
    due: bool,
}

impl PeerStreams {
    pub(super) fn new(most: u64, announces: bool, when_half_left: bool) -> Self {
        let most = most.min(MAX_STREAMS);
        Self { next: 0, most, over: 0, limit: most, lost: false, announces, when_half_left, due: false }
    }
    /// Keeps the limit `limit` announced in an earlier connection.
    pub(super) fn keep(&mut self, limit: u64) {
        self.most = self.most.max(limit.min(MAX_STREAMS));
        self.limit = self.limit.max(self.most);
    }
    /// Number of streams that the peer may open, as enforced by this end.
    pub(super) fn limit(&self) -> u64 {
        if self.announces { self.limit } else { self.announcement() + self.most.max(10) }
    }
    /// Initial number of streams that the peer may open.
    pub(super) fn first_limit(&self) -> u64 {
        self.most
    }
    pub(super) fn on_over(&mut self) {
        self.over += 1;
        self.due |= self.when_half_left && self.limit.saturating_sub(self.next) <= self.most / 2;
    }
    /// Whether a stream counts as closed when it is drained.
    pub(super) fn replaces_drained(&self) -> bool {
        self.when_half_left
    }
    /// Number to announce to the peer now.
    pub(super) fn announcement(&self) -> u64 {
        (self.most + self.over).min(MAX_STREAMS)
    }
    /// Whether an announcement is due.
    pub(super) fn is_due(&self) -> bool {
        let many = !self.when_half_left && self.announcement() - self.limit > self.most / 8;
        self.announces && (self.lost || self.due || many)
    }
    pub(super) fn on_announced(&mut self) {
        self.limit = self.announcement();
        (self.lost, self.due) = (false, false);
    }
    /// Handles the loss of an announcement, which is obsolete if another followed.
    pub(super) fn on_announcement_lost(&mut self, maximum: u64) {
        self.lost |= maximum == self.limit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_stream_is_announced_when_the_limit_grows() {
        let mut opening = LocalStreams::default();
        assert!(!opening.raise(2) && !opening.is_report_due());
        assert_eq!([opening.open(), opening.open(), opening.open()], [Some(0), Some(1), None]);
        assert!(opening.is_report_due());
        opening.on_reported();
        assert_eq!((opening.open(), opening.is_report_due()), (None, false));
        opening.on_report_lost();
        assert!(opening.is_report_due());
        assert!(!opening.raise(1));
        assert!(opening.raise(3) && !opening.is_report_due());
        assert_eq!(opening.open(), Some(2));
        assert!(!opening.raise(10), "none was refused");
        opening.raise(u64::MAX);
        assert_eq!(opening.limit, MAX_STREAMS);
    }

    /// An eighth of 16 is 2.
    #[test]
    fn streams_are_given_back_by_eighths() {
        let mut accepting = PeerStreams::new(16, true, false);
        accepting.on_over();
        accepting.on_over();
        assert!(!accepting.is_due());
        accepting.on_over();
        assert_eq!((accepting.is_due(), accepting.announcement()), (true, 19));
        accepting.on_announced();
        assert_eq!((accepting.is_due(), accepting.limit()), (false, 19));
        accepting.on_announcement_lost(16);
        assert!(!accepting.is_due());
        accepting.on_announcement_lost(19);
        assert!(accepting.is_due());
        let mut single = PeerStreams::new(1, true, false);
        single.on_over();
        assert!(single.is_due());
        let mut silent = PeerStreams::new(16, false, false);
        assert_eq!((silent.first_limit(), silent.limit()), (16, 32));
        (0..16).for_each(|_| silent.on_over());
        assert_eq!((silent.is_due(), silent.limit()), (false, 48));
    }

    /// Of 16, 8 are left after the eighth; until then nothing is announced.
    #[test]
    fn streams_are_given_back_when_half_is_left() {
        let mut accepting = PeerStreams::new(16, true, true);
        accepting.next = 7;
        accepting.on_over();
        assert!(!accepting.is_due(), "9 are left");
        accepting.next = 8;
        assert!(!accepting.is_due(), "none is over");
        accepting.on_over();
        assert_eq!((accepting.is_due(), accepting.announcement()), (true, 18));
        accepting.on_announced();
        accepting.next = 10;
        assert!(!accepting.is_due(), "nothing new");
        accepting.on_over();
        assert_eq!((accepting.is_due(), accepting.announcement()), (true, 19));
    }
}
