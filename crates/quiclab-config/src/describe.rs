//! What a rule takes, in words: the part of an error message behind "expected".

use crate::bounds::Limits;
use crate::schema::{Quantity, Rule, Shape};
use quiclab_core::problem::{alternatives, values};
use serde_json::Value as Json;

impl Rule {
    /// What it takes, such as "a size from 88 B to 9148 B".
    pub(crate) fn expected(&self) -> String {
        match &self.shape {
            Shape::Any => "any value".to_owned(),
            Shape::Boolean => "true or false".to_owned(),
            Shape::Integer => self.number("an integer"),
            Shape::Number => self.number("a number"),
            Shape::Text(form) => form.expected(&self.limits),
            Shape::Quantity(quantity) => self.quantity(*quantity),
            Shape::Names(names) => values(names),
            Shape::Array { items, min, max } => {
                format!("{}, each {}", entries("an array", *min, *max), items.expected())
            }
            Shape::Table(table) => entries("a table", table.min, table.max),
            Shape::Tagged { tag, .. } => format!("a table with `{tag}`"),
            Shape::Either(choices) => {
                let choices: Vec<_> = choices.iter().map(Self::expected).collect();
                choices.join(", or ")
            }
        }
    }

    fn number(&self, noun: &str) -> String {
        if !self.limits.one_of.is_empty() {
            let numbers = self.limits.one_of.iter().map(i64::to_string);
            return format!("{}{}", alternatives(numbers).replace('`', ""), self.unit(false));
        }
        // every integer of a type up to its largest: only the lower end says something
        let natural = [u32::MAX.into(), i64::MAX].map(Json::from);
        let max = self.limits.max.as_ref().filter(|max| !natural.contains(max));
        let one = max.is_none() && self.limits.min == Some(Json::from(1));
        range(noun, &Limits { max: max.cloned(), ..self.limits.clone() }, &self.unit(one))
    }

    /// The unit behind a number.
    fn unit(&self, one: bool) -> String {
        let name = |unit: &String| format!(" {}", if one { unit.trim_end_matches('s') } else { unit });
        self.unit.as_ref().map_or_else(String::new, name)
    }

    fn quantity(&self, quantity: Quantity) -> String {
        if quantity == Quantity::Probability {
            return self.number("a probability from 0 to 1, such as 0.001 or \"0.1 %\"");
        }
        if self.limits.min.is_none() && self.limits.max.is_none() {
            return self.example_of(quantity);
        }
        range(noun(quantity), &self.limits, "")
    }

    /// A quantity with a correct value, such as "a rate such as "20 Mbit/s"".
    pub(crate) fn example_of(&self, quantity: Quantity) -> String {
        format!("{} such as {:?}", noun(quantity), self.example.as_deref().unwrap_or_default())
    }
}

fn entries(noun: &str, min: usize, max: usize) -> String {
    match (min, max) {
        (0, usize::MAX) => noun.to_owned(),
        (1, usize::MAX) => format!("{noun} of one or more entries"),
        (min, usize::MAX) => format!("{noun} of at least {min} entries"),
        (min, max) => format!("{noun} of {min} to {max} entries"),
    }
}

const fn noun(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Duration => "a duration",
        Quantity::Rate => "a rate",
        Quantity::Size => "a size",
        Quantity::Probability => "a probability",
    }
}

fn range(noun: &str, limits: &Limits, unit: &str) -> String {
    let shown = |value: &Json| match value {
        Json::String(text) => format!("{text:?}"),
        // without the `.0` of whole numbers
        number => number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string()),
    };
    let (min, max) = (limits.min.as_ref().map(&shown), limits.max.as_ref().map(&shown));
    match (min, max, limits.exclusive) {
        (None, None, _) => noun.to_owned(),
        (Some(min), None, true) => format!("{noun} above {min}{unit}"),
        (Some(min), None, false) => format!("{noun} of at least {min}{unit}"),
        (None, Some(max), _) => format!("{noun} of at most {max}{unit}"),
        (Some(min), Some(max), false) if min == max => min,
        (Some(min), Some(max), false) => format!("{noun} from {min} to {max}{unit}"),
        (Some(min), Some(max), true) => format!("{noun} above {min}, at most {max}{unit}"),
    }
}
