//! Pacing: when the next packet may leave.

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

/// What a pacer derives its rate from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacingInput {
    /// Congestion window in bytes.
    pub window: u64,
    /// Bytes that are outstanding, for senders whose rate follows them where the window is smaller; 0 for others.
    pub outstanding: u64,
    /// Smoothed RTT; `None` before the first sample: packets are not paced.
    pub srtt: Option<Duration>,
    /// Slow-start threshold in bytes; `None`: unlimited.
    pub ssthresh: Option<u64>,
    /// Rate that the congestion control asks for; `None`: derived from the window.
    pub rate: Option<DataRate>,
    /// Bytes that the congestion control wants in one release.
    pub quantum: Option<u64>,
    /// Size of a full packet in bytes.
    pub mss: u64,
}

impl PacingInput {
    /// Bytes that a round trip carries.
    pub(crate) fn carried(&self) -> u64 {
        self.window.max(self.outstanding)
    }
}

/// A pacer. The sender asks before each packet and tells after it.
pub trait Pacer: Send {
    /// Window, RTT or the controller's rate have changed.
    fn update(&mut self, now: Time, input: &PacingInput);

    /// When a packet of `bytes` may leave; not after `now`: at once.
    fn release(&self, now: Time, bytes: u64) -> Time;

    /// A packet of `bytes` left.
    fn on_sent(&mut self, now: Time, bytes: u64);

    /// Present rate; `None` if packets are not paced.
    fn rate(&self) -> Option<DataRate>;

    /// Whether a sender with segmentation offload may hand over a burst as one packet.
    fn paces_bursts(&self) -> bool {
        false
    }

    /// The earliest departure of the next packet, which may be over (`tcp_wstamp_ns`); `None`: only
    /// [`Pacer::release`] tells.
    fn next_departure(&self) -> Option<Time> {
        None
    }
}
