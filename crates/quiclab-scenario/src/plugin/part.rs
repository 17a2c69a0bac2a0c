//! Parts: the options of an endpoint that a plugin can exchange, and their values.

use super::super::VERSION;
use super::super::error::{FieldError, ScenarioError};
use super::super::load::Document;
use quiclab_transport::options::EndpointConfig;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Not parts of a transport, but what has them.
const NOT_PARTS: [&str; 3] = ["stack", "profile", "host"];
/// Tables whose fields are parts, each by itself; any other table is one part.
const GROUPS: [&str; 3] = ["http2", "quic", "tcp"];

/// Names of all parts, sorted: the fields of [`EndpointConfig`], as its schema has them.
pub(crate) fn parts() -> &'static [String] {
    static PARTS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let schema = schemars::schema_for!(EndpointConfig).to_value();
        let fields = |table: &Value| -> Vec<String> {
            let properties = table["properties"].as_object().expect("a table has properties");
            properties.keys().cloned().collect()
        };
        let mut parts = Vec::new();
        for name in fields(&schema) {
            if GROUPS.contains(&name.as_str()) {
                let choices = schema["properties"][&name]["anyOf"].as_array();
                let table =
                    choices.and_then(|choices| choices.iter().find_map(|choice| choice["$ref"].as_str()));
                let table = table.and_then(|table| schema.pointer(table.trim_start_matches('#')));
                let inside = fields(table.expect("an optional table is a reference or null"));
                parts.extend(inside.iter().map(|field| format!("{name}.{field}")));
            } else if !NOT_PARTS.contains(&name.as_str()) {
                parts.push(name);
            }
        }
        parts.sort_unstable();
        parts
    });
    &PARTS
}

/// Whether a part has this name.
pub(crate) fn is_part(name: &str) -> bool {
    parts().binary_search_by(|part| part.as_str().cmp(name)).is_ok()
}

/// Why a value is none of an option.
#[derive(Debug, PartialEq)]
pub(crate) struct PartProblem {
    /// Way from the value to what is wrong in it.
    pub(crate) below: Vec<String>,
    /// What is wrong, as the loader says it.
    pub(crate) error: FieldError,
}

/// `value` as the option `part` reads it, with defaults filled in: equal values have equal forms.
pub(crate) fn canonical(part: &str, value: &Value) -> Result<Value, Box<PartProblem>> {
    // the loader explains what is wrong with a value only where it stands
    let mut sender = json!({});
    *place(&mut sender, part) = value.clone();
    let workload = json!({ "kind": "download", "size": "1 B" });
    let flows = json!({ "probe": { "sender": sender, "workload": workload } });
    let probe = json!({ "version": VERSION, "name": "probe", "flows": flows });
    let scenario = Document::from_json(&probe.to_string(), None, &[]).and_then(|probe| probe.scenario());
    let steps = 3 + part.split('.').count(); // flows, probe, sender, and those of the part
    let problem = |error: FieldError| {
        let below = error.path.steps().get(steps..).unwrap_or_default().to_vec();
        Box::new(PartProblem { below, error })
    };
    let sender = match scenario {
        Ok(scenario) => json!(scenario.flows["probe"].sender),
        Err(ScenarioError::Field(error)) => return Err(problem(*error)),
        Err(error @ ScenarioError::Syntax { .. }) => unreachable!("JSON that serde_json wrote: {error}"),
    };
    match find(&sender, part) {
        Some(value) => Ok(value.clone()),
        // null, or a number that JSON does not have
        None => {
            let refused = ScenarioError::refused(Default::default(), "null", "a value of this option");
            let ScenarioError::Field(error) = refused else { unreachable!("what `refused` makes") };
            Err(problem(*error))
        }
    }
}

/// The value of `part` in an endpoint.
pub(super) fn find<'a>(endpoint: &'a Value, part: &str) -> Option<&'a Value> {
    part.split('.').try_fold(endpoint, |table, step| table.get(step))
}

/// Where the value of `part` stands in an endpoint; tables on the way are created.
pub(super) fn place<'a>(endpoint: &'a mut Value, part: &str) -> &'a mut Value {
    part.split('.').fold(endpoint, |table, step| &mut table[step])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_options_of_an_endpoint() {
        for part in
            ["pacing", "packet_threshold", "congestion_control", "tls", "quic.acknowledgement", "tcp.mss"]
        {
            assert!(is_part(part), "{part}");
        }
        for other in
            ["stack", "profile", "host", "quic", "tcp", "http2", "mss", "", "tls.version", "pacing.kind"]
        {
            assert!(!is_part(other), "{other}");
        }
    }

    #[test]
    fn every_part_can_be_placed_and_a_wrong_value_of_it_is_found_out() {
        for part in parts() {
            let problem = canonical(part, &json!({ "nonsense": 1 })).unwrap_err();
            assert!(problem.error.path.steps().starts_with(&["flows", "probe", "sender"].map(str::to_owned)));
            assert!(
                ["", "nonsense", "kind"].contains(&&*problem.below.join(".")),
                "{part}: {}",
                problem.error
            );
        }
    }

    #[test]
    fn equal_values_have_equal_forms() {
        let forms = [json!({ "kind": "even" }), json!({ "factor": 1.25, "kind": "even" })];
        let [a, b] = forms.map(|value| canonical("pacing", &value).unwrap());
        assert_eq!(a, b);
        let times =
            [json!("25 ms"), json!("0.025 s")].map(|value| canonical("quic.max_ack_delay", &value).unwrap());
        assert_eq!(times[0], times[1]);
        assert_eq!(canonical("packet_threshold", &json!(3)).unwrap(), json!(3));
    }

    #[test]
    fn what_is_wrong_inside_a_value_is_named() {
        let problem = canonical("pacing", &json!({ "kind": "evn" })).unwrap_err();
        assert_eq!(problem.below, ["kind"]);
        assert!(problem.error.allowed.contains("`even`"), "{}", problem.error);
        let problem = canonical("packet_threshold", &Value::Null).unwrap_err();
        assert_eq!(problem.error.allowed, "a value of this option");
    }
}
