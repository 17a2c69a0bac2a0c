//! Requests and their answers.

use crate::catalogue::catalogue;
use crate::refusal::Refusal;
use crate::runs::{Runs, Start};
use crate::scenario::ScenarioText;
use quiclab_core::Time;
use quiclab_scenario::{Network, NetworkText};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    Catalogue(Nothing),
    Network(NetworkRequest),
    Resolve(ScenarioText),
    Toml(ScenarioText),
    Start(Start),
    Advance(Advance),
    Finish(RunNumber),
    Discard(RunNumber),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkRequest {
    /// TOML of a named path.
    text: String,
    /// Its name in errors.
    file: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    run: u32,
    /// Virtual time up to which events are handled.
    until_ns: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunNumber {
    run: u32,
}

/// The answer to a request, both JSON.
pub(crate) fn answer(request: &[u8], runs: &mut Runs) -> String {
    let answer = serde_json::from_slice(request)
        .map_err(|error| Refusal::Other(format!("request: {error}")))
        .and_then(|request| handle(request, runs));
    match answer {
        Ok(value) => format!("{{\"ok\":{value}}}"),
        Err(refusal) => json!({ "error": refusal.into_json() }).to_string(),
    }
}

/// The value of the answer, as JSON.
fn handle(request: Request, runs: &mut Runs) -> Result<String, Refusal> {
    match request {
        Request::Catalogue(Nothing {}) => Ok(catalogue().to_string()),
        Request::Network(NetworkRequest { text, file }) => {
            Ok(json!(Network::from_toml(&NetworkText { text, file })?).to_string())
        }
        Request::Resolve(text) => Ok(json!(text.scenario()?).to_string()),
        Request::Toml(text) => {
            let toml = text.scenario()?.to_toml();
            Ok(json!(toml.map_err(|error| Refusal::Other(error.to_string()))?).to_string())
        }
        Request::Start(start) => runs.start(start),
        Request::Advance(Advance { run, until_ns }) => runs.advance(run, Time::from_nanos(until_ns)),
        Request::Finish(RunNumber { run }) => runs.finish(run),
        Request::Discard(RunNumber { run }) => runs.discard(run),
    }
}
