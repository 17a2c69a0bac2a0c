//! The stacks there are: the native ones, and aioquic where the Python extra is installed.

use crate::endpoint::{FirstError, PyEndpoint};
use crate::function;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use quiclab_core::{
    Endpoint, FieldPath, Problem, ProblemKind, RandomStream, Role, StackAbilities, StackProtocol,
};
use quiclab_scenario::Computation;
use quiclab_sim::{EndpointRequest, FunctionProblem, NativeStacks, OperationFunction, Stacks};
use quiclab_transport::options::{CongestionControl, EndpointConfig, SlowStartExit, Workload};
use serde_json::json;
use std::borrow::Cow;
use std::path::Path;

/// Name of the stack written in Python.
pub(crate) const AIOQUIC: &str = "aioquic";
const AIOQUIC_MODULE: &str = "quiclab.stacks.aioquic";
/// As `describe()` of the module says, too.
const AIOQUIC_ABILITIES: StackAbilities = StackAbilities {
    protocol: StackProtocol::Quic,
    workloads: Cow::Borrowed(&["download"]),
    operations: &[],
    multipath: false,
};

/// JSON list of stacks with their options, defaults and the sources of these.
#[pyfunction]
pub(crate) fn stacks(py: Python<'_>) -> PyResult<String> {
    let mut list = json!(quiclab_sim::stacks());
    if let Ok(module) = py.import(AIOQUIC_MODULE) {
        let described: String = module.call_method0("describe")?.extract()?;
        let described = serde_json::from_str(&described).expect("describe() returns JSON");
        list.as_array_mut().expect("a list of stacks").push(described);
    }
    Ok(list.to_string())
}

/// Whether an endpoint's stack takes its options, and what it can do.
pub(crate) fn validate(config: &EndpointConfig) -> Result<StackAbilities, Problem> {
    if config.stack.as_deref() == Some(AIOQUIC) {
        return Python::attach(|py| validate_aioquic(py, config)).map(|()| AIOQUIC_ABILITIES);
    }
    quiclab_sim::validate(config).map_err(|mut problem| {
        if problem.kind == ProblemKind::UnknownName && problem.path == FieldPath::from("stack") {
            problem.expected.push_str(match Python::attach(|py| py.import(AIOQUIC_MODULE).is_ok()) {
                true => ", or \"aioquic\"",
                false => ", or \"aioquic\" if the extra of this name is installed",
            });
        }
        problem
    })
}

fn validate_aioquic(py: Python<'_>, config: &EndpointConfig) -> Result<(), Problem> {
    let unavailable = |error: PyErr| {
        Problem::new(ProblemKind::Unsupported, "stack", "")
            .got(format!("{AIOQUIC:?}"))
            .because(format!("not available: install quiclab[aioquic] ({error})"))
    };
    let module = py.import(AIOQUIC_MODULE).map_err(unavailable)?;
    let wrong = module
        .call_method1("problem", (options(py, config),))
        .and_then(|wrong| wrong.extract::<Option<(String, String, String)>>());
    match wrong {
        Ok(None) => Ok(()),
        Ok(Some((field, value, expected))) => Err(Problem::value(field.as_str(), value, expected)),
        Err(error) => Err(unavailable(error)),
    }
}

