//! Square matrices of arrays: one matrix per lane.
//!
//! | part | file |
//! |---|---|
//! | constructors, rows, columns, entries | this file, `parts` |
//! | operators | `operators` |
//! | determinant, inverse | `inverse` |
//! | reading, printing | `read` |
//!
//! Sums of products are chains of fused multiplications and additions, each of which rounds once.

use jit_core::root_of_squares;

use crate::linalg::vector::Component;
use crate::{Array, Element, FloatElement, Number, Signed, Size, Traverse};

mod inverse;
mod operators;
mod parts;
mod read;

pub(in crate::linalg) use operators::dot;
pub use operators::{MatrixFactor, MatrixOperand};
pub use parts::Line;

/// A matrix per lane: `N` by `N` arrays.
///
/// An entry is accessed by its row and column: `m[(0, 2)]`.
#[derive(Clone, Traverse)]
pub struct Matrix<T: Element, const N: usize> {
    pub(in crate::linalg) rows: [[Array<T>; N]; N],
}

/// Two by two arrays.
pub type Mat2<T = f32> = Matrix<T, 2>;
/// Three by three arrays.
pub type Mat3<T = f32> = Matrix<T, 3>;
/// Four by four arrays.
pub type Mat4<T = f32> = Matrix<T, 4>;

impl<T: Element, const N: usize> Matrix<T, N> {
    /// Creates a matrix with the same array or number in all entries.
    #[must_use]
    #[track_caller]
    pub fn splat(all: impl Component<T>) -> Self {
        let all = all.into_component();
        Matrix { rows: std::array::from_fn(|_| std::array::from_fn(|_| all.clone())) }
    }

    /// Zero in all entries and lanes.
    #[must_use]
    #[track_caller]
    pub fn zeros(width: impl Into<Size>) -> Self {
        Self::splat(Array::zeros(width))
    }

    /// Returns the transpose.
    #[must_use]
    pub fn transpose(&self) -> Self {
        Matrix { rows: std::array::from_fn(|row| std::array::from_fn(|column| self.rows[column][row].clone())) }
    }

    /// Applies a function to each entry.
    #[must_use]
    pub fn map<U: Element>(&self, mut function: impl FnMut(&Array<T>) -> Array<U>) -> Matrix<U, N> {
        Matrix { rows: std::array::from_fn(|row| std::array::from_fn(|column| function(&self.rows[row][column]))) }
    }

    /// Converts each entry to another type: see [`Array::cast`].
    #[must_use]
    pub fn cast<U: Element>(&self) -> Matrix<U, N> {
        self.map(Array::cast)
    }

    /// Returns the same values, but never as literals in the code: see [`Array::make_opaque`].
    #[must_use]
    pub fn make_opaque(&self) -> Self {
        self.map(Array::make_opaque)
    }

    /// Returns the number of lanes: that of the widest entry. All entries have this width or width 1, which is checked
    /// when they are combined.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a matrix is not a collection of lanes; widths are compared")]
    pub fn len(&self) -> usize {
        self.rows.iter().flatten().map(Array::len).find(|&width| width != 1).unwrap_or(1)
    }

    /// Returns the number of lanes, to make arrays of the same width.
    #[must_use]
    pub fn width(&self) -> Size {
        self.len().into()
    }
}

impl<T: Number, const N: usize> Matrix<T, N> {
    /// Returns the identity: ones on the diagonal, zeros elsewhere, the same in all lanes.
    #[must_use]
    #[track_caller]
    pub fn identity() -> Self {
        Self::scalar(T::ONE)
    }

    /// Returns the identity times an array or a number.
    #[must_use]
    #[track_caller]
    pub fn scalar(factor: impl Component<T>) -> Self {
        let factor = factor.into_component();
        let mut matrix = Self::splat(T::default());
        for k in 0..N {
            matrix.rows[k][k] = factor.clone();
        }
        matrix
    }

    /// Returns the trace in each lane: the sum of the diagonal.
    #[must_use]
    #[track_caller]
    pub fn trace(&self) -> Array<T> {
        let mut sum = self.rows[0][0].clone();
        for k in 1..N {
            sum += &self.rows[k][k];
        }
        sum
    }

