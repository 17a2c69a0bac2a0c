//! Files that a scenario names: traces and conditions of links, arrivals of connections.

use quiclab_core::link::{LinkConfig, Rate, RateAt, ShapedRate};
use quiclab_core::problem::{quoted, system_reason};
use quiclab_core::{Conditions, FieldPath, LinkInputs, Problem, Trace};
use std::io::Read;
use std::path::Path;

/// Maximum length of a file: it is read as a whole.
const MAX_BYTES: u64 = 100_000_000;

/// Text of a file that the field at `path` names.
///
/// # Errors
/// If it cannot be read, is longer than [`MAX_BYTES`] or is not text.
pub(super) fn text_of(file: &Path, base_dir: &Path, path: &FieldPath) -> Result<String, Problem> {
    let refused = |reason: String| refusal(file, path, reason);
    let failed = |error| refused(system_reason(&error));
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(base_dir.join(file)).map_err(failed)?;
    let length = opened.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if length as u64 > MAX_BYTES {
        return Err(refused(format!("expected at most {MAX_BYTES} B, got more")));
    }
    String::from_utf8(bytes).map_err(|_| refused("not text in UTF-8".to_owned()))
}

/// Problem with the file that the field at `path` names.
pub(super) fn refusal(file: &Path, path: &FieldPath, reason: String) -> Problem {
    Problem::file(path.clone(), reason).got(quoted(file.display()))
}

/// Reads the trace and the conditions of the link `name`, if it has some.
///
/// # Errors
/// If a file cannot be read or is not of its format.
pub(super) fn read_inputs(name: &str, config: &LinkConfig, base_dir: &Path) -> Result<LinkInputs, Problem> {
    let trace = read_trace(name, config, base_dir)?;
    let file = config.conditions.as_ref().and_then(|conditions| conditions.file.as_ref());
    let path = FieldPath::new(["links", name, "conditions", "file"]);
    let text = file.map(|file| text_of(file, base_dir, &path)).transpose()?;
    let conditions = Conditions::new(config, text.as_deref())
        .map_err(|problem| problem.below(&FieldPath::new(["links", name])))?;
    Ok(LinkInputs { trace, conditions, changes: false })
}

/// Reads the trace of the link `name`, if its rate is one.
fn read_trace(name: &str, config: &LinkConfig, base_dir: &Path) -> Result<Option<Trace>, Problem> {
    let Some(Rate::Shaped(ShapedRate::Trace { file, format, at_end, rate_at })) = &config.rate else {
        return Ok(None);
    };
    let path = FieldPath::new(["links", name, "rate", "file"]);
    let text = text_of(file, base_dir, &path)?;
    let trace =
        Trace::parse(&text, *format, *at_end).map_err(|error| refusal(file, &path, error.to_string()))?;
    if *rate_at == RateAt::Enqueue && trace.pauses() {
        let reason = "expected rates above 0 with `rate_at` \"enqueue\", got 0: in netem it is no limit";
        return Err(refusal(file, &path, reason.to_owned()));
    }
    Ok(Some(trace))
}
