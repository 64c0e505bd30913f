//! Rows, columns, diagonals, and matrices within matrices.

use super::Matrix;
use crate::linalg::vector::{Component, Vec2, Vec3, Vec4, VectorOperand, for_each_vector};
use crate::{Array, Element, Number};

/// A row or column of a matrix: a vector, a reference to one, or a list of arrays or numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a row or column of {N} elements `{T}`",
    label = "expected a vector of {N} components or a list of {N} arrays or numbers"
)]
pub trait Line<T: Element, const N: usize> {
    /// Returns the elements.
    #[track_caller]
    fn into_line(self) -> [Array<T>; N];
}

impl<T: Element, C: Component<T>, const N: usize> Line<T, N> for [C; N] {
    #[track_caller]
    fn into_line(self) -> [Array<T>; N] {
        self.map(C::into_component)
    }
}

impl<T: Element, const N: usize> Matrix<T, N> {
    /// Creates a matrix of rows: vectors, or lists of arrays or numbers.
    #[must_use]
    #[track_caller]
    pub fn from_rows<L: Line<T, N>>(rows: [L; N]) -> Self {
        Matrix { rows: rows.map(L::into_line) }
    }

    /// Creates a matrix of columns: vectors, or lists of arrays or numbers.
    #[must_use]
    #[track_caller]
    pub fn from_columns<L: Line<T, N>>(columns: [L; N]) -> Self {
        Self::from_rows(columns).transpose()
    }
}

impl<T: Number, const N: usize> Matrix<T, N> {
    /// Creates a matrix with this diagonal, a vector or a list of arrays or numbers, and zeros elsewhere.
    #[must_use]
    #[track_caller]
    pub fn from_diagonal(diagonal: impl Line<T, N>) -> Self {
        let mut matrix = Self::splat(T::default());
        for (k, entry) in diagonal.into_line().into_iter().enumerate() {
            matrix.rows[k][k] = entry;
        }
        matrix
    }
}

macro_rules! parts {
    ($Vec:ident $n:literal [$($c:ident $index:literal),*]) => {
        impl<T: Element> Line<T, $n> for $Vec<T> {
            fn into_line(self) -> [Array<T>; $n] {
                self.into()
            }
        }

        impl<T: Element> Line<T, $n> for &$Vec<T> {
            fn into_line(self) -> [Array<T>; $n] {
                self.to_array()
            }
        }

        impl<T: Element> Matrix<T, $n> {
            /// Returns a row, counted from 0.
            ///
            /// # Panics
            ///
            /// When there is no such row.
            #[must_use]
            #[track_caller]
            pub fn row(&self, row: usize) -> $Vec<T> {
                self.rows[row].clone().into()
            }

            /// Returns a column, counted from 0.
            ///
            /// # Panics
            ///
            /// When there is no such column.
            #[must_use]
            #[track_caller]
            pub fn column(&self, column: usize) -> $Vec<T> {
                $Vec { $($c: self.rows[$index][column].clone()),* }
            }

            /// Returns the diagonal.
            #[must_use]
            pub fn diagonal(&self) -> $Vec<T> {
                $Vec { $($c: self.rows[$index][$index].clone()),* }
            }
        }

        impl<T: Number> $Vec<T> {
            /// Returns the outer product: the entry in row `i` and column `k` is `self[i] * other[k]`.
            #[must_use]
            #[track_caller]
            pub fn outer(&self, other: impl VectorOperand<Self>) -> Matrix<T, $n> {
                let other = other.into_vector();
                Matrix::from_rows([$(&other * &self.$c),*])
            }
        }
    };
}

for_each_vector!(parts);

macro_rules! sizes {
    ($($small:literal $to_small:ident, $large:literal $to_large:ident;)*) => {$(
        impl<T: Number> Matrix<T, $small> {
            /// Returns an identity with one more row and column, with this matrix in its upper left corner.
            #[must_use]
            #[track_caller]
            pub fn $to_large(&self) -> Matrix<T, $large> {
                let mut large = Matrix::identity();
                for (row, entries) in self.rows.iter().enumerate() {
                    large.rows[row][..$small].clone_from_slice(entries);
                }
                large
            }
        }

        impl<T: Element> Matrix<T, $large> {
            /// Returns the upper left corner, without the last row and column.
            #[must_use]
            pub fn $to_small(&self) -> Matrix<T, $small> {
                Matrix { rows: std::array::from_fn(|row| std::array::from_fn(|column| self.rows[row][column].clone())) }
            }
        }
    )*};
}

sizes! {
    2 to_mat2, 3 to_mat3;
    3 to_mat3, 4 to_mat4;
}
