//! Delivery rate: rate at which the network delivers packets (draft-cheng-iccrg-delivery-rate-estimation
//! section 3; Linux net/ipv4/tcp_rate.c).
//!
//! Each packet records at sending the bytes delivered so far, and their time. When it is acknowledged, the
//! rate is the number of bytes delivered since, divided by the longer of the send interval and the ACK
//! interval.

use quiclab_core::{DataRate, Duration, Time};

/// State recorded for a packet when it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentState {
    /// Bytes delivered when it was sent.
    pub delivered: u64,
    /// Time at which these were delivered.
    pub delivered_time: Time,
    /// Send time of the packet most recently acknowledged then: start of the send interval.
    pub first_sent: Time,
    /// Whether sending was application-limited at that time.
    pub app_limited: bool,
    /// Bytes in flight right after it was sent, including itself.
    pub in_flight: u64,
    /// Bytes declared lost when it was sent.
    pub lost: u64,
}

/// Result of one acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered in `interval`.
    pub delivered: u64,
    /// Maximum of send interval and ACK interval; `None`: no valid sample (too short, nothing delivered).
    pub interval: Option<Duration>,
    /// [`SentState::delivered`] of the packet of the sample, which distinguishes round trips.
    pub prior_delivered: u64,
    /// Total bytes delivered.
    pub total_delivered: u64,
    /// Total bytes declared lost.
    pub total_lost: u64,
    /// Whether the sample is application-limited.
    pub app_limited: bool,
    /// Whether the RTT of the acknowledgement may include a delayed ACK.
    pub ack_delayed: bool,
    /// [`SentState::in_flight`] of the packet of the sample.
    pub tx_in_flight: u64,
    /// Bytes declared lost since it was sent.
    pub lost: u64,
}

impl RateSample {
    /// Delivered bytes by interval, in bit/s; `None` without a valid sample.
    #[must_use]
    pub fn rate(&self) -> Option<DataRate> {
        let nanos = self.interval?.as_nanos();
        let bits = u128::from(self.delivered) * 8 * 1_000_000_000 / u128::from(nanos.max(1));
        Some(DataRate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX)))
    }
}

/// Estimator of a connection.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    lost: u64,
    /// Delivered bytes after which samples are no longer application-limited; 0: they are not.
    app_limited_until: u64,
    sample: Pending,
}

/// Packet of the current acknowledgement that was sent last.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    state: Option<SentState>,
    sent: Time,
    /// Tie-break of packets sent at one instant.
    position: u64,
    send_interval: Duration,
}

impl DeliveryRate {
    /// Records a packet of `bytes` that is sent now with `in_flight` bytes in flight before it; returns its
    /// state.
    pub fn on_sent(&mut self, now: Time, in_flight: u64, bytes: u64) -> SentState {
        if in_flight == 0 {
            // the intervals restart after idle (section 3.2)
            self.first_sent = now;
            self.delivered_time = now;
        }
        SentState {
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            app_limited: self.app_limited_until != 0,
            in_flight: in_flight + bytes,
            lost: self.lost,
        }
    }

    /// Handles the delivery of a packet of `bytes`, sent (last) at `sent`, with the end `position`.
    pub fn on_delivered(&mut self, now: Time, state: &SentState, bytes: u64, sent: Time, position: u64) {
        self.delivered += bytes;
        self.delivered_time = now;
        let newer =
            self.sample.state.is_none() || (sent, position) > (self.sample.sent, self.sample.position);
        if newer {
            let send_interval = sent.since(state.first_sent);
            self.sample = Pending { state: Some(*state), sent, position, send_interval };
            self.first_sent = sent;
        }
    }

    /// Handles packets of `bytes` that are declared lost.
    pub fn on_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// Marks samples as application-limited: the application has nothing to send although the window has
    /// room.
    pub fn set_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// Whether samples are currently application-limited.
    #[must_use]
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until != 0
    }

    /// Bytes declared lost so far.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Bytes delivered so far.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Completes the acknowledgement; returns the sample of the packets reported since the last call.
    pub fn sample(&mut self, now: Time, min_rtt: Option<Duration>, ack_delayed: bool) -> RateSample {
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let pending = std::mem::take(&mut self.sample);
        let totals = RateSample {
            total_delivered: self.delivered,
            total_lost: self.lost,
            ack_delayed,
            ..RateSample::default()
        };
        let Some(state) = pending.state else { return totals };
        let interval = pending.send_interval.max(now.since(state.delivered_time));
        // shorter than the minimum RTT: the ACK belongs to an earlier copy of a retransmission
        let valid = interval > Duration::ZERO && min_rtt.is_none_or(|min| interval >= min);
        RateSample {
            delivered: self.delivered - state.delivered,
            interval: valid.then_some(interval),
            prior_delivered: state.delivered,
            app_limited: state.app_limited,
            tx_in_flight: state.in_flight,
            lost: self.lost - state.lost,
            ..totals
        }
    }
}
