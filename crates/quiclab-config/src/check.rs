//! Checks a tree against the rules of its schema.

use crate::bounds::Limits;
use crate::form::Mismatch;
use crate::place::Place;
use crate::schema::{Quantity, Rule, Schema, Shape, Table};
use crate::tree::{Node, Origin, Value};
use quiclab_core::problem::{MAX_LISTED, alternatives, nearest};
use quiclab_core::{
    ByteCount, DataRate, Duration, FieldPath, Probability, Problem, ProblemKind, QuantityError,
};
use serde_json::Value as Json;
use std::collections::BTreeMap;

type Check = Result<(), Problem>;

impl Schema {
    /// Checks `root`, in which former names have been replaced.
    pub(crate) fn check(&self, root: &mut Node) -> Check {
        self.root.check(root, &Place::Root)
    }
}

impl Rule {
    fn check(&self, node: &mut Node, place: &Place<'_>) -> Check {
        let wrong_type = |node: &Node| {
            let expected = if place.is_root() { "a table".to_owned() } else { self.expected() };
            Err(Problem::new(ProblemKind::WrongType, place.path(), expected).got(node.shown()))
        };
        match (&self.shape, &mut node.value) {
            (Shape::Any, _) => check_json(node, place),
            (Shape::Boolean, Value::Boolean(_)) => Ok(()),
            (Shape::Integer, Value::Integer(value)) => {
                self.check_number(*value as f64, Some(*value), node, place)
            }
            (Shape::Number, Value::Integer(value)) => self.check_number(*value as f64, None, node, place),
            (Shape::Number, Value::Float(value)) => self.check_number(*value, None, node, place),
            (Shape::Text(form), Value::Text(text)) => {
                form.check(text, &self.limits).map_err(|Mismatch { reason, suggestion }| Problem {
                    reason: reason.map(str::to_owned),
                    suggestion: suggestion.map(Into::into),
                    ..Problem::value(place.path(), node.shown(), self.expected())
                })
            }
            (
                Shape::Quantity(Quantity::Probability),
                Value::Integer(_) | Value::Float(_) | Value::Text(_),
            ) => self.check_probability(node, place),
            (Shape::Quantity(quantity), Value::Text(text)) => {
                let text = text.clone();
                self.check_quantity(*quantity, &text, node, place)
            }
            // the parser of quantities reports that a number has no unit
            (Shape::Quantity(quantity), Value::Integer(value)) => {
                Err(self.not_a_quantity(*quantity, &value.to_string(), node, ProblemKind::WrongType, place))
            }
            (Shape::Quantity(quantity), Value::Float(value)) => {
                Err(self.not_a_quantity(*quantity, &value.to_string(), node, ProblemKind::WrongType, place))
            }
            (Shape::Names(names), Value::Text(text)) if names.contains(text) => Ok(()),
            (Shape::Names(names), Value::Text(text)) => Err(Problem::unknown(place.path(), text, names)),
            (Shape::Array { items, min, max }, Value::Array(array)) => {
                check_length("entries", array.len(), *min, *max, place)?;
                let mut entries = array.iter_mut().enumerate();
                entries.try_for_each(|(index, entry)| items.check(entry, &Place::Entry(place, index)))
            }
            (Shape::Table(table), Value::Table(fields)) => table.check(fields, place),
            (Shape::Tagged { tag, variants }, Value::Table(fields)) => {
                check_tagged(tag, variants, fields, place)
            }
            (Shape::Either(choices), _) => match choices.iter().find(|choice| choice.is_of_type(&node.value))
            {
                Some(choice) => choice.check(node, place),
                None => wrong_type(node),
            },
            _ => wrong_type(node),
        }
    }

    /// Whether a value has the type of this rule; limits are not considered.
    pub(crate) fn is_of_type(&self, value: &Value) -> bool {
        match &self.shape {
            Shape::Any => true,
            Shape::Boolean => matches!(value, Value::Boolean(_)),
            Shape::Integer => matches!(value, Value::Integer(_)),
            Shape::Number => matches!(value, Value::Integer(_) | Value::Float(_)),
            // the parser of quantities has the best message for a number without a unit
            Shape::Quantity(_) => matches!(value, Value::Text(_) | Value::Integer(_) | Value::Float(_)),
            Shape::Text(_) | Shape::Names(_) => matches!(value, Value::Text(_)),
            Shape::Array { .. } => matches!(value, Value::Array(_)),
            Shape::Table(_) | Shape::Tagged { .. } => matches!(value, Value::Table(_)),
            Shape::Either(choices) => choices.iter().any(|choice| choice.is_of_type(value)),
        }
    }

