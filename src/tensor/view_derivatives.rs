//! The derivative of reading a view: each element of the source was read once at most, so its gradient is read, too.

use std::marker::PhantomData;

use jit_core::ad::{CustomOp, custom};
use smallvec::SmallVec;

use super::lengths::{Sizes, is, number};
use super::view::{Axes, View, ViewAxis, number_of};
use crate::{Array, Element, Mask, Result, Size, UInt};

/// How to find the element of a view that has read an element of the source.
#[derive(Clone)]
pub(super) struct Inverse {
    axes: Axes,
    /// The axes by the distance of neighbours, the largest first.
    order: SmallVec<[usize; 4]>,
    /// The lowest position that is read.
    start: Size,
    /// The width of the source.
    width: Size,
    /// Whether all of the source is read.
    is_whole: bool,
}

impl Inverse {
    /// Returns the inverse of a view; none if elements are read several times, or the view has only one axis: such
    /// gathers are transposed anyway.
    #[track_caller]
    pub(super) fn of(axes: &[ViewAxis], offset: Size, width: Size) -> Option<Inverse> {
        if axes.len() < 2 || axes.iter().any(|axis| is(axis.stride.distance, 0)) {
            return None;
        }
        let mut order: SmallVec<[usize; 4]> = (0..axes.len()).collect();
        order.sort_by(|&a, &b| axes[b].stride.distance.now().cmp(&axes[a].stride.distance.now()));
        let (mut span, mut count, mut start) = (Size::from(1), Size::from(1), offset);
        for ViewAxis { length, stride } in order.iter().rev().map(|&axis| axes[axis]) {
            if stride.distance < span {
                return None;
            }
            let reach = stride.distance * (length - 1);
            (span, count) = (span + reach, count * length);
            if stride.is_backward {
                start = start - reach;
            }
        }
        let is_whole = count == width;
        Some(Inverse { axes: axes.into(), order, start, width, is_whole })
    }

    /// Returns for each element of the source the number of the element that has read it, and whether there is one.
    #[track_caller]
    fn numbers(&self) -> (UInt, Option<Mask>) {
        let mut rest = UInt::arange(self.width);
        if !is(self.start, 0) {
            // Before the start this wraps to a number beyond the last element.
            rest -= number(self.start);
        }
        let mut at = vec![UInt::from(0); self.axes.len()];
        let mut inside: Option<Mask> = None;
        for &axis in &self.order {
            let ViewAxis { length, stride } = self.axes[axis];
            let step = number(stride.distance);
            let place = if is(stride.distance, 1) { rest.clone() } else { &rest / &step };
            rest = if is(stride.distance, 1) { UInt::from(0) } else { rest % step };
            if !self.is_whole {
                let is_inside = place.lt(number(length));
                inside = Some(inside.map_or(is_inside.clone(), |inside| inside & is_inside));
            }
            at[axis] = if stride.is_backward { number(length - 1) - place } else { place };
        }
        if let Some(mask) = inside.take() {
            inside = Some(mask & rest.eq(0));
        }
        let shape: Sizes = self.axes.iter().map(|axis| axis.length).collect();
        (number_of(&shape, &at), inside)
    }
}

/// Reads a view of a source through which gradients flow.
#[track_caller]
pub(super) fn read_with_gradients<T: Element>(view: &View, source: &Array<T>, inverse: Inverse) -> Array<T> {
    custom(Viewed { view: view.clone(), inverse, element: PhantomData }, source)
}

struct Viewed<T> {
    view: View,
    inverse: Inverse,
    element: PhantomData<T>,
}

impl<T: Element> CustomOp for Viewed<T> {
    type Input = Array<T>;
    type Output = Array<T>;
    type Saved = ();

    fn name(&self) -> &str {
        "view"
    }

    #[track_caller]
    fn forward(&self, source: &Array<T>) -> (Array<T>, ()) {
        (self.view.read_merged(source, &self.inverse.axes), ())
    }

    #[track_caller]
    fn backward(&self, (): &(), gradient: &Array<T>) -> Result<Array<T>> {
        Ok(match self.inverse.numbers() {
            (position, None) => gradient.gather(&position),
            (position, Some(inside)) => gradient.gather_masked(&position, &inside),
        })
    }

    #[track_caller]
    fn jvp(&self, (): &(), tangent: &Array<T>) -> Result<Array<T>> {
        Ok(self.view.read_merged(tangent, &self.inverse.axes))
    }
}
