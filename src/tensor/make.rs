//! Constructors of tensors.

use super::lengths::{Sizes, is};
use super::shape::element_count;
use super::view::coordinates;
use super::{Shape, Tensor};
use crate::{Array, Element, FloatElement, Number, Size, UInt};

/// Numbers in nested Rust arrays and vectors, with equal lengths at each level, from which a tensor is made.
///
/// ```
/// use jit::prelude::*;
///
/// assert_eq!(Tensor::from([[1, 2, 3], [4, 5, 6]]).shape(), [2, 3]);
/// assert_eq!(Tensor::from(vec![vec![0.5f32; 4]; 2]).shape(), [2, 4]);
/// ```
pub trait Nested<T: Element> {
    /// Adds the lengths of the axes, found at the first element of each.
    #[doc(hidden)]
    fn shape(&self, lengths: &mut Vec<usize>);

    /// Adds the elements in row-major order, unless lengths differ; returns whether they match.
    #[doc(hidden)]
    fn flatten(&self, lengths: &[usize], elements: &mut Vec<T>) -> bool;
}

macro_rules! nested_elements {
    ($($ty:ty),*) => {$(
        impl Nested<$ty> for $ty {
            fn shape(&self, _lengths: &mut Vec<usize>) {}

            fn flatten(&self, _lengths: &[usize], elements: &mut Vec<$ty>) -> bool {
                elements.push(*self);
                true
            }
        }

        impl From<$ty> for Tensor<$ty> {
            /// Creates a tensor without axes.
            #[track_caller]
            fn from(value: $ty) -> Self {
                Tensor::shaped(Array::from(value), &[])
            }
        }
    )*};
}

nested_elements!(bool, i8, i16, i32, i64, u8, u16, u32, u64, half::f16, half::bf16, f32, f64);

impl<T: Element, X: Nested<T>> Nested<T> for [X] {
    fn shape(&self, lengths: &mut Vec<usize>) {
        lengths.push(self.len());
        if let Some(first) = self.first() {
            first.shape(lengths);
        }
    }

    fn flatten(&self, lengths: &[usize], elements: &mut Vec<T>) -> bool {
        let Some((length, rest)) = lengths.split_first() else { return false };
        self.len() == *length && self.iter().all(|item| item.flatten(rest, elements))
    }
}

macro_rules! nested_lists {
    ($([$($generics:tt)*] $ty:ty;)*) => {$(
        impl<T: Element, X: Nested<T>, $($generics)*> Nested<T> for $ty {
            fn shape(&self, lengths: &mut Vec<usize>) {
                self.as_slice().shape(lengths);
            }

            fn flatten(&self, lengths: &[usize], elements: &mut Vec<T>) -> bool {
                self.as_slice().flatten(lengths, elements)
            }
        }

        impl<T: Element, X: Nested<T>, $($generics)*> From<$ty> for Tensor<T> {
            /// Creates a tensor of nested numbers.
            ///
            /// # Panics
            ///
            /// When lists of one level have different lengths.
            #[track_caller]
            fn from(values: $ty) -> Self {
                from_nested(&values)
            }
        }

        impl<T: Element, X: Nested<T>, $($generics)*> From<&$ty> for Tensor<T> {
            /// Creates a tensor of nested numbers.
            ///
            /// # Panics
            ///
            /// When lists of one level have different lengths.
            #[track_caller]
            fn from(values: &$ty) -> Self {
                from_nested(values)
            }
        }
    )*};
}

nested_lists! {
    [const N: usize] [X; N];
    [] Vec<X>;
}

#[track_caller]
fn from_nested<T: Element>(values: &(impl Nested<T> + ?Sized)) -> Tensor<T> {
    let (mut lengths, mut elements) = (Vec::new(), Vec::new());
    values.shape(&mut lengths);
    if !values.flatten(&lengths, &mut elements) {
        let what = format!(
            "nested lists of different lengths are not a tensor: the first of each level have the shape {lengths:?}"
        );
        jit_core::misuse::Misuse::new(what, crate::Site::here())
            .hint("all lists of one level must have the same length")
            .panic();
    }
    let lengths: Sizes = lengths.into_iter().map(Size::from).collect();
    Tensor::shaped(elements.into(), &lengths)
}

