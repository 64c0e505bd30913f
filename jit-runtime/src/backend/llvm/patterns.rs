//! Indices whose lanes are probably at known distances from the first one, within a small part of memory.
//!
//! Examples are pixels that are repeated (`lane / 2`), bytes of groups (`lane / 4 * 3 + 1`), and short rows that begin
//! anew (`lane % 8`). A gather at such an index reads the part as one vector, whose elements are then moved to their
//! lanes. As with [`hints`](super::hints), the distances are only expected, and compared at run time: so they assume
//! that a value which is divided is a multiple of the divisor in the first lane of a packet, and that nothing wraps
//! around.

use std::rc::Rc;

use super::analysis::{Analysis, Shape};
use crate::ir::{BinaryOp, Kernel, Op, REDUCE_ROW, Type, Value};

/// The largest distance that is followed.
const FARTHEST: i64 = 255;

/// The expected lanes of an index.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Pattern {
    /// The distance of each lane from the first one. Packets have at most so many lanes.
    distances: Rc<[i64]>,
    /// A value with the same distances, and one that is shared, of which it is the sum.
    pub(super) moved: Option<(Value, Value)>,
}

/// The elements that a packet reads, counted from the one of its first lane.
pub(super) struct Part {
    /// The first element: zero or negative.
    pub(super) first: i64,
    /// The number of elements.
    pub(super) count: u64,
    /// The element of each lane, counted from the first element.
    pub(super) order: Vec<u64>,
}

impl Pattern {
    /// Returns the distance of each lane from the first one.
    pub(super) fn distances(&self, lanes: u32) -> &[i64] {
        &self.distances[..lanes as usize]
    }

    /// Returns whether the lanes read one element, or neighbours in either direction, for which there are hints.
    pub(super) fn is_simple(&self, lanes: u32) -> bool {
        let is_every = |step: i64| (0..).zip(self.distances(lanes)).all(|(lane, distance)| *distance == step * lane);
        [0, 1, -1].into_iter().any(is_every)
    }

    /// Returns the elements that the lanes of a packet read.
    pub(super) fn part(&self, lanes: u32) -> Part {
        let distances = self.distances(lanes);
        let [least, most] = [distances.iter().min(), distances.iter().max()].map(|end| end.copied().unwrap_or(0));
        let order = distances.iter().map(|distance| (distance - least) as u64).collect();
        Part { first: least, count: (most - least) as u64 + 1, order }
    }
}

/// A pattern for each integer of shape [`Shape::Varying`] that probably has one.
pub(super) fn patterns(kernel: &Kernel, analysis: &Analysis) -> Vec<Option<Pattern>> {
    let mut patterns = vec![None; kernel.types.len()];
    // A region usually comes after the one that it is nested in. If passes have changed that, a pattern is missed.
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        let value = inst.first;
        if inst.results == 1 && kernel.ty(value).is_integer() && analysis.shape(value) == Shape::Varying {
            patterns[value.index()] = Finder { kernel, analysis, patterns: &patterns }.pattern(&inst.op);
        }
    }
    patterns
}

/// Returns the distances from the first of some numbers.
fn from_first(numbers: &[i64]) -> Option<Rc<[i64]>> {
    Some(numbers.iter().map(|number| number - numbers[0]).collect())
}

struct Finder<'a> {
    kernel: &'a Kernel,
    analysis: &'a Analysis,
    patterns: &'a [Option<Pattern>],
}

impl Finder<'_> {
    fn pattern(&self, op: &Op) -> Option<Pattern> {
        let (distances, moved) = match *op {
            Op::Binary(op, a, b) => (self.binary(op, a, b)?, self.moved(op, a, b)),
            Op::Cast(_, a) | Op::Bitcast(_, a) if self.kernel.ty(a).is_integer() => (self.distances(a)?, None),
            Op::Select(_, a, b) => (self.distances(a).filter(|found| Some(found) == self.distances(b).as_ref())?, None),
            _ => return None,
        };
        let is_near = distances.iter().all(|distance| distance.unsigned_abs() <= FARTHEST.unsigned_abs());
        is_near.then_some(Pattern { distances, moved })
    }

    fn distances(&self, value: Value) -> Option<Rc<[i64]>> {
        match self.analysis.shape(value) {
            Shape::Uniform | Shape::Packet => Some(Rc::new([0; REDUCE_ROW])),
            Shape::Linear { .. } => Some((0..REDUCE_ROW as i64).collect()),
            Shape::Varying => Some(Rc::clone(&self.patterns[value.index()].as_ref()?.distances)),
        }
    }

    fn moved(&self, op: BinaryOp, a: Value, b: Value) -> Option<(Value, Value)> {
        let is_shared = |value: Value| self.analysis.shape(value).is_scalar();
        match op {
            BinaryOp::Add if is_shared(b) => Some((a, b)),
            BinaryOp::Add if is_shared(a) => Some((b, a)),
            _ => None,
        }
    }

    fn binary(&self, op: BinaryOp, a: Value, b: Value) -> Option<Rc<[i64]>> {
        let of = |value: Value| self.distances(value);
        let each = |value: Value, change: &dyn Fn(i64) -> i64| -> Option<Rc<[i64]>> {
            Some(of(value)?.iter().map(|x| change(*x)).collect())
        };
        let both = |change: fn(i64, i64) -> i64| {
            let (a, b) = (of(a)?, of(b)?);
            Some(a.iter().zip(&*b).map(|(a, b)| change(*a, *b)).collect())
        };
        match (op, self.constant(a), self.constant(b)) {
            (BinaryOp::Add, ..) => both(|a, b| a + b),
            (BinaryOp::Sub, ..) => both(|a, b| a - b),
            (BinaryOp::Mul, None, Some(factor)) => each(a, &|x| x.saturating_mul(factor)),
            (BinaryOp::Mul, Some(factor), None) => each(b, &|x| x.saturating_mul(factor)),
            (BinaryOp::Shl, None, Some(shift @ 0..=8)) => each(a, &|x| x << shift),
            (BinaryOp::Shr, None, Some(shift @ 0..=8)) => each(a, &|x| x >> shift),
            (BinaryOp::Div, None, Some(divisor @ 1..)) => each(a, &|x| x.div_euclid(divisor)),
            (BinaryOp::Rem, None, Some(divisor @ 1..)) => each(a, &|x| x.rem_euclid(divisor)),
            (BinaryOp::And, None, Some(mask @ 0..)) => each(a, &|x| x & mask),
            (BinaryOp::And, Some(mask @ 0..), None) => each(b, &|x| x & mask),
            (BinaryOp::Xor, None, Some(bits @ 0..=FARTHEST)) => from_first(&each(a, &|x| x ^ bits)?),
            (BinaryOp::Xor, Some(bits @ 0..=FARTHEST), None) => from_first(&each(b, &|x| x ^ bits)?),
            _ => None,
        }
    }

    /// A constant as a signed number.
    fn constant(&self, value: Value) -> Option<i64> {
        let bits = self.analysis.constant(value)? as i64;
        let unused = 64 - Type::bits(self.kernel.ty(value));
        Some(bits << unused >> unused)
    }
}
