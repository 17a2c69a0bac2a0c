//! Construction of a typed scenario from text.

use super::{Scenario, VERSION};
use quiclab_config::{ConfigError, Document, Note, Schema};
use quiclab_core::{Problem, StackAbilities};
use quiclab_transport::EndOf;
use quiclab_transport::options::EndpointConfig;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Scenario>);

/// Checks the stack, the profile and the options of an endpoint, with the stack of the flow or tunnel filled in, and
/// returns the abilities of the stack. Paths of problems are those in [`EndpointConfig`].
pub type StackCheck<'a> = &'a dyn Fn(&EndpointConfig, EndOf) -> Result<StackAbilities, Problem>;

impl Scenario {
    /// Reads a scenario from TOML; `file` is its name in errors, `sets` are the `--set path=value` of the command line.
    /// Fields are checked one by one, not yet the further constraints of [`Scenario::validate`].
    ///
    /// # Errors
    /// The first error.
    pub fn from_toml(text: &str, file: &str, sets: &[(String, String)]) -> Result<Self, ConfigError> {
        Self::decode(&Document::from_toml(text, file, sets)?)
    }

    /// Reads a scenario from JSON, the form in which Python passes it. Null fields count as absent.
    ///
    /// # Errors
    /// The first error.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        Self::decode(&Document::from_json(text, None, &[])?)
    }

    /// Replaces former names in a document by the present ones, with a note for each. [`Self::decode`] reads them as
    /// well, without notes.
    pub fn replace_former_names(document: &mut Document) -> Vec<Note> {
        document.replace_former_names(&SCHEMA)
    }

    /// The scenario of a document; fields are checked one by one.
    ///
    /// # Errors
    /// The first error.
    pub fn decode(document: &Document) -> Result<Self, ConfigError> {
        document.check_version("version", VERSION)?;
        document.decode(&SCHEMA)
    }

    /// The validated scenario of a document.
    ///
    /// # Errors
    /// The first error.
    pub fn load(document: &Document, stacks: StackCheck<'_>) -> Result<Self, ConfigError> {
        let scenario = Self::decode(document)?;
        let checked = scenario.check_together(stacks);
        let checked = checked.and_then(|()| scenario.check_new_parts(|path| document.is_set(path)));
        checked.map_err(|problem| document.locate(problem))?;
        Ok(scenario)
    }

    /// Checks a scenario that was created in code.
    ///
    /// # Errors
    /// The first error.
    pub fn validate(&self, stacks: StackCheck<'_>) -> Result<(), Problem> {
        let document = Document::from_value(self).map_err(|error| *error.problem)?;
        Self::decode(&document).map_err(|error| *error.problem)?;
        self.check_together(stacks)
    }
}
