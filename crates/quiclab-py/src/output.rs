//! Python interface of the output of a run.

use crate::acks::AckRecord;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, UInt32Array, UInt64Array};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use quiclab_core::Role;
use quiclab_scenario::Scenario;
use quiclab_sim::{named, table, times};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Output of one run.
#[pyclass(frozen)]
pub(crate) struct RunOutput {
    output: quiclab_sim::RunOutput,
    acks: Vec<AckRecord>,
    result: String,
}

impl RunOutput {
    pub(crate) fn new(output: quiclab_sim::RunOutput, acks: Vec<AckRecord>) -> Self {
        let result = serde_json::to_string(&output.result).expect("a result has string keys only");
        Self { output, acks, result }
    }
}

/// A table that table libraries import without copying: the Arrow PyCapsule interface
/// (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>).
#[pyclass(frozen)]
pub(crate) struct Table(RecordBatch);

impl Table {
    /// Returns the table; `None` if nothing was recorded.
    fn recorded(batch: RecordBatch) -> Option<Self> {
        (batch.num_rows() > 0).then_some(Self(batch))
    }
}

#[pymethods]
impl Table {
    /// A capsule with the stream of the rows, in their own schema: `requested_schema` is a preference.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let rows = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(rows)), c"arrow_array_stream")
    }
}

#[pymethods]
impl RunOutput {
    /// The result as JSON.
    #[getter]
    fn result(&self) -> &str {
        &self.result
    }

    /// Time series.
    #[getter]
    fn series(&self) -> Option<Table> {
        Table::recorded(self.output.series_table())
    }

    /// Values of the time series in the order of time: element -> metric -> values, in the order of their first sample.
    /// A summary needs no library of tables.
    fn series_values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let series = &self.output.series;
        let mut position = BTreeMap::new();
        let mut parts: Vec<((u32, u32), Vec<f64>)> = Vec::new();
        for ((&element, &metric), &value) in series.element.iter().zip(&series.metric).zip(&series.value) {
            let index = *position.entry((element, metric)).or_insert(parts.len());
            if index == parts.len() {
                parts.push(((element, metric), Vec::new()));
            }
            parts[index].1.push(value);
        }
        let found = PyDict::new(py);
        for ((element, metric), values) in parts {
            let element = &self.output.element_names[element as usize];
            let of_element = match found.get_item(element)? {
                Some(present) => present.cast_into::<PyDict>()?,
                None => {
                    let new = PyDict::new(py);
                    found.set_item(element, &new)?;
                    new
                }
            };
            of_element.set_item(&*series.metric_names[metric as usize], values)?;
        }
        Ok(found)
    }

    /// Records of the taps by name.
    #[getter]
    fn taps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let taps = PyDict::new(py);
        for (name, table) in self.output.tap_tables() {
            taps.set_item(name, Table(table))?;
        }
        Ok(taps)
    }

    /// Departures of packets from the queues of tunnels.
    #[getter]
    fn sojourns(&self) -> Option<Table> {
        Table::recorded(self.output.sojourns_table())
    }

    /// Events of the requests of pages.
    #[getter]
    fn requests(&self) -> Option<Table> {
        Table::recorded(self.output.requests_table())
    }

    /// Downloads by the connections of flows with `arrivals`.
    #[getter]
    fn connections(&self) -> Option<Table> {
        Table::recorded(self.output.connections_table())
    }

    /// Acknowledgements that arrived.
    #[getter]
    fn acks(&self) -> Option<Table> {
        let scenario = &self.output.result.scenario;
        let index = |name: String| self.output.element_names.iter().position(|known| *known == name);
        let element = |flow: &String, role| {
            index(Scenario::endpoint_name(flow, role)).expect("endpoints are elements") as u32
        };
        let flows = scenario.flows.keys().collect::<Vec<_>>();
        let ends = flows
            .iter()
            .map(|flow| [element(flow, Role::Client), element(flow, Role::Server)])
            .collect::<Vec<_>>();
        let element_of = |r: &AckRecord| ends[r.flow as usize][usize::from(r.role == Role::Server)];
        let acks = || self.acks.iter();
        Table::recorded(table([
            ("time_ns", times(acks().map(|r| r.time))),
            ("flow", named(acks().map(|r| r.flow), flows)),
            ("element", named(acks().map(element_of), &self.output.element_names)),
            ("packets", Arc::new(UInt32Array::from_iter_values(acks().map(|r| r.packets)))),
            ("covered", Arc::new(UInt32Array::from_iter_values(acks().map(|r| r.covered)))),
            ("bytes", Arc::new(UInt64Array::from_iter_values(acks().map(|r| r.bytes)))),
            ("gap_ms", gaps(&self.acks, ends.len())),
        ]))
    }

    /// Packet records.
    #[getter]
    fn packets(&self) -> Option<Table> {
        Table::recorded(self.output.packets_table())
    }
}

/// Time since the previous acknowledgement at the same endpoint, in milliseconds; null for the first one.
fn gaps(acks: &[AckRecord], flows: usize) -> ArrayRef {
    let mut last = vec![[None; 2]; flows];
    let gap = |r: &AckRecord| {
        let before = last[r.flow as usize][usize::from(r.role == Role::Server)].replace(r.time);
        before.map(|before| r.time.since(before).as_nanos() as f64 / 1e6)
    };
    Arc::new(acks.iter().map(gap).collect::<Float64Array>())
}
