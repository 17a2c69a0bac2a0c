//! Receive window: limit of data of the peer, and the buffer behind it, which grows with the rate (dynamic
//! right-sizing; Linux `__tcp_select_window`, `tcp_grow_window`, `tcp_rcv_space_adjust`).
//!
//! A part of the buffer is window, the rest is for the overhead of packets: half of it is window, or the
//! share of payload in their memory. The window in use starts at 64 KiB and grows by two segments with each
//! one received, up to that part; the buffer grows once per RTT to provide twice the window of the bytes that
//! the application has read in the last one, and more in slow start.
//!
//! | | before 6.6 | 6.6 to 6.15 | 6.16 on | here |
//! |---|---|---|---|---|
//! | window / buffer | 1/2 (`tcp_adv_win_scale` 1) | measured: payload / memory of a packet | measured | as before 6.6, or as 6.16 |
//! | memory of a packet | truesize | truesize | truesize | as 6.16: a separate buffer, as from a device without page fragments; otherwise twice its payload |
//! | cushion of the buffer | 16 segments | 16 segments | data out of order | as the release |
//! | RTT below 1 ms | | | the buffer grows in proportion to it | as the release |
//! | memory pressure of the host | yes | yes | yes | none |
//!
//! Without `receive_overhead`, as on BSD, the whole buffer is window from the start. It grows as that of Linux, up to its own maximum:
//! not modelled are the steps of FreeBSD (half of the buffer in half an RTT, `tcp_autorcvbuf`) and of macOS (`tcp_sbrcv_grow`).

use crate::options::TcpValues;
use crate::tcp::config::{Config, INITIAL_SEGMENTS, UNSCALED_WINDOW};
use crate::tcp::memory;
use quiclab_core::{Duration, Time};

/// Maximum shift count (RFC 7323 section 2.3).
const MAX_SCALE: u8 = 14;
/// `net.core.rmem_max`, which the shift count also covers.
const RMEM_MAX: u64 = 212_992;
/// Cushion of right-sizing, in segments.
const CUSHION: u64 = 16;
/// Unit of the ratio of window and buffer (`TCP_RMEM_TO_WIN_SCALE`); half of it is the ratio of a new connection.
const RATIO_UNIT: u64 = 256;
/// `sysctl_tcp_rcvbuf_low_rtt`.
const LOW_RTT: Duration = Duration::from_millis(1);
/// Minimum payload with which a segment in order increases the window (Linux `tcp_event_data_recv`), in
/// bytes.
pub(super) const GROWTH_PAYLOAD: u64 = 128;

/// Window that a buffer of `space` bytes has room for (Linux `tcp_win_from_space`).
fn window_of(space: u64, ratio: Option<u64>) -> u64 {
    ratio.map_or(space - space / 2, |ratio| space * ratio / RATIO_UNIT)
}

/// Shift count to announce (Linux `tcp_select_initial_window`): the maximum buffer fits into 16 bits.
pub(super) fn window_scale(config: &TcpValues) -> u8 {
    if !config.window_scaling {
        return 0;
    }
    let largest = config.receive_buffer.bytes().max(config.max_receive_buffer.bytes()).max(RMEM_MAX);
    (largest.ilog2() as u8).saturating_sub(15).min(MAX_SCALE)
}

/// Receive window of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Receive buffer and its maximum size in bytes.
    buffer: u64,
    max_buffer: u64,
    /// Part of the buffer that is window, in 256ths; `None`: half, rounded up.
    ratio: Option<u64>,
    /// Whether the whole buffer is window, regardless of the memory of packets.
    whole: bool,
    /// Payload of a full segment.
    mss: u64,
    scale: u8,
    /// Upper bound of the window by the buffer (Linux `window_clamp`).
    clamp: u64,
    /// Upper bound by the data of the sender so far (Linux `rcv_ssthresh`).
    threshold: u64,
    /// Window announced last, and its end position.
    announced: u64,
    edge: u64,
    /// Right-sizing: maximum bytes read in an RTT so far; start of the current one.
    space: u64,
    space_start: u64,
    space_time: Time,
    /// Eight times the RTT as measured by this end in nanoseconds; 0: not measured.
    rtt_by_8: u64,
    /// Window that is used to measure the RTT without timestamps: its end and start time.
    round: Option<(u64, Time)>,
    last_echo: u32,
}

