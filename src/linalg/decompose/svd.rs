//! Singular values, and the polar decomposition that follows from them.
//!
//! Rotations make the columns perpendicular to each other (M. Hestenes, “Inversion of matrices by biorthogonalization
//! and related results”, 1958; J. Demmel, K. Veselić, “Jacobi's method is more accurate than QR”, 1992). Reflections
//! then yield the left vectors, which are perpendicular even where singular values are zero.

use jit_runtime::ir::Type;

use super::eigen::smaller_tangent;
use super::sort_falling;
use crate::linalg::matrix::dot;
use crate::linalg::vector::{Vec2, Vec3, Vec4, for_each_vector};
use crate::linalg::{Matrix, epsilon, is_half};
use crate::{Array, FloatElement, Mask, UInt, jit};

/// Sweeps converge quadratically: matrices of these sizes need about six, so this bound is never reached.
const MOST_SWEEPS: u32 = 30;

/// Makes two rows perpendicular to each other by a rotation; applies it to those of `vectors`, too. Returns whether
/// they were not perpendicular before.
#[track_caller]
fn rotate<T: FloatElement, const N: usize>(
    a: &mut Matrix<T, N>,
    vectors: &mut Matrix<T, N>,
    p: usize,
    q: usize,
) -> Mask {
    let [pp, pq, qq] = [(p, p), (p, q), (q, q)].map(|(i, k)| dot(&a.rows[i], &a.rows[k]));
    let tangent = smaller_tangent(&(&qq - &pp), &pq);
    let cosine = tangent.mul_add(&tangent, T::ONE).sqrt().recip();
    let sine = &tangent * &cosine;
    for matrix in [a, vectors] {
        for k in 0..N {
            let [first, second] = [&matrix.rows[p][k], &matrix.rows[q][k]].map(Array::clone);
            matrix.rows[p][k] = cosine.mul_add(&first, -(&sine * &second));
            matrix.rows[q][k] = sine.mul_add(&first, &cosine * &second);
        }
    }
    pq.abs().gt((pp.sqrt() * qq.sqrt()) * T::from_f64(N as f64 * epsilon::<T>()))
}

/// Makes the rows of a matrix perpendicular; returns the result and the rotations.
#[jit]
fn orthogonalise<T: FloatElement, const N: usize>(matrix: &Matrix<T, N>) -> (Matrix<T, N>, Matrix<T, N>) {
    let (mut a, mut vectors) = (matrix.clone(), Matrix::<T, N>::identity());
    let (mut is_open, mut sweeps) = (Mask::from(true), UInt::from(0));
    while is_open && sweeps < MOST_SWEEPS {
        is_open = Mask::from(false);
        for p in 0..N {
            for q in p + 1..N {
                is_open |= rotate(&mut a, &mut vectors, p, q);
            }
        }
        sweeps += 1;
    }
    (a, vectors)
}

impl<T: FloatElement, const N: usize> Matrix<T, N> {
    #[track_caller]
    pub(super) fn singular_values(&self) -> (Self, [Array<T>; N], Self) {
        if is_half::<T>() {
            let (u, values, v) = self.cast::<f32>().singular_values();
            return (u.cast(), values.map(|value| value.cast()), v.cast());
        }
        self.singular_values_with_gradients()
    }

    /// Computes singular values and vectors, in single or double precision.
    #[track_caller]
    pub(super) fn singular_values_in_full(&self) -> (Self, [Array<T>; N], Self) {
        let scale = self.scale_of_squares();
        let (rows, rotations) = orthogonalise(&(self.transpose() * &scale));
        let (mut a, mut v) = (rows.transpose(), rotations.transpose());
        let mut squares: [Array<T>; N] = std::array::from_fn(|k| dot(&rows.rows[k], &rows.rows[k]));
        sort_falling(&mut squares, &mut [&mut a, &mut v]);
        // Zero columns come last, where reflections choose their left vectors.
        let (mut u, r) = a.qr();
        let mut values = squares;
        for (k, value) in values.iter_mut().enumerate() {
            *value = &r.rows[k][k] / &scale;
        }
        sort_falling(&mut values, &mut [&mut u, &mut v]);
        (u, values, v)
    }

    /// Returns a factor with which the squares of the entries neither overflow nor vanish; one for most matrices.
    #[track_caller]
    fn scale_of_squares(&self) -> Array<T> {
        let exponent = if T::TYPE == Type::F64 { 400 } else { 40 };
        let [small, large] = [-exponent, exponent].map(|exponent| T::from_f64(2f64.powi(exponent)));
        let largest = self.max_norm();
        let is_small = largest.lt(small) & largest.gt(T::default());
        is_small.select(large, largest.gt(large).select(small, T::ONE))
    }

    /// Returns matrices `(q, p)` with `self = q * p`. The columns of `q` are orthonormal; `p` is symmetric and has no
    /// negative eigenvalues.
    ///
    /// Of all orthogonal matrices, `q` is the nearest to the matrix. It is a rotation where the determinant is
    /// positive, and includes a reflection where the determinant is negative. Where the matrix has no inverse, `q` is
    /// not unique.
    #[must_use]
    #[track_caller]
    pub fn polar(&self) -> (Self, Self) {
        if is_half::<T>() {
            let (q, p) = self.cast::<f32>().polar();
            return (q.cast(), p.cast());
        }
        self.polar_with_gradients()
    }

    /// Computes the polar decomposition, in single or double precision.
    #[track_caller]
    pub(super) fn polar_in_full(&self) -> (Self, Self) {
        let (u, values, v) = self.singular_values_in_full();
        let mut stretched = v.clone();
        for row in &mut stretched.rows {
            for (entry, value) in row.iter_mut().zip(&values) {
                *entry *= value;
            }
        }
        let v = v.transpose();
        (u * &v, stretched * v)
    }
}

macro_rules! svd {
    ($Vec:ident $n:literal [$($c:ident $index:literal),*]) => {
        impl<T: FloatElement> Matrix<T, $n> {
            /// Returns singular values and vectors `(u, values, v)`, with `self = u * Matrix::from_diagonal(values) *
            /// v.transpose()`. The values are in descending order and not negative. The columns of `u` and of `v` are
            /// orthonormal, even where the matrix has no inverse.
            ///
            /// The error of the values is a few units in the last place of the largest. Lanes with infinities or NaN
            /// yield NaN.
            #[must_use]
            #[track_caller]
            pub fn svd(&self) -> (Self, $Vec<T>, Self) {
                let (u, values, v) = self.singular_values();
                (u, values.into(), v)
            }
        }
    };
}

for_each_vector!(svd);
