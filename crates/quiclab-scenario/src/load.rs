//! From text to a typed scenario, with errors that name file, line, field, value and what is
//! allowed.
//!
//! serde reads tagged tables (`kind = ...`) in two passes and forgets between them which field it
//! was at. The loader finds that field by taking one after the other out of the table: the one
//! without which the complaint changes is meant.

use super::Scenario;
use super::VERSION;
use super::decode::{DecodeError, DecodeErrorKind};
use super::error::{FieldPath, Line, Place, ScenarioError, alternatives};
use super::tree::{Node, Value};
use quiclab_core::StackAbilities;
use quiclab_core::StackProblem;
use quiclab_transport::options::EndpointConfig;
use serde::Deserialize;

/// A scenario as it was written. It outlives the typed scenario where later checks (semantics,
/// stacks, trace files) shall name the line that is wrong.
#[derive(Clone, Debug)]
pub struct Document {
    file: Option<String>,
    root: Node,
}

impl Scenario {
    /// Reads a scenario from TOML; `file` is its name in errors, `sets` are the `--set path=value`
    /// of the command line. Types and fields are checked, not yet what [`Scenario::validate`] does.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn from_toml(text: &str, file: &str, sets: &[(String, String)]) -> Result<Self, ScenarioError> {
        Document::from_toml(text, file, sets)?.scenario()
    }

    /// Reads a scenario from JSON, the form in which it comes from Python. Fields that are null
    /// count as not given.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        Document::from_json(text, None, &[])?.scenario()
    }
}

impl Document {
    /// Reads TOML; `file` is its name in errors. `sets` are dotted paths (elements of arrays by
    /// index) and values: TOML values, and texts where they are not TOML.
    ///
    /// # Errors
    /// When the text is not TOML or a path leads through something that is not a table.
    pub fn from_toml(text: &str, file: &str, sets: &[(String, String)]) -> Result<Self, ScenarioError> {
        let root = Node::from_toml(text, file)?;
        Self { file: Some(file.to_owned()), root }.with(sets)
    }

    /// The document with `sets` applied.
    fn with(mut self, sets: &[(String, String)]) -> Result<Self, ScenarioError> {
        let document = &mut self;
        for (path, value) in sets {
            let steps: Vec<&str> = path.split('.').map(str::trim).collect();
            let result = if steps.iter().any(|step| step.is_empty()) {
                Err(ScenarioError::refused(
                    FieldPath::new([path]),
                    Node::from_argument(value).shown(),
                    "a path such as `bearers.dc.batch_packets`",
                )
                .because("`--set` has no field to set"))
            } else {
                document.root.set(&FieldPath::new(steps), Node::from_argument(value))
            };
            result.map_err(|error| document.place(error, |_, place| place.line = Line::Set))?;
        }
        Ok(self)
    }

    /// Reads JSON; `file` is its name in errors, if it has one. `sets` as for TOML.
    ///
    /// # Errors
    /// When the text is not JSON or a path leads through something that is not a table.
    pub fn from_json(
        text: &str,
        file: Option<&str>,
        sets: &[(String, String)],
    ) -> Result<Self, ScenarioError> {
        Self { file: file.map(str::to_owned), root: Node::from_json(text)? }.with(sets)
    }

