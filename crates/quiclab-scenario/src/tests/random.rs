//! The printed form of random scenarios loads back; random text and random damage never panic.

use super::{examples, load, some_stacks};
use crate::Scenario;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use quiclab_config::{Document, Location, Schema};
use std::sync::LazyLock;

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Scenario>);

/// Numbers of a random sequence with this `seed`.
fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut random = quiclab_core::RandomStream::new(seed, "scenario");
    move |below| random.bits() % below
}

/// A random scenario: each field alone is valid.
fn scenario(seed: u64) -> Scenario {
    let json = SCHEMA.random(&mut draws(seed));
    Scenario::from_json(&json.to_string()).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// A scenario of the repository with a few changed fields.
fn varied(example: &str, seed: u64) -> Scenario {
    let mut json = serde_json::to_value(Scenario::from_toml(example, "s.toml", &[]).unwrap()).unwrap();
    let mut draw = draws(seed);
    for _ in 0..1 + draw(4) {
        SCHEMA.vary(&mut json, &mut draw);
    }
    Scenario::from_json(&json.to_string()).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// Texts that reach deeper into loader and validation than random letters.
const FRAGMENTS: &[&str] = &[
    "0",
    "-1",
    "1e99",
    "99999999999999999999",
    "nan",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"x\"",
    "\"0 ms\"",
    "\"10\"",
    "\"-5 %\"",
    "\"18446744073709551615 ns\"",
    "[1, 2]",
    "{ kind = \"x\" }",
    "[flows.x]",
    "[[wires]]",
    "from = \"a.0\"",
    "to = \"dc.ingress.70000\"",
    "kind",
    ".",
    "=",
    "\n",
    "\"",
    "1979-05-27",
];

proptest! {
    #[test]
    fn what_is_printed_loads_back(seed in any::<u64>()) {
        let scenario = scenario(seed);
        let printed = scenario.to_toml().unwrap();
        let again = Scenario::from_toml(&printed, "s.toml", &[]);
        prop_assert_eq!(again, Ok(scenario.resolved()), "{}", printed);
    }

    #[test]
    fn random_scenarios_validate_without_panic(seed in any::<u64>()) {
        let scenario = scenario(seed);
        if scenario.validate(&some_stacks).is_ok() {
            prop_assert!(!scenario.wiring().is_empty());
        }
    }

    #[test]
    fn varied_examples_validate_without_panic(example in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let examples = examples();
        let scenario = varied(&example.get(&examples).1, seed);
        match scenario.validate(&some_stacks) {
            Ok(()) => prop_assert!(!scenario.wiring().is_empty()),
            Err(problem) => prop_assert!(!problem.path.steps().is_empty(), "{problem}"),
        }
    }

    #[test]
    fn random_text_never_panics(text in any::<String>(), path in any::<String>(), value in any::<String>()) {
        let _ = load(&text, &[]);
        let _ = Scenario::from_json(&text);
        let _ = load(Scenario::template(), &[(&path, &value)]);
    }

    #[test]
    fn damaged_examples_give_a_sentence(
        example in any::<prop::sample::Index>(),
        damage in vec((any::<prop::sample::Index>(), 0..12usize, select(FRAGMENTS)), 1..4),
    ) {
        let examples = examples();
        let mut text: Vec<char> = example.get(&examples).1.chars().collect();
        for (place, length, fragment) in damage {
            let start = place.index(text.len());
            let end = (start + length).min(text.len());
            text.splice(start..end, fragment.chars());
        }
        let text: String = text.into_iter().collect();
        match load(&text, &[]) {
            Ok(scenario) => prop_assert!(!scenario.wiring().is_empty()),
            Err(error) => {
                let sentence = error.to_string();
                prop_assert!(sentence.starts_with("s.toml:"), "{}", sentence);
                prop_assert!(error.render(false).contains(&error.problem.to_string()), "{}", error.render(false));
                prop_assert_eq!(sentence.lines().count(), 1, "{}", sentence);
            }
        }
    }

    #[test]
    fn a_value_of_another_type_is_named_by_path_and_line(
        example in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
    ) {
        // `nan` is no valid value of any field but a threshold; JSON pointers of all leaves give the paths
        let examples = examples();
        let text = &example.get(&examples).1;
        let mut leaves = Vec::new();
        collect(&toml::from_str(text).unwrap(), String::new(), &mut leaves);
        let path = place.get(&leaves);
        let error = load(text, &[(path, "nan")]).unwrap_err();
        prop_assert_eq!(&error.location, &Location::CommandLine);
        prop_assert_eq!((error.problem.path.to_string(), error.problem.value.as_deref()), (path.clone(), Some("NaN")));
        let document = Document::from_toml(text, "s.toml", &[]).unwrap();
        prop_assert!(Scenario::decode(&document).is_ok());
    }
}

/// Dotted paths of all values that are neither tables nor arrays.
fn collect(value: &serde_json::Value, path: String, leaves: &mut Vec<String>) {
    let below = |step: &str| if path.is_empty() { step.to_owned() } else { format!("{path}.{step}") };
    match value {
        serde_json::Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| collect(value, below(name), leaves));
        }
        serde_json::Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| collect(value, below(&at.to_string()), leaves));
        }
        _ => leaves.push(path),
    }
}
