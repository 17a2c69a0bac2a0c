//! Headers of a qlog file and of its traces.

use super::record::Role;
use super::time::{Reference, TimeFormat};
use serde_json::{Map, Value};

/// Maximum length of a title or name [bytes]; longer ones are truncated.
const TEXT_MAX: usize = 200;
/// Maximum number of names of a connection, in a header and in events: of its first packet and its parameters.
const ORIGINALS_MAX: usize = 4;

/// Names of the known stacks in titles, vantage points and versions; the first match counts, so longer names
/// come first.
const STACKS: [(&str, &str); 18] = [
    ("aioquic", "aioquic"),
    ("quic-go", "quic-go"),
    ("picoquic", "picoquic"),
    ("quinn", "quinn"),
    ("ngtcp2", "ngtcp2"),
    ("mvfst", "mvfst"),
    ("proxygen", "mvfst"),
    ("neqo", "neqo"),
    ("s2n-quic", "s2n-quic"),
    ("lsquic", "lsquic"),
    ("msquic", "msquic"),
    ("xquic", "xquic"),
    ("quicly", "quicly"),
    ("haproxy", "haproxy"),
    ("kwik", "kwik"),
    ("qtr", "google quic-trace"),
    ("quiche", "quiche"),
    ("noq", "noq"),
];

/// The description of a trace.
#[derive(Clone, Debug)]
pub(super) struct TraceHeader {
    pub(super) title: String,
    pub(super) vantage: &'static str,
    pub(super) time_format: TimeFormat,
    /// Milliseconds in a unit of time.
    pub(super) unit_ms: f64,
    /// `reference_time` as it is written: its unit may follow it.
    reference_time: Option<Value>,
    pub(super) reference: Option<Reference>,
    /// `time_offset`, in its unit.
    offset: f64,
    /// Names of the connection in other files: original connection IDs, in lower case.
    pub(super) originals: Vec<String>,
    pub(super) roles: Vec<Role>,
    /// Names of the same positions.
    pub(super) event_fields: Vec<String>,
    /// The group that all events belong to.
    pub(super) group: Option<String>,
    pub(super) stack: Option<&'static str>,
}

impl Default for TraceHeader {
    fn default() -> Self {
        Self {
            title: String::new(),
            vantage: "unknown",
            // "absolute" is the default of 0.3, and small times are taken as relative anyway
            time_format: TimeFormat::Relative,
            unit_ms: 1.0,
            reference_time: None,
            reference: None,
            offset: 0.0,
            originals: Vec::new(),
            roles: Role::DEFAULT.to_vec(),
            event_fields: ["relative_time", "category", "event", "data", "data"].map(str::to_owned).to_vec(),
            group: None,
            stack: None,
        }
    }
}

impl TraceHeader {
    /// Description of a trace that inherits the fields about events from the file.
    pub(super) fn within(file: &Self) -> Self {
        Self { title: String::new(), stack: None, ..file.clone() }
    }

    /// Sets a field; true if the meaning of events depends on it.
    pub(super) fn set(&mut self, key: &str, json: &[u8]) -> bool {
        let Ok(value) = serde_json::from_slice::<Value>(json) else { return false };
        match (key, &value) {
            ("title" | "description", Value::String(text)) => {
                self.hint(text);
                if key == "title" || self.title.is_empty() {
                    self.title = cut(text);
                }
                false
            }
            ("vantage_point", Value::Object(fields)) => {
                self.vantage_type(text_of(fields, "type"));
                self.hint(text_of(fields, "name"));
                false
            }
            ("vantage_point", Value::String(text)) => {
                self.vantage_type(text);
                false
            }
            ("event_fields", Value::Array(names)) => {
                let names: Vec<&str> = names.iter().take(16).filter_map(Value::as_str).collect();
                self.roles = names.iter().map(|name| Role::named(name)).collect();
                self.event_fields = names.into_iter().map(cut).collect();
                true
            }
            ("configuration" | "common_fields", Value::Object(fields)) => self.common(fields),
            ("reference_time", _) => {
                self.reference_time = Some(value);
                self.refer();
                true
            }
            _ => false,
        }
    }

