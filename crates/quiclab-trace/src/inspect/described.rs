//! Descriptions of the traces of a file, for their conversion.

use super::Selection;
use super::decode::Decoder;
use super::document::read;
use super::survey::Surveys;

/// A trace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Described {
    pub(crate) title: String,
    pub(crate) vantage: &'static str,
    /// Calendar time of its zero, with the offset that it specifies [ms]; `None` if it is not known.
    pub(crate) zero_ms: Option<f64>,
    /// Original Destination Connection ID.
    pub(crate) original: Option<String>,
    /// Names of the positions of its events.
    pub(crate) event_fields: Vec<String>,
}

impl Described {
    /// Traces of a file, and a decoder with their headers; `None` if the file is no qlog.
    pub(crate) fn of(file: &[u8]) -> Option<(Decoder, Vec<Self>)> {
        let mut decoder = Decoder::default();
        let mut surveys = Surveys::new(Selection::from(1));
        read(file, |piece| decoder.take(piece, &mut surveys)).ok()?;
        if decoder.late {
            (decoder, surveys) = (decoder.again(), Surveys::new(Selection::from(1)));
            read(file, |piece| decoder.take(piece, &mut surveys)).ok()?;
        }
        let readable = surveys.connections.iter().any(|survey| survey.known);
        if !readable && !decoder.described() {
            return None;
        }
        let traces = decoder.traces.iter().enumerate().map(|(index, trace)| {
            let of_trace = |place: &usize| decoder.connections[*place].trace == index;
            let connection = (0..decoder.connections.len()).find(of_trace);
            let (zero_ms, offset_ms, names) = match connection {
                Some(connection) => decoder.clock_of(connection),
                None => (None, 0.0, &[][..]),
            };
            let seen = connection.and_then(|connection| surveys.connections.get(connection));
            let seen = seen.and_then(|survey| survey.originals.first());
            let title = if trace.title.is_empty() { &decoder.file.common.title } else { &trace.title };
            Self {
                title: title.clone(),
                vantage: trace.vantage,
                zero_ms: zero_ms.map(|zero_ms| zero_ms + offset_ms),
                original: seen.or(names.first()).cloned(),
                event_fields: trace.event_fields.clone(),
            }
        });
        let traces = traces.collect();
        Some((decoder.again(), traces))
    }
}
