//! Forward mode: tangents flow from variables to a result.

use std::sync::Arc;

use jit_runtime::Error;
use rustc_hash::{FxHashMap, FxHashSet};

use super::loops::{self, Written};
use super::memory;
use super::node::Operation;
use super::reverse::mismatch;
use super::traversal::Flowing;
use super::vertex::{Key, Source, Value, Vertex, key_of, key_of_call};
use crate::graph::Var;
use crate::graph::op::Op;
use crate::graph::tape::{Call, Flow};
use crate::trace::{local, record};

/// The place of an array whose tangent inner loops change, one after another.
#[derive(Clone, Copy)]
pub(super) struct Lent(usize);

/// Tangents on their way.
#[derive(Default)]
pub(super) struct Tangents {
    values: FxHashMap<Key, Var>,
    results: FxHashMap<Key, Flow>,
    /// In the body of a loop, those of the arrays that it writes to.
    arrays: Vec<Written>,
    /// The arrays that inner loops write to, by the loop and the position of the state.
    lent: FxHashMap<(Key, usize), Lent>,
    /// Whether they flow in the body of a loop.
    is_body: bool,
    /// In the body of a loop, the values at which tangents enter the body.
    pub(super) ends: FxHashSet<Key>,
}

impl Tangents {
    /// Sets the tangent of a variable.
    pub(super) fn set(&mut self, var: &Var, tangent: Var) {
        self.values.insert(key_of(var), tangent);
    }

    /// Returns tangents that flow in the body of a loop: those of the values from outside that it reads, to begin with.
    pub(super) fn inside(&self, outside: &[Var]) -> Tangents {
        let known = outside.iter().filter_map(|var| Some((key_of(var), self.values.get(&key_of(var))?.clone())));
        Tangents { values: known.collect(), is_body: true, ..Tangents::default() }
    }

    /// Returns whether a value has a tangent.
    pub(super) fn has(&self, var: &Var) -> bool {
        self.values.contains_key(&key_of(var))
    }

    /// Returns the tangent of a value, in its width.
    #[track_caller]
    pub(super) fn of(&self, var: &Var) -> Option<Var> {
        let tangent = self.values.get(&key_of(var))?;
        Some(if tangent.width() == 1 && !local::is_local(var) {
            record::broadcast(tangent, var.width())
        } else {
            tangent.clone()
        })
    }

    /// Sets the tangent of a loop's state after the loop.
    pub(super) fn set_state(&mut self, control: &Var, position: usize, count: usize, tangent: Var) {
        let results = self.results.entry(key_of(control)).or_default();
        results.resize(count, None);
        results[position] = Some(tangent);
    }

    /// Takes the tangent of an array that the body writes to, for inner loops to change.
    pub(super) fn lend(&mut self, array: Written) -> Lent {
        self.arrays.push(array);
        Lent(self.arrays.len() - 1)
    }

    /// Lets an inner loop change the tangent of an array.
    pub(super) fn lend_to(&mut self, control: &Var, position: usize, array: Lent) {
        self.lent.insert((key_of(control), position), array);
    }

    /// Returns whether anything reads an array after a loop that writes to it. The body of a loop around it passes its
    /// tangent on; a copy of the loop that another state of that body needs has no effects.
    pub(super) fn needs_written(&self, control: &Var, position: usize) -> bool {
        !self.is_body || self.lent.contains_key(&(key_of(control), position))
    }

    /// Returns the tangent of an array of the body that a loop writes to, before that loop.
    pub(super) fn lent(&self, control: &Var, position: usize) -> Option<Written> {
        self.lent.get(&(key_of(control), position)).map(|array| self.arrays[array.0].clone())
    }

    /// Sets the tangent of an array of the body, if it is one, after a loop that writes to it.
    pub(super) fn give_back(&mut self, control: &Var, position: usize, tangent: &Var) {
        if let Some(array) = self.lent.get(&(key_of(control), position)) {
            self.arrays[array.0].gradient = tangent.clone();
        }
    }

    /// Returns the tangent of an array of the body after all inner loops.
    pub(super) fn after_loops(&self, array: Lent) -> Written {
        self.arrays[array.0].clone()
    }

    /// Lets the tangents flow through sorted vertices.
    #[track_caller]
    pub(super) fn flow(&mut self, vertices: &[Vertex]) -> Result<(), Error> {
        let _flowing = Flowing::begin();
        for vertex in vertices {
            match vertex {
                Vertex::Value(value) => self.reach_value(&value.current())?,
                Vertex::Call(call) => self.through_call(call)?,
                Vertex::Loop(control) => loops::forward(self, control)?,
            }
        }
        Ok(())
    }

    #[track_caller]
    fn reach_value(&mut self, Value { var, source }: &Value) -> Result<(), Error> {
        if self.values.contains_key(&key_of(var)) || self.ends.contains(&key_of(var)) {
            return Ok(());
        }
        let tangent = match source {
            Source::Variable => None,
            Source::Argument(of, _) | Source::Same(of) => self.values.get(&key_of(of)).cloned(),
            Source::Operands(node) => self.through_operation(node, var)?,
            Source::State(control, position) => {
                self.results.get(&key_of(control)).and_then(|results| results.get(*position)?.clone())
            }
            Source::Result(call, position) => {
                self.results.get(&key_of_call(call)).and_then(|results| results.get(*position)?.clone())
            }
        };
        if let Some(tangent) = tangent {
            self.values.insert(key_of(var), tangent);
        }
        Ok(())
    }

    #[track_caller]
    fn through_operation(&self, node: &Var, value: &Var) -> Result<Option<Var>, Error> {
        let tangent_of = |input: &Var| self.values.get(&key_of(input)).cloned();
        let memory = if local::is_local(value) { Some(value.clone()) } else { node.operand(local::VERSION) };
        match memory.filter(|_| local::is_local(value) || node.op() == Op::LocalRead) {
            Some(memory) => {
                memory::forward(node, local::len_of(&memory).ok_or_else(|| memory::unsupported(value))?, &tangent_of)
            }
            None => (Operation { node, value, is_per_lane: false }).forward(&tangent_of),
        }
    }

    #[track_caller]
    fn through_call(&mut self, call: &Arc<Call>) -> Result<(), Error> {
        let tangents: Flow = call.inputs.iter().map(|input| self.of(input)).collect();
        if tangents.iter().all(Option::is_none) {
            return Ok(());
        }
        let results = call.rule.forward(call, &tangents)?;
        for (wanted, flow) in call.results().iter().zip(&results) {
            if let (Some(wanted), Some(flow)) = (wanted, flow)
                && (flow.ty() != wanted.ty() || (flow.lanes() != 1 && flow.width() != wanted.width()))
            {
                return Err(mismatch(call, wanted, flow));
            }
        }
        self.results.insert(key_of_call(call), results);
        Ok(())
    }
}
