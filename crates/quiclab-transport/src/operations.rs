//! Protocol operations that a plugin can replace, or run a function before or after: named computations with
//! named inputs and one result ([`quiclab_core::Operation`] lists them, with units and limits).
//!
//! A connection calls [`Operations::run`] wherever one of them occurs. Without plugins that is only the
//! native computation, and one comparison with null. A function that fails, or returns a result that the
//! operation does not accept, makes the connection fail: the native result is used until the connection calls
//! [`Operations::take_error`], and no function is called again.

#[cfg(test)]
mod tests;

use crate::error::Error;
use quiclab_core::StackInfo;
use std::fmt;

pub use quiclab_core::{Anchor, Operation, Problem};

/// Function at an operation.
pub trait OperationFunction: Send {
    /// Called with the inputs of the operation, in the order of its description, and after the computation
    /// with its result. It returns a result or `None`: before the computation it must return `None`, in its
    /// place a result, and after it either.
    ///
    /// The result may depend only on the arguments of this and of earlier calls: no clock, no unseeded random
    /// numbers. Otherwise a run is not reproducible.
    ///
    /// # Errors
    /// The reason of the failure in words, with which the connection fails.
    fn call(&mut self, inputs: &[(&'static str, f64)], result: Option<f64>) -> Result<Option<f64>, String>;
}

impl<F> OperationFunction for F
where
    F: FnMut(&[(&'static str, f64)], Option<f64>) -> Result<Option<f64>, String> + Send,
{
    fn call(&mut self, inputs: &[(&'static str, f64)], result: Option<f64>) -> Result<Option<f64>, String> {
        self(inputs, result)
    }
}

/// Function with its place.
pub struct Hook {
    /// Name of its plugin, for messages.
    pub plugin: String,
    /// Operation.
    pub operation: Operation,
    /// Place at the operation.
    pub anchor: Anchor,
    /// Name of the function, for messages.
    pub name: String,
    /// Function.
    pub function: Box<dyn OperationFunction>,
}

/// Plugins of a connection, by operation.
#[derive(Default)]
pub struct Operations {
    /// Functions; `None`: no plugin.
    hooks: Option<Box<Hooks>>,
}

struct Hooks {
    /// Functions by operation, in the order of [`Operation::ALL`].
    at: [AtOperation; Operation::ALL.len()],
    /// Reason why the connection must fail, until it is taken.
    error: Option<String>,
    /// Whether an error has occurred: no function is called again.
    stopped: bool,
}

/// Functions at one operation.
#[derive(Default)]
struct AtOperation {
    before: Vec<Hook>,
    replace: Option<Hook>,
    after: Vec<Hook>,
    /// Source of the last result: the function in `replace` (0) or one in `after` (from 1); `None`: the
    /// native computation.
    decided: Option<usize>,
}

impl Operations {
    /// Assigns functions to their operations; at each anchor, in this order. Of several that replace the same
    /// operation, which the scenario does not allow, the last one counts.
    #[must_use]
    pub fn new(hooks: Vec<Hook>) -> Self {
        if hooks.is_empty() {
            return Self::default();
        }
        let mut all = Hooks { at: Default::default(), error: None, stopped: false };
        for hook in hooks {
            let at = &mut all.at[hook.operation as usize];
            match hook.anchor {
                Anchor::Before => at.before.push(hook),
                Anchor::Replace => at.replace = Some(hook),
                Anchor::After => at.after.push(hook),
            }
        }
        Self { hooks: Some(Box::new(all)) }
    }

    /// Whether there is no function at all.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.hooks.is_none()
    }

    /// Whether `operation` has a function; without one, inputs that only functions need can be omitted.
    #[inline]
    #[must_use]
    pub fn has(&self, operation: Operation) -> bool {
        self.hooks.as_ref().is_some_and(|hooks| hooks.runs(operation))
    }

    /// Computes the result of `operation`: that of `native`, unless a plugin replaces or changes it. `inputs`
    /// are named numbers for functions: exactly those of the operation's description.
    #[inline]
    pub fn run<const N: usize>(
        &mut self,
        operation: Operation,
        inputs: impl FnOnce() -> [(&'static str, f64); N],
        native: impl FnOnce() -> f64,
    ) -> f64 {
        match &mut self.hooks {
            Some(hooks) if hooks.runs(operation) => hooks.run(operation, &inputs(), native),
            _ => native(),
        }
    }

    /// Rejects the last result of `operation`, which is within its limits but currently not possible: a path
    /// without room, a stream with nothing to send. The connection fails if a function returned that result.
    #[cold]
    pub fn refuse(&mut self, operation: Operation, result: f64, expected: &str) {
        if let Some(hooks) = &mut self.hooks
            && let Some(hook) = hooks.at[operation as usize].last_to_decide()
            && !hooks.stopped
        {
            let error = hook.complain(&format!("returned {result}; expected {expected} now"));
            hooks.fail(error);
        }
    }

    /// Takes the reason why the connection must fail, in a sentence.
    #[inline]
    pub fn take_error(&mut self) -> Option<String> {
        self.hooks.as_mut()?.error.take()
    }

    /// Checks that `stack` has all operations with a function.
    ///
    /// # Errors
    /// The first operation that it does not have.
    pub fn check(&self, stack: &StackInfo) -> Result<(), Error> {
        let Some(hooks) = &self.hooks else { return Ok(()) };
        let has = |operation| stack.operations.iter().any(|info| info.operation == operation);
        match Operation::ALL.iter().copied().find(|operation| hooks.runs(*operation) && !has(*operation)) {
            None => Ok(()),
            Some(missing) => {
                let names = stack.operations.iter().map(|info| info.operation.name());
                Err(Problem::unknown("plugins", missing.name(), names)
                    .because(format!("the stack `{}` does not have this operation", stack.name)))
            }
        }
    }
}

impl fmt::Debug for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(Operation::ALL.iter().copied().filter(|operation| self.has(*operation)))
            .finish()
    }
}

impl Hooks {
    #[inline]
    fn runs(&self, operation: Operation) -> bool {
        let at = &self.at[operation as usize];
        !self.stopped && (at.replace.is_some() || !at.after.is_empty() || !at.before.is_empty())
    }

    #[cold]
    fn run(
        &mut self,
        operation: Operation,
        inputs: &[(&'static str, f64)],
        native: impl FnOnce() -> f64,
    ) -> f64 {
        debug_assert!(
            inputs.iter().map(|(name, _)| name).eq(operation.info().inputs.iter().map(|(name, _)| name)),
            "`{operation}` is described with other inputs than {inputs:?}"
        );
        let at = &mut self.at[operation as usize];
        for hook in &mut at.before {
            if let Err(error) = hook.watch(inputs) {
                self.fail(error);
                return native();
            }
        }
        at.decided = at.replace.as_ref().map(|_| 0);
        let mut result = match at.replace.as_mut().map(|hook| hook.compute(inputs)) {
            None => native(),
            Some(Ok(result)) => result,
            Some(Err(error)) => {
                self.fail(error);
                return native();
            }
        };
        for (index, hook) in at.after.iter_mut().enumerate() {
            match hook.change(inputs, result) {
                Ok(None) => {}
                Ok(Some(changed)) => {
                    result = changed;
                    at.decided = Some(index + 1);
                }
                Err(error) => {
                    self.fail(error);
                    return result;
                }
            }
        }
        result
    }

    fn fail(&mut self, error: String) {
        self.stopped = true;
        self.error = Some(error);
    }
}

impl AtOperation {
    fn last_to_decide(&self) -> Option<&Hook> {
        match self.decided? {
            0 => self.replace.as_ref(),
            after => self.after.get(after - 1),
        }
    }
}

impl Hook {
    fn watch(&mut self, inputs: &[(&'static str, f64)]) -> Result<(), String> {
        match self.call(inputs, None)? {
            None => Ok(()),
            Some(result) => {
                Err(self.complain(&format!("returned {result}; expected None before a computation")))
            }
        }
    }

    fn compute(&mut self, inputs: &[(&'static str, f64)]) -> Result<f64, String> {
        match self.call(inputs, None)? {
            Some(result) => self.within_limits(result),
            None => {
                Err(self.complain(&format!("returned None; expected {}", self.operation.info().expected())))
            }
        }
    }

    fn change(&mut self, inputs: &[(&'static str, f64)], result: f64) -> Result<Option<f64>, String> {
        let changed = self.call(inputs, Some(result))?;
        changed.map(|changed| self.within_limits(changed)).transpose()
    }

    fn call(&mut self, inputs: &[(&'static str, f64)], result: Option<f64>) -> Result<Option<f64>, String> {
        self.function.call(inputs, result).map_err(|error| self.complain(&format!("failed: {error}")))
    }

    fn within_limits(&self, result: f64) -> Result<f64, String> {
        let info = self.operation.info();
        if info.allows(result) {
            Ok(result)
        } else {
            Err(self.complain(&format!("returned {result}; expected {}", info.expected())))
        }
    }

    fn complain(&self, what: &str) -> String {
        let Self { plugin, operation, anchor, name, .. } = self;
        let place = match anchor {
            Anchor::Before => "before",
            Anchor::Replace => "in place of",
            Anchor::After => "after",
        };
        format!("plugin `{plugin}`: `{name}` {place} `{operation}` {what}")
    }
}
