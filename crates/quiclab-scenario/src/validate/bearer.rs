//! Bearers, and the links that report to them.

use super::super::Scenario;
use super::{Check, about, ensure, field, quoted, undefined};
use quiclab_core::bearer::{BearerConfig, BearerMode, ReorderingTimer, Splitter, TimerRule};
use quiclab_core::problem::name_of;
use quiclab_core::{FieldPath, Probability, Problem};
use std::collections::BTreeSet;

/// Reason why a choice among links is inconsistent with `mode = "duplicate"`.
const DUPLICATES: &str = "with `mode = \"duplicate\"` each link carries every packet";

pub(super) fn check(path: &FieldPath, bearer: &BearerConfig, scenario: &Scenario) -> Check {
    let mut seen = BTreeSet::new();
    for (index, link) in bearer.links.iter().enumerate() {
        let path = path.child("links").child(index);
        if !scenario.links.contains_key(link) {
            return Err(undefined(path, "link", link, scenario.links.keys()));
        }
        ensure(seen.insert(link), || Problem::conflict(path, quoted(link), "each link at most once"))?;
    }
    check_shares(&path.child("shares"), bearer)?;
    check_splitter(&path.child("splitter"), bearer, scenario)?;
    check_duplication(&path.child("duplication"), bearer)?;
    if let ReorderingTimer::Rule(TimerRule::Adaptive { least, most, .. }) = bearer.reordering.timer {
        ensure(least <= most, || {
            let path = path.child("reordering").child("timer").child("least");
            Problem::conflict(path, quoted(least), format!("at most `most`, \"{most}\""))
        })?;
    }
    Ok(())
}

fn check_shares(path: &FieldPath, bearer: &BearerConfig) -> Check {
    let conflict =
        |expected: String| Problem::conflict(path.clone(), format!("{:?}", bearer.shares), expected);
    if bearer.shares.is_empty() {
        return Ok(());
    }
    ensure(bearer.mode == BearerMode::Split, || conflict("no shares".to_owned()).because(DUPLICATES))?;
    ensure(bearer.splitter == Splitter::Batches, || {
        let kind = name_of(&bearer.splitter);
        conflict("no shares".to_owned()).because(format!("the splitter `{kind}` determines them itself"))
    })?;
    let links = bearer.links.len();
    ensure(bearer.shares.len() == links, || conflict(format!("one share for each of the {links} links")))?;
    ensure(bearer.shares.iter().any(|share| *share > 0), || {
        conflict("a share above 0 for at least one link".to_owned())
    })
}

fn check_splitter(path: &FieldPath, bearer: &BearerConfig, scenario: &Scenario) -> Check {
    let splitter = &bearer.splitter;
    let (kind, name) = (path.child("kind"), quoted(name_of(splitter)));
    ensure(bearer.mode == BearerMode::Split || *splitter == Splitter::Batches, || {
        Problem::conflict(kind.clone(), &name, "\"batches\"").because(DUPLICATES)
    })?;
    if splitter.needs_feedback()
        && let Some(link) = bearer.links.iter().find(|link| scenario.links[*link].feedback.is_none())
    {
        return Err(Problem::conflict(kind, name, "\"batches\"").because(format!(
            "this splitter needs feedback from every link, and `links.{link}.feedback` is not set"
        )));
    }
    let Splitter::Proportional { floor, .. } = *splitter else { return Ok(()) };
    let max = 1.0 / bearer.links.len() as f64;
    ensure(floor.value() <= max, || {
        let expected = format!("at most {max} with {} links", bearer.links.len());
        Problem::conflict(path.child("floor"), floor, expected)
    })
}

fn check_duplication(path: &FieldPath, bearer: &BearerConfig) -> Check {
    let reason = match bearer.splitter {
        _ if bearer.duplication == Probability::ZERO => return Ok(()),
        _ if bearer.mode == BearerMode::Duplicate => DUPLICATES,
        Splitter::FlowControl { .. } => "with flow control a duplicate would wait for the slowest link",
        _ => return Ok(()),
    };
    Err(Problem::conflict(path.clone(), bearer.duplication, "0").because(reason))
}

/// Checks that a link reports to one bearer only.
pub(super) fn check_feedback(scenario: &Scenario) -> Check {
    for (name, _) in scenario.links.iter().filter(|(_, link)| link.feedback.is_some()) {
        let bearers = scenario.bearers.values().filter(|bearer| bearer.links.contains(name)).count();
        ensure(bearers == 1, || {
            let reason =
                format!("{} bearers send over the link", if bearers == 0 { "no" } else { "several" });
            about(field(["links", name, "feedback"]), reason, "a link of exactly one bearer")
        })?;
    }
    Ok(())
}