impl Window {
    /// Makes the window of a new connection. `mss` is the payload of a full segment.
    pub(super) fn new(config: &Config, mss: u64) -> Self {
        let whole = !config.tcp.receive_overhead;
        let share = if whole { RATIO_UNIT } else { RATIO_UNIT / 2 };
        let ratio = (whole || config.fixed.measured_window).then_some(share);
        let config = &config.tcp;
        let scale = window_scale(config);
        let buffer = config.receive_buffer.bytes();
        let full = window_of(buffer, ratio);
        // whole segments, and the maximum of the window field of a SYN
        let initial = if full > mss { full - full % mss } else { full }.min(UNSCALED_WINDOW);
        // one segment is reserved (Linux tcp_init_buffer_space)
        let clamp = full.min(UNSCALED_WINDOW << scale);
        let clamp =
            if !whole && clamp > 2 * mss && clamp + mss > full { (full - mss).max(2 * mss) } else { clamp };
        Self {
            buffer,
            max_buffer: config.max_receive_buffer.bytes(),
            ratio,
            whole,
            mss,
            scale,
            clamp,
            threshold: if whole { clamp } else { initial.min(clamp) },
            announced: initial,
            edge: 1 + initial,
            // the sender is assumed to start with its initial window
            space: initial.min(clamp).min(INITIAL_SEGMENTS * mss).max(1),
            space_start: 1,
            space_time: Time::ZERO,
            rtt_by_8: 0,
            round: None,
            last_echo: 0,
        }
    }

    /// Opens the connection at `now`; SYN or SYN-ACK has offered a window of `offered` bytes (Linux
    /// `tcp_init_buffer_space`).
    pub(super) fn open(&mut self, now: Time, offered: u64) {
        self.threshold = if self.whole { self.clamp } else { offered.min(self.clamp) };
        (self.announced, self.edge) = (offered, 1 + offered);
        self.space = offered.min(self.clamp).min(INITIAL_SEGMENTS * self.mss).max(1);
        self.space_time = now;
    }

    /// First position that the peer must not send.
    pub(super) fn edge(&self) -> u64 {
        self.edge
    }
    /// Window announced last.
    pub(super) fn announced(&self) -> u64 {
        self.announced
    }
    /// RTT as measured at this end, `None` before the first measurement.
    pub(super) fn rtt(&self) -> Option<Duration> {
        (self.rtt_by_8 != 0).then_some(Duration::from_nanos(self.rtt_by_8 / 8))
    }
    /// Upper bound of the window by the buffer.
    pub(super) fn clamp(&self) -> u64 {
        self.clamp
    }
    /// Window that the buffer has room for.
    fn full(&self) -> u64 {
        window_of(self.buffer, self.ratio)
    }

    /// Measures the share of payload in the memory of a packet from the first segment of `payload` bytes
    /// (Linux `tcp_measure_rcv_mss`).
    pub(super) fn measure_ratio(&mut self, payload: u64) {
        let Some(ratio) = self.ratio.as_mut().filter(|_| !self.whole) else { return };
        let measured = (payload * RATIO_UNIT / memory::of_received(payload)).max(1);
        if *ratio != measured {
            *ratio = measured;
            self.clamp = self.full();
            self.space = self.space.min(self.clamp).max(1);
        }
    }

    /// Part of the window that is occupied by `bytes` that are unread or out of order and have this `memory`:
    /// computed from their memory since 6.16 (`tcp_space`).
    pub(super) fn taken(&self, bytes: u64, memory: u64) -> u64 {
        if self.ratio.is_none() || self.whole {
            return bytes;
        }
        self.full() - window_of(self.buffer.saturating_sub(memory), self.ratio)
    }

    /// Free part of the window when `held` bytes of it are occupied.
    fn free(&self, held: u64) -> u64 {
        self.full().saturating_sub(held)
    }
    /// Whether less than half is free: then segments are no longer acknowledged one by one.
    pub(super) fn is_short(&self, held: u64) -> bool {
        self.free(held) < self.clamp.min(self.full()) / 2
    }

