//! Reasons for answers without a value.

use quiclab_config::ConfigError;
use quiclab_sim::{BuildError, RunError};
use serde_json::{Value, json};

/// Reason for an answer without value.
pub(crate) enum Refusal {
    /// An invalid scenario.
    Scenario(ConfigError),
    /// Anything else, in a sentence.
    Other(String),
}

impl From<ConfigError> for Refusal {
    fn from(error: ConfigError) -> Self {
        Self::Scenario(error)
    }
}

impl From<RunError> for Refusal {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Build(BuildError::Problem(problem)) => Self::Scenario((*problem).into()),
            other => Self::Other(other.to_string()),
        }
    }
}

impl Refusal {
    /// The reason for the host.
    pub(crate) fn into_json(self) -> Value {
        match self {
            Self::Other(message) => json!({ "message": message }),
            Self::Scenario(error) => {
                let (line, column) = error.location.line_and_column().unzip();
                json!({
                    "message": error.to_string(),
                    "path": error.problem.path.to_string(),
                    "rendered": error.render(false),
                    "line": line,
                    "column": column,
                })
            }
        }
    }
}
