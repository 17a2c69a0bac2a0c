//! Random documents that follow the rules of a schema, for property tests of their readers.

use crate::schema::{Field, Quantity, Rule, Schema, Shape, Table};
use serde_json::{Map, Value as Json};

/// A source of random numbers: draws one below its argument, which is at least 1.
pub type Draw<'a> = &'a mut dyn FnMut(u64) -> u64;

impl Schema {
    /// A random document. Each field alone is valid; combinations of fields need not be.
    pub fn random(&self, draw: Draw<'_>) -> Json {
        self.root.random(draw)
    }

    /// Changes one value of `document` at a random place: replaces, adds or removes it. Each field alone
    /// stays valid.
    pub fn vary(&self, document: &mut Json, draw: Draw<'_>) {
        self.root.vary(document, draw);
    }
}

impl Rule {
    fn random(&self, draw: Draw<'_>) -> Json {
        match &self.shape {
            Shape::Any => Json::from(draw(100)),
            Shape::Boolean => Json::from(draw(2) == 1),
            Shape::Integer if !self.limits.one_of.is_empty() => Json::from(*pick(&self.limits.one_of, draw)),
            Shape::Integer => {
                let bound =
                    |limit: &Option<Json>, default| limit.as_ref().and_then(Json::as_u64).unwrap_or(default);
                Json::from(between(
                    bound(&self.limits.min, 0),
                    bound(&self.limits.max, i64::MAX as u64),
                    draw,
                ))
            }
            Shape::Number => self.random_number(1e6, draw),
            Shape::Text(form) => Json::from(form.example(draw(200), &self.limits)),
            Shape::Quantity(Quantity::Probability) => self.random_number(1.0, draw),
            Shape::Quantity(quantity) => Json::from(self.random_quantity(*quantity, draw)),
            Shape::Names(names) => Json::from(pick(names, draw).as_str()),
            Shape::Array { items, min, max } => {
                let count = between(*min as u64, (*max).min(min + 3) as u64, draw);
                (0..count).map(|_| items.random(draw)).collect()
            }
            Shape::Table(table) => Json::Object(table.random(draw)),
            Shape::Tagged { tag, variants } => {
                let (kind, table) = pick(variants, draw);
                let mut fields = table.random(draw);
                fields.insert(tag.clone(), Json::from(kind.as_str()));
                Json::Object(fields)
            }
            Shape::Either(choices) => pick(choices, draw).random(draw),
        }
    }

    /// A number within the limits, or from 0 to `max`; the lower limit only if it is the only value.
    fn random_number(&self, max: f64, draw: Draw<'_>) -> Json {
        let bound = |limit: &Option<Json>, default| limit.as_ref().and_then(Json::as_f64).unwrap_or(default);
        let (min, max) = (bound(&self.limits.min, 0.0), bound(&self.limits.max, max));
        Json::from(min + (max - min) * (1 + draw(1000)) as f64 / 1000.0)
    }

    fn random_quantity(&self, quantity: Quantity, draw: Draw<'_>) -> String {
        let parse =
            |limit: &Json| quantity.parse(limit.as_str().unwrap_or_default()).expect("limits are quantities");
        let min = self.limits.min.as_ref().map_or(0, parse) + u64::from(self.limits.exclusive);
        let max = self.limits.max.as_ref().map_or(u64::MAX, parse);
        let unit = match quantity {
            Quantity::Duration => "ns",
            Quantity::Rate => "bit/s",
            Quantity::Size => "B",
            Quantity::Probability => unreachable!("a probability is drawn as a number"),
        };
        format!("{} {unit}", between(min, max, draw))
    }

    fn vary(&self, value: &mut Json, draw: Draw<'_>) {
        match (&self.shape, &mut *value) {
            (Shape::Table(table), Json::Object(fields)) if draw(8) > 0 => table.vary(fields, draw),
            (Shape::Tagged { tag, variants }, Json::Object(fields)) if draw(4) > 0 => {
                let kind = fields.get(tag).and_then(Json::as_str).unwrap_or_default();
                let table = variants.iter().find(|(name, _)| name == kind).map(|(_, table)| table);
                table.expect("the document follows its schema").vary(fields, draw);
            }
            (Shape::Either(choices), Json::Object(_)) if draw(4) > 0 => {
                let tables = |rule: &&Self| matches!(rule.shape, Shape::Table(_) | Shape::Tagged { .. });
                choices.iter().find(tables).expect("a choice is a table").vary(value, draw);
            }
            (Shape::Array { items, .. }, Json::Array(entries)) if !entries.is_empty() && draw(2) > 0 => {
                let index = draw(entries.len() as u64) as usize;
                items.vary(&mut entries[index], draw);
            }
            _ => *value = self.random(draw),
        }
    }
}

impl Table {
    fn random(&self, draw: Draw<'_>) -> Map<String, Json> {
        let mut fields = Map::new();
        for (name, Field { rule, required, .. }) in &self.fields {
            if *required || draw(3) == 0 {
                fields.insert(name.clone(), rule.random(draw));
            }
        }
        if let Some(rule) = &self.others {
            for _ in 0..between(self.min as u64, self.max.min(self.min + 2) as u64, draw) {
                fields.insert(format!("name{}", draw(1000)), rule.random(draw));
            }
        }
        fields
    }

    fn vary(&self, fields: &mut Map<String, Json>, draw: Draw<'_>) {
        let named: Vec<_> = self.fields.iter().collect();
        let others: Vec<String> =
            fields.keys().filter(|name| !self.fields.contains_key(*name)).cloned().collect();
        let chosen = draw((named.len() + others.len()).max(1) as u64) as usize;
        if let Some((name, field)) = named.get(chosen) {
            match fields.get_mut(*name) {
                Some(_) if !field.required && draw(4) == 0 => _ = fields.remove(*name),
                Some(value) => field.rule.vary(value, draw),
                None => _ = fields.insert((*name).clone(), field.rule.random(draw)),
            }
        } else if let (Some(name), Some(rule)) = (others.get(chosen - named.len()), &self.others) {
            rule.vary(fields.get_mut(name).expect("it is one of its names"), draw);
        }
    }
}

fn pick<'a, T>(choices: &'a [T], draw: Draw<'_>) -> &'a T {
    &choices[draw(choices.len() as u64) as usize]
}

/// A number from `min` to `max`; often one of the limits, often a small or a round number.
fn between(min: u64, max: u64, draw: Draw<'_>) -> u64 {
    let span = max - min;
    let value = match draw(5) {
        0 => min,
        1 => max,
        2 => min + draw(span.clamp(1, 1000)),
        3 => draw(1000).saturating_mul(10_u64.pow(draw(8) as u32)).clamp(min, max),
        _ => min + if span == u64::MAX { draw(u64::MAX) } else { draw(span + 1) },
    };
    value.min(max)
}