    fn common(&mut self, fields: &Map<String, Value>) -> bool {
        self.hint(text_of(fields, "code_version"));
        if let Some(group) = fields.get("group_id") {
            let group = cut(&group.as_str().map_or_else(|| group.to_string(), str::to_owned));
            self.original(&group);
            self.group = Some(group);
        }
        for key in ["ODCID", "odcid", "original_destination_connection_id", "original_connection_id"] {
            self.original(text_of(fields, key));
        }
        // mvfst names both connection IDs, each end writes that of its peer first
        let mut pair = ["dcid", "scid"].map(|key| original_id(text_of(fields, key)));
        pair.sort_unstable();
        if let [Some(one), Some(other)] = &pair {
            add_original(&mut self.originals, format!("{one} {other}"));
        }
        match text_of(fields, "time_units") {
            "us" | "µs" => self.unit_ms = 1e-3,
            "ns" => self.unit_ms = 1e-6,
            "s" => self.unit_ms = 1e3,
            _ => {}
        }
        if let Some(format) = TimeFormat::named(text_of(fields, "time_format")) {
            self.time_format = format;
        }
        if let Some(offset) = fields.get("time_offset") {
            let number = offset.as_f64().or_else(|| offset.as_str()?.trim().parse().ok());
            self.offset = number.filter(|number: &f64| number.is_finite()).unwrap_or(self.offset);
        }
        if let Some(reference) = fields.get("reference_time") {
            self.reference_time = Some(reference.clone());
        }
        self.refer();
        ["time_units", "time_format", "reference_time"].iter().any(|key| fields.contains_key(*key))
    }

    /// Sets the reference time, in the unit known so far.
    fn refer(&mut self) {
        self.reference = self.reference_time.as_ref().and_then(|value| Reference::of(value, self.unit_ms));
    }

    /// Offset to add to all times of the trace [ms].
    pub(super) fn offset_ms(&self) -> f64 {
        self.offset * self.unit_ms
    }

    /// Adds an original connection ID.
    fn original(&mut self, text: &str) {
        if let Some(id) = original_id(text) {
            add_original(&mut self.originals, id);
        }
    }

    fn vantage_type(&mut self, name: &str) {
        self.vantage = match name.to_ascii_lowercase().as_str() {
            "client" => "client",
            "server" => "server",
            "network" => "network",
            _ => self.vantage,
        };
    }

    fn hint(&mut self, text: &str) {
        if self.stack.is_none() {
            let text = text.to_ascii_lowercase();
            self.stack = STACKS.iter().find(|(part, _)| text.contains(part)).map(|(_, name)| *name);
        }
    }
}

/// The header of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct FileHeader {
    version: Option<String>,
    schema: Option<String>,
    events: Option<String>,
    /// Description that applies to all traces.
    pub(super) common: TraceHeader,
    /// First keys of the outermost object, for the message that the file is no qlog.
    pub(super) keys: Vec<String>,
}

impl FileHeader {
    /// Sets a field; true if the meaning of events depends on it.
    pub(super) fn set(&mut self, key: &str, json: &[u8]) -> bool {
        if self.keys.len() < 6 {
            self.keys.push(cut(key));
        }
        let text = || serde_json::from_slice::<String>(json).ok().map(|text| cut(&text));
        match key {
            "qlog_version" => self.version = text(),
            "file_schema" => self.schema = text(),
            "code_version" => self.common.hint(&text().unwrap_or_default()),
            _ => return self.common.set(key, json),
        }
        false
    }

    /// Reads `event_schemas` of a trace: the draft that its events follow.
    pub(super) fn event_schemas(&mut self, json: &[u8]) {
        let schemas: Vec<String> = serde_json::from_slice(json).unwrap_or_default();
        let names: Vec<&str> =
            schemas.iter().filter_map(|s| s.strip_prefix("urn:ietf:params:qlog:events:")).collect();
        let quic = names.iter().find(|name| name.starts_with("quic")).or(names.first());
        self.events = self.events.take().or(quic.map(|name| cut(name)));
    }

