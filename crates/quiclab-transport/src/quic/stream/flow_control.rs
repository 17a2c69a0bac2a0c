//! Flow control: credit of this end, and limits for the peer (RFC 9000 section 4).
//!
//! | Rule | When the limit grows | To |
//! | --- | --- | --- |
//! | `fixed` (quinn-proto 0.11 `Recv::max_stream_data`, `StreamsState::add_read_credits`) | an eighth of the window has been read since | read + window |
//! | `double_when_half_used` (aioquic `_write_connection_limits`, `_write_stream_limits`) | the peer has used more than half of it, counted from 0 | twice the limit |
//! | `double_within_two_rtts` (Chromium `QuicFlowController::MaybeSendWindowUpdate`) | less than half of the window is left unread | read + window; the window doubles first if the last update is less than two smoothed RTTs ago |
//!
//! | difference | from | here |
//! | --- | --- | --- |
//! | aioquic's limits grow without bound | | bytes beyond those read are bounded by the maximum window; from then on credit is returned in halves of it |
//! | the connection's window beside a stream's that grows | Chromium's `EnsureWindowAtLeast` compares with the wrong field and hardly ever grows it | at least 1.5 times the stream's, as quic-go's `EnsureMinimumWindowSize` |
//! | quic-go updates when a quarter is read and doubles by the fraction of four RTTs | | Chromium's rule |

use crate::options::FlowControl;
use quiclab_core::quic::VARINT_MAX;
use quiclab_core::{Duration, Time};

/// Credit of this end for sending, on a stream or in total.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credit {
    limit: u64,
    used: u64,
    /// Limit last reported to the peer as blocking (DATA_BLOCKED, STREAM_DATA_BLOCKED).
    reported: Option<u64>,
}

impl Credit {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, used: 0, reported: None }
    }
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }
    /// Bytes sent, each counted once.
    pub(super) fn used(&self) -> u64 {
        self.used
    }
    pub(super) fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
    pub(super) fn spend(&mut self, bytes: u64) {
        self.used += bytes;
    }
    /// Raises the limit; one that is not larger has no effect (RFC 9000 section 4.1).
    pub(super) fn raise(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
    }
    /// Whether the limit blocks and this has not been reported to the peer.
    pub(super) fn is_report_due(&self) -> bool {
        self.remaining() == 0 && self.reported != Some(self.limit)
    }
    pub(super) fn on_reported(&mut self) {
        self.reported = Some(self.limit);
    }
    pub(super) fn on_report_lost(&mut self) {
        self.reported = None;
    }
}

/// Limit of this end for data of the peer, on a stream or in total.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    rule: FlowControl,
    /// Bytes that may be sent beyond those read; grows with `double_within_two_rtts`.
    window: u64,
    /// Maximum of the window in bytes.
    most: u64,
    /// Limit last announced to the peer.
    limit: u64,
    /// Highest byte used by the peer; in a connection the sum over its streams.
    received: u64,
    /// Bytes that count as read.
    read: u64,
    /// Time of the last move of the window.
    moved: Option<Time>,
    /// Whether a higher limit, or the last one again, is to be announced to the peer.
    due: bool,
}

impl ReceiveWindow {
    /// Makes a window of `window` bytes; growth ends at `most` bytes, if that is more.
    pub(super) fn new(rule: FlowControl, window: u64, most: u64) -> Self {
        let window = window.min(VARINT_MAX);
        Self {
            rule,
            window,
            most: most.clamp(window, VARINT_MAX),
            limit: window,
            received: 0,
            read: 0,
            moved: None,
            due: false,
        }
    }

