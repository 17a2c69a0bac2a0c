//! Sources of endpoints: the native stacks, and those written in Python, which `quiclab.stacks` knows.
//!
//! Options and workloads cross as JSON with quantities as integers in base units: bytes, nanoseconds, bit/s.

use crate::connection::PyStreamsEndpoint;
use crate::endpoint::{FirstError, PyEndpoint};
use crate::function;
use crate::splitter;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use quiclab_core::bearer::ChooseLink;
use quiclab_core::{
    ByteCount, DataRate, Duration, Endpoint, EndpointIdentity, MarkFeedback, Problem, ProblemKind,
    RandomStream, Role, StackAbilities, StackProtocol, Time,
};
use quiclab_scenario::Computation;
use quiclab_sim::{EndpointRequest, FunctionError, NativeStacks, OperationFunction, Stacks};
use quiclab_stacks::{MAX_WRITE, OnStreams};
use quiclab_transport::options::{EndpointConfig, QuicVersion, Workload};
use quiclab_transport::{EndOf, NativeStack, build_on_streams, http, page_random};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;

const MODULE: &str = "quiclab.stacks.registry";
const LANE: &str = "quiclab.lane.adapter";

/// JSON list of the native stacks with their options, defaults and the sources of these.
#[pyfunction]
pub(crate) fn native_stacks() -> String {
    json!(quiclab_sim::stacks().into_iter().map(NativeStack::info).collect::<Vec<_>>()).to_string()
}

/// Kinds of workload that run on the streams and datagrams of QUIC.
#[pyfunction]
pub(crate) fn workloads_on_streams() -> &'static [&'static str] {
    Workload::ON_STREAMS
}

/// Whether a stack is one of the native ones.
pub(crate) fn is_native(name: &str) -> bool {
    quiclab_sim::stacks().into_iter().any(|stack| stack.info().name == name)
}

/// Validates the options of an endpoint for its stack; returns the stack's abilities.
pub(crate) fn validate(config: &EndpointConfig, end: EndOf) -> Result<StackAbilities, Problem> {
    let name = config.stack.as_deref().unwrap_or_default();
    // only stacks that are part of quiclab carry tunnels
    if is_native(name) || end != EndOf::Flow {
        return quiclab_sim::validate(config, end);
    }
    Python::attach(|py| abilities(py, name, config).map_err(|raised| problem(py, &raised, name)))
}

/// Abilities of a stack written in Python with these options.
fn abilities(py: Python<'_>, name: &str, config: &EndpointConfig) -> PyResult<StackAbilities> {
    let checked =
        py.import(MODULE)?.call_method1("check", (name, in_base_units(config.set_options()).to_string()))?;
    let (protocol, workloads, proprietary): (String, Vec<String>, bool) = checked.extract()?;
    let kind = |workload: &String| {
        let known = Workload::KINDS.iter().copied().find(|known| known == workload);
        known.ok_or_else(|| {
            let known = Workload::KINDS.join(", ");
            PyValueError::new_err(format!("workloads: expected some of {known}, got `{workload}`"))
        })
    };
    Ok(StackAbilities {
        protocol: match protocol.as_str() {
            "quic" => StackProtocol::Quic,
            "udp" => StackProtocol::Udp,
            other => {
                return Err(PyValueError::new_err(format!("protocol: expected quic or udp, got `{other}`")));
            }
        },
        workloads: workloads.iter().map(kind).collect::<PyResult<_>>()?,
        operations: &[],
        multipath: false,
        proprietary,
        mark_feedback: MarkFeedback::None,
        needs_mark_feedback: MarkFeedback::None,
        states: Cow::Borrowed(&[]),
    })
}

/// Content of a `quiclab.stacks.OptionError`; any other exception is attributed to the stack.
fn problem(py: Python<'_>, raised: &PyErr, name: &str) -> Problem {
    let text =
        |attribute: &str| -> Option<String> { raised.value(py).getattr(attribute).ok()?.extract().ok() };
    let known = raised.value(py).getattr("known").and_then(|known| known.extract::<Vec<String>>());
    if let Ok(known) = known {
        let reason = match is_program(py, name) {
            true => Some(format!("`{name}` needs --lane kernel")),
            false => text("reason"),
        };
        return Problem { reason, ..Problem::unknown("stack", name, known) };
    }
    match (text("field"), text("value"), text("expected")) {
        (Some(field), Some(value), Some(expected)) => Problem::value(field.as_str(), value, expected),
        _ => unavailable(name, raised),
    }
}

/// Whether the kernel lane has a program of this name.
fn is_program(py: Python<'_>, name: &str) -> bool {
    let adapters = py.import(LANE).and_then(|module| module.call_method0("load_adapters"));
    adapters.and_then(|adapters| adapters.contains(name)).unwrap_or(false)
}