impl<T: Element> From<Array<T>> for Tensor<T> {
    /// Creates a tensor with one axis.
    #[track_caller]
    fn from(array: Array<T>) -> Self {
        let width = array.width();
        Tensor::shaped(array, &[width])
    }
}

impl<T: Element> From<&Array<T>> for Tensor<T> {
    #[track_caller]
    fn from(array: &Array<T>) -> Self {
        array.clone().into()
    }
}

impl<T: Element> Default for Tensor<T> {
    /// Returns zero, without axes.
    #[track_caller]
    fn default() -> Self {
        Tensor::shaped(Array::default(), &[])
    }
}

impl<T: Element> Tensor<T> {
    /// Returns one constant in each element. It becomes a literal in the code and takes no memory.
    #[must_use]
    #[track_caller]
    pub fn full(value: T, shape: impl Into<Shape>) -> Self {
        let shape = shape.into().known();
        Tensor::shaped(Array::full(value, element_count(&shape)), &shape)
    }

    /// Returns zero (false) in each element.
    #[must_use]
    #[track_caller]
    pub fn zeros(shape: impl Into<Shape>) -> Self {
        Tensor::full(T::default(), shape)
    }

    /// Returns zeros in the same shape.
    #[must_use]
    #[track_caller]
    pub fn zeros_like(&self) -> Self {
        self.full_like(T::default())
    }

    /// Returns one value in each element of the same shape.
    #[must_use]
    #[track_caller]
    pub fn full_like(&self, value: T) -> Self {
        self.with_array(self.array.full_like(value))
    }

    /// Applies a function to the coordinates of each element, one array for each axis.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let distance = Tensor::from_fn([3, 3], |at| (&at[0] * 3 + &at[1]).cast::<f32>());
    /// assert_eq!(distance.to_vec()?, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the function returns another number of elements.
    #[must_use]
    #[track_caller]
    pub fn from_fn(shape: impl Into<Shape>, function: impl FnOnce(&[UInt]) -> Array<T>) -> Self {
        let shape = shape.into().known();
        let count = element_count(&shape);
        if is(count, 0) {
            return Tensor::shaped(Array::zeros(0), &shape);
        }
        let array = function(&coordinates(&shape, &UInt::arange(count)));
        Tensor::shaped(super::filled(array, count), &shape)
    }
}

impl<T: Number> Tensor<T> {
    /// Returns one in each element.
    #[must_use]
    #[track_caller]
    pub fn ones(shape: impl Into<Shape>) -> Self {
        Tensor::full(T::ONE, shape)
    }

    /// Returns ones in the same shape.
    #[must_use]
    #[track_caller]
    pub fn ones_like(&self) -> Self {
        self.full_like(T::ONE)
    }

    /// Returns 0, 1, 2, … in row-major order, as this element type; small integer types wrap, floats round to nearest.
    #[must_use]
    #[track_caller]
    pub fn arange(shape: impl Into<Shape>) -> Self {
        let shape = shape.into().known();
        Tensor::shaped(Array::arange(element_count(&shape)), &shape)
    }

    /// Returns ones on the diagonal of `rows` × `columns`, zeros elsewhere.
    #[must_use]
    #[track_caller]
    pub fn eye(rows: impl Into<Size>, columns: impl Into<Size>) -> Self {
        Tensor::from_fn([rows.into(), columns.into()], |at| at[0].eq(&at[1]).select(T::ONE, T::default()))
    }
}

impl<T: FloatElement> Tensor<T> {
    /// Returns evenly spaced numbers from `start` to `end`, both included, along one axis. A single one is `start`.
    #[must_use]
    #[track_caller]
    pub fn linspace(start: T, end: T, count: impl Into<Size>) -> Self {
        Array::linspace(start, end, count).into()
    }
}
