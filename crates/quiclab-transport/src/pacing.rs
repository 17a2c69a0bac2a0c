//! Pacing: the departure time of the next packet.

mod bucket;
mod build;
mod config;
mod departure;
mod even;
mod fq;
mod fq_flow;
mod leaky_bucket;
mod linux;
mod none;
mod quantum;
mod rate;
#[cfg(test)]
pub(crate) mod testing;
mod time_bucket;
mod timer;

pub use build::{build, build_for_bursts};
pub use config::Pacing;
pub(crate) use departure::rate as linux_rate;
pub use even::Even;
pub use fq::Fq;
pub use fq_flow::FqFlow;
pub use leaky_bucket::LeakyBucket;
pub use linux::Linux;
pub use none::Unpaced;
pub use quantum::Quantum;
pub(crate) use rate::in_each;
pub use time_bucket::TimeBucket;
pub use timer::Timer;

use quiclab_core::{DataRate, Duration, Time};

/// Inputs from which a pacer derives its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacingInput {
    /// Congestion window in bytes.
    pub window: u64,
    /// Outstanding bytes, for senders whose rate follows them if the window is smaller; 0 for others.
    pub outstanding: u64,
    /// Smoothed RTT; `None` before the first sample: packets are not paced.
    pub srtt: Option<Duration>,
    /// Slow-start threshold in bytes; `None`: unlimited.
    pub ssthresh: Option<u64>,
    /// Rate that the congestion control requests; `None`: derived from the window.
    pub rate: Option<DataRate>,
    /// Bytes that the congestion control requests in one release.
    pub quantum: Option<u64>,
    /// Size of a full packet in bytes.
    pub mss: u64,
}

impl PacingInput {
    /// Bytes sent in a round trip.
    pub(crate) fn carried(&self) -> u64 {
        self.window.max(self.outstanding)
    }
}

/// Pacer. The sender queries it before each packet and reports each packet sent.
pub trait Pacer: Send {
    /// Handles a change of the window, the RTT or the controller's rate.
    fn update(&mut self, now: Time, input: &PacingInput);

    /// Time at which a packet of `bytes` may be sent; at once if not after `now`.
    fn release(&self, now: Time, bytes: u64) -> Time;

    /// Handles a packet of `bytes` that was sent.
    fn on_sent(&mut self, now: Time, bytes: u64);

    /// Current rate; `None` if packets are not paced.
    fn rate(&self) -> Option<DataRate>;

    /// Whether a sender with segmentation offload may hand over a burst as one packet.
    fn paces_bursts(&self) -> bool {
        false
    }

    /// Earliest departure of the next packet, which may be in the past (`tcp_wstamp_ns`); `None`: only
    /// [`Pacer::release`] returns it.
    fn next_departure(&self) -> Option<Time> {
        None
    }
}
