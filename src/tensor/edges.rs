//! Padding, and the elements beyond the edges.

use jit_core::misuse::Misuse;

use super::Tensor;
use super::lengths::{Sizes, is, number, product};
use super::shape::element_count;
use super::view::{coordinates, number_of};
use crate::Site;
use crate::{Array, Element, Mask, Size, UInt};

/// The elements beyond the edges of a tensor. For `1 2 3`:
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edge<T> {
    /// One value: `v v 1 2 3 v v`.
    Constant(T),
    /// The element at the edge: `1 1 1 2 3 3 3`.
    Nearest,
    /// The elements from the other end: `2 3 1 2 3 1 2`.
    Wrap,
    /// The elements mirrored at the element at the edge: `3 2 1 2 3 2 1`.
    Reflect,
    /// The elements mirrored at the edge: `2 1 1 2 3 3 2`.
    Mirror,
}

impl<T: Element> Edge<T> {
    /// Returns the position, and whether it is inside, of elements that are numbered from `before` ahead of an axis.
    #[track_caller]
    fn position(&self, at: &UInt, before: usize, length: Size) -> (UInt, Option<Mask>) {
        let begin = before as u32;
        match self {
            Edge::Constant(_) => {
                let position = at - begin;
                let is_inside = position.lt(number(length));
                (position, Some(is_inside))
            }
            Edge::Nearest => (at.clamp(begin, number(length + before - 1)) - begin, None),
            Edge::Wrap => (periodic(at, before, length), None),
            Edge::Reflect if is(length, 1) => (UInt::from(0), None),
            Edge::Reflect => {
                let period = (length - 1) * 2;
                let position = periodic(at, before, period);
                (position.min(number(period) - &position), None)
            }
            Edge::Mirror => {
                let position = periodic(at, before, length * 2);
                (position.min(number(length * 2 - 1) - &position), None)
            }
        }
    }
}

/// Returns the position within a period of elements that are numbered from `before` ahead of one.
#[track_caller]
fn periodic(at: &UInt, before: usize, period: Size) -> UInt {
    // Shifted by whole periods, so that nothing is negative.
    let shift = (period - Size::from(before) % period) % period;
    (at + number(shift)) % number(period)
}

impl<T> From<T> for Edge<T> {
    fn from(value: T) -> Edge<T> {
        Edge::Constant(value)
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the tensor with elements added before and after each axis: `widths[i]` holds both numbers for axis `i`.
    /// A value in place of an edge stands for [`Edge::Constant`].
    ///
    /// ```
    /// use jit::prelude::*;
    /// use jit::tensor::Edge;
    ///
    /// assert_eq!(Tensor::from([1, 2, 3]).pad(&[(1, 2)], 0).to_vec()?, [0, 1, 2, 3, 0, 0]);
    /// assert_eq!(Tensor::from([1, 2, 3]).pad(&[(2, 2)], Edge::Reflect).to_vec()?, [3, 2, 1, 2, 3, 2, 1]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the numbers of widths and axes differ, and when an axis without elements is padded with elements.
    #[must_use]
    #[track_caller]
    pub fn pad(&self, widths: &[(usize, usize)], edge: impl Into<Edge<T>>) -> Self {
        let edge = edge.into();
        if widths.len() != self.ndim() {
            let what = format!("{} widths do not pad a tensor of shape {:?}", widths.len(), &*self.shape);
            Misuse::new(what, Site::here()).hint("pass a pair of widths for each axis, (0, 0) for none").panic();
        }
        if widths.iter().all(|width| *width == (0, 0)) {
            return self.clone();
        }
        let shape: Sizes = self.shape.iter().zip(widths).map(|(&length, &(a, b))| length + a + b).collect();
        let count = element_count(&shape);
        if let (true, Edge::Constant(value)) = (self.is_empty(), edge) {
            return Tensor::full(value, shape.as_slice());
        }
        if self.is_empty() && count != 0 {
            let what = format!("a tensor of shape {:?} has no elements to pad with", &*self.shape);
            Misuse::new(what, Site::here()).hint("pad it with `Edge::Constant`").panic();
        }
        if is(count, 0) {
            return Tensor::shaped(self.array.slice(0..0), &shape);
        }
        Tensor::shaped(self.padded(&shape, widths, edge), &shape)
    }

    #[track_caller]
    fn padded(&self, shape: &[Size], widths: &[(usize, usize)], edge: Edge<T>) -> Array<T> {
        let count = product(shape);
        let mut at = coordinates(shape, &UInt::arange(count));
        let mut inside: Option<Mask> = None;
        for (axis, (before, after)) in widths.iter().enumerate() {
            if (*before, *after) == (0, 0) {
                continue;
            }
            let (position, is_inside) = edge.position(&at[axis], *before, self.shape[axis]);
            at[axis] = position;
            inside = inside.into_iter().chain(is_inside).reduce(|a, b| a & b);
        }
        let position = number_of(&self.shape, &at);
        let array = match (edge, inside) {
            (Edge::Constant(value), Some(inside)) => inside.select(self.array.gather_masked(&position, &inside), value),
            _ => self.array.gather(&position),
        };
        super::filled(array, count)
    }
}