    fn check_number(&self, value: f64, integer: Option<i64>, node: &Node, place: &Place<'_>) -> Check {
        let compare = |limit: &Json| match (integer, limit.as_i64()) {
            (Some(integer), Some(limit)) => Some(integer.cmp(&limit)),
            _ => value.partial_cmp(&limit.as_f64()?),
        };
        let listed =
            self.limits.one_of.is_empty() || integer.is_some_and(|value| self.limits.one_of.contains(&value));
        if listed && value.is_finite() && self.limits.hold(compare) {
            return Ok(());
        }
        Err(Problem::value(place.path(), node.shown(), self.expected()))
    }

    fn check_probability(&self, node: &Node, place: &Place<'_>) -> Check {
        let value = match &node.value {
            Value::Integer(value) => Probability::new(*value as f64),
            Value::Float(value) => Probability::new(*value),
            Value::Text(text) => text.parse().ok(),
            _ => None,
        };
        let within =
            |value: Probability| self.limits.hold(|limit| value.value().partial_cmp(&limit.as_f64()?));
        if value.is_some_and(within) {
            return Ok(());
        }
        Err(Problem::value(place.path(), node.shown(), self.expected()))
    }

    fn check_quantity(&self, quantity: Quantity, text: &str, node: &Node, place: &Place<'_>) -> Check {
        let Ok(value) = quantity.parse(text) else {
            return Err(self.not_a_quantity(quantity, text, node, ProblemKind::OutOfRange, place));
        };
        let compare = |limit: &Json| Some(value.cmp(&quantity.parse(limit.as_str()?).ok()?));
        if self.limits.hold(compare) {
            return Ok(());
        }
        Err(Problem::value(place.path(), node.shown(), self.expected()))
    }

    /// Error for `text`, the value of a field, which is not a quantity.
    fn not_a_quantity(
        &self,
        quantity: Quantity,
        text: &str,
        node: &Node,
        kind: ProblemKind,
        place: &Place<'_>,
    ) -> Problem {
        let error = quantity.parse(text).err();
        let suggestion = error.as_ref().and_then(QuantityError::suggestion).map(Into::into);
        let reason = error.map(|error| error.to_string());
        let problem = Problem::new(kind, place.path(), self.example_of(quantity)).got(node.shown());
        Problem { reason, suggestion, ..problem }
    }
}

impl Limits {
    /// Whether a value is within the limits; `compare` compares it with one.
    pub(crate) fn hold(&self, compare: impl Fn(&Json) -> Option<std::cmp::Ordering>) -> bool {
        let above = self.min.as_ref().is_none_or(|min| {
            compare(min).is_some_and(|order| if self.exclusive { order.is_gt() } else { order.is_ge() })
        });
        above && self.max.as_ref().is_none_or(|max| compare(max).is_some_and(std::cmp::Ordering::is_le))
    }
}

impl Quantity {
    /// The value in base units.
    pub(crate) fn parse(self, text: &str) -> Result<u64, QuantityError> {
        match self {
            Self::Duration => text.parse().map(Duration::as_nanos),
            Self::Rate => text.parse().map(DataRate::bits_per_second),
            Self::Size => text.parse().map(ByteCount::bytes),
            Self::Probability => unreachable!("a probability is checked as a number"),
        }
    }
}

impl Table {
    fn check(&self, fields: &mut BTreeMap<String, Node>, place: &Place<'_>) -> Check {
        check_length("fields", fields.len(), self.min, self.max, place)?;
        let mut written: Vec<(&String, &mut Node)> = fields.iter_mut().collect();
        written.sort_by_key(|(_, node)| match &node.origin {
            Origin::Text { entry, .. } => entry.start,
            Origin::Unknown | Origin::Set => usize::MAX,
        });
        for (name, node) in &mut written {
            let place = Place::Field(place, name);
            match (self.fields.get(&**name), &self.others) {
                (Some(field), _) => field.rule.check(node, &place)?,
                (None, Some(rule)) => rule.check(node, &place)?,
                (None, None) => return Err(self.unknown(name, node, place.path())),
            }
        }
        let missing =
            self.fields.iter().find(|(name, field)| field.required && !fields.contains_key(&**name));
        missing.map_or(Ok(()), |(name, field)| {
            Err(Problem::new(ProblemKind::MissingField, place.path().child(name), field.rule.expected()))
        })
    }

