//! Bounds of integers, as expressions over values that are known before the first lane runs.
//!
//! Known are the lanes of the range, values that all lanes share, and constants. A value computed from them is in the
//! interval that the same operations return for their intervals, see [`interval`](super::interval). Everything else may
//! be any value of its type. In the body of its loop, a counter is between its first value and the limit that it is
//! compared with: there the comparison has just been true.
//!
//! Invariant: in code in which all lanes of a group are active, and all of them are lanes of the range, each value is
//! in its interval, for the values that lanes, shared values and constants have in this launch.

use std::rc::Rc;

use smallvec::SmallVec;

use super::analysis::Analysis;
use super::interval::{Arithmetic, Folded, Folding, Integer, Interval, Machine, Unknown};
use crate::ir::{BinaryOp, CompareOp, Kernel, Op, RegionId, TOP, Type, Value};

/// An interval that is computed before the first lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    /// From one number to another.
    Numbers(i64, i64),
    /// From the first lane of the launch to the last one of the range.
    Lanes,
    /// A value that is computed before the first lane.
    Shared(Value),
    Sum(Integer, Rc<Bound>, Rc<Bound>),
    Difference(Integer, Rc<Bound>, Rc<Bound>),
    Product(Integer, Rc<Bound>, Rc<Bound>),
    /// By a positive number.
    Quotient(Integer, Rc<Bound>, i64),
    ShiftedRight(Integer, Rc<Bound>, u32),
    Remainder(Integer, Rc<Bound>, Rc<Bound>),
    Conjunction(Integer, Rc<Bound>, Rc<Bound>),
    Disjunction(Integer, Rc<Bound>, Rc<Bound>),
    Minimum(Rc<Bound>, Rc<Bound>),
    Maximum(Rc<Bound>, Rc<Bound>),
    Either(Rc<Bound>, Rc<Bound>),
    /// From one type to another.
    Converted(Integer, Integer, Rc<Bound>),
    /// The first value, and the limit.
    Counter(Integer, Rc<Bound>, Rc<Bound>),
}

/// The leaves of expressions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leaf {
    /// The last lane of the range.
    LastLane,
    /// A shared value, by its type; `i64::MAX` if it is larger.
    Shared(Value),
}

/// The maximum depth of an expression: it is computed for each block of lanes.
const MAX_DEPTH: u32 = 8;

impl Bound {
    /// The interval, computed by a machine from words for the known values.
    pub(super) fn interval<M: Machine>(&self, machine: &M, leaf: &impl Fn(Leaf) -> M::Word) -> Interval<M::Word> {
        let of = |bound: &Bound| bound.interval(machine, leaf);
        match self {
            Bound::Numbers(least, most) => Interval { least: machine.number(*least), most: machine.number(*most) },
            Bound::Lanes => Interval { least: machine.number(0), most: leaf(Leaf::LastLane) },
            Bound::Shared(value) => {
                let word = leaf(Leaf::Shared(*value));
                Interval { least: word, most: word }
            }
            Bound::Sum(ty, a, b) => machine.sum(*ty, of(a), of(b)),
            Bound::Difference(ty, a, b) => machine.difference(*ty, of(a), of(b)),
            Bound::Product(ty, a, b) => machine.product(*ty, of(a), of(b)),
            Bound::Quotient(ty, a, divisor) => machine.quotient(*ty, of(a), *divisor),
            Bound::ShiftedRight(ty, a, count) => machine.shifted_right(*ty, of(a), *count),
            Bound::Remainder(ty, a, b) => machine.remainder(*ty, of(a), of(b)),
            Bound::Conjunction(ty, a, b) => machine.conjunction(*ty, of(a), of(b)),
            Bound::Disjunction(ty, a, b) => machine.disjunction(*ty, of(a), of(b)),
            Bound::Minimum(a, b) => machine.minimum(of(a), of(b)),
            Bound::Maximum(a, b) => machine.maximum(of(a), of(b)),
            Bound::Either(a, b) => machine.either(of(a), of(b)),
            Bound::Converted(from, to, a) => machine.converted(*from, *to, of(a)),
            Bound::Counter(ty, first, limit) => machine.counter(*ty, of(first), of(limit)),
        }
    }

