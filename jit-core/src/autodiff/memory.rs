//! How gradients and tangents pass per-lane local memory.
//!
//! The gradient of a memory is a memory. A read adds to the gradient of the element that it has read. A write moves the
//! gradient of the element to the value that was written, since the element before has no part in what follows.

use jit_runtime::ir::Type;
use jit_runtime::{Error, ErrorKind};

use super::loops::for_each_element;
use super::node::{fitted, summed};
use super::vertex::carries;
use crate::graph::Var;
use crate::graph::op::Op;
use crate::size::Size;
use crate::trace::{local, record};

/// The gradient of per-lane local memory, while its uses are visited.
#[derive(Default)]
pub(super) struct Memory {
    /// Memories to add.
    whole: Vec<Var>,
    /// Indices, and what is added to the elements there.
    elements: Vec<(Var, Var)>,
}

impl Memory {
    /// Adds a memory.
    pub(super) fn add(&mut self, gradient: Var) {
        self.whole.push(gradient);
    }

    /// Adds to the element at an index.
    pub(super) fn add_at(&mut self, index: Var, gradient: Var) {
        self.elements.push((index, gradient));
    }

    /// Returns the sum.
    #[track_caller]
    pub(super) fn complete(self, ty: Type, len: u32, width: Size) -> Result<Var, Error> {
        let mut whole = self.whole.into_iter();
        let mut sum = whole.next().unwrap_or_else(|| zeros(ty, len, width));
        for other in whole {
            sum = for_each_element(len, sum, |sum, index| {
                add_to(sum, len, index, &local::read(&other, len, index, None));
            })?;
        }
        for (index, gradient) in self.elements {
            add_to(&mut sum, len, &index, &gradient);
        }
        Ok(sum)
    }
}

/// Returns a memory of zeros.
#[track_caller]
pub(super) fn zeros(ty: Type, len: u32, width: Size) -> Var {
    local::fresh(len, &record::literal(ty, 0, width))
}

#[track_caller]
fn add_to(memory: &mut Var, len: u32, index: &Var, value: &Var) {
    let sum = summed(&local::read(memory, len, index, None), value);
    local::write(memory, len, index, &sum, None);
}

/// Returns the sum of the elements of a memory: as a memory of one element.
#[track_caller]
fn sum_of_elements(memory: &Var, len: u32) -> Result<Var, Error> {
    let (first, zero) = (record::literal(Type::U32, 0, 1), zeros(memory.ty(), 1, memory.width()));
    let sum = for_each_element(len, zero, |sum, index| {
        add_to(sum, 1, &first, &local::read(memory, len, index, None));
    })?;
    Ok(local::read(&sum, 1, &first, None))
}

/// Returns the gradients of the inputs of a node that makes or changes a memory, from that of the memory.
#[track_caller]
pub(super) fn backward(node: &Var, len: u32, gradient: &Var, is_per_lane: bool) -> Result<Vec<(Var, Var)>, Error> {
    let fit = |flow: Var, input: &Var| if is_per_lane { flow } else { fitted(&flow, node, input) };
    let carried = |slot: usize| node.operand(slot).filter(carries);
    let mut flows = Vec::new();
    match node.op() {
        Op::Local => {
            if let Some(value) = carried(0) {
                flows.push((value.clone(), fit(sum_of_elements(gradient, len)?, &value)));
            }
        }
        Op::LocalWrite => {
            let index = node.operand(local::INDEX).ok_or_else(|| unsupported(node))?;
            if let Some(value) = carried(local::VALUE) {
                flows.push((value.clone(), fit(local::read(gradient, len, &index, None), &value)));
            }
            if let Some(previous) = carried(local::PREVIOUS) {
                let mut rest = gradient.clone();
                local::write(&mut rest, len, &index, &record::literal(node.ty(), 0, 1), None);
                flows.push((previous, rest));
            }
        }
        Op::Select => {
            let mask = node.operand(0).ok_or_else(|| unsupported(node))?;
            let nothing = zeros(node.ty(), len, gradient.width());
            for (slot, is_where) in [(1, true), (2, false)] {
                let Some(input) = carried(slot) else { continue };
                let (a, b) = if is_where { (gradient, &nothing) } else { (&nothing, gradient) };
                flows.push((input, local::select(node.site(), &mask, a, b)));
            }
        }
        _ => return Err(unsupported(node)),
    }
    Ok(flows)
}

/// Returns the tangent of a node that makes or changes a memory, or reads it; `None` if nothing flows to it.
#[track_caller]
pub(super) fn forward(node: &Var, len: u32, tangent_of: &dyn Fn(&Var) -> Option<Var>) -> Result<Option<Var>, Error> {
    let tangent = |slot: usize| node.operand(slot).as_ref().and_then(tangent_of);
    let memory_or_zeros = |slot: usize| tangent(slot).unwrap_or_else(|| zeros(node.ty(), len, node.width()));
    Ok(match node.op() {
        Op::Local => tangent(0).map(|tangent| local::fresh(len, &tangent)),
        Op::LocalRead => match (tangent(local::VERSION), node.operand(0)) {
            (Some(memory), Some(index)) => Some(local::read(&memory, len, &index, None)),
            _ => None,
        },
        Op::LocalWrite => {
            let (value, previous) = (tangent(local::VALUE), tangent(local::PREVIOUS));
            let Some(index) = node.operand(local::INDEX) else { return Ok(None) };
            if value.is_none() && previous.is_none() {
                return Ok(None);
            }
            let mut memory = memory_or_zeros(local::PREVIOUS);
            let value = value.unwrap_or_else(|| record::literal(node.ty(), 0, 1));
            local::write(&mut memory, len, &index, &value, None);
            Some(memory)
        }
        Op::Select => match (tangent(1), tangent(2), node.operand(0)) {
            (None, None, _) | (_, _, None) => None,
            (_, _, Some(mask)) => Some(local::select(node.site(), &mask, &memory_or_zeros(1), &memory_or_zeros(2))),
        },
        _ => return Err(unsupported(node)),
    })
}

#[cold]
pub(super) fn unsupported(var: &Var) -> Error {
    let what = "gradients do not flow through per-lane local memory that is the result of a branch or of a call";
    Error::new(ErrorKind::InvalidArgument, what)
        .at(var.site())
        .with_hint("write to its elements in the branch, or compute on `detach()`ed values")
}
