//! Former names in a document, which are replaced by the present ones: `x-aliases` of a field are its former
//! names, `x-value-aliases` those of its values, or of the kinds of a table.

use crate::error::{Location, render};
use crate::place::Place;
use crate::schema::{Rule, Shape, Table};
use crate::tree::{Node, Origin, Value};
use annotate_snippets::Level;
use quiclab_core::FieldPath;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// A former name that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The field, by its present name.
    pub path: FieldPath,
    /// The name as it was written.
    pub former: String,
    /// The name to use.
    pub present: String,
    /// Location of the name.
    pub location: Location,
}

impl Display for Note {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.location, self.sentence())
    }
}

impl Note {
    fn sentence(&self) -> String {
        format!("{}: `{}` is a former name; use `{}`", self.path, self.former, self.present)
    }

    /// Rendering as compilers show it: see [`crate::ConfigError::render`].
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        render(Level::NOTE, &self.sentence(), &self.location, color)
    }
}

/// A name that was replaced, and its location.
pub(crate) struct Replaced {
    pub(crate) path: FieldPath,
    pub(crate) former: String,
    pub(crate) present: String,
    pub(crate) origin: Origin,
}

impl Rule {
    /// Replaces the former names in `node`; values of another type than the rule are left to the check.
    pub(crate) fn replace_former_names(&self, node: &mut Node, place: &Place<'_>, out: &mut Vec<Replaced>) {
        match (&self.shape, &mut node.value) {
            (Shape::Names(_), Value::Text(_)) => self.replace_former_value(node, place, out),
            (Shape::Array { items, .. }, Value::Array(array)) => {
                for (index, entry) in array.iter_mut().enumerate() {
                    items.replace_former_names(entry, &Place::Entry(place, index), out);
                }
            }
            (Shape::Table(table), Value::Table(fields)) => table.replace_former_names(fields, place, out),
            (Shape::Tagged { tag, variants }, Value::Table(fields)) => {
                if let Some(kind) = fields.get_mut(tag) {
                    self.replace_former_value(kind, &Place::Field(place, tag), out);
                }
                let kind = fields.get(tag).map(|kind| &kind.value);
                let variant =
                    variants.iter().find(|(name, _)| matches!(kind, Some(Value::Text(kind)) if kind == name));
                if let Some((_, table)) = variant {
                    table.replace_former_names(fields, place, out);
                }
            }
            (Shape::Either(choices), _) => {
                if let Some(choice) = choices.iter().find(|choice| choice.is_of_type(&node.value)) {
                    choice.replace_former_names(node, place, out);
                }
            }
            _ => {}
        }
    }

    /// Replaces `node` if it is a former name.
    fn replace_former_value(&self, node: &mut Node, place: &Place<'_>, out: &mut Vec<Replaced>) {
        let Value::Text(text) = &mut node.value else { return };
        if let Some(present) = self.former.get(text) {
            let former = std::mem::replace(text, present.clone());
            let (path, origin) = (place.path(), node.origin.clone());
            out.push(Replaced { path, former, present: present.clone(), origin });
        }
    }
}

impl Table {
    fn replace_former_names(
        &self,
        fields: &mut BTreeMap<String, Node>,
        place: &Place<'_>,
        out: &mut Vec<Replaced>,
    ) {
        for (name, field) in &self.fields {
            let former = field.aliases.iter().find(|alias| fields.contains_key(*alias));
            if let (Some(former), false) = (former, fields.contains_key(name)) {
                let node = fields.remove(former).expect("it was found");
                out.push(Replaced {
                    path: place.path().child(name),
                    former: former.clone(),
                    present: name.clone(),
                    origin: node.key_origin(former),
                });
                fields.insert(name.clone(), node);
            }
        }
        for (name, node) in fields {
            let rule = self.fields.get(name).map(|field| &field.rule).or(self.others.as_deref());
            if let Some(rule) = rule {
                rule.replace_former_names(node, &Place::Field(place, name), out);
            }
        }
    }
}