    /// Returns, in each lane, the sum of the squares of the entries.
    #[must_use]
    #[track_caller]
    pub fn squared_frobenius_norm(&self) -> Array<T> {
        let mut sum = T::default().into_component();
        for entry in self.rows.iter().flatten() {
            sum = entry.mul_add(entry, sum);
        }
        sum
    }

    /// Multiplies the corresponding entries.
    #[must_use]
    #[track_caller]
    pub fn entrywise_product(&self, other: &Self) -> Self {
        let mut product = self.clone();
        for (row, other) in product.rows.iter_mut().zip(&other.rows) {
            for (entry, other) in row.iter_mut().zip(other) {
                *entry *= other;
            }
        }
        product
    }
}

impl<T: Signed, const N: usize> Matrix<T, N> {
    /// Returns, in each lane, the largest absolute value of an entry.
    #[must_use]
    #[track_caller]
    pub fn max_norm(&self) -> Array<T> {
        let mut largest = self.rows[0][0].abs();
        for entry in self.rows.iter().flatten().skip(1) {
            largest = largest.max(entry.abs());
        }
        largest
    }
}

impl<T: FloatElement, const N: usize> Matrix<T, N> {
    /// Returns the Frobenius norm in each lane: the root of the sum of the squares of the entries. Where
    /// it is zero, so is its derivative.
    #[must_use]
    #[track_caller]
    pub fn frobenius_norm(&self) -> Array<T> {
        root_of_squares(&self.squared_frobenius_norm())
    }
}

impl<T: Element, const N: usize> std::ops::Index<(usize, usize)> for Matrix<T, N> {
    type Output = Array<T>;

    /// Returns an entry by its row and column.
    #[track_caller]
    fn index(&self, (row, column): (usize, usize)) -> &Array<T> {
        &self.rows[row][column]
    }
}

impl<T: Element, const N: usize> std::ops::IndexMut<(usize, usize)> for Matrix<T, N> {
    #[track_caller]
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut Array<T> {
        &mut self.rows[row][column]
    }
}

impl<T: Number, const N: usize> Default for Matrix<T, N> {
    /// Returns the identity.
    #[track_caller]
    fn default() -> Self {
        Self::identity()
    }
}

/// An array or a number in place of a matrix represents that multiple of the identity.
macro_rules! from_component {
    ([$($generics:tt)*] $T:ty: $Component:ty) => {
        impl<$($generics)* const N: usize> From<$Component> for Matrix<$T, N> {
            #[track_caller]
            fn from(factor: $Component) -> Self {
                Matrix::scalar(factor)
            }
        }
    };
}

from_component!([T: Number,] T: Array<T>);
from_component!([T: Number,] T: &Array<T>);
from_component!([T: Number,] T: T);

impl<T: Element, const N: usize> From<[[T; N]; N]> for Matrix<T, N> {
    /// Returns a constant matrix, given by its rows; the same in all lanes.
    #[track_caller]
    fn from(rows: [[T; N]; N]) -> Self {
        Matrix::from_rows(rows)
    }
}

impl<T: Element, const N: usize> From<[[Array<T>; N]; N]> for Matrix<T, N> {
    fn from(rows: [[Array<T>; N]; N]) -> Self {
        Matrix { rows }
    }
}

impl<T: Element, const N: usize> From<&[[[T; N]; N]]> for Matrix<T, N> {
    /// Creates one matrix for each lane.
    #[track_caller]
    fn from(lanes: &[[[T; N]; N]]) -> Self {
        let mut matrix = Matrix::splat(T::default());
        for row in 0..N {
            for column in 0..N {
                matrix.rows[row][column] = lanes.iter().map(|lane| lane[row][column]).collect::<Vec<T>>().into();
            }
        }
        matrix
    }
}

impl<T: Element, const N: usize> From<Vec<[[T; N]; N]>> for Matrix<T, N> {
    #[track_caller]
    fn from(lanes: Vec<[[T; N]; N]>) -> Self {
        lanes.as_slice().into()
    }
}
