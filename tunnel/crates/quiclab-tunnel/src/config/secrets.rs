//! Errors and notes without key material: a configuration contains only public keys, but a private one may have been
//! pasted into it by mistake, or the key file itself may have been given as the configuration.
//!
//! Text that looks like a key is hidden anywhere, and so are the values of fields with the name of a key.

use quiclab_config::{ConfigError, Location, Note};
use quiclab_core::{FieldPath, Problem};

/// Minimum length of a run of hexadecimal digits or Base64 characters that may be a key.
const MIN_RUN: usize = 16;
/// Parts of the names of fields with keys.
const NAMES: [&str; 6] = ["key", "secret", "private", "passw", "psk", "token"];
/// Names that contain one of them, but whose fields hold no key.
const PLAIN_NAMES: [&str; 1] = ["key_file"];
const HIDDEN: char = '*';

/// Hides keys in the text and the message of an error.
pub(super) fn hide(error: ConfigError) -> ConfigError {
    let Problem { path, kind, value, expected, reason, suggestion } = *error.problem;
    let of_key = path.steps().iter().any(|step| is_key_name(step));
    let length = marked_length(&error.location);
    let value = value.map(|value| match value.chars().next() {
        Some('"') if of_key && length.is_some() => {
            format!("{} characters (hidden: they may be a key)", length.unwrap_or_default())
        }
        _ if of_key => "a hidden value: it may be a key".to_owned(),
        Some('[') => "an array".to_owned(),
        Some('{') => "a table".to_owned(),
        _ => hide_in_text(&value),
    });
    let problem = Problem {
        path: FieldPath::new(path.steps().iter().map(|step| hide_runs(step))),
        kind,
        value,
        expected: hide_runs(&expected),
        reason: reason.map(|reason| hide_in_text(&reason)),
        suggestion: suggestion.map(|suggestion| hide_runs(&suggestion).into()),
    };
    ConfigError::new(problem, hide_in_location(error.location))
}

/// Hides keys in the text of a note.
pub(super) fn hide_in_note(note: Note) -> Note {
    Note { location: hide_in_location(note.location), ..note }
}

/// Number of characters of the marked string, if it is written without escape sequences.
fn marked_length(location: &Location) -> Option<usize> {
    let Location::Text { text, span, .. } = location else { return None };
    let string = text.get(span.clone())?.strip_prefix('"')?.strip_suffix('"')?;
    (!string.contains(['"', '\\'])).then(|| string.chars().count())
}

/// Hides keys in the text of a location, whose length in bytes stays, so that the same bytes are marked.
fn hide_in_location(location: Location) -> Location {
    match location {
        Location::Text { file, text, span } => {
            Location::Text { file, text: hide_in_text(&text).into(), span }
        }
        other => other,
    }
}

/// Hides runs that look like keys, and the values of fields with names of keys, until the next field or table.
fn hide_in_text(text: &str) -> String {
    let mut of_key = false;
    let hidden = text.split_inclusive('\n').map(|line| {
        let assignments = line.match_indices('=').filter_map(|(at, _)| Some((at, name_before(&line[..at])?)));
        let mut names = assignments.peekable();
        of_key &= names.peek().is_none() && !is_header(line);
        let start = match names.find(|(_, name)| is_key_name(name)) {
            _ if of_key => 0,
            Some((at, _)) => at + 1,
            None => return hide_runs(line),
        };
        let end = comment(&line[start..]).filter(|_| start > 0).map_or(line.len(), |at| start + at);
        of_key = true;
        let hide = |c: char| {
            let shown = if c.is_whitespace() || "\"'".contains(c) { c } else { HIDDEN };
            std::iter::repeat_n(shown, if shown == c { 1 } else { c.len_utf8() })
        };
        let (before, after) = (hide_runs(&line[..start]), hide_in_text(&line[end..]));
        before.chars().chain(line[start..end].chars().flat_map(hide)).chain(after.chars()).collect()
    });
    hidden.collect()
}

/// Position of the comment after a value, if the value is a string on one line without escape sequences: with other values, the
/// beginning of a comment is uncertain.
fn comment(value: &str) -> Option<usize> {
    let string = value.trim_start();
    let quote = string.chars().next().filter(|c| "\"'".contains(*c))?;
    let (inside, rest) = string[1..].split_once(quote)?;
    let is_comment = !inside.is_empty() && !inside.contains('\\') && rest.trim_start().starts_with('#');
    is_comment.then(|| value.len() - rest.trim_start().len())
}

/// The name of a field in front of `=`.
fn name_before(text: &str) -> Option<&str> {
    let text = text.trim_end().trim_end_matches(['"', '\'']);
    let start = text.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
    let name = &text[start.map_or(0, |at| at + text[at..].chars().next().map_or(0, char::len_utf8))..];
    (!name.is_empty()).then_some(name)
}

fn is_header(line: &str) -> bool {
    let line = line.trim();
    let name = line.trim_start_matches('[').trim_end_matches(']').trim();
    line.starts_with('[')
        && line.ends_with(']')
        && name_before(name) == Some(name.rsplit('.').next().unwrap_or(name))
}

fn is_key_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !PLAIN_NAMES.contains(&name.as_str()) && NAMES.iter().any(|part| name.contains(part))
}

fn hide_runs(text: &str) -> String {
    let of_run = |c: char| c.is_ascii_alphanumeric() || "+/_-".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(of_run) {
        let end = rest[start..].find(|c| !of_run(c)).map_or(rest.len(), |length| start + length);
        out.push_str(&rest[..start]);
        // of a path, only the text before the first part that looks like a key is shown
        let parts = rest[start..end].split_inclusive('/').scan(start, |at, part| {
            *at += part.len();
            Some((*at - part.len(), part))
        });
        let is_path = rest[start..].starts_with('/');
        let key = if is_path {
            parts.into_iter().find(|(_, part)| looks_like_key(part)).map_or(end, |(at, _)| at)
        } else if looks_like_key(&rest[start..end]) {
            start
        } else {
            end
        };
        out.push_str(&rest[start..key]);
        out.extend(std::iter::repeat_n(HIDDEN, end - key));
        rest = &rest[end..];
    }
    out + rest
}

/// Whether a run looks like random digits of base 16 or 64; words and paths have hardly any digits, and
/// letters of one case.
fn looks_like_key(run: &str) -> bool {
    let count = |is: fn(&u8) -> bool| run.bytes().filter(is).count();
    let digits = count(u8::is_ascii_digit);
    let mixed = count(u8::is_ascii_uppercase) > 1 && count(u8::is_ascii_lowercase) > 1;
    run.len() >= MIN_RUN && (4 * digits >= run.len() || mixed)
}
