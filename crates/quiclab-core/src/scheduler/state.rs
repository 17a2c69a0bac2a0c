//! State of a path, as input of a scheduler.

use crate::time::Duration;
use crate::units::{ByteCount, DataRate, Probability};

/// State of a path as known to its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathState {
    /// Whether it may carry data: it is validated and not suspected to have failed.
    pub usable: bool,
    /// Whether window and pacer permit the next packet now.
    pub has_room: bool,
    /// Smoothed RTT; the assumed one before the first sample.
    pub srtt: Duration,
    /// Minimum RTT; [`Self::srtt`] if it is not known.
    pub min_rtt: Duration,
    /// Variation of the RTT (RFC 9002 section 5.3: rttvar); 0 if it is not known.
    pub rtt_variation: Duration,
    /// Congestion window.
    pub window: ByteCount,
    /// Bytes sent that are neither acknowledged nor declared lost.
    pub in_flight: ByteCount,
    /// Rate at which the path delivers: bandwidth or pacing rate of its controller, or a measured delivery
    /// rate, without samples of an application-limited sender. `None` if it is not known.
    pub rate: Option<DataRate>,
    /// Share of packets lost recently.
    pub loss: Probability,
    /// Length of a full datagram in bytes.
    pub largest: ByteCount,
}

impl PathState {
    /// Whether the next packet may use it.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.usable && self.has_room
    }

    /// Whether it has no room, and will have: packets in flight are acknowledged or lost sooner or later. A
    /// path without room and with nothing in flight might never have any; no packet waits for it.
    #[must_use]
    pub(crate) const fn frees_room(&self) -> bool {
        self.usable && !self.has_room && self.in_flight.bytes() > 0
    }

    /// [`Self::rate`], or a window per round trip.
    #[must_use]
    pub(crate) fn rate_or_window(&self) -> DataRate {
        self.rate.unwrap_or_else(|| {
            let bits = u128::from(self.window.bytes()) * 8_000_000_000;
            let rate = bits / u128::from(self.srtt.as_nanos().max(1));
            DataRate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
        })
    }
}
