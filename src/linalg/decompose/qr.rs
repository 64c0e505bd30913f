//! An orthogonal and a triangular factor, by Householder's reflections.
//!
//! G. Golub, C. Van Loan, “Matrix Computations”, 4th edition, §5.2.

use crate::linalg::{Matrix, is_half};
use crate::{Array, FloatElement};

impl<T: FloatElement, const N: usize> Matrix<T, N> {
    /// Returns matrices `(q, r)` with `self = q * r`. The columns of `q` are always orthonormal. `r` has zeros below
    /// its diagonal and no negative numbers on it.
    ///
    /// Where the columns of the matrix are linearly dependent, `r` has zeros on its diagonal. Squares of entries must
    /// neither overflow nor underflow: in `f32` entries should be between 1e-18 and 1e18.
    #[must_use]
    #[track_caller]
    pub fn qr(&self) -> (Self, Self) {
        if is_half::<T>() {
            let (q, r) = self.cast::<f32>().qr();
            return (q.cast(), r.cast());
        }
        let (mut r, mut q) = (self.clone(), Self::identity());
        for k in 0..N - 1 {
            let mirror = r.mirror(k);
            r.reflect_columns(&mirror, k);
            q.reflect_rows(&mirror, k);
            for row in k + 1..N {
                r.rows[row][k] = T::default().into();
            }
        }
        for k in 0..N {
            let sign = r.rows[k][k].lt(T::default()).select(T::from_f64(-1.0), T::ONE);
            for other in 0..N {
                q.rows[other][k] *= &sign;
                if other >= k {
                    r.rows[k][other] *= &sign;
                }
            }
        }
        (q, r)
    }

    /// Returns the normal of the mirror that maps the part of a column from the diagonal downwards onto the diagonal,
    /// and 2 over its squared length; zero where that part is zero.
    #[track_caller]
    fn mirror(&self, column: usize) -> (Vec<Array<T>>, Array<T>) {
        let mut normal: Vec<Array<T>> = self.rows[column..].iter().map(|row| row[column].clone()).collect();
        let length = squared_length(&normal).sqrt();
        // Away from the diagonal entry, so that there is no cancellation.
        normal[0] = &normal[0] + length.copysign(&normal[0]);
        let squared = squared_length(&normal);
        let scale = squared.eq(T::default()).select(T::default(), squared.recip() * T::from_f64(2.0));
        (normal, scale)
    }

    /// Reflects each column from a row downwards.
    #[track_caller]
    fn reflect_columns(&mut self, (normal, scale): &(Vec<Array<T>>, Array<T>), first: usize) {
        for column in first..N {
            let mut along = &normal[0] * &self.rows[first][column];
            for (part, row) in normal.iter().zip(&self.rows[first..]).skip(1) {
                along = part.mul_add(&row[column], along);
            }
            let along = -(along * scale);
            for (k, part) in normal.iter().enumerate() {
                self.rows[first + k][column] = part.mul_add(&along, &self.rows[first + k][column]);
            }
        }
    }

    /// Reflects each row from a column onwards.
    #[track_caller]
    fn reflect_rows(&mut self, (normal, scale): &(Vec<Array<T>>, Array<T>), first: usize) {
        for row in &mut self.rows {
            let mut along = &normal[0] * &row[first];
            for (part, entry) in normal.iter().zip(&row[first..]).skip(1) {
                along = part.mul_add(entry, along);
            }
            let along = -(along * scale);
            for (k, part) in normal.iter().enumerate() {
                row[first + k] = part.mul_add(&along, &row[first + k]);
            }
        }
    }
}

#[track_caller]
fn squared_length<T: FloatElement>(vector: &[Array<T>]) -> Array<T> {
    let mut sum = &vector[0] * &vector[0];
    for part in &vector[1..] {
        sum = part.mul_add(part, sum);
    }
    sum
}
