//! Decompositions of small matrices, in all lanes at once.
//!
//! | decomposition | of | file |
//! |---|---|---|
//! | [`lu`](Matrix::lu), [`solve`](Matrix::solve) | any matrix, regular ones | `lu` |
//! | [`qr`](Matrix::qr) | any matrix | `qr` |
//! | [`cholesky`](Matrix::cholesky) | symmetric positive definite matrices | `cholesky` |
//! | [`symmetric_eigen`](Matrix::symmetric_eigen) | symmetric matrices | `eigen` |
//! | [`svd`](Matrix::svd), [`polar`](Matrix::polar) | any matrix | `svd` |
//!
//! Elimination and reflections are straight-line code; lanes differ by selection. Iterations are traced loops, which
//! end when the last lane has converged. Halves are decomposed in single precision.

use crate::linalg::Matrix;
use crate::{Array, Element, FloatElement, Mask};

mod cholesky;
mod derivatives;
mod eigen;
mod lu;
mod qr;
mod svd;

/// Exchanges two values where the mask is true.
#[track_caller]
fn exchange<T: Element>(mask: &Mask, a: &mut Array<T>, b: &mut Array<T>) {
    let (first, second) = (mask.select(&*b, &*a), mask.select(&*a, &*b));
    (*a, *b) = (first, second);
}

impl<T: Element, const N: usize> Matrix<T, N> {
    /// Exchanges two rows where the mask is true.
    #[track_caller]
    fn exchange_rows(&mut self, mask: &Mask, a: usize, b: usize) {
        for column in 0..N {
            let [first, second] = [&self.rows[a][column], &self.rows[b][column]].map(Array::clone);
            self.rows[a][column] = mask.select(&second, &first);
            self.rows[b][column] = mask.select(first, second);
        }
    }

    /// Exchanges two columns where the mask is true.
    #[track_caller]
    fn exchange_columns(&mut self, mask: &Mask, a: usize, b: usize) {
        for row in &mut self.rows {
            let [first, second] = [&row[a], &row[b]].map(Array::clone);
            row[a] = mask.select(&second, &first);
            row[b] = mask.select(first, second);
        }
    }
}

/// Sorts values in descending order, and the columns of a matrix with them. The order of equal values is kept.
#[track_caller]
fn sort_falling<T: FloatElement, const N: usize>(values: &mut [Array<T>; N], columns: &mut [&mut Matrix<T, N>]) {
    for end in (1..N).rev() {
        for k in 0..end {
            let is_wrong = values[k].lt(&values[k + 1]);
            let (left, right) = values.split_at_mut(k + 1);
            exchange(&is_wrong, &mut left[k], &mut right[0]);
            for matrix in &mut *columns {
                matrix.exchange_columns(&is_wrong, k, k + 1);
            }
        }
    }
}
