//! Conversion of text to a tree, and of a tree to a type.

use crate::error::{ConfigError, Location};
use crate::former::{Note, Replaced};
use crate::place::Place;
use crate::schema::Schema;
use crate::tree::{Node, Origin, Value};
use quiclab_core::problem::nearest;
use quiclab_core::{FieldPath, Problem, ProblemKind};
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::sync::Arc;

/// A document as it was written. Kept beside the typed value where later checks report the location of a value.
#[derive(Clone, Debug)]
pub struct Document {
    file: Option<String>,
    text: Option<Arc<str>>,
    root: Node,
}

impl Document {
    /// Reads TOML; `file` is its name in errors. `sets` are dotted paths (elements of arrays by index, `*` for every name
    /// or index) and values: TOML values, and strings where they are not TOML.
    ///
    /// # Errors
    /// If the text is not TOML or a path leads through a value that is not a table.
    pub fn from_toml(text: &str, file: &str, sets: &[(String, String)]) -> Result<Self, ConfigError> {
        let shared: Arc<str> = text.into();
        let root = Node::from_toml(text).map_err(|(message, span)| {
            let problem =
                Problem::new(ProblemKind::Syntax, "", "").because(format!("not valid TOML: {message}"));
            let file = file.to_owned();
            let location = match span {
                Some(span) => Location::Text { file, text: shared.clone(), span },
                None => Location::File(file),
            };
            ConfigError::new(problem, location)
        })?;
        Self { file: Some(file.to_owned()), text: Some(shared), root }.with(sets)
    }

    /// Reads JSON; `file` is its name in errors, if it has one. Null fields count as absent. `sets` as for TOML.
    ///
    /// # Errors
    /// If the text is not JSON or a path leads through a value that is not a table.
    pub fn from_json(text: &str, file: Option<&str>, sets: &[(String, String)]) -> Result<Self, ConfigError> {
        let root = serde_json::from_str::<serde_json::Value>(text).map_err(|error| {
            let problem =
                Problem::new(ProblemKind::Syntax, "", "").because(format!("not valid JSON: {error}"));
            let location = match file {
                Some(file) => {
                    let span = position(text, error.line(), error.column());
                    Location::Text { file: file.to_owned(), text: text.into(), span }
                }
                None => Location::Unknown,
            };
            ConfigError::new(problem, location)
        })?;
        Self { file: file.map(str::to_owned), text: None, root: Node::from_json(&root) }.with(sets)
    }

    /// The document of a typed value.
    ///
    /// # Errors
    /// If the value has no form in JSON, such as a map whose keys are not strings.
    pub fn from_value<T: serde::Serialize>(value: &T) -> Result<Self, ConfigError> {
        let root = serde_json::to_value(value).map_err(|error| {
            let reason = format!("cannot be written: {error}");
            ConfigError::from(Problem::new(ProblemKind::Syntax, "", "").because(reason))
        })?;
        Ok(Self { file: None, text: None, root: Node::from_json(&root) })
    }

    /// The document with `sets` applied, as for [`Self::from_toml`].
    ///
    /// # Errors
    /// If a path leads through a value that is not a table.
    pub fn with(mut self, sets: &[(String, String)]) -> Result<Self, ConfigError> {
        for (path, value) in sets {
            let value = Node::from_argument(value);
            for path in self.paths(path)? {
                let set = self.root.set(&path, value.clone());
                set.map_err(|problem| ConfigError::new(problem, Location::CommandLine))?;
            }
        }
        Ok(self)
    }

    /// Paths that match `path`: `*` matches each name of the table there, or each index of the array.
    ///
    /// # Errors
    /// If `path` is malformed, or `*` matches nothing.
    pub fn paths(&self, path: &str) -> Result<Vec<FieldPath>, ConfigError> {
        let steps: Vec<&str> = path.split('.').map(str::trim).collect();
        let refused = |expected: &str| {
            let problem = Problem::new(ProblemKind::Syntax, "", expected).got(format!("{path:?}"));
            Err(ConfigError::new(problem, Location::CommandLine))
        };
        if steps.iter().any(|step| step.is_empty()) {
            return refused("a path such as `bearers.dc.batch_packets`");
        }
        if steps.iter().any(|step| step.contains('*') && *step != "*") {
            return refused("`*` as a whole name, such as `flows.*.stack`");
        }
        let mut paths = vec![Vec::new()];
        for (index, step) in steps.iter().enumerate() {
            let mut longer = Vec::new();
            for path in paths {
                let extend = |step: String| path.iter().cloned().chain([step]).collect::<Vec<_>>();
                if *step == "*" {
                    let node = self.root.get(&FieldPath::new(&path));
                    longer.extend(node.iter().flat_map(|node| node.children()).map(extend));
                } else {
                    longer.push(extend((*step).to_owned()));
                }
            }
            if longer.is_empty() {
                let here = steps[..=index].join(".");
                let problem =
                    Problem::new(ProblemKind::UnknownName, "", "a table or an array with entries there");
                let problem = problem.because(format!("`{here}` stands for nothing"));
                return Err(ConfigError::new(problem, Location::CommandLine));
            }
            paths = longer;
        }
        Ok(paths.into_iter().map(FieldPath::new).collect())
    }

