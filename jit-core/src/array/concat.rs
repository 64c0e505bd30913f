//! Concatenation, and its derivative: each part gets its part of the gradient.

use std::borrow::Borrow;

use jit_runtime::{Error, Site};
use smallvec::smallvec;

use super::piecewise::{FEW, Pieces, begins};
use super::{Array, Element, Mask, UInt};
use crate::graph::Var;
use crate::graph::tape::{self, Call, Flow, Rule};
use crate::size::Size;
use crate::trace::unaffected::unaffected;
use crate::trace::{gather, record, region};

impl<T: Element> Array<T> {
    /// Concatenates arrays; the result has width 0 if there are none. A single array is returned unchanged.
    ///
    /// Each lane of the result finds the part that contains it, and reads from there. The code is as long as there are
    /// parts, so collect hundreds of small ones from a host loop as a `Vec` of elements instead.
    ///
    /// ```
    /// # use jit_core as jit;
    /// use jit::prelude::*;
    ///
    /// let (a, b) = (Int::from([1, 2]), Int::from([3]));
    /// assert_eq!(Int::concat(&[&a, &b, &a]).to_vec()?, [1, 2, 3, 1, 2]);
    /// # Ok::<(), jit_runtime::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    #[doc(alias = "append")]
    #[doc(alias = "concatenate")]
    #[doc(alias = "hstack")]
    pub fn concat<P: Borrow<Array<T>>>(parts: &[P]) -> Self {
        let filled: Vec<&Array<T>> = parts.iter().map(Borrow::borrow).filter(|part| part.width() > 0).collect();
        match filled[..] {
            [] => {
                let all = parts.iter().map(|part| part.borrow().var());
                Array::from_var(unaffected(record::literal(T::TYPE, 0, 0), all))
            }
            [only] => only.unchanged(),
            _ => Array::from_var(concat(&filled.iter().map(|part| part.var().clone()).collect::<Vec<_>>())),
        }
    }
}

/// Concatenates at least one array, all with elements. The derivative of few parts is that of their expressions, which
/// is fused with others.
#[track_caller]
fn concat(parts: &[Var]) -> Var {
    if parts.len() <= FEW || region::is_recording() {
        return joined(parts);
    }
    let values: Vec<Var> = parts.iter().map(record::detached).collect();
    tape::attach_one(joined(&values), parts.to_vec(), || Box::new(ConcatRule), Site::here())
}

#[track_caller]
fn joined(parts: &[Var]) -> Var {
    let (begins, width) = begins(parts.iter().map(Var::width));
    let lanes = UInt::arange(width);
    let read = |number: usize, mask: Option<&Mask>| {
        let part = &parts[number];
        // For a part of one element the mask alone selects the lane.
        let index = match part.width() == 1 {
            true => UInt::from(0),
            false => &lanes - UInt::from(begins[number]),
        };
        gather::gather(part, index.var(), mask.map(Mask::var))
    };
    Pieces { place: &lanes, begins: &begins, read: &read }.join()
}

struct ConcatRule;

impl Rule for ConcatRule {
    fn name(&self) -> &str {
        "concat"
    }

    #[track_caller]
    fn backward(&self, call: &Call, gradients: &[Option<Var>]) -> Result<Flow, Error> {
        let Some(gradient) = &gradients[0] else { return Ok(call.inputs.iter().map(|_| None).collect()) };
        let (begins, width) = begins(call.inputs.iter().map(Var::width));
        let gradient = record::broadcast(gradient, width);
        let part = |(part, begin): (&Var, Size)| {
            let index = UInt::arange(part.width()) + UInt::from(begin);
            Some(gather::gather(&gradient, index.var(), None))
        };
        Ok(call.inputs.iter().zip(begins).map(part).collect())
    }

    #[track_caller]
    fn forward(&self, call: &Call, tangents: &[Option<Var>]) -> Result<Flow, Error> {
        if tangents.iter().all(Option::is_none) {
            return Ok(smallvec![None]);
        }
        let zero = |part: &Var| record::literal(part.ty(), 0, part.width());
        let tangent = |(part, tangent): (&Var, &Option<Var>)| match tangent {
            Some(tangent) => record::broadcast(tangent, part.width()),
            None => zero(part),
        };
        Ok(smallvec![Some(concat(&call.inputs.iter().zip(tangents).map(tangent).collect::<Vec<_>>()))])
    }
}
