//! Networks in separate files: links with the source of each value, which scenarios name.
//!
//! A scenario with `network = "paths/wifi-bad"` uses the links of that file, usually `down` and `up`, which
//! routes name like other links. It is expanded before the rest is read: fields of links that the scenario
//! also gives override those of the file, `--set` changes the result, and the resolved scenario has the links
//! in place of `network`.

use super::Scenario;
use super::validate::check_link;
use quiclab_config::{ConfigError, Document, Schema};
use quiclab_core::link::LinkConfig;
use quiclab_core::{FieldPath, Problem, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Network>);

/// A network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Description, in a sentence or two.
    #[schemars(transform = limits::not_empty())]
    pub description: String,
    /// Sources of the values, by link and field, such as `"down.rate"`, or by field for all links.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
    /// Links by name.
    #[schemars(transform = limits::not_empty())]
    pub links: BTreeMap<String, LinkConfig>,
}

/// Text of a network file, and its name in errors.
#[derive(Clone, Debug)]
pub struct NetworkText {
    /// The text.
    pub text: String,
    /// The name.
    pub file: String,
}

/// Reads the network that a scenario names; its problems are those of the field `network`.
pub type NetworkReader<'a> = &'a dyn Fn(&str) -> Result<NetworkText, Problem>;

impl Network {
    /// Reads a network from TOML.
    ///
    /// # Errors
    /// The first error.
    pub fn from_toml(source: &NetworkText) -> Result<Self, ConfigError> {
        let document = Document::from_toml(&source.text, &source.file, &[])?;
        let network: Self = document.decode(&SCHEMA)?;
        for (name, link) in &network.links {
            check_link(&FieldPath::new(["links", name]), link).map_err(|problem| document.locate(problem))?;
        }
        Ok(network)
    }
}

impl Scenario {
    /// The document of a scenario with the links of its network, and with `sets` applied.
    ///
    /// # Errors
    /// If a set cannot be applied, or the network does not exist or is not valid.
    pub fn expanded(
        document: Document,
        sets: &[(String, String)],
        read: NetworkReader<'_>,
    ) -> Result<Document, ConfigError> {
        const FIELD: &str = "network";
        let (networks, others): (Vec<_>, Vec<_>) =
            sets.iter().cloned().partition(|(path, _)| path.trim() == FIELD);
        let mut document = document.with(&networks)?;
        let field = FieldPath::from(FIELD);
        // a value of another type is rejected with the other fields
        if let Some(name) = document.text(&field) {
            let source = read(name).map_err(|problem| document.locate(problem))?;
            let links = serde_json::to_value(Network::from_toml(&source)?.links);
            let links = links.expect("links have names and no other keys");
            document.remove(&field);
            document.fill(&"links".into(), &links, LINK_FIELDS);
        }
        document.with(&others)
    }
}

/// Depth below `links` at which fields are merged whole: name of the link, then field.
const LINK_FIELDS: usize = 2;
