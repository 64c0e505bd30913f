//! Arrays in memory that a loop writes to.
//!
//! An element that lanes add to passes its gradient to all of them. Of the lanes and iterations that write an element,
//! the last one gets its gradient: the value that it has written is there after the loop. Minima and maxima pass it to
//! those whose value is there, products to each factor, multiplied by the product of the others.

use jit_runtime::ir::{CompareOp, ReduceOp};
use jit_runtime::{Error, ErrorKind};

use super::super::factors::Factors;
use super::super::weight::{Weight, compare, weighted};
use super::last_writes::LastWrites;
use super::{payload, products};
use crate::graph::Var;
use crate::graph::payload::{How, LoopPayload, Write};
use crate::trace::scatter::{self, Request};
use crate::trace::{gather, loop_alias_check, record};

/// The gradient of an array that a loop writes.
#[derive(Clone)]
pub(in crate::autodiff) struct Written {
    /// How the loop writes.
    pub(super) how: How,
    /// The gradient of the array after the loop; in forward mode, its tangent up to here.
    pub(in crate::autodiff) gradient: Var,
    /// The array after the loop.
    pub(super) after: Var,
    /// The factors of its elements, if the loop multiplies.
    pub(super) factors: Option<Factors>,
    /// The writes whose values are there, if the loop overwrites elements and gradients flow back.
    pub(super) last: Option<LastWrites>,
}

const PRODUCT: How = How::Reduce(ReduceOp::Mul);

/// Returns the writes to a state, the last first.
pub(super) fn of(payload: &LoopPayload, position: usize) -> Vec<Write> {
    loop_alias_check::writes(payload, position)
}

/// Returns the values of the body that the writes to a state read, those of inner loops among them.
pub(super) fn inputs(payload: &LoopPayload, position: usize) -> Vec<Var> {
    let inputs = |write: Write| match write {
        Write::Scatter { index, value, mask, .. } => [index, value].into_iter().chain(mask).collect(),
        Write::Loop { control, position } => {
            let mut inputs = self::inputs(super::payload(&control), position);
            inputs.push(control);
            inputs
        }
    };
    of(payload, position).into_iter().flat_map(inputs).collect()
}

/// Returns how a loop writes to a state.
pub(super) fn how(control: &Var, position: usize) -> Result<How, Error> {
    let mut found: Option<How> = None;
    for write in of(payload(control), position) {
        let how = match write {
            Write::Scatter { how, .. } => how,
            Write::Loop { control, position } => self::how(&control, position)?,
        };
        let is_supported = matches!(how, How::Write | How::Reduce(_));
        if !is_supported || found.is_some_and(|found| found != how) {
            return Err(refuse(control));
        }
        found = Some(how);
    }
    found.ok_or_else(|| refuse(control))
}

impl Written {
    /// Describes the gradient of an array after a loop.
    #[track_caller]
    pub(in crate::autodiff) fn of(
        control: &Var,
        position: usize,
        gradient: Var,
        after: &Var,
    ) -> Result<Written, Error> {
        let how = how(control, position)?;
        let factors = (how == PRODUCT).then(|| products::factors(control, position)).transpose()?;
        Ok(Written { how, gradient, after: after.clone(), factors, last: None })
    }

    /// Finds what reverse mode reads beyond that.
    #[track_caller]
    pub(in crate::autodiff) fn reversed(self, control: &Var, position: usize) -> Result<Written, Error> {
        let is_write = self.how == How::Write;
        let last = is_write.then(|| LastWrites::of(control, position, &self.after)).transpose()?;
        Ok(Written { last, ..self })
    }

    /// Returns the product of all factors of elements but one each.
    #[track_caller]
    fn without(&self, factor: &Var, read: impl Fn(&Var) -> Var) -> Weight {
        let factors = self.factors.as_ref().expect("they are collected for loops that multiply");
        Weight::By(factors.without(factor, read))
    }

    /// Returns the gradient of a value that an iteration writes by a scatter; of several, the last write first.
    #[track_caller]
    pub(super) fn flow(&mut self, index: &Var, value: &Var, mask: Option<&Var>) -> Var {
        let read = |array: &Var| gather::gather(array, index, mask);
        match self.how {
            How::Write => {
                let last = self.last.as_mut().expect("they are found before gradients flow back");
                weighted(&read(&self.gradient), &Weight::Where(last.undo(index, mask), true), value.ty())
            }
            How::Reduce(ReduceOp::Min | ReduceOp::Max) => {
                let is_there = compare(CompareOp::Eq, &read(&self.after), value);
                weighted(&read(&self.gradient), &Weight::Where(is_there, true), value.ty())
            }
            PRODUCT => weighted(&read(&self.gradient), &self.without(value, read), value.ty()),
            _ => read(&self.gradient),
        }
    }

    /// Goes back before the writes of an inner loop, whose own derivative goes back through them one by one.
    #[track_caller]
    pub(super) fn pass(&mut self, control: &Var, position: usize) -> Result<(), Error> {
        let last = self.last.as_mut().filter(|_| self.how == How::Write);
        last.map_or(Ok(()), |last| last.pass(control, position))
    }

    /// Writes the tangent of a value that an iteration writes by a scatter.
    #[track_caller]
    pub(super) fn write(&mut self, index: &Var, value: &Var, mask: Option<&Var>, tangent: &Var) {
        let is_there = || {
            let is_there = compare(CompareOp::Eq, &gather::gather(&self.after, index, mask), value);
            mask.map_or_else(|| is_there.clone(), |mask| record::and(mask, &is_there))
        };
        let (how, own_mask) = match self.how {
            How::Write => (How::Write, Some(is_there())),
            How::Reduce(ReduceOp::Min | ReduceOp::Max) => (How::Reduce(ReduceOp::Add), Some(is_there())),
            _ => (How::Reduce(ReduceOp::Add), mask.cloned()),
        };
        let tangent = match self.how {
            PRODUCT => {
                let weight = self.without(value, |array| gather::gather(array, index, mask));
                &weighted(tangent, &weight, value.ty())
            }
            _ => tangent,
        };
        let request = Request { how, index, value: tangent, expected: None, mask: own_mask.as_ref() };
        scatter::scatter(&mut self.gradient, &request);
    }

    /// Returns the gradient of the array before the loop.
    #[track_caller]
    pub(super) fn before(&self, array: &Var) -> Var {
        match self.how {
            How::Reduce(ReduceOp::Min | ReduceOp::Max) => {
                let is_changed = compare(CompareOp::Ne, &self.after, array);
                weighted(&self.gradient, &Weight::Where(is_changed, false), array.ty())
            }
            PRODUCT => weighted(&self.gradient, &self.without(array, Var::clone), array.ty()),
            _ => match &self.last {
                Some(last) => weighted(&self.gradient, &Weight::Where(last.unwritten(), true), array.ty()),
                None => self.gradient.clone(),
            },
        }
    }
}

#[cold]
fn refuse(control: &Var) -> Error {
    let what = "gradients do not flow through a loop that changes an array in several ways, or exchanges its elements";
    Error::new(ErrorKind::InvalidArgument, what)
        .at(control.site())
        .with_hint("write to several arrays, or compute on `detach()`ed values")
}
