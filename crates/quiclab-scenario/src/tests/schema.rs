//! The exported JSON schema accepts loadable documents and rejects those of the wrong shape.

use super::examples;
use crate::Scenario;
use quiclab_transport::options::CongestionControl;
use serde_json::{Value, json};

/// Checks `value` against the keywords that the exported schema uses; `format` and `pattern` do not constrain
/// the shape. An unknown keyword fails, so that none goes unchecked.
fn accepts(root: &Value, schema: &Value, value: &Value) -> bool {
    let Value::Object(keywords) = schema else { return schema == &json!(true) };
    let also = |schema: &Value| accepts(root, schema, value);
    let number = |limit: &Value, holds: fn(f64, f64) -> bool| {
        value.as_f64().is_none_or(|value| holds(value, limit.as_f64().unwrap()))
    };
    keywords.iter().all(|(keyword, argument)| match keyword.as_str() {
        "$schema" | "$defs" | "title" | "description" | "default" | "examples" | "format" | "pattern" => true,
        // limits of quantities and units: quiclab-config reads them
        extension if extension.starts_with("x-") => true,
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= argument.as_u64().unwrap()),
        "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= argument.as_u64().unwrap()),
        "minProperties" => {
            value.as_object().is_none_or(|fields| fields.len() as u64 >= argument.as_u64().unwrap())
        }
        "minLength" => value.as_str().is_none_or(|text| text.len() as u64 >= argument.as_u64().unwrap()),
        "exclusiveMinimum" => number(argument, |value, limit| value > limit),
        "$ref" => also(root.pointer(argument.as_str().unwrap().trim_start_matches('#')).unwrap()),
        "anyOf" => argument.as_array().unwrap().iter().any(also),
        "oneOf" => argument.as_array().unwrap().iter().filter(|schema| also(schema)).count() == 1,
        "const" => value == argument,
        "enum" => argument.as_array().unwrap().contains(value),
        "minimum" => number(argument, |value, limit| value >= limit),
        "maximum" => number(argument, |value, limit| value <= limit),
        "type" => {
            let is = |kind: &Value| match kind.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                "null" => value.is_null(),
                other => panic!("type {other}"),
            };
            argument.as_array().map_or_else(|| is(argument), |kinds| kinds.iter().any(is))
        }
        "required" => {
            let has = |name: &Value| value.get(name.as_str().unwrap()).is_some();
            !value.is_object() || argument.as_array().unwrap().iter().all(has)
        }
        "items" => {
            value.as_array().is_none_or(|items| items.iter().all(|item| accepts(root, argument, item)))
        }
        "properties" => value.as_object().is_none_or(|fields| {
            fields
                .iter()
                .all(|(name, field)| argument.get(name).is_none_or(|schema| accepts(root, schema, field)))
        }),
        "additionalProperties" => value.as_object().is_none_or(|fields| {
            fields.iter().all(|(name, field)| {
                let known = keywords.get("properties").is_some_and(|known| known.get(name).is_some());
                known || accepts(root, argument, field)
            })
        }),
        other => panic!("keyword {other}"),
    })
}

fn from_toml(text: &str) -> Value {
    toml::from_str(text).unwrap()
}

#[test]
fn the_schema_accepts_every_example_as_written_and_resolved() {
    let schema = Scenario::schema();
    for (name, text) in examples() {
        assert!(accepts(&schema, &schema, &from_toml(&text)), "{name} as written");
        let resolved = Scenario::from_toml(&text, &name, &[]).unwrap().to_toml().unwrap();
        assert!(accepts(&schema, &schema, &from_toml(&resolved)), "{name} resolved");
    }
    assert!(accepts(&schema, &schema, &from_toml(Scenario::template())));
}

