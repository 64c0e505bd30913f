//! Views: sources of elements at regular strides.

use smallvec::SmallVec;

use super::lengths::{Sizes, happens_to_be, is, is_empty, number, product};
use super::view_derivatives::{Inverse, read_with_gradients};
use crate::{Array, Element, Size, UInt};

/// The distance of neighbours in the source, and its direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stride {
    pub(super) distance: Size,
    pub(super) is_backward: bool,
}

impl Stride {
    /// Returns the stride of elements that are all the same.
    pub(super) fn none() -> Self {
        Size::from(0).into()
    }

    fn is_none(self) -> bool {
        is(self.distance, 0)
    }

    /// Returns the stride of every `step`th element.
    #[track_caller]
    pub(super) fn every(self, step: isize) -> Self {
        Stride { distance: self.distance * step.unsigned_abs(), is_backward: self.is_backward != (step < 0) }
    }

    /// Returns whether the distance of neighbours along an axis of this stride is the length of a whole other axis.
    #[track_caller]
    fn spans(self, inner: ViewAxis) -> bool {
        let is_same_way = self.is_backward == inner.stride.is_backward || self.is_none();
        is_same_way && self.distance.is_always(inner.stride.distance * inner.length)
    }

    /// Returns the position that is this many strides after another one, or after the first element. Modulo 2^32.
    #[track_caller]
    fn behind(self, position: Option<UInt>, count: UInt) -> UInt {
        let (is_next, distance) = (is(self.distance, 1), self.distance);
        // Sums of multiples are reassociated, differences are not. But a difference of one shows mirrored neighbours.
        let is_negated = self.is_backward && distance.is_constant() && !is_next;
        let moved = match is_next {
            true => count,
            false if is_negated => count * (distance.now() as u32).wrapping_neg(),
            false => count * number(distance),
        };
        match position {
            None if self.is_backward && !is_negated => 0_u32 - moved,
            None => moved,
            Some(position) if self.is_backward && !is_negated => position - moved,
            Some(position) => moved + position,
        }
    }
}

impl From<Size> for Stride {
    fn from(distance: Size) -> Self {
        Stride { distance, is_backward: false }
    }
}

/// One axis of a view: the number of elements, and their distance in the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct ViewAxis {
    pub(super) length: Size,
    pub(super) stride: Stride,
}

/// A view: a way to read a source as if it had another shape.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) axes: Axes,
    /// The position of the first element.
    pub(super) offset: Size,
}

/// The axes of a view.
pub(super) type Axes = SmallVec<[ViewAxis; 4]>;

