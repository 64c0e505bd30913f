//! Other shapes of the same elements: reshaping, permuting axes, repeating and reversing.

use jit_core::misuse::Misuse;

use super::lengths::{Sizes, happens_to_be, is};
use super::view::View;
use super::{Axes, Axis, Shape, Tensor};
use crate::Site;
use crate::{Element, Size, UInt};

impl<T: Element> Tensor<T> {
    /// Returns the same elements, in row-major order, in another shape; −1 represents the length that fits, in one
    /// axis.
    ///
    /// # Panics
    ///
    /// When the shape has another number of elements.
    #[must_use]
    #[track_caller]
    pub fn reshape(&self, shape: impl Into<Shape>) -> Self {
        let describe =
            |misuse: Misuse| misuse.value(&format!("the tensor of shape {:?}", &*self.shape), self.array.var());
        let shape = shape.into().for_elements(self.width(), &describe);
        Tensor::shaped(self.array.slice(..), &shape)
    }

    /// Returns the elements along one axis.
    #[must_use]
    #[track_caller]
    pub fn ravel(&self) -> Self {
        Tensor::shaped(self.array.slice(..), &[self.width()])
    }

    /// Returns the elements in column-major order (the first axis changes fastest), along one axis.
    #[must_use]
    #[track_caller]
    pub fn ravel_column_major(&self) -> Self {
        self.transpose().ravel()
    }

    /// Reverses the order of the axes: rows become columns.
    #[must_use]
    #[track_caller]
    pub fn transpose(&self) -> Self {
        self.permuted(&(0..self.ndim()).rev().collect::<Vec<_>>())
    }

    /// Permutes the axes: axis `i` of the result is axis `order[i]`.
    ///
    /// # Panics
    ///
    /// When an axis is missing, named twice, or does not exist.
    #[must_use]
    #[track_caller]
    pub fn permute_axes(&self, order: impl Into<Axes>) -> Self {
        let order = order.into().resolve(&self.shape);
        if order.len() != self.ndim() {
            let what = format!("{} axes cannot be the new order of the axes of shape {:?}", order.len(), &*self.shape);
            Misuse::new(what, Site::here()).hint("name every axis once").panic();
        }
        self.permuted(&order)
    }

    /// Returns the tensor with two axes exchanged.
    #[must_use]
    #[track_caller]
    pub fn swap_axes(&self, first: impl Into<Axis>, second: impl Into<Axis>) -> Self {
        let mut order: Vec<usize> = (0..self.ndim()).collect();
        order.swap(first.into().resolve(&self.shape), second.into().resolve(&self.shape));
        self.permuted(&order)
    }

    /// Moves one axis to another place, and keeps the others in their order.
    #[must_use]
    #[track_caller]
    pub fn move_axis(&self, from: impl Into<Axis>, to: impl Into<Axis>) -> Self {
        let (from, to) = (from.into().resolve(&self.shape), to.into().resolve(&self.shape));
        let mut order: Vec<usize> = (0..self.ndim()).filter(|&axis| axis != from).collect();
        order.insert(to, from);
        self.permuted(&order)
    }

    #[track_caller]
    pub(super) fn permuted(&self, order: &[usize]) -> Self {
        let mut view = View::of(&self.shape);
        view.axes = order.iter().map(|&axis| view.axes[axis]).collect();
        self.viewed(&view)
    }

    /// Returns the tensor of which this one is the transpose, in its last two axes, if it is not evaluated and that one
    /// is in memory.
    #[track_caller]
    pub(super) fn transpose_source(&self) -> Option<Self> {
        let (rows, columns) = (self.ndim().checked_sub(2)?, self.ndim() - 1);
        let mut shape = Sizes::from_slice(&self.shape);
        shape.swap(rows, columns);
        let mut view = View::of(&shape);
        view.axes.swap(rows, columns);
        let source = self.array.source_of_gather(&view.position(&UInt::arange(view.len())))?;
        let is_whole = happens_to_be(source.width(), view.len());
        is_whole.then(|| Tensor::shaped(source, &shape))
    }

    /// Returns the elements that a view shows.
    #[track_caller]
    pub(super) fn viewed(&self, view: &View) -> Self {
        Tensor::shaped(view.read(&self.array), &view.shape())
    }

    /// Inserts a new axis of length 1, which gets the given number.
    #[must_use]
    #[track_caller]
    pub fn expand_dims(&self, axis: impl Into<Axis>) -> Self {
        let mut shape = Sizes::from_slice(&self.shape);
        shape.insert(axis.into().resolve_new(&self.shape), Size::from(1));
        Tensor::shaped(self.array.slice(..), &shape)
    }

    /// Removes some axes of length 1; with `..`, all of them.
    ///
    /// # Panics
    ///
    /// When a named axis has another length.
    #[must_use]
    #[track_caller]
    pub fn squeeze(&self, axes: impl Into<Axes>) -> Self {
        let axes = axes.into();
        let named = axes.resolve(&self.shape);
        let is_all = axes == Axes::from(..);
        let wrong = named.iter().find(|&&axis| !is(self.shape[axis], 1)).filter(|_| !is_all);
        if let Some(&axis) = wrong {
            let what = format!("axis {axis} of shape {:?} has length {}, not 1", &*self.shape, self.shape[axis]);
            Misuse::new(what, Site::here()).hint("only axes of length 1 can be squeezed").panic();
        }
        let kept = (0..self.ndim()).filter(|axis| !is(self.shape[*axis], 1) || !named.contains(axis));
        let shape: Sizes = kept.map(|axis| self.shape[axis]).collect();
        Tensor::shaped(self.array.slice(..), &shape)
    }

    /// Reverses the elements along some axes.
    #[must_use]
    #[track_caller]
    pub fn flip(&self, axes: impl Into<Axes>) -> Self {
        let mut view = View::of(&self.shape);
        for axis in axes.into().resolve(&self.shape) {
            let axis = &mut view.axes[axis];
            view.offset = view.offset + axis.stride.distance * (axis.length.max(1) - 1);
            axis.stride = axis.stride.every(-1);
        }
        self.viewed(&view)
    }
}
