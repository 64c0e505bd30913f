//! How gradients and tangents pass a scatter.
//!
//! The array after a scatter depends on the values of its lanes and on the array before. Of lanes that write to one
//! element, the one whose value is there has its gradient; minima and maxima pass it to all whose value is there; a sum
//! to all. A product passes it to each factor, multiplied by the product of the others.

use std::cell::OnceCell;

use jit_runtime::ir::{CompareOp, ReduceOp, Type};
use jit_runtime::{Error, ErrorKind};

use super::factors::Factors;
use super::node::fitted;
use super::vertex::carries;
use super::weight::{Weight, compare, weighted};
use crate::graph::Var;
use crate::graph::payload::{How, Payload, ScatterPayload};
use crate::size::Size;
use crate::trace::scatter::{self, Request};
use crate::trace::{gather, record};

/// Returns the gradients of the values and of the array before, of those that are wanted, from that of the array after.
#[track_caller]
pub(super) fn backward(
    node: &Var,
    result: &Var,
    gradient: &Var,
    is_wanted: &dyn Fn(&Var) -> bool,
) -> Result<Vec<(Var, Var)>, Error> {
    let Some(control) = node.operand(0) else { return Ok(Vec::new()) };
    let Some(Payload::Scatter(payload)) = control.payload() else { return Ok(Vec::new()) };
    let ScatterPayload { target, value, .. } = payload;
    let flows = Scattered { scatter: payload, result, factors: OnceCell::new() };
    let gradient = record::broadcast(gradient, result.width());
    let mut found = Vec::new();
    if carries(value) && is_wanted(value) {
        let flow = weighted(&flows.read(&gradient), &flows.by_value()?, value.ty());
        found.push((value.clone(), fitted(&flow, &control, value)));
    }
    if carries(target) && is_wanted(target) {
        found.push((target.clone(), weighted(&gradient, &flows.by_target()?, target.ty())));
    }
    Ok(found)
}

/// Returns the tangent of the array after.
#[track_caller]
pub(super) fn forward(
    node: &Var,
    result: &Var,
    tangent_of: &dyn Fn(&Var) -> Option<Var>,
) -> Result<Option<Var>, Error> {
    let Some(control) = node.operand(0) else { return Ok(None) };
    let Some(Payload::Scatter(payload)) = control.payload() else { return Ok(None) };
    let flows = Scattered { scatter: payload, result, factors: OnceCell::new() };
    let ty = result.ty();
    let mut after = match tangent_of(&payload.target) {
        Some(tangent) => weighted(&record::broadcast(&tangent, result.width()), &flows.by_target()?, ty),
        None => record::literal(ty, 0, result.width()),
    };
    if let Some(tangent) = tangent_of(&payload.value) {
        let tangent = weighted(&tangent, &flows.by_value()?, ty);
        flows.write(&mut after, How::Reduce(ReduceOp::Add), &tangent, payload.mask.as_ref());
    }
    Ok(Some(after))
}

/// A scatter and the array after it.
struct Scattered<'a> {
    scatter: &'a ScatterPayload,
    result: &'a Var,
    factors: OnceCell<Factors>,
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

    /// Returns the derivative of the elements after the scatter by the values of its lanes.
    #[track_caller]
    fn by_value(&self) -> Result<Weight, Error> {
        let value = &self.scatter.value;
        let is_there = || compare(CompareOp::Eq, &self.read(self.result), value);
        match self.scatter.how {
            How::Reduce(ReduceOp::Add) => Ok(Weight::One),
            How::Reduce(ReduceOp::Mul) => Ok(Weight::By(self.factors().without(value, |array| self.read(array)))),
            How::Reduce(ReduceOp::Min | ReduceOp::Max) => Ok(Weight::Where(is_there(), true)),
            How::Write => Ok(Weight::Where(self.last_writers(&is_there()), true)),
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

    /// Returns the derivative of the elements after the scatter by those before.
    #[track_caller]
    fn by_target(&self) -> Result<Weight, Error> {
        let target = &self.scatter.target;
        match self.scatter.how {
            How::Reduce(ReduceOp::Add) => Ok(Weight::One),
            How::Reduce(ReduceOp::Mul) => Ok(Weight::By(self.factors().without(target, Var::clone))),
            How::Reduce(ReduceOp::Min | ReduceOp::Max) => {
                Ok(Weight::Where(compare(CompareOp::Ne, self.result, target), false))
            }
            How::Write => {
                let mut written = record::literal(Type::U8, 0, self.result.width());
                let one = record::literal(Type::U8, 1, 1);
                self.write(&mut written, How::Write, &one, self.scatter.mask.as_ref());
                Ok(Weight::Where(record::cast(Type::Bool, &written), false))
            }
            _ => Err(self.refuse()),
        }
    }

    #[track_caller]
    fn factors(&self) -> &Factors {
        self.factors.get_or_init(|| {
            let ScatterPayload { target, index, value, mask, .. } = self.scatter;
            let mut factors = Factors::of(target);
            factors.multiply(index, value, mask.as_ref());
            factors
        })
    }

    #[cold]
    fn refuse(&self) -> Error {
        let what = format!("gradients do not flow through a scatter that combines by {:?}", self.scatter.how);
        let error = Error::new(ErrorKind::InvalidArgument, what).at(self.result.site());
        error.with_hint("`scatter`, `scatter_add`, products, minima and maxima have derivatives")
    }
}
