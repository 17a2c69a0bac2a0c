//! Functions at operations: calls with their inputs, results and errors.

use super::*;
use crate::NativeStack;
use quiclab_core::{OPERATIONS, OperationInfo, ProblemKind};
use std::sync::{Arc, Mutex};

type Inputs<'a> = &'a [(&'static str, f64)];
/// Calls of functions: their name, one input, the result.
type Calls = Arc<Mutex<Vec<(&'static str, f64, Option<f64>)>>>;

fn hook(
    operation: Operation,
    anchor: Anchor,
    function: impl FnMut(Inputs<'_>, Option<f64>) -> Result<Option<f64>, String> + Send + 'static,
) -> Hook {
    Hook { plugin: "mine".into(), operation, anchor, name: "m:f".into(), function: Box::new(function) }
}

/// Function that records its calls and returns `answer` of the result, or of 0.
fn noting(
    calls: &Calls,
    name: &'static str,
    anchor: Anchor,
    answer: impl Fn(f64) -> Option<f64> + Send + 'static,
) -> Hook {
    let calls = calls.clone();
    hook(Operation::RttSample, anchor, move |inputs, result| {
        assert_eq!(inputs[2].0, "latest_rtt_ms");
        calls.lock().unwrap().push((name, inputs[2].1, result));
        Ok(answer(result.unwrap_or_default()))
    })
}

/// Inputs of an RTT sample.
fn sample(latest: f64) -> [(&'static str, f64); 6] {
    [
        ("now_ms", 1.0),
        ("path", 0.0),
        ("latest_rtt_ms", latest),
        ("ack_delay_ms", 0.0),
        ("srtt_ms", 0.0),
        ("min_rtt_ms", 0.0),
    ]
}

fn run_sample(operations: &mut Operations, latest: f64) -> f64 {
    operations.run(Operation::RttSample, || sample(latest), || latest)
}

#[test]
fn without_plugins_there_is_the_native_computation_alone() {
    assert_eq!(size_of::<Operations>(), size_of::<usize>(), "one pointer in each connection");
    for mut operations in [Operations::default(), Operations::new(Vec::new())] {
        assert!(operations.is_empty());
        let inputs = || -> [(&'static str, f64); 6] { panic!("nobody asks for the inputs") };
        assert_eq!(operations.run(Operation::RttSample, inputs, || 7.0), 7.0);
        assert_eq!(operations.take_error(), None);
        operations.refuse(Operation::Path, 1.0, "0");
        assert_eq!(operations.take_error(), None);
    }
}

#[test]
fn other_operations_stay_native() {
    let mut operations =
        Operations::new(vec![hook(Operation::Path, Anchor::Replace, |_, _| panic!("no path is asked for"))]);
    assert!(
        operations.has(Operation::Path) && !operations.has(Operation::RttSample) && !operations.is_empty()
    );
    assert_eq!(format!("{operations:?}"), "[Path]");
    let inputs = || -> [(&'static str, f64); 6] { panic!("nobody asks for the inputs") };
    assert_eq!(operations.run(Operation::RttSample, inputs, || 7.0), 7.0);
}

#[test]
fn functions_are_called_in_their_order_with_inputs_and_result() {
    let calls = Calls::default();
    let mut operations = Operations::new(vec![
        noting(&calls, "double", Anchor::After, |result| Some(2.0 * result)),
        noting(&calls, "see", Anchor::Before, |_| None),
        noting(&calls, "keep", Anchor::After, |_| None),
        noting(&calls, "also", Anchor::Before, |_| None),
        noting(&calls, "more", Anchor::After, |result| Some(result + 1.0)),
    ]);
    // 10, doubled, kept, and one more
    assert_eq!(run_sample(&mut operations, 10.0), 21.0);
    let seen = std::mem::take(&mut *calls.lock().unwrap());
    assert_eq!(
        seen,
        [
            ("see", 10.0, None),
            ("also", 10.0, None),
            ("double", 10.0, Some(10.0)),
            ("keep", 10.0, Some(20.0)),
            ("more", 10.0, Some(20.0)),
        ]
    );
    assert_eq!(operations.take_error(), None);
}

#[test]
fn what_replaces_a_computation_keeps_it_from_running_and_keeps_its_own_state() {
    let mut sum = 0.0;
    let total = move |inputs: Inputs<'_>, result: Option<f64>| {
        assert_eq!(result, None);
        sum += inputs[2].1;
        Ok(Some(sum))
    };
    let calls = Calls::default();
    let mut operations = Operations::new(vec![
        hook(Operation::RttSample, Anchor::Replace, total),
        noting(&calls, "after", Anchor::After, |_| None),
    ]);
    for (latest, total) in [(1.0, 1.0), (2.0, 3.0), (4.0, 7.0)] {
        let native = || panic!("replaced");
        assert_eq!(operations.run(Operation::RttSample, || sample(latest), native), total);
    }
    let results: Vec<_> = calls.lock().unwrap().iter().map(|call| call.2).collect();
    assert_eq!(results, [Some(1.0), Some(3.0), Some(7.0)], "the functions after it see its result");
}

/// Runs with one function and returns its result and its error.
fn one(anchor: Anchor, answer: Result<Option<f64>, String>) -> (f64, Option<String>) {
    let mut calls = 0;
    let function = move |_: Inputs<'_>, _: Option<f64>| {
        calls += 1;
        assert_eq!(calls, 1, "nothing is called after a failure");
        answer.clone()
    };
    let mut operations = Operations::new(vec![hook(Operation::RttSample, anchor, function)]);
    let result = run_sample(&mut operations, 10.0);
    let error = operations.take_error();
    if error.is_some() {
        assert_eq!(run_sample(&mut operations, 11.0), 11.0);
        assert_eq!(operations.take_error(), None, "an error is told once");
        assert!(!operations.has(Operation::RttSample));
    }
    (result, error)
}

#[test]
fn what_a_function_must_not_answer_names_plugin_function_operation_and_value() {
    let limits = "a number from 0.001 to 600000 ms";
    for (anchor, answer, sentence) in [
        (
            Anchor::Before,
            Ok(Some(3.0)),
            "before `compute.rtt_sample` returned 3; expected None before a computation",
        ),
        (Anchor::Before, Err("no"), "before `compute.rtt_sample` failed: no"),
        (
            Anchor::Replace,
            Ok(None),
            &format!("in place of `compute.rtt_sample` returned None; expected {limits}"),
        ),
        (
            Anchor::Replace,
            Ok(Some(-3.0)),
            &format!("in place of `compute.rtt_sample` returned -3; expected {limits}"),
        ),
        (
            Anchor::Replace,
            Ok(Some(f64::NAN)),
            &format!("in place of `compute.rtt_sample` returned NaN; expected {limits}"),
        ),
        (Anchor::Replace, Err("no"), "in place of `compute.rtt_sample` failed: no"),
        (
            Anchor::After,
            Ok(Some(f64::INFINITY)),
            &format!("after `compute.rtt_sample` returned inf; expected {limits}"),
        ),
        (Anchor::After, Err("no"), "after `compute.rtt_sample` failed: no"),
    ] {
        let (result, error) = one(anchor, answer.map_err(str::to_owned));
        assert_eq!(result, 10.0, "the native result goes on");
        assert_eq!(error.unwrap(), format!("plugin `mine`: `m:f` {sentence}"));
    }
    assert_eq!(one(Anchor::After, Ok(None)), (10.0, None));
    assert_eq!(one(Anchor::Replace, Ok(Some(600_000.0))), (600_000.0, None), "the limit is included");
}

#[test]
fn a_result_that_is_not_possible_now_is_blamed_on_who_gave_it() {
    let path = |previous| [("now_ms", 0.0), ("paths", 2.0), ("previous", previous)];
    let hooks = |named: &str| {
        let keep = hook(Operation::Path, Anchor::After, |_, _| Ok(None));
        let mut other =
            hook(Operation::Path, Anchor::After, |inputs, _| Ok((inputs[2].1 > 0.0).then_some(5.0)));
        other.name = named.to_owned();
        Operations::new(vec![keep, other])
    };
    let mut operations = hooks("m:five");
    assert_eq!(operations.run(Operation::Path, || path(0.0), || 1.0), 1.0);
    operations.refuse(Operation::Path, 1.0, "0");
    assert_eq!(operations.take_error(), None, "the native result: nobody to blame");
    assert_eq!(operations.run(Operation::Path, || path(1.0), || 1.0), 5.0);
    operations.refuse(Operation::Path, 5.0, "0 or 1");
    assert_eq!(
        operations.take_error().unwrap(),
        "plugin `mine`: `m:five` after `compute.path` returned 5; expected 0 or 1 now"
    );
    assert_eq!(operations.run(Operation::Path, || path(1.0), || 1.0), 1.0);
}

#[test]
#[should_panic(expected = "is described with other inputs")]
fn inputs_are_those_of_the_description() {
    let mut operations = Operations::new(vec![hook(Operation::Path, Anchor::Before, |_, _| Ok(None))]);
    operations.run(Operation::Path, || [("now_ms", 0.0)], || 0.0);
}

#[test]
fn a_stack_without_the_operation_refuses_it_by_name() {
    static TWO: [OperationInfo; 2] = [OPERATIONS[0], OPERATIONS[1]];
    let operations = Operations::new(vec![hook(Operation::CongestionWindow, Anchor::After, |_, _| Ok(None))]);
    let tcp = crate::tcp::LabTcp.info();
    let problem = operations.check(tcp).unwrap_err();
    assert_eq!((problem.path.to_string(), problem.kind), ("plugins".to_owned(), ProblemKind::UnknownName));
    let stack = StackInfo { operations: &TWO, ..*tcp };
    assert_eq!(operations.check(&stack), Ok(()));
    let path = Operations::new(vec![hook(Operation::Path, Anchor::After, |_, _| Ok(None))]);
    let expected = path.check(&stack).unwrap_err().expected;
    assert_eq!(expected, "\"compute.congestion_window\" or \"compute.pacing_rate\"");
    assert_eq!(Operations::default().check(tcp), Ok(()));
}
