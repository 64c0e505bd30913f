//! How large an integer can become, as an expression over what is known before the first lane runs.
//!
//! The last lane, values that all lanes share, and constants are known then; what is computed from them is bounded by the same
//! operations on the bounds. A counter is bounded by what its loop compares it with. Bounds of unsigned values hold whatever wraps
//! around. A bound of a signed value above the largest one of its type says that it may be negative.

use std::rc::Rc;

use smallvec::SmallVec;

use super::analysis::Analysis;
use crate::ir::{BinaryOp, CompareOp, Kernel, Op, RegionId, TOP, Type, Value};

/// An expression of 64-bit numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    /// A constant.
    Number(u64),
    /// The last lane of the range.
    LastLane,
    /// A value that is computed before the first lane, by its own type.
    Shared(Value),
    /// Saturating.
    Sum(Rc<Bound>, Rc<Bound>),
    /// Saturating.
    Product(Rc<Bound>, Rc<Bound>),
    Min(Rc<Bound>, Rc<Bound>),
    Max(Rc<Bound>, Rc<Bound>),
    /// All ones up to the highest bit.
    AllBits(Rc<Bound>),
    /// One less; no bound for 0.
    Below(Rc<Bound>),
    /// Rounded down; no bound for a division by 0.
    Quotient(Rc<Bound>, u64),
    /// The second one, if the first one is at most a number; else none.
    If(Rc<Bound>, u64, Rc<Bound>),
}

/// Operations in one expression, at most: it is computed for each block of lanes.
const MAX_DEPTH: u32 = 8;

/// What is known about the values of a kernel.
pub(super) struct Bounds<'k> {
    kernel: &'k Kernel,
    definitions: Vec<Option<&'k Op>>,
    /// For parameters of loops: what they are compared with, and their first value.
    counters: Vec<Option<Counter>>,
    is_known: Vec<bool>,
}

/// A state that goes up by one while it is below a limit.
#[derive(Clone, Copy)]
struct Counter {
    init: Value,
    limit: Value,
}

/// A bound of a value that may be negative as well.
type Upper = (Rc<Bound>, bool);

impl<'k> Bounds<'k> {
    pub(super) fn new(kernel: &'k Kernel, analysis: &Analysis) -> Bounds<'k> {
        let mut definitions = vec![None; kernel.types.len()];
        for inst in kernel.regions.iter().flat_map(|region| &region.insts).filter(|inst| inst.results == 1) {
            definitions[inst.first.index()] = Some(&inst.op);
        }
        let mut is_known = vec![false; kernel.types.len()];
        let top = kernel.region(TOP).insts.iter().zip(&analysis.hoisted);
        top.filter(|(_, hoisted)| **hoisted)
            .for_each(|(inst, _)| inst.values().for_each(|value| is_known[value.index()] = true));
        let mut bounds = Bounds { kernel, definitions, counters: vec![None; kernel.types.len()], is_known };
        bounds.find_counters();
        bounds
    }

    /// The operation that defines a value, if it has one of its own.
    pub(super) fn definition(&self, value: Value) -> Option<&'k Op> {
        self.definitions[value.index()]
    }

    /// Whether a value is computed before the first lane runs.
    pub(super) fn is_known(&self, value: Value) -> bool {
        self.is_known[value.index()]
    }

