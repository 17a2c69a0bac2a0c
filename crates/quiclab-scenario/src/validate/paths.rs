//! Changes of paths by the client of a flow over time.

use super::super::flow::Flow;
use super::{Check, ensure, quoted};
use quiclab_core::{Duration, FieldPath, Problem};
use quiclab_transport::options::{Multipath, PathAction, PathChange, PathStatus};

/// Number of paths of a flow in addition to the first, in words.
pub(super) fn further(flow: &Flow) -> String {
    format!("[{} paths]", flow.paths.len())
}

/// Checks the paths of `flow` with the `multipath` of its sender and its receiver.
pub(super) fn check(path: &FieldPath, flow: &Flow, [sender, receiver]: [Option<Multipath>; 2]) -> Check {
    let Some(own) = sender.and(receiver) else {
        let (end, other) = if sender.is_some() { ("receiver", "sender") } else { ("sender", "receiver") };
        ensure(sender.is_none() && receiver.is_none(), || {
            let path = path.child(end).child("multipath");
            Problem::conflict(path, "none", "options, as at the other end")
                .because(format!("the {other} has `multipath`, which needs both ends"))
        })?;
        return check_without(path, flow);
    };
    let needed = flow.paths.len() as u32;
    ensure(own.initial_max_path_id >= needed, || {
        let path = path.child("receiver").child("multipath").child("initial_max_path_id");
        Problem::conflict(path, own.initial_max_path_id, format!("at least {needed}"))
            .because(format!("the client opens {}", further(flow)))
    })?;
    for (index, pair) in flow.paths.windows(2).enumerate() {
        ensure(pair[1].start >= pair[0].start, || {
            let path = path.child("paths").child(index + 1).child("start");
            Problem::conflict(path, quoted(pair[1].start), format!("at least \"{}\"", pair[0].start))
                .because("path IDs are used in the order of the list")
        })?;
    }
    check_changes(path, flow, &[])
}

/// Checks a flow without path management: further paths exist after the handshake, and stay.
fn check_without(path: &FieldPath, flow: &Flow) -> Check {
    let reason = "both ends need `multipath`";
    for (index, further) in flow.paths.iter().enumerate() {
        let path = path.child("paths").child(index);
        ensure(further.status == PathStatus::Available, || {
            Problem::conflict(path.child("status"), "\"backup\"", "\"available\"").because(reason)
        })?;
        ensure(further.start == Duration::ZERO, || {
            Problem::conflict(path.child("start"), quoted(further.start), "\"0 s\"").because(reason)
        })?;
    }
    ensure(flow.path_changes.is_empty(), || {
        let changes = format!("[{} changes]", flow.path_changes.len());
        Problem::conflict(path.child("path_changes"), changes, "no changes").because(reason)
    })?;
    ensure(!flow.abandon_when_down, || {
        Problem::conflict(path.child("abandon_when_down"), "true", "false").because(reason)
    })
}

impl Flow {
    /// Checks `path_changes` together with the changes that a client makes because links go down
    /// (`abandon_when_down`); `path` is that of the flow.
    ///
    /// # Errors
    /// If a change concerns a path that is already abandoned, or no path remains.
    pub fn check_reported(&self, path: &FieldPath, reported: &[PathChange]) -> Result<(), Problem> {
        check_changes(path, self, reported)
    }
}

/// Checks that changes concern existing paths that are not abandoned, and leave a path at every time.
fn check_changes(path: &FieldPath, flow: &Flow, reported: &[PathChange]) -> Check {
    let last = flow.paths.len();
    let opens = |number: usize| match number {
        0 => flow.start,
        further => flow.paths[further - 1].start.max(flow.start),
    };
    let changes = || flow.path_changes.iter().chain(reported);
    let abandoned = |number: usize, until: Duration, except: Option<usize>| {
        let is_it = |(index, change): &(usize, &PathChange)| {
            let is_due = usize::from(change.path) == number && change.at <= until;
            is_due && change.action == PathAction::Abandon && Some(*index) != except
        };
        changes().enumerate().filter(is_it).map(|(_, change)| change.at).min()
    };
    for (index, change) in changes().enumerate() {
        let refused = |field: &str, got: String, allowed: String| {
            if index < flow.path_changes.len() {
                let path = path.child("path_changes").child(index).child(field);
                return Problem::conflict(path, got, allowed);
            }
            Problem::conflict(path.child("abandon_when_down"), "true", "false")
        };
        let number = usize::from(change.path);
        ensure(number <= last, || refused("path", number.to_string(), format!("a path from 0 to {last}")))?;
        ensure(change.at >= opens(number), || {
            let opens = opens(number);
            refused("at", quoted(change.at), format!("at least \"{opens}\""))
                .because(format!("path {number} is opened then"))
        })?;
        if let Some(earlier) = abandoned(number, change.at, Some(index)) {
            return Err(refused("path", number.to_string(), "a path that is in use".to_owned())
                .because(format!("path {number} is abandoned at \"{earlier}\"")));
        }
        let is_left = |other: usize| opens(other) <= change.at && abandoned(other, change.at, None).is_none();
        let leaves = change.action != PathAction::Abandon || (0..=last).any(is_left);
        ensure(leaves, || {
            refused("action", "\"abandon\"".to_owned(), "another action".to_owned())
                .because(format!("no path is left at \"{}\"", change.at))
        })?;
    }
    Ok(())
}