    /// Window that would be announced if it had not been larger before (Linux `__tcp_select_window`). `held`
    /// as above, `segment`: the usual payload of received segments.
    pub(super) fn select(&self, held: u64, segment: u64) -> u64 {
        let full = self.clamp.min(self.full());
        let segment = segment.min(full);
        let unit = 1 << self.scale;
        let mut free = self.free(held);
        if free < full / 2 {
            free -= free % unit;
            // silly window avoidance (RFC 9293 section 3.8.6.2.2): rather none than a small one
            if free < self.full() / 16 || free < segment {
                return 0;
            }
        }
        free = free.min(self.threshold);
        if self.scale > 0 {
            return free.next_multiple_of(unit);
        }
        // without scaling the window moves in whole segments
        if segment > 0 && (self.announced + segment <= free || self.announced > free) {
            free - free % segment
        } else if segment == full && free > self.announced + full / 2 {
            free
        } else {
            self.announced
        }
    }

    /// Announces a window with the acknowledgement of `next`: "a TCP receiver SHOULD NOT shrink the
    /// window" (RFC 9293 section 3.8.6, SHLD-14).
    pub(super) fn announce(&mut self, next: u64, held: u64, segment: u64) -> u32 {
        let current = self.edge.saturating_sub(next);
        let selected = self.select(held, segment);
        let unit = 1_u64 << self.scale;
        let window = if selected < current { current.next_multiple_of(unit) } else { selected };
        self.announced = window.min(UNSCALED_WINDOW << self.scale);
        self.edge = self.edge.max(next + self.announced);
        u32::try_from(self.announced).expect("65535 shifted by at most 14 fits into 32 bits")
    }

    /// Handles a segment of `length` bytes: the bound grows by two full ones (Linux `tcp_grow_window`).
    /// Returns whether it grew.
    pub(super) fn grow(&mut self, length: u64, held: u64) -> bool {
        let room = self.clamp.min(self.free(held)).saturating_sub(self.threshold);
        self.threshold += room.min(2 * self.mss.max(length));
        room > 0
    }

    /// RTT by timestamps (Linux `tcp_rcv_rtt_measure_ts`): a full segment echoes the clock of this end, in
    /// milliseconds, and no earlier segment had the same echo. Since 6.16 a longer one than before does not
    /// count while data are `unread`.
    pub(super) fn measure_by_echo(&mut self, now: Time, echo: u32, full_sized: bool, unread: bool) {
        if echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        let clock = (now.as_nanos() / 1_000_000) as u32; // wraps like the option's 32 bits
        let sample = clock.wrapping_sub(echo);
        // Linux: a value that exceeds 31 bits of microseconds is not an RTT; nor is 0, since 6.16
        let too_short = self.ratio.is_some() && sample == 0;
        if full_sized && sample < i32::MAX as u32 / 1000 && !too_short {
            self.update_rtt(u64::from(sample.max(1)) * 1_000_000, unread && self.ratio.is_some());
        }
    }

    /// RTT by windows (Linux `tcp_rcv_rtt_measure`): a window that was announced has been used up.
    pub(super) fn measure_by_window(&mut self, now: Time, next: u64) {
        if let Some((end, start)) = self.round {
            if next < end {
                return;
            }
            self.update_rtt(now.since(start).as_nanos().max(1000), true);
        }
        self.round = Some((next + self.announced, now));
    }

    /// The minimum counts at once; longer times are smoothed, except those that may include pauses of the
    /// application: measured by windows, or while data are unread.
    fn update_rtt(&mut self, sample: u64, with_pauses: bool) {
        let new = sample.saturating_mul(8);
        if self.rtt_by_8 == 0 || new < self.rtt_by_8 {
            self.rtt_by_8 = new;
        } else if !with_pauses {
            self.rtt_by_8 = self.rtt_by_8 - self.rtt_by_8 / 8 + sample;
        }
    }

