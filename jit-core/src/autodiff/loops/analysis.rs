//! To which states and to which outer values gradients flow from the states of a loop.

use std::ptr::NonNull;

use jit_runtime::Error;
use jit_runtime::ir::Type;
use rustc_hash::FxHashSet;

use super::super::vertex::{Source, Value, Vertex, carries, order_from};
use super::writes;
use crate::graph::Var;
use crate::graph::node::Node;
use crate::graph::op::Op;
use crate::graph::payload::{Behind, LoopPayload, Outside, State, Write};
use crate::graph::weak::Weak;

/// The way of gradients through an iteration.
pub(super) struct Flows {
    /// The states whose gradients may differ from zero.
    pub(super) relevant: Vec<bool>,
    pub(super) outside: Vec<Outside>,
    /// What the derivative of a body flows through, in order: copies of a loop with the same walk have derivatives
    /// that read the same states.
    pub(super) walk: Walk,
}

/// The operations, types and positions of vertices.
pub(super) type Walk = Vec<(Op, Type, usize)>;

/// Returns the values from outside to which gradients flow from any state of a loop.
pub(super) fn outside(payload: &LoopPayload) -> Result<Vec<Outside>, Error> {
    // The body keeps them alive.
    let of = |known: &Outside<Weak>| {
        let Outside { ref var, is_gathered, is_read } = *known;
        var.upgrade().map(|var| Outside { var, is_gathered, is_read })
    };
    Ok(behind(payload)?.outside.iter().filter_map(of).collect())
}

/// Returns to what gradients flow from any state that a loop changes.
fn behind(payload: &LoopPayload) -> Result<&Behind, Error> {
    if let Some(known) = payload.behind.get() {
        return Ok(known);
    }
    let changes = |state: &State| state.carries && (state.next.is_some() || state.is_memory);
    let all: Vec<bool> = payload.states.iter().map(changes).collect();
    let Flows { outside, relevant, .. } = flows(payload, &all)?;
    let weak = |&Outside { ref var, is_gathered, is_read }: &Outside| {
        let var = var.downgrade();
        Outside { var, is_gathered, is_read }
    };
    let outside = outside.iter().map(weak).collect();
    Ok(payload.behind.get_or_init(|| Behind { outside, states: relevant }))
}

/// Follows the gradients of some states.
pub(super) fn flows(payload: &LoopPayload, seeded: &[bool]) -> Result<Flows, Error> {
    let (relevant, walk) = (vec![false; payload.states.len()], Walk::new());
    let mut flows = Flows { relevant, outside: Vec::new(), walk };
    let mut pending: Vec<usize> = (0..seeded.len()).filter(|&position| seeded[position]).collect();
    while let Some(position) = pending.pop() {
        if std::mem::replace(&mut flows.relevant[position], true) {
            continue;
        }
        let reached = reached(payload, &payload.states[position], &mut flows)?;
        pending.extend(reached.into_iter().filter(|&reached| payload.states[reached].carries));
    }
    Ok(flows)
}

/// Returns the states before an iteration to which gradients flow from one after it; adds the outer values.
fn reached(payload: &LoopPayload, state: &State, flows: &mut Flows) -> Result<Vec<usize>, Error> {
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
    let begin = Uses::begin(&roots);
    let vertices = order_from(roots, &|var| !is_inside(var) || is_param(var))?;
    let (mut states, mut ends) = (Vec::new(), Vec::new());
    for vertex in vertices.iter().rev() {
        flows.walk.push(step(vertex));
        match vertex {
            Vertex::Value(Value { var, .. }) if is_param(var) => states.push(var.position()),
            Vertex::Value(Value { var, .. }) if !is_inside(var) => ends.push(var),
            _ => {}
        }
    }
    let uses = begin.in_order(&vertices, &|var| !is_inside(var) || is_param(var))?;
    ends.into_iter().for_each(|var| add(&mut flows.outside, var, &uses));
    Ok(states)
}

/// How vertices use the values behind them.
pub(in crate::autodiff) struct Uses {
    /// Arrays in memory from which they gather.
    gathered: FxHashSet<NonNull<Node>>,
    /// Values of which lanes use their own elements.
    read: FxHashSet<NonNull<Node>>,
}

impl Uses {
    /// Begins with the roots of a walk, which are used themselves.
    pub(in crate::autodiff) fn begin(roots: &[Vertex]) -> Uses {
        let values = roots.iter().filter_map(|root| match root {
            Vertex::Value(value) => Some(value.var.address()),
            _ => None,
        });
        Uses { gathered: FxHashSet::default(), read: values.collect() }
    }

    /// Adds the uses by sorted vertices that are no ends.
    pub(in crate::autodiff) fn in_order(
        mut self,
        vertices: &[Vertex],
        is_end: &dyn Fn(&Var) -> bool,
    ) -> Result<Uses, Error> {
        for vertex in vertices {
            match vertex {
                Vertex::Value(Value { var, .. }) if is_end(var) => {}
                Vertex::Value(Value { source: Source::Operands(node), .. }) if node.op() == Op::Gather => {
                    self.gathered.extend(node.operand(0).map(|source| source.address()));
                }
                Vertex::Loop(control) => {
                    let inner = super::payload(control);
                    let (outside, inits) = (self::outside(inner)?, inits(inner)?);
                    self.gathered.extend(outside.iter().filter(|of| of.is_gathered).map(|of| of.var.address()));
                    let read_by_body = outside.iter().filter(|of| of.is_read).map(|of| of.var.address());
                    self.read.extend(read_by_body.chain(inits.map(Var::address)));
                }
                other => self.read.extend(other.behind()?.iter().filter_map(|vertex| match vertex {
                    Vertex::Value(value) => Some(value.var.address()),
                    _ => None,
                })),
            }
        }
        Ok(self)
    }

    pub(in crate::autodiff) fn is_gathered(&self, var: &Var) -> bool {
        self.gathered.contains(&var.address())
    }
}

/// Returns the states of a loop before its first iteration to which gradients flow.
pub(super) fn inits(payload: &LoopPayload) -> Result<impl Iterator<Item = &Var>, Error> {
    let states = payload.states.iter().zip(&behind(payload)?.states);
    Ok(states.filter(|(state, is_behind)| state.carries && **is_behind).map(|(state, _)| &state.init))
}

fn step(vertex: &Vertex) -> (Op, Type, usize) {
    match vertex {
        Vertex::Value(Value { var, .. }) if matches!(var.op(), Op::Param | Op::LoopResult) => {
            (var.op(), var.ty(), var.position())
        }
        Vertex::Value(Value { var, .. }) => (var.op(), var.ty(), 0),
        Vertex::Call(call) => (Op::Identity, Type::Bool, call.inputs.len()),
        Vertex::Loop(control) => (Op::Loop, Type::Bool, super::payload(control).origin.get() as usize),
    }
}

fn add(outside: &mut Vec<Outside>, var: &Var, uses: &Uses) {
    if !carries(var) {
        return;
    }
    let (is_gathered, is_read) = (uses.is_gathered(var), uses.read.contains(&var.address()));
    match outside.iter_mut().find(|outside| outside.var.is_same(var)) {
        Some(known) => {
            known.is_gathered |= is_gathered;
            known.is_read |= is_read;
        }
        None => outside.push(Outside { var: var.clone(), is_gathered, is_read }),
    }
}
