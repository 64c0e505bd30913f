//! How far the bases of integers whose lanes are near each other are apart.
//!
//! A base is a sum of multiples of bases that are not computed from others, plus a number, modulo the type's range.
//! Bases that differ in the number alone are a known distance apart, whatever the first lane is. So the lanes of
//! `select(is_left, i + 1, i - 1)` are near each other, though each may have the one or the other value.

use smallvec::SmallVec;

use super::analysis::{Analysis, Shape};
use super::bound::Bounds;
use super::near::{Near, Step};
use crate::ir::{BinaryOp, Kernel, Op, Value};

/// The depth up to which operands are followed.
const MOST_STEPS: u32 = 8;

/// A sum of multiples of other bases, in the order of their values, plus a number.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Base {
    terms: SmallVec<[(Value, u64); 4]>,
    number: u64,
}

/// What is known of the values from which a base is computed.
pub(super) struct Bases<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) analysis: &'a Analysis,
    pub(super) bounds: &'a Bounds<'a>,
    pub(super) near: &'a [Option<Near>],
}

impl Base {
    fn number(number: u64) -> Base {
        Base { terms: SmallVec::new(), number }
    }

    fn plus(mut self, other: Base, factor: u64) -> Base {
        self.number = self.number.wrapping_add(other.number.wrapping_mul(factor));
        for (value, count) in other.terms {
            let count = count.wrapping_mul(factor);
            match self.terms.binary_search_by_key(&value, |term| term.0) {
                Ok(at) => self.terms[at].1 = self.terms[at].1.wrapping_add(count),
                Err(at) => self.terms.insert(at, (value, count)),
            }
        }
        self
    }

    /// Modulo a power of two.
    fn cut(mut self, mask: u64) -> Base {
        self.terms.iter_mut().for_each(|term| term.1 &= mask);
        self.terms.retain(|term| term.1 != 0);
        Base { number: self.number & mask, ..self }
    }
}

impl Bases<'_> {
    /// What the base of one integer must be increased by to be that of another one of the same type, if that is known.
    pub(super) fn distance(&self, from: Value, to: Value) -> Option<i64> {
        let ty = self.kernel.ty(from);
        let difference = self.of(to, MOST_STEPS).plus(self.of(from, MOST_STEPS), u64::MAX).cut(ty.bit_mask());
        let unused = 64 - ty.bits();
        difference.terms.is_empty().then_some((difference.number << unused) as i64 >> unused)
    }

    fn of(&self, value: Value, depth: u32) -> Base {
        if let Some(number) = self.analysis.constant(value) {
            return Base::number(number);
        }
        let known = depth.checked_sub(1).and_then(|depth| match self.analysis.shape(value) {
            Shape::Varying => self.of_step(self.near[value.index()]?.step, depth),
            shape => self.of_operation(self.bounds.definition(value)?, shape, depth),
        });
        known.unwrap_or_else(|| Base { terms: SmallVec::from_slice(&[(value, 1)]), number: 0 })
    }

    /// The base of a result of one of these steps, which code computes in the same way.
    fn of_step(&self, step: Step, depth: u32) -> Option<Base> {
        let of = |value: Value| self.of(value, depth);
        Some(match step {
            Step::Sum(a, b) => of(a).plus(of(b), 1),
            // Distances from the other end: the base of what is subtracted, plus its largest distance.
            Step::Difference(a, b) => of(a).plus(of(b), u64::MAX).plus(Base::number(self.most_distance(b)), u64::MAX),
            Step::Product(a, factor) => Base::number(0).plus(of(a), factor),
            Step::Remainder(..) | Step::Small => Base::number(0),
            Step::Joined { values: [a, b], moves: [move_of_a, _], .. } => of(if move_of_a == 0 { a } else { b }),
            Step::Quotient(..) | Step::Rounded(..) | Step::Converted(_) => return None,
        })
    }

    fn most_distance(&self, value: Value) -> u64 {
        match self.analysis.shape(value) {
            Shape::Varying => self.near[value.index()].map_or(0, |near| near.most),
            Shape::Linear { .. } => self.analysis.lanes - 1,
            _ => 0,
        }
    }

    /// The value of the first lane, for a result that all lanes share or whose lanes are consecutive.
    fn of_operation(&self, op: &Op, shape: Shape, depth: u32) -> Option<Base> {
        let of = |value: Value| self.of(value, depth);
        let is_scalar = |value: Value| self.analysis.shape(value).is_scalar();
        let is_like =
            |value: Value| is_scalar(value) == shape.is_scalar() && self.analysis.shape(value) != Shape::Varying;
        match *op {
            Op::Binary(BinaryOp::Add, a, b) if is_like(a) && is_scalar(b) || is_scalar(a) && is_like(b) => {
                Some(of(a).plus(of(b), 1))
            }
            Op::Binary(BinaryOp::Sub, a, b) if is_like(a) && is_scalar(b) => Some(of(a).plus(of(b), u64::MAX)),
            Op::Binary(BinaryOp::Mul, a, b) if shape.is_scalar() => {
                let factor = self.analysis.constant(b).filter(|_| is_scalar(a))?;
                Some(Base::number(0).plus(of(a), factor))
            }
            _ => None,
        }
    }
}
