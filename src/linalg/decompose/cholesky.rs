//! A triangular root of a symmetric positive definite matrix.
//!
//! G. Golub, C. Van Loan, “Matrix Computations”, 4th edition, §4.2.

use crate::FloatElement;
use crate::linalg::{Matrix, is_half};

impl<T: FloatElement, const N: usize> Matrix<T, N> {
    /// Returns the matrix `l`, zero above its diagonal and positive on it, with `self = l * l.transpose()`.
    ///
    /// Reads the diagonal and the entries below it. Lanes whose matrix is not positive definite yield NaN, or
    /// infinities where it is semidefinite.
    #[must_use]
    #[track_caller]
    pub fn cholesky(&self) -> Self {
        if is_half::<T>() {
            return self.cast::<f32>().cholesky().cast();
        }
        let mut root = Self::splat(T::default());
        for column in 0..N {
            for row in column..N {
                let mut rest = self.rows[row][column].clone();
                for k in 0..column {
                    rest = (-&root.rows[row][k]).mul_add(&root.rows[column][k], rest);
                }
                root.rows[row][column] = if row == column { rest.sqrt() } else { rest / &root.rows[column][column] };
            }
        }
        root
    }
}
