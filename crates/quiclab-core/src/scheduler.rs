//! Path schedulers: which of several paths the next packet takes.
//!
//! A scheduler sees what the sender knows of each path and names one; it sends nothing, and knows neither
//! packets nor clocks. QUIC with several paths asks one before each packet that needs the window, a tunnel
//! before each packet it takes from its queue.
//!
//! | scheduler | the path that is taken | reference |
//! | --- | --- | --- |
//! | [`RoundRobin`] | each in turn that has room | Paasch et al., "Experimental Evaluation of Multipath TCP Schedulers", CSWS 2014, section 3 |
//! | [`StrictRoundRobin`] | each in turn, and waits for its room | the same, without passing over |
//! | [`WeightedRoundRobin`] | each in turn, in given shares of bytes, that has room | Goyal et al., "Start-time Fair Queueing", SIGCOMM 1996 |
//! | [`LowestRtt`] | the one with the lowest smoothed RTT that has room; in turn among equals | Paasch et al., and the rule for equals |
//! | [`LowestRtt::penalising`] | the same, but a path that blocks is used half as much | Raiciu et al., "How Hard Can It Be?", NSDI 2012, section 4.2 |
//! | [`CheapestFirst`] | the cheapest that has room | Amend et al., "A Framework for Multiaccess Support for Unreliable Internet Traffic using Multipath DCCP", LCN 2019 |
//! | [`Redundant`] | all that have room | Frömmgen et al., "ReMP TCP: Low Latency Multipath TCP", ICC 2016 |
//! | [`Blest`] | that with the lowest RTT, or a slower one if it cannot block | Ferlin et al., "BLEST", IFIP Networking 2016 |
//! | [`Ecf`] | that with the lowest RTT, or a slower one if that ends sooner | Lim et al., "ECF", CoNEXT 2017 |
//! | [`EarliestArrival`] | that on which the packet is expected to arrive first | quiclab's |
//!
//! Round robin, weighted or not, lowest RTT without penalties, cheapest first and redundant conserve work: a
//! path with room is taken whenever there is one. So they differ only while the windows of all paths together
//! hold more than there is to send. The others can wait for a path without room, but only for one with
//! packets in flight ([`PathState::frees_room`]): what becomes of those ends the wait.

mod blest;
mod cheapest_first;
mod config;
mod earliest_arrival;
mod ecf;
mod lowest_rtt;
mod penalty;
mod redundant;
mod round_robin;
mod state;
mod strict_round_robin;
#[cfg(test)]
mod tests;
mod weighted_round_robin;

pub use blest::Blest;
pub use cheapest_first::CheapestFirst;
pub use config::PathSchedulerKind;
pub use earliest_arrival::EarliestArrival;
pub use ecf::Ecf;
pub use lowest_rtt::LowestRtt;
pub use redundant::Redundant;
pub use round_robin::RoundRobin;
pub use state::PathState;
pub use strict_round_robin::StrictRoundRobin;
pub use weighted_round_robin::WeightedRoundRobin;

use crate::time::{Duration, Time};
use crate::units::ByteCount;

/// Decides which path the next packet takes.
pub trait PathScheduler: Send {
    /// The path that the next packet takes, by its position in `paths`: an open one
    /// ([`PathState::is_open`]). `None`: none is open, or it is better to wait for one that has no room; then
    /// ask again when a packet in flight is acknowledged or lost. `backlog` are the bytes that wait for any
    /// path, the next packet included.
    ///
    /// Asking uses up no turn: there may be nothing to send. Asked twice at one time, of the same paths, it
    /// answers the same.
    fn select(&self, now: Time, backlog: ByteCount, paths: &[PathState]) -> Option<usize>;

    /// A packet of `bytes` that was scheduled has left on `path`.
    fn on_sent(&mut self, now: Time, path: usize, bytes: ByteCount);

    /// Whether the packet goes on every open path, not only on that selected.
    fn copies(&self) -> bool {
        false
    }
}

/// The scheduler that a scenario names.
#[must_use]
pub fn build(kind: &PathSchedulerKind) -> Box<dyn PathScheduler> {
    match kind {
        PathSchedulerKind::RoundRobin => Box::new(RoundRobin::default()),
        PathSchedulerKind::StrictRoundRobin => Box::new(StrictRoundRobin::default()),
        PathSchedulerKind::WeightedRoundRobin { weights } => Box::new(WeightedRoundRobin::new(weights)),
        PathSchedulerKind::LowestRtt { penalise_above: None } => Box::new(LowestRtt::default()),
        PathSchedulerKind::LowestRtt { penalise_above: Some(above) } => {
            Box::new(LowestRtt::penalising(*above))
        }
        PathSchedulerKind::CheapestFirst { order } => Box::new(CheapestFirst::new(order)),
        PathSchedulerKind::Redundant => Box::new(Redundant),
        PathSchedulerKind::Blest { scaling, send_window } => Box::new(Blest::new(*scaling, *send_window)),
        PathSchedulerKind::Ecf { hysteresis } => Box::new(Ecf::new(*hysteresis)),
        PathSchedulerKind::EarliestArrival { hysteresis, patience } => {
            Box::new(EarliestArrival::new(*hysteresis, *patience))
        }
    }
}

/// The first path after `previous`, in a circle, that `may` be taken.
fn next_in_turn(previous: Option<usize>, count: usize, may: impl Fn(usize) -> bool) -> Option<usize> {
    let first = previous.map_or(0, |previous| previous + 1);
    (0..count).map(|step| (first + step) % count).find(|path| may(*path))
}

/// The path with the lowest smoothed RTT, the first of equals, among those that `may` be taken.
fn fastest(paths: &[PathState], may: impl Fn(&PathState) -> bool) -> Option<usize> {
    (0..paths.len()).filter(|path| may(&paths[*path])).min_by_key(|path| paths[*path].srtt)
}

/// The longest RTT that counts as equal to `lowest`: 9/8 of it, the margin within which RFC 9002 section 6.1.2
/// takes a difference of times for reordering, not for another delay.
fn longest_equal(lowest: Duration) -> Duration {
    lowest + lowest / 8
}