    fn find_counters(&mut self) {
        let kernel = self.kernel;
        for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
            let Op::Loop { inits, condition, body } = &inst.op else { continue };
            let params = kernel.region(*condition).params.iter().zip(&kernel.region(*body).yields).zip(inits);
            for ((&param, &next), &init) in params {
                if self.is_next(param, next)
                    && let Some(limit) = self.limit(param, *condition)
                {
                    self.counters[param.index()] = Some(Counter { init, limit });
                }
            }
        }
    }

    /// Whether a state goes up by one.
    fn is_next(&self, param: Value, next: Value) -> bool {
        let is_one = |value: Value| matches!(self.definition(value), Some(Op::Const(ty, 1)) if ty.is_integer());
        match self.definition(next) {
            Some(&Op::Binary(BinaryOp::Add, a, b)) => a == param && is_one(b) || b == param && is_one(a),
            _ => false,
        }
    }

    /// What a state must be below for its loop to go on.
    fn limit(&self, param: Value, condition: RegionId) -> Option<Value> {
        let mut conjunction = SmallVec::<[Value; 4]>::from_slice(&self.kernel.region(condition).yields);
        while let Some(part) = conjunction.pop() {
            match self.definition(part) {
                Some(&Op::Compare(CompareOp::Lt, a, b)) if a == param => return Some(b),
                Some(&Op::Compare(CompareOp::Gt, a, b)) if b == param => return Some(a),
                Some(&Op::Binary(BinaryOp::And, a, b)) => conjunction.extend([a, b]),
                _ => {}
            }
        }
        None
    }

    /// The largest that an integer can be, on lanes that are in no condition of a loop; none if nothing is known.
    pub(super) fn most(&self, value: Value) -> Option<Bound> {
        let (bound, may_be_negative) = self.upper(value, MAX_DEPTH)?;
        (!may_be_negative).then(|| (*bound).clone())
    }

    /// As [`Bounds::most`], of a value that is not negative.
    fn bound(&self, value: Value, depth: u32) -> Option<Rc<Bound>> {
        self.upper(value, depth).and_then(|(bound, may_be_negative)| (!may_be_negative).then_some(bound))
    }

    fn upper(&self, value: Value, depth: u32) -> Option<Upper> {
        let (ty, depth) = (self.kernel.ty(value), depth.checked_sub(1)?);
        if ty == Type::Bool {
            return Some((number(1), false));
        }
        let least = (ty.bits() < 32 && ty.is_unsigned_integer()).then(|| (number(largest(ty)), false));
        if !ty.is_integer() {
            return None;
        }
        if let Some(counter) = self.counters[value.index()] {
            let (init, limit) = (self.bound(counter.init, depth)?, self.bound(counter.limit, depth)?);
            return Some((guarded(&init, ty, below(limit)), false));
        }
        let found = match self.definition(value) {
            Some(&Op::Const(_, bits)) => (bits <= largest(ty)).then(|| (number(bits), false)),
            _ if self.is_known(value) => Some((Rc::new(Bound::Shared(value)), false)),
            Some(op) => self.upper_of(op, ty, depth),
            None => None,
        };
        found.or(least)
    }

    fn upper_of(&self, op: &Op, ty: Type, depth: u32) -> Option<Upper> {
        let of = |value: Value| self.bound(value, depth);
        let exact = |bound: Rc<Bound>| Some((within(bound, ty), false));
        match *op {
            Op::LaneIndex => Some((Rc::new(Bound::LastLane), false)),
            Op::Cast(_, a) | Op::Bitcast(_, a) if !self.kernel.ty(a).is_float() => {
                let same = self.kernel.ty(a).is_signed_integer() && ty.is_signed_integer();
                match self.upper(a, depth)? {
                    (bound, true) if same && ty.bits() >= self.kernel.ty(a).bits() => Some((bound, true)),
                    (_, true) => None,
                    (bound, false) => exact(bound),
                }
            }
            Op::Select(_, a, b) => Some((max(of(a)?, of(b)?), false)),
            Op::Binary(op, a, b) => match op {
                BinaryOp::Or | BinaryOp::Xor => Some((Rc::new(Bound::AllBits(max(of(a)?, of(b)?))), false)),
                BinaryOp::And => match (of(a), of(b)) {
                    (Some(a), Some(b)) => Some((min(a, b), false)),
                    (one, other) => Some((one.or(other)?, false)),
                },
                BinaryOp::Add => exact(sum(of(a)?, of(b)?)),
                BinaryOp::Mul => exact(product(of(a)?, of(b)?)),
                BinaryOp::Shl => {
                    let shift = self.constant(b).filter(|&shift| shift < u64::from(ty.bits()))?;
                    exact(product(of(a)?, number(1 << shift)))
                }
                BinaryOp::Shr => {
                    let shift = self.constant(b).filter(|&shift| shift < u64::from(ty.bits()))?;
                    Some((guarded(&of(a)?, ty, quotient(&of(a)?, 1 << shift)), false))
                }
                BinaryOp::Div => {
                    let divisor = self.constant(b).filter(|&divisor| divisor > 0 && divisor <= largest(ty))?;
                    Some((guarded(&of(a)?, ty, quotient(&of(a)?, divisor)), false))
                }
                BinaryOp::Rem => self.remainder(a, b, ty, depth),
                BinaryOp::Sub if ty.is_signed_integer() => {
                    of(b)?;
                    Some((of(a)?, true))
                }
                BinaryOp::Min | BinaryOp::Max => self.extreme(op, [a, b], ty, depth),
                _ => None,
            },
            _ => None,
        }
    }

    fn remainder(&self, a: Value, b: Value, ty: Type, depth: u32) -> Option<Upper> {
        let below = below(self.bound(b, depth)?);
        match self.bound(a, depth) {
            Some(a) => Some((guarded(&a, ty, min(Rc::clone(&a), below)), false)),
            // By zero that is what is divided.
            None if ty.is_unsigned_integer() => Some((within(below, ty), false)),
            None => None,
        }
    }

    fn extreme(&self, op: BinaryOp, operands: [Value; 2], ty: Type, depth: u32) -> Option<Upper> {
        let [a, b] = operands.map(|operand| self.upper(operand, depth));
        match (op, a, b) {
            (BinaryOp::Min, None, Some(only)) | (BinaryOp::Min, Some(only), None) => {
                ty.is_unsigned_integer().then_some(only)
            }
            (BinaryOp::Min, Some((a, an)), Some((b, bn))) => {
                let least = min(Rc::clone(&a), Rc::clone(&b));
                Some((guarded(&a, ty, guarded(&b, ty, least)), an || bn))
            }
            (BinaryOp::Max, Some((a, an)), Some((b, bn))) => Some((max(a, b), an && bn)),
            _ => None,
        }
    }

    fn constant(&self, value: Value) -> Option<u64> {
        match self.definition(value) {
            Some(&Op::Const(_, bits)) => Some(bits),
            _ => None,
        }
    }
}

