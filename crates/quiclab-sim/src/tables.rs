//! Recordings of a run as Arrow tables, for Python and for files. Elements, flows and metrics are dictionaries: each
//! row contains the number of a name.

use crate::arrivals::Completion;
use crate::packet_log::{Event, Record};
use crate::run::RunOutput;
use arrow_array::types::UInt32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt16Array,
    UInt32Array, UInt64Array,
};
use quiclab_core::tunnel::SojournRecord;
use quiclab_core::{Direction, DropReason, RequestTimes, TapRecords, Time};
use std::sync::Arc;

/// Creates a table of columns of equal length.
///
/// # Panics
/// If their lengths differ.
#[must_use]
pub fn table<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter(columns).expect("columns have equal length")
}

/// Creates a column of names, each given by its number.
///
/// # Panics
/// If a number has no name.
pub fn named<N: AsRef<str>>(
    numbers: impl IntoIterator<Item = u32>,
    names: impl IntoIterator<Item = N>,
) -> ArrayRef {
    let numbers = UInt32Array::from_iter_values(numbers);
    let names = StringArray::from_iter_values(names);
    Arc::new(DictionaryArray::<UInt32Type>::new(numbers, Arc::new(names)))
}

/// Creates a column of instants in nanoseconds.
pub fn times(times: impl IntoIterator<Item = Time>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(times.into_iter().map(|time| time.as_nanos() as i64)))
}

fn directions(directions: impl IntoIterator<Item = u8>) -> ArrayRef {
    named(directions.into_iter().map(u32::from), Direction::ALL.map(Direction::name))
}

impl RunOutput {
    /// Time series: `time_s`, `element`, `metric`, `value`.
    #[must_use]
    pub fn series_table(&self) -> RecordBatch {
        let series = &self.series;
        let time_s = Float64Array::from_iter_values(series.time_ns.iter().map(|nanos| *nanos as f64 / 1e9));
        table([
            ("time_s", Arc::new(time_s)),
            ("element", named(series.element.iter().copied(), &self.element_names)),
            ("metric", named(series.metric.iter().copied(), &series.metric_names)),
            ("value", Arc::new(Float64Array::from_iter_values(series.value.iter().copied()))),
        ])
    }

    /// Packet records: `time_ns`, `element`, `event`, `port`, `flow`, `direction`, `size_bytes`, `packet_id`.
    #[must_use]
    pub fn packets_table(&self) -> RecordBatch {
        let records = || self.packets.iter();
        let sizes = UInt32Array::from_iter_values(records().map(|r| r.size_bytes as u32));
        table([
            ("time_ns", times(records().map(|r| r.time))),
            ("element", named(records().map(|r| r.element), &self.element_names)),
            ("event", named(records().map(|r| r.event as u32), Event::ALL.map(Event::name))),
            ("port", Arc::new(UInt16Array::from_iter_values(records().map(|r| r.port)))),
            ("flow", self.flows(records().map(|r: &Record| r.flow))),
            ("direction", directions(records().map(|r| r.direction))),
            ("size_bytes", Arc::new(sizes)),
            ("packet_id", Arc::new(UInt64Array::from_iter_values(records().map(|r| r.packet)))),
        ])
    }

    /// Records of the taps by name: `time_ns`, `packet_id`, `flow`, `direction`, `size_bytes`.
    #[must_use]
    pub fn tap_tables(&self) -> Vec<(&str, RecordBatch)> {
        self.taps.iter().map(|(name, records)| (name.as_str(), self.tap_table(records))).collect()
    }

    /// Times of the requests of pages: `flow`, `resource`, `origin`, `size_bytes`, and in milliseconds `connecting_ms`,
    /// `connected_ms`, `wanted_ms`, `asked_ms`, `first_byte_ms`, `complete_ms`, each null if missing.
    #[must_use]
    pub fn requests_table(&self) -> RecordBatch {
        let records: Vec<(u32, RequestTimes)> = self
            .requests
            .iter()
            .flat_map(|(flow, requests)| requests.iter().map(move |request| (*flow, *request)))
            .collect();
        let millis = |time: fn(&RequestTimes) -> Option<Time>| -> ArrayRef {
            let millis = |time: Time| time.as_nanos() as f64 / 1e6;
            Arc::new(records.iter().map(|(_, request)| time(request).map(millis)).collect::<Float64Array>())
        };
        let requests = || records.iter().map(|(_, request)| request);
        table([
            ("flow", self.flows(records.iter().map(|(flow, _)| *flow))),
            ("resource", Arc::new(UInt32Array::from_iter_values(requests().map(|r| r.resource)))),
            ("origin", Arc::new(UInt32Array::from_iter_values(requests().map(|r| r.origin)))),
            ("size_bytes", Arc::new(UInt64Array::from_iter_values(requests().map(|r| r.size.bytes())))),
            ("connecting_ms", millis(|r| r.connecting)),
            ("connected_ms", millis(|r| r.connected)),
            ("wanted_ms", millis(|r| r.wanted)),
            ("asked_ms", millis(|r| r.asked)),
            ("first_byte_ms", millis(|r| r.first_byte)),
            ("complete_ms", millis(|r| r.complete)),
        ])
    }

