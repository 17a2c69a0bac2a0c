//! Path schedulers: parameters that depend on each other or on the number of paths.

use super::{Check, ensure};
use quiclab_core::scheduler::PathSchedulerKind;
use quiclab_core::{FieldPath, Problem};

/// The parameters, whatever the number of paths.
pub(super) fn check(path: &FieldPath, kind: &PathSchedulerKind) -> Check {
    match kind {
        PathSchedulerKind::WeightedRoundRobin { weights } => ensure(!weights.contains(&0), || {
            Problem::conflict(path.child("weights"), format!("{weights:?}"), "weights of at least 1")
        }),
        PathSchedulerKind::CheapestFirst { order } => {
            let repeats = (1..order.len()).any(|index| order[..index].contains(&order[index]));
            ensure(!repeats, || {
                Problem::conflict(path.child("order"), format!("{order:?}"), "each path at most once")
            })
        }
        _ => Ok(()),
    }
}

/// A scheduler that names paths names those that exist.
pub(super) fn check_paths(path: &FieldPath, kind: &PathSchedulerKind, paths: usize) -> Check {
    match kind {
        PathSchedulerKind::WeightedRoundRobin { weights } => ensure(weights.len() == paths, || {
            let expected = format!("one weight for each of the {paths} paths");
            Problem::conflict(path.child("weights"), format!("{weights:?}"), expected)
        }),
        PathSchedulerKind::CheapestFirst { order } => {
            ensure(order.iter().all(|number| (*number as usize) < paths), || {
                let expected = format!("numbers of paths from 0 to {}", paths - 1);
                Problem::conflict(path.child("order"), format!("{order:?}"), expected)
            })
        }
        _ => Ok(()),
    }
}