    /// Whether the interval may turn out to be inside a buffer. This only affects speed: an expression that does not
    /// help costs time, and makes the proofs of the other accesses fail together with it.
    pub(super) fn is_promising(&self) -> bool {
        let Interval { least, most } = self.interval(&Folding(Unknown), &|_| Folded::Computed(()));
        let is_short = !matches!(most, Folded::Known(most) if most >= i64::from(i32::MAX));
        let is_negative = matches!(least, Folded::Known(..0));
        is_short && !is_negative && (matches!(least, Folded::Known(_)) || self.is_hardly_negative())
    }

    /// Whether a program probably intends numbers from zero on: a difference may be anything.
    fn is_hardly_negative(&self) -> bool {
        match self {
            Bound::Numbers(least, _) => *least >= 0,
            Bound::Lanes | Bound::Shared(_) => true,
            Bound::Difference(..) => false,
            Bound::Maximum(a, b) | Bound::Conjunction(_, a, b) => a.is_hardly_negative() || b.is_hardly_negative(),
            Bound::Quotient(_, a, _)
            | Bound::ShiftedRight(_, a, _)
            | Bound::Remainder(_, a, _)
            | Bound::Converted(_, _, a)
            | Bound::Counter(_, a, _) => a.is_hardly_negative(),
            Bound::Sum(_, a, b)
            | Bound::Product(_, a, b)
            | Bound::Disjunction(_, a, b)
            | Bound::Minimum(a, b)
            | Bound::Either(a, b) => a.is_hardly_negative() && b.is_hardly_negative(),
        }
    }
}

/// Facts about the values of a kernel.
pub(super) struct Bounds<'k> {
    kernel: &'k Kernel,
    definitions: Vec<Option<&'k Op>>,
    /// For states of the loops whose bodies are being analysed: their first value and upper limit.
    counters: Vec<Option<Counter>>,
    is_known: Vec<bool>,
}

