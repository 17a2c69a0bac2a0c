//! Scenarios from the text of the host, read as the command reads them.

use quiclab_config::{ConfigError, Document};
use quiclab_core::Problem;
use quiclab_scenario::{NetworkText, Scenario};
use quiclab_sim::check_files;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A scenario as text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioText {
    text: String,
    format: Format,
    /// Files of networks by the name that scenarios use, such as `paths/wifi-bad`.
    #[serde(default)]
    networks: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    Toml,
    Json,
}

impl ScenarioText {
    /// The scenario, valid and with every default, as `quiclab run` reads it.
    pub(crate) fn scenario(&self) -> Result<Scenario, ConfigError> {
        let document = match self.format {
            Format::Toml => Document::from_toml(&self.text, "scenario.toml", &[])?,
            Format::Json => Document::from_json(&self.text, None, &[])?,
        };
        let read = |name: &str| {
            let known = || Problem::unknown("network", name, self.networks.keys());
            let text = self.networks.get(name).ok_or_else(known)?.clone();
            Ok(NetworkText { text, file: name.to_owned() })
        };
        let document = Scenario::expanded(document, &[], &read)?;
        let scenario = Scenario::load(&document, &quiclab_sim::validate)?;
        check_files(&scenario, Path::new("")).map_err(|problem| document.locate(problem))?;
        Ok(scenario.resolved())
    }
}
