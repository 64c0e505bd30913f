//! Determinants and inverses by cofactors.
//!
//! Two by two minors are computed without cancellation. Larger ones are expanded along their first row, where equal
//! minors are one node of the trace.

use super::Matrix;
use crate::linalg::vector::difference_of_products;
use crate::{Array, FloatElement, Signed};

impl<T: Signed, const N: usize> Matrix<T, N> {
    /// Returns the determinant in each lane, expanded by rows. Integers wrap.
    #[must_use]
    #[track_caller]
    pub fn determinant(&self) -> Array<T> {
        let all: Vec<usize> = (0..N).collect();
        self.minor(&all, &all)
    }

    /// Returns the determinant of some rows and columns.
    #[track_caller]
    fn minor(&self, rows: &[usize], columns: &[usize]) -> Array<T> {
        let entry = |row: usize, column: usize| &self.rows[rows[row]][columns[column]];
        match rows.len() {
            0 => return T::ONE.into(),
            1 => return entry(0, 0).clone(),
            2 => return difference_of_products(entry(0, 0), entry(1, 1), entry(0, 1), entry(1, 0)),
            _ => {}
        }
        let mut sum: Option<Array<T>> = None;
        for column in 0..columns.len() {
            let minor = self.minor(&rows[1..], &without(columns, column));
            let factor = if column % 2 == 0 { entry(0, column).clone() } else { -entry(0, column) };
            sum = Some(match sum {
                None => factor * minor,
                Some(sum) => factor.mul_add(minor, sum),
            });
        }
        sum.unwrap_or_default()
    }

    /// Returns the adjugate, the transpose of the matrix of cofactors: the inverse times the determinant.
    #[must_use]
    #[track_caller]
    pub fn adjugate(&self) -> Self {
        let all: Vec<usize> = (0..N).collect();
        let mut adjugate = self.clone();
        for row in 0..N {
            for column in 0..N {
                let minor = self.minor(&without(&all, row), &without(&all, column));
                adjugate.rows[column][row] = if (row + column) % 2 == 0 { minor } else { -minor };
            }
        }
        adjugate
    }
}

impl<T: FloatElement, const N: usize> Matrix<T, N> {
    /// Returns the inverse, by cofactors. Lanes whose matrix has no inverse yield infinities or NaN.
    ///
    /// The error of an entry is a few units in the last place times the condition of the matrix. Products of `N`
    /// entries must neither overflow nor underflow: in `f32` entries of a Mat4 should be between 1e-9 and 1e9. To solve
    /// equations, [`solve`](Matrix::solve) is more accurate and has no such limits.
    #[must_use]
    #[track_caller]
    pub fn inverse(&self) -> Self {
        let adjugate = self.adjugate();
        // The first row times the first column of the adjugate is the expansion along that row.
        let mut determinant = &self.rows[0][0] * &adjugate.rows[0][0];
        for k in 1..N {
            determinant = self.rows[0][k].mul_add(&adjugate.rows[k][0], determinant);
        }
        adjugate * determinant.recip()
    }

    /// Returns the transpose of the inverse, which transforms normals.
    #[must_use]
    #[track_caller]
    pub fn inverse_transpose(&self) -> Self {
        self.inverse().transpose()
    }
}

fn without(indices: &[usize], position: usize) -> Vec<usize> {
    [&indices[..position], &indices[position + 1..]].concat()
}