/// Returns the distances of neighbours along each axis of a row-major shape.
#[track_caller]
pub(super) fn strides(shape: &[Size]) -> Sizes {
    let mut strides = Sizes::from_elem(Size::from(1), shape.len());
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

impl View {
    /// Returns a view of the elements of a row-major shape in order.
    #[track_caller]
    pub(super) fn of(shape: &[Size]) -> Self {
        let strides = strides(shape);
        let axes = shape.iter().zip(&strides).map(|(&length, &stride)| ViewAxis { length, stride: stride.into() });
        View { axes: axes.collect(), offset: Size::from(0) }
    }

    /// Returns the lengths of the axes.
    pub(super) fn shape(&self) -> Sizes {
        self.axes.iter().map(|axis| axis.length).collect()
    }

    /// Returns the number of elements.
    #[track_caller]
    pub(super) fn len(&self) -> Size {
        product(&self.shape())
    }

    /// Returns whether there are no elements.
    pub(super) fn is_empty(&self) -> bool {
        is_empty(&self.shape())
    }

    /// Returns the elements, in row-major order of the view; the array itself if nothing changes.
    #[track_caller]
    pub(super) fn read<T: Element>(&self, source: &Array<T>) -> Array<T> {
        if self.is_empty() {
            return source.slice(0..0);
        }
        let (count, axes) = (self.len(), self.merged());
        if is(self.offset, 0) && is_in_order(&axes) && happens_to_be(count, source.width()) {
            return source.slice(..);
        }
        if source.grad_enabled()
            && let Some(inverse) = Inverse::of(&axes, self.offset, source.width())
        {
            return read_with_gradients(self, source, inverse);
        }
        self.read_merged(source, &axes)
    }

    #[track_caller]
    pub(super) fn read_merged<T: Element>(&self, source: &Array<T>, axes: &[ViewAxis]) -> Array<T> {
        let count = self.len();
        if axes.iter().all(|axis| axis.stride.is_none()) {
            // A single element, which is read once.
            let element = source.gather(&number(self.offset));
            return if is(count, 1) { element } else { element.gather(&UInt::zeros(count)) };
        }
        source.gather(&position(axes, self.offset, &UInt::arange(count)))
    }

    /// Returns the position in the source of the elements with given numbers.
    #[track_caller]
    pub(super) fn position(&self, number: &UInt) -> UInt {
        position(&self.merged(), self.offset, number)
    }

    /// Returns the position in the source of each element.
    #[track_caller]
    pub(super) fn positions(&self) -> UInt {
        let index = self.position(&UInt::arange(self.len()));
        if index.width() == self.len() { index } else { index.gather(&UInt::zeros(self.len())) }
    }

    /// Returns the fewest axes that describe the same elements in the same order.
    #[track_caller]
    fn merged(&self) -> Axes {
        let mut merged = Axes::new();
        for axis in self.axes.iter().filter(|axis| !is(axis.length, 1)) {
            match merged.last_mut() {
                Some(outer) if outer.stride.spans(*axis) => {
                    *outer = ViewAxis { length: outer.length * axis.length, stride: axis.stride };
                }
                _ => merged.push(*axis),
            }
        }
        merged
    }
}

fn is_in_order(axes: &[ViewAxis]) -> bool {
    match axes {
        [] => true,
        [ViewAxis { stride, .. }] => is(stride.distance, 1) && !stride.is_backward,
        _ => false,
    }
}

/// Returns the position of elements by their numbers. Modulo 2^32, as steps may be negative.
#[track_caller]
fn position(axes: &[ViewAxis], offset: Size, number_of_element: &UInt) -> UInt {
    let mut sum = (!is(offset, 0)).then(|| number(offset));
    let mut digits = Digits::new(number_of_element, axes.iter().all(|axis| axis.length.is_constant()));
    for (place, axis) in axes.iter().enumerate().rev() {
        if let Some(coordinate) = digits.next(axis.length, place == 0, !axis.stride.is_none()) {
            sum = Some(axis.stride.behind(sum, coordinate));
        }
    }
    sum.unwrap_or_else(|| UInt::from(0))
}

/// The coordinates of elements, from the last axis to the first one.
struct Digits<'a> {
    number: &'a UInt,
    /// The product of the lengths so far.
    inner: Size,
    /// The number divided by that, if some lengths are not constants. Divisions by constant lengths are cheap, so their
    /// quotients are not computed incrementally.
    rest: Option<UInt>,
}

impl<'a> Digits<'a> {
    fn new(number: &'a UInt, is_constant: bool) -> Self {
        Digits { number, inner: Size::from(1), rest: (!is_constant).then(|| number.clone()) }
    }

    /// Returns the coordinates along the next axis, if they are needed.
    #[track_caller]
    fn next(&mut self, length: Size, is_first: bool, is_wanted: bool) -> Option<UInt> {
        if is(length, 1) {
            return is_wanted.then(|| UInt::from(0));
        }
        let coordinate = match &mut self.rest {
            Some(rest) if is_first => is_wanted.then(|| rest.clone()),
            Some(rest) => {
                let length = number(length);
                let outer = &*rest / &length;
                let inside = std::mem::replace(rest, outer);
                // The remainder, rather than the rest of the quotient, has a known upper bound.
                is_wanted.then(|| inside % length)
            }
            None if is_wanted => {
                let quotient = match is(self.inner, 1) {
                    true => self.number.clone(),
                    false => self.number / number(self.inner),
                };
                Some(if is_first { quotient } else { quotient % number(length) })
            }
            None => None,
        };
        self.inner = self.inner * length;
        coordinate
    }
}

/// Returns the coordinates, along each axis, of elements with given numbers in a row-major shape.
#[track_caller]
pub(super) fn coordinates(shape: &[Size], number_of_element: &UInt) -> Vec<UInt> {
    let mut digits = Digits::new(number_of_element, shape.iter().all(|length| length.is_constant()));
    let mut coordinates = Vec::with_capacity(shape.len());
    for (axis, &length) in shape.iter().enumerate().rev() {
        let is_outermost = shape[..axis].iter().all(|&length| is(length, 1));
        coordinates.extend(digits.next(length, is_outermost, true));
    }
    coordinates.reverse();
    coordinates
}

/// Returns the number of an element in a row-major shape, from its coordinates.
#[track_caller]
pub(super) fn number_of(shape: &[Size], coordinates: &[UInt]) -> UInt {
    let strides = strides(shape);
    let mut sum: Option<UInt> = None;
    for ((coordinate, &stride), &length) in coordinates.iter().zip(&strides).zip(shape) {
        if !is(length, 1) {
            sum = Some(Stride::from(stride).behind(sum, coordinate.clone()));
        }
    }
    sum.unwrap_or_else(|| UInt::from(0))
}
