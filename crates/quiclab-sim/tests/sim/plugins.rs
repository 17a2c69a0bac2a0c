//! Functions of plugins and their delivery to an endpoint.

use quiclab_config::Document;
use quiclab_core::{Endpoint, Problem};
use quiclab_scenario::{Computation, Scenario};
use quiclab_sim::{
    BuildOptions, EndpointRequest, FunctionError, NativeStacks, OperationFunction, RunError, RunOptions,
    Stacks, run,
};
use quiclab_transport::operations::Operation;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::Path;

const TEXT: &str = r#"
version = 1
name = "plugins"
links = { a = { rate = "20 Mbit/s" }, b = {} }
[plugins.mine]
ends = "sender"
exchanges = [
    { operation = "compute.rtt_sample", before = "m:see" },
    { operation = "compute.path", replace = "m:first" },
]
[flows.f]
stack = "lab-tcp"
plugins = ["mine"]
down = ["a"]
up = ["b"]
workload = { kind = "download", size = "10 kB" }
"#;

/// Provides every function, and records all requests.
#[derive(Default)]
struct Functions {
    /// Folder and names.
    asked: RefCell<Vec<(String, Vec<String>)>>,
    /// Name of the endpoint and its operations.
    built: RefCell<Vec<(String, String)>>,
    /// Whether it passes the operations to lab-tcp, which has none.
    forwards: bool,
}

impl Stacks for Functions {
    fn build(&self, mut request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Problem> {
        let operations = format!("{:?}", request.operations);
        self.built.borrow_mut().push((request.identity.name.clone(), operations));
        if !self.forwards {
            request.operations = Default::default();
        }
        NativeStacks.build(request)
    }

    fn functions(
        &self,
        computations: &[Computation],
        base_dir: &Path,
    ) -> Result<Vec<Box<dyn OperationFunction>>, FunctionError> {
        let names = computations.iter().map(|computation| computation.function.clone()).collect();
        self.asked.borrow_mut().push((base_dir.display().to_string(), names));
        let function = |_: &Computation| -> Box<dyn OperationFunction> {
            Box::new(|_: &[(&'static str, f64)], _: Option<f64>| Ok(None))
        };
        Ok(computations.iter().map(function).collect())
    }
}

/// A scenario that is not validated: no stack of this build has computations to replace yet.
fn scenario() -> Scenario {
    Scenario::decode(&Document::from_toml(TEXT, "s.toml", &[]).unwrap()).unwrap().resolved()
}

fn run_with(stacks: &dyn Stacks) -> Result<bool, RunError> {
    let options = RunOptions {
        build: BuildOptions { stacks, base_dir: Path::new("here"), transport_observer: &|_| None },
        packet_observers: &|_| Vec::new(),
        progress: &|_| ControlFlow::Continue(()),
        compared: None,
    };
    run(&scenario(), 1, &options).map(|output| output.result.flows["f"].completed)
}

#[test]
fn a_program_of_ones_own_gives_each_end_its_functions() {
    let stacks = Functions::default();
    assert!(run_with(&stacks).unwrap());
    let names = vec!["m:see".to_owned(), "m:first".to_owned()];
    assert_eq!(*stacks.asked.borrow(), [("here".to_owned(), names), ("here".to_owned(), Vec::new())]);
    let operations = format!("{:?}", [Operation::RttSample, Operation::Path]);
    let expected = [("f.sender".to_owned(), operations), ("f.receiver".to_owned(), "[]".to_owned())];
    assert_eq!(*stacks.built.borrow(), expected);
}

#[test]
fn a_stack_without_computations_refuses_them() {
    let stacks = Functions { forwards: true, ..Functions::default() };
    let error = run_with(&stacks).unwrap_err().to_string();
    let reason = "the stack `lab-tcp` does not have this operation";
    assert!(error.starts_with("flows.f.sender.plugins: ") && error.ends_with(reason), "{error}");
}

#[test]
fn the_native_stacks_alone_have_no_functions() {
    assert_eq!(
        run_with(&NativeStacks).unwrap_err().to_string(),
        "plugins.mine: expected no function, got \"m:see\"; functions written in Python run with the Python package only"
    );
}