    fn unknown(&self, name: &str, node: &Node, path: FieldPath) -> Problem {
        let known: Vec<&String> = self.fields.keys().collect();
        let suggestion: Option<Box<str>> = nearest(name, &known).map(Into::into);
        let expected = match &suggestion {
            _ if known.is_empty() => "no field".to_owned(),
            Some(_) if known.len() > MAX_LISTED => format!("one of {} fields", known.len()),
            _ => alternatives(&known),
        };
        Problem { suggestion, ..Problem::new(ProblemKind::UnknownField, path, expected).got(node.shown()) }
    }
}

/// Checks that JSON can represent the value and all values in it: no dates, no numbers that are not finite.
fn check_json(node: &Node, place: &Place<'_>) -> Check {
    match &node.value {
        Value::Foreign(_) => {}
        Value::Float(value) if !value.is_finite() => {}
        Value::Array(array) => {
            let mut entries = array.iter().enumerate();
            return entries.try_for_each(|(index, entry)| check_json(entry, &Place::Entry(place, index)));
        }
        Value::Table(table) => {
            return table.iter().try_for_each(|(name, field)| check_json(field, &Place::Field(place, name)));
        }
        _ => return Ok(()),
    }
    let expected = "a boolean, a finite number, a string, an array or a table";
    Err(Problem::new(ProblemKind::WrongType, place.path(), expected).got(node.shown()))
}

/// Checks the variant that `tag` names; the tag itself is not among its fields.
fn check_tagged(
    tag: &str,
    variants: &[(String, Table)],
    fields: &mut BTreeMap<String, Node>,
    place: &Place<'_>,
) -> Check {
    let names = || variants.iter().map(|(name, _)| name);
    let path_of_tag = || place.path().child(tag);
    let Some(kind) = fields.remove(tag) else {
        let expected = quiclab_core::problem::values(names());
        return Err(Problem::new(ProblemKind::MissingField, path_of_tag(), expected));
    };
    let checked = match &kind.value {
        Value::Text(text) => match variants.iter().find(|(name, _)| name == text) {
            Some((_, table)) => table.check(fields, place).map_err(|problem| {
                let of_this_table = problem.path.steps().split_last();
                match of_this_table.filter(|(_, above)| *above == place.path().steps()) {
                    Some((field, _)) => {
                        of_another_variant(problem.clone(), &kind, tag, fields.get(field), place)
                    }
                    None => problem,
                }
            }),
            None => Err(Problem::unknown(path_of_tag(), text, names())),
        },
        _ => {
            let expected = quiclab_core::problem::values(names());
            Err(Problem::new(ProblemKind::WrongType, path_of_tag(), expected).got(kind.shown()))
        }
    };
    fields.insert(tag.to_owned(), kind);
    checked
}

/// Adds the reason to `problem` if `--set` selected another variant and a field of the text remained.
fn of_another_variant(
    problem: Problem,
    kind: &Node,
    tag: &str,
    field: Option<&Node>,
    place: &Place<'_>,
) -> Problem {
    let stayed = field.is_some_and(|field| field.origin != Origin::Set);
    if problem.kind != ProblemKind::UnknownField || kind.origin != Origin::Set || !stayed {
        return problem;
    }
    let (path, kind) = (place.path(), kind.shown());
    Problem { suggestion: None, ..problem }.because(format!(
        "--set changed `{tag}` to {kind}, which does not take this field; replace the whole table: --set \
         '{path}={{ {tag} = {kind} }}'"
    ))
}

fn check_length(noun: &str, length: usize, min: usize, max: usize, place: &Place<'_>) -> Check {
    if (min..=max).contains(&length) {
        return Ok(());
    }
    let expected =
        if max == usize::MAX { format!("{min} or more {noun}") } else { format!("{min} to {max} {noun}") };
    Err(Problem::value(place.path(), format!("{length} {noun}"), expected))
}
