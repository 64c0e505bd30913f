//! Tensors on the host, and operations on them by their definitions.

use jit_runtime::ir::{ReduceOp, Type, scalar};

/// A tensor on the host: elements as bits, in row-major order.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) shape: Vec<usize>,
    pub(super) bits: Vec<u64>,
}

impl Model {
    /// The elements that a function of the coordinates returns.
    pub(super) fn of(shape: Vec<usize>, mut element: impl FnMut(&[usize]) -> u64) -> Model {
        let count = shape.iter().product();
        let bits = (0..count).map(|number| element(&coordinates(&shape, number))).collect();
        Model { shape, bits }
    }

    pub(super) fn at(&self, coordinates: &[usize]) -> u64 {
        self.bits[number(&self.shape, coordinates)]
    }

    /// The element that is broadcast to some coordinates of more or longer axes.
    pub(super) fn broadcast_at(&self, coordinates: &[usize]) -> u64 {
        let own = &coordinates[coordinates.len() - self.shape.len()..];
        let own: Vec<usize> =
            own.iter().zip(&self.shape).map(|(&at, &length)| if length == 1 { 0 } else { at }).collect();
        self.at(&own)
    }

    /// Replaces each line along an axis by a function of its elements.
    pub(super) fn along(&self, axis: usize, of: impl Fn(&[u64]) -> Vec<u64>) -> Model {
        let mut shape = self.shape.clone();
        shape[axis] = of(&vec![0; shape[axis]]).len();
        Model::of(shape, |at| of(&self.line(axis, at))[at[axis]])
    }

    /// The elements that differ from others only along an axis.
    pub(super) fn line(&self, axis: usize, at: &[usize]) -> Vec<u64> {
        let mut at = at.to_vec();
        let element = |place| {
            at[axis] = place;
            self.at(&at)
        };
        (0..self.shape[axis]).map(element).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }
}

pub(super) fn coordinates(shape: &[usize], mut number: usize) -> Vec<usize> {
    let mut at = vec![0; shape.len()];
    for (at, length) in at.iter_mut().zip(shape).rev() {
        *at = number % length;
        number /= length;
    }
    at
}

pub(super) fn number(shape: &[usize], at: &[usize]) -> usize {
    shape.iter().zip(at).fold(0, |number, (length, at)| number * length + at)
}

/// The shape that two broadcast to.
pub(super) fn common(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let axes = a.len().max(b.len());
    let length = |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(axes).map_or(1, |axis| shape[axis]);
    let fits = |axis| match (length(a, axis), length(b, axis)) {
        (1, length) | (length, 1) => Some(length),
        (a, b) => (a == b).then_some(a),
    };
    (0..axes).map(fits).collect()
}

/// Replaces each line along an axis by as many elements.
pub(super) fn lines(model: &Model, axis: usize, of: impl Fn(Vec<u64>) -> Vec<u64>) -> Model {
    let mut result = model.clone();
    for place in 0..model.bits.len() {
        let at = coordinates(&model.shape, place);
        if at[axis] == 0 {
            for (row, bits) in of(model.line(axis, &at)).into_iter().enumerate() {
                let mut at = at.clone();
                at[axis] = row;
                result.bits[number(&model.shape, &at)] = bits;
            }
        }
    }
    result
}

/// The coordinates of a selected element.
pub(super) fn selected(places: &[(Vec<usize>, bool)], at: &[usize]) -> Vec<usize> {
    let mut at = at.iter();
    let mut of_axis = |(places, stays): &(Vec<usize>, bool)| {
        places[if *stays { *at.next().expect("there is a coordinate for each axis") } else { 0 }]
    };
    places.iter().map(&mut of_axis).collect()
}

/// The positions of Python's `x[begin:end:step]`.
pub(super) fn python_range(begin: isize, end: isize, step: isize, length: usize) -> Vec<usize> {
    let length = length as isize;
    let from_end = |at: isize| if at < 0 { at + length } else { at };
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let (begin, end) = (from_end(begin).clamp(low, high.max(low)), from_end(end).clamp(low, high.max(low)));
    let mut places = Vec::new();
    let mut at = begin;
    while if step > 0 { at < end } else { at > end } {
        places.push(at as usize);
        at += step;
    }
    places
}

/// Sums of halves are in single precision.
pub(super) fn wide(op: ReduceOp, ty: Type) -> Type {
    if ty == Type::F16 && op == ReduceOp::Add { Type::F32 } else { ty }
}

pub(super) fn wide_identity(op: ReduceOp, ty: Type) -> u64 {
    scalar::identity(op, wide(op, ty))
}

pub(super) fn combined_wide(op: ReduceOp, ty: Type, total: u64, bits: u64) -> u64 {
    scalar::reduce(op, wide(op, ty), total, scalar::cast(ty, wide(op, ty), bits))
}

pub(super) fn narrow(op: ReduceOp, ty: Type, bits: u64) -> u64 {
    scalar::cast(wide(op, ty), ty, bits)
}
