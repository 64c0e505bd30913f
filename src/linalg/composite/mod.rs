//! The common part of all types with several named arrays: vectors, complex numbers, quaternions.
//!
//! | part | file |
//! |---|---|
//! | constructors, components | this file |
//! | gathers, interleaved arrays, reading | `lanes` |
//! | printing | `print` |

use super::vector::Component;
use super::{Complex, Quaternion, Vec2, Vec3, Vec4};
use crate::{Array, Element, Size};

mod lanes;
mod print;

/// Calls a macro once for each type, with its name, number of components, and their names and positions.
macro_rules! for_each_composite {
    ($macro:ident) => {
        $macro! { Vec2 2 [x 0, y 1] }
        $macro! { Vec3 3 [x 0, y 1, z 2] }
        $macro! { Vec4 4 [x 0, y 1, z 2, w 3] }
        $macro! { Complex 2 [re 0, im 1] }
        $macro! { Quaternion 4 [x 0, y 1, z 2, w 3] }
    };
}

pub(super) use for_each_composite;

macro_rules! composite {
    ($Type:ident $n:literal [$($c:ident $index:literal),*]) => {
        impl<T: Element> $Type<T> {
            /// Creates the value of these components: arrays, references to arrays, or numbers.
            #[inline]
            #[must_use]
            #[track_caller]
            pub fn new($($c: impl Component<T>),*) -> Self {
                $Type { $($c: $c.into_component()),* }
            }

            /// Returns zero (false) in all components and lanes.
            #[must_use]
            #[track_caller]
            pub fn zeros(width: impl Into<Size>) -> Self {
                let zeros = Array::zeros(width);
                $Type { $($c: zeros.clone()),* }
            }

            /// Returns zeros of the same width.
            #[must_use]
            #[track_caller]
            pub fn zeros_like(&self) -> Self {
                Self::zeros(self.width())
            }

            /// Returns the components, in order.
            #[inline]
            #[must_use]
            pub fn to_array(&self) -> [Array<T>; $n] {
                [$(self.$c.clone()),*]
            }

            /// Returns the components mutably, in order.
            #[inline]
            #[must_use]
            pub fn components(&self) -> [&Array<T>; $n] {
                [$(&self.$c),*]
            }

            /// Applies a function to each component.
            #[must_use]
            pub fn map<U: Element>(&self, mut function: impl FnMut(&Array<T>) -> Array<U>) -> $Type<U> {
                $Type { $($c: function(&self.$c)),* }
            }

            /// Returns the number of lanes: that of the widest component. All components have this width or width 1,
            /// which is checked when they are combined.
            #[inline]
            #[must_use]
            #[expect(clippy::len_without_is_empty, reason = "this is not a collection of lanes; widths are compared")]
            pub fn len(&self) -> usize {
                let widths = [$(self.$c.len()),*];
                widths.into_iter().find(|&width| width != 1).unwrap_or(1)
            }

            /// Returns the number of lanes, to make arrays of the same width.
            #[inline]
            #[must_use]
            pub fn width(&self) -> Size {
                self.len().into()
            }

            /// Returns the value with components of width 1 repeated, for operations on whole lanes.
            #[track_caller]
            pub(in crate::linalg) fn at_full_width(&self) -> Self {
                lanes::refuse_uneven(&[$((stringify!($c), &self.$c)),*]);
                let width = self.len();
                self.map(|array| if array.len() == width { array.clone() } else { array.repeat(width) })
            }

            /// Converts each element to another type: see [`Array::cast`].
            #[must_use]
            #[track_caller]
            pub fn cast<U: Element>(&self) -> $Type<U> {
                $Type { $($c: self.$c.cast()),* }
            }

            /// Returns the same values, but never as literals in the code: see [`Array::make_opaque`].
            #[must_use]
            #[track_caller]
            pub fn make_opaque(&self) -> Self {
                $Type { $($c: self.$c.make_opaque()),* }
            }
        }

        impl<T: Element> From<[T; $n]> for $Type<T> {
            /// Returns a constant, the same in all lanes.
            #[track_caller]
            fn from(values: [T; $n]) -> Self {
                let [$($c),*] = values;
                Self::new($($c),*)
            }
        }

        impl<T: Element> From<[Array<T>; $n]> for $Type<T> {
            #[inline]
            fn from(components: [Array<T>; $n]) -> Self {
                let [$($c),*] = components;
                $Type { $($c),* }
            }
        }

        impl<T: Element> From<$Type<T>> for [Array<T>; $n] {
            #[inline]
            fn from(value: $Type<T>) -> Self {
                [$(value.$c),*]
            }
        }

        impl<T: Element> From<&[[T; $n]]> for $Type<T> {
            /// Creates one value for each lane.
            #[track_caller]
            fn from(lanes: &[[T; $n]]) -> Self {
                $Type { $($c: lanes.iter().map(|lane| lane[$index]).collect::<Vec<T>>().into()),* }
            }
        }

        impl<T: Element> From<&Vec<[T; $n]>> for $Type<T> {
            #[track_caller]
            fn from(lanes: &Vec<[T; $n]>) -> Self {
                lanes.as_slice().into()
            }
        }

        impl<T: Element> From<Vec<[T; $n]>> for $Type<T> {
            #[track_caller]
            fn from(lanes: Vec<[T; $n]>) -> Self {
                lanes.as_slice().into()
            }
        }

        impl<T: Element, const LANES: usize> From<[[T; $n]; LANES]> for $Type<T> {
            #[track_caller]
            fn from(lanes: [[T; $n]; LANES]) -> Self {
                lanes.as_slice().into()
            }
        }

        impl<T: Element> FromIterator<[T; $n]> for $Type<T> {
            #[track_caller]
            fn from_iter<I: IntoIterator<Item = [T; $n]>>(lanes: I) -> Self {
                lanes.into_iter().collect::<Vec<_>>().into()
            }
        }
    };
}

for_each_composite!(composite);
