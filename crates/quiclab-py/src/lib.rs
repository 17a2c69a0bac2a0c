//! The private extension `quiclab._quiclab`: conversion between Python and Rust.
//!
//! Scenarios and results cross as JSON text, series and records of packets as Arrow tables.

mod acks;
mod connection;
mod endpoint;
mod error;
mod function;
mod inspect;
mod metrics;
mod output;
mod pacing;
mod programs;
mod progress;
mod qlog;
mod record;
mod run;
mod scenario;
mod splitter;
mod stacks;
mod statistics;

use pyo3::prelude::*;

#[pymodule]
fn _quiclab(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<error::ScenarioError>())?;
    module.add("FormerName", module.py().get_type::<error::FormerName>())?;
    module.add_class::<output::RunOutput>()?;
    module.add_class::<output::Table>()?;
    module.add_function(wrap_pyfunction!(scenario::version, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::resolve, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::network, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::read_fields, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::nearest, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::mark, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::toml_span, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::to_toml, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::paths, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::unused, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::phases, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::metric_groups, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::result_schema, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::template, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::schema, module)?)?;
    module.add_function(wrap_pyfunction!(stacks::native_stacks, module)?)?;
    module.add_function(wrap_pyfunction!(stacks::workloads_on_streams, module)?)?;
    module.add_function(wrap_pyfunction!(function::plugins, module)?)?;
    module.add_function(wrap_pyfunction!(qlog::export_qlog, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::inspect_qlog, module)?)?;
    module.add_function(wrap_pyfunction!(pacing::analyse_columns, module)?)?;
    module.add_function(wrap_pyfunction!(pacing::analyse_packets, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::student_t_quantile, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::student_t_cdf, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::first_difference, module)?)?;
    Ok(())
}
