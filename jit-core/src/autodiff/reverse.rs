//! Reverse mode: gradients flow from results to variables.

use std::rc::Rc;
use std::sync::Arc;

use jit_runtime::ir::ReduceOp;
use jit_runtime::{Error, ErrorKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::loops::{self, Body, Known, Written};
use super::memory::{self, Memory};
use super::node::{Operation, summed};
use super::traversal::Flowing;
use super::vertex::{Key, Source, Value, Vertex, carries, key_of, key_of_call};
use crate::graph::Var;
use crate::graph::op::Op;
use crate::graph::payload::Payload;
use crate::graph::tape::{Call, Flow};
use crate::size::Size;
use crate::trace::{local, record, reduce};

/// Gradients on their way.
#[derive(Default)]
pub(super) struct Gradients {
    values: FxHashMap<Key, Var>,
    /// Those of per-lane local memory.
    memories: FxHashMap<Key, Memory>,
    results: FxHashMap<Key, Flow>,
    /// Those of arrays that loops write to, by the loop and the position of the state.
    written: FxHashMap<(Key, usize), Written>,
    /// The body of a loop in which they flow, if they do.
    pub(super) body: Option<Body>,
    /// What is known about loops, by their origin.
    pub(super) known: Rc<Known>,
    /// The vertices that lead to where gradients are asked for, if others are among those that they flow through.
    pub(super) wanted: Option<FxHashSet<Key>>,
}

impl Gradients {
    /// Gradients that flow in the body of a loop, with what is known about other loops.
    pub(super) fn in_body(body: Body, known: &Rc<Known>) -> Gradients {
        Gradients { body: Some(body), known: Rc::clone(known), ..Gradients::default() }
    }

    /// Returns whether the gradient of a value leads to one that is asked for.
    pub(super) fn is_wanted(&self, var: &Var) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&key_of(var)))
    }

    /// Adds a gradient to that of a value.
    #[track_caller]
    pub(super) fn add(&mut self, var: &Var, gradient: Var) {
        if !self.is_wanted(var) {
            return;
        }
        if local::is_local(var) {
            return self.memories.entry(key_of(var)).or_default().add(gradient);
        }
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

    /// Takes the gradient of a value, as wide as it is; of per-lane local memory, in the width of a loop.
    #[track_caller]
    pub(super) fn take(&mut self, var: &Var, len: Option<u32>, width: Size) -> Result<Option<Var>, Error> {
        let Some(len) = len else { return Ok(self.values.remove(&key_of(var))) };
        self.memories.remove(&key_of(var)).map(|memory| memory.complete(var.ty(), len, width)).transpose()
    }

    /// Sets the gradient of an array that an inner loop writes to.
    pub(super) fn set_written(&mut self, control: &Var, position: usize, written: Written) {
        self.written.insert((key_of(control), position), written);
    }

    /// Takes the gradient of an array that an inner loop has written to.
    pub(super) fn take_written(&mut self, control: &Var, position: usize) -> Option<Written> {
        self.written.remove(&(key_of(control), position))
    }

    /// Lets the gradients flow through sorted vertices, from the last one on.
    #[track_caller]
    pub(super) fn flow(&mut self, vertices: &[Vertex]) -> Result<(), Error> {
        let _flowing = Flowing::begin();
        for vertex in vertices.iter().rev() {
            match vertex {
                Vertex::Value(value) if self.is_end(&value.var) => {}
                Vertex::Value(value) if local::is_local(&value.var) => self.through_memory(value)?,
                Vertex::Value(value) => self.through_value(&value.current())?,
                Vertex::Call(call) => self.through_call(call)?,
                Vertex::Loop(control) => {
                    let gradients = self.results.remove(&key_of(control)).unwrap_or_default();
                    loops::backward(self, control, &gradients)?;
                }
            }
        }
        Ok(())
    }

    /// Returns whether gradients leave the body of a loop here.
    fn is_end(&self, var: &Var) -> bool {
        self.body.as_ref().is_some_and(|body| body.ends.contains(&key_of(var)))
    }

    /// Returns whether lanes have gradients of their own for values that they share.
    fn is_per_lane(&self) -> bool {
        self.body.is_some()
    }

    #[track_caller]
    fn through_value(&mut self, Value { var, source }: &Value) -> Result<(), Error> {
        let Some(gradient) = self.values.get(&key_of(var)).cloned() else { return Ok(()) };
        match source {
            Source::Variable => {}
            Source::Argument(of, _) | Source::Same(of) if carries(of) => self.add(of, gradient),
            Source::Argument(..) | Source::Same(_) => {}
            Source::Operands(node) => self.through_operation(node, var, &gradient)?,
            Source::Result(call, position) => {
                let count = call.outputs.lock().len();
                self.set_result(key_of_call(call), count, *position, self.widened(&gradient, var));
            }
            Source::State(control, position) => self.reach_state(control, *position, var, &gradient)?,
        }
        Ok(())
    }

    /// Takes the gradient of a loop's result to the loop.
    #[track_caller]
    fn reach_state(&mut self, control: &Var, position: usize, var: &Var, gradient: &Var) -> Result<(), Error> {
        if loops::is_array(control, position) {
            let written = Written::of(control, position, record::broadcast(gradient, var.width()), var)?;
            self.set_written(control, position, written.reversed(control, position)?);
            return Ok(());
        }
        let count = control.payload().map_or(0, Payload::positions);
        self.set_result(key_of(control), count, position, self.widened(gradient, var));
        Ok(())
    }

    /// Returns a gradient in the width of its value; in the body of a loop lanes have their own.
    #[track_caller]
    fn widened(&self, gradient: &Var, var: &Var) -> Var {
        if gradient.width() == 1 { record::broadcast(gradient, var.width()) } else { gradient.clone() }
    }

    fn set_result(&mut self, of: Key, count: usize, position: usize, gradient: Var) {
        let results = self.results.entry(of).or_default();
        results.resize(count, None);
        results[position] = Some(gradient);
    }

    #[track_caller]
    fn through_operation(&mut self, node: &Var, value: &Var, gradient: &Var) -> Result<(), Error> {
        match node.op() {
            Op::LocalRead => {
                let (Some(index), Some(memory)) = (node.operand(0), node.operand(local::VERSION)) else {
                    return Ok(());
                };
                self.memories.entry(key_of(&memory)).or_default().add_at(index, gradient.clone());
            }
            Op::Gather if self.is_per_lane() => self.through_gather(node, gradient),
            _ => {
                let operation = Operation { node, value, is_per_lane: self.is_per_lane() };
                for (input, flow) in operation.backward(gradient, &|input| self.is_wanted(input))? {
                    self.add(&input, flow);
                }
            }
        }
        Ok(())
    }

    /// In the body of a loop, the gradient of each element that was read is added to the array's, which lanes share.
    #[track_caller]
    fn through_gather(&mut self, node: &Var, gradient: &Var) {
        let (Some(source), Some(index)) = (node.operand(0), node.operand(1)) else { return };
        if let Some(body) = self.body.as_mut().filter(|_| carries(&source)) {
            body.add_elements(&source, &index, node.operand(2).as_ref(), gradient);
        }
    }

    /// Lets the gradient of per-lane local memory flow.
    #[track_caller]
    fn through_memory(&mut self, Value { var, source }: &Value) -> Result<(), Error> {
        if !self.memories.contains_key(&key_of(var)) {
            return Ok(());
        }
        let len = local::len_of(var).ok_or_else(|| memory::unsupported(var))?;
        let width = self.body.as_ref().map_or_else(|| var.width(), |body| body.width);
        let Some(gradient) = self.take(var, Some(len), width)? else { return Ok(()) };
        match source {
            Source::Same(of) => self.add(of, gradient),
            Source::State(control, position) => {
                let count = control.payload().map_or(0, Payload::positions);
                self.set_result(key_of(control), count, *position, gradient);
            }
            Source::Operands(node) => {
                for (input, flow) in memory::backward(node, len, &gradient, self.is_per_lane())? {
                    self.add(&input, flow);
                }
            }
            Source::Variable | Source::Argument(..) | Source::Result(..) => return Err(memory::unsupported(var)),
        }
        Ok(())
    }

    #[track_caller]
    fn through_call(&mut self, call: &Arc<Call>) -> Result<(), Error> {
        let Some(gradients) = self.results.remove(&key_of_call(call)) else { return Ok(()) };
        let flows = call.rule.backward(call, &gradients)?;
        for (input, flow) in call.inputs.iter().zip(flows) {
            let Some(mut flow) = flow.filter(|_| carries(input) && self.is_wanted(input)) else { continue };
            if !self.is_per_lane() && input.width() == 1 && flow.width() != 1 {
                flow = reduce::reduce(ReduceOp::Add, &flow);
            }
            let is_shared = flow.lanes() == 1 || self.is_per_lane() && input.lanes() == 1;
            if flow.ty() != input.ty() || !(is_shared || flow.width() == input.width()) {
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
