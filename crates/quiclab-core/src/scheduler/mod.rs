//! Path schedulers: which of several paths the next packet takes.
//!
//! A scheduler sees what the sender knows of each path and names one; it sends nothing, and knows neither
//! packets nor clocks. QUIC with several paths asks one before each packet that needs the window.
//!
//! | scheduler | the path that is taken | reference |
//! | --- | --- | --- |
//! | [`RoundRobin`] | each in turn that has room | Paasch et al., "Experimental Evaluation of Multipath TCP Schedulers", CSWS 2014, section 3 |
//! | [`LowestRtt`] | the one with the lowest smoothed RTT that has room; in turn among equals | the same, and the rule for equals |
//!
//! Both conserve work: a path with room is taken whenever there is one. So they differ only while the windows
//! of all paths together hold more than there is to send.

mod lowest_rtt;
mod round_robin;
#[cfg(test)]
mod tests;

pub use lowest_rtt::LowestRtt;
pub use round_robin::RoundRobin;

use crate::time::{Duration, Time};

/// What a sender knows of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathState {
    /// It is validated and not suspected to be dead: it may carry data.
    pub usable: bool,
    /// Window and pacer let the next packet leave now.
    pub has_room: bool,
    /// Smoothed RTT; the assumed one before there is a sample.
    pub srtt: Duration,
    /// Congestion window in bytes.
    pub window: u64,
    /// Bytes sent that are neither acknowledged nor lost.
    pub in_flight: u64,
}

impl PathState {
    /// The next packet may take it.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.usable && self.has_room
    }
}

/// Decides which path the next packet takes.
pub trait PathScheduler: Send {
    /// The path that the next packet takes, by its position in `paths`; an open one
    /// ([`PathState::is_open`]), or `None` if none is. Asking changes nothing: there may be nothing to send.
    fn select(&self, now: Time, paths: &[PathState]) -> Option<usize>;

    /// A packet of `bytes` that was scheduled has left on `path`.
    fn on_sent(&mut self, now: Time, path: usize, bytes: u64);
}

/// The first path after `previous`, in a circle, that `may` be taken.
fn next_in_turn(previous: Option<usize>, count: usize, may: impl Fn(usize) -> bool) -> Option<usize> {
    let first = previous.map_or(0, |previous| previous + 1);
    (0..count).map(|step| (first + step) % count).find(|path| may(*path))
}
