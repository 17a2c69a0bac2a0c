//! Bearers, and the links that report to them.

use super::super::Scenario;
use super::super::error::{FieldPath, ScenarioError, alternatives};
use super::{Check, ensure, field, positive_rate, positive_size, positive_time, quoted};
use quiclab_core::Duration;
use quiclab_core::Probability;
use quiclab_core::bearer::MAX_LINKS;
use quiclab_core::bearer::{BearerConfig, BearerMode, ReorderingTimer, Splitter, TimerRule};
use std::collections::BTreeSet;

/// Most packets of a batch, and most links of a bearer: both are counted in 16 bits.
const LARGEST_COUNT: usize = u16::MAX as usize;

pub(super) fn check(path: &FieldPath, bearer: &BearerConfig, scenario: &Scenario) -> Check {
    let links = path.child("links");
    ensure((1..=MAX_LINKS).contains(&bearer.links.len()), || {
        let value = format!("{} links", bearer.links.len());
        ScenarioError::refused(links.clone(), value, format!("1 to {MAX_LINKS} links"))
    })?;
    let mut seen = BTreeSet::new();
    for (index, link) in bearer.links.iter().enumerate() {
        let path = links.child(index);
        ensure(scenario.links.contains_key(link), || {
            let known = alternatives(scenario.links.keys());
            ScenarioError::refused(path.clone(), quoted(link), known).because("no such link")
        })?;
        ensure(seen.insert(link), || {
            ScenarioError::refused(path.clone(), quoted(link), "each link once").because("named twice")
        })?;
    }
    ensure((1..=LARGEST_COUNT).contains(&(bearer.batch_packets as usize)), || {
        let allowed = format!("1 to {LARGEST_COUNT} packets");
        ScenarioError::refused(path.child("batch_packets"), bearer.batch_packets, allowed)
    })?;
    check_shares(&path.child("shares"), bearer)?;
    check_splitter(path, bearer, scenario)?;
    check_duplication(&path.child("duplication"), bearer)?;
    if let ReorderingTimer::Rule(rule) = bearer.reordering.timer {
        check_timer(&path.child("reordering").child("timer"), rule)?;
    }
    ensure([12, 16, 18].contains(&bearer.reordering.sequence_bits), || {
        let path = path.child("reordering").child("sequence_bits");
        ScenarioError::refused(path, bearer.reordering.sequence_bits, "12, 16 or 18")
    })
}

fn check_shares(path: &FieldPath, bearer: &BearerConfig) -> Check {
    let refused =
        |allowed: String| ScenarioError::refused(path.clone(), format!("{:?}", bearer.shares), allowed);
    if bearer.shares.is_empty() {
        return Ok(());
    }
    ensure(bearer.mode == BearerMode::Split, || {
        refused("no shares".to_owned()).because("with mode = \"duplicate\" each link takes every packet")
    })?;
    ensure(bearer.splitter == Splitter::Batches, || {
        let kind = bearer.splitter.name();
        refused("no shares".to_owned()).because(format!("the splitter `{kind}` finds them itself"))
    })?;
    let links = bearer.links.len();
    ensure(bearer.shares.len() == links, || refused(format!("one share for each link, {links} in all")))?;
    ensure(bearer.shares.iter().any(|share| *share > 0), || {
        refused("a share above 0 for one link or more".to_owned())
    })
}

/// Longest time over which a splitter or a timer looks back.
const LONGEST_MEMORY: Duration = Duration::from_secs(3600);

fn check_splitter(path: &FieldPath, bearer: &BearerConfig, scenario: &Scenario) -> Check {
    let splitter = bearer.splitter;
    let kind = path.child("splitter").child("kind");
    if splitter.needs_feedback() {
        let name = format!("\"{}\"", splitter.name());
        ensure(bearer.mode == BearerMode::Split, || {
            ScenarioError::refused(kind.clone(), &name, "`batches`")
                .because("with mode = \"duplicate\" each link takes every packet")
        })?;
        let silent = bearer.links.iter().find(|link| scenario.links[*link].feedback.is_none());
        if let Some(link) = silent {
            return Err(ScenarioError::refused(kind, name, format!("`batches`, or `links.{link}.feedback`"))
                .because(format!("it needs feedback of each link, and `{link}` gives none")));
        }
    }
    let path = path.child("splitter");
    match splitter {
        Splitter::Batches => Ok(()),
        Splitter::Proportional { start_rate, smoothing, floor } => {
            positive_rate(&path.child("start_rate"), start_rate)?;
            memory(&path.child("smoothing"), smoothing)?;
            let most = 1.0 / bearer.links.len() as f64;
            ensure(floor > Probability::ZERO && floor.value() <= most, || {
                let allowed = format!("above 0, and at most {most} with {} links", bearer.links.len());
                ScenarioError::refused(path.child("floor"), floor, allowed)
            })
        }
        Splitter::LeastExpectedArrival { start_rate, smoothing, probe_interval } => {
            positive_rate(&path.child("start_rate"), start_rate)?;
            memory(&path.child("smoothing"), smoothing)?;
            positive_time(&path.child("probe_interval"), probe_interval)
        }
        Splitter::FlowControl { queue_packets, start_buffer } => {
            ensure(queue_packets > 0, || {
                let allowed = format!("1 to {} packets", u32::MAX);
                ScenarioError::refused(path.child("queue_packets"), queue_packets, allowed)
            })?;
            positive_size(&path.child("start_buffer"), start_buffer)
        }
    }
}

fn check_duplication(path: &FieldPath, bearer: &BearerConfig) -> Check {
    if bearer.duplication == Probability::ZERO {
        return Ok(());
    }
    let refused = |why: &str| Err(ScenarioError::refused(path.clone(), bearer.duplication, "0").because(why));
    match bearer.splitter {
        _ if bearer.mode == BearerMode::Duplicate => {
            refused("with mode = \"duplicate\" each link takes every packet")
        }
        Splitter::FlowControl { .. } => {
            refused("a packet for all links would have to wait until the slowest of them wants it")
        }
        _ => Ok(()),
    }
}

fn check_timer(path: &FieldPath, rule: TimerRule) -> Check {
    let TimerRule::Adaptive { least, most, window, factor } = rule;
    ensure(least <= most, || {
        ScenarioError::refused(
            path.child("least"),
            quoted(least),
            format!("at most `{most}`, which is `most`"),
        )
    })?;
    memory(&path.child("most"), most)?;
    memory(&path.child("window"), window)?;
    ensure((1.0..=100.0).contains(&factor), || {
        ScenarioError::refused(path.child("factor"), factor, "1 to 100")
    })
}

/// A time above 0 over which something is remembered.
fn memory(path: &FieldPath, time: Duration) -> Check {
    positive_time(path, time)?;
    ensure(time <= LONGEST_MEMORY, || {
        ScenarioError::refused(path.clone(), quoted(time), format!("at most `{LONGEST_MEMORY}`"))
    })
}

/// A link reports to one bearer.
pub(super) fn check_feedback(scenario: &Scenario) -> Check {
    for (name, _) in scenario.links.iter().filter(|(_, link)| link.feedback.is_some()) {
        let over = |bearer: &&BearerConfig| bearer.links.contains(name);
        let path = || field(["links", name, "feedback"]);
        let allowed = "a link that is in one bearer";
        match scenario.bearers.values().filter(over).count() {
            1 => {}
            0 => return Err(ScenarioError::about(path(), "no bearer sends over the link", allowed)),
            _ => return Err(ScenarioError::about(path(), "several bearers send over the link", allowed)),
        }
    }
    Ok(())
}
