//! Expansion of flows with a `count`.

use super::Scenario;
use quiclab_core::problem::is_bare_key;
use quiclab_core::{FieldPath, Problem, ProblemKind};
use std::borrow::Cow;
use std::collections::BTreeMap;

impl Scenario {
    /// The same scenario with each flow that has a `count` as that number of flows, named after it with a
    /// number from 1 on.
    ///
    /// # Errors
    /// If another flow has such a name, or no flow remains.
    pub fn repeated(&self) -> Result<Cow<'_, Self>, Problem> {
        if self.flows.values().all(|flow| flow.count.is_none()) {
            return Ok(Cow::Borrowed(self));
        }
        let mut flows = BTreeMap::new();
        for (name, flow) in &self.flows {
            // an invalid name is rejected unchanged
            let names = match flow.count {
                Some(count) if is_bare_key(name) => {
                    (1..=count).map(|number| format!("{name}{number}")).collect()
                }
                _ => vec![name.clone()],
            };
            for single in names {
                let mut flow = flow.clone();
                flow.count = None;
                if flows.insert(single.clone(), flow).is_some() {
                    let path = FieldPath::new(["flows", name, "count"]);
                    let problem = Problem::new(ProblemKind::Conflict, path, "another name of one of them");
                    return Err(problem.because(format!("two flows have the name `{single}`")));
                }
            }
        }
        if flows.is_empty() {
            let problem =
                Problem::new(ProblemKind::Conflict, "flows", "a `count` above 0 of at least one flow");
            return Err(problem.because("no flow is left"));
        }
        Ok(Cow::Owned(Self { flows, ..self.clone() }))
    }

    /// The path in this scenario of a field of [`Self::repeated`].
    pub(super) fn path_before_repetition(&self, path: &FieldPath) -> FieldPath {
        let [flows, single, rest @ ..] = path.steps() else { return path.clone() };
        if flows != "flows" || self.flows.contains_key(single) {
            return path.clone();
        }
        let stem = |name: &&String| {
            let number = single.strip_prefix(name.as_str()).unwrap_or_default();
            self.flows[*name].count.is_some() && number.parse::<u32>().is_ok()
        };
        let name = self.flows.keys().find(stem).unwrap_or(single);
        FieldPath::new(["flows", name].into_iter().chain(rest.iter().map(String::as_str)))
    }
}