/// A state that is incremented by one while it is below a limit.
#[derive(Clone, Copy)]
struct Counter {
    init: Value,
    limit: Value,
}

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
        Bounds { kernel, definitions, counters: vec![None; kernel.types.len()], is_known }
    }

    /// The operation that defines a value, if a single one does.
    pub(super) fn definition(&self, value: Value) -> Option<&'k Op> {
        self.definitions[value.index()]
    }

    /// Whether a value is computed before the first lane runs.
    pub(super) fn is_known(&self, value: Value) -> bool {
        self.is_known[value.index()]
    }

    /// Begins the body of a loop: from now on, values are those that the body sees. All lanes run it together.
    pub(super) fn enter_body(&mut self, inits: &[Value], condition: RegionId, body: RegionId) {
        let kernel = self.kernel;
        for ((&param, &next), &init) in
            kernel.region(condition).params.iter().zip(&kernel.region(body).yields).zip(inits)
        {
            let limit = self.limit(param, condition).filter(|_| self.is_next(param, next));
            self.counters[param.index()] = limit.map(|limit| Counter { init, limit });
        }
    }

    /// Ends [`Bounds::enter_body`]: a loop's condition, and the code after the loop, see other values.
    pub(super) fn leave_body(&mut self, condition: RegionId) {
        self.kernel.region(condition).params.iter().for_each(|param| self.counters[param.index()] = None);
    }

    /// Whether a state is incremented by one.
    fn is_next(&self, param: Value, next: Value) -> bool {
        let is_one = |value: Value| matches!(self.definition(value), Some(Op::Const(ty, 1)) if ty.is_integer());
        match self.definition(next) {
            Some(&Op::Binary(BinaryOp::Add, a, b)) => a == param && is_one(b) || b == param && is_one(a),
            _ => false,
        }
    }

    /// The limit that a state must be below for its loop to continue.
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

    /// The maximum number of iterations of a loop, if constants determine it.
    pub(super) fn most_iterations(&self, inits: &[Value], condition: RegionId, body: RegionId) -> Option<u64> {
        let states = self.kernel.region(condition).params.iter().zip(&self.kernel.region(body).yields).zip(inits);
        let counted =
            states.filter(|((param, next), _)| self.is_next(**param, **next)).filter_map(|((param, _), init)| {
                let (first, limit) = (self.constant(*init)?, self.constant(self.limit(*param, condition)?)?);
                Some(limit.saturating_sub(first).max(0).unsigned_abs())
            });
        counted.min()
    }

    /// The bounds of an integer.
    pub(super) fn of(&self, value: Value) -> Rc<Bound> {
        self.bound(value, MAX_DEPTH)
    }

    fn bound(&self, value: Value, depth: u32) -> Rc<Bound> {
        let ty = self.kernel.ty(value);
        let integer = Integer::of(ty);
        if let (Some(counter), Some(depth)) = (self.counters[value.index()], depth.checked_sub(1)) {
            let (init, limit) = (self.bound(counter.init, depth), self.bound(counter.limit, depth));
            return Rc::new(Bound::Counter(integer, init, limit));
        }
        Rc::new(match self.definition(value) {
            Some(&Op::Const(_, bits)) => {
                let number = word(ty, bits);
                Bound::Numbers(number, number)
            }
            _ if ty.is_integer() && self.is_known(value) => Bound::Shared(value),
            Some(op) if ty.is_integer() && depth > 0 => {
                self.result(op, integer, depth - 1).unwrap_or_else(|| Bound::any(integer))
            }
            _ => Bound::any(integer),
        })
    }

    /// The bounds of an operation's result, if the intervals support the operation.
    fn result(&self, op: &Op, ty: Integer, depth: u32) -> Option<Bound> {
        let of = |value: Value| self.bound(value, depth);
        Some(match *op {
            Op::LaneIndex => Bound::Lanes,
            Op::Cast(_, a) | Op::Bitcast(_, a) if !self.kernel.ty(a).is_float() => {
                Bound::Converted(Integer::of(self.kernel.ty(a)), ty, of(a))
            }
            Op::Select(_, a, b) => Bound::Either(of(a), of(b)),
            Op::Fma(a, b, c) => Bound::Sum(ty, Rc::new(Bound::Product(ty, of(a), of(b))), of(c)),
            Op::Binary(op, a, b) => match op {
                BinaryOp::Add => Bound::Sum(ty, of(a), of(b)),
                BinaryOp::Sub => Bound::Difference(ty, of(a), of(b)),
                BinaryOp::Mul => Bound::Product(ty, of(a), of(b)),
                BinaryOp::Rem => Bound::Remainder(ty, of(a), of(b)),
                BinaryOp::And => Bound::Conjunction(ty, of(a), of(b)),
                BinaryOp::Or | BinaryOp::Xor => Bound::Disjunction(ty, of(a), of(b)),
                BinaryOp::Min => Bound::Minimum(of(a), of(b)),
                BinaryOp::Max => Bound::Maximum(of(a), of(b)),
                BinaryOp::Div => Bound::Quotient(ty, of(a), self.constant(b).filter(|&divisor| divisor > 0)?),
                BinaryOp::Shl => {
                    let factor = 1 << self.shift(b, ty).filter(|&count| count < 63)?;
                    Bound::Product(ty, of(a), Rc::new(Bound::Numbers(factor, factor)))
                }
                BinaryOp::Shr => Bound::ShiftedRight(ty, of(a), self.shift(b, ty)?),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// A constant, by its type; `i64::MAX` if it is larger.
    fn constant(&self, value: Value) -> Option<i64> {
        match self.definition(value) {
            Some(&Op::Const(ty, bits)) => Some(word(ty, bits)).filter(|&word| word < i64::MAX),
            _ => None,
        }
    }

    /// A constant count that does not shift out every bit.
    fn shift(&self, count: Value, ty: Integer) -> Option<u32> {
        let count = self.constant(count).filter(|&count| (0..i64::from(ty.bits)).contains(&count))?;
        u32::try_from(count).ok()
    }
}

impl Bound {
    /// Any value of a type.
    fn any(ty: Integer) -> Bound {
        Bound::Numbers(ty.least(), ty.most())
    }
}

/// The number whose bits these are; `i64::MAX` if it is larger.
pub(super) fn word(ty: Type, bits: u64) -> i64 {
    let unused = 64 - ty.bits();
    if ty.is_signed_integer() { (bits << unused) as i64 >> unused } else { bits.min(i64::MAX as u64) as i64 }
}
