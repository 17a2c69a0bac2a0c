//! Path schedulers: their parameters, and how many paths they speak of.

use super::super::error::{FieldPath, ScenarioError};
use super::{Check, ensure, positive_size, quoted};
use quiclab_core::Duration;
use quiclab_core::scheduler::PathSchedulerKind;

/// Far beyond what switches a slower path off.
const LARGEST_SCALING: f64 = 100.0;
/// A backlog that waits longer is dropped by everything that bounds delay.
const LONGEST_PATIENCE: Duration = Duration::from_secs(1);

/// The parameters, whatever the number of paths.
pub(super) fn check(path: &FieldPath, kind: &PathSchedulerKind) -> Check {
    match kind {
        PathSchedulerKind::RoundRobin
        | PathSchedulerKind::StrictRoundRobin
        | PathSchedulerKind::Redundant
        | PathSchedulerKind::LowestRtt { penalise_above: None } => Ok(()),
        PathSchedulerKind::WeightedRoundRobin { weights } => {
            ensure(!weights.is_empty() && weights.iter().all(|weight| *weight > 0), || {
                let allowed = "a weight of 1 or more for each path";
                ScenarioError::refused(path.child("weights"), format!("{weights:?}"), allowed)
            })
        }
        PathSchedulerKind::LowestRtt { penalise_above: Some(above) } => {
            positive_size(&path.child("penalise_above"), *above)
        }
        PathSchedulerKind::CheapestFirst { order } => {
            let repeats = (1..order.len()).any(|index| order[..index].contains(&order[index]));
            ensure(!repeats, || {
                ScenarioError::refused(path.child("order"), format!("{order:?}"), "each path once")
            })
        }
        PathSchedulerKind::Blest { scaling, send_window } => {
            ensure(*scaling > 0.0 && *scaling <= LARGEST_SCALING, || {
                let allowed = format!("above 0, at most {LARGEST_SCALING}");
                ScenarioError::refused(path.child("scaling"), format!("{scaling:?}"), allowed)
            })?;
            send_window.map_or(Ok(()), |window| positive_size(&path.child("send_window"), window))
        }
        PathSchedulerKind::Ecf { hysteresis } => part(&path.child("hysteresis"), *hysteresis),
        PathSchedulerKind::EarliestArrival { hysteresis, patience } => {
            part(&path.child("hysteresis"), *hysteresis)?;
            ensure(*patience <= LONGEST_PATIENCE, || {
                let allowed = format!("at most `{LONGEST_PATIENCE}`");
                ScenarioError::refused(path.child("patience"), quoted(*patience), allowed)
            })
        }
    }
}

/// A scheduler that speaks of paths speaks of those that there are.
pub(super) fn check_paths(path: &FieldPath, kind: &PathSchedulerKind, paths: usize) -> Check {
    match kind {
        PathSchedulerKind::WeightedRoundRobin { weights } => ensure(weights.len() == paths, || {
            let allowed = format!("one weight for each path, {paths} in all");
            ScenarioError::refused(path.child("weights"), format!("{weights:?}"), allowed)
        }),
        PathSchedulerKind::CheapestFirst { order } => {
            ensure(order.iter().all(|number| (*number as usize) < paths), || {
                let allowed = format!("numbers of paths from 0 to {}", paths - 1);
                ScenarioError::refused(path.child("order"), format!("{order:?}"), allowed)
            })
        }
        _ => Ok(()),
    }
}

fn part(path: &FieldPath, value: f64) -> Check {
    ensure((0.0..=1.0).contains(&value), || {
        ScenarioError::refused(path.clone(), format!("{value:?}"), "0 to 1")
    })
}