/// The largest number of a type.
fn largest(ty: Type) -> u64 {
    if ty.is_signed_integer() { ty.bit_mask() >> 1 } else { ty.bit_mask() }
}

fn number(number: u64) -> Rc<Bound> {
    Rc::new(Bound::Number(number))
}

/// Both numbers, if they are constants.
fn numbers(a: &Bound, b: &Bound) -> Option<(u64, u64)> {
    match (a, b) {
        (Bound::Number(a), Bound::Number(b)) => Some((*a, *b)),
        _ => None,
    }
}

fn sum(a: Rc<Bound>, b: Rc<Bound>) -> Rc<Bound> {
    numbers(&a, &b).map_or_else(|| Rc::new(Bound::Sum(a, b)), |(a, b)| number(a.saturating_add(b)))
}

fn product(a: Rc<Bound>, b: Rc<Bound>) -> Rc<Bound> {
    numbers(&a, &b).map_or_else(|| Rc::new(Bound::Product(a, b)), |(a, b)| number(a.saturating_mul(b)))
}

fn min(a: Rc<Bound>, b: Rc<Bound>) -> Rc<Bound> {
    numbers(&a, &b).map_or_else(|| Rc::new(Bound::Min(a, b)), |(a, b)| number(a.min(b)))
}

fn max(a: Rc<Bound>, b: Rc<Bound>) -> Rc<Bound> {
    numbers(&a, &b).map_or_else(|| Rc::new(Bound::Max(a, b)), |(a, b)| number(a.max(b)))
}

fn below(a: Rc<Bound>) -> Rc<Bound> {
    match *a {
        Bound::Number(most) => number(most.wrapping_sub(1)),
        _ => Rc::new(Bound::Below(a)),
    }
}

fn quotient(a: &Rc<Bound>, divisor: u64) -> Rc<Bound> {
    match **a {
        Bound::Number(a) => number(a / divisor),
        _ => Rc::new(Bound::Quotient(Rc::clone(a), divisor)),
    }
}

/// The bound of a result that may have wrapped around.
fn within(bound: Rc<Bound>, ty: Type) -> Rc<Bound> {
    match ty.is_signed_integer() {
        true => guarded(&Rc::clone(&bound), ty, bound),
        false => min(bound, number(largest(ty))),
    }
}

/// A bound that rests on a signed operand not being negative.
fn guarded(operand: &Rc<Bound>, ty: Type, bound: Rc<Bound>) -> Rc<Bound> {
    match **operand {
        _ if ty.is_unsigned_integer() => bound,
        Bound::Number(most) if most <= largest(ty) => bound,
        Bound::Number(_) => number(u64::MAX),
        _ => Rc::new(Bound::If(Rc::clone(operand), largest(ty), bound)),
    }
}