    /// Handles a read up to `position` with `queued` bytes left: once per RTT the buffer follows (Linux
    /// `tcp_rcv_space_adjust`). Queued data were not read in time, which counts since 6.16. `beyond` is the
    /// extent of data out of order in bytes.
    pub(super) fn on_read(&mut self, now: Time, position: u64, queued: u64, beyond: u64) {
        let Some(rtt) = self.rtt() else { return };
        if now.since(self.space_time) < rtt {
            return;
        }
        let late = if self.ratio.is_some() { queued } else { 0 };
        let copied = (position - self.space_start).saturating_sub(late);
        if copied > self.space {
            self.enlarge(self.wanted_buffer(copied, rtt, beyond));
            self.space = copied;
        }
        self.space_start = position;
        self.space_time = now;
    }

    /// Handles a segment out of order; such data extend over `beyond` bytes, for which there is room beside
    /// two windows (Linux `tcp_data_queue_ofo`).
    pub(super) fn on_out_of_order(&mut self, beyond: u64) {
        if self.ratio.is_some() {
            self.enlarge(self.wanted_buffer(self.space, self.rtt().unwrap_or(Duration::ZERO), beyond));
        }
    }

    fn enlarge(&mut self, wanted: u128) {
        let buffer = u64::try_from(wanted).unwrap_or(u64::MAX).min(self.max_buffer);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.full().min(UNSCALED_WINDOW << self.scale);
            if self.whole {
                self.threshold = self.clamp;
            }
        }
    }

    /// Buffer for a window of twice the bytes `copied` in an RTT, for losses, and for the growth of the
    /// sender in this RTT and the next: (copied - space) / space.
    fn wanted_buffer(&self, copied: u64, rtt: Duration, beyond: u64) -> u128 {
        let growth = |window: u128| window * u128::from(copied - self.space) / u128::from(self.space);
        let Some(ratio) = self.ratio else {
            let window = u128::from(2 * copied + CUSHION * self.mss);
            return 2 * (window + 2 * growth(window));
        };
        let window = u128::from(2 * copied);
        let grown = if rtt < LOW_RTT {
            window * u128::from(rtt.as_nanos()) / u128::from(LOW_RTT.as_nanos())
        } else {
            growth(2 * window)
        };
        (window + grown + u128::from(beyond)) * u128::from(RATIO_UNIT) / u128::from(ratio)
    }

    /// Receive buffer in bytes.
    #[cfg(test)]
    pub(super) fn buffer(&self) -> u64 {
        self.buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::test_config;

    /// Window of Linux 7 at an RTT of 100 ms; the application has read 10 kB in the last one.
    fn measured() -> Window {
        let mut config = test_config();
        config.fixed.measured_window = true;
        config.tcp.max_receive_buffer = quiclab_core::ByteCount::from_bytes(6_291_456);
        let mut window = Window::new(&config, 1448);
        window.update_rtt(100_000_000, false);
        window.space = 10_000;
        window
    }

    /// A hole is filled, and 110 kB are in order at once. When the first 50 kB are read, 60 kB are queued: no
    /// data were read in time. 200 kB in the next RTT count, from the 50 kB on.
    #[test]
    fn what_is_queued_was_not_read_in_time() {
        let mut window = measured();
        let buffer = window.buffer;
        window.on_read(Time::from_nanos(200_000_000), 50_001, 60_000, 0);
        assert_eq!((window.buffer, window.space, window.space_start), (buffer, 10_000, 50_001));
        window.on_read(Time::from_nanos(400_000_000), 250_001, 0, 0);
        assert_eq!((window.buffer > buffer, window.space), (true, 200_000));
    }

    /// Before 6.16 the 50 kB count, regardless of data queued behind them.
    #[test]
    fn old_kernels_count_what_was_read() {
        let mut window = Window { ratio: None, ..measured() };
        let buffer = window.buffer;
        window.on_read(Time::from_nanos(200_000_000), 50_001, 60_000, 0);
        assert_eq!((window.buffer > buffer, window.space), (true, 50_000));
    }

    /// Twice 100 kB and 500 kB out of order, in a buffer of which half is window: 1.4 MB; it does not shrink.
    #[test]
    fn the_buffer_has_room_for_what_is_out_of_order() {
        let mut window = measured();
        window.space = 100_000;
        window.on_out_of_order(500_000);
        assert_eq!(window.buffer, 1_400_000);
        window.on_out_of_order(0);
        assert_eq!(window.buffer, 1_400_000);
    }
}
