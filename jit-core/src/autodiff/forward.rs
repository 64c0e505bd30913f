//! Forward mode: tangents flow from variables to a result.

use std::sync::Arc;

use jit_runtime::Error;
use rustc_hash::FxHashMap;

use super::node::Operation;
use super::reverse::mismatch;
use super::vertex::{Key, Source, Value, Vertex, key_of, key_of_call};
use crate::graph::Var;
use crate::graph::tape::{Call, Flow};
use crate::trace::record;

/// Tangents on their way.
#[derive(Default)]
pub(super) struct Tangents {
    values: FxHashMap<Key, Var>,
    results: FxHashMap<Key, Flow>,
}

impl Tangents {
    /// Sets the tangent of a variable.
    pub(super) fn set(&mut self, var: &Var, tangent: Var) {
        self.values.insert(key_of(var), tangent);
    }

    /// Returns the tangent of a value, in its width.
    #[track_caller]
    pub(super) fn of(&self, var: &Var) -> Option<Var> {
        self.values.get(&key_of(var)).map(|tangent| record::broadcast(tangent, var.width()))
    }

    /// Lets the tangents flow through sorted vertices.
    #[track_caller]
    pub(super) fn flow(&mut self, vertices: &[Vertex]) -> Result<(), Error> {
        for vertex in vertices {
            match vertex {
                Vertex::Value(value) => self.reach_value(value)?,
                Vertex::Call(call) => self.through_call(call)?,
            }
        }
        Ok(())
    }

    #[track_caller]
    fn reach_value(&mut self, Value { var, source }: &Value) -> Result<(), Error> {
        if self.values.contains_key(&key_of(var)) {
            return Ok(());
        }
        let tangent = match source {
            Source::Variable => None,
            Source::Argument(of, _) => self.values.get(&key_of(of)).cloned(),
            Source::Operands(node) => {
                let tangent_of = |input: &Var| self.values.get(&key_of(input)).cloned();
                (Operation { node, value: var }).forward(&tangent_of)?
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
