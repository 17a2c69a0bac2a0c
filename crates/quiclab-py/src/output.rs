//! The output of a run as Python sees it.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use quiclab_sim::Record;

/// What one run gives.
#[pyclass(frozen)]
pub(crate) struct RunOutput {
    output: quiclab_sim::RunOutput,
    result: String,
}

impl RunOutput {
    pub(crate) fn new(output: quiclab_sim::RunOutput) -> Self {
        let result = serde_json::to_string(&output.result).expect("a result has string keys only");
        Self { output, result }
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