    /// Checks that the integer at `field` is `version`, which determines how the rest is read.
    ///
    /// # Errors
    /// If it is missing or differs.
    pub fn check_version(&self, field: &str, version: u32) -> Result<(), ConfigError> {
        match self.root.get(&field.into()) {
            None => {
                let expected = format!("`{field} = {version}`");
                Err(self.locate(Problem::new(ProblemKind::MissingField, field, expected)))
            }
            Some(Node { value: Value::Integer(found), .. }) if *found == i64::from(version) => Ok(()),
            Some(node) => Err(self.locate(Problem::value(field, node.shown(), version.to_string()))),
        }
    }

    /// The string at `path`; `None` if there is another value or none.
    #[must_use]
    pub fn text(&self, path: &FieldPath) -> Option<&str> {
        match &self.root.get(path)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether the field at `path` exists because of a set.
    #[must_use]
    pub fn is_set(&self, path: &FieldPath) -> bool {
        self.root.get(path).is_some_and(|node| node.origin == Origin::Set)
    }

    /// Removes the field at `path`, if it exists.
    pub fn remove(&mut self, path: &FieldPath) {
        self.root.remove(path);
    }

    /// Adds the values of `defaults` at `path` that the document lacks. Tables are filled down to `depth` levels below
    /// `path`; deeper values are added whole or not at all.
    pub fn fill(&mut self, path: &FieldPath, defaults: &serde_json::Value, depth: usize) {
        let defaults = path
            .steps()
            .iter()
            .rev()
            .fold(defaults.clone(), |inner, step| serde_json::json!({ step.as_str(): inner }));
        self.root.fill(Node::from_json(&defaults), path.steps().len() + depth);
    }

    /// Replaces former names by the present ones, with a note for each. [`Self::decode`] reads them as well, without notes.
    pub fn replace_former_names(&mut self, schema: &Schema) -> Vec<Note> {
        let mut replaced = Vec::new();
        schema.root.replace_former_names(&mut self.root, &Place::Root, &mut replaced);
        let note = |Replaced { path, former, present, origin }: Replaced| {
            let location = self.location(&origin, true);
            Note { path, former, present, location }
        };
        replaced.into_iter().map(note).collect()
    }

    /// The typed value. All constraints on single fields have been checked.
    ///
    /// # Errors
    /// The first error in the order of the text.
    pub fn decode<T: DeserializeOwned>(&self, schema: &Schema) -> Result<T, ConfigError> {
        let mut root = self.root.clone();
        schema.root.replace_former_names(&mut root, &Place::Root, &mut Vec::new());
        schema.check(&mut root).map_err(|problem| self.locate(problem))?;
        serde_json::from_value(root.to_json()).map_err(|error| {
            // the schema and serde's code come from one definition
            self.locate(Problem::new(ProblemKind::Syntax, "", "").because(error.to_string()))
        })
    }

    /// The document as JSON.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        self.root.to_json()
    }

    /// Location of the field at `path`, or of the table closest to it: its value, or its key as well.
    #[must_use]
    pub fn location_of(&self, path: &FieldPath, value: bool) -> Location {
        let (node, exact) = self.root.nearest(path);
        self.location(&node.origin, exact && value)
    }

    /// Adds the place in the text to a problem of this document, and shows the value as it was written.
    #[must_use]
    pub fn locate(&self, mut problem: Problem) -> ConfigError {
        let (node, exact) = self.root.nearest(&problem.path);
        if exact && problem.value.is_some() {
            problem.value = Some(node.shown());
        }
        // a field that does not exist, or lacks another one, is marked with its key
        let of_value = exact && problem.value.is_some() && problem.kind != ProblemKind::UnknownField;
        let location = if of_value && node.has_set() {
            Location::CommandLine
        } else {
            self.location(&node.origin, of_value)
        };
        // concerns an element as a whole: one that exists only on the command line is most often misspelt
        if problem.value.is_none() && problem.suggestion.is_none() && location == Location::CommandLine {
            problem.suggestion = self.misspelt(&problem.path).map(Into::into);
        }
        ConfigError::new(problem, location)
    }

    /// Similar name in the text for the first table on the way to `path` that exists only on the command line.
    fn misspelt(&self, path: &FieldPath) -> Option<String> {
        let mut node = &self.root;
        for step in path.steps() {
            let Value::Table(table) = &node.value else { return None };
            let child = table.get(step)?;
            if child.origin == Origin::Set {
                let written = table.iter().filter(|(_, node)| node.origin != Origin::Set);
                return nearest(step, &written.map(|(name, _)| name).collect::<Vec<_>>());
            }
            node = child;
        }
        None
    }

    /// Location of a value, alone or with its key.
    fn location(&self, origin: &Origin, of_value: bool) -> Location {
        match (origin, &self.file, &self.text) {
            (Origin::Set, ..) => Location::CommandLine,
            (Origin::Text { entry, value }, Some(file), Some(text)) => {
                let span = if of_value { value } else { entry };
                Location::Text { file: file.clone(), text: text.clone(), span: span.clone() }
            }
            (_, Some(file), _) => Location::File(file.clone()),
            (_, None, _) => Location::Unknown,
        }
    }
}

/// Byte offset of a line and a column, both from 1.
fn position(text: &str, line: usize, column: usize) -> Range<usize> {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let at = (start + column.saturating_sub(1)).min(text.len());
    at..at
}
