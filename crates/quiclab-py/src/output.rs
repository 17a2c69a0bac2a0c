//! The output of a run as Python sees it.

use crate::acks::AckRecord;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use quiclab_core::Role;
use quiclab_sim::Record;

/// What one run gives.
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

#[pymethods]
impl RunOutput {
    /// The result as JSON.
    #[getter]
    fn result(&self) -> &str {
        &self.result
    }

    /// Time series as packed little-endian columns.
    #[getter]
    fn series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let series = &self.output.series;
        let columns = PyDict::new(py);
        columns.set_item("time_ns", pack(py, &series.time_ns, |value| value.to_le_bytes()))?;
        columns.set_item("element", pack(py, &series.element, |value| value.to_le_bytes()))?;
        columns.set_item("metric", pack(py, &series.metric, |value| value.to_le_bytes()))?;
        columns.set_item("value", pack(py, &series.value, |value| value.to_le_bytes()))?;
        columns.set_item("element_names", &self.output.element_names)?;
        columns.set_item("metric_names", &series.metric_names)?;
        Ok(columns)
    }

    /// Records of the taps by name, each as packed little-endian columns.
    #[getter]
    fn taps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let taps = PyDict::new(py);
        for (name, records) in &self.output.taps {
            let records = records.iter().collect::<Vec<_>>();
            let columns = PyDict::new(py);
            columns.set_item("time_ns", pack(py, &records, |r| r.time.as_nanos().to_le_bytes()))?;
            columns.set_item("packet_id", pack(py, &records, |r| r.id.to_le_bytes()))?;
            columns.set_item("flow", pack(py, &records, |r| r.flow.0.to_le_bytes()))?;
            columns.set_item("direction", pack(py, &records, |r| [r.direction as u8]))?;
            columns.set_item("size_bytes", pack(py, &records, |r| (r.size.bytes() as u32).to_le_bytes()))?;
            taps.set_item(name, columns)?;
        }
        Ok(taps)
    }

    /// Acknowledgements that arrived, as packed little-endian columns.
    #[getter]
    fn acks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let scenario = &self.output.result.scenario;
        let index = |name: String| self.output.element_names.iter().position(|known| *known == name);
        let element = |flow: &String, role| {
            index(scenario.endpoint_name(flow, role)).expect("endpoints are elements") as u32
        };
        let flows = scenario.flows.keys().collect::<Vec<_>>();
        let ends = flows
            .iter()
            .map(|flow| [element(flow, Role::Client), element(flow, Role::Server)])
            .collect::<Vec<_>>();
        let element_of = |r: AckRecord| ends[r.flow as usize][usize::from(r.role == Role::Server)];
        let columns = PyDict::new(py);
        columns.set_item("time_ns", pack(py, &self.acks, |r| r.time.as_nanos().to_le_bytes()))?;
        columns.set_item("flow", pack(py, &self.acks, |r| r.flow.to_le_bytes()))?;
        columns.set_item("element", pack(py, &self.acks, |r| element_of(r).to_le_bytes()))?;
        columns.set_item("packets", pack(py, &self.acks, |r| r.packets.to_le_bytes()))?;
        columns.set_item("bytes", pack(py, &self.acks, |r| r.bytes.to_le_bytes()))?;
        columns.set_item("element_names", &self.output.element_names)?;
        columns.set_item("flow_names", flows)?;
        Ok(columns)
    }

    /// Packet records as packed little-endian columns.
    #[getter]
    fn packets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let records = &self.output.packets;
        let columns = PyDict::new(py);
        columns.set_item("time_ns", pack(py, records, |r: Record| r.time.as_nanos().to_le_bytes()))?;
        columns.set_item("element", pack(py, records, |r: Record| r.element.to_le_bytes()))?;
        columns.set_item("event", pack(py, records, |r: Record| [r.event as u8]))?;
        columns.set_item("port", pack(py, records, |r: Record| r.port.to_le_bytes()))?;
        columns.set_item("flow", pack(py, records, |r: Record| r.flow.to_le_bytes()))?;
        columns.set_item("direction", pack(py, records, |r: Record| [r.direction]))?;
        columns.set_item("size_bytes", pack(py, records, |r: Record| (r.size_bytes as u32).to_le_bytes()))?;
        columns.set_item("packet_id", pack(py, records, |r: Record| r.packet.to_le_bytes()))?;
        columns.set_item("element_names", &self.output.element_names)?;
        let flows = self.output.result.scenario.flows.keys().collect::<Vec<_>>();
        columns.set_item("flow_names", flows)?;
        Ok(columns)
    }
}

fn pack<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    of: impl Fn(T) -> [u8; N],
) -> Bound<'py, PyBytes> {
    let bytes = values.iter().flat_map(|value| of(*value)).collect::<Vec<u8>>();
    PyBytes::new(py, &bytes)
}