#[test]
fn the_schema_accepts_every_kind_of_pacing_and_workload() {
    let schema = Scenario::schema();
    for (path, value) in [
        ("/flows/main/sender/pacing", json!({ "kind": "none" })),
        ("/flows/main/sender/pacing", json!({ "kind": "leaky_bucket" })),
        ("/flows/main/sender/pacing", json!({ "kind": "even", "factor": 1 })),
        ("/flows/main/sender/pacing", json!({ "kind": "quantum", "quantum": "2 ms" })),
        ("/flows/main/sender/pacing", json!({ "kind": "linux" })),
        ("/links/down1/feedback", json!({ "interval": "10 ms" })),
        ("/flows/main/sender/pacing", json!({ "kind": "fq", "max_rate": "10 Mbit/s" })),
        ("/flows/main/sender/quic", json!({ "path_scheduler": "earliest_arrival" })),
        (
            "/flows/main/sender/quic",
            json!({ "path_scheduler": { "kind": "weighted_round_robin", "weights": [3] } }),
        ),
        ("/flows/main/sender/quic", json!({ "path_scheduler": { "kind": "ecf" } })),
        ("/flows/main/sender/tls", json!({ "version": "1.2", "resumption": true })),
        ("/flows/main/workload", json!({ "kind": "request_response", "count": 2, "response": "1 kB" })),
        ("/flows/main/workload", json!({ "kind": "ping", "count": 2 })),
        (
            "/flows/main/workload",
            json!({ "kind": "datagrams", "rate": "1 Mbit/s", "size": "1 kB", "duration": "1 s" }),
        ),
    ] {
        let mut scenario = from_toml(Scenario::template());
        let (parent, field) = path.rsplit_once('/').unwrap();
        scenario.pointer_mut(parent).unwrap()[field] = value.clone();
        assert!(accepts(&schema, &schema, &scenario), "{path} = {value}");
        assert!(Scenario::from_json(&scenario.to_string()).is_ok(), "{path} = {value}");
    }
}

#[test]
fn names_are_those_that_serde_reads() {
    for &control in CongestionControl::ALL {
        assert_eq!(json!(control), json!(control.name()));
    }
}

#[test]
fn the_schema_refuses_what_does_not_load() {
    let schema = Scenario::schema();
    for (path, value) in [
        ("/links/down1/rate", json!(20)),
        ("/links/down1/rate", json!({ "kind": "bucket" })),
        ("/links/down1/raet", json!("20 Mbit/s")),
        ("/links/down1/loss", json!(2)),
        ("/links/down1/loss", json!({ "kind": "gilbert_elliott" })),
        ("/links/down1/delay", json!({ "deviation": "1 ms" })),
        ("/links/down1/delay", json!({ "mean": "1 ms", "jitter": "1 ms" })),
        ("/links/down1/queue", json!({ "kind": "drop_tail", "limit": 1 })),
        ("/version", json!("1")),
        ("/flows/main/down", json!("down1")),
        ("/flows/main/workload", json!({ "kind": "upload" })),
        ("/flows/main/workload", json!({ "kind": "ping", "count": 1, "rate": "1 Mbit/s" })),
        ("/flows/main/workload", json!({ "kind": "datagrams" })),
        ("/flows/main/sender/pacing", json!("none")),
        ("/flows/main/sender/pacing", json!({ "kind": "none", "factor": 2 })),
        ("/flows/main/sender/tcp", json!({ "mss": 1460 })),
        ("/flows/main/sender/quic", json!({ "path_scheduler": "fastest" })),
        ("/flows/main/sender/quic", json!({ "path_scheduler": "weighted_round_robin" })),
        ("/flows/main/sender/quic", json!({ "path_scheduler": { "kind": "ecf", "weights": [3] } })),
        ("/flows/main/sender/quic", json!({ "path_scheduler": { "kind": "redundant", "weights": [3] } })),
        ("/flows/main/sender/tls", json!({ "version": "1.1" })),
        ("/flows/main/sender/congestion_control", json!("bbr")),
    ] {
        let mut scenario = from_toml(Scenario::template());
        let (parent, field) = path.rsplit_once('/').unwrap();
        scenario.pointer_mut(parent).unwrap()[field] = value.clone();
        assert!(!accepts(&schema, &schema, &scenario), "{path} = {value}");
        assert!(Scenario::from_json(&scenario.to_string()).is_err(), "{path} = {value}");
    }
}
