//! How gradients and tangents pass one operation.

use jit_runtime::Error;
use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type};

use super::scaled::ScaledRule;
use super::vertex::{Inputs, carries, inputs};
use super::weight::{Values, Weight, add, compare, mul, scaled, weighted};
use super::{scattered, transposed};
use crate::array::derivatives::product_of_others;
use crate::graph::Var;
use crate::graph::op::Op;
use crate::graph::payload::{How, Payload};
use crate::size::Size;
use crate::trace::scatter::{self, Request};
use crate::trace::{gather, record, reduce};

/// An operation whose operands say how gradients flow.
pub(super) struct Operation<'a> {
    /// The node with the operands.
    pub(super) node: &'a Var,
    /// The value.
    pub(super) value: &'a Var,
    /// Whether lanes have gradients of their own for values that they share, as in the body of a loop.
    pub(super) is_per_lane: bool,
}

impl Operation<'_> {
    /// Returns the gradients of the inputs, of those that are wanted at least, from that of the value.
    #[track_caller]
    pub(super) fn backward(&self, gradient: &Var, is_wanted: &dyn Fn(&Var) -> bool) -> Result<Vec<(Var, Var)>, Error> {
        let inputs = inputs(self.node, self.value)?;
        match self.node.op() {
            Op::Gather => Ok(self.back_through_gather(&inputs, gradient)),
            Op::ScatterResult => scattered::backward(self.node, self.value, gradient, is_wanted),
            Op::Reduce(op) => Ok(self.back_through_reduction(op, &inputs, gradient)),
            _ => Ok(self.each_weight(&inputs, is_wanted, |input, weight| {
                let flow = weighted(gradient, weight, input.ty());
                if self.is_per_lane { flow } else { fitted(&flow, self.value, input) }
            })),
        }
    }

    /// Returns the tangent of the value, from those of the inputs.
    #[track_caller]
    pub(super) fn forward(&self, tangent_of: &dyn Fn(&Var) -> Option<Var>) -> Result<Option<Var>, Error> {
        let inputs = inputs(self.node, self.value)?;
        let mut parts: Vec<Var> = Vec::new();
        match self.node.op() {
            Op::Gather => parts.extend(inputs[0].as_ref().and_then(tangent_of).map(|tangent| {
                let source = inputs[0].as_ref().map_or(Size::from(1), Var::width);
                self.gathered(&record::broadcast(&tangent, source))
            })),
            Op::ScatterResult => parts.extend(scattered::forward(self.node, self.value, tangent_of)?),
            Op::Reduce(op) => parts.extend(self.through_reduction(op, &inputs, tangent_of)),
            _ => {
                let ty = self.value.ty();
                let each = self.each_weight(&inputs, &|_| true, |input, weight| match tangent_of(input) {
                    Some(tangent) => weighted(&tangent, weight, ty),
                    None => record::literal(ty, 0, 1),
                });
                parts.extend(each.into_iter().filter(|(input, _)| tangent_of(input).is_some()).map(|(_, part)| part));
            }
        }
        Ok(parts.into_iter().reduce(|sum, part| add(&sum, &part)))
    }

    /// Calls a function with each wanted input that gradients flow to, and the derivative by it.
    #[track_caller]
    fn each_weight(
        &self,
        inputs: &Inputs,
        is_wanted: &dyn Fn(&Var) -> bool,
        flow: impl Fn(&Var, &Weight) -> Var,
    ) -> Vec<(Var, Var)> {
        let mut flows = Vec::new();
        for (slot, input) in inputs.iter().enumerate() {
            let Some(input) = input.as_ref().filter(|input| carries(input) && is_wanted(input)) else { continue };
            if let Some(weight) = self.weight(slot) {
                flows.push((input.clone(), flow(input, &weight)));
            }
        }
        flows
    }

    #[track_caller]
    fn weight(&self, slot: usize) -> Option<Weight> {
        let node = self.node;
        match node.op() {
            Op::BranchResult => {
                let control = node.operand(0)?;
                let Some(Payload::Branch(branch)) = control.payload() else { return None };
                Some(Weight::Where(branch.condition.clone(), slot == 0))
            }
            Op::SwitchResult => {
                let control = node.operand(0)?;
                let Some(Payload::Switch(switch)) = control.payload() else { return None };
                let count = switch.masks.len();
                let number = record::literal(Type::U32, slot.min(count) as u64, 1);
                let op = if slot < count { CompareOp::Eq } else { CompareOp::Ge };
                Some(Weight::Where(compare(op, &switch.index, &number), true))
            }
            op => {
                let operands = [0, 1, 2].map(|slot| if slot < op.slots() { node.operand(slot) } else { None });
                let operands = operands.each_ref().map(Option::as_ref);
                Values { op, operands, result: self.value }.weight(slot)
            }
        }
    }

    /// Returns elements at the index of a gather.
    #[track_caller]
    fn gathered(&self, source: &Var) -> Var {
        let (index, mask) = (self.node.operand(1), self.node.operand(2));
        match index {
            Some(index) => gather::gather(source, &index, mask.as_ref()),
            None => record::literal(source.ty(), 0, 1),
        }
    }

    /// The gradient of each element that was read is added to its own.
    #[track_caller]
    fn back_through_gather(&self, inputs: &Inputs, gradient: &Var) -> Vec<(Var, Var)> {
        let (Some(source), Some(index)) = (&inputs[0], self.node.operand(1)) else { return Vec::new() };
        let mask = self.node.operand(2);
        if let Some(flow) = transposed::of_gather(source, &index, mask.as_ref(), gradient) {
            return vec![(source.clone(), flow)];
        }
        let mut target = record::literal(source.ty(), 0, source.width());
        let how = How::Reduce(ReduceOp::Add);
        let request = Request { how, index: &index, value: gradient, expected: None, mask: mask.as_ref() };
        scatter::scatter(&mut target, &request);
        vec![(source.clone(), target)]
    }

    #[track_caller]
    fn back_through_reduction(&self, op: ReduceOp, inputs: &Inputs, gradient: &Var) -> Vec<(Var, Var)> {
        let Some(x) = &inputs[0] else { return Vec::new() };
        let flow = match self.weight_in_reduction(op, x) {
            Some(weight) => scaled(gradient, &weight),
            None => gradient.clone(),
        };
        vec![(x.clone(), flow)]
    }

    /// Returns the derivative of a reduction of all elements by each of them; none for a sum.
    #[track_caller]
    fn weight_in_reduction(&self, op: ReduceOp, x: &Var) -> Option<Var> {
        match op {
            ReduceOp::Mul => Some(product_of_others(x)),
            ReduceOp::Min | ReduceOp::Max => Some(record::cast(x.ty(), &compare(CompareOp::Eq, x, self.value))),
            _ => None,
        }
    }

    #[track_caller]
    fn through_reduction(
        &self,
        op: ReduceOp,
        inputs: &Inputs,
        tangent_of: &dyn Fn(&Var) -> Option<Var>,
    ) -> Option<Var> {
        let x = inputs[0].as_ref()?;
        let tangent = record::broadcast(&tangent_of(x)?, x.width());
        let tangent = match self.weight_in_reduction(op, x) {
            Some(weight) => scaled(&tangent, &weight),
            None => tangent,
        };
        Some(reduce::reduce(ReduceOp::Add, &tangent))
    }
}

/// Returns the gradient that an operation's lanes have for an input, in the width of the input: lanes that share one
/// value add theirs.
#[track_caller]
pub(super) fn fitted(flow: &Var, operation: &Var, input: &Var) -> Var {
    if input.width() != 1 || operation.width() == 1 {
        return flow.clone();
    }
    if flow.width() == 1 {
        return mul(flow, &record::size_as(flow.ty(), operation.width()));
    }
    reduce::sum_of_shared(flow)
}

/// Returns the sum of what has flowed to a value and another flow.
#[track_caller]
pub(super) fn summed(sum: &Var, flow: &Var) -> Var {
    ScaledRule::add(sum, flow).unwrap_or_else(|| record::binary(BinaryOp::Add, sum, flow))
}
