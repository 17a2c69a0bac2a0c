//! Description of a rule in words: the part of an error message after "expected".

use crate::bounds::{Count, Limits};
use crate::schema::{Quantity, Rule, Shape};
use quiclab_core::problem::{alternatives, values};
use serde_json::Value as Json;

impl Rule {
    /// Accepted values in words, such as "a size from 88 B to 9148 B".
    pub(crate) fn expected(&self) -> String {
        self.words(Count::One)
    }

    /// Accepted values in the singular or plural, such as "sizes from 88 B to 9148 B".
    fn words(&self, count: Count) -> String {
        match &self.shape {
            Shape::Any => count.of("any value"),
            Shape::Boolean => "true or false".to_owned(),
            Shape::Integer => self.number(&count.of("an integer")),
            Shape::Number => self.number(&count.of("a number")),
            Shape::Text(form) => form.expected(&self.limits, count),
            Shape::Quantity(quantity) => self.quantity(*quantity, count),
            Shape::Names(names) => values(names),
            Shape::Array { items, min, max } => {
                let items = items.words(Count::Many);
                match (*min, *max) {
                    (0, usize::MAX) => format!("{} of {items}", count.of("an array")),
                    (min, max) => format!("{} of {} {items}", count.of("an array"), length(min, max)),
                }
            }
            Shape::Table(table) => match (table.min, table.max) {
                (0, usize::MAX) => count.of("a table"),
                (min, max) => format!("{} of {} entries", count.of("a table"), length(min, max)),
            },
            Shape::Tagged { tag, .. } => format!("{} with `{tag}`", count.of("a table")),
            Shape::Either(choices) => {
                let choices: Vec<_> = choices.iter().map(|choice| choice.words(count)).collect();
                choices.join(", or ")
            }
        }
    }

    fn number(&self, noun: &str) -> String {
        if !self.limits.one_of.is_empty() {
            let numbers = self.limits.one_of.iter().map(i64::to_string);
            return format!("{}{}", alternatives(numbers).replace('`', ""), self.unit(false));
        }
        // the maximum of an integer type is not a limit worth naming: only the minimum is given
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

    fn quantity(&self, quantity: Quantity, count: Count) -> String {
        let noun = count.of(noun(quantity));
        if quantity == Quantity::Probability {
            let (zero, one) = (Json::from(0.0), Json::from(1.0));
            let min = self.limits.min.clone().or(Some(zero));
            let max = self.limits.max.clone().or(Some(one));
            let range = range(&noun, &Limits { min, max, ..self.limits.clone() }, "");
            return format!("{range}, such as 0.001 or \"0.1 %\"");
        }
        if self.limits.min.is_none() && self.limits.max.is_none() {
            return self.with_example(&noun);
        }
        range(&noun, &self.limits, "")
    }

    /// A quantity with a correct value, such as "a rate such as "20 Mbit/s"".
    pub(crate) fn example_of(&self, quantity: Quantity) -> String {
        self.with_example(noun(quantity))
    }

    fn with_example(&self, noun: &str) -> String {
        format!("{noun} such as {:?}", self.example.as_deref().unwrap_or_default())
    }
}

fn length(min: usize, max: usize) -> String {
    match (min, max) {
        (1, usize::MAX) => "one or more".to_owned(),
        (min, usize::MAX) => format!("at least {min}"),
        (min, max) if min == max => min.to_string(),
        (min, max) => format!("{min} to {max}"),
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