    /// Whether the file declares itself as qlog.
    pub(super) fn is_qlog(&self) -> bool {
        self.version.is_some() || self.schema.as_ref().is_some_and(|schema| schema.contains("qlog"))
    }

    /// Version as readers know it.
    pub(super) fn version(&self) -> String {
        match (&self.version, &self.schema, &self.events) {
            (Some(version), ..) => format!("qlog {version}"),
            (None, _, Some(events)) => format!("qlog {events}"),
            (None, Some(_), None) => "qlog of a current draft".to_owned(),
            (None, None, None) => "qlog without version".to_owned(),
        }
    }
}

/// Connection ID for comparisons: in lower case, without prefixes and separators that some stacks write; `None` if it is too
/// short to distinguish connections, or contains no information.
pub(super) fn original_id(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    let digits: String = text
        .strip_prefix("0x")
        .unwrap_or(&text)
        .chars()
        .filter(|letter| *letter != ':')
        .take(TEXT_MAX)
        .collect();
    let known = digits.len() >= 8 && digits.chars().any(|letter| letter != '0');
    known.then_some(digits)
}

/// Adds a name of a connection, unless it is known or the maximum is reached.
pub(super) fn add_original(originals: &mut Vec<String>, name: String) {
    if originals.len() < ORIGINALS_MAX && !originals.contains(&name) {
        originals.push(name);
    }
}

fn text_of<'a>(fields: &'a Map<String, Value>, key: &str) -> &'a str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Beginning of a text, at most [`TEXT_MAX`] bytes.
pub(super) fn prefix(text: &str) -> &str {
    let mut length = text.len().min(TEXT_MAX);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    &text[..length]
}

fn cut(text: &str) -> String {
    prefix(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_drafts() {
        let mut header = TraceHeader::default();
        assert!(!header.set("vantage_point", br#"{"name":"mvfst","type":"CLIENT"}"#));
        assert!(header.set("configuration", br#"{"time_offset":0,"time_units":"us"}"#));
        assert!(header.set("event_fields", br#"["relative_time","CATEGORY","EVENT_TYPE","TRIGGER","DATA"]"#));
        assert!(
            header.set("common_fields", br#"{"time_format":"delta","group_id":7,"reference_time":"8000"}"#)
        );
        assert!(
            !header
                .set("common_fields", br#"{"ODCID":"0xAB:CD12345678","scid":"22222222","dcid":"11111111"}"#)
        );
        assert_eq!(header.reference, Some(Reference::Epoch(8.0)));
        assert_eq!(header.originals, ["abcd12345678", "11111111 22222222"]);
        assert_eq!((header.vantage, header.stack, header.unit_ms), ("client", Some("mvfst"), 1e-3));
        assert_eq!((header.time_format, header.group.as_deref()), (TimeFormat::Delta, Some("7")));
        assert_eq!(header.roles, [Role::RelativeTime, Role::Ignored, Role::Event, Role::Data, Role::Data]);
    }

    /// Fields may repeat, and headers have no maximum length: memory and time are those of four names.
    #[test]
    fn names_of_a_connection_are_few() {
        let mut header = TraceHeader::default();
        for index in 10_000_000..10_001_000 {
            header.set("common_fields", format!(r#"{{"group_id":{index}}}"#).as_bytes());
            header.set("common_fields", format!(r#"{{"dcid":"{index}","scid":"20000000"}}"#).as_bytes());
        }
        let pair = |id| format!("{id} 20000000");
        assert_eq!(header.originals, ["10000000", &pair("10000000"), "10000001", &pair("10000001")]);
    }

    #[test]
    fn versions() {
        let mut header = FileHeader::default();
        assert!(!header.is_qlog());
        header.set("file_schema", b"\"urn:ietf:params:qlog:file:sequential\"");
        header
            .event_schemas(br#"["urn:ietf:params:qlog:events:h3-13","urn:ietf:params:qlog:events:quic-13"]"#);
        assert!(header.is_qlog());
        assert_eq!(header.version(), "qlog quic-13");
        header.set("qlog_version", b"\"0.3\"");
        assert_eq!(header.version(), "qlog 0.3");
    }
}
