//! To which states and to which outer values gradients flow from the states of a loop.

use std::ptr::NonNull;

use jit_runtime::Error;
use rustc_hash::FxHashSet;

use super::super::vertex::{Source, Value, Vertex, carries, order_from};
use super::{inputs_by_kind, writes};
use crate::graph::Var;
use crate::graph::node::Node;
use crate::graph::op::Op;
use crate::graph::payload::{LoopPayload, State, Write};

/// A value from outside of a loop to which gradients flow from its body.
#[derive(Clone)]
pub(super) struct Outside {
    pub(super) var: Var,
    /// Whether the body gathers from it: it is an array in memory, which all lanes share.
    pub(super) is_gathered: bool,
    /// Whether lanes of the body use their own elements.
    pub(super) is_read: bool,
}

/// The way of gradients through an iteration.
pub(super) struct Flows {
    /// The states whose gradients may differ from zero.
    pub(super) relevant: Vec<bool>,
    pub(super) outside: Vec<Outside>,
}

/// Follows the gradients of some states.
pub(super) fn flows(payload: &LoopPayload, seeded: &[bool]) -> Result<Flows, Error> {
    let mut flows = Flows { relevant: vec![false; payload.states.len()], outside: Vec::new() };
    let mut pending: Vec<usize> = (0..seeded.len()).filter(|&position| seeded[position]).collect();
    while let Some(position) = pending.pop() {
        if std::mem::replace(&mut flows.relevant[position], true) {
            continue;
        }
        let reached = reached(payload, &payload.states[position], &mut flows.outside)?;
        pending.extend(reached.into_iter().filter(|&reached| payload.states[reached].carries));
    }
    Ok(flows)
}

/// Returns the states before an iteration to which gradients flow from one after it; adds the outer values.
fn reached(payload: &LoopPayload, state: &State, outside: &mut Vec<Outside>) -> Result<Vec<usize>, Error> {
    let values: Vec<Var> = match &state.next {
        _ if state.is_memory => Vec::new(),
        Some(next) => vec![next.clone()],
        None => Vec::new(),
    };
    let mut roots: Vec<Vertex> = values.iter().filter(|var| carries(var)).map(Vertex::of).collect();
    if state.is_memory {
        roots.extend(writes::of(payload, state.param.position()).iter().filter_map(|write| match write {
            Write::Scatter { value, .. } => carries(value).then(|| Vertex::of(value)),
            Write::Loop { control, .. } => Some(Vertex::Loop(control.clone())),
        }));
    }
    let is_inside = |var: &Var| var.region().get() >= payload.id.get();
    let is_param = |var: &Var| var.op() == Op::Param && var.region() == payload.id;
    let values = roots.iter().filter_map(|root| match root {
        Vertex::Value(value) => Some(value.var.address()),
        _ => None,
    });
    let mut read: FxHashSet<NonNull<Node>> = values.collect();
    let vertices = order_from(roots, &|var| !is_inside(var) || is_param(var))?;
    let mut gathered: FxHashSet<NonNull<Node>> = FxHashSet::default();
    let mut states = Vec::new();
    for vertex in vertices.iter().rev() {
        match vertex {
            Vertex::Value(Value { var, .. }) if is_param(var) => states.push(var.position()),
            Vertex::Value(Value { var, .. }) if !is_inside(var) => add(outside, var, &gathered, &read),
            Vertex::Value(Value { source: Source::Operands(node), .. }) if node.op() == Op::Gather => {
                gathered.extend(node.operand(0).map(|source| source.address()));
            }
            Vertex::Loop(control) => {
                let (all_gathered, all_read) = inputs_by_kind(control)?;
                gathered.extend(all_gathered.iter().map(Var::address));
                read.extend(all_read.iter().map(Var::address));
            }
            other => read.extend(other.behind()?.iter().filter_map(|vertex| match vertex {
                Vertex::Value(value) => Some(value.var.address()),
                _ => None,
            })),
        }
    }
    Ok(states)
}

fn add(outside: &mut Vec<Outside>, var: &Var, gathered: &FxHashSet<NonNull<Node>>, read: &FxHashSet<NonNull<Node>>) {
    if !carries(var) {
        return;
    }
    let (is_gathered, is_read) = (gathered.contains(&var.address()), read.contains(&var.address()));
    match outside.iter_mut().find(|outside| outside.var.is_same(var)) {
        Some(known) => {
            known.is_gathered |= is_gathered;
            known.is_read |= is_read;
        }
        None => outside.push(Outside { var: var.clone(), is_gathered, is_read }),
    }
}
