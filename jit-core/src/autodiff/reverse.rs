//! Reverse mode: gradients flow from results to variables.

use std::sync::Arc;

use jit_runtime::{Error, ErrorKind};
use rustc_hash::FxHashMap;

use super::node::{Operation, summed};
use super::vertex::{Key, Source, Value, Vertex, carries, key_of, key_of_call};
use crate::graph::Var;
use crate::graph::tape::{Call, Flow};
use crate::trace::record;

/// Gradients on their way.
#[derive(Default)]
pub(super) struct Gradients {
    values: FxHashMap<Key, Var>,
    results: FxHashMap<Key, Flow>,
}

impl Gradients {
    /// Adds a gradient to that of a value.
    #[track_caller]
    pub(super) fn add(&mut self, var: &Var, gradient: Var) {
        let sum = match self.values.get(&key_of(var)) {
            Some(other) => summed(other, &gradient),
            None => gradient,
        };
        self.values.insert(key_of(var), sum);
    }

    /// Returns the gradient of a value, in its width.
    #[track_caller]
    pub(super) fn of(&self, var: &Var) -> Option<Var> {
        self.values.get(&key_of(var)).map(|gradient| record::broadcast(gradient, var.width()))
    }

    /// Lets the gradients flow through sorted vertices, from the last one on.
    #[track_caller]
    pub(super) fn flow(&mut self, vertices: &[Vertex]) -> Result<(), Error> {
        for vertex in vertices.iter().rev() {
            match vertex {
                Vertex::Value(value) => self.through_value(value)?,
                Vertex::Call(call) => self.through_call(call)?,
            }
        }
        Ok(())
    }

    #[track_caller]
    fn through_value(&mut self, Value { var, source }: &Value) -> Result<(), Error> {
        let Some(gradient) = self.values.get(&key_of(var)).cloned() else { return Ok(()) };
        match source {
            Source::Variable => {}
            Source::Argument(of, _) if carries(of) => self.add(of, gradient),
            Source::Argument(..) => {}
            Source::Operands(node) => {
                for (input, flow) in (Operation { node, value: var }).backward(&gradient)? {
                    self.add(&input, flow);
                }
            }
            Source::Result(call, position) => {
                let results = self.results.entry(key_of_call(call)).or_default();
                let count = call.outputs.lock().len();
                results.resize(count, None);
                results[*position] = Some(record::broadcast(&gradient, var.width()));
            }
        }
        Ok(())
    }

    #[track_caller]
    fn through_call(&mut self, call: &Arc<Call>) -> Result<(), Error> {
        let Some(gradients) = self.results.remove(&key_of_call(call)) else { return Ok(()) };
        let flows = call.rule.backward(call, &gradients)?;
        for (input, flow) in call.inputs.iter().zip(flows) {
            let Some(flow) = flow.filter(|_| carries(input)) else { continue };
            if flow.ty() != input.ty() || (flow.lanes() != 1 && flow.width() != input.width()) {
                return Err(mismatch(call, input, &flow));
            }
            self.add(input, flow);
        }
        Ok(())
    }
}

#[cold]
pub(super) fn mismatch(call: &Call, wanted: &Var, flow: &Var) -> Error {
    let what = format!(
        "the derivative of `{}` has {} elements of {} where {} of {} belong",
        call.rule.name(),
        flow.lanes(),
        flow.ty(),
        wanted.lanes(),
        wanted.ty()
    );
    Error::new(ErrorKind::InvalidArgument, what).at(call.site)
}
