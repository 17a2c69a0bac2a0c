//! Parts: the options of an endpoint that a plugin can replace, and their values.

use quiclab_config::{Document, Schema};
use quiclab_core::{FieldPath, Problem};
use quiclab_transport::options::EndpointConfig;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Fields that are not parts of a transport but select or contain it.
const NOT_PARTS: [&str; 3] = ["stack", "profile", "host"];
/// Tables whose fields are separate parts; any other table is one part.
const GROUPS: [&str; 3] = ["http2", "quic", "tcp"];

/// Names of all parts, sorted: the fields of [`EndpointConfig`] according to its schema.
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

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<EndpointConfig>);

/// `value` as parsed for the option `part`, with defaults filled in: equal values have equal forms. The path
/// of a problem leads from the value to the error in it.
pub(crate) fn canonical(part: &str, value: &Value) -> Result<Value, Problem> {
    let mut endpoint = json!({});
    *place(&mut endpoint, part) = value.clone();
    let decoded =
        Document::from_value(&endpoint).and_then(|document| document.decode::<EndpointConfig>(&SCHEMA));
    let endpoint = json!(decoded.map_err(|error| {
        let below = error.problem.path.steps().get(part.split('.').count()..).unwrap_or_default().to_vec();
        Problem { path: FieldPath::new(below), ..*error.problem }
    })?);
    // a null is an absent field
    find(&endpoint, part).cloned().ok_or_else(|| Problem::value("", "null", "a value of this option"))
}

/// The value of `part` in an endpoint.
pub(super) fn find<'a>(endpoint: &'a Value, part: &str) -> Option<&'a Value> {
    part.split('.').try_fold(endpoint, |table, step| table.get(step))
}

/// Place of the value of `part` in an endpoint; tables on the way are created.
pub(super) fn place<'a>(endpoint: &'a mut Value, part: &str) -> &'a mut Value {
    part.split('.').fold(endpoint, |table, step| &mut table[step])
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::ProblemKind;

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
            assert!(
                ["", "nonsense", "kind"].contains(&&*problem.path.steps().join(".")),
                "{part}: {problem}"
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
        assert_eq!(problem.path.steps(), ["kind"]);
        assert_eq!((problem.kind, problem.suggestion.as_deref()), (ProblemKind::UnknownName, Some("even")));
        let problem = canonical("packet_threshold", &Value::Null).unwrap_err();
        assert_eq!(problem.expected, "a value of this option");
    }
}