    /// Downloads of the connections that have arrived: `flow`, `connection`, `start_s`, `size_bytes`, `completion_ms`
    /// (null if not complete), `failed`.
    #[must_use]
    pub fn connections_table(&self) -> RecordBatch {
        let records: Vec<(u32, Completion)> = self
            .completions
            .iter()
            .flat_map(|(flow, completions)| completions.iter().map(move |completion| (*flow, *completion)))
            .collect();
        let downloads = || records.iter().map(|(_, completion)| completion);
        let starts = downloads().map(|it| it.start.as_nanos() as f64 / 1e9);
        let times = downloads().map(|it| it.time().map(quiclab_core::Duration::as_ms_f64));
        table([
            ("flow", self.flows(records.iter().map(|(flow, _)| *flow))),
            ("connection", Arc::new(UInt32Array::from_iter_values(downloads().map(|it| it.number)))),
            ("start_s", Arc::new(Float64Array::from_iter_values(starts))),
            ("size_bytes", Arc::new(UInt64Array::from_iter_values(downloads().map(|it| it.size.bytes())))),
            ("completion_ms", Arc::new(times.collect::<Float64Array>())),
            ("failed", Arc::new(BooleanArray::from_iter(downloads().map(|it| Some(it.failed))))),
        ])
    }

    /// Departures of packets from the queues of tunnels: `time_ns`, `element`, `flow`, `direction`, `sojourn_ms`,
    /// `outcome` (`sent`, or the drop reason).
    #[must_use]
    pub fn sojourns_table(&self) -> RecordBatch {
        let element = |name: &String| self.element_names.iter().position(|known| known == name);
        let records: Vec<(u32, SojournRecord)> = self
            .sojourns
            .iter()
            .flat_map(|(name, records)| {
                let element = element(name).expect("ends of tunnels are elements") as u32;
                records.iter().map(move |record| (element, *record))
            })
            .collect();
        let sojourns = || records.iter().map(|(_, record)| record);
        let outcome = |dropped: Option<DropReason>| {
            let number = |reason| DropReason::ALL.iter().position(|known| *known == reason);
            dropped.and_then(number).map_or(0, |number| number as u32 + 1)
        };
        let outcomes = std::iter::once("sent").chain(DropReason::ALL.iter().map(|reason| reason.name()));
        let sojourn_ms = sojourns().map(|r| r.sojourn.as_nanos() as f64 / 1e6);
        table([
            ("time_ns", times(sojourns().map(|r| r.time))),
            ("element", named(records.iter().map(|(element, _)| *element), &self.element_names)),
            ("flow", self.flows(sojourns().map(|r| r.flow.0))),
            ("direction", directions(sojourns().map(|r| r.direction as u8))),
            ("sojourn_ms", Arc::new(Float64Array::from_iter_values(sojourn_ms))),
            ("outcome", named(sojourns().map(|r| outcome(r.dropped)), outcomes)),
        ])
    }

    fn tap_table(&self, records: &TapRecords) -> RecordBatch {
        table([
            ("time_ns", times(records.times.iter().copied())),
            ("packet_id", Arc::new(UInt64Array::from(records.ids.clone()))),
            ("flow", self.flows(records.flows.iter().map(|flow| flow.0))),
            ("direction", directions(records.directions.iter().map(|direction| *direction as u8))),
            ("size_bytes", Arc::new(UInt32Array::from(records.sizes_bytes.clone()))),
        ])
    }

    fn flows(&self, flows: impl Iterator<Item = u32>) -> ArrayRef {
        named(flows, self.result.scenario.flow_names())
    }
}
