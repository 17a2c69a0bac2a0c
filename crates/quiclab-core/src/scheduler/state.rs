//! What a scheduler is told of a path.

use crate::time::Duration;
use crate::units::{ByteCount, DataRate, Probability};

/// What a sender knows of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathState {
    /// It is validated and not suspected to be dead: it may carry data.
    pub usable: bool,
    /// Window and pacer let the next packet leave now.
    pub has_room: bool,
    /// Smoothed RTT; the assumed one before there is a sample.
    pub srtt: Duration,
    /// Smallest RTT seen; [`Self::srtt`] where it is not known.
    pub min_rtt: Duration,
    /// Variation of the RTT (RFC 9002 section 5.3: rttvar); 0 where it is not known.
    pub rtt_variation: Duration,
    /// Congestion window.
    pub window: ByteCount,
    /// Bytes sent that are neither acknowledged nor lost.
    pub in_flight: ByteCount,
    /// Rate at which the path delivers: bandwidth or pacing rate of its controller, or a measured delivery rate, not what
    /// an application that sends less has made of it. `None`: it is not known.
    pub rate: Option<DataRate>,
    /// Recent share of packets lost.
    pub loss: Probability,
    /// Bytes of a full datagram.
    pub largest: ByteCount,
}

impl PathState {
    /// The next packet may take it.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.usable && self.has_room
    }

    /// It has no room, and will have: what is in flight is acknowledged or lost sooner or later. A path without
    /// room and with nothing in flight might never have any; no packet waits for it.
    #[must_use]
    pub const fn frees_room(&self) -> bool {
        self.usable && !self.has_room && self.in_flight.bytes() > 0
    }

    /// [`Self::rate`], or a window for each round trip.
    #[must_use]
    pub fn rate_or_window(&self) -> DataRate {
        self.rate.unwrap_or_else(|| {
            let bits = u128::from(self.window.bytes()) * 8_000_000_000;
            let rate = bits / u128::from(self.srtt.as_nanos().max(1));
            DataRate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
        })
    }
}