    /// Keeps the limit `limit` announced in an earlier connection: the window is at least as large.
    pub(super) fn keep(&mut self, limit: u64) {
        self.window = self.window.max(limit);
        self.most = self.most.max(self.window);
        self.limit = self.limit.max(limit);
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }
    pub(super) fn received(&self) -> u64 {
        self.received
    }
    /// Bytes that the peer may still send.
    pub(super) fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.received)
    }
    /// Whether an announcement is due.
    pub(super) fn is_due(&self) -> bool {
        self.due
    }
    /// Limit to announce to the peer now.
    pub(super) fn announcement(&self) -> u64 {
        self.next_limit().max(self.limit)
    }
    /// Handles the sending of [`ReceiveWindow::announcement`].
    pub(super) fn on_announced(&mut self) {
        self.limit = self.announcement();
        self.due = false;
    }
    /// Handles the loss of an announcement, which is obsolete if another followed.
    pub(super) fn on_announcement_lost(&mut self, maximum: u64) {
        self.due |= maximum == self.limit;
    }

    /// Handles data by which the peer uses `received` more bytes of the limit, and `read` more bytes count as
    /// read. Returns the window if it has grown.
    pub(super) fn on_data(
        &mut self,
        received: u64,
        read: u64,
        now: Time,
        srtt: Option<Duration>,
    ) -> Option<u64> {
        self.received += received;
        self.read += read;
        if self.due || read == 0 && self.rule != FlowControl::DoubleWhenHalfUsed {
            return None;
        }
        match self.rule {
            FlowControl::Fixed => {
                self.due = self.grants(self.window / 8);
                None
            }
            FlowControl::DoubleWhenHalfUsed => {
                self.due = self.is_half_used();
                None
            }
            FlowControl::DoubleWithinTwoRtts => self.tune(now, srtt),
        }
    }

    fn tune(&mut self, now: Time, srtt: Option<Duration>) -> Option<u64> {
        let last = *self.moved.get_or_insert(now); // the first limit counts as an update, once data are read
        if !self.is_half_read() {
            return None;
        }
        let is_fast = srtt.is_some_and(|srtt| now.since(last) < srtt * 2);
        let before = self.window;
        if is_fast {
            self.window = (before * 2).min(self.most);
        }
        self.moved = Some(now);
        self.due = self.grants(1);
        (self.window > before).then_some(self.window)
    }

    /// Counts earlier `bytes` as read, because they will not be read: no window grows.
    #[cfg(test)] // see `ReceiveHalf::stop`
    pub(super) fn on_discarded_read(&mut self, bytes: u64) {
        self.read += bytes;
        self.due |= match self.rule {
            FlowControl::Fixed => self.grants(self.window / 8),
            FlowControl::DoubleWhenHalfUsed => self.is_half_used(),
            FlowControl::DoubleWithinTwoRtts => self.is_half_read() && self.grants(1),
        };
    }

    /// Raises the window of the connection to 1.5 times that of a stream, which has grown to `stream` bytes.
    pub(super) fn keep_above(&mut self, stream: u64, now: Time) {
        let window = (stream + stream / 2).min(self.most);
        if window > self.window {
            self.window = window;
            self.moved = Some(now);
            self.due |= self.is_half_read() && self.grants(1);
        }
    }

    /// Rule of aioquic; if the maximum window bounds the limit, credit is given in halves of it.
    fn is_half_used(&self) -> bool {
        self.received > self.limit / 2 && self.grants(self.limit.min(self.most / 2))
    }

    fn is_half_read(&self) -> bool {
        let left = self.limit.saturating_sub(self.read);
        left == 0 || left < self.window / 2
    }

    /// Whether the next limit would add at least `bytes`, and more than 0.
    fn grants(&self, bytes: u64) -> bool {
        let more = self.next_limit().saturating_sub(self.limit);
        more > 0 && more >= bytes
    }

    fn next_limit(&self) -> u64 {
        let next = match self.rule {
            FlowControl::Fixed | FlowControl::DoubleWithinTwoRtts => self.read + self.window,
            FlowControl::DoubleWhenHalfUsed => (self.limit * 2).min(self.read + self.most),
        };
        next.min(VARINT_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms;

    const RTT: Option<Duration> = Some(Duration::from_millis(10));

    fn window(rule: FlowControl) -> ReceiveWindow {
        ReceiveWindow::new(rule, 800, 3200)
    }

    /// Receives and reads `bytes` at `now`; returns the limit that is then announced, if any.
    fn read(window: &mut ReceiveWindow, now: u64, bytes: u64) -> Option<u64> {
        window.on_data(bytes, bytes, ms(now), RTT);
        let due = window.is_due();
        let limit = window.announcement();
        if due {
            window.on_announced();
            assert!(!window.is_due() && window.limit() == limit);
        }
        due.then_some(limit)
    }

    /// An eighth of 800 is 100.
    #[test]
    fn a_fixed_window_moves_by_eighths() {
        let mut window = window(FlowControl::Fixed);
        assert_eq!(read(&mut window, 0, 99), None);
        assert_eq!(read(&mut window, 0, 1), Some(900));
        assert_eq!(read(&mut window, 0, 250), Some(1150));
        assert_eq!(window.remaining(), 800);
        // held behind a gap: no credit to return
        window.on_data(800, 0, ms(1), RTT);
        assert!(!window.is_due() && window.remaining() == 0);
        assert_eq!(window.on_data(0, 800, ms(2), RTT), None);
        assert_eq!((window.is_due(), window.announcement()), (true, 1950));
    }

    /// aioquic: 401 x 2 > 800, then the limit is 1600; 801 x 2 > 1600. At 3200, half is 1601, the next
    /// limit would be 6400, at most 1601 + 3200 = 4801, then half of 3200 must be read: 4801 + 1600 = 6401
    /// is announced when 3201 are read.
    #[test]
    fn limits_double_when_half_is_used() {
        let mut window = window(FlowControl::DoubleWhenHalfUsed);
        assert_eq!(read(&mut window, 0, 400), None);
        assert_eq!(read(&mut window, 0, 1), Some(1600));
        assert_eq!(read(&mut window, 0, 399), None);
        assert_eq!(read(&mut window, 0, 1), Some(3200));
        assert_eq!(read(&mut window, 0, 800), Some(4801));
        assert_eq!(read(&mut window, 0, 1599), None);
        assert_eq!(read(&mut window, 0, 1), Some(6401));
    }

    /// Used bytes count, read or not.
    #[test]
    fn data_behind_a_gap_double_limits_too() {
        let mut window = window(FlowControl::DoubleWhenHalfUsed);
        window.on_data(500, 0, ms(0), None);
        assert_eq!((window.is_due(), window.announcement()), (true, 1600));
    }

    /// Two RTTs are 20 ms. Half of 800 remains after 400 are read, less after 401.
    #[test]
    fn windows_double_when_half_is_read_within_two_rtts() {
        let mut window = window(FlowControl::DoubleWithinTwoRtts);
        assert_eq!(read(&mut window, 0, 400), None);
        assert_eq!(read(&mut window, 19, 1), Some(401 + 1600));
        assert_eq!(read(&mut window, 38, 800), None);
        assert_eq!(read(&mut window, 39, 1), Some(1202 + 1600), "20 ms: not within");
        assert_eq!(read(&mut window, 40, 801), Some(2003 + 3200));
        assert_eq!(read(&mut window, 41, 1601), Some(3604 + 3200), "the largest");
    }

    #[test]
    fn without_an_rtt_windows_move_but_do_not_double() {
        let mut window = self::window(FlowControl::DoubleWithinTwoRtts);
        assert_eq!(window.on_data(501, 501, ms(1), None), None);
        assert_eq!((window.is_due(), window.announcement()), (true, 1301));
        let mut window = self::window(FlowControl::DoubleWithinTwoRtts);
        assert_eq!(window.on_data(501, 501, ms(1), RTT), Some(1600), "Chromium: no time has passed at all");
    }

    /// 1.5 x 1600 = 2400; the connection may not exceed 3200.
    #[test]
    fn the_connection_follows_its_streams() {
        let mut connection = window(FlowControl::DoubleWithinTwoRtts);
        assert_eq!(read(&mut connection, 0, 300), None);
        connection.keep_above(1600, ms(1));
        assert_eq!((connection.is_due(), connection.announcement()), (true, 2700));
        connection.keep_above(1000, ms(1));
        assert_eq!(connection.announcement(), 2700);
        connection.keep_above(3200, ms(1));
        assert_eq!(connection.announcement(), 3500);
    }

    #[test]
    fn a_lost_announcement_is_repeated_unless_it_is_obsolete() {
        let mut window = window(FlowControl::Fixed);
        assert_eq!(read(&mut window, 0, 100), Some(900));
        assert_eq!(read(&mut window, 0, 100), Some(1000));
        window.on_announcement_lost(900);
        assert!(!window.is_due());
        window.on_announcement_lost(1000);
        assert_eq!((window.is_due(), window.announcement()), (true, 1000));
    }

    #[test]
    fn blocking_is_reported_once_for_each_limit() {
        let mut credit = Credit::new(10);
        assert!(!credit.is_report_due());
        credit.spend(10);
        assert!(credit.is_report_due());
        credit.on_reported();
        assert!(!credit.is_report_due());
        credit.raise(5);
        assert_eq!((credit.limit(), credit.is_report_due()), (10, false));
        credit.on_report_lost();
        assert!(credit.is_report_due());
        credit.raise(12);
        assert!(!credit.is_report_due());
        credit.spend(2);
        assert!(credit.is_report_due() && credit.remaining() == 0 && credit.used() == 12);
    }

    /// Minimum and maximum windows: no rule stops permanently, none overflows.
    #[test]
    fn extreme_windows_keep_moving() {
        for rule in [FlowControl::Fixed, FlowControl::DoubleWhenHalfUsed, FlowControl::DoubleWithinTwoRtts] {
            for size in [1, 2, 3] {
                let mut window = ReceiveWindow::new(rule, size, size);
                for step in 0..50 {
                    read(&mut window, step, 1);
                    assert!(window.remaining() > 0, "{rule:?} {size}");
                }
            }
            let mut window = ReceiveWindow::new(rule, u64::MAX, u64::MAX);
            for step in 0..10 {
                read(&mut window, step, VARINT_MAX / 10);
                assert!(window.limit() <= VARINT_MAX);
            }
        }
    }
}