fn unavailable(name: &str, error: &PyErr) -> Problem {
    Problem::new(ProblemKind::Unsupported, "stack", "")
        .got(format!("{name:?}"))
        .because(format!("the stack is not available: {error}"))
}

/// Converts a value as in a scenario: without unset fields, and with quantities as integers.
fn in_base_units(plain: impl Serialize) -> Value {
    fn convert(value: Value) -> Value {
        match value {
            Value::String(text) => {
                let bytes = text.parse::<ByteCount>().map(ByteCount::bytes);
                let nanos = text.parse::<Duration>().map(Duration::as_nanos);
                let rate = text.parse::<DataRate>().map(DataRate::bits_per_second);
                bytes.or(nanos).or(rate).map_or(Value::String(text), Value::from)
            }
            Value::Array(items) => items.into_iter().map(convert).collect(),
            Value::Object(fields) => {
                let set = fields.into_iter().filter(|(_, value)| !value.is_null());
                set.map(|(name, value)| (name, convert(value))).collect()
            }
            other => other,
        }
    }
    convert(serde_json::to_value(plain).expect("options and workloads have string keys only"))
}

/// Native stacks, and those written in Python.
pub(crate) struct AllStacks {
    /// The first exception of a Python endpoint.
    pub(crate) error: FirstError,
}

impl Stacks for AllStacks {
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Problem> {
        let name = request.config.stack.clone().unwrap_or_default();
        if is_native(&name) {
            return NativeStacks.build(request);
        }
        Python::attach(|py| self.python_endpoint(py, &name, request))
    }

    fn functions(
        &self,
        computations: &[Computation],
        base_dir: &Path,
    ) -> Result<Vec<Box<dyn OperationFunction>>, FunctionError> {
        function::load(computations, base_dir, &self.error)
    }

    fn splitter(
        &self,
        bearer: &str,
        function: &str,
        base_dir: &Path,
    ) -> Result<Box<dyn ChooseLink>, FunctionError> {
        splitter::load(bearer, function, base_dir, &self.error)
    }
}

impl AllStacks {
    fn python_endpoint(
        &self,
        py: Python<'_>,
        name: &str,
        request: EndpointRequest<'_>,
    ) -> Result<Box<dyn Endpoint>, Problem> {
        let EndpointRequest { identity, config, workload, start, seed, .. } = request;
        let make = |identity: &EndpointIdentity| {
            self.python_object(py, name, identity, (config, workload), (start, seed))
        };
        let (object, is_connection) = make(&identity).map_err(|raised| unavailable(name, &raised))?;
        if !is_connection {
            let endpoint = PyEndpoint::new(object, &identity, self.error.clone());
            return Ok(Box::new(endpoint.map_err(|raised| unavailable(name, &raised))?));
        }
        quiclab_stacks::check_workload(workload)?;
        let streams = |identity: &EndpointIdentity, object, application| -> Box<dyn Endpoint> {
            let application = OnStreams::new(identity.role, application, MAX_WRITE);
            Box::new(PyStreamsEndpoint::new(object, identity, application, start, self.error.clone()))
        };
        if let Workload::Page { resources, .. } = workload
            && !resources.is_empty()
        {
            return http::build_origins(
                &identity,
                workload,
                page_random(seed, &identity),
                |of, page, origin| {
                    let (object, _) = make(of).map_err(|raised| unavailable(name, &raised))?;
                    Ok(streams(of, object, page.on_streams(of.role, origin, QuicVersion::V1)))
                },
            );
        }
        let application = build_on_streams(&identity, workload, (start, seed), QuicVersion::V1)?;
        Ok(streams(&identity, object, application))
    }

    /// Python object of an endpoint, and whether it is a connection for the applications of quiclab.
    fn python_object(
        &self,
        py: Python<'_>,
        name: &str,
        identity: &EndpointIdentity,
        (config, workload): (&EndpointConfig, &Workload),
        (start, seed): (Time, u64),
    ) -> PyResult<(Py<PyAny>, bool)> {
        let (certificate, key) = quiclab_stacks::certificate();
        let setup = PyDict::new(py);
        setup.set_item("server", identity.role == Role::Server)?;
        setup.set_item("start_ns", start.as_nanos())?;
        setup.set_item("seed", RandomStream::new(seed, &identity.name).bits())?;
        setup.set_item("certificate", PyBytes::new(py, certificate))?;
        setup.set_item("private_key", PyBytes::new(py, key))?;
        setup.set_item("server_name", quiclab_stacks::SERVER_NAME)?;
        setup.set_item("alpn", quiclab_stacks::APPLICATION_PROTOCOL)?;
        let (options, workload) =
            (in_base_units(config.set_options()).to_string(), in_base_units(workload).to_string());
        py.import(MODULE)?.call_method("endpoint", (name, options, workload), Some(&setup))?.extract()
    }
}
