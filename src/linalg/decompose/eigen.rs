//! Eigenvalues and eigenvectors of symmetric matrices, by Jacobi's rotations.
//!
//! G. Golub, C. Van Loan, “Matrix Computations”, 4th edition, §8.5; H. Rutishauser, “The Jacobi method for real
//! symmetric matrices”, 1966.

use super::sort_falling;
use crate::linalg::vector::{Vec2, Vec3, Vec4, for_each_vector};
use crate::linalg::{Matrix, epsilon, is_half};
use crate::{Array, FloatElement, UInt, jit};

/// Sweeps converge quadratically: matrices of these sizes need about six, so this bound is never reached.
const MOST_SWEEPS: u32 = 30;

/// Makes the entry `(p, q)` of a symmetric matrix zero by a rotation; applies it to the columns of `vectors`, too.
#[track_caller]
fn rotate<T: FloatElement, const N: usize>(a: &mut Matrix<T, N>, vectors: &mut Matrix<T, N>, p: usize, q: usize) {
    let entry = a.rows[p][q].clone();
    let tangent = smaller_tangent(&(&a.rows[q][q] - &a.rows[p][p]), &entry);
    let cosine = tangent.mul_add(&tangent, T::ONE).sqrt().recip();
    let sine = &tangent * &cosine;
    a.rows[p][p] = (-&tangent).mul_add(&entry, &a.rows[p][p]);
    a.rows[q][q] = tangent.mul_add(&entry, &a.rows[q][q]);
    a.rows[p][q] = T::default().into();
    a.rows[q][p] = T::default().into();
    for k in (0..N).filter(|&k| k != p && k != q) {
        let (kp, kq) = turned(&a.rows[k][p], &a.rows[k][q], &cosine, &sine);
        (a.rows[p][k], a.rows[q][k]) = (kp.clone(), kq.clone());
        (a.rows[k][p], a.rows[k][q]) = (kp, kq);
    }
    vectors.rotate_columns(p, q, &cosine, &sine);
}

/// Returns the tangent of the smaller rotation angle that makes the entry `entry` of a symmetric matrix zero, where
/// `difference` is that of the diagonal entries; zero where the entry is zero.
#[track_caller]
pub(super) fn smaller_tangent<T: FloatElement>(difference: &Array<T>, entry: &Array<T>) -> Array<T> {
    let cotangent = difference / (entry * T::from_f64(2.0));
    let root = cotangent.mul_add(&cotangent, T::ONE).sqrt();
    let tangent = (cotangent.abs() + root).recip().copysign(&cotangent);
    entry.eq(T::default()).select(T::default(), tangent)
}

/// Rotates two numbers as a point of the plane.
#[track_caller]
fn turned<T: FloatElement>(a: &Array<T>, b: &Array<T>, cosine: &Array<T>, sine: &Array<T>) -> (Array<T>, Array<T>) {
    (cosine.mul_add(a, -(sine * b)), sine.mul_add(a, cosine * b))
}

impl<T: FloatElement, const N: usize> Matrix<T, N> {
    /// Rotates two columns in their plane.
    #[track_caller]
    pub(super) fn rotate_columns(&mut self, p: usize, q: usize, cosine: &Array<T>, sine: &Array<T>) {
        for row in &mut self.rows {
            (row[p], row[q]) = turned(&row[p], &row[q], cosine, sine);
        }
    }

    /// Returns the largest absolute values off the diagonal, and on it, of a symmetric matrix.
    #[track_caller]
    fn largest(&self) -> (Array<T>, Array<T>) {
        let (mut beside, mut on) = (Array::default(), self.rows[0][0].abs());
        for row in 0..N {
            on = on.max(self.rows[row][row].abs());
            for column in row + 1..N {
                beside = beside.max(self.rows[row][column].abs());
            }
        }
        (beside, on)
    }

    /// Returns whether the off-diagonal entries cannot be neglected.
    #[track_caller]
    fn is_far_from_diagonal(&self) -> crate::Mask {
        let (beside, on) = self.largest();
        beside.gt(on * T::from_f64(epsilon::<T>() / 8.0))
    }
}

/// Diagonalises a symmetric matrix; returns the result and the rotations.
#[jit]
fn diagonalise<T: FloatElement, const N: usize>(matrix: &Matrix<T, N>) -> (Matrix<T, N>, Matrix<T, N>) {
    let (mut a, mut vectors) = (matrix.clone(), Matrix::<T, N>::identity());
    let mut sweeps = UInt::from(0);
    while a.is_far_from_diagonal() && sweeps < MOST_SWEEPS {
        for p in 0..N {
            for q in p + 1..N {
                rotate(&mut a, &mut vectors, p, q);
            }
        }
        sweeps += 1;
    }
    (a, vectors)
}

impl<T: FloatElement, const N: usize> Matrix<T, N> {
    #[track_caller]
    pub(super) fn eigen(&self) -> ([Array<T>; N], Self) {
        if is_half::<T>() {
            let (values, vectors) = self.cast::<f32>().eigen();
            return (values.map(|value| value.cast()), vectors.cast());
        }
        self.eigen_with_gradients()
    }

    /// Computes eigenvalues and vectors, in single or double precision.
    #[track_caller]
    pub(super) fn eigen_in_full(&self) -> ([Array<T>; N], Self) {
        let mut symmetric = self.clone();
        for row in 0..N {
            for column in 0..row {
                symmetric.rows[row][column] = self.rows[column][row].clone();
            }
        }
        let (diagonal, mut vectors) = diagonalise(&symmetric);
        let mut values: [Array<T>; N] = std::array::from_fn(|k| diagonal.rows[k][k].clone());
        sort_falling(&mut values, &mut [&mut vectors]);
        (values, vectors)
    }
}

macro_rules! symmetric_eigen {
    ($Vec:ident $n:literal [$($c:ident $index:literal),*]) => {
        impl<T: FloatElement> Matrix<T, $n> {
            /// Returns the eigenvalues of a symmetric matrix, in descending order, and a matrix whose columns are their
            /// eigenvectors, which are orthonormal: `self = v * Matrix::from_diagonal(values) * v.transpose()`.
            ///
            /// Reads the diagonal and the entries above it. The error of the values is a few units in the last place of
            /// the largest. Where values are equal, their vectors are not unique, but orthonormal. Lanes with
            /// infinities or NaN yield NaN.
            #[must_use]
            #[track_caller]
            pub fn symmetric_eigen(&self) -> ($Vec<T>, Self) {
                let (values, vectors) = self.eigen();
                (values.into(), vectors)
            }
        }
    };
}

for_each_vector!(symmetric_eigen);
