//! Vectors of two, three and four arrays: one vector per lane, in the plane, in space, or with a fourth component.
//!
//! | part | file |
//! |---|---|
//! | constructors, components | this file, `swizzle` |
//! | operators, comparisons | `operators`, `compare` |
//! | component-wise functions | `functions` |
//! | products, lengths, directions | `geometry` |
//! | reductions over the lanes | `lanes` |
//!
//! Operations that vectors share with other types of several arrays are in `composite`: gathers, interleaved arrays,
//! reading, printing.

use crate::{Array, Element, Number, Operand, Size, Traverse};

mod compare;
mod functions;
mod geometry;
mod lanes;
mod operators;
mod swizzle;

/// A vector of the plane per lane: two arrays, `x` and `y`.
#[derive(Clone, Traverse)]
pub struct Vec2<T: Element = f32> {
    /// The first component.
    pub x: Array<T>,
    /// The second component.
    pub y: Array<T>,
}

/// A vector of space per lane: three arrays, `x`, `y` and `z`.
#[derive(Clone, Traverse)]
pub struct Vec3<T: Element = f32> {
    /// The first component.
    pub x: Array<T>,
    /// The second component.
    pub y: Array<T>,
    /// The third component.
    pub z: Array<T>,
}

/// A vector of four components per lane: four arrays, `x`, `y`, `z` and `w`.
#[derive(Clone, Traverse)]
pub struct Vec4<T: Element = f32> {
    /// The first component.
    pub x: Array<T>,
    /// The second component.
    pub y: Array<T>,
    /// The third component.
    pub z: Array<T>,
    /// The fourth component.
    pub w: Array<T>,
}

/// Calls a macro once for each kind of vector, with its name, number of components, and their names and positions.
macro_rules! for_each_vector {
    ($macro:ident $($arguments:tt)*) => {
        $macro! { Vec2 2 [x 0, y 1] $($arguments)* }
        $macro! { Vec3 3 [x 0, y 1, z 2] $($arguments)* }
        $macro! { Vec4 4 [x 0, y 1, z 2, w 3] $($arguments)* }
    };
}

pub(crate) use for_each_vector;
pub(in crate::linalg) use geometry::difference_of_products;

/// The second operand of operations on a vector: a vector, a reference to one, or an array or a number, which
/// represents all components.
#[diagnostic::on_unimplemented(
    message = "`{V}` cannot be combined with `{Self}`",
    label = "expected `{V}`, or an array or a number of its element type",
    note = "vectors of other sizes and element types are not converted implicitly: write `.xy()`, `.extend(z)`, \
        `.cast::<T>()`"
)]
pub trait VectorOperand<V> {
    /// Returns the operand as a vector.
    #[track_caller]
    fn into_vector(self) -> V;
}

/// A component of a vector, matrix, complex number or quaternion: an array, a reference to one, or a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a component with elements `{T}`",
    label = "expected `Array<{T}>`, `&Array<{T}>` or a number",
    note = "element types are not converted implicitly: write `.cast::<{T}>()`"
)]
pub trait Component<T: Element> {
    /// Returns the component as an array.
    #[track_caller]
    fn into_component(self) -> Array<T>;
}

/// Calls a macro once for each type of operands that are not vectors, with generics that bound the element type, the
/// element type, and the type of the operand.
macro_rules! operand_types {
    ($macro:ident $Bound:ident) => {
        $macro!([T: $Bound,] T: $crate::Array<T>);
        $macro!([T: $Bound,] T: &$crate::Array<T>);
        $macro!([T: $Bound,] T: T);
        $macro!([] half::f16: i32);
        $macro!([] half::f16: f32);
        $macro!([] half::bf16: i32);
        $macro!([] half::bf16: f32);
        $macro!([] f32: i32);
        $macro!([] f64: i32);
    };
}

pub(crate) use operand_types;

/// Like `number_types`, for operators on floats only.
macro_rules! float_types {
    ($macro:ident $($arguments:tt)*) => {
        $macro!($($arguments)* [] half::f16: half::f16);
        $macro!($($arguments)* [] half::bf16: half::bf16);
        $macro!($($arguments)* [] f32: f32);
        $macro!($($arguments)* [] f64: f64);
        $macro!($($arguments)* [] half::f16: i32);
        $macro!($($arguments)* [] half::bf16: i32);
        $macro!($($arguments)* [] half::f16: f32);
        $macro!($($arguments)* [] half::bf16: f32);
        $macro!($($arguments)* [] f32: i32);
        $macro!($($arguments)* [] f64: i32);
    };
}

