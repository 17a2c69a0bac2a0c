//! The output of a run as Python sees it.

use crate::acks::AckRecord;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use quiclab_core::Role;
use quiclab_scenario::Scenario;
use quiclab_sim::Table;

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
        dictionary(py, self.output.series_table())
    }

    /// Records of the taps by name, each as packed little-endian columns.
    #[getter]
    fn taps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let taps = PyDict::new(py);
        for (name, table) in self.output.tap_tables() {
            taps.set_item(name, dictionary(py, table)?)?;
        }
        Ok(taps)
    }

    /// How packets have left the queues of tunnels, as packed little-endian columns.
    #[getter]
    fn sojourns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dictionary(py, self.output.sojourns_table())
    }

    /// What happened to the requests of pages, as packed little-endian columns.
    #[getter]
    fn requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dictionary(py, self.output.requests_table())
    }

    /// Acknowledgements that arrived, as packed little-endian columns.
    #[getter]
    fn acks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
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
        let element_of = |r: AckRecord| ends[r.flow as usize][usize::from(r.role == Role::Server)];
        let table = Table::default()
            .column("time_ns", &self.acks, |r| r.time.as_nanos().to_le_bytes())
            .column("flow", &self.acks, |r| r.flow.to_le_bytes())
            .column("element", &self.acks, |r| element_of(r).to_le_bytes())
            .column("packets", &self.acks, |r| r.packets.to_le_bytes())
            .column("covered", &self.acks, |r| r.covered.to_le_bytes())
            .column("bytes", &self.acks, |r| r.bytes.to_le_bytes())
            .names("element_names", self.output.element_names.iter())
            .names("flow_names", flows);
        dictionary(py, table)
    }

    /// Packet records as packed little-endian columns.
    #[getter]
    fn packets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dictionary(py, self.output.packets_table())
    }
}

fn dictionary(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    for (name, bytes) in table.columns {
        columns.set_item(name, PyBytes::new(py, &bytes))?;
    }
    for (name, names) in table.names {
        columns.set_item(name, names)?;
    }
    Ok(columns)
}
