//! The JSON document: a list with an object for each connection. `docs` in `_quiclab.pyi` lists its fields.
//!
//! Columns are written value by value, not through a tree of values: they are most of the document.

use super::decode::{Decoder, Identity};
use super::document::{Ending, Layout};
use super::event::METRICS;
use super::header::TraceHeader;
use super::sample::{DownsampledPoints, Span};
use super::streams::Direction;
use super::summary::{AckPoint, LOSSES_MAX, PHASES_MAX, PacketPoint, Packets, Summaries, Summary};
use super::survey::Surveys;
use super::{SCHEMA, survey::Survey};
use serde::Serialize;
use serde_json::{Value, json};

/// Maximum number of bars of the histogram of packet sizes.
const BARS_MAX: usize = 150;

/// A JSON object under construction.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self("{".to_owned())
    }

    fn key(&mut self, key: &str) {
        if !self.0.ends_with('{') {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(key);
        self.0.push_str("\":");
    }

    fn put(&mut self, key: &str, value: &impl Serialize) {
        self.key(key);
        self.0.push_str(&serde_json::to_string(value).expect("keys are strings"));
    }

    fn nest(&mut self, key: &str, object: Self) {
        self.key(key);
        self.0.push_str(&object.end());
    }

    fn column<T: Serialize>(&mut self, key: &str, values: impl Iterator<Item = T>) {
        self.key(key);
        self.0.push('[');
        for (index, value) in values.enumerate() {
            if index > 0 {
                self.0.push(',');
            }
            self.0.push_str(&serde_json::to_string(&value).expect("keys are strings"));
        }
        self.0.push(']');
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Rounds to 0.0001: 0.1 µs of a time in ms, 100 bit/s of a rate in Mbit/s. NaN becomes null.
fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Quotient; `None` if the division has no result.
fn ratio(over: f64, under: f64) -> Option<f64> {
    Some(round(over / under)).filter(|value| value.is_finite())
}

pub(super) fn document(
    file: &str,
    decoder: &Decoder,
    ending: &Ending,
    surveys: &Surveys,
    summaries: Summaries<'_>,
) -> String {
    let of = surveys.connections.len();
    let mut out = "[".to_owned();
    let empty = (Survey::default(), Identity::default());
    let mut shown: Vec<(usize, &Identity, Summary<'_>)> = summaries
        .0
        .into_iter()
        .enumerate()
        .filter_map(|(index, summary)| Some((index, &decoder.connections[index], summary?)))
        .collect();
    if shown.is_empty() {
        shown.push((0, &empty.1, Summary::new(&empty.0, super::Selection::from(1))));
    }
    for (index, identity, summary) in shown {
        if out.len() > 1 {
            out.push(',');
        }
        let trace = decoder.traces.get(identity.trace).cloned().unwrap_or_default();
        let mut object = Object::new();
        object.put("schema", &SCHEMA);
        object.put("file", &file);
        object.put("format", &format(decoder, ending));
        let (title, group, vantage) = decoder.names(index);
        object.put("title", &title);
        object
            .put("connection", &json!({ "index": index, "of": of, "trace": identity.trace, "group": group }));
        let (zero_ms, offset_ms, names) = decoder.clock_of(index);
        object.put("clock", &json!({ "zero_ms": zero_ms, "offset_ms": round(offset_ms) }));
        let originals: Vec<&String> = names.iter().chain(&summary.survey.originals).collect();
        object.put("originals", &originals);
        object.put("vantage", &vantage);
        object.put("stack", &stack(decoder, &trace));
        connection(&mut object, decoder, ending, summary);
        out.push_str(&object.end());
    }
    out.push(']');
    out
}

fn format(decoder: &Decoder, ending: &Ending) -> String {
    let layout = match ending.layout {
        Layout::Contained => "JSON",
        Layout::Sequence => "JSON text sequence",
        Layout::Lines => "JSON, a record a line",
        Layout::Objects => "JSON, record after record",
    };
    format!("{} ({layout})", decoder.file.version())
}

fn stack(decoder: &Decoder, trace: &TraceHeader) -> Option<&'static str> {
    trace.stack.or(decoder.file.common.stack)
}

fn connection(object: &mut Object, decoder: &Decoder, ending: &Ending, mut summary: Summary<'_>) {
    summary.hold();
    let survey = summary.survey;
    let span = survey.span.unwrap_or(Span { from_ms: 0.0, to_ms: 0.0 });
    object.put("start_ms", &round(span.from_ms));
    object.put("duration_ms", &round(span.to_ms - span.from_ms));
    object.put("counts", &counts(decoder, ending, &summary));
    object.put("derived", &derived(&summary));
    object.put("frame_sets", &summary.kinds.set_names());
    let kinds = summary.kinds.kinds.iter().filter(|kind| kind.count > 0);
    let kinds = kinds.map(|kind| (kind.name.clone(), json!({ "count": kind.count, "bytes": kind.bytes })));
    object.put("frame_kinds", &kinds.collect::<serde_json::Map<_, _>>());
    packet_sizes(object, &summary);
    object.put("transport_parameters", &summary.parameters);
    let phases =
        summary.phases.iter().map(|(time_ms, state)| json!({ "time_ms": round(*time_ms), "state": state }));
    object.column("phases", phases);

    let mut sampling = Object::new();
    let mut shown = |key: &str, shown: usize, of: u64, how: &str| {
        let how = if shown as u64 == of { "all" } else { how };
        sampling.put(key, &json!({ "shown": shown, "of": of, "how": how }));
    };
    shown("phases", summary.phases.len(), summary.phase_changes, &format!("the first {PHASES_MAX} changes"));
    let even = "time is cut into parts of equal length; of each, every 2nd, 4th, 8th and so on is shown, so that it \
                has 8 at most";
    let of = summary.sent.points.total() + summary.received.points.total() + summary.sent.pinned.len() as u64;
    let sent = packets(object, "packets_sent", summary.sent);
    let received = packets(object, "packets_received", summary.received);
    shown("packets", sent + received, of, &format!("{even}, and all packets that were lost later"));

    let of = summary.lost.total();
    let lost = summary.lost.into_points();
    shown("lost", lost.len(), of, &format!("{even}, above {LOSSES_MAX} losses"));
    let mut column = Object::new();
    column.column("time_ms", lost.iter().map(|loss| round(loss.time_ms)));
    column.column("number", lost.iter().map(|loss| loss.number));
    column.column("space", lost.iter().map(|loss| loss.space));
    column.column("path", lost.iter().map(|loss| loss.path));
    object.nest("lost", column);

    let of = summary.acks.total();
    let points = summary.acks.into_points();
    shown("acks", points.len(), of, even);
    acks(object, &points);

    let (of, changes) = (summary.credit.total, summary.credit.events);
    shown("flow_control", changes.len(), of, "the first changes");
    let mut column = Object::new();
    column.column("time_ms", changes.iter().map(|(time_ms, _)| round(*time_ms)));
    column.column("change", changes.iter().map(|(_, change)| *change as u8));
    object.nest("flow_control", column);

    let of = summary.recovery.total();
    let rows = summary.recovery.into_rows();
    shown(
        "series",
        rows.len(),
        of,
        "of each metric the least, the greatest and the last value in each part of the time",
    );
    let mut column = Object::new();
    column.column("time_ms", rows.iter().map(|row| round(row.time_ms)));
    for (metric, name) in METRICS.iter().enumerate() {
        let whole = name.ends_with("_bytes");
        // "12000", not "12000.0": most of the document is such numbers
        column.column(
            name,
            rows.iter().map(|row| match row.values[metric] {
                value if value.is_nan() => Value::Null,
                value if whole && (0.0..9e15).contains(&value) => json!(value.round() as u64),
                value => json!(round(value)),
            }),
        );
    }
    object.nest("recovery", column);

    let (largest, rest) = survey.streams.largest();
    let mut details = summary.streams;
    let is_part = summary.selection.window_ms.is_some(); // frames of streams that are not told apart have no time
    let (mut frames_shown, mut frames_of) = (0, if is_part { 0 } else { survey.streams.untold_frames });
    object.key("streams");
    object.0.push('[');
    for (index, (key, total)) in largest.iter().enumerate() {
        if index > 0 {
            object.0.push(',');
        }
        let frames = details.remove(key).map(|detail| detail.frames.into_points()).unwrap_or_default();
        frames_shown += frames.len();
        frames_of += total.selected;
        let mut stream = Object::new();
        stream.put("id", &key.id);
        stream.put("direction", &if key.sent { "sent" } else { "received" });
        stream.put("first_ms", &round(total.first_ms));
        stream.put("last_ms", &round(total.last_ms));
        stream.put("bytes", &total.bytes);
        stream.put("unique_bytes", &total.unique_bytes);
        stream.put("frames_of", &total.frames);
        let mut column = Object::new();
        column.column("time_ms", frames.iter().map(|frame| round(frame.time_ms)));
        column.column("offset", frames.iter().map(|frame| frame.offset));
        column.column("length", frames.iter().map(|frame| frame.length));
        column.column("retransmitted", frames.iter().map(|frame| frame.retransmitted));
        stream.nest("frames", column);
        object.0.push_str(&stream.end());
    }
    object.0.push(']');
    frames_of += rest.iter().map(|total| total.selected).sum::<u64>();
    object.put(
        "streams_more",
        &json!({
            "count": rest.len(),
            "bytes": rest.iter().map(|total| total.bytes).fold(0, u64::saturating_add),
            "frames_untold": survey.streams.untold_frames,
        }),
    );
    shown("stream_frames", frames_shown, frames_of, &format!("the streams with most bytes; {even}"));
    object.nest("sampling", sampling);
}

fn counts(decoder: &Decoder, ending: &Ending, summary: &Summary<'_>) -> Value {
    let (sent, received) = (&summary.sent, &summary.received);
    json!({
        "events": summary.survey.events,
        "packets_sent": sent.count,
        "packets_received": received.count,
        "packets_lost": summary.lost_packets,
        "packets_dropped": summary.dropped,
        "packets_without_number": sent.without_number + received.without_number,
        "bytes_sent": sent.bytes,
        "bytes_received": received.bytes,
        "acks_sent": sent.with_acks,
        "acks_received": received.with_acks,
        "datagrams_sent": summary.datagrams[0],
        "datagrams_received": summary.datagrams[1],
        "stream_bytes_sent": summary.survey.streams.sent.bytes,
        "stream_bytes_received": summary.survey.streams.received.bytes,
        "skipped": summary.skipped,
        "malformed": decoder.malformed,
        "events_of_connections_not_shown": decoder.beyond,
        "truncated_at_byte": ending.stopped_at,
    })
}

/// Mbit/s of unique stream bytes between the first and the last STREAM frame.
fn goodput(direction: &Direction) -> Option<f64> {
    let (first, last) = direction.span_ms?;
    ratio(direction.unique_bytes as f64 * 8.0, (last - first) * 1e3)
}

fn derived(summary: &Summary<'_>) -> Value {
    let (sent, received) = (&summary.sent, &summary.received);
    let streams = &summary.survey.streams;
    let (down, up) = (goodput(&streams.received), goodput(&streams.sent));
    let mostly_sent = streams.sent.unique_bytes > streams.received.unique_bytes;
    let (direction, data, acks) =
        if mostly_sent || (streams.received.bytes == 0 && sent.count > received.count) {
            (&streams.sent, sent.with_data, received.with_acks)
        } else {
            (&streams.received, received.with_data, sent.with_acks)
        };
    let (sum, samples) = if summary.latest_rtt.1 > 0 { summary.latest_rtt } else { summary.smoothed_rtt };
    json!({
        "goodput_mbps": if mostly_sent { up } else { down },
        "goodput_sent_mbps": up,
        "goodput_received_mbps": down,
        "loss_percent": ratio(100.0 * summary.lost_packets as f64, sent.count as f64),
        "retransmitted_percent":
            ratio(100.0 * direction.bytes.saturating_sub(direction.unique_bytes) as f64, direction.bytes as f64),
        "mean_rtt_ms": ratio(sum, samples as f64),
        "ack_ratio": ratio(data as f64, acks as f64),
    })
}

fn packets(object: &mut Object, name: &str, packets: Packets) -> usize {
    let mut points: Vec<PacketPoint> = DownsampledPoints::into_points(packets.points);
    points.extend(packets.pinned);
    points.sort_by(|a, b| a.time_ms.total_cmp(&b.time_ms).then(a.number.cmp(&b.number)));
    let mut column = Object::new();
    column.column("time_ms", points.iter().map(|point| round(point.time_ms)));
    column.column("number", points.iter().map(|point| point.number));
    column.column("space", points.iter().map(|point| point.space));
    column.column("path", points.iter().map(|point| point.path));
    column.column("bytes", points.iter().map(|point| point.bytes));
    column.column("frames", points.iter().map(|point| point.set));
    column.column("stream_offset_end", points.iter().map(|point| point.stream_end));
    object.nest(name, column);
    points.len()
}

fn acks(object: &mut Object, points: &[AckPoint]) {
    let mut column = Object::new();
    column.column("time_ms", points.iter().map(|ack| round(ack.time_ms)));
    column.column("largest", points.iter().map(|ack| ack.largest));
    column.column("space", points.iter().map(|ack| ack.space));
    column.column("path", points.iter().map(|ack| ack.path));
    column.column("newly", points.iter().map(|ack| ack.newly));
    column.column("ends", points.iter().map(|ack| &ack.ends));
    object.nest("acks", column);
}

/// Writes a histogram with the smallest bar width of 1, 2, 5, 10 ... that needs at most [`BARS_MAX`] bars.
fn packet_sizes(object: &mut Object, summary: &Summary<'_>) {
    let widths = [1, 2, 5, 10, 20, 50, 100, 200, 500];
    let bars = |width: u32| {
        let mut bars: Vec<(u32, [u64; 2])> = Vec::new();
        for (bytes, counts) in &summary.sizes {
            let from = bytes / width * width;
            match bars.last_mut() {
                Some((last, sums)) if *last == from => (0..2).for_each(|side| sums[side] += counts[side]),
                _ => bars.push((from, *counts)),
            }
        }
        bars
    };
    let few = widths.into_iter().map(|width| (width, bars(width))).find(|(_, bars)| bars.len() <= BARS_MAX);
    // 65,535 bytes are 132 bars of 500
    let (width, bars) = few.unwrap_or_else(|| (500, bars(500)));
    object.put("packet_size_bar_bytes", &width);
    let bars = bars
        .iter()
        .map(|(bytes, [sent, received])| json!({ "bytes": bytes, "sent": sent, "received": received }));
    object.column("packet_sizes", bars);
}