pub(crate) use float_types;

/// Calls a macro once for each type of numbers on the left of an operator, with no generics, the element type, and the
/// type of the number.
macro_rules! number_types {
    ($macro:ident $($arguments:tt)*) => {
        $macro!($($arguments)* [] i8: i8);
        $macro!($($arguments)* [] i16: i16);
        $macro!($($arguments)* [] i32: i32);
        $macro!($($arguments)* [] i64: i64);
        $macro!($($arguments)* [] u8: u8);
        $macro!($($arguments)* [] u16: u16);
        $macro!($($arguments)* [] u32: u32);
        $macro!($($arguments)* [] u64: u64);
        $crate::linalg::vector::float_types!($macro $($arguments)*);
    };
}

pub(crate) use number_types;

macro_rules! component {
    ([$($generics:tt)*] $T:ty: $Component:ty) => {
        impl<$($generics)*> Component<$T> for $Component {
            #[inline]
            #[track_caller]
            fn into_component(self) -> Array<$T> {
                Operand::<$T>::into_array(self)
            }
        }
    };
}

// An `f32` is not a component of halves: a vector made only of such numbers would be ambiguous.
component!([T: Element] T: Array<T>);
component!([T: Element] T: &Array<T>);
component!([T: Element] T: T);
component!([] half::f16: i32);
component!([] half::bf16: i32);
component!([] f32: i32);
component!([] f64: i32);

/// An array or a number in place of a vector.
macro_rules! splat {
    ($Vec:ident $n:literal $components:tt [$($generics:tt)*] $T:ty: $Operand:ty) => {
        impl<$($generics)*> VectorOperand<$Vec<$T>> for $Operand {
            #[inline]
            #[track_caller]
            fn into_vector(self) -> $Vec<$T> {
                let all: Array<$T> = Operand::<$T>::into_array(self);
                $Vec::splat(all)
            }
        }
    };
}

macro_rules! splats {
    ($($operand:tt)*) => {
        for_each_vector!(splat $($operand)*);
    };
}

operand_types!(splats Element);

macro_rules! vector {
    ($Vec:ident $n:literal [$($c:ident $index:literal),*]) => {
        impl<T: Element> VectorOperand<$Vec<T>> for $Vec<T> {
            #[inline]
            fn into_vector(self) -> $Vec<T> {
                self
            }
        }

        impl<T: Element> VectorOperand<$Vec<T>> for &$Vec<T> {
            #[inline]
            fn into_vector(self) -> $Vec<T> {
                self.clone()
            }
        }

        impl<T: Element> $Vec<T> {
            /// Creates a vector with the same array or number in all components.
            #[inline]
            #[must_use]
            #[track_caller]
            pub fn splat(all: impl Component<T>) -> Self {
                let all = all.into_component();
                $Vec { $($c: all.clone()),* }
            }

            /// Returns one constant in all components and lanes.
            #[must_use]
            #[track_caller]
            pub fn full(value: T, width: impl Into<Size>) -> Self {
                Self::splat(Array::full(value, width))
            }
        }

        impl<T: Number> $Vec<T> {
            /// Returns one in all components and lanes.
            #[must_use]
            #[track_caller]
            pub fn ones(width: impl Into<Size>) -> Self {
                Self::splat(Array::ones(width))
            }

            /// Returns a unit vector along an axis, given by its number: 0 is `x`.
            ///
            /// # Panics
            ///
            /// When there is no such axis.
            #[must_use]
            #[track_caller]
            pub fn unit(axis: usize) -> Self {
                let mut unit = Self::splat(T::default());
                unit[axis] = T::ONE.into_component();
                unit
            }
        }

        impl<T: Element> std::ops::Index<usize> for $Vec<T> {
            type Output = Array<T>;

            /// Returns a component by its number.
            #[inline]
            #[track_caller]
            fn index(&self, component: usize) -> &Array<T> {
                [$(&self.$c),*][component]
            }
        }

        impl<T: Element> std::ops::IndexMut<usize> for $Vec<T> {
            #[inline]
            #[track_caller]
            fn index_mut(&mut self, component: usize) -> &mut Array<T> {
                [$(&mut self.$c),*][component]
            }
        }

        impl<T: Element> Default for $Vec<T> {
            /// Zero, of width 1.
            #[track_caller]
            fn default() -> Self {
                Self::splat(T::default())
            }
        }
    };
}

for_each_vector!(vector);
