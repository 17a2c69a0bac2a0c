//! The scenario with all defaults filled in, as values, as TOML and as a JSON schema.

use super::{Flow, Scenario, built_in_plugins};
use quiclab_core::bearer::BearerConfig;
use toml_edit::{DocumentMut, Item, Table};

impl Scenario {
    /// The same scenario with all values explicit, and each once: equal shares of bearers that split by them;
    /// the stack of a flow on the flow if it is that of both ends, otherwise at the ends; built-in plugins
    /// that a flow names.
    #[must_use]
    pub fn resolved(&self) -> Self {
        let mut scenario = self.clone();
        scenario.flows.values_mut().for_each(Flow::settle_stacks);
        scenario.bearers.values_mut().for_each(BearerConfig::fill_shares);
        for name in scenario.flows.values().flat_map(|flow| &flow.plugins) {
            if let (None, Some(plugin)) = (scenario.plugins.get(name), built_in_plugins().get(name)) {
                scenario.plugins.insert(name.clone(), plugin.clone());
            }
        }
        scenario
    }

    /// The resolved scenario as TOML, defaults included; it loads back to an equal value. Fields without a
    /// value (no loss, no limit, the default of a stack) are omitted.
    ///
    /// # Errors
    /// If a value has no TOML form, which [`Scenario::validate`] rejects: an integer beyond 63 bits, a path
    /// that is not Unicode.
    pub fn to_toml(&self) -> Result<String, toml_edit::ser::Error> {
        let mut document = toml_edit::ser::to_document(&self.resolved())?;
        for group in ["links", "bearers", "tunnels", "hosts", "taps", "plugins", "flows"] {
            spread(&mut document, group);
        }
        section(document.as_table_mut(), "record");
        if let Some(wires) = document.get_mut("wires")
            && let Ok(tables) = std::mem::take(wires).into_array_of_tables()
        {
            *wires = Item::ArrayOfTables(tables);
        }
        Ok(document.to_string())
    }

    /// A commented scenario as a starting point.
    #[must_use]
    pub const fn template() -> &'static str {
        include_str!("template.toml")
    }

    /// The JSON schema of scenario files (draft 2020-12).
    #[must_use]
    pub fn schema() -> serde_json::Value {
        quiclab_config::annotated::<Self>()
    }
}

impl Flow {
    /// Writes the stack once if both ends have the same, so that one change changes both.
    fn settle_stacks(&mut self) {
        let [sender, receiver] = [&self.sender, &self.receiver].map(|end| self.inherited(end).stack);
        if sender == receiver {
            (self.stack, self.sender.stack, self.receiver.stack) = (sender, None, None);
        } else {
            (self.stack, self.sender.stack, self.receiver.stack) = (None, sender, receiver);
        }
    }
}

/// Gives each member of a group a separate section, and each end of a flow as well.
fn spread(document: &mut DocumentMut, group: &str) {
    let Some(members) = section(document.as_table_mut(), group) else { return };
    members.set_implicit(!members.is_empty());
    let names: Vec<_> = members.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        let Some(member) = section(members, &name) else { continue };
        for end in ["sender", "receiver", "server", "client"] {
            section(member, end);
        }
    }
}

/// Turns an inline table into a section.
fn section<'a>(parent: &'a mut Table, key: &str) -> Option<&'a mut Table> {
    let item = parent.get_mut(key)?;
    let table = std::mem::take(item).into_table();
    *item = match table {
        Ok(table) => Item::Table(table),
        Err(other) => other,
    };
    item.as_table_mut()
}
