//! Path schedulers: choice of the path of the next packet.
//!
//! A scheduler reads the sender's state of each path and selects one; it sends nothing, and knows neither packets nor
//! clocks. QUIC with several paths calls it before each packet that is subject to the window, a tunnel before each
//! packet that it dequeues.
//!
//! | scheduler | selected path | reference |
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
//! Round robin, weighted or not, lowest RTT without penalties, cheapest first and redundant are work-conserving: a path
//! with room is used whenever there is one. Thus they differ only while the sum of all windows exceeds the backlog. The
//! others can wait for a path without room, but only for one with packets in flight ([`PathState::frees_room`]): their
//! acknowledgement or loss ends the wait.

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

/// Algorithm that selects the path of the next packet.
pub trait PathScheduler: Send {
    /// The path of the next packet, by its position in `paths`: an open one ([`PathState::is_open`]). `None` if none is
    /// open, or if it is better to wait for one that has no room; the caller then tries again when a packet in flight
    /// is acknowledged or lost. `backlog` is the number of bytes that wait for any path, the next packet included.
    ///
    /// A call uses up no turn: there may be nothing to send. Two calls at one time, with the same paths, have the same
    /// result.
    fn select(&self, now: Time, backlog: ByteCount, paths: &[PathState]) -> Option<usize>;

    /// Records that a scheduled packet of `bytes` has left on `path`.
    fn on_sent(&mut self, now: Time, path: usize, bytes: ByteCount);

    /// Whether the packet is sent on every open path, not only on the selected one.
    fn copies(&self) -> bool {
        false
    }
}

/// Creates the scheduler that a scenario names.
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

/// The first path after `previous`, in circular order, for which `may` holds.
fn next_in_turn(previous: Option<usize>, count: usize, may: impl Fn(usize) -> bool) -> Option<usize> {
    let first = previous.map_or(0, |previous| previous + 1);
    (0..count).map(|step| (first + step) % count).find(|path| may(*path))
}

/// The path with the lowest smoothed RTT, the first of equal ones, among those for which `may` holds.
fn fastest(paths: &[PathState], may: impl Fn(&PathState) -> bool) -> Option<usize> {
    (0..paths.len()).filter(|path| may(&paths[*path])).min_by_key(|path| paths[*path].srtt)
}

/// Maximum RTT that counts as equal to `lowest`: 9/8 of it, the margin within which RFC 9002 section 6.1.2 attributes a
/// difference of times to reordering, not to another delay.
fn longest_equal(lowest: Duration) -> Duration {
    lowest + lowest / 8
}
