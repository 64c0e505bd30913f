//! How gradients and tangents pass one operation.

use jit_runtime::ir::{BinaryOp, CompareOp, ReduceOp, Type};
use jit_runtime::{Error, ErrorKind};

use super::transposed;
use super::vertex::{Inputs, carries, inputs};
use super::weight::{self, Values, Weight, add, compare, mul, scaled, weighted};
use crate::array::derivatives::product_of_others;
use crate::graph::Var;
use crate::graph::op::Op;
use crate::graph::payload::{How, Payload, ScatterPayload};
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
    /// Returns the gradients of the inputs, from that of the value.
    #[track_caller]
    pub(super) fn backward(&self, gradient: &Var) -> Result<Vec<(Var, Var)>, Error> {
        let inputs = inputs(self.node, self.value)?;
        match self.node.op() {
            Op::Gather => Ok(self.back_through_gather(&inputs, gradient)),
            Op::ScatterResult => self.back_through_scatter(gradient),
            Op::Reduce(op) => Ok(self.back_through_reduction(op, &inputs, gradient)),
            _ => Ok(self.each_weight(&inputs, |input, weight| {
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
            Op::ScatterResult => parts.extend(self.through_scatter(tangent_of)?),
            Op::Reduce(op) => parts.extend(self.through_reduction(op, &inputs, tangent_of)),
            _ => {
                let ty = self.value.ty();
                let each = self.each_weight(&inputs, |input, weight| match tangent_of(input) {
                    Some(tangent) => weighted(&tangent, weight, ty),
                    None => record::literal(ty, 0, 1),
                });
                parts.extend(each.into_iter().filter(|(input, _)| tangent_of(input).is_some()).map(|(_, part)| part));
            }
        }
        Ok(parts.into_iter().reduce(|sum, part| add(&sum, &part)))
    }

    /// Calls a function with each input that gradients flow to, and the derivative by it.
    #[track_caller]
    fn each_weight(&self, inputs: &Inputs, flow: impl Fn(&Var, &Weight) -> Var) -> Vec<(Var, Var)> {
        let mut flows = Vec::new();
        for (slot, input) in inputs.iter().enumerate() {
            let Some(input) = input.as_ref().filter(|input| carries(input)) else { continue };
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

    #[track_caller]
    fn back_through_scatter(&self, gradient: &Var) -> Result<Vec<(Var, Var)>, Error> {
        let Some(control) = self.node.operand(0) else { return Ok(Vec::new()) };
        let Some(Payload::Scatter(scatter)) = control.payload() else { return Ok(Vec::new()) };
        let ScatterPayload { how, target, value, .. } = scatter;
        let flows = Scattered { scatter, result: self.value };
        let gradient = record::broadcast(gradient, self.value.width());
        let mut found = Vec::new();
        if carries(value) {
            let flow = match flows.winners(*how)? {
                Some(winners) => weight::weighted(&flows.read(&gradient), &Weight::Where(winners, true), value.ty()),
                None => flows.read(&gradient),
            };
            found.push((value.clone(), fitted(&flow, &control, value)));
        }
        if carries(target) {
            let flow = match flows.changed(*how)? {
                Some(changed) => weight::weighted(&gradient, &Weight::Where(changed, false), target.ty()),
                None => gradient,
            };
            found.push((target.clone(), flow));
        }
        Ok(found)
    }

    #[track_caller]
    fn through_scatter(&self, tangent_of: &dyn Fn(&Var) -> Option<Var>) -> Result<Option<Var>, Error> {
        let Some(control) = self.node.operand(0) else { return Ok(None) };
        let Some(Payload::Scatter(scatter)) = control.payload() else { return Ok(None) };
        let flows = Scattered { scatter, result: self.value };
        let ty = self.value.ty();
        let mut after = match tangent_of(&scatter.target) {
            Some(tangent) => {
                let tangent = record::broadcast(&tangent, self.value.width());
                match flows.changed(scatter.how)? {
                    Some(changed) => weight::weighted(&tangent, &Weight::Where(changed, false), ty),
                    None => tangent,
                }
            }
            None => record::literal(ty, 0, self.value.width()),
        };
        if let Some(tangent) = tangent_of(&scatter.value) {
            let tangent = match flows.winners(scatter.how)? {
                Some(winners) => weight::weighted(&tangent, &Weight::Where(winners, true), ty),
                None => tangent,
            };
            flows.write(&mut after, How::Reduce(ReduceOp::Add), &tangent, scatter.mask.as_ref());
        }
        Ok(Some(after))
    }
}

/// A scatter and the array after it.
struct Scattered<'a> {
    scatter: &'a ScatterPayload,
    result: &'a Var,
}

impl Scattered<'_> {
    /// Reads an array of the same width at the index of the scatter.
    #[track_caller]
    fn read(&self, array: &Var) -> Var {
        gather::gather(array, &self.scatter.index, self.scatter.mask.as_ref())
    }

    #[track_caller]
    fn write(&self, target: &mut Var, how: How, value: &Var, mask: Option<&Var>) {
        scatter::scatter(target, &Request { how, index: &self.scatter.index, value, expected: None, mask });
    }

    /// Returns the lanes whose value is in the array afterwards; none if all have a part in it.
    #[track_caller]
    fn winners(&self, how: How) -> Result<Option<Var>, Error> {
        let is_there = || compare(CompareOp::Eq, &self.read(self.result), &self.scatter.value);
        match how {
            How::Reduce(ReduceOp::Add) => Ok(None),
            How::Reduce(ReduceOp::Min | ReduceOp::Max) => Ok(Some(is_there())),
            How::Write => Ok(Some(self.last_writers(&is_there()))),
            _ => Err(self.refuse()),
        }
    }

    /// Of the lanes that wrote what an element has, one: lanes may write equal values to one element.
    #[track_caller]
    fn last_writers(&self, is_there: &Var) -> Var {
        let lanes = record::common_width([Some(&self.scatter.index), Some(is_there), None]);
        let lane = record::lane_index(Size::from(lanes));
        let mask = match &self.scatter.mask {
            Some(mask) => record::and(mask, is_there),
            None => is_there.clone(),
        };
        let mut writers = record::literal(Type::U32, 0, self.result.width());
        self.write(&mut writers, How::Reduce(ReduceOp::Max), &lane, Some(&mask));
        record::and(is_there, &compare(CompareOp::Eq, &self.read(&writers), &lane))
    }

    /// Returns the elements that do not depend on the array before; none if all do.
    #[track_caller]
    fn changed(&self, how: How) -> Result<Option<Var>, Error> {
        match how {
            How::Reduce(ReduceOp::Add) => Ok(None),
            How::Reduce(ReduceOp::Min | ReduceOp::Max) => {
                Ok(Some(compare(CompareOp::Ne, self.result, &self.scatter.target)))
            }
            How::Write => {
                let mut written = record::literal(Type::U8, 0, self.result.width());
                let one = record::literal(Type::U8, 1, 1);
                self.write(&mut written, How::Write, &one, self.scatter.mask.as_ref());
                Ok(Some(record::cast(Type::Bool, &written)))
            }
            _ => Err(self.refuse()),
        }
    }

    #[cold]
    fn refuse(&self) -> Error {
        let what = format!("gradients do not flow through a scatter that combines by {:?}", self.scatter.how);
        let error = Error::new(ErrorKind::InvalidArgument, what).at(self.result.site());
        error.with_hint("`scatter`, `scatter_add`, and minima and maxima have derivatives")
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
    reduce::reduce(ReduceOp::Add, flow)
}

/// Returns the sum of two flows of one value.
#[track_caller]
pub(super) fn summed(a: &Var, b: &Var) -> Var {
    record::binary(BinaryOp::Add, a, b)
}