    /// The typed scenario; types and fields are checked, not yet what [`Scenario::validate`] does.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        self.version()
            .and_then(|()| decode(&self.root).map_err(|error| self.explain(error)))
            .map_err(|error| self.locate(error))
    }

    /// The typed and validated scenario: see [`Scenario::validate`].
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn load(
        &self,
        stacks: &dyn Fn(&EndpointConfig) -> Result<StackAbilities, StackProblem>,
    ) -> Result<Scenario, ScenarioError> {
        let scenario = self.scenario()?;
        scenario.validate(stacks).map_err(|error| self.locate(error))?;
        Ok(scenario)
    }

    /// Adds file and line to an error about a field of this scenario, and shows its value as it
    /// was written.
    #[must_use]
    pub fn locate(&self, error: ScenarioError) -> ScenarioError {
        self.place(error, |path, place| place.line = self.root.nearest_line(path))
    }

    fn place(&self, mut error: ScenarioError, line: impl Fn(&FieldPath, &mut Place)) -> ScenarioError {
        if let ScenarioError::Field(field) = &mut error {
            field.place.file.clone_from(&self.file);
            line(&field.path, &mut field.place);
            if let (Some(value), Some(node)) = (&mut field.value, self.root.get(&field.path)) {
                *value = node.shown();
            }
        }
        error
    }

    /// The version decides how the rest is read, so it is looked at first.
    fn version(&self) -> Result<(), ScenarioError> {
        let path = FieldPath::new(["version"]);
        match self.root.get(&path) {
            None => Err(ScenarioError::about(path, "missing", format!("version = {VERSION}"))),
            Some(Node { value: Value::Integer(version), .. }) if *version == i64::from(VERSION) => Ok(()),
            Some(node) => Err(ScenarioError::refused(path, node.shown(), VERSION.to_string())),
        }
    }

    /// Says what serde complained about.
    fn explain(&self, error: DecodeError) -> ScenarioError {
        let path = self.culprit(&error);
        let node = self.root.get(&path);
        let shown = node.map_or_else(String::new, Node::shown);
        match error.kind {
            DecodeErrorKind::UnknownField { field, known } => {
                let path = path.child(field);
                let shown = self.root.get(&path).map_or_else(String::new, Node::shown);
                ScenarioError::refused(path, shown, alternatives(known)).because("unknown field")
            }
            DecodeErrorKind::MissingField { field } => {
                let path = path.child(field);
                let allowed = self.allowed_at(&path);
                ScenarioError::about(path, "missing", allowed)
            }
            DecodeErrorKind::UnknownVariant { known } => {
                ScenarioError::refused(path, shown, alternatives(known))
            }
            DecodeErrorKind::Message(message) => said_by_type(path, shown, &message),
            DecodeErrorKind::WrongType { expected } => {
                // a number where a text with a unit belongs: the type itself says what is missing
                if let Some(Value::Integer(_) | Value::Float(_)) = node.map(|node| &node.value)
                    && let Some(DecodeErrorKind::Message(message)) = self.if_it_were(&path, &shown)
                {
                    return said_by_type(path, shown, &message);
                }
                let allowed = in_words(&expected);
                ScenarioError::refused(path, shown, allowed)
            }
        }
    }

    /// The field that `error` is about, also inside of tagged tables.
    fn culprit(&self, error: &DecodeError) -> FieldPath {
        let mut path = error.path();
        if matches!(error.kind, DecodeErrorKind::UnknownField { .. } | DecodeErrorKind::MissingField { .. }) {
            return path;
        }
        while let Some(step) = self.culprit_below(&path, error) {
            path = path.child(step);
        }
        path
    }

    /// The key, or index, below `path` without which `error` would not be; `None`: it is about `path` itself.
    fn culprit_below(&self, path: &FieldPath, error: &DecodeError) -> Option<String> {
        let matters = |remove: &dyn Fn(&mut Value)| {
            let mut root = self.root.clone();
            if let Some(node) = root.get_mut(path) {
                remove(&mut node.value);
            }
            decode(&root).as_ref().err() != Some(error)
        };
        match &self.root.get(path)?.value {
            Value::Table(table) => {
                let without = |key: &&String| {
                    matters(&|value| {
                        if let Value::Table(table) = value {
                            table.remove(*key);
                        }
                    })
                };
                // without its kind a table always means something else, so that comes last
                let keys = table.keys().filter(|key| *key != "kind");
                keys.chain(table.keys().filter(|key| *key == "kind")).find(without).cloned()
            }
            // an entry that is no table is named by its array
            Value::Array(entries) => {
                let without = |index: usize| {
                    matters(&|value| {
                        if let Value::Array(entries) = value {
                            entries.remove(index);
                        }
                    })
                };
                let is_table = |index: &usize| matches!(entries[*index].value, Value::Table(_));
                let found = (0..entries.len()).filter(is_table).find(|index| without(*index));
                found.map(|index| index.to_string())
            }
            _ => None,
        }
    }

    /// What is allowed in a field that is not there.
    fn allowed_at(&self, path: &FieldPath) -> String {
        match self.if_it_were(path, "") {
            Some(DecodeErrorKind::Message(message)) => {
                message.split_once(ALLOWED).map_or("a value", |(_, allowed)| allowed).to_owned()
            }
            Some(DecodeErrorKind::UnknownVariant { known }) => alternatives(known),
            Some(DecodeErrorKind::WrongType { expected }) => in_words(&expected),
            _ => "a text".to_owned(),
        }
    }

    /// What serde would complain about if the field at `path` were `text`.
    fn if_it_were(&self, path: &FieldPath, text: &str) -> Option<DecodeErrorKind> {
        let mut root = self.root.clone();
        root.set(path, Node::text(text, Line::Unknown)).ok()?;
        let error = decode(&root).err()?;
        path.steps().starts_with(error.path().steps()).then_some(error.kind)
    }
}

fn decode(root: &Node) -> Result<Scenario, DecodeError> {
    Scenario::deserialize(root)
}

/// Separates problem and remedy in the messages of this crate's types: see `QuantityError`.
const ALLOWED: &str = "; allowed is ";

fn said_by_type(path: FieldPath, shown: String, message: &str) -> ScenarioError {
    let (problem, allowed) = message.split_once(ALLOWED).unwrap_or((message, "another value"));
    // the sentence names the value already
    let value = format!("`{}` ", shown.trim_matches('"'));
    let problem = problem.strip_prefix(&value).unwrap_or(problem).to_owned();
    ScenarioError::refused(path, shown, allowed).because(problem)
}

/// What serde's derived code calls its expectations, in the words of the scenario.
fn in_words(expected: &str) -> String {
    match expected {
        "u8" => format!("an integer from 0 to {}", u8::MAX),
        "u32" => format!("an integer from 0 to {}", u32::MAX),
        "u64" => format!("an integer from 0 to {}", i64::MAX),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "path string" => "a text".to_owned(),
        "a sequence" => "an array".to_owned(),
        other if other.contains("struct ") || other.contains("map") || other.contains("tagged enum ") => {
            "a table".to_owned()
        }
        "variant identifier" => "a text".to_owned(),
        other => other.to_owned(),
    }
}