/// The options that are set, in base units: bytes, nanoseconds, numbers or names.
fn options<'py>(py: Python<'py>, config: &EndpointConfig) -> Bound<'py, PyDict> {
    let options = PyDict::new(py);
    let set = |name: &str, value: Option<u64>| {
        if let Some(value) = value {
            options.set_item(name, value).expect("a text and an integer fit into a dict");
        }
    };
    set("datagram_size", config.datagram_size.map(|size| size.bytes()));
    set("initial_window", config.initial_window.map(|size| size.bytes()));
    set("stream_receive_window", config.stream_receive_window.map(|size| size.bytes()));
    set("connection_receive_window", config.connection_receive_window.map(|size| size.bytes()));
    set("send_window", config.send_window.map(|size| size.bytes()));
    set("packet_threshold", config.packet_threshold.map(u64::from));
    set("time_threshold", config.time_threshold.map(|threshold| threshold as u64));
    set("initial_rtt", config.initial_rtt.map(|rtt| rtt.as_nanos()));
    set("ack_frequency", config.ack_frequency.map(|frequency| u64::from(frequency.ack_eliciting_threshold)));
    let name = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            options.set_item(name, value).expect("texts fit into a dict");
        }
    };
    name("profile", config.profile.as_deref());
    name("congestion_control", config.congestion_control.map(CongestionControl::name));
    name("slow_start_exit", config.slow_start_exit.map(SlowStartExit::name));
    // aioquic has none of these: that they are given is all it needs to know to refuse them
    set("emulated_connections", config.emulated_connections.map(u64::from));
    name("controller", config.controller.map(|_| "given"));
    name("pacing", config.pacing.map(|_| "given"));
    name("tcp", config.tcp.as_ref().map(|_| "given"));
    name("quic", config.quic.as_ref().map(|_| "given"));
    name("http2", config.http2.as_ref().map(|_| "given"));
    name("tls", config.tls.as_ref().map(|_| "given"));
    name("quic", config.quic.as_ref().map(|_| "given"));
    name("http2", config.http2.as_ref().map(|_| "given"));
    options
}

/// Native stacks, and aioquic through Python.
pub(crate) struct AllStacks {
    /// The first exception of a Python endpoint.
    pub(crate) error: FirstError,
}

impl Stacks for AllStacks {
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Problem> {
        if request.config.stack.as_deref() != Some(AIOQUIC) {
            return NativeStacks.build(request);
        }
        Python::attach(|py| self.aioquic(py, request)).map_err(|error| {
            let reason = format!("`{AIOQUIC}` does not start: {error}");
            Problem::new(ProblemKind::Unsupported, "stack", "").because(reason)
        })
    }

    fn functions(
        &self,
        computations: &[Computation],
        base_dir: &Path,
    ) -> Result<Vec<Box<dyn OperationFunction>>, FunctionProblem> {
        function::load(computations, base_dir, &self.error)
    }
}

impl AllStacks {
    fn aioquic(&self, py: Python<'_>, request: EndpointRequest<'_>) -> PyResult<Box<dyn Endpoint>> {
        let EndpointRequest { identity, config, workload, start, seed, observer: _, operations: _ } = request;
        let Workload::Download { size, duration, request: request_size } = workload else {
            return Err(pyo3::exceptions::PyValueError::new_err("only downloads run on aioquic"));
        };
        let arguments = PyDict::new(py);
        arguments.set_item("server", identity.role == Role::Server)?;
        arguments.set_item("options", options(py, config))?;
        arguments.set_item("size_bytes", size.map(|size| size.bytes()))?;
        arguments.set_item("duration_ns", duration.map(|duration| duration.as_nanos()))?;
        arguments.set_item("request_bytes", request_size.bytes())?;
        arguments.set_item("start_ns", start.as_nanos())?;
        arguments.set_item("seed", RandomStream::new(seed, &identity.name).bits())?;
        let (certificate, key) = quiclab_stacks::certificate();
        arguments.set_item("certificate", PyBytes::new(py, certificate))?;
        arguments.set_item("private_key", PyBytes::new(py, key))?;
        arguments.set_item("server_name", quiclab_stacks::SERVER_NAME)?;
        arguments.set_item("alpn", quiclab_stacks::APPLICATION_PROTOCOL)?;
        let object = py.import(AIOQUIC_MODULE)?.getattr("AioquicEndpoint")?.call((), Some(&arguments))?;
        Ok(Box::new(PyEndpoint::new(object.unbind(), &identity, self.error.clone())?))
    }
}
